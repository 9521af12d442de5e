//! The responses that wait to be processed, and the worker's turns at them.

use super::Worker;
use super::processing::ProcessedPage;
use super::rows::RequestContext;
use crate::classify::Decision;
use crate::error::EngineError;
use crate::job::JobContext;
use crate::scheduler::Report;
use crate::status::{EndedVisit, RetryReason};
use crate::visit_record::VisitRecord;
use argiope_fetch::{Fetch, Fetched};
use argiope_frontier::Token;
use argiope_model::Visit;
use argiope_store::clock::now;
use std::collections::VecDeque;
use std::sync::Arc;

/// With this many pending responses the network is not the bottleneck, and checking the sockets less often is cheaper.
const MANY_PENDING: usize = 112;
pub(super) const RESPONSES_OF_A_LONG_TURN: usize = 8;
/// More than the responses that arrive at once on a worker's share of the connections.
const MOST_PENDING: usize = 128;
const MOST_PENDING_BYTES: usize = 32 << 20;

/// A response that the scheduler knows of and that is not processed yet.
pub(crate) struct PendingResponse {
    pub(crate) job: Arc<JobContext>,
    /// None for a visit of an earlier process.
    pub(crate) token: Option<Token>,
    pub(crate) visit: Visit,
    pub(crate) context: RequestContext,
    pub(crate) fetched: Fetched,
    pub(crate) decision: Decision,
}

/// The responses that wait until a worker's thread has nothing more urgent to do.
#[derive(Default)]
pub(super) struct PendingResponses {
    queue: VecDeque<PendingResponse>,
    bytes: usize,
}

impl PendingResponses {
    pub(super) fn push(&mut self, response: PendingResponse) {
        self.bytes += response.fetched.body.len();
        self.queue.push_back(response);
    }

    /// Takes the oldest, at most `most`.
    fn pop(&mut self, most: usize) -> Vec<PendingResponse> {
        let responses: Vec<PendingResponse> = self.queue.drain(..most.min(self.queue.len())).collect();
        let bytes: usize = responses.iter().map(|response| response.fetched.body.len()).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        responses
    }

    /// So many that hosts must wait for them.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() >= MOST_PENDING || self.bytes >= MOST_PENDING_BYTES
    }
}

impl<F: Fetch> Worker<F> {
    /// Processes one response between two looks at the sockets: a page takes as long as a hundred of those.
    pub(super) async fn process_pending(&self) {
        loop {
            let turn = match self.pending.borrow().queue.len() {
                0 => None,
                1..MANY_PENDING => Some(1),
                MANY_PENDING.. => Some(RESPONSES_OF_A_LONG_TURN),
            };
            let Some(turn) = turn else {
                self.has_pending.notified().await;
                continue;
            };
            self.process_oldest(turn);
            if turn == 1 {
                // The scheduler, and servers on this machine, have waited for one page at most.
                std::thread::yield_now();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Processes the oldest pending responses, at most `most`, and queues their records for the next commit.
    pub(super) fn process_oldest(&self, most: usize) {
        let responses = self.pending.borrow_mut().pop(most);
        match self.records_of(responses) {
            Ok(records) => self.commit_queue.put_all(records),
            Err(error) => self.report(Report::Fatal(error)),
        }
    }

    /// The records of these responses; their exchanges are in the archive when this returns.
    fn records_of(&self, responses: Vec<PendingResponse>) -> Result<Vec<VisitRecord>, EngineError> {
        let mut pages: Vec<ProcessedPage> =
            responses.into_iter().map(|response| self.process(response)).collect();
        self.archive(&mut pages)?;
        Ok(pages.into_iter().map(|page| page.record).collect())
    }

    fn process(&self, response: PendingResponse) -> ProcessedPage {
        let (job, started) = (Arc::clone(&response.job), response.fetched.timings.started);
        let page = self.processor.borrow_mut().process_response(response);
        if let Some(settlement) = &page.record.settlement {
            let ended = EndedVisit {
                host: settlement.visit.url.host(),
                completion: &settlement.completion,
                page: page.record.page.as_ref(),
                retry: RetryReason::Status,
                took: now().since(started),
            };
            self.counters.visit_ended(&job.counters, &ended);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, job, visit};
    use argiope_frontier::Completion;
    use argiope_model::JobSpec;
    use std::time::Duration;

    #[test]
    fn pending_responses_are_full_by_number_and_by_bytes() {
        let pending = |body: &str| {
            let context = RequestContext { ticket: None, rule: None, delay: Duration::ZERO, per_host: 1 };
            let decision =
                Decision { completion: Completion::Done { counted: true }, error: None, dead_letter: false };
            let (job, visit) = (job(JobSpec::default()), visit("http://a.test/x"));
            PendingResponse {
                job,
                token: None,
                visit,
                context,
                fetched: sample::response(200, &[], body),
                decision,
            }
        };
        let mut responses = PendingResponses::default();
        responses.push(pending(&"x".repeat(MOST_PENDING_BYTES)));
        assert!(responses.is_full());
        assert_eq!(responses.pop(8).len(), 1);
        (1..MOST_PENDING).for_each(|_| responses.push(pending("")));
        assert!(!responses.is_full());
        responses.push(pending(""));
        assert!(responses.is_full());
    }
}
