//! Traps that show only by their pages. URLs that differ in numbers, dates and ids only are one pattern; each host
//! counts its patterns. Many URLs of one pattern are no trap: a shop has 100,000 numbered products. A pattern is one
//! once its fetched pages prove to be the same page again and again, or to lead to nothing but more of themselves.

use argiope_model::{Skip, SkipReason, TrapRules, Url};
use serde::{Deserialize, Serialize};

/// Patterns that one host can have; the one with the fewest URLs makes room.
const MOST_PATTERNS: usize = 256;

/// The shortest run of hexadecimal digits that is taken for an id, and of letters and digits mixed.
const SHORTEST_HEX: usize = 8;
const SHORTEST_ID: usize = 16;
const UUID_LENGTH: usize = 36;

/// The pattern of a URL on its host: a hash of path and query with what counts up, or is drawn by chance, left out.
/// Of query values only single words are looked at, which choose between kinds of pages (`view=article`).
pub fn pattern_of(url: &Url) -> u64 {
    let mut hash = PatternHash::new();
    hash.text(url.path().as_bytes());
    for (name, value) in url.parameters() {
        hash.byte(b'&');
        hash.text(name.as_bytes());
        hash.byte(b'=');
        match value {
            Some(value) if is_word(value) => hash.text(value.as_bytes()),
            _ => hash.byte(b'*'),
        }
    }
    hash.0
}

fn is_word(value: &str) -> bool {
    value.len() <= 24 && value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-'))
}

/// FNV-1a over the pattern's bytes as they come. Who prepares collisions spoils the count of his own host only.
struct PatternHash(u64);

impl PatternHash {
    fn new() -> PatternHash {
        PatternHash(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Feeds `text` with ids and numbers replaced.
    fn text(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some((first, tail)) = rest.split_first() {
            if !first.is_ascii_alphanumeric() {
                self.byte(*first);
                rest = tail;
                continue;
            }
            if let Some((head, after)) = rest.split_at_checked(UUID_LENGTH)
                && is_uuid(head)
                && !after.first().is_some_and(u8::is_ascii_alphanumeric)
            {
                self.byte(b'$');
                rest = after;
                continue;
            }
            let end = rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            self.run(run);
            rest = after;
        }
    }

    /// Feeds letters and digits.
    fn run(&mut self, run: &[u8]) {
        let has_digit = run.iter().any(u8::is_ascii_digit);
        let has_letter = run.iter().any(u8::is_ascii_alphabetic);
        let is_hex = run.len() >= SHORTEST_HEX && run.iter().all(u8::is_ascii_hexdigit);
        if has_digit && has_letter && (is_hex || run.len() >= SHORTEST_ID) {
            return self.byte(b'$');
        }
        let mut in_number = false;
        for byte in run {
            let is_digit = byte.is_ascii_digit();
            if !is_digit {
                self.byte(*byte);
            } else if !in_number {
                self.byte(b'0');
            }
            in_number = is_digit;
        }
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

/// Does a page lead anywhere but to more of its own pattern? `links` are the patterns of its links to its own host;
/// a link to another host leads elsewhere, and a page without links leads nowhere, so not to more of the same.
pub fn leads_elsewhere(own: u64, links: impl IntoIterator<Item = u64>) -> bool {
    let mut links = links.into_iter().peekable();
    links.peek().is_none() || links.any(|pattern| pattern != own)
}

/// What one host's URLs and pages of a job have in common. Bounded; sorted by pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternTable {
    limits: Limits,
    patterns: Vec<Pattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Limits {
    urls: u32,
    pages: u32,
    worthless_percent: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pattern {
    pattern: u64,
    /// Admitted.
    urls: u32,
    /// Fetched.
    pages: u32,
    duplicates: u32,
    /// Pages that lead only to more of the same.
    closed: u32,
    /// The text of the page before, where that one led on.
    #[serde(default)]
    last: Option<u64>,
}

/// What a fetched page says about its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPage {
    /// The same bytes were seen elsewhere.
    pub duplicate: bool,
    pub leads_elsewhere: bool,
    /// The SimHash of the text of a page that leads on to more of its pattern. A calendar shows the same page with
    /// other links on it, among the navigation of the whole site: no two are equal, and all lead elsewhere.
    pub text: Option<u64>,
}

/// Bits in which the SimHashes of nearly the same text differ at most.
const NEAR: u32 = 3;

fn is_near(one: u64, other: u64) -> bool {
    (one ^ other).count_ones() <= NEAR
}

impl Default for PatternTable {
    fn default() -> PatternTable {
        PatternTable::new(&TrapRules::default())
    }
}

impl PatternTable {
    pub fn new(rules: &TrapRules) -> PatternTable {
        let limits = Limits {
            urls: rules.urls_per_pattern,
            pages: rules.pages_before_judgement,
            worthless_percent: rules.worthless_percent,
        };
        PatternTable { limits, patterns: Vec::new() }
    }

    /// Asks for one more new URL of this pattern, and counts it if it may come in.
    pub fn admit(&mut self, pattern: u64) -> Result<(), Skip> {
        let at = match self.patterns.binary_search_by_key(&pattern, |known| known.pattern) {
            Ok(at) => at,
            Err(at) => self.insert(at, pattern),
        };
        let limits = self.limits;
        let Some(known) = self.patterns.get_mut(at) else { return Ok(()) };
        known.judge(limits)?;
        known.urls = known.urls.saturating_add(1);
        Ok(())
    }

    /// The same answer without counting: for `why`.
    pub fn judge(&self, pattern: u64) -> Result<(), Skip> {
        match self.patterns.binary_search_by_key(&pattern, |known| known.pattern) {
            Ok(at) => self.patterns.get(at).map_or(Ok(()), |known| known.judge(self.limits)),
            Err(_) => Ok(()),
        }
    }

    /// Takes note of a fetched page. A pattern that had to make room is not known any more; nothing is noted.
    pub fn page_seen(&mut self, pattern: u64, page: SeenPage) {
        if let Ok(at) = self.patterns.binary_search_by_key(&pattern, |known| known.pattern)
            && let Some(known) = self.patterns.get_mut(at)
        {
            let again = known.last.zip(page.text).is_some_and(|(last, now)| is_near(last, now));
            known.last = page.text;
            known.pages = known.pages.saturating_add(1);
            known.duplicates = known.duplicates.saturating_add(u32::from(page.duplicate || again));
            known.closed = known.closed.saturating_add(u32::from(!page.leads_elsewhere));
        }
    }

    /// How many patterns are known.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Inserts a pattern where it belongs and says where that is.
    fn insert(&mut self, at: usize, pattern: u64) -> usize {
        let mut at = at;
        if self.patterns.len() >= MOST_PATTERNS {
            // What proved to be a trap is remembered longest: it has the most URLs.
            let fewest =
                self.patterns.iter().enumerate().min_by_key(|(_, known)| known.urls).map(|(at, _)| at);
            if let Some(fewest) = fewest {
                self.patterns.remove(fewest);
                at -= usize::from(fewest < at);
            }
        }
        self.patterns
            .insert(at, Pattern { pattern, urls: 0, pages: 0, duplicates: 0, closed: 0, last: None });
        at
    }
}

impl Pattern {
    fn judge(&self, limits: Limits) -> Result<(), Skip> {
        if self.urls < limits.urls || self.pages < limits.pages.max(1) {
            return Ok(());
        }
        let is_nearly_all = |count: u32| {
            u64::from(count) * 100 >= u64::from(self.pages) * u64::from(limits.worthless_percent)
        };
        let finding = if is_nearly_all(self.duplicates) {
            format!("{} are duplicates", self.duplicates)
        } else if is_nearly_all(self.closed) {
            format!("{} lead only to more of the same", self.closed)
        } else {
            return Ok(());
        };
        let detail =
            format!("{} URLs of one pattern, and of {} fetched pages {finding}", self.urls, self.pages);
        Err(Skip::new(SkipReason::Trap, detail))
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
