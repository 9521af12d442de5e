//! Decides what a response or a failure means for its visit and reports it to the scheduler before the body is
//! processed, so that the next request to the host is not held up.

use super::Worker;
use crate::classify::{self, Head};
use crate::job::JobContext;
use crate::log;
use crate::scheduler::Report;
use crate::status::{EndedVisit, RetryReason};
use crate::visit_record::{LateRecord, Settlement, VisitRecord};
use crate::worker::pending::{PendingResponse, RESPONSES_OF_A_LONG_TURN};
use crate::worker::rows::{self, RequestContext};
use argiope_fetch::{Fetch, FetchError, Fetched};
use argiope_frontier::{Answer, Completion, Dispatch, Token};
use argiope_model::{RequestKind, Url, Visit};
use argiope_politeness::AnswerResult;
use http::HeaderValue;
use std::sync::Arc;

impl<F: Fetch> Worker<F> {
    /// Reports a response, then queues it for processing. When too many wait, the host waits for some of them.
    pub(super) fn answered(
        &self,
        job: Arc<JobContext>,
        dispatch: Dispatch,
        fetched: Fetched,
        cookie: Option<&HeaderValue>,
    ) {
        self.counters.response(&job.counters, fetched.body.len(), &fetched.timings);
        let ended = fetched.timings.ended;
        let status = fetched.status.as_u16();
        let retry_after = classify::retry_after(&fetched.headers, status, ended);
        let location = fetched.redirect();
        let visit = &dispatch.visit;
        job.cookies.answered(visit, cookie, &fetched.headers, location.is_some(), ended);
        let would_repeat = |to: &Url| job.cookies.would_repeat(visit, to, ended);
        let head =
            Head { status, location: location.as_deref(), retry_after, ended, would_repeat: &would_repeat };
        let decision = classify::answered(&job, visit, &head, &dispatch.rules, self.chance());
        job.cookies.settled(visit, &decision.completion);
        log::answered(visit, &fetched, &decision);
        let result = AnswerResult::Status(classify::status_of_host(&job, visit, status));
        let outcome = classify::outcome(visit, result, &fetched.timings, retry_after);
        let report = Report::Answered { token: dispatch.token, answer: Answer { ended, outcome } };
        while self.pending.borrow().is_full() {
            self.process_oldest(RESPONSES_OF_A_LONG_TURN);
        }
        self.report(report);
        let (token, visit, context) = split(dispatch);
        let response = PendingResponse { job, token: Some(token), visit, context, fetched, decision };
        self.pending.borrow_mut().push(response);
        self.has_pending.notify_one();
    }

    /// Reports a failure with its record, which the scheduler stores once the failure is known to be the host's.
    pub(super) fn failed(&self, job: &JobContext, dispatch: Dispatch, error: &FetchError) {
        let kind = error.kind.kind();
        let ended = error.timings.ended;
        let text = classify::error_text(error);
        let decision = classify::failed(&dispatch.visit, kind, text, ended, &dispatch.rules, self.chance());
        log::failed(&dispatch.visit, error, &decision);
        job.cookies.settled(&dispatch.visit, &decision.completion);
        let outcome = classify::outcome(&dispatch.visit, AnswerResult::Failed(kind), &error.timings, None);
        let (token, visit, context) = split(dispatch);
        let processor = self.processor.borrow();
        let worker = processor.worker();
        let metadata = context.metadata(&visit, &decision, error.timings, None);
        let address = error.address.map(|a| a.ip());
        let mut fetch = rows::fetch_row(&metadata, worker);
        fetch.address = address.map(|ip| ip.to_string());
        let is_final = matches!(decision.completion, Completion::Done { .. });
        let mut record = VisitRecord { fetch: Some(fetch), ..VisitRecord::default() };
        match visit.kind {
            RequestKind::Page => {
                record.page = is_final.then(|| rows::failed_page(&visit, &metadata, worker).capped());
                record.error = Some(rows::error_row(&visit, &decision, None, ended));
            }
            RequestKind::Resource => {
                record.resource = is_final.then(|| rows::resource_row(&visit, &metadata));
            }
            RequestKind::Sitemap | RequestKind::Robots => {}
        }
        record.late = Some(Box::new(LateRecord { metadata, address }));
        self.counters.failure(&job.counters, kind, &error.timings);
        let ended_visit = EndedVisit {
            host: visit.url.host(),
            completion: &decision.completion,
            page: record.page.as_ref(),
            retry: RetryReason::of(kind),
            took: ended.since(error.timings.started),
        };
        self.counters.visit_ended(&job.counters, &ended_visit);
        record.settlement = Some(Settlement {
            token: Some(token),
            ticket: context.ticket,
            visit,
            completion: decision.completion,
            discoveries: Vec::new(),
            note: None,
            scope_host: None,
        });
        self.report(Report::Failed { token, answer: Answer { ended, outcome }, record: Box::new(record) });
    }
}

fn split(dispatch: Dispatch) -> (Token, Visit, RequestContext) {
    let Dispatch { token, visit, rule, delay, per_host, ticket, .. } = dispatch;
    (token, visit, RequestContext { ticket: Some(ticket), rule, delay, per_host: per_host.get() })
}
