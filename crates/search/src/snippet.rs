//! The piece of a text that shows best why it was found, with the words of the query marked. The same for every index, so
//! that results look the same everywhere. No I/O.

use crate::hits::Snippet;
use crate::query::Term;
use crate::words::{Side, Words, is_beginning};
use std::ops::Range;

/// Of a snippet, in bytes of the page's text.
const LENGTH: usize = 240;
/// What stands before the first marked word, where there is more.
const LEAD: usize = 60;
/// Matches that are looked at. A page that repeats a word ten thousand times is no better for it.
const MOST_MATCHES: usize = 2_000;

/// Where a term stands in a text.
struct Match {
    range: Range<usize>,
    term: usize,
}

/// The best piece of `text`; where no term stands in it, the beginning of `description` or `text`.
pub fn snippet(text: &str, description: &str, terms: &[Term]) -> Snippet {
    let matches = matches(text, terms);
    if matches.is_empty() {
        let in_description = self::matches(description, terms);
        let beginning = if description.trim().is_empty() { text } else { description };
        let matches = if beginning == description { in_description } else { Vec::new() };
        let end = beginning.floor_char_boundary(LENGTH);
        return cut(beginning, 0..end, &matches);
    }
    let window = best_window(text, &matches);
    cut(text, window, &matches)
}

/// The words of the query in a title, to be marked there.
pub fn highlights(text: &str, terms: &[Term]) -> Snippet {
    cut(text, 0..text.len(), &matches(text, terms))
}

fn matches(text: &str, terms: &[Term]) -> Vec<Match> {
    let mut found = Vec::new();
    // The last words that were read, as many as the longest phrase has.
    let longest = terms.iter().map(|term| term.words.len()).max().unwrap_or(0);
    let mut recent: Vec<(String, Range<usize>)> = Vec::new();
    for word in Words::new(text, Side::Indexed) {
        if recent.len() == longest.max(1) {
            recent.remove(0);
        }
        recent.push((word.form, word.range));
        for (at, term) in terms.iter().enumerate() {
            if let Some(range) = ends_here(&recent, &term.words) {
                found.push(Match { range, term: at });
            }
        }
        if found.len() >= MOST_MATCHES {
            break;
        }
    }
    found
}

/// Where a phrase stands whose last word was just read.
fn ends_here(recent: &[(String, Range<usize>)], words: &[String]) -> Option<Range<usize>> {
    let tail = recent.get(recent.len().checked_sub(words.len())?..)?;
    let (first, last) = (tail.first()?, tail.last()?);
    if let [only] = words
        && is_beginning(only)
    {
        let is_there = first.0.starts_with(only.as_str());
        return is_there.then_some(first.1.start..first.1.start + only.len());
    }
    let fits = tail.iter().zip(words).all(|((form, _), word)| form == word);
    fits.then_some(first.1.start..last.1.end)
}

/// The piece with the most different terms, then with the most of them, then the first one.
fn best_window(text: &str, matches: &[Match]) -> Range<usize> {
    let mut best = (0, 0..0);
    for (at, first) in matches.iter().enumerate() {
        let within: Vec<&Match> = matches
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take_while(|found| found.range.end <= first.range.start + LENGTH - LEAD)
            .take(40)
            .collect();
        let mut terms: Vec<usize> = within.iter().map(|found| found.term).collect();
        terms.sort_unstable();
        terms.dedup();
        let worth = terms.len() * 100 + within.len().min(8);
        if worth > best.0 {
            best = (worth, first.range.clone());
        }
    }
    let start = sentence_start(text, best.1.start);
    start..text.floor_char_boundary((start + LENGTH).max(best.1.end))
}

/// The beginning of the sentence or, where that is far away, of a word.
fn sentence_start(text: &str, at: usize) -> usize {
    let earliest = text.ceil_char_boundary(at.saturating_sub(LEAD));
    let Some(before) = text.get(earliest..at) else { return at };
    if let Some((end, mark)) =
        before.char_indices().rfind(|(_, letter)| matches!(letter, '.' | '!' | '?' | '。' | '\n'))
    {
        return earliest + end + mark.len_utf8();
    }
    if earliest == 0 {
        return 0;
    }
    before.find(char::is_whitespace).map_or(earliest, |blank| earliest + blank)
}

/// The piece as one line: blanks become one, control and direction characters go, places of matches follow.
fn cut(text: &str, window: Range<usize>, matches: &[Match]) -> Snippet {
    let mut end = window.end;
    // Not in the middle of a word, unless it is a very long one.
    if end < text.len()
        && let Some(piece) = text.get(window.start..end)
        && let Some(blank) = piece.rfind(char::is_whitespace)
        && blank > piece.len() / 2
    {
        end = window.start + blank;
    }
    let marks = merged(matches, window.start, end);
    let mut marks = marks.iter().peekable();
    let mut snippet = Snippet::default();
    if text.get(..window.start).is_some_and(|before| !before.trim().is_empty()) {
        snippet.text.push('…');
    }
    let mut open = None;
    for (at, letter) in text.get(window.start..end).unwrap_or_default().char_indices() {
        let at = window.start + at;
        if marks.peek().is_some_and(|mark| mark.end <= at) {
            close(&mut open, &mut snippet);
            marks.next();
        }
        if letter.is_whitespace() || letter.is_control() {
            if !snippet.text.is_empty() && !snippet.text.ends_with([' ', '…']) {
                snippet.text.push(' ');
            }
            continue;
        }
        if is_direction(letter) {
            continue;
        }
        if open.is_none() && marks.peek().is_some_and(|mark| mark.contains(&at)) {
            open = Some(snippet.text.len());
        }
        snippet.text.push(letter);
    }
    close(&mut open, &mut snippet);
    let kept = snippet.text.trim_end().len();
    snippet.text.truncate(kept);
    for range in &mut snippet.highlights {
        range.end = range.end.min(kept);
    }
    if text.get(end..).is_some_and(|after| !after.trim().is_empty()) {
        snippet.text.push('…');
    }
    snippet
}

fn close(open: &mut Option<usize>, snippet: &mut Snippet) {
    if let Some(start) = open.take() {
        let end = snippet.text.trim_end().len();
        if end > start {
            snippet.highlights.push(start..end);
        }
    }
}

/// Places within a piece, in order, overlapping ones as one.
fn merged(matches: &[Match], start: usize, end: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = matches
        .iter()
        .map(|found| found.range.clone())
        .filter(|range| range.start >= start && range.end <= end)
        .collect();
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Turns the direction of text: on a terminal it could make one text look like another.
fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::parse;

    fn marked(text: &str, query: &str) -> String {
        shown(&snippet(text, "", &parse(query).unwrap().terms()))
    }

    fn shown(snippet: &Snippet) -> String {
        let mut shown = String::new();
        let mut at = 0;
        for range in &snippet.highlights {
            shown += &snippet.text[at..range.start];
            shown += &format!("[{}]", &snippet.text[range.clone()]);
            at = range.end;
        }
        shown + &snippet.text[at..]
    }

    #[test]
    fn words_are_marked_as_they_stand_there() {
        assert_eq!(marked("The Café, a CAFE.", "cafe"), "The [Café], a [CAFE].");
        assert_eq!(marked("open web, web open", "\"open web\""), "[open web], web open");
        assert_eq!(marked("この東京都です", "東京都"), "この[東京都]です");
        assert_eq!(marked("この東京都です", "都"), "この東京[都]です");
    }

    #[test]
    fn the_piece_with_the_most_terms_is_shown() {
        let filler = "Lorem ipsum dolor sit amet. ".repeat(40);
        let text = format!("A spider. {filler}Here a spider makes its web of silk.{filler}");
        let shown = marked(&text, "spider web");
        assert!(shown.starts_with("…Here a [spider] makes its [web] of silk."), "{shown}");
        assert!(shown.ends_with('…') && shown.len() < 300, "{shown}");
    }

    #[test]
    fn without_a_match_the_description_or_the_beginning_is_shown() {
        let terms = parse("x").unwrap().terms();
        assert_eq!(snippet("The text.", "What it is.", &terms).text, "What it is.");
        assert_eq!(snippet("The text.", "", &terms).text, "The text.");
        assert_eq!(shown(&snippet("The text.", "An x.", &terms)), "An [x].");
        assert_eq!(snippet("", "", &terms), Snippet::default());
    }

    #[test]
    fn a_snippet_is_one_line_without_control_characters() {
        let text = "a\u{1b}[31m red \tword\u{202e} end\n\nnext\u{0}";
        assert_eq!(marked(text, "word"), "a [31m red [word] end next");
        assert_eq!(marked(text, "next"), "…[next]", "a line begins something else");
    }

    proptest::proptest! {
        #[test]
        fn marks_are_whole_characters_in_order(text in "[a-c東京都é\\n \\PC]{0,600}", query in "[a-c東京é]{1,4} [a-c都]{1,3}") {
            let terms = parse(&query).map(|query| query.terms()).unwrap_or_default();
            let snippet = snippet(&text, "", &terms);
            let mut last = 0;
            for range in &snippet.highlights {
                proptest::prop_assert!(range.start >= last && range.end > range.start);
                proptest::prop_assert!(snippet.text.get(range.clone()).is_some());
                last = range.end;
            }
            proptest::prop_assert!(!snippet.text.contains(char::is_control));
            proptest::prop_assert!(snippet.text.len() <= 2 * LENGTH);
        }
    }
}
