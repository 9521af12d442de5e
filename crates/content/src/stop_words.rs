//! Stop words: what every text of a language has, and no topic is. Kept as hashes of words, made at the first use of a
//! language.

use crate::language::LanguageCode;
use crate::words::hash_of_word;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, RwLock};

/// The English list is one for search engines of the nineties, and has words that pages are about.
const TOPICAL_ENGLISH: &[&str] = &[
    "bill",
    "computer",
    "detail",
    "empty",
    "face",
    "faces",
    "fire",
    "group",
    "groups",
    "html",
    "http",
    "interest",
    "interests",
    "line",
    "member",
    "members",
    "microsoft",
    "million",
    "mine",
    "netscape",
    "novel",
    "null",
    "number",
    "numbers",
    "open",
    "order",
    "orders",
    "research",
    "ring",
    "room",
    "rooms",
    "state",
    "states",
    "system",
    "test",
    "tv",
    "uk",
    "web",
    "work",
    "world",
    "zero",
];

/// What pages have around their text, in whatever language.
const OF_PAGES: &[&str] =
    &["www", "http", "https", "html", "com", "cookie", "cookies", "javascript", "click", "menu"];

/// A table of hashes with a quarter of its places taken at most.
pub(crate) struct StopWords {
    places: Vec<u64>,
}

impl StopWords {
    fn new(hashes: &[u64]) -> StopWords {
        let mut places = vec![0; (hashes.len() * 4).next_power_of_two().max(16)];
        let mask = places.len() - 1;
        for hash in hashes {
            let mut at = *hash as usize & mask;
            while let Some(place) = places.get_mut(at) {
                if *place == 0 || *place == *hash {
                    *place = *hash;
                    break;
                }
                at = (at + 1) & mask;
            }
        }
        StopWords { places }
    }

    fn read(code: LanguageCode) -> StopWords {
        let words = stop_words::lookup(code.as_str()).unwrap_or_default();
        let is_english = code.as_str() == "en";
        let stops = words.iter().filter(|word| !is_english || !TOPICAL_ENGLISH.contains(word));
        let hashes: Vec<u64> = stops.chain(OF_PAGES).filter_map(|word| hash_of_word(word)).collect();
        StopWords::new(&hashes)
    }

    /// Those of a language; only those of pages in general, where there is no list.
    pub(crate) fn of(code: LanguageCode) -> Arc<StopWords> {
        static KNOWN: OnceLock<RwLock<BTreeMap<LanguageCode, Arc<StopWords>>>> = OnceLock::new();
        let known = KNOWN.get_or_init(RwLock::default);
        if let Ok(known) = known.read()
            && let Some(words) = known.get(&code)
        {
            return Arc::clone(words);
        }
        let words = Arc::new(StopWords::read(code));
        // A lock is poisoned by a panic only, and then the words are read again.
        if let Ok(mut known) = known.write() {
            known.insert(code, Arc::clone(&words));
        }
        words
    }

    #[inline]
    pub(crate) fn contains(&self, hash: u64) -> bool {
        let mask = self.places.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            match self.places.get(at) {
                Some(place) if *place == hash => return true,
                Some(0) | None => return false,
                Some(_) => at = (at + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_stop(code: &str, word: &str) -> bool {
        StopWords::of(LanguageCode::of(code).unwrap()).contains(hash_of_word(word).unwrap())
    }

    #[test]
    fn a_word_is_a_stop_word_in_its_language() {
        for (code, word) in
            [("en", "The"), ("de", "über"), ("fr", "avec"), ("pl", "jest"), ("ru", "который"), ("el", "και")]
        {
            assert!(is_stop(code, word), "{word}");
        }
        assert!(!is_stop("en", "computer"));
        assert!(!is_stop("de", "the") && !is_stop("en", "spider"));
        assert!(is_stop("xh", "cookies"));
    }
}
