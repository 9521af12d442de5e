//! The smaller rows of a batch: refusals, hosts, robots.txt versions, errors, and how far the files beside the
//! catalogue are valid.

use argiope_model::{JobId, Millis, SkipReason};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// At most this many refused URLs are stored per job; the rest is counted only.
pub const SKIPPED_PER_JOB: u64 = 1_000_000;

/// The key by which the catalogue finds a URL: the first 8 bytes of its SHA-256. For a URL in normal form it equals
/// [`argiope_model::Identity::key_u64`]; it is defined for texts that never became one, too.
pub fn url_key(text: &str) -> u64 {
    Sha256::digest(text.as_bytes()).iter().take(8).fold(0, |key, byte| (key << 8) | u64::from(*byte))
}

/// A URL that was refused before a request. Stored once per job, with its first source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    pub job: JobId,
    pub url: String,
    pub reason: SkipReason,
    pub detail: String,
    pub source: Option<String>,
}

/// What is known of a host, all jobs together. Replaces what was known before; a robots text that is None leaves the
/// stored one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostRow {
    pub host: String,
    pub root_domain: String,
    pub robots_text: Option<String>,
    pub robots_fetched_at: Option<Millis>,
    pub robots_status: Option<u16>,
    /// What robots.txt asks for.
    pub crawl_delay_ms: Option<u64>,
    /// What is kept in fact.
    pub delay_ms: u64,
    /// False where robots.txt forbids everything or the host is blacklisted.
    pub is_allowed: bool,
    pub page_count: u64,
    pub error_count: u64,
    pub bytes: u64,
    pub last_request_at: Option<Millis>,
}

/// robots.txt as it was found at one time. All versions are kept, so that old requests can be judged by the rules of
/// their day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRow {
    /// `https://example.com:8443`
    pub origin: String,
    pub fetched_at: Millis,
    /// None where there was no answer.
    pub status: Option<u16>,
    pub body: Vec<u8>,
}

/// A failure worth keeping: a dead letter is a URL that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorRow {
    pub job: JobId,
    pub url: String,
    pub host: String,
    pub round: u32,
    pub attempt: u8,
    /// One word: `timeout`, `dns`, `http_503` ...
    pub kind: String,
    pub message: String,
    pub status: Option<u16>,
    pub at: Millis,
    pub dead_letter: bool,
}

/// How many bytes of a file beside the catalogue belong to what is committed; the excess is cut at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Relative to the directory of its kind.
    pub file: String,
    pub length: u64,
}

/// How far `-o FILE` had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPosition {
    pub job: JobId,
    /// Absolute path, or `-`.
    pub path: String,
    /// Every page of the job up to this sequence number is in the file.
    pub seq: u64,
    pub length: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::Url;

    #[test]
    fn the_key_of_a_url_is_that_of_its_identity() {
        let url = Url::from_stored("https://example.com/a").unwrap();
        assert_eq!(url_key(url.as_str()), url.identity().key_u64());
    }
}
