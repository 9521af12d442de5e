//! A robots.txt response becomes its rows, its archive record and the report to the scheduler.

use super::Worker;
use super::archiving::whole_exchange;
use super::fetching::FetchResult;
use crate::classify::{self, Decision};
use crate::cookies::ChainKey;
use crate::error::EngineError;
use crate::job::JobContext;
use crate::log;
use crate::robots::{self, robots_body};
use crate::scheduler::Report;
use crate::visit_record::VisitRecord;
use crate::worker::rows::{self, RequestContext};
use argiope_fetch::{Fetch, FetchError, Fetched, TruncationCause};
use argiope_frontier::{Answer, Completion, RobotsAnswered, RobotsDispatch};
use argiope_model::{Base, Url, Visit};
use argiope_politeness::{AnswerResult, RobotsAnswer};
use http::HeaderValue;

impl<F: Fetch> Worker<F> {
    pub(super) fn robots_fetched(
        &self,
        job: &JobContext,
        dispatch: RobotsDispatch,
        visit: &Visit,
        result: FetchResult,
        cookie: Option<&HeaderValue>,
    ) {
        if let Ok(fetched) = &result {
            let chain = (dispatch.request.hops > 0).then(|| ChainKey::of(visit));
            let redirects = fetched.redirect().is_some();
            job.cookies.answered(visit, cookie, &fetched.headers, redirects, fetched.timings.ended);
            if let Some(chain) = chain.filter(|_| !redirects) {
                job.cookies.ended(chain);
            }
        }
        let RobotsDispatch { token, request, delay, per_host, .. } = dispatch;
        let context = RequestContext { ticket: None, rule: None, delay, per_host: per_host.get() };
        let recorded = match &result {
            Ok(fetched) => self.robots_answered(job, visit, &request.origin, &context, fetched),
            Err(error) => Ok(self.robots_failed(visit, &context, error)),
        };
        match recorded {
            Ok((record, answer, outcome)) => {
                self.commit_queue.put(record);
                self.report(Report::Robots { token, answer, outcome });
            }
            Err(error) => self.report(Report::Fatal(error)),
        }
    }

    fn robots_answered(
        &self,
        job: &JobContext,
        visit: &Visit,
        origin: &Url,
        context: &RequestContext,
        fetched: &Fetched,
    ) -> Result<(VisitRecord, Answer, RobotsAnswered), EngineError> {
        let ended = fetched.timings.ended;
        let status = fetched.status.as_u16();
        let mut processor = self.processor.borrow_mut();
        let body = robots_body(fetched, processor.decoding());
        let mut metadata = context.metadata(visit, &final_decision(None), fetched.timings, Some(status));
        metadata.truncated = fetched.truncated.map(TruncationCause::truncation);
        metadata.error = body.as_ref().err().cloned();
        let mut record = VisitRecord::default();
        if let Some(appender) = self.appender.borrow_mut().as_mut() {
            let appended = appender.append(&whole_exchange(&metadata, fetched, None))?;
            record.position = Some(appended.position());
        }
        let mut row = rows::fetch_row(&metadata, processor.worker());
        row.bytes = fetched.body.len() as u64;
        row.address = Some(fetched.address.ip().to_string());
        record.fetch = Some(row);
        let retry_after = classify::retry_after(&fetched.headers, status, ended);
        let outcome = classify::outcome(visit, AnswerResult::Status(status), &fetched.timings, retry_after);
        let target = redirect_target(job, &visit.url, fetched);
        log::robots_answered(&visit.url, fetched, target.as_ref());
        let answered = match (target, body) {
            (Some(to), _) => RobotsAnswered::Redirect(to),
            (None, Err(_)) => no_robots(),
            (None, Ok(body)) => {
                record.robots = Some(robots::robots_row(origin, status, &body, ended));
                record.host = Some(robots::host_row(origin, status, &body, ended));
                RobotsAnswered::Final { answer: RobotsAnswer::Status(status), body: body.to_vec() }
            }
        };
        Ok((record, Answer { ended, outcome }, answered))
    }

    fn robots_failed(
        &self,
        visit: &Visit,
        context: &RequestContext,
        error: &FetchError,
    ) -> (VisitRecord, Answer, RobotsAnswered) {
        log::robots_failed(&visit.url, error);
        let kind = error.kind.kind();
        let decision = final_decision(Some(classify::error_text(error)));
        let metadata = context.metadata(visit, &decision, error.timings, None);
        let fetch = rows::fetch_row(&metadata, self.processor.borrow().worker());
        let outcome = classify::outcome(visit, AnswerResult::Failed(kind), &error.timings, None);
        let record = VisitRecord { fetch: Some(fetch), ..VisitRecord::default() };
        (record, Answer { ended: error.timings.ended, outcome }, no_robots())
    }
}

fn no_robots() -> RobotsAnswered {
    RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() }
}

/// The frontier decides whether to request a robots.txt again; as a visit each request is over.
fn final_decision(error: Option<String>) -> Decision {
    Decision { completion: Completion::Done { counted: false }, error, dead_letter: false }
}

fn redirect_target(job: &JobContext, url: &Url, fetched: &Fetched) -> Option<Url> {
    let location = fetched.redirect()?;
    Base::new(url).join(&location, &job.normal).ok()
}
