//! The rows that are stored of a request: its entry in the history, and those of pages, resources and errors that need no
//! body. Workers, recovery and the scheduler make them alike.

use crate::classify::Decision;
use argiope_frontier::{Rule, Ticket};
use argiope_model::{FetchTimings, Hop, Millis, Page, Url, Visit};
use argiope_store::catalogue::{
    ErrorRow, FetchOutcome, FetchRow, PageRow, ResourceRow, RobotsRule, error_kind,
};
use argiope_store::warc::{VisitMetadata, VisitOutcome};
use std::time::Duration;

/// The circumstances of a request, beside the visit and the response.
pub(crate) struct RequestContext {
    /// Where the frontier has the visit queued; None for robots.txt.
    pub(crate) ticket: Option<Ticket>,
    /// The rule of robots.txt that allowed it.
    pub(crate) rule: Option<Rule>,
    /// The delay that the host was owed.
    pub(crate) delay: Duration,
    /// How many requests the host might have in flight.
    pub(crate) per_host: u32,
}

impl RequestContext {
    pub(crate) fn metadata(
        &self,
        visit: &Visit,
        decision: &Decision,
        timings: FetchTimings,
        status: Option<u16>,
    ) -> VisitMetadata {
        VisitMetadata {
            visit: visit.clone(),
            outcome: decision.visit_outcome(),
            status,
            error: decision.error.clone(),
            truncated: None,
            timings,
            robots_rule: self.rule.as_ref().map(|rule| rule.text.to_string()),
            robots_line: self.rule.as_ref().and_then(|rule| rule.line),
            required_delay_ms: u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            per_host: self.per_host,
            ticket: self.ticket.map(|ticket| ticket.to_string()),
            charset: None,
            answer: None,
        }
    }
}

/// The request's entry in the history. Its address and the bytes received are for the caller to add.
pub(crate) fn fetch_row(metadata: &VisitMetadata, worker: &str) -> FetchRow {
    let visit = &metadata.visit;
    let scheduled = visit.scheduled_url();
    FetchRow {
        scheduled_url: (!visit.hops.is_empty()).then(|| scheduled.as_str().to_owned()),
        kind: visit.kind,
        round: visit.round,
        attempt: visit.attempt,
        hop: u8::try_from(visit.hops.len()).unwrap_or(u8::MAX),
        outcome: match metadata.outcome {
            VisitOutcome::Final => FetchOutcome::Final,
            VisitOutcome::Retry { .. } => FetchOutcome::Retry,
            VisitOutcome::Redirect { .. } => FetchOutcome::Redirect,
        },
        timings: metadata.timings,
        status: metadata.status,
        error: metadata.error.clone(),
        rule: match (&metadata.robots_rule, metadata.robots_line) {
            (Some(text), Some(line)) => Some(RobotsRule { text: text.clone(), line }),
            _ => None,
        },
        required_delay_ms: metadata.required_delay_ms,
        per_host: metadata.per_host,
        worker_id: Some(worker.to_owned()),
        ..FetchRow::new(visit.job, visit.url.host(), visit.url.as_str(), scheduled.identity().key_u64())
    }
}

/// The row of a URL without a response, or without one that is a page.
pub(crate) fn failed_page(visit: &Visit, metadata: &VisitMetadata, worker: &str) -> PageRow {
    let scheduled = visit.scheduled_url();
    let final_url = (!visit.hops.is_empty()).then(|| visit.url.as_str().to_owned());
    let page = Page {
        url: scheduled.as_str().to_owned(),
        final_url,
        status: metadata.status,
        depth: visit.depth,
        ..Page::default()
    };
    let mut row = PageRow::new(visit.job, scheduled.identity().key_u64(), scheduled.host(), page);
    complete_page(&mut row, visit, metadata, worker);
    row
}

/// Adds to a page's row what is known of its request.
pub(super) fn complete_page(row: &mut PageRow, visit: &Visit, metadata: &VisitMetadata, worker: &str) {
    row.page.crawled_at = Some(metadata.timings.ended);
    row.page.fetch_ms = Some(fetch_ms(&metadata.timings));
    row.page.error = metadata.error.clone();
    row.round = visit.round;
    row.retry_count = visit.attempt;
    row.redirects = visit.hops.iter().map(as_requested).collect();
    row.timings = metadata.timings;
    row.priority = visit.priority;
    row.source = visit.source.as_ref().map(|url| url.as_str().to_owned());
    row.scheduled_at = visit.scheduled_at;
    row.error_count = u32::from(metadata.error.is_some());
    row.worker_id = Some(worker.to_owned());
}

fn fetch_ms(timings: &FetchTimings) -> u32 {
    u32::try_from(timings.total_us() / 1000).unwrap_or(u32::MAX)
}

/// A record has the URL as requested. Its normal form depends on the rules of the job.
fn as_requested(hop: &Hop) -> Hop {
    let url = Url::from_stored(hop.url.as_str()).unwrap_or_else(|_| hop.url.clone());
    Hop { url, status: hop.status }
}

/// The row of a resource, without its place in the archive.
pub(crate) fn resource_row(visit: &Visit, metadata: &VisitMetadata) -> ResourceRow {
    let answer = metadata.answer.clone().unwrap_or_default();
    let row = ResourceRow {
        job: visit.job,
        url_key: visit.scheduled_url().identity().key_u64(),
        url: visit.scheduled_url().as_str().to_owned(),
        round: visit.round,
        final_url: (!visit.hops.is_empty()).then(|| visit.url.as_str().to_owned()),
        status: metadata.status,
        error: metadata.error.clone(),
        content_type: answer.content_type,
        bytes: answer.bytes,
        source: visit.source.as_ref().map(|url| url.as_str().to_owned()),
        fetched_at: metadata.timings.ended,
        fetch_ms: fetch_ms(&metadata.timings),
        archive: None,
    };
    row.capped()
}

pub(crate) fn error_row(visit: &Visit, decision: &Decision, status: Option<u16>, at: Millis) -> ErrorRow {
    let message = decision.error.clone().unwrap_or_default();
    let kind = match status {
        Some(status) if status >= 400 => format!("http_{status}"),
        _ => error_kind(&message).to_owned(),
    };
    ErrorRow {
        job: visit.job,
        url_key: visit.scheduled_url().identity().key_u64(),
        url: visit.scheduled_url().as_str().to_owned(),
        host: visit.url.host().to_owned(),
        round: visit.round,
        attempt: visit.attempt,
        kind,
        message,
        status,
        at,
        dead_letter: decision.dead_letter,
    }
}
