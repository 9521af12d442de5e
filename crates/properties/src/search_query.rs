//! Queries of the search: people paste anything.

use argiope_search::query::{MOST_TERMS, parse};
use argiope_search::snippet::snippet;

/// The first line is a query, the rest the text of a page.
pub(crate) fn is_read_back_and_marks_whole_characters(bytes: &[u8]) {
    let (line, rest) = crate::first_line(bytes);
    let query = match parse(&line) {
        Ok(query) => query,
        Err(error) => {
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
            assert!(!error.message.is_empty());
            return;
        }
    };
    let written = query.to_string();
    assert_eq!(parse(&written).as_ref(), Ok(&query), "{written:?}");
    let terms = query.terms();
    assert!(terms.len() <= MOST_TERMS);
    let text = String::from_utf8_lossy(rest);
    let snippet = snippet(&text, &line, &terms);
    assert!(!snippet.text.contains(char::is_control) && snippet.text.len() < 1024);
    let mut last = 0;
    for range in &snippet.highlights {
        assert!(range.start >= last && range.end > range.start);
        assert!(snippet.text.get(range.clone()).is_some(), "{range:?} of {:?}", snippet.text);
        last = range.end;
    }
}
