//! An answer becomes what is stored of it: the page's row, its requests, refusals, errors and resources, and the metadata of
//! its visit. A visit that is recovered from the archive takes the same way.

use crate::classify::{self, Fate};
use crate::digest::{self, Body, Buffers};
use crate::job::JobContext;
use crate::visit_record::VisitRecord;
use argiope_fetch::{DecodeScratch, Fetched, TruncationCause, decode};
use argiope_frontier::Completion;
use argiope_model::{FingerprintKey, Hop, Millis, Page, RequestKind, Url, Visit};
use argiope_store::catalogue::{
    ErrorRow, FetchRow, PageRow, ResourceRow, RobotsRule, SkippedRow, error_kind,
};
use argiope_store::warc::{AnswerFacts, VisitMetadata};
use std::cell::RefCell;
use std::time::Duration;

/// As large a sitemap as is read.
pub(crate) const SITEMAP_BYTES: usize = 50 << 20;

/// What is known of a request beside its answer.
pub(crate) struct RequestContext<'w> {
    pub(crate) ticket: Option<String>,
    pub(crate) rule: Option<argiope_frontier::Rule>,
    pub(crate) delay: Duration,
    pub(crate) per_host: u32,
    pub(crate) worker: &'w str,
}

impl RequestContext<'_> {
    pub(crate) fn metadata(
        &self,
        visit: &Visit,
        fate: &Fate,
        timings: argiope_model::FetchTimings,
        status: Option<u16>,
    ) -> VisitMetadata {
        VisitMetadata {
            visit: visit.clone(),
            outcome: fate.visit_outcome(),
            status,
            error: fate.error.clone(),
            truncated: None,
            timings,
            robots_rule: self.rule.as_ref().map(|rule| rule.text.to_string()),
            robots_line: self.rule.as_ref().and_then(|rule| rule.line),
            required_delay_ms: u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            per_host: self.per_host,
            ticket: self.ticket.clone(),
            charset: None,
            answer: None,
        }
    }

    pub(crate) fn fetch_row(&self, visit: &Visit, metadata: &VisitMetadata, fate: &Fate) -> FetchRow {
        let scheduled = visit.scheduled_url();
        FetchRow {
            scheduled_url: (!visit.hops.is_empty()).then(|| scheduled.as_str().to_owned()),
            kind: visit.kind,
            round: visit.round,
            attempt: visit.attempt,
            hop: u8::try_from(visit.hops.len()).unwrap_or(u8::MAX),
            outcome: fate.fetch_outcome(),
            timings: metadata.timings,
            status: metadata.status,
            error: metadata.error.clone(),
            rule: match (&metadata.robots_rule, metadata.robots_line) {
                (Some(text), Some(line)) => Some(RobotsRule { text: text.clone(), line }),
                _ => None,
            },
            required_delay_ms: metadata.required_delay_ms,
            per_host: metadata.per_host,
            worker_id: Some(self.worker.to_owned()),
            ..FetchRow::new(visit.job, visit.url.host(), visit.url.as_str(), scheduled.identity().key_u64())
        }
    }
}

/// Everything made of an answer, but for its place in the archive.
pub(crate) struct ProcessedPage {
    pub(crate) record: VisitRecord,
    pub(crate) metadata: VisitMetadata,
    pub(crate) discoveries: Vec<argiope_frontier::Discovery>,
    pub(crate) note: Option<argiope_frontier::admission::SeenPage>,
    pub(crate) scope_host: Option<Url>,
    /// Of the body as it came, where that was hashed on the way.
    pub(crate) payload_sha256: Option<[u8; 32]>,
}

impl ProcessedPage {
    pub(crate) fn archived(&mut self, at: &str, duplicate_of: Option<&Url>) {
        if let Some(row) = &mut self.record.page {
            row.page.archive = Some(at.to_owned());
            let own = duplicate_of.is_some_and(|url| url.as_str() == row.page.url);
            row.page.duplicate_of = duplicate_of.filter(|_| !own).map(|url| url.as_str().to_owned());
        }
        if let Some(resource) = &mut self.record.resource {
            resource.archive = Some(at.to_owned());
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the context of one answer and the buffers to read it with")]
pub(crate) fn process_response(
    job: &JobContext,
    visit: &Visit,
    fetched: &Fetched,
    fate: &Fate,
    context: &RequestContext<'_>,
    key: &FingerprintKey,
    buffers: &RefCell<Buffers>,
    decoding: &RefCell<DecodeScratch>,
) -> ProcessedPage {
    let status = fetched.status.as_u16();
    let mut metadata = context.metadata(visit, fate, fetched.timings, Some(status));
    metadata.truncated = fetched.truncated.map(TruncationCause::truncation);
    let mut record = VisitRecord::default();
    let mut discoveries = Vec::new();
    let mut note = None;
    let mut scope_host = None;
    let mut payload_sha256 = None;
    match (&fate.completion, visit.kind) {
        (Completion::Done { .. }, RequestKind::Page) => {
            let most = usize::try_from(job.spec.max_body).unwrap_or(usize::MAX);
            let decoded = decode(&fetched.headers, &fetched.body, most, &mut decoding.borrow_mut());
            let tags: Vec<&str> =
                fetched.headers.get_all("x-robots-tag").iter().filter_map(|v| v.to_str().ok()).collect();
            let content_type = fetched.content_type();
            let body = Body {
                status,
                content_type: content_type.as_deref(),
                x_robots_tag: &tags,
                bytes: &decoded.bytes,
                payload: job.spec.archive.then_some(&*fetched.body),
                now: fetched.timings.ended,
            };
            let digested = digest::page(job, visit, &body, key, &mut buffers.borrow_mut());
            payload_sha256 = digested.payload_hash.map(|hash| hash.0);
            metadata.charset = digested.charset.map(str::to_owned);
            if metadata.error.is_none() {
                metadata.error =
                    fetched.truncated.map(|cut| cut.to_string()).or_else(|| decoded.problem(most));
            }
            let mut row = digested.row;
            finish_row(&mut row, visit, &metadata, context.worker, fetched);
            record.page = Some(row.capped());
            record.links = digested.links;
            record.skipped = digested.skipped;
            record.skipped.extend(cut_body(visit, metadata.error.as_deref(), fetched));
            record.error =
                fate.error.is_some().then(|| error_row(visit, fate, Some(status), fetched.timings.ended));
            discoveries.extend(digested.discovery);
            discoveries.extend(digested.resources);
            note = digested.note;
            scope_host = digest::scope_host(job, visit);
            decoding.borrow_mut().recycle(decoded);
        }
        (Completion::Done { .. }, RequestKind::Sitemap) if status < 300 => {
            let decoded = decode(&fetched.headers, &fetched.body, SITEMAP_BYTES, &mut decoding.borrow_mut());
            let content_type = fetched.content_type();
            let body = Body {
                status,
                content_type: content_type.as_deref(),
                x_robots_tag: &[],
                bytes: &decoded.bytes,
                payload: None,
                now: fetched.timings.ended,
            };
            (discoveries, record.skipped) = digest::sitemap(job, visit, &body, key);
            let cut = fetched.truncated.map(|cut| cut.to_string()).or_else(|| decoded.problem(SITEMAP_BYTES));
            record.skipped.extend(cut_body(visit, cut.as_deref(), fetched));
        }
        (Completion::Done { .. }, RequestKind::Resource) => {
            let length = fetched.header_text("content-length").and_then(|text| text.trim().parse().ok());
            let received = fetched.body.len() as u64;
            let head_only = classify::asks_head_only(job, visit);
            metadata.answer = Some(AnswerFacts {
                content_type: fetched.content_type().map(|text| text.into_owned()),
                bytes: if head_only { length } else { Some(received) },
            });
            if metadata.error.is_none() {
                metadata.error = fetched.truncated.map(|cut| cut.to_string());
            }
            record.resource = Some(resource_row(visit, &metadata));
        }
        (Completion::Redirect { to, .. }, _) => {
            scope_host = (job.graph.is_none() && classify::is_seed(visit)).then(|| to.clone());
        }
        _ => {}
    }
    let mut fetch = context.fetch_row(visit, &metadata, fate);
    fetch.bytes = fetched.body.len() as u64;
    fetch.address = Some(fetched.address.ip().to_string());
    record.fetch = Some(fetch);
    ProcessedPage { record, metadata, discoveries, note, scope_host, payload_sha256 }
}

/// What is said of a page of whose body a part is missing.
fn cut_body(visit: &Visit, error: Option<&str>, fetched: &Fetched) -> Option<SkippedRow> {
    let error = error.filter(|error| error.starts_with(digest::TRUNCATED))?;
    let announced = fetched.header_text("content-length").and_then(|text| text.trim().parse().ok());
    Some(digest::truncated(visit, error, fetched.body.len() as u64, announced))
}

fn finish_row(row: &mut PageRow, visit: &Visit, metadata: &VisitMetadata, worker: &str, fetched: &Fetched) {
    let text = |name: &str| fetched.header_text(name).map(|v| v.into_owned());
    row.etag = text("etag");
    row.last_modified = text("last-modified");
    finish_any_row(row, visit, metadata, worker);
}

fn finish_any_row(row: &mut PageRow, visit: &Visit, metadata: &VisitMetadata, worker: &str) {
    row.page.crawled_at = Some(metadata.timings.ended.rfc3339());
    row.page.fetch_ms = Some(u32::try_from(metadata.timings.total_us() / 1000).unwrap_or(u32::MAX));
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

/// A record has what was asked for; which normal form that has is a matter of the job's rules.
fn as_requested(hop: &Hop) -> Hop {
    let url = Url::from_stored(hop.url.as_str()).unwrap_or_else(|_| hop.url.clone());
    Hop { url, status: hop.status }
}

/// The row of a URL that got no answer, or none that is a page.
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
    finish_any_row(&mut row, visit, metadata, worker);
    row
}

/// All that is stored of a resource, but for its place in the archive.
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
        fetch_ms: u32::try_from(metadata.timings.total_us() / 1000).unwrap_or(u32::MAX),
        archive: None,
    };
    row.capped()
}

pub(crate) fn error_row(visit: &Visit, fate: &Fate, status: Option<u16>, at: Millis) -> ErrorRow {
    let message = fate.error.clone().unwrap_or_default();
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
        dead_letter: fate.dead_letter,
    }
}
