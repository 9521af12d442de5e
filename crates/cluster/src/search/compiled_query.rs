//! A query of ours in the language of the server. As in the index on a disk, one field has every word of a page and decides
//! whether it is found; those beside it add to the score.

use argiope_search::query::{Node, Query, Scope, Text};
use argiope_search::words;
use argiope_store::error::{ErrorKind, Result, StoreError};
use serde_json::{Value, json};

const BODY: &str = "body";
/// Fields that add to the score.
const BOOSTS: [(&str, f32); 3] = [("title", 4.0), ("anchors", 3.0), ("headings", 1.5)];

/// What has to be there, adds to the score, must not be there, and what only filters.
#[derive(Default)]
struct Clauses {
    must: Vec<Value>,
    should: Vec<Value>,
    must_not: Vec<Value>,
    filter: Vec<Value>,
}

impl Clauses {
    fn query(self) -> Value {
        // Where nothing has to be there, all of it is: a lone should would have to be.
        let Clauses { must, should, must_not, filter } = self;
        json!({"bool": {
            "must": must, "should": should, "must_not": must_not, "filter": filter, "minimum_should_match": 0,
        }})
    }
}

/// Pages with an error status are left out unless the query says which statuses it wants.
pub(super) fn compile(query: &Query) -> Result<Value> {
    let mut clauses = Clauses::default();
    add(&query.root, &mut clauses)?;
    if !query.names_statuses() {
        clauses.filter.push(json!({"range": {"status": {"gte": 200, "lt": 300}}}));
    }
    Ok(clauses.query())
}

fn add(node: &Node, clauses: &mut Clauses) -> Result<()> {
    match node {
        Node::Text(text) => add_text(text, clauses),
        Node::And(nodes) => {
            for node in nodes {
                add(node, clauses)?;
            }
        }
        Node::Not(inner) => {
            let mut excluded = Clauses::default();
            add(inner, &mut excluded)?;
            // What adds to a score excludes nothing.
            excluded.should.clear();
            clauses.must_not.push(excluded.query());
        }
        Node::Or(nodes) => {
            let mut alternatives = Vec::new();
            for node in nodes {
                let mut alternative = Clauses::default();
                add(node, &mut alternative)?;
                alternatives.push(alternative.query());
            }
            clauses.must.push(json!({"bool": {"should": alternatives, "minimum_should_match": 1}}));
        }
        Node::Site(site) => clauses.filter.push(json!({"term": {"site": site}})),
        Node::Language(language) => clauses.filter.push(json!({"term": {"language": language}})),
        Node::JobId(job) => clauses.filter.push(json!({"term": {"job": job.0}})),
        Node::Status(statuses) => {
            clauses.filter.push(json!({"range": {"status": {"gte": statuses.first, "lte": statuses.last}}}));
        }
        Node::After(day) => clauses.filter.push(json!({"range": {"crawled_at": {"gte": day.begins().0}}})),
        Node::Before(day) => clauses.filter.push(json!({"range": {"crawled_at": {"lt": day.begins().0}}})),
        Node::Job(name) => {
            return Err(StoreError::new(
                ErrorKind::Usage,
                name,
                "is the name of a job; the index knows numbers only",
            ));
        }
    }
    Ok(())
}

fn add_text(text: &Text, clauses: &mut Clauses) {
    match text.scope {
        Scope::Title => clauses.must.push(phrase("title", text, 4.0)),
        Scope::Anywhere => {
            clauses.must.push(phrase(BODY, text, 1.0));
            clauses.should.extend(BOOSTS.map(|(field, boost)| phrase(field, text, boost)));
        }
    }
}

/// Words that stand next to each other; mostly it is one. The server cuts the text as it cut the pages.
fn phrase(field: &str, text: &Text, boost: f32) -> Value {
    match words::asked(&text.text).as_slice() {
        [only] if words::is_beginning(only) => json!({"prefix": {field: {"value": only, "boost": boost}}}),
        _ => json!({"match_phrase": {field: {"query": text.text, "boost": boost}}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_search::query::parse;

    fn compiled(query: &str) -> Value {
        compile(&parse(query).unwrap()).unwrap()
    }

    #[test]
    fn words_have_to_be_in_the_body_and_count_in_the_title() {
        let query = compiled("rust \"open web\"");
        let must = &query["bool"]["must"];
        assert_eq!(must[0]["match_phrase"]["body"]["query"], "rust");
        assert_eq!(must[1]["match_phrase"]["body"]["query"], "open web");
        assert_eq!(query["bool"]["should"].as_array().unwrap().len(), 6);
        assert_eq!(query["bool"]["filter"][0]["range"]["status"]["gte"], 200);
    }

    #[test]
    fn filters_do_not_score_and_statuses_replace_the_usual_ones() {
        let query = compiled("status:4xx site:a.test after:1970-01-02");
        let filter = query["bool"]["filter"].as_array().unwrap();
        assert_eq!(filter.len(), 3);
        assert_eq!(filter[0]["range"]["status"], json!({"gte": 400, "lte": 499}));
        assert_eq!(filter[2]["range"]["crawled_at"]["gte"], 86_400_000);
    }

    #[test]
    fn what_is_excluded_scores_nothing() {
        let query = compiled("a -(b c)");
        let excluded = &query["bool"]["must_not"][0]["bool"];
        assert_eq!(excluded["must"].as_array().unwrap().len(), 2);
        assert_eq!(excluded["should"], json!([]));
    }
}
