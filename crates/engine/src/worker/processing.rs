//! A response becomes what is stored of it: the page's row, its links, refusals, errors and resources, and the metadata of its
//! visit. Recovery processes a response from the archive in the same way.

use super::archiving::Kept;
use super::pending::PendingResponse;
use crate::classify;
use crate::content::{self, Buffers, ContentReader, ResponseBody};
use crate::visit_record::{Settlement, VisitRecord};
use crate::worker::rows;
use argiope_fetch::{DecodeScratch, Fetched, TruncationCause, decode};
use argiope_frontier::Completion;
use argiope_model::{FingerprintKey, RequestKind, Visit};
use argiope_store::catalogue::SkippedRow;
use argiope_store::warc::{AnswerFacts, VisitMetadata};

/// A longer sitemap is cut at this length.
pub(crate) const SITEMAP_BYTES: usize = 50 << 20;

/// A processed response: its record is complete but for the place in the archive, to which the rest goes.
pub(crate) struct ProcessedPage {
    pub(crate) record: VisitRecord,
    pub(crate) metadata: VisitMetadata,
    pub(crate) fetched: Fetched,
    /// Of the body as received, if it was hashed on the way.
    pub(crate) payload_sha256: Option<[u8; 32]>,
    pub(crate) kept: Kept,
}

/// Processes responses one after the other, with buffers that it keeps.
pub(crate) struct ResponseProcessor {
    /// Named in the rows.
    worker: String,
    key: FingerprintKey,
    buffers: Buffers,
    decoding: DecodeScratch,
}

impl ResponseProcessor {
    pub(crate) fn new(worker: String, key: FingerprintKey) -> ResponseProcessor {
        ResponseProcessor { worker, key, buffers: Buffers::new(), decoding: DecodeScratch::new() }
    }

    pub(super) fn worker(&self) -> &str {
        &self.worker
    }

    pub(super) fn decoding(&mut self) -> &mut DecodeScratch {
        &mut self.decoding
    }

    pub(crate) fn process_response(&mut self, response: PendingResponse) -> ProcessedPage {
        let PendingResponse { job, token, visit, context, fetched, decision } = response;
        let status = fetched.status.as_u16();
        let mut metadata = context.metadata(&visit, &decision, fetched.timings, Some(status));
        metadata.truncated = fetched.truncated.map(TruncationCause::truncation);
        let mut record = VisitRecord::default();
        let mut discoveries = Vec::new();
        let mut note = None;
        let mut scope_host = None;
        let mut payload_sha256 = None;
        match (&decision.completion, visit.kind) {
            (Completion::Done { .. }, RequestKind::Page) => {
                let most = usize::try_from(job.spec.max_body).unwrap_or(usize::MAX);
                let decoded = decode(&fetched.headers, &fetched.body, most, &mut self.decoding);
                let tags: Vec<&str> =
                    fetched.headers.get_all("x-robots-tag").iter().filter_map(|v| v.to_str().ok()).collect();
                let content_type = fetched.content_type();
                let body = ResponseBody {
                    status,
                    content_type: content_type.as_deref(),
                    x_robots_tag: &tags,
                    bytes: &decoded.bytes,
                    payload: job.spec.archive.then_some(&*fetched.body),
                    now: fetched.timings.ended,
                };
                let reader = ContentReader { job: &job, visit: &visit, key: &self.key };
                let content = reader.page(&body, &mut self.buffers);
                payload_sha256 = content.payload_hash.map(|hash| hash.0);
                metadata.charset = content.charset.map(str::to_owned);
                if metadata.error.is_none() {
                    metadata.error =
                        fetched.truncated.map(|cut| cut.to_string()).or_else(|| decoded.problem(most));
                }
                let mut row = content.row;
                row.etag = fetched.header_text("etag").map(|text| text.into_owned());
                row.last_modified = fetched.header_text("last-modified").map(|text| text.into_owned());
                rows::complete_page(&mut row, &visit, &metadata, &self.worker);
                record.page = Some(row.capped());
                record.links = content.links;
                record.skipped = content.skipped;
                record.skipped.extend(cut_body(&visit, metadata.error.as_deref(), &fetched));
                record.error = decision
                    .error
                    .is_some()
                    .then(|| rows::error_row(&visit, &decision, Some(status), fetched.timings.ended));
                scope_host = content::scope_host(&job, &visit);
                discoveries = content.discoveries;
                note = content.note;
                self.decoding.recycle(decoded);
            }
            (Completion::Done { .. }, RequestKind::Sitemap) if status < 300 => {
                let decoded = decode(&fetched.headers, &fetched.body, SITEMAP_BYTES, &mut self.decoding);
                let content_type = fetched.content_type();
                let body = ResponseBody {
                    status,
                    content_type: content_type.as_deref(),
                    x_robots_tag: &[],
                    bytes: &decoded.bytes,
                    payload: None,
                    now: fetched.timings.ended,
                };
                let reader = ContentReader { job: &job, visit: &visit, key: &self.key };
                (discoveries, record.skipped) = reader.sitemap(&body);
                let cut =
                    fetched.truncated.map(|cut| cut.to_string()).or_else(|| decoded.problem(SITEMAP_BYTES));
                record.skipped.extend(cut_body(&visit, cut.as_deref(), &fetched));
            }
            (Completion::Done { .. }, RequestKind::Resource) => {
                let received = fetched.body.len() as u64;
                let sent_head = classify::sends_head(&job, &visit);
                metadata.answer = Some(AnswerFacts {
                    content_type: fetched.content_type().map(|text| text.into_owned()),
                    bytes: if sent_head { announced_length(&fetched) } else { Some(received) },
                });
                if metadata.error.is_none() {
                    metadata.error = fetched.truncated.map(|cut| cut.to_string());
                }
                record.resource = Some(rows::resource_row(&visit, &metadata));
            }
            (Completion::Redirect { to, .. }, _) => {
                scope_host = (job.graph.is_none() && classify::is_seed(&visit)).then(|| to.clone());
            }
            _ => {}
        }
        let mut fetch = rows::fetch_row(&metadata, &self.worker);
        fetch.bytes = fetched.body.len() as u64;
        fetch.address = Some(fetched.address.ip().to_string());
        record.fetch = Some(fetch);
        record.settlement = Some(Settlement {
            token,
            ticket: context.ticket,
            visit,
            completion: decision.completion,
            discoveries,
            note,
            scope_host,
        });
        let kept = Kept::of(&job.spec, &metadata);
        ProcessedPage { record, metadata, fetched, payload_sha256, kept }
    }
}

fn announced_length(fetched: &Fetched) -> Option<u64> {
    fetched.header_text("content-length").and_then(|text| text.trim().parse().ok())
}

/// The refusal that records a page whose body is not complete.
fn cut_body(visit: &Visit, error: Option<&str>, fetched: &Fetched) -> Option<SkippedRow> {
    let error = error.filter(|error| error.starts_with(content::TRUNCATED))?;
    Some(content::truncated(visit, error, fetched.body.len() as u64, announced_length(fetched)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Decision;
    use crate::job::JobContext;
    use crate::sample::{self, ENDED, hop, job, seed, visit};
    use crate::worker::rows::RequestContext;
    use argiope_model::{JobSpec, Resources, SkipReason};
    use std::sync::Arc;
    use std::time::Duration;

    fn process(
        job: &Arc<JobContext>,
        visit: Visit,
        fetched: Fetched,
        completion: Completion,
    ) -> ProcessedPage {
        let mut processor = ResponseProcessor::new(String::from("w"), FingerprintKey::new([1; 16]));
        let context = RequestContext { ticket: None, rule: None, delay: Duration::ZERO, per_host: 1 };
        let decision = Decision { completion, error: None, dead_letter: false };
        let job = Arc::clone(job);
        processor.process_response(PendingResponse { job, token: None, visit, context, fetched, decision })
    }

    const DONE: Completion = Completion::Done { counted: true };
    const PAGE: &str = "<title>T</title><a href=/y>y</a> <a href=http://b.test/>b</a> some words";

    fn html(body: &str) -> Fetched {
        sample::response(200, &[("content-type", "text/html"), ("etag", "\"e\"")], body)
    }

    fn found(page: &ProcessedPage) -> Vec<&str> {
        let discoveries = page.record.settlement.iter().flat_map(|settlement| &settlement.discoveries);
        discoveries.flat_map(|discovery| &discovery.found).map(|found| found.url.as_str()).collect()
    }

    fn reasons(page: &ProcessedPage) -> Vec<SkipReason> {
        page.record.skipped.iter().map(|row| row.reason).collect()
    }

    #[test]
    fn a_page_has_its_row_its_links_and_what_it_discovers() {
        let page = process(&job(JobSpec::default()), visit("http://a.test/x"), html(PAGE), DONE);
        let row = page.record.page.as_ref().unwrap();
        assert_eq!(
            (row.page.title.as_deref(), row.page.links, row.etag.as_deref()),
            (Some("T"), Some(2), Some("\"e\""))
        );
        assert_eq!((row.page.crawled_at, row.page.fetch_ms), (Some(ENDED), Some(20)));
        assert_eq!(row.page.content_hash.map(|hash| hash.0), page.payload_sha256, "hashed once");
        assert_eq!((found(&page), reasons(&page)), (vec!["http://a.test/y"], vec![SkipReason::OutOfScope]));
        assert!(page.record.links.is_some() && page.record.error.is_none());
        assert_eq!(page.record.fetch.as_ref().unwrap().bytes, PAGE.len() as u64);
    }

    #[test]
    fn an_error_page_discovers_nothing() {
        let missing = Fetched { status: http::StatusCode::NOT_FOUND, ..html(PAGE) };
        let page = process(&job(JobSpec::default()), visit("http://a.test/x"), missing, DONE);
        assert!(found(&page).is_empty() && page.record.links.is_some(), "its links are stored, not followed");
    }

    #[test]
    fn a_response_that_is_retried_stores_no_page() {
        let retry = Completion::Retry { due: ENDED };
        let page = process(&job(JobSpec::default()), visit("http://a.test/x"), html(PAGE), retry);
        assert!(page.record.page.is_none() && page.record.links.is_none() && page.record.fetch.is_some());
    }

    #[test]
    fn a_cut_body_is_an_error_and_a_refusal_with_what_is_missing() {
        let cut = TruncationCause::TooLarge { limit: PAGE.len() as u64 };
        let mut fetched = html(PAGE);
        fetched.truncated = Some(cut);
        fetched.headers.insert("content-length", (PAGE.len() + 10).into());
        let page = process(&job(JobSpec::default()), visit("http://a.test/x"), fetched, DONE);
        assert_eq!(page.record.page.as_ref().unwrap().page.error, Some(cut.to_string()));
        let row = page.record.skipped.iter().find(|row| row.reason == SkipReason::BodyTruncated).unwrap();
        assert_eq!(row.amount, 10);
    }

    #[test]
    fn the_host_that_a_seed_leads_to_joins_the_scope() {
        let job = job(JobSpec::default());
        let scope_host = |visit, completion| {
            let page = process(&job, visit, html(PAGE), completion);
            page.record.settlement.unwrap().scope_host.map(|url| url.host().to_owned())
        };
        let to = || Completion::Redirect { to: sample::url("http://www.a.test/"), status: 301 };
        assert_eq!(scope_host(seed("http://a.test/"), to()).as_deref(), Some("www.a.test"));
        assert_eq!(
            scope_host(hop(seed("http://a.test/"), "http://www.a.test/"), DONE).as_deref(),
            Some("www.a.test")
        );
        assert_eq!(scope_host(visit("http://a.test/x"), to()), None);
        assert_eq!(scope_host(seed("http://a.test/"), DONE), None);
    }

    #[test]
    fn the_size_of_a_checked_resource_is_the_announced_one() {
        let resource = Visit { kind: RequestKind::Resource, ..visit("http://a.test/x.png") };
        let bytes = |resources, body| {
            let job = job(JobSpec { resources, ..JobSpec::default() });
            let fetched = sample::response(200, &[("content-length", "1000")], body);
            let done = Completion::Done { counted: false };
            process(&job, resource.clone(), fetched, done).record.resource.unwrap().bytes
        };
        assert_eq!((bytes(Resources::Check, ""), bytes(Resources::Keep, "abc")), (Some(1000), Some(3)));
    }

    #[test]
    fn the_urls_of_a_sitemap_are_discovered_within_the_scope() {
        let sitemap = Visit { kind: RequestKind::Sitemap, ..visit("http://a.test/sitemap.xml") };
        let xml =
            "<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://b.test/2</loc></url></urlset>";
        let fetched = sample::response(200, &[("content-type", "application/xml")], xml);
        let page = process(&job(JobSpec::default()), sitemap, fetched, Completion::Done { counted: false });
        assert_eq!((found(&page), reasons(&page)), (vec!["http://a.test/1"], vec![SkipReason::OutOfScope]));
        assert!(page.record.page.is_none());
    }
}
