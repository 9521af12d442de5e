//! A better spelling for words that the index hardly knows: the word of the index that is nearest, and of those the most
//! frequent.

use super::schema::Fields;
use crate::query::{Query, Text};
use crate::words;
use std::collections::HashMap;
use tantivy::query::FuzzyTermQuery;
use tantivy::{Searcher, Term};

/// Words that are compared; a short word has thousands of neighbours.
const MOST_CANDIDATES: usize = 5_000;
/// In letters. Shorter words are near to everything.
const SHORTEST: usize = 4;
/// A word must be so many times as frequent as the one that was typed.
const TIMES_AS_FREQUENT: u64 = 10;

/// The query with words that the index knows in the place of those it does not.
pub(super) fn suggestion(
    searcher: &Searcher,
    fields: &Fields,
    query: &Query,
) -> tantivy::Result<Option<Query>> {
    let mut failed = None;
    let better = query.with_words(&mut |text| {
        nearest(searcher, fields, text).unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    });
    failed.map_or(Ok(better), Err)
}

fn nearest(searcher: &Searcher, fields: &Fields, text: &Text) -> tantivy::Result<Option<String>> {
    let words = words::asked(&text.text);
    let [word] = words.as_slice() else { return Ok(None) };
    let length = word.chars().count();
    if length < SHORTEST || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let own = searcher.doc_freq(&Term::from_field_text(fields.body, word))?;
    let distance = if length < 6 { 1 } else { 2 };
    let automaton = FuzzyTermQuery::new(Term::from_field_text(fields.body, word), distance, true);
    let mut frequencies: HashMap<String, u64> = HashMap::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(fields.body)?;
        let mut found = index.terms().search(automaton.automaton()?).into_stream()?;
        while frequencies.len() < MOST_CANDIDATES && found.advance() {
            if let Ok(candidate) = std::str::from_utf8(found.key()) {
                *frequencies.entry(candidate.to_owned()).or_default() += u64::from(found.value().doc_freq);
            }
        }
    }
    frequencies.remove(word);
    let is_frequent = |frequency: u64| frequency >= (own * TIMES_AS_FREQUENT).max(1);
    let rank = |candidate: &str, frequency: u64| {
        let distance = strsim::damerau_levenshtein(candidate, word);
        // People seldom mistype the first letter.
        let other_beginning = candidate.chars().next() != word.chars().next();
        (distance + usize::from(other_beginning), u64::MAX - frequency)
    };
    let best = frequencies
        .into_iter()
        .filter(|(_, frequency)| is_frequent(*frequency))
        .min_by(|(a, of_a), (b, of_b)| rank(a, *of_a).cmp(&rank(b, *of_b)).then_with(|| a.cmp(b)));
    Ok(best.map(|(candidate, _)| candidate))
}
