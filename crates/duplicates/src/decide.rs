//! What a page is found to be, from all that is known of it.

use argiope_model::SimHash;

/// Pages with fewer words are never taken for nearly the same as another: of those in which one word was changed not even a tenth
/// is found, and that word is more than 2 % of the text (`bench/README.md`).
pub const MIN_WORDS: u32 = 50;

/// Whether a text is long enough for its SimHash to say something.
pub fn may_be_near(word_count: u32) -> bool {
    word_count >= MIN_WORDS
}

/// Why a page is a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The same bytes after content decoding.
    SameContent,
    /// The page names another one as its canonical version.
    Canonical,
    /// Their texts differ in so many bits of their SimHash.
    Near { distance: u32 },
}

/// The page that a duplicate duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    /// A page of the index, by its key.
    Known(u64),
    /// The one that its canonical link names, crawled or not.
    Canonical,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub original: Original,
    pub reason: Reason,
}

/// The same content counts first, for nobody can deny it. Then what the site says of the page itself by a canonical link to
/// another one. What the text looks like counts last. A canonical link to the page itself says nothing here: most content systems
/// put one on every page, copies included.
pub fn decide(
    same_content: Option<u64>,
    canonical: bool,
    near: impl FnOnce() -> Option<(u64, u32)>,
) -> Option<Verdict> {
    if let Some(page) = same_content {
        return Some(Verdict { original: Original::Known(page), reason: Reason::SameContent });
    }
    if canonical {
        return Some(Verdict { original: Original::Canonical, reason: Reason::Canonical });
    }
    let (page, distance) = near().filter(|(_, distance)| *distance <= SimHash::NEAR)?;
    Some(Verdict { original: Original::Known(page), reason: Reason::Near { distance } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_comes_first_then_the_canonical_link_then_the_text() {
        let near = || Some((2, 3));
        let of = |same, canonical| decide(same, canonical, near).unwrap();
        let known = |page, reason| Verdict { original: Original::Known(page), reason };
        assert_eq!(of(Some(1), true), known(1, Reason::SameContent));
        assert_eq!(of(None, true), Verdict { original: Original::Canonical, reason: Reason::Canonical });
        assert_eq!(of(None, false), known(2, Reason::Near { distance: 3 }));
        assert_eq!(decide(None, false, || None), None);
        assert_eq!(decide(None, false, || Some((2, 4))), None, "not near");
    }
}
