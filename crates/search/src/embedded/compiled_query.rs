//! A query of ours as one of tantivy's. Whether a page is found is decided by the field that has all of its words; the
//! fields beside it add to the score of what was found, the title most.

use super::exclusion::Exclusion;
use super::schema::Fields;
use crate::query::{Node, Scope, Statuses, Text};
use crate::words;
use argiope_store::error::{ErrorKind, Result, StoreError};
use std::ops::Bound;
use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, FuzzyTermQuery, Occur, PhraseQuery, Query,
    RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

const TITLE_BOOST: f32 = 4.0;
const ANCHOR_BOOST: f32 = 3.0;
const HEADING_BOOST: f32 = 1.5;

type Clauses = Vec<(Occur, Box<dyn Query>)>;

/// Pages with an error status are left out unless the query says which statuses it wants.
pub(super) fn compile(query: &crate::query::Query, fields: &Fields) -> Result<Box<dyn Query>> {
    let mut clauses = Clauses::new();
    add(&query.root, fields, &mut clauses)?;
    if !query.names_statuses() {
        let is_error = Term::from_field_bool(fields.is_error, true);
        clauses.push((Occur::MustNot, Box::new(TermQuery::new(is_error, IndexRecordOption::Basic))));
    }
    Ok(boolean(clauses))
}

/// Where nothing has to be there, all of it is, so that exclusions exclude from something.
fn boolean(mut clauses: Clauses) -> Box<dyn Query> {
    if !clauses.iter().any(|(occur, _)| *occur == Occur::Must) {
        clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 0.0))));
    }
    Box::new(BooleanQuery::new(clauses))
}

/// Adds what has to be there, what adds to the score, and what must not be there.
fn add(node: &Node, fields: &Fields, clauses: &mut Clauses) -> Result<()> {
    match node {
        Node::Text(text) => add_text(text, fields, clauses),
        Node::And(nodes) => {
            for node in nodes {
                add(node, fields, clauses)?;
            }
        }
        Node::Not(inner) => {
            let mut excluded = Clauses::new();
            add(inner, fields, &mut excluded)?;
            // What adds to a score excludes nothing.
            excluded.retain(|(occur, _)| *occur != Occur::Should);
            clauses.push((Occur::MustNot, Box::new(Exclusion(boolean(excluded)))));
        }
        Node::Or(nodes) => {
            let mut alternatives = Clauses::new();
            for node in nodes {
                let mut alternative = Clauses::new();
                add(node, fields, &mut alternative)?;
                alternatives.push((Occur::Should, boolean(alternative)));
            }
            clauses.push((Occur::Must, Box::new(BooleanQuery::new(alternatives))));
        }
        filter => {
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(self::filter(filter, fields)?, 0.0))))
        }
    }
    Ok(())
}

fn add_text(text: &Text, fields: &Fields, clauses: &mut Clauses) {
    let words = words::asked(&text.text);
    match text.scope {
        Scope::Title => {
            clauses.push((Occur::Must, Box::new(BoostQuery::new(phrase(fields.title, &words), TITLE_BOOST))))
        }
        Scope::Anywhere => {
            clauses.push((Occur::Must, phrase(fields.body, &words)));
            for (field, boost) in [
                (fields.title, TITLE_BOOST),
                (fields.anchors, ANCHOR_BOOST),
                (fields.headings, HEADING_BOOST),
            ] {
                clauses.push((Occur::Should, Box::new(BoostQuery::new(phrase(field, &words), boost))));
            }
        }
    }
}

/// Words that stand next to each other in a field; mostly it is one.
fn phrase(field: Field, words: &[String]) -> Box<dyn Query> {
    let terms = || words.iter().map(|word| Term::from_field_text(field, word));
    match words {
        [only] if words::is_beginning(only) => {
            Box::new(FuzzyTermQuery::new_prefix(Term::from_field_text(field, only), 0, false))
        }
        [only] => Box::new(TermQuery::new(Term::from_field_text(field, only), IndexRecordOption::WithFreqs)),
        // The parser lets no text without words through; it would find nothing.
        [] => Box::new(BooleanQuery::new(Vec::new())),
        _ => Box::new(PhraseQuery::new(terms().collect())),
    }
}

fn filter(node: &Node, fields: &Fields) -> Result<Box<dyn Query>> {
    let term = |term| Box::new(TermQuery::new(term, IndexRecordOption::Basic));
    Ok(match node {
        Node::Site(site) => term(Term::from_field_text(fields.site, site)),
        Node::Language(language) => term(Term::from_field_text(fields.language, language)),
        Node::JobId(job) => term(Term::from_field_u64(fields.job, u64::from(job.0))),
        Node::Status(Statuses { first, last }) if first == last => {
            term(Term::from_field_u64(fields.status, u64::from(*first)))
        }
        Node::Status(Statuses { first, last }) => {
            let status = |status: u16| Term::from_field_u64(fields.status, u64::from(status));
            Box::new(RangeQuery::new(Bound::Included(status(*first)), Bound::Included(status(*last))))
        }
        Node::After(day) => {
            let begins = Term::from_field_u64(fields.crawled_at, day.begins().0);
            Box::new(RangeQuery::new(Bound::Included(begins), Bound::Unbounded))
        }
        Node::Before(day) => {
            let begins = Term::from_field_u64(fields.crawled_at, day.begins().0);
            Box::new(RangeQuery::new(Bound::Unbounded, Bound::Excluded(begins)))
        }
        Node::Job(name) => {
            return Err(StoreError::new(
                ErrorKind::Usage,
                name,
                "is the name of a job; the index knows numbers only",
            ));
        }
        // Those are no filters.
        Node::Text(_) | Node::Not(_) | Node::And(_) | Node::Or(_) => Box::new(AllQuery),
    })
}
