//! After a crash: what the archive has beyond the frontier's marks is completed from it, without a second request.
//!
//! The archive is the log. With every batch the frontier stores how far the archive was when the visits of that batch
//! were done. Complete visits beyond that are committed to the catalogue (unless they are there) and completed in the
//! frontier, with their links. Requests without a metadata record were in flight: they are still queued.
//!
//! A catalogue that is older than the frontier, restored from a backup or without its last transactions, is first
//! brought up to date: the visits in between are complete, and are only stored again.
//!
//! The archive is read twice: links may lead to URLs that are among the visits, and those must be known first. A retry
//! or a hop may be there beside the visit it follows; then the last one of them counts.

use crate::classify::{self, Decision};
use crate::commit_queue::Load;
use crate::committer::Committer;
use crate::duplicates;
use crate::error::EngineError;
use crate::job::{JobContext, Jobs};
use crate::robots;
use crate::scheduler::{marks, offer_sitemaps, settle};
use crate::scope::ScopeCompiler;
use crate::visit_record::{Settlement, VisitRecord};
use crate::worker::pending::PendingResponse;
use crate::worker::processing::{ProcessedPage, ResponseProcessor};
use crate::worker::rows::{self, RequestContext};
use argiope_fetch::{DecodeScratch, Fetched};
use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{QueueAt, ShardState, StateBatch};
use argiope_frontier::{Answer, Completion, Entered, Frontier, Rule, Ticket};
use argiope_model::{Fingerprint, FingerprintKey, JobId, Millis, RequestKind, Visit};
use argiope_politeness::AnswerResult;
use argiope_store::archive::{Archive, Position, RecoveredVisit, Recovery, StoredExchange};
use argiope_store::catalogue::CatalogueReader;
use argiope_store::clock::now;
use argiope_store::error::{ErrorKind, StoreError};
use argiope_store::warc::{VisitMetadata, VisitOutcome};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// What was found after an unclean stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoverySummary {
    /// The last run did not end by itself. Requests in flight at that time are repeated; their number is not known.
    pub unclean: bool,
    /// Visits completed from the archive.
    pub visits: u64,
    /// Visits that the frontier had completed, restored to a catalogue that lacked them.
    pub restored: u64,
    /// Incomplete visits that were cut off.
    pub cuts: u64,
    /// Bytes of links beyond the catalogue that were cut.
    pub link_bytes: u64,
    /// Failures that are queued again on request.
    pub retried: u64,
}

const BATCH: usize = 500;

/// The worker name in the rows.
const WORKER: &str = "recovery";

pub(crate) struct Recoverer<'e> {
    pub(crate) archive: Arc<dyn Archive>,
    pub(crate) committer: &'e mut Committer,
    pub(crate) frontier: &'e mut Frontier,
    pub(crate) state: &'e mut dyn ShardState,
    pub(crate) jobs: &'e Jobs,
    pub(crate) scope: &'e ScopeCompiler,
    pub(crate) key: &'e FingerprintKey,
    pub(crate) known: KnownVisits,
}

/// What is known of the recovered visits before they are processed. As many as may be in progress.
#[derive(Default)]
pub(crate) struct KnownVisits {
    /// The progress of each URL: its retries and hops so far.
    stages: HashMap<(JobId, Fingerprint), usize>,
    ended: HashSet<Ticket>,
    /// Delayed entries; searched only if an entry is missing from its queue.
    delayed: Option<HashMap<(QueueAt, OrderKey), Millis>>,
}

fn stage_of(visit: &Visit) -> usize {
    visit.hops.len() + usize::from(visit.attempt)
}

impl Recoverer<'_> {
    pub(crate) fn run(&mut self) -> Result<RecoverySummary, EngineError> {
        let marks = self.state.marks()?.into_iter();
        let ended: HashMap<Arc<str>, u64> = marks
            .filter_map(|(name, length)| Some((name.strip_prefix("archive/")?.into(), length)))
            .collect();
        let restored = self.catch_up(&ended)?;
        let known = positions(&ended);
        let archive = Arc::clone(&self.archive);
        let first = archive.recover(&known, &mut |found| {
            self.expect(&found.metadata.visit);
            Ok(())
        })?;
        let recovery = self.replay(&known, |_| true, Self::store)?;
        for file in &recovery.unindexed {
            archive.build_index(file)?;
        }
        let cuts = first.cuts.len() as u64;
        Ok(RecoverySummary { visits: recovery.visits, restored, cuts, ..RecoverySummary::default() })
    }

    /// Stores visits that the frontier has completed, up to these lengths of the archive, and the catalogue lacks.
    fn catch_up(&mut self, ended: &HashMap<Arc<str>, u64>) -> Result<u64, EngineError> {
        let catalogued = self.committer.catalogue.reader()?.archive_positions()?.into_iter();
        let catalogued: HashMap<Arc<str>, u64> = catalogued.map(|p| (p.file.into(), p.length)).collect();
        let reached = |file: &Arc<str>| catalogued.get(file).copied().unwrap_or_default();
        if ended.iter().all(|(file, length)| reached(file) >= *length) {
            return Ok(0);
        }
        let from = ended.iter().map(|(file, length)| (file.clone(), reached(file).min(*length))).collect();
        let mut restored = 0;
        let is_ended =
            |found: &RecoveredVisit| ended.get(&found.at.file).is_some_and(|length| found.end <= *length);
        self.replay(&positions(&from), is_ended, |this, mut records| {
            restored += records.len() as u64;
            records.iter_mut().for_each(|record| record.settlement = None);
            this.committer.commit(&mut Load::of(records), true)?;
            Ok(())
        })?;
        let batch = self.committer.catalogue.reader()?.last_batch()?;
        self.state.apply(StateBatch { changes: Vec::new(), marks: marks(&[], batch) })?;
        Ok(restored)
    }

    /// Reads the selected visits beyond these positions, as records, and passes them on in batches.
    fn replay(
        &mut self,
        known: &[Position],
        wanted: impl Fn(&RecoveredVisit) -> bool,
        mut store: impl FnMut(&mut Self, Vec<VisitRecord>) -> Result<(), EngineError>,
    ) -> Result<Recovery, EngineError> {
        let reader = self.committer.catalogue.reader()?;
        let archive = Arc::clone(&self.archive);
        let mut waiting: Vec<VisitRecord> = Vec::new();
        let mut failure = None;
        let recovery = archive.recover(known, &mut |visit| {
            if wanted(&visit) {
                waiting.extend(self.record_of(visit, reader.as_ref())?);
            }
            if waiting.len() >= BATCH {
                store(self, std::mem::take(&mut waiting)).map_err(|error| stopped(&mut failure, error))?;
            }
            Ok(())
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let recovery = recovery?;
        if !waiting.is_empty() {
            store(self, waiting)?;
        }
        Ok(recovery)
    }

    fn store(&mut self, records: Vec<VisitRecord>) -> Result<(), EngineError> {
        let stored = self.committer.commit(&mut Load::of(records), true)?;
        let mut late = Vec::new();
        for settled in stored.settled {
            let (ticket, visit) = (settled.ticket, settled.visit.clone());
            let last = self.known.stages.get(&self.identity(&visit)).is_none_or(|s| *s == stage_of(&visit));
            let completion = last.then(|| settled.completion.clone());
            let settled = Settlement { ticket: None, ..settled };
            late.extend(settle(self.frontier, settled, self.jobs, self.scope, now()));
            if ticket.is_none_or(|ticket| self.known.ended.insert(ticket)) {
                let entered = self.find_entry(ticket)?;
                self.frontier.complete_stored(entered, &visit, completion, now());
            }
        }
        if !late.is_empty() {
            self.committer
                .commit(&mut Load::of(vec![VisitRecord { skipped: late, ..VisitRecord::default() }]), true)?;
        }
        let mut changes = self.frontier.take_changes();
        changes.marks = marks(&stored.positions, stored.batch);
        self.state.apply(changes)?;
        self.state.sync()?;
        Ok(())
    }

    fn identity(&self, visit: &Visit) -> (JobId, Fingerprint) {
        (visit.job, self.key.of(visit.scheduled_url().normal(), visit.round).for_kind(visit.kind))
    }

    fn expect(&mut self, visit: &Visit) {
        if self.jobs.get(visit.job).is_none() || visit.kind == RequestKind::Robots {
            return;
        }
        let (job, fingerprint) = self.identity(visit);
        self.frontier.visited_before(job, visit.scheduled_url(), fingerprint);
        let stage = self.known.stages.entry((job, fingerprint)).or_default();
        *stage = stage_of(visit).max(*stage);
    }

    /// The state may have lost the batch that put a visit where its ticket says.
    fn find_entry(&mut self, ticket: Option<Ticket>) -> Result<Entered, EngineError> {
        let Some(ticket) = ticket else { return Ok(Entered::Nowhere) };
        let Ticket { at, order } = ticket;
        let before = OrderKey { sequence: order.sequence.saturating_sub(1), ..order };
        if self.state.load_queue(at, Some(before), 1)?.first().is_some_and(|entry| entry.order == order) {
            return Ok(Entered::Queued(ticket));
        }
        let delayed = match &mut self.known.delayed {
            Some(delayed) => delayed,
            none => {
                let (entries, _) = self.state.load_due(self.frontier.served(), Millis::NEVER, usize::MAX)?;
                none.insert(entries.into_iter().map(|d| ((d.at, d.entry.order), d.due)).collect())
            }
        };
        Ok(match delayed.get(&(at, order)) {
            Some(due) => Entered::Delayed { due: *due, ticket },
            None => Entered::Nowhere,
        })
    }

    /// A visit as its worker would have passed it on. None if its job is not open: it stays where it is.
    fn record_of(
        &mut self,
        found: RecoveredVisit,
        reader: &dyn CatalogueReader,
    ) -> Result<Option<VisitRecord>, StoreError> {
        let Some(job) = self.jobs.get(found.metadata.visit.job) else { return Ok(None) };
        let position = Some(Position { file: found.at.file.clone(), length: found.end });
        let decision = decision_of(&found);
        let visit = found.metadata.visit.clone();
        let ticket = found.metadata.ticket.as_deref().and_then(|text| text.parse::<Ticket>().ok());
        let mut is_dispensable = false;
        let catalogued = match visit.kind {
            RequestKind::Page => {
                let stored = reader.page(Some(visit.job), visit.scheduled_url().normal())?;
                let stored = stored.filter(|stored| {
                    stored.row.round == visit.round && stored.row.timings == found.metadata.timings
                });
                if let Some(stored) = &stored
                    && !job.spec.follow_duplicates
                {
                    is_dispensable = duplicates::has_stored_original(&stored.row, &job, reader)?;
                }
                stored.is_some()
            }
            RequestKind::Resource => {
                reader.resource(Some(visit.job), visit.scheduled_url().normal())?.is_some_and(|stored| {
                    stored.round == visit.round && stored.fetched_at == found.metadata.timings.ended
                })
            }
            RequestKind::Robots | RequestKind::Sitemap => false,
        };
        let is_robots = visit.kind == RequestKind::Robots;
        let mut record = if found.has_response {
            let exchange = self.archive.read(&found.at)?;
            let fetched = fetched_again(&found, &exchange);
            self.tell_host(&visit, &fetched);
            let context = context_of(&found.metadata, ticket);
            let response =
                PendingResponse { job: Arc::clone(&job), token: None, visit, context, fetched, decision };
            // Each with fresh buffers: they remember links, and not all of these records reach the frontier.
            let mut processor = ResponseProcessor::new(String::from(WORKER), self.key.clone());
            let ProcessedPage { mut record, fetched, .. } = processor.process_response(response);
            record.archived(&found.at, found.duplicate_of.as_ref());
            if let Some(settlement) = record.settlement.take_if(|_| is_robots) {
                self.keep_robots(&job, &settlement.visit, &fetched, &mut record);
            }
            record
        } else {
            without_response(found.metadata, decision, ticket)
        };
        record.position = position;
        if catalogued {
            // Only the frontier lacked it: links and rows are stored.
            let mut settlement = record.settlement.take();
            if let Some(settlement) = &mut settlement
                && is_dispensable
            {
                duplicates::unfollow(settlement);
            }
            record = VisitRecord { settlement, position: record.position, ..VisitRecord::default() };
        }
        if is_robots {
            record.settlement = None;
        }
        Ok(Some(record))
    }

    /// The host may have asked for a pause that was lost.
    fn tell_host(&mut self, visit: &Visit, fetched: &Fetched) {
        let (status, ended) = (fetched.status.as_u16(), fetched.timings.ended);
        let retry_after = classify::retry_after(&fetched.headers, status, ended);
        let outcome = classify::outcome(visit, AnswerResult::Status(status), &fetched.timings, retry_after);
        self.frontier.answered_before(&visit.url, &Answer { ended, outcome }, now());
    }

    /// Treats a robots.txt as if it had just arrived. One that was redirected is fetched again, and so is that of a
    /// host without queued URLs: the next user also looks for its sitemaps.
    fn keep_robots(&mut self, job: &JobContext, visit: &Visit, fetched: &Fetched, record: &mut VisitRecord) {
        let Some(origin) = &visit.source else { return };
        if fetched.redirect().is_some() || !self.frontier.serves(job.id, origin.host()) {
            return;
        }
        let (status, ended) = (fetched.status.as_u16(), fetched.timings.ended);
        let mut scratch = DecodeScratch::new();
        let Ok(body) = robots::robots_body(fetched, &mut scratch) else { return };
        let body = body.to_vec();
        record.robots = Some(robots::robots_row(origin, status, &body, ended));
        record.host = Some(robots::host_row(origin, status, &body, ended));
        let answer = (status, body);
        if let Some(news) = self.frontier.robots_answered_before(origin, &job.agent, answer, ended, now()) {
            record.skipped.extend(offer_sitemaps(self.frontier, self.jobs, self.key, &news, now()));
        }
    }
}

fn positions(lengths: &HashMap<Arc<str>, u64>) -> Vec<Position> {
    lengths.iter().map(|(file, length)| Position { file: file.clone(), length: *length }).collect()
}

fn stopped(failure: &mut Option<EngineError>, error: EngineError) -> StoreError {
    let text = error.to_string();
    *failure = Some(error);
    StoreError::new(ErrorKind::Io, "recovery", text)
}

fn decision_of(found: &RecoveredVisit) -> Decision {
    let metadata = &found.metadata;
    let completion = match &metadata.outcome {
        VisitOutcome::Final => {
            let is_page = metadata.visit.kind == RequestKind::Page;
            Completion::Done { counted: is_page && metadata.status.is_some() }
        }
        VisitOutcome::Retry { due } => Completion::Retry { due: *due },
        VisitOutcome::Redirect { to } => {
            Completion::Redirect { to: to.clone(), status: metadata.status.unwrap_or(302) }
        }
    };
    // A visit that was retried and ended without success had been retried as often as allowed.
    let bad = metadata.status.is_none_or(|status| matches!(status, 429 | 500..=599));
    let last = matches!(metadata.outcome, VisitOutcome::Final) && bad;
    let dead_letter = last && metadata.error.is_some() && metadata.visit.attempt > 0;
    Decision { completion, error: metadata.error.clone(), dead_letter }
}

fn context_of(metadata: &VisitMetadata, ticket: Option<Ticket>) -> RequestContext {
    let rule = metadata.robots_rule.as_deref();
    RequestContext {
        ticket,
        rule: rule.map(|text| Rule { text: text.into(), line: metadata.robots_line }),
        delay: Duration::from_millis(metadata.required_delay_ms),
        per_host: metadata.per_host.max(1),
    }
}

fn without_response(metadata: VisitMetadata, decision: Decision, ticket: Option<Ticket>) -> VisitRecord {
    let visit = &metadata.visit;
    let is_page = visit.kind == RequestKind::Page;
    let is_resource = visit.kind == RequestKind::Resource;
    let done = matches!(decision.completion, Completion::Done { .. });
    VisitRecord {
        fetch: Some(rows::fetch_row(&metadata, WORKER)),
        resource: (is_resource && done).then(|| rows::resource_row(visit, &metadata)),
        page: (is_page && done).then(|| rows::failed_page(visit, &metadata, WORKER).capped()),
        error: is_page.then(|| rows::error_row(visit, &decision, None, metadata.timings.ended)),
        settlement: Some(Settlement {
            token: None,
            ticket,
            visit: metadata.visit,
            completion: decision.completion,
            discoveries: Vec::new(),
            note: None,
            scope_host: None,
        }),
        ..VisitRecord::default()
    }
}

/// A response as archived.
fn fetched_again(found: &RecoveredVisit, exchange: &StoredExchange) -> Fetched {
    let metadata = &found.metadata;
    Fetched {
        status: metadata.status.and_then(|s| StatusCode::from_u16(s).ok()).unwrap_or(StatusCode::OK),
        version: Version::HTTP_11,
        head: exchange.head.clone().into(),
        request_head: Default::default(),
        headers: parse_head(&exchange.head),
        // The archive gives the body that a revisit record refers to. The response itself had none.
        body: if metadata.status == Some(304) { Bytes::new() } else { exchange.body.clone().into() },
        truncated: None,
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        timings: metadata.timings,
        reused: false,
    }
}

/// Header fields of a stored head; invalid lines are skipped.
fn parse_head(head: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_stored_head_is_read_again() {
        let headers =
            parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-A: 1\r\nX-A: 2\r\nrubbish\r\n\r\n");
        assert_eq!(headers.get("content-type").unwrap(), "text/html");
        assert_eq!(headers.get_all("x-a").iter().count(), 2);
    }

    fn found(metadata: VisitMetadata) -> RecoveredVisit {
        let at = argiope_store::archive::ArchiveRef { file: "one.warc.gz".into(), offset: 0 };
        RecoveredVisit { at, end: 100, metadata, has_response: false, duplicate_of: None }
    }

    fn failed(attempt: u8) -> VisitMetadata {
        sample::metadata(Visit { attempt, ..sample::visit("http://a.test/x") })
    }

    #[test]
    fn what_an_archived_visit_came_to_is_decided_as_before() {
        let of = |metadata| decision_of(&found(metadata));
        let done = |counted| Completion::Done { counted };
        let answered = |status| VisitMetadata { status: Some(status), error: None, ..failed(0) };
        assert_eq!(of(answered(404)).completion, done(true));
        assert_eq!(of(failed(0)).completion, done(false), "without an answer it is no page");
        let visit = Visit { kind: RequestKind::Sitemap, ..sample::visit("http://a.test/sitemap.xml") };
        let sitemap = VisitMetadata { visit, ..answered(200) };
        assert_eq!(of(sitemap).completion, done(false), "only pages count");
        let due = Millis(77);
        let retry = VisitMetadata { outcome: VisitOutcome::Retry { due }, ..answered(503) };
        assert_eq!(of(retry).completion, Completion::Retry { due });
        let to = sample::url("http://a.test/y");
        let redirect = VisitMetadata { outcome: VisitOutcome::Redirect { to: to.clone() }, ..answered(308) };
        assert_eq!(of(redirect).completion, Completion::Redirect { to, status: 308 });
    }

    #[test]
    fn only_the_last_of_several_failed_attempts_is_a_dead_letter() {
        let is_dead = |metadata| decision_of(&found(metadata)).dead_letter;
        assert!(is_dead(failed(2)));
        assert!(is_dead(VisitMetadata { status: Some(503), ..failed(2) }));
        assert!(!is_dead(failed(0)), "it was not tried again");
        assert!(!is_dead(VisitMetadata { outcome: VisitOutcome::Retry { due: Millis(1) }, ..failed(2) }));
        assert!(!is_dead(VisitMetadata { status: Some(404), ..failed(2) }), "that is an answer");
    }

    #[test]
    fn a_failure_is_restored_with_its_rows_and_where_it_was_queued() {
        let ticket: Ticket = "1.17.3.51.2.889".parse().unwrap();
        let metadata = failed(2);
        let decision = decision_of(&found(metadata.clone()));
        let record = without_response(metadata, decision.clone(), Some(ticket));
        let settlement = record.settlement.unwrap();
        assert_eq!((settlement.token, settlement.ticket), (None, Some(ticket)));
        assert_eq!(settlement.completion, decision.completion);
        assert!(record.fetch.is_some() && record.error.unwrap().dead_letter);
        assert_eq!(record.page.unwrap().page.error.as_deref(), Some("reset"));
        assert!(record.resource.is_none());
        // One that is tried again is no page yet.
        let metadata = VisitMetadata { outcome: VisitOutcome::Retry { due: Millis(1) }, ..failed(1) };
        let decision = decision_of(&found(metadata.clone()));
        let record = without_response(metadata, decision, None);
        assert!(record.page.is_none() && record.fetch.is_some());
    }

    #[test]
    fn a_request_is_restored_with_the_terms_that_it_was_made_on() {
        let robots_rule = Some(String::from("Allow: /x"));
        let metadata = VisitMetadata { robots_rule, robots_line: Some(4), ..failed(0) };
        let context = context_of(&metadata, None);
        assert_eq!(context.rule, Some(Rule { text: "Allow: /x".into(), line: Some(4) }));
        assert_eq!((context.delay, context.per_host), (Duration::from_secs(2), 1));
    }
}
