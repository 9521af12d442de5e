//! robots.txt: the same verdict however file and path are spelt, and always a rule that is really there.

use crate::first_line;
use argiope_politeness::robots::{MAX_CRAWL_DELAY, text_of};
use argiope_politeness::{Robots, RuleRef};

const AGENT: &str = "argiope";
const MOST_SITEMAPS: usize = 1000;
/// Below this no line is dropped for the length of the file.
const SHORT_FILE: usize = 64 * 1024;

/// The first line is the requested path, the rest is the file.
pub(crate) fn has_one_meaning(bytes: &[u8]) {
    let (path, file) = first_line(bytes);
    let robots = Robots::parse(file, AGENT);
    let text = text_of(file);
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).count();
    assert!(robots.crawl_delay().is_none_or(|delay| delay <= MAX_CRAWL_DELAY));
    assert!(robots.sitemaps().len() <= lines.min(MOST_SITEMAPS));
    assert!(robots.rules() <= lines);
    assert!(robots.check("/robots.txt").allowed);
    let verdict = robots.check(&path);
    match verdict.rule {
        None => assert!(verdict.allowed, "forbidden without a rule"),
        Some(RuleRef::Allow { line, .. }) => assert!(verdict.allowed && is_line(line, lines)),
        Some(RuleRef::Disallow { line, .. }) => assert!(!verdict.allowed && is_line(line, lines)),
        Some(RuleRef::WholeFile { why }) => panic!("a file that was read is judged as a whole: {why}"),
    }
    assert_eq!(robots.check(&letters_encoded(&path)).rule, verdict.rule, "letters of the path encoded");
    robots.check_as_given(&path);
    // What is ASCII behind UTF-16 is something else.
    if file.len() < SHORT_FILE && !text.contains(&0) {
        let file = text.as_ref();
        let allowed = |file: &[u8]| Robots::parse(file, AGENT).check(&path).allowed;
        assert_eq!(allowed(&with_comment(file)), verdict.allowed, "with a comment behind it");
        if !file.contains(&b'\r') {
            assert_eq!(allowed(&with_long_ends(file)), verdict.allowed, "with lines ending in CR LF");
        }
        let token = Robots::parse(file, "Argiope/1.0 (+https://example.com/)").check(&path).allowed;
        assert_eq!(token, verdict.allowed, "asked as a whole User-Agent header");
    }
}

fn is_line(line: u32, lines: usize) -> bool {
    (1..=lines).contains(&(line as usize))
}

/// Each letter that is not part of an escape, escaped.
fn letters_encoded(path: &str) -> String {
    if path == "/robots.txt" || path.contains('%') {
        return path.to_owned();
    }
    let encoded =
        |c: char| if c.is_ascii_alphabetic() { format!("%{:02x}", c as u32) } else { c.to_string() };
    path.chars().map(encoded).collect()
}

fn with_comment(file: &[u8]) -> Vec<u8> {
    [file, b"\n# Disallow: /\n\n"].concat()
}

fn with_long_ends(file: &[u8]) -> Vec<u8> {
    file.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..])
}
