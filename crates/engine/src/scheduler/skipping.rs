//! URLs that end without a request: skipped, or without an address.

use super::{Scheduler, offer_sitemaps};
use crate::log;
use crate::status::{EndedVisit, RetryReason};
use crate::visit_record::{Settlement, VisitRecord};
use crate::worker::rows;
use argiope_frontier::{Completion, NewRobots, Ticket, Token};
use argiope_model::{FetchTimings, Millis, RequestKind, Skip, Visit};
use argiope_store::catalogue::SkippedRow;
use argiope_store::warc::{VisitMetadata, VisitOutcome};
use std::time::Duration;

impl Scheduler {
    pub(super) fn refuse(&mut self, token: Token, visit: Visit, ticket: Ticket, skip: Skip, at: Millis) {
        // It was requested, and its target may not be: that is a failure, not a skip.
        if let Some(hop) = visit.hops.last() {
            let status = Some(hop.status);
            let error = format!("redirect: to {}, {}: {}", visit.url, skip.reason, skip.detail);
            return self.fail(token, visit, ticket, status, &error, at);
        }
        log::refused(&visit.url, &skip);
        let row = SkippedRow::new(visit.job, visit.scheduled_url(), skip, visit.source.as_ref());
        let settled = settled(token, ticket, visit);
        self.commit_queue.put(VisitRecord {
            settlement: Some(settled),
            skipped: vec![row],
            ..VisitRecord::default()
        });
    }

    pub(super) fn offer_sitemaps(&mut self, new_robots: &NewRobots, at: Millis) {
        let skipped = offer_sitemaps(&mut self.frontier, &self.jobs, &self.key, new_robots, at);
        if !skipped.is_empty() {
            self.commit_queue.put(VisitRecord { skipped, ..VisitRecord::default() });
        }
    }

    /// A URL whose host has no address, or that was redirected to a forbidden target: it ends without a request, with
    /// the status of its last response if it had one.
    pub(super) fn fail(
        &mut self,
        token: Token,
        visit: Visit,
        ticket: Ticket,
        status: Option<u16>,
        error: &str,
        at: Millis,
    ) {
        log::given_up(&visit, error);
        let timings = FetchTimings { started: at, ended: at, ..FetchTimings::default() };
        let metadata = VisitMetadata {
            visit: visit.clone(),
            outcome: VisitOutcome::Final,
            status,
            error: Some(error.to_owned()),
            truncated: None,
            timings,
            robots_rule: None,
            robots_line: None,
            required_delay_ms: 0,
            per_host: 1,
            ticket: Some(ticket.to_string()),
            charset: None,
            answer: None,
        };
        let resource = (visit.kind == RequestKind::Resource).then(|| rows::resource_row(&visit, &metadata));
        let page = (visit.kind == RequestKind::Page).then(|| {
            let mut row = rows::failed_page(&visit, &metadata, &self.name);
            if status.is_some() {
                // The target was not requested.
                row.page.final_url = visit.hops.last().map(|hop| hop.url.as_str().to_owned());
            }
            row.capped()
        });
        let counted = page.is_some() && status.is_some();
        let mut settled = settled(token, ticket, visit);
        settled.completion = Completion::Done { counted };
        if let Some(job) = self.jobs.get(settled.visit.job) {
            let ended = EndedVisit {
                host: settled.visit.url.host(),
                completion: &settled.completion,
                page: page.as_ref(),
                retry: RetryReason::Other,
                took: Duration::ZERO,
            };
            self.counters.visit_ended(&job.counters, &ended);
        }
        self.commit_queue.put(VisitRecord {
            settlement: Some(settled),
            page,
            resource,
            ..VisitRecord::default()
        });
    }
}

/// A skip or failure without a request.
fn settled(token: Token, ticket: Ticket, visit: Visit) -> Settlement {
    Settlement {
        token: Some(token),
        ticket: Some(ticket),
        visit,
        completion: Completion::Done { counted: false },
        discoveries: Vec::new(),
        note: None,
        scope_host: None,
    }
}
