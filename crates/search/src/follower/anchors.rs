//! Texts of links, kept until the page they lead to is indexed. A page is found through its links, so most of them come
//! before it; what comes later does not change a document that is there.

use crate::document::{LONGEST_ANCHOR, MOST_ANCHORS};
use std::collections::HashMap;

/// Of each of the two generations, in bytes.
const GENERATION_BYTES: usize = 16 << 20;
/// What an entry takes beside its text, about.
const ENTRY_BYTES: usize = 96;

/// In two generations: when the younger one is full the older one is forgotten, so that pages that are never fetched do
/// not stay for good.
#[derive(Default)]
pub(super) struct Anchors {
    young: HashMap<u64, Vec<String>>,
    old: HashMap<u64, Vec<String>>,
    young_bytes: usize,
}

impl Anchors {
    /// `target` is the key of the URL that is linked to.
    pub(super) fn add(&mut self, target: u64, text: &str) {
        let text = text.trim();
        let text = text.get(..text.floor_char_boundary(LONGEST_ANCHOR)).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        let texts = self.young.entry(target).or_default();
        if texts.len() >= MOST_ANCHORS || texts.iter().any(|known| known == text) {
            return;
        }
        texts.push(text.to_owned());
        self.young_bytes += text.len() + ENTRY_BYTES;
        if self.young_bytes >= GENERATION_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }

    /// The texts of links to a page, each once.
    pub(super) fn take(&mut self, target: u64) -> Vec<String> {
        let mut texts = self.old.remove(&target).unwrap_or_default();
        for text in self.young.remove(&target).unwrap_or_default() {
            self.young_bytes = self.young_bytes.saturating_sub(text.len() + ENTRY_BYTES);
            if texts.len() < MOST_ANCHORS && !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_until_their_page_comes() {
        let mut anchors = Anchors::default();
        for text in ["Docs", " Docs ", "", "Manual"] {
            anchors.add(1, text);
        }
        anchors.add(2, "Other");
        assert_eq!(anchors.take(1), ["Docs", "Manual"]);
        assert!(anchors.take(1).is_empty());
        assert_eq!(anchors.take(2), ["Other"]);
    }

    #[test]
    fn a_page_that_everybody_links_to_keeps_some_texts() {
        let mut anchors = Anchors::default();
        for number in 0..1000 {
            anchors.add(1, &format!("text {number} {}", "é".repeat(100)));
        }
        let texts = anchors.take(1);
        assert_eq!(texts.len(), MOST_ANCHORS);
        assert!(texts.iter().all(|text| text.len() <= LONGEST_ANCHOR));
    }

    #[test]
    fn memory_is_bounded() {
        let mut anchors = Anchors::default();
        let most = 2 * GENERATION_BYTES / ENTRY_BYTES;
        for target in 0..2 * most as u64 {
            anchors.add(target, "x");
        }
        assert!(anchors.young.len() + anchors.old.len() <= most);
        assert_eq!(anchors.take(2 * most as u64 - 1), ["x"], "the latest are kept");
        assert!(anchors.take(0).is_empty());
    }
}
