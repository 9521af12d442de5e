//! Traps that only their pages reveal. URLs that differ only in numbers, dates and ids share a pattern; each host
//! counts its patterns. Many URLs of one pattern are not a trap by themselves: a shop has 100,000 numbered products, an
//! archive 20,000 entries that link only to each other. A pattern is a trap once its latest pages are the same page
//! again and again: near-duplicates of each other, ignoring numbers, or empty.

use argiope_model::{Skip, TrapRule, TrapRules, TrapSkip, Url};
use std::collections::VecDeque;
use std::fmt::Write;

/// Patterns per host. If there are more, the one with the fewest URLs is dropped.
const MOST_PATTERNS: usize = 256;

/// The shortest run of hexadecimal digits that counts as an id, and of letters and digits mixed.
const SHORTEST_HEX: usize = 8;
const SHORTEST_ID: usize = 16;
const UUID_LENGTH: usize = 36;

/// The pattern of a URL on its host: a hash of path and query without counters and random ids. Query values are ignored
/// unless they are single words, which choose between kinds of pages (`view=article`).
pub fn pattern_of(url: &Url) -> u64 {
    // Spellings of one URL have the same pattern.
    let url = url.in_normal_form();
    let mut hash = PatternHash::new();
    write_pattern(&url.in_normal_form(), &mut hash);
    hash.0
}

/// Bytes of a pattern that are shown.
const SHOWN: usize = 120;

/// The pattern as people read it, with its host: `a.test/list/{n}?page={n}&view=*`.
pub(super) fn pattern_text(url: &Url) -> String {
    let mut shown = PatternText { text: url.host().to_owned(), in_query: false };
    write_pattern(&url.in_normal_form(), &mut shown);
    if shown.text.len() > SHOWN {
        shown.text.truncate(shown.text.floor_char_boundary(SHOWN));
        shown.text.push_str("...");
    }
    shown.text
}

fn write_pattern(url: &Url, to: &mut impl Pattern) {
    text(to, url.path().as_bytes());
    for (name, value) in url.parameters() {
        to.parameter();
        text(to, name.as_bytes());
        to.byte(b'=');
        match value {
            Some(value) if is_word(value) => text(to, value.as_bytes()),
            _ => to.byte(b'*'),
        }
    }
}

/// The output of a pattern.
trait Pattern {
    fn byte(&mut self, byte: u8);
    /// Called before each parameter.
    fn parameter(&mut self) {
        self.byte(b'&');
    }
    /// Any number of digits.
    fn number(&mut self) {
        self.byte(b'0');
    }
    fn id(&mut self) {
        self.byte(b'$');
    }
}

struct PatternText {
    text: String,
    in_query: bool,
}

impl Pattern for PatternText {
    fn byte(&mut self, byte: u8) {
        // URLs are ASCII without blanks.
        self.text.push(char::from(byte));
    }

    fn parameter(&mut self) {
        let is_first = !std::mem::replace(&mut self.in_query, true);
        self.byte(if is_first { b'?' } else { b'&' });
    }

    fn number(&mut self) {
        self.text.push_str("{n}");
    }

    fn id(&mut self) {
        self.text.push_str("{id}");
    }
}

fn is_word(value: &str) -> bool {
    value.len() <= 24 && value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-'))
}

/// FNV-1a over the pattern's bytes. Whoever prepares collisions distorts only the counts of their own host.
struct PatternHash(u64);

impl PatternHash {
    fn new() -> PatternHash {
        PatternHash(0xcbf2_9ce4_8422_2325)
    }
}

impl Pattern for PatternHash {
    #[inline]
    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// Writes `text` with ids and numbers replaced.
fn text(to: &mut impl Pattern, text: &[u8]) {
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        if !first.is_ascii_alphanumeric() {
            to.byte(*first);
            rest = tail;
            continue;
        }
        if let Some((head, after)) = rest.split_at_checked(UUID_LENGTH)
            && is_uuid(head)
            && !after.first().is_some_and(u8::is_ascii_alphanumeric)
        {
            to.id();
            rest = after;
            continue;
        }
        let end = rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        write_run(to, run);
        rest = after;
    }
}

/// Writes letters and digits.
fn write_run(to: &mut impl Pattern, run: &[u8]) {
    let has_digit = run.iter().any(u8::is_ascii_digit);
    let has_letter = run.iter().any(u8::is_ascii_alphabetic);
    let is_hex = run.len() >= SHORTEST_HEX && run.iter().all(u8::is_ascii_hexdigit);
    if has_digit && has_letter && (is_hex || run.len() >= SHORTEST_ID) {
        return to.id();
    }
    let mut in_number = false;
    for byte in run {
        let is_digit = byte.is_ascii_digit();
        if !is_digit {
            to.byte(*byte);
        } else if !in_number {
            to.number();
        }
        in_number = is_digit;
    }
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &[u8]) -> bool {
    text.len() == UUID_LENGTH
        && text.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// The patterns of one host's URLs and pages in a job. Bounded; sorted by pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternTable {
    limits: Limits,
    patterns: Vec<Known>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    enabled: bool,
    urls: u32,
    pages: u32,
    worthless_percent: u8,
}

/// A pattern that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    pattern: u64,
    /// Admitted.
    urls: u32,
    /// Pages fetched recently, and how many of them were worthless.
    pages: u32,
    worthless: u32,
    /// Only for a pattern with many URLs.
    texts: Option<Box<Texts>>,
}

/// What a fetched page shows about its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPage {
    /// From text and title, without the words that contain a digit.
    pub text: PageText,
    /// It links to new URLs of its own pattern.
    pub leads_on: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// SimHash; 0 where there is no word.
    pub words: u64,
    /// A page with its own title is distinct, however similar its text: a short text in a long template.
    pub title: u64,
}

/// Pages that differ in at most this many bits are near-duplicates. Without numbers, near-duplicates differ by a word
/// or two: with 2,000 identical words on each page, ten others make a difference of three bits and more.
const NEAR: u32 = 2;

impl PageText {
    fn is_near(self, other: PageText) -> bool {
        self.title == other.title && (self.words ^ other.words).count_ones() <= NEAR
    }
}

/// The texts of a pattern's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Texts {
    /// All distinct: a maze shows the same few pages with other links, a calendar the same months of another year.
    different: VecDeque<PageText>,
    /// The latest, in order.
    latest: VecDeque<PageText>,
}

const DIFFERENT_TEXTS: usize = 128;
const LATEST_TEXTS: usize = 16;

impl Texts {
    /// Adds a page and returns whether it is worthless: either its text is known already, or it is similar to most
    /// previous pages and links to more of the same. Where an end is in sight, a few new pages are worth fetching.
    fn add(&mut self, page: SeenPage) -> bool {
        let SeenPage { text, leads_on } = page;
        let known = self.different.contains(&text);
        if !known {
            keep(&mut self.different, text, DIFFERENT_TEXTS);
        }
        let near = self.latest.iter().filter(|other| other.is_near(text)).count();
        let is_near_most = self.latest.len() >= LATEST_TEXTS / 2 && near * 4 >= self.latest.len() * 3;
        keep(&mut self.latest, text, LATEST_TEXTS);
        known || (leads_on && is_near_most)
    }
}

fn keep(texts: &mut VecDeque<PageText>, text: PageText, most: usize) {
    if texts.len() == most {
        texts.pop_front();
    }
    texts.push_back(text);
}

impl Default for PatternTable {
    fn default() -> PatternTable {
        PatternTable::new(&TrapRules::default())
    }
}

impl PatternTable {
    pub fn new(rules: &TrapRules) -> PatternTable {
        let limits = Limits {
            enabled: rules.enabled,
            urls: rules.urls_per_pattern,
            pages: rules.pages_before_judgement.max(1),
            worthless_percent: rules.worthless_percent,
        };
        PatternTable { limits, patterns: Vec::new() }
    }

    /// Checks one more new URL, and counts it if it is admitted.
    pub fn admit(&mut self, url: &Url) -> Result<(), Skip> {
        if !self.limits.enabled {
            return Ok(());
        }
        let pattern = pattern_of(url);
        let at = match self.patterns.binary_search_by_key(&pattern, |known| known.pattern) {
            Ok(at) => at,
            Err(at) => self.insert(at, pattern),
        };
        let limits = self.limits;
        let Some(known) = self.patterns.get_mut(at) else { return Ok(()) };
        if known.is_trap(limits) {
            return Err(known.skip(limits, url));
        }
        known.urls = known.urls.saturating_add(1);
        Ok(())
    }

    /// Records a fetched page. Does nothing for a pattern that was dropped, or one with few URLs: for most patterns of
    /// most hosts, only the count is kept.
    pub fn page_seen(&mut self, url: &Url, page: SeenPage) {
        let limits = self.limits;
        if !limits.enabled {
            return;
        }
        let pattern = pattern_of(url);
        if let Ok(at) = self.patterns.binary_search_by_key(&pattern, |known| known.pattern)
            && let Some(known) = self.patterns.get_mut(at)
            && known.urls >= limits.urls / 2
        {
            known.page_seen(limits, page);
        }
    }

    /// The number of known patterns.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Inserts a pattern at its sorted place and returns that.
    fn insert(&mut self, at: usize, pattern: u64) -> usize {
        let mut at = at;
        if self.patterns.len() >= MOST_PATTERNS {
            // Traps are remembered longest: they have the most URLs.
            let fewest =
                self.patterns.iter().enumerate().min_by_key(|(_, known)| known.urls).map(|(at, _)| at);
            if let Some(fewest) = fewest {
                self.patterns.remove(fewest);
                at -= usize::from(fewest < at);
            }
        }
        self.patterns.insert(at, Known { pattern, urls: 0, pages: 0, worthless: 0, texts: None });
        at
    }
}

impl Known {
    fn page_seen(&mut self, limits: Limits, page: SeenPage) {
        // Only the latest pages count: a pattern may have changed.
        if self.pages >= limits.pages.saturating_mul(2) {
            self.pages /= 2;
            self.worthless /= 2;
        }
        let worthless = self.texts.get_or_insert_default().add(page);
        self.pages = self.pages.saturating_add(1);
        self.worthless = self.worthless.saturating_add(u32::from(worthless));
    }

    fn is_trap(&self, limits: Limits) -> bool {
        self.urls >= limits.urls
            && self.pages >= limits.pages
            && u64::from(self.worthless) * 100 >= u64::from(self.pages) * u64::from(limits.worthless_percent)
    }

    #[cold]
    fn skip(&self, limits: Limits, url: &Url) -> Skip {
        let mut finding = format!(
            "{} URLs, and of the last {} pages {} are near-duplicates of each other or empty",
            self.urls, self.pages, self.worthless
        );
        let _ = write!(
            finding,
            " (traps.worthless_percent {}, traps.urls_per_pattern {})",
            limits.worthless_percent, limits.urls
        );
        TrapSkip { rule: TrapRule::NearDuplicates, pattern: &pattern_text(url), finding: &finding }.skip()
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
