//! What a search gives.

use argiope_model::{JobId, Millis};
use serde::{Serialize, Serializer};
use std::ops::Range;

/// What is asked of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub query: crate::query::Query,
    /// Hits that are passed over.
    pub offset: usize,
    pub limit: usize,
    /// Figures over all results are wanted.
    pub facets: bool,
}

/// The highest `offset + limit`: what is beyond is nothing that a person reads.
pub const MOST_HITS: usize = 10_000;
/// Entries of a facet.
pub const FACET_ENTRIES: usize = 10;
/// With fewer results than this, words are compared with those of the index for a hint.
pub const FEW_RESULTS: u64 = 5;

impl Request {
    pub fn new(query: crate::query::Query) -> Request {
        Request { query, offset: 0, limit: 10, facets: false }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hits {
    /// Documents that fit, duplicates included.
    pub total: u64,
    /// The best first. Of pages with the same content only the best is listed.
    pub hits: Vec<Hit>,
    /// Where they were asked for.
    pub facets: Option<Facets>,
    /// The query with better spelling, where few results were found.
    pub suggestion: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    pub score: f32,
    pub url: String,
    pub title: String,
    pub host: String,
    pub job: JobId,
    pub status: u16,
    pub language: Option<String>,
    #[serde(serialize_with = "as_time")]
    pub crawled_at: Millis,
    pub snippet: Snippet,
}

/// A piece of the page's text, or of its description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// One line, without control characters.
    pub text: String,
    /// Where words of the query stand in it: bytes, in order, not overlapping.
    pub highlights: Vec<Range<usize>>,
}

/// For programs, places are counted in characters: not every language counts in bytes.
impl Serialize for Snippet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            text: &'a str,
            highlights: Vec<[usize; 2]>,
        }
        let place = |byte: usize| self.text.get(..byte).map_or(0, |before| before.chars().count());
        let highlights = self.highlights.iter().map(|range| [place(range.start), place(range.end)]).collect();
        Shown { text: &self.text, highlights }.serialize(to)
    }
}

fn as_time<S: Serializer>(at: &Millis, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.rfc3339())
}

/// Figures over all results, the most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facets {
    /// Root domains.
    pub domains: Vec<Count>,
    pub languages: Vec<Count>,
    pub topics: Vec<Count>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    pub name: String,
    pub pages: u64,
}

impl Facets {
    /// The most frequent; those of the same count by name.
    pub fn top(counts: impl IntoIterator<Item = (String, u64)>) -> Vec<Count> {
        let mut counts: Vec<Count> = counts
            .into_iter()
            .filter(|(_, pages)| *pages > 0)
            .map(|(name, pages)| Count { name, pages })
            .collect();
        counts.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.name.cmp(&b.name)));
        counts.truncate(FACET_ENTRIES);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_characters_in_json() {
        let snippet = Snippet { text: "é a".into(), highlights: vec![0..2, 3..4] };
        let json = serde_json::to_value(&snippet).unwrap();
        assert_eq!(json, serde_json::json!({"text": "é a", "highlights": [[0, 1], [2, 3]]}));
    }

    #[test]
    fn the_most_frequent_come_first_then_by_name() {
        let counts =
            [("b", 1), ("a", 1), ("c", 5), ("none", 0)].map(|(name, pages)| (name.to_owned(), pages));
        let top: Vec<String> = Facets::top(counts).into_iter().map(|count| count.name).collect();
        assert_eq!(top, ["c", "a", "b"]);
    }
}
