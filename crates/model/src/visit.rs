//! A visit is the unit of work: one attempt, in one round, to get one URL for one job.

use crate::{Millis, PreviousFetch, Url, Validators, is_zero};
use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u32);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Keyed 64-bit fingerprint of (normal form, salt): the entries of the seen-set. The key is drawn once per data
/// directory, so that nobody outside can prepare collisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// A URL may be linked as a page and used as a resource; these are two visits.
    pub fn for_kind(self, kind: RequestKind) -> Fingerprint {
        match kind {
            RequestKind::Resource => Fingerprint(self.0 ^ 0x5265_736f_7572_6365),
            RequestKind::Page | RequestKind::Robots | RequestKind::Sitemap => self,
        }
    }
}

#[derive(Clone)]
pub struct FingerprintKey {
    secret: Box<[u8; 192]>,
}

impl FingerprintKey {
    /// Derives the whole secret of the hash from 16 random bytes, by SplitMix64 over both halves.
    pub fn new(key: [u8; 16]) -> FingerprintKey {
        let number = u128::from_le_bytes(key);
        let mut low = number as u64;
        let mut high = (number >> 64) as u64;
        let mut secret = Box::new([0u8; 192]);
        for chunk in secret.chunks_exact_mut(8) {
            chunk
                .copy_from_slice(&(split_mix(&mut low) ^ split_mix(&mut high).rotate_left(32)).to_le_bytes());
        }
        FingerprintKey { secret }
    }

    /// `salt` distinguishes visits of the same URL: a crawl uses the round; a graph, which visits a host once per
    /// depth, the depth.
    pub fn of(&self, url: &str, salt: u32) -> Fingerprint {
        let base = xxh3::xxh3_64_with_secret(url.as_bytes(), self.secret.as_slice());
        // Mixed in with an odd multiplier, so that salt 0 costs nothing and no two salts collide.
        Fingerprint(base ^ u64::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(..)")
    }
}

/// What a request is for. All of them count for politeness; only pages count for `--max-pages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    #[default]
    Page,
    Robots,
    Sitemap,
    /// A part of a page: an image, a style, a script.
    Resource,
}

impl RequestKind {
    pub fn as_str(self) -> &'static str {
        match self {
            RequestKind::Page => "page",
            RequestKind::Robots => "robots",
            RequestKind::Sitemap => "sitemap",
            RequestKind::Resource => "resource",
        }
    }

    fn is_page(&self) -> bool {
        *self == RequestKind::Page
    }
}

/// One redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    pub url: Url,
    pub status: u16,
}

/// Identifies a visit in the archive and the catalogue; stable across restarts and recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VisitKey {
    pub job: JobId,
    /// The URL as scheduled. The record is stored under it, whatever redirects follow.
    pub url: Url,
    pub round: u32,
    pub attempt: u8,
    /// How many redirects have been followed: hop n+1 is another request of the same attempt.
    pub hop: u8,
}

/// A URL that is due for a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    pub job: JobId,
    #[serde(default, skip_serializing_if = "RequestKind::is_page")]
    pub kind: RequestKind,
    /// The URL to request now: the scheduled one, or the target of its redirects.
    pub url: Url,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub round: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u8,
    pub depth: u32,
    pub priority: u8,
    /// When the URL was first scheduled.
    pub scheduled_at: Millis,
    /// The redirects so far, oldest first; the first one is the URL as scheduled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<Hop>,
    /// The page this URL was first found on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Url>,
    /// The last fetch of the URL, if this visit is a recrawl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Box<PreviousFetch>>,
}

impl Visit {
    /// The URL under which the result is recorded.
    pub fn scheduled_url(&self) -> &Url {
        self.hops.first().map_or(&self.url, |hop| &hop.url)
    }

    /// What makes the request conditional: the validators of the last fetch, if this very URL sent them.
    pub fn validators(&self) -> Option<&Validators> {
        let previous = self.previous.as_deref().filter(|previous| previous.url.same_request(&self.url))?;
        Some(&previous.validators)
    }

    pub fn key(&self) -> VisitKey {
        VisitKey {
            job: self.job,
            url: self.scheduled_url().clone(),
            round: self.round,
            attempt: self.attempt,
            hop: u8::try_from(self.hops.len()).unwrap_or(u8::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_depend_on_key_url_and_salt() {
        let one = FingerprintKey::new([1; 16]);
        let two = FingerprintKey::new([2; 16]);
        let a = one.of("https://example.com/", 0);
        assert_eq!(a, one.of("https://example.com/", 0));
        assert_ne!(a, two.of("https://example.com/", 0));
        assert_ne!(a, one.of("https://example.com/", 1));
        assert_ne!(a, one.of("https://example.com/a", 0));
    }

    #[test]
    fn a_url_as_a_resource_is_not_the_url_as_a_page() {
        let page = FingerprintKey::new([1; 16]).of("https://example.com/", 0);
        assert_eq!(page.for_kind(RequestKind::Page), page);
        assert_eq!(page.for_kind(RequestKind::Sitemap), page);
        assert_ne!(page.for_kind(RequestKind::Resource), page);
    }

    #[test]
    fn validators_are_sent_to_the_url_they_came_from_alone() {
        let url = |text: &str| Url::from_stored(text).unwrap();
        let validators = Validators { etag: Some(String::from("\"x\"")), last_modified: None };
        let previous =
            PreviousFetch { url: url("https://b.test/"), validators, archive: "a.warc.gz:7".parse().ok() };
        let mut visit = Visit {
            job: JobId(1),
            kind: RequestKind::Page,
            url: url("https://a.test/"),
            round: 1,
            attempt: 0,
            depth: 0,
            priority: 50,
            scheduled_at: Millis(1),
            hops: Vec::new(),
            source: None,
            previous: Some(Box::new(previous.clone())),
        };
        assert_eq!(visit.validators(), None);
        visit.url = url("https://b.test/");
        assert_eq!(visit.validators(), Some(&previous.validators));
        let json = serde_json::to_value(&visit).unwrap();
        assert_eq!(json["previous"]["etag"], "\"x\"");
        assert_eq!(json["previous"]["archive"], "a.warc.gz:7");
        assert_eq!(serde_json::from_value::<Visit>(json).unwrap(), visit);
        visit.previous = None;
        assert!(!serde_json::to_string(&visit).unwrap().contains("previous"));
    }
}
