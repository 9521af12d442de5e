//! The record of one page, as users see it in every export. Fields are typed; exports turn them into text.

use crate::{ContentHash, Millis, SimHash};
use serde::{Deserialize, Serialize};

/// One page is one JSON object with its fields in this order. Unknown values are null there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The URL as scheduled.
    pub url: String,
    /// Where redirects ended.
    pub final_url: Option<String>,
    pub status: Option<u16>,
    pub depth: u32,
    pub title: Option<String>,
    pub description: Option<String>,
    pub keywords: Option<String>,
    pub author: Option<String>,
    pub language: Option<String>,
    pub canonical: Option<String>,
    pub content_type: Option<String>,
    /// Length of the body after content decoding.
    pub bytes: Option<u64>,
    /// Of the body after content decoding.
    pub content_hash: Option<ContentHash>,
    pub simhash: Option<SimHash>,
    /// URL of the first page with the same content or nearly the same text, or of the one that the canonical link names.
    pub duplicate_of: Option<String>,
    pub word_count: Option<u32>,
    pub topics: Option<Vec<String>>,
    /// How many links were found.
    pub links: Option<u32>,
    /// RFC 3339 with milliseconds in JSON.
    #[serde(with = "crate::time::optional_rfc3339")]
    pub crawled_at: Option<Millis>,
    pub fetch_ms: Option<u32>,
    pub error: Option<String>,
    /// `FILE:OFFSET`, FILE relative to `archive/`; in a cluster it may be the key of an object.
    pub archive: Option<String>,
}

impl Page {
    pub const FIELDS: [&'static str; 22] = [
        "url",
        "final_url",
        "status",
        "depth",
        "title",
        "description",
        "keywords",
        "author",
        "language",
        "canonical",
        "content_type",
        "bytes",
        "content_hash",
        "simhash",
        "duplicate_of",
        "word_count",
        "topics",
        "links",
        "crawled_at",
        "fetch_ms",
        "error",
        "archive",
    ];
}

/// How long each stage of a request took, in microseconds. A stage that did not happen (a reused connection has no connect)
/// is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchTimings {
    /// When the request started.
    pub started: Millis,
    /// When the last byte of the response arrived, or the request failed.
    pub ended: Millis,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub dns_us: u32,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub connect_us: u32,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub tls_us: u32,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub first_byte_us: u32,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub download_us: u32,
}

impl FetchTimings {
    pub fn total_us(&self) -> u64 {
        u64::from(self.dns_us)
            + u64::from(self.connect_us)
            + u64::from(self.tls_us)
            + u64::from(self.first_byte_us)
            + u64::from(self.download_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_keeps_its_field_order() {
        let json = serde_json::to_string(&Page::default()).unwrap();
        let mut at = 0;
        for field in Page::FIELDS {
            let found = json[at..].find(&format!("\"{field}\":")).expect(field);
            at += found;
        }
        assert_eq!(
            serde_json::to_value(Page::default()).unwrap().as_object().unwrap().len(),
            Page::FIELDS.len()
        );
    }

    #[test]
    fn hashes_and_times_are_texts_in_json() {
        let page = Page {
            content_hash: Some(ContentHash([0x0f; 32])),
            simhash: Some(SimHash(1)),
            crawled_at: Some(Millis(1_767_323_045_678)),
            ..Page::default()
        };
        let json = serde_json::to_value(&page).unwrap();
        assert_eq!(json["content_hash"], "0f".repeat(32));
        assert_eq!(json["simhash"], "0000000000000001");
        assert_eq!(json["crawled_at"], "2026-01-02T03:04:05.678Z");
        assert_eq!(serde_json::from_value::<Page>(json).unwrap(), page);
        assert!(serde_json::to_value(Page::default()).unwrap()["crawled_at"].is_null());
    }
}
