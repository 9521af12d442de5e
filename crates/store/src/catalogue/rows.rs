//! The smaller rows of a batch: skipped URLs, hosts, robots.txt versions, errors, and how far the files beside the
//! catalogue are valid.

use super::page_row::{cap, limits};
use argiope_model::{JobId, Millis, Skip, SkipReason, Url};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// At most this many skipped URLs are stored per job; the rest is only counted.
pub const SKIPPED_PER_JOB: u64 = 1_000_000;

/// How many more are stored for limits and trap rules ([`SkipReason::CUTS`]): millions of links out of scope must not
/// hide those.
pub fn limit_of_cuts(skipped_per_job: u64) -> u64 {
    skipped_per_job.saturating_add(skipped_per_job / 10)
}

/// The key by which the catalogue finds a URL: the first 8 bytes of the SHA-256 of its normal form, as
/// [`argiope_model::Identity::key_u64`] has it. It is defined for texts that never became a URL, too.
pub fn url_key(text: &str) -> u64 {
    Sha256::digest(text.as_bytes()).iter().take(8).fold(0, |key, byte| (key << 8) | u64::from(*byte))
}

/// A URL that was skipped before a request. Stored once per job, with its first source: spellings of one URL are one,
/// except if the row is about the spelling ([`SkipReason::Merged`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    pub job: JobId,
    /// That of the URL's identity.
    pub url_key: u64,
    pub url: String,
    pub reason: SkipReason,
    pub detail: String,
    pub source: Option<String>,
    /// If it is about a page, how much of it was cut: links, or bytes of the body as far as known. For a URL that is
    /// too long, how many more such URLs of the page are not stored. Otherwise 0.
    pub amount: u64,
}

/// The key of a row about a page, so that it does not collide with the page or with other rows about it.
pub fn note_key(reason: SkipReason, page_key: u64) -> u64 {
    url_key(&format!("{reason} {page_key:016x}"))
}

impl SkippedRow {
    /// What a new row adds to the job's count of its reason. A page over the link limit counts all links beyond it; the
    /// sample of those counts nothing.
    pub fn counted(&self) -> u64 {
        match self.reason {
            SkipReason::TooManyLinks => self.amount.max(1),
            SkipReason::OverLinkLimit => 0,
            SkipReason::UrlTooLong => self.amount.saturating_add(1),
            _ => 1,
        }
    }
}

impl SkippedRow {
    pub fn new(job: JobId, url: &Url, skip: Skip, source: Option<&Url>) -> SkippedRow {
        SkippedRow {
            job,
            url_key: url.identity().key_u64(),
            url: url.as_str().to_owned(),
            reason: skip.reason,
            detail: skip.detail,
            source: source.map(|url| url.as_str().to_owned()),
            amount: 0,
        }
    }

    /// The key under which the row is stored, once per job.
    pub fn stored_key(&self) -> u64 {
        match self.reason {
            SkipReason::Merged => url_key(&self.url),
            reason if reason.is_about_a_page() => note_key(reason, self.url_key),
            _ => self.url_key,
        }
    }
}

/// The result of a resource: a part of crawled pages, on any host. (job, url, round) identifies it; a page of the same
/// URL has its own row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRow {
    pub job: JobId,
    /// Of the normal form.
    pub url_key: u64,
    /// As requested.
    pub url: String,
    pub round: u32,
    /// After redirects.
    pub final_url: Option<String>,
    /// None if there was no response.
    pub status: Option<u16>,
    pub error: Option<String>,
    pub content_type: Option<String>,
    /// The announced length if only HEAD was sent.
    pub bytes: Option<u64>,
    /// The page it was first found on; the links have the others.
    pub source: Option<String>,
    pub fetched_at: Millis,
    pub fetch_ms: u32,
    /// `FILE:OFFSET`, if it is archived.
    pub archive: Option<String>,
}

impl ResourceRow {
    /// Of a URL in normal form.
    pub fn new(job: JobId, url: impl Into<String>) -> ResourceRow {
        let url = url.into();
        ResourceRow {
            job,
            url_key: url_key(&url),
            url,
            round: 0,
            final_url: None,
            status: None,
            error: None,
            content_type: None,
            bytes: None,
            source: None,
            fetched_at: Millis::default(),
            fetch_ms: 0,
            archive: None,
        }
    }

    pub fn is_broken(&self) -> bool {
        is_broken(self.status)
    }

    /// Cuts every text that came from outside to its limit.
    pub fn capped(mut self) -> ResourceRow {
        for (text, limit) in [
            (&mut self.final_url, limits::URL),
            (&mut self.error, limits::ERROR),
            (&mut self.content_type, limits::CONTENT_TYPE),
        ] {
            if let Some(text) = text {
                cap(text, limit);
            }
        }
        self
    }
}

/// No response, an error status, or a redirect without a target.
pub fn is_broken(status: Option<u16>) -> bool {
    status.is_none_or(|status| status >= 300 && status != 304)
}

/// The state of a host, over all jobs. Replaces the previous one; a robots text that is None leaves the stored one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostRow {
    pub host: String,
    pub root_domain: String,
    pub robots_text: Option<String>,
    pub robots_fetched_at: Option<Millis>,
    pub robots_status: Option<u16>,
    /// The delay in robots.txt.
    pub crawl_delay_ms: Option<u64>,
    /// The delay in effect.
    pub delay_ms: u64,
    /// False where robots.txt forbids everything or the host is blacklisted.
    pub is_allowed: bool,
    pub page_count: u64,
    pub error_count: u64,
    pub bytes: u64,
    pub last_request_at: Option<Millis>,
}

/// robots.txt as it was at one time. All versions are kept, so that old requests can be checked against the rules of
/// their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRow {
    /// `https://example.com:8443`
    pub origin: String,
    pub fetched_at: Millis,
    /// None if there was no response.
    pub status: Option<u16>,
    pub body: Vec<u8>,
}

/// A failure worth keeping: a dead letter is a URL that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorRow {
    pub job: JobId,
    /// That of the URL's identity.
    #[serde(skip)]
    pub url_key: u64,
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

/// A run that was killed, as the next start found it. Requests that were in flight left no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UncleanStop {
    /// A job that was running; none if there was none.
    pub job: Option<JobId>,
    pub found_at: Millis,
    /// Visits that were completed from the archive.
    pub recovered_visits: u64,
}

/// How many bytes of a file beside the catalogue belong to what is committed; the excess is cut at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Relative to the directory of its kind.
    pub file: String,
    pub length: u64,
}

/// The progress of `-o FILE`.
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
