//! Sends requests that are due through the [`Fetch`] port, each within the lease of its shard, and passes on the results.

use super::Worker;
use crate::classify;
use crate::cookies::ChainKey;
use crate::job::JobContext;
use crate::robots::{ROBOTS_BYTES, robots_visit};
use crate::scheduler::Report;
use crate::worker::processing::SITEMAP_BYTES;
use argiope_fetch::{Fetch, FetchError, FetchFailure, FetchRequest, Fetched, SendPermit, Start};
use argiope_frontier::{Dispatch, HostIndex, RobotsDispatch, Token};
use argiope_model::{RequestKind, Visit};
use argiope_store::clock::now;
use http::HeaderValue;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::SemaphorePermit;

pub(super) type FetchResult = Result<Fetched, Box<FetchError>>;

/// A request that was handed to the fetcher.
pub(super) struct SentRequest {
    pub(super) job: Arc<JobContext>,
    pub(super) request: DueRequest,
    /// Sent with it.
    pub(super) cookie: Option<HeaderValue>,
}

pub(super) enum DueRequest {
    Visit(Box<Dispatch>),
    Robots(Box<RobotsDispatch>, Visit),
}

impl DueRequest {
    fn token(&self) -> Token {
        match self {
            DueRequest::Visit(dispatch) => dispatch.token,
            DueRequest::Robots(dispatch, _) => dispatch.token,
        }
    }
}

/// A result that arrived after the term of its lease: the scheduler does not know yet who owns the shard.
pub(super) struct LateResponse {
    sent: SentRequest,
    result: FetchResult,
}

/// A request that was handed out early waits this long for another one to end.
const LONGEST_WAIT_FOR_TURN: Duration = Duration::from_secs(1);
/// How long a process that wakes up after the end of its lease reads responses that have arrived already. Far less than the
/// time that a lease keeps in reserve.
const LAST_MOMENT: Duration = Duration::from_millis(100);

impl<F: Fetch> Worker<F> {
    pub(super) async fn fetch_visit(&self, dispatch: Box<Dispatch>, term: u64) {
        let Some(job) = self.jobs.get(dispatch.visit.job) else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let Some(turn) = self.turn().await else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let profile = job.profile(&dispatch.rules, &dispatch.visit.url);
        let most = usize::try_from(job.spec.max_body).unwrap_or(usize::MAX);
        let start = self.start(dispatch.host, dispatch.per_host, dispatch.delay).await;
        let is_held = || self.lease.holds() && self.lease.term() == term;
        let chain = (!dispatch.visit.hops.is_empty()).then(|| ChainKey::of(&dispatch.visit));
        let cookie = job.cookies.header(chain, &dispatch.visit.url, now());
        let request = FetchRequest {
            url: &dispatch.visit.url,
            start,
            addresses: &dispatch.addresses,
            dns_us: 0,
            profile: &profile,
            validators: dispatch.visit.validators(),
            cookie: cookie.as_ref(),
            form: None,
            head_only: classify::sends_head(&job, &dispatch.visit),
            timeout: job.timeout(dispatch.visit.attempt),
            max_body_bytes: if dispatch.visit.kind == RequestKind::Sitemap { SITEMAP_BYTES } else { most },
            permit: SendPermit::while_held(&is_held),
        };
        let result = self.within_lease(self.fetcher.fetch(request)).await;
        drop(turn);
        self.fetched(SentRequest { job, request: DueRequest::Visit(dispatch), cookie }, term, result);
    }

    pub(super) async fn fetch_robots(&self, dispatch: Box<RobotsDispatch>, term: u64) {
        let Some(job) = self.jobs.get(dispatch.job) else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let turn = self.turns.acquire().await;
        let url = &dispatch.request.url;
        let profile = job.profile(&dispatch.rules, url);
        let start = self.start(dispatch.host, dispatch.per_host, dispatch.delay).await;
        let is_held = || self.lease.holds() && self.lease.term() == term;
        let visit = robots_visit(&job, url, &dispatch.request.origin);
        let chain = (dispatch.request.hops > 0).then(|| ChainKey::of(&visit));
        let cookie = job.cookies.header(chain, url, now());
        let request = FetchRequest {
            url,
            start,
            addresses: &dispatch.addresses,
            dns_us: 0,
            profile: &profile,
            validators: None,
            cookie: cookie.as_ref(),
            form: None,
            head_only: false,
            timeout: dispatch.rules.robots().timeout,
            max_body_bytes: ROBOTS_BYTES,
            permit: SendPermit::while_held(&is_held),
        };
        let result = self.within_lease(self.fetcher.fetch(request)).await;
        drop(turn);
        self.fetched(SentRequest { job, request: DueRequest::Robots(dispatch, visit), cookie }, term, result);
    }

    /// What follows a fetch; `result` is None if the lease ended before the response arrived.
    fn fetched(&self, sent: SentRequest, term: u64, result: Option<FetchResult>) {
        let token = sent.request.token();
        match result {
            None => self.report(Report::TakenBack { token, sent: true }),
            Some(Err(error)) if was_not_sent(&error) => {
                self.report(Report::TakenBack { token, sent: false });
            }
            Some(result) if self.lease.term() != term => {
                // The scheduler decides when it knows who owns the shard. There are never more of these than requests
                // may be in flight.
                self.late.borrow_mut().insert(token, LateResponse { sent, result });
                self.report(Report::Late { worker: self.number, token });
            }
            Some(result) => self.take_result(sent, result),
        }
    }

    fn take_result(&self, sent: SentRequest, result: FetchResult) {
        let SentRequest { job, request, cookie } = sent;
        self.counters.request(&job.counters);
        match request {
            DueRequest::Visit(dispatch) => match result {
                Ok(fetched) => self.answered(job, *dispatch, fetched, cookie.as_ref()),
                Err(error) => self.failed(&job, *dispatch, &error),
            },
            DueRequest::Robots(dispatch, visit) => {
                self.robots_fetched(&job, *dispatch, &visit, result, cookie.as_ref());
            }
        }
    }

    /// Keeps or drops a response that arrived after the term of its lease.
    pub(super) fn settle_late(&self, token: Token, is_kept: bool) {
        let Some(LateResponse { sent, result }) = self.late.borrow_mut().remove(&token) else { return };
        if is_kept {
            self.take_result(sent, result);
        } else {
            self.report(Report::TakenBack { token, sent: true });
        }
    }

    /// A visit that was handed out early starts when another request has ended. None if that took so long that the decision to
    /// send it may be out of date.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout(LONGEST_WAIT_FOR_TURN, self.turns.acquire()).await.ok()?.ok()
    }

    /// When the request starts: now, or when the delay since the last start on its host is over. With one request at a
    /// time, the last one has ended before the next is handed out.
    async fn start(&self, host: HostIndex, per_host: NonZeroU32, delay: Duration) -> Start {
        if per_host.get() == 1 {
            return Start::now();
        }
        let clock = || {
            let start = Start::now();
            (start.at(), start)
        };
        loop {
            match self.starts.begin(host, delay, clock) {
                Ok(start) => return start,
                Err(due) => tokio::time::sleep(due.since(now()).max(Duration::from_millis(1))).await,
            }
        }
    }

    /// Gives up what is in flight when the lease ends: from then on another worker may send requests to the same host.
    /// None if it was given up.
    async fn within_lease<T>(&self, fetch: impl Future<Output = T>) -> Option<T> {
        if self.lease.ends_in().is_none() {
            return Some(fetch.await);
        }
        tokio::select! {
            biased;
            done = fetch => Some(done),
            () = self.end_of_lease() => None,
        }
    }

    async fn end_of_lease(&self) {
        while let Some(left) = self.lease.ends_in() {
            if left.is_zero() {
                // A process that was suspended may have its responses already: those are read first.
                tokio::time::sleep(LAST_MOMENT).await;
                if self.lease.ends_in().is_some_and(|left| left.is_zero()) {
                    return;
                }
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// Whether nothing was sent, for a reason that is not the host's: the permit was not held any more, or this process is out of
/// file descriptors.
fn was_not_sent(error: &FetchError) -> bool {
    if error.kind.is_out_of_descriptors() {
        tracing::warn!(url = %error.url, "too many open files (ulimit -n); the request is queued again");
        return true;
    }
    error.kind == FetchFailure::NoPermit
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_fetch::ConnectFailure;
    use argiope_model::{FetchTimings, Url};

    #[test]
    fn a_lack_of_file_descriptors_is_not_a_failure_of_the_host() {
        let failed = |reason| FetchError {
            kind: FetchFailure::Connect { reason, detail: String::new() },
            url: Url::from_stored("http://a.test/").unwrap(),
            address: None,
            timings: FetchTimings::default(),
            source: None,
        };
        assert!(was_not_sent(&failed(ConnectFailure::NoDescriptor)));
        assert!(!was_not_sent(&failed(ConnectFailure::Refused)));
    }
}
