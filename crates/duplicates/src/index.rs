//! The originals of one job.

use crate::content::ContentIndex;
use crate::decide::{Original, Verdict, decide, may_be_near};
use crate::near::NearIndex;
use argiope_model::{ContentHash, SimHash};

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub page: u64,
    /// None for an empty body.
    pub content: Option<ContentHash>,
    /// Its canonical link names another page.
    pub canonical: bool,
    pub simhash: Option<SimHash>,
    pub word_count: u32,
}

impl Facts {
    fn text(&self) -> Option<SimHash> {
        self.simhash.filter(|_| may_be_near(self.word_count))
    }
}

/// Tells originals from duplicates, in the order pages are stored.
pub struct DuplicateIndex {
    contents: ContentIndex,
    texts: NearIndex,
}

impl DuplicateIndex {
    /// Remembers `limit` originals; with 0, none.
    pub fn new(limit: usize) -> DuplicateIndex {
        DuplicateIndex { contents: ContentIndex::new(limit), texts: NearIndex::new(limit) }
    }

    /// Whether a page is a duplicate. One that is not is remembered.
    pub fn judge(&mut self, facts: &Facts) -> Option<Verdict> {
        let same = facts.content.and_then(|content| self.contents.find(content));
        // The page itself, stored a second time.
        let known = same == Some(facts.page);
        let near = || {
            let near = self.texts.find(facts.text()?, facts.page)?;
            Some((near.page, near.distance))
        };
        let verdict = decide(same.filter(|_| !known), facts.canonical, near);
        if verdict.is_none() && !known {
            if let Some(content) = facts.content {
                self.contents.add(content, facts.page);
            }
            if let Some(text) = facts.text() {
                self.texts.add(text, facts.page);
            }
        }
        verdict
    }

    /// Remembers a page that is stored as an original. For an index that is built from what is stored, oldest first.
    pub fn restore(&mut self, facts: &Facts) {
        if let Some(content) = facts.content {
            self.contents.add(content, facts.page);
        }
        if let Some(text) = facts.text() {
            self.texts.restore(text, facts.page);
        }
    }

    /// After the last of them.
    pub fn restored(&mut self) {
        self.texts.restored();
    }

    /// Remembers a page that somebody else has stored as an original, unless it is near to one that is known.
    pub fn learn(&mut self, facts: &Facts) {
        if facts.content.and_then(|content| self.contents.find(content)) == Some(facts.page) {
            return;
        }
        if let Some(content) = facts.content {
            self.contents.add(content, facts.page);
        }
        if let Some(text) = facts.text() {
            self.texts.insert(text, facts.page);
        }
    }

    /// Originals that are remembered.
    pub fn len(&self) -> usize {
        self.contents.len().max(self.texts.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Originals that were forgotten because there were more than the limit.
    pub fn gone(&self) -> u64 {
        self.contents.gone().max(self.texts.gone())
    }

    pub fn memory_bytes(&self) -> usize {
        self.contents.memory_bytes() + self.texts.memory_bytes()
    }
}

impl Verdict {
    /// The key of the page, where the index knows it.
    pub fn known_page(&self) -> Option<u64> {
        match self.original {
            Original::Known(page) => Some(page),
            Original::Canonical => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{MIN_WORDS, Reason};

    fn page(page: u64, content: u8, simhash: u64) -> Facts {
        let (content, simhash) = (Some(ContentHash([content; 32])), Some(SimHash(simhash)));
        Facts { page, content, canonical: false, simhash, word_count: MIN_WORDS }
    }

    #[test]
    fn copies_and_near_copies_name_the_first_page() {
        let mut index = DuplicateIndex::new(100);
        assert_eq!(index.judge(&page(1, b'a', 0)), None);
        let verdict = |page, reason| Some(Verdict { original: Original::Known(page), reason });
        assert_eq!(index.judge(&page(2, b'a', 0)), verdict(1, Reason::SameContent));
        assert_eq!(index.judge(&page(3, b'b', 0b11)), verdict(1, Reason::Near { distance: 2 }));
        assert_eq!(index.judge(&page(4, b'b', 0b1_1111)), None, "neither is compared with a duplicate");
        assert_eq!(index.judge(&page(1, b'a', 0)), None, "stored again");
        assert_eq!(index.judge(&page(1, b'c', 1)), None, "changed");
        assert_eq!(index.judge(&page(5, b'c', 1)), verdict(1, Reason::SameContent));
    }

    #[test]
    fn a_page_with_a_canonical_link_to_another_is_nobodys_original() {
        let mut index = DuplicateIndex::new(100);
        let canonical = Verdict { original: Original::Canonical, reason: Reason::Canonical };
        assert_eq!(index.judge(&Facts { canonical: true, ..page(1, b'a', 0) }), Some(canonical));
        assert_eq!(canonical.known_page(), None);
        assert_eq!(index.judge(&page(2, b'a', 0)), None);
        assert_eq!(index.judge(&page(3, b'b', 0)).and_then(|verdict| verdict.known_page()), Some(2));
        assert_eq!(
            index.judge(&Facts { canonical: true, ..page(4, b'c', 0) }),
            Some(canonical),
            "wins over the text"
        );
    }

    #[test]
    fn short_texts_are_compared_byte_by_byte_only() {
        let mut index = DuplicateIndex::new(100);
        let short = |number, content| Facts { word_count: MIN_WORDS - 1, ..page(number, content, 0) };
        assert_eq!(index.judge(&short(1, b'a')), None);
        assert_eq!(index.judge(&short(2, b'b')), None);
        assert!(index.judge(&short(3, b'b')).is_some());
        assert_eq!(index.judge(&page(4, b'd', 0)), None);
        assert_eq!(index.judge(&Facts { simhash: None, ..page(5, b'e', 0) }), None, "no text at all");
        assert_eq!(index.judge(&Facts { content: None, simhash: None, ..page(6, b'e', 0) }), None);
    }

    #[test]
    fn an_index_of_what_is_stored_gives_the_same_answers() {
        let pages: Vec<Facts> = (0..600)
            .map(|n| page(n, (n % 251) as u8, n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & 0xff00ff))
            .collect();
        for limit in [1000, 40] {
            let mut whole = DuplicateIndex::new(limit);
            let answers: Vec<_> = pages.iter().map(|facts| whole.judge(facts)).collect();
            for stop in [0, 1, 100, 300, 599] {
                let mut restored = DuplicateIndex::new(limit);
                for (facts, _) in pages[..stop].iter().zip(&answers).filter(|(_, answer)| answer.is_none()) {
                    restored.restore(facts);
                }
                restored.restored();
                for (facts, answer) in pages[stop..].iter().zip(&answers[stop..]) {
                    assert_eq!(
                        restored.judge(facts),
                        *answer,
                        "{facts:?}, limit {limit}, stopped after {stop}"
                    );
                }
                assert_eq!((restored.len(), restored.gone()), (whole.len(), whole.gone()));
            }
        }
        assert!(DuplicateIndex::new(5).is_empty());
    }
}
