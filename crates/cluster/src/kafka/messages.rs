//! Messages for other programs: pages, failures and notices, as JSON. The key of a record is the root domain.
//!
//! A page, in `crawl_results`:
//!
//! ```json
//! {"visit": {"job": 1, "url": "https://example.com/", "url_hash": "0f115db062b7c0dd", "round": 0, "attempt": 1},
//!  "host": "example.com", "worker": "w1", "scheduled_at": 1767323045678, "noindex": false,
//!  "page": {"url": "...", "status": 200, ...}}
//! ```
//!
//! `page` has the fields of an export. A failure, in `crawl_failures`:
//!
//! ```json
//! {"visit": {...}, "reason": "timeout", "detail": "no byte within 30 s", "status": null, "source": null,
//!  "dead_letter": true, "at": 1767323045678}
//! ```
//!
//! A notice, in `robots_cache_miss`: `{"origin": "https://example.com", "at": 1767323045678}`. Times are milliseconds
//! since 1970; for a URL that robots.txt forbids, it is the time of publishing. Each message arrives at least once:
//! `visit` identifies it, and the last one counts.

use argiope_model::{Millis, Page};
use argiope_store::catalogue::{ErrorRow, PageRow, SkippedRow};
use serde::Serialize;

/// Identifies a visit, so that duplicates can be recognized.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VisitName<'a> {
    pub job: u32,
    pub url: &'a str,
    #[serde(serialize_with = "hex")]
    pub url_hash: u64,
    pub round: u32,
    /// Counted from 1; 0 without a request.
    pub attempt: u32,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct CrawlResult<'a> {
    pub visit: VisitName<'a>,
    pub host: &'a str,
    pub worker: Option<&'a str>,
    pub scheduled_at: Millis,
    /// The page says noindex.
    pub noindex: bool,
    pub page: &'a Page,
}

impl<'a> From<&'a PageRow> for CrawlResult<'a> {
    fn from(row: &'a PageRow) -> CrawlResult<'a> {
        CrawlResult {
            visit: VisitName {
                job: row.job.0,
                url: &row.page.url,
                url_hash: row.url_key,
                round: row.round,
                attempt: u32::from(row.retry_count) + 1,
            },
            host: &row.host,
            worker: row.worker_id.as_deref(),
            scheduled_at: row.scheduled_at,
            noindex: row.noindex,
            page: &row.page,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct CrawlFailure<'a> {
    pub visit: VisitName<'a>,
    pub reason: &'a str,
    pub detail: &'a str,
    pub status: Option<u16>,
    pub source: Option<&'a str>,
    /// Retries are exhausted.
    pub dead_letter: bool,
    pub at: Millis,
}

impl<'a> CrawlFailure<'a> {
    pub fn of_error(row: &'a ErrorRow) -> CrawlFailure<'a> {
        CrawlFailure {
            visit: VisitName {
                job: row.job.0,
                url: &row.url,
                url_hash: row.url_key,
                round: row.round,
                attempt: u32::from(row.attempt) + 1,
            },
            reason: &row.kind,
            detail: &row.message,
            status: row.status,
            source: None,
            dead_letter: row.dead_letter,
            at: row.at,
        }
    }

    /// A URL that was skipped before a request.
    pub fn of_refusal(row: &'a SkippedRow, at: Millis) -> CrawlFailure<'a> {
        let url_hash = row.url_key;
        CrawlFailure {
            visit: VisitName { job: row.job.0, url: &row.url, url_hash, round: 0, attempt: 0 },
            reason: row.reason.as_str(),
            detail: &row.detail,
            status: None,
            source: row.source.as_deref(),
            dead_letter: false,
            at,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct RobotsCacheMiss<'a> {
    pub origin: &'a str,
    pub at: Millis,
}

fn hex<S: serde::Serializer>(key: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{key:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{JobId, SkipReason};
    use argiope_store::catalogue::url_key;
    use serde_json::json;

    #[test]
    fn a_page_is_published_with_its_visit() {
        let page = Page { url: String::from("https://example.com/"), status: Some(200), ..Page::default() };
        let mut row = PageRow::new(JobId(3), url_key(&page.url), "example.com", page);
        row.retry_count = 1;
        row.worker_id = Some(String::from("w1"));
        row.scheduled_at = Millis(5);
        let mut value = serde_json::to_value(CrawlResult::from(&row)).unwrap();
        let page = value.as_object_mut().unwrap().remove("page").unwrap();
        assert_eq!((&page["status"], &page["title"]), (&json!(200), &json!(null)));
        assert_eq!(page.as_object().unwrap().len(), Page::FIELDS.len());
        let visit = json!({"job": 3, "url": "https://example.com/", "url_hash": "0f115db062b7c0dd", "round": 0, "attempt": 2});
        assert_eq!(
            value,
            json!({"visit": visit, "host": "example.com", "worker": "w1", "scheduled_at": 5, "noindex": false})
        );
    }

    #[test]
    fn a_failure_is_published_with_its_reason() {
        let error = ErrorRow {
            job: JobId(1),
            url_key: 1,
            url: String::from("https://example.com/"),
            host: String::from("example.com"),
            round: 2,
            attempt: 1,
            kind: String::from("timeout"),
            message: String::from("no byte"),
            status: None,
            at: Millis(9),
            dead_letter: true,
        };
        let value = serde_json::to_value(CrawlFailure::of_error(&error)).unwrap();
        assert_eq!(
            (&value["reason"], &value["dead_letter"], &value["visit"]["round"]),
            (&json!("timeout"), &json!(true), &json!(2))
        );
        let refusal = SkippedRow {
            job: JobId(1),
            url_key: 2,
            url: String::from("https://example.com/private"),
            reason: SkipReason::RobotsDisallowed,
            detail: String::from("Disallow: /private"),
            source: None,
            amount: 0,
        };
        let value = serde_json::to_value(CrawlFailure::of_refusal(&refusal, Millis(9))).unwrap();
        assert_eq!((&value["reason"], &value["visit"]["attempt"]), (&json!("robots_disallowed"), &json!(0)));
    }
}
