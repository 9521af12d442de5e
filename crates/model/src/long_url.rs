//! How a URL that is too long to be crawled is recorded: its beginning, its length, and a hash that distinguishes it
//! from others with the same beginning.

use crate::url::Url;
use sha2::{Digest, Sha256};

/// Bytes of the beginning that are recorded.
const KEPT: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongUrl {
    /// `https://example.com/q?x=aaa...[3000 characters, 0123456789abcdef]`
    pub shortened: String,
    /// Bytes of the whole.
    pub length: usize,
}

impl LongUrl {
    /// For an absolute URL. Every spelling of a URL gives the same text.
    pub fn of(text: &str) -> LongUrl {
        match url::Url::parse(text.trim()) {
            Ok(url) => LongUrl::whole(url),
            Err(_) => LongUrl::shortened(text.trim()),
        }
    }

    /// For a reference on a page, which may have a `<base>`.
    pub fn found(page: &Url, base: Option<&str>, reference: &str) -> LongUrl {
        let page = url::Url::parse(page.as_str()).ok();
        let rebased = page.as_ref().zip(base).and_then(|(page, base)| page.join(base).ok());
        match rebased.or(page).and_then(|base| base.join(reference.trim()).ok()) {
            Some(url) => LongUrl::whole(url),
            None => LongUrl::shortened(reference.trim()),
        }
    }

    fn whole(mut url: url::Url) -> LongUrl {
        url.set_fragment(None);
        LongUrl::shortened(url.as_str())
    }

    fn shortened(text: &str) -> LongUrl {
        let hash = Sha256::digest(text.as_bytes());
        let hash = hash.iter().take(8).fold(0u64, |hash, byte| (hash << 8) | u64::from(*byte));
        let beginning = text.get(..text.floor_char_boundary(KEPT)).unwrap_or_default();
        let length = text.len();
        LongUrl { shortened: format!("{beginning}...[{length} characters, {hash:016x}]"), length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_url_is_known_by_its_beginning_its_length_and_its_hash() {
        let page = Url::from_stored("https://a.test/dir/page").unwrap();
        let tail = "x".repeat(3000);
        let found = LongUrl::found(&page, None, &format!("long?q={tail}#part"));
        let whole = format!("https://a.test/dir/long?q={tail}");
        assert_eq!(found.length, whole.len());
        assert!(found.shortened.starts_with("https://a.test/dir/long?q=xxx"), "{}", found.shortened);
        assert!(found.shortened.len() < 260 && found.shortened.contains("...[3026 characters, "));
        assert_eq!(LongUrl::of(&whole), found, "asked for by the whole URL");
        assert_eq!(LongUrl::found(&page, Some("/other/"), &format!("../dir/long?q={tail}")), found);
        assert_ne!(LongUrl::of(&format!("{whole}y")).shortened, found.shortened);
    }

    #[test]
    fn what_is_no_url_is_shortened_too() {
        let long = LongUrl::of(&"ä".repeat(3000));
        assert_eq!(long.length, 6000);
        assert!(long.shortened.starts_with("ää"));
    }
}
