//! A worker: one thread with its own connections, buffers and archive file. The scheduler hands it requests that are due,
//! and the worker reports their results. It decides nothing about when to send.
//!
//! What happens to a request, module by module:
//!
//! 1. [`fetching`] sends it through the [`Fetch`] port, while the lease holds.
//! 2. [`responses`] decides what the response, or the failure, means for the visit, and reports it to the scheduler at once.
//!    ([`robots`] does the same for robots.txt.)
//! 3. [`pending`] keeps the response until the thread has nothing more urgent to do, and [`processing`] turns it into rows
//!    and links; [`rows`] has the rows that need no body.
//! 4. [`archiving`] writes the exchange to the archive, and the [`VisitRecord`](crate::visit_record::VisitRecord) goes to
//!    the commit queue.

mod archiving;
mod fetching;
pub(crate) mod pending;
pub(crate) mod processing;
mod resolving;
mod responses;
mod robots;
pub(crate) mod rows;

use crate::commit_queue::CommitQueue;
use crate::error::EngineError;
use crate::job::Jobs;
use crate::request_starts::RequestStarts;
use crate::scheduler::Report;
use crate::status::ProcessCounters;
use argiope_fetch::{AddressPolicy, Fetch, FetcherOptions, HttpFetcher, Resolver, Tls};
use argiope_frontier::member::Lease;
use argiope_frontier::{Dispatch, HostIndex, RobotsDispatch, Token};
use argiope_model::FingerprintKey;
use argiope_store::archive::Appender;
use crossbeam_channel::Sender;
use fetching::LateResponse;
use pending::PendingResponses;
use processing::ResponseProcessor;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore, mpsc};

/// What the scheduler wants a worker to do.
pub(crate) enum Order {
    /// With the term of the lease in which it was handed out.
    Visit(Box<Dispatch>, u64),
    Robots(Box<RobotsDispatch>, u64),
    Resolve {
        host: HostIndex,
        name: Box<str>,
    },
    /// Whether to keep a response that arrived after the end of its term ([`Report::Late`]).
    Late {
        token: Token,
        is_kept: bool,
    },
}

/// Everything a worker needs, made before its thread starts.
pub(crate) struct WorkerParts {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) orders: mpsc::Receiver<Vec<Order>>,
    pub(crate) reports: Sender<Vec<Report>>,
    pub(crate) commit_queue: Arc<CommitQueue>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) counters: Arc<ProcessCounters>,
    pub(crate) key: FingerprintKey,
    pub(crate) appender: Option<Box<dyn Appender>>,
    pub(crate) fetcher: FetcherOptions,
    pub(crate) tls: Tls,
    pub(crate) resolver: Resolver,
    pub(crate) starts: Arc<RequestStarts>,
    /// One permit for each request that may be in flight.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) lease: Arc<dyn Lease>,
}

/// Runs a worker that fetches over HTTP until its orders end; then it gives up what is in flight and closes its archive
/// file.
pub(crate) fn run(parts: WorkerParts) -> Result<(), EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| EngineError::Settings(format!("cannot start the runtime of a worker: {e}")))?;
    let local = tokio::task::LocalSet::new();
    let fetcher = HttpFetcher::new(parts.fetcher.clone(), parts.tls.clone(), parts.resolver.clone());
    let (worker, mut orders) = Worker::new(parts, fetcher);
    let worker = Rc::new(worker);
    local.block_on(&runtime, async {
        let flusher = Rc::clone(&worker);
        tokio::task::spawn_local(async move { flusher.flush_reports().await });
        let processor = Rc::clone(&worker);
        tokio::task::spawn_local(async move { processor.process_pending().await });
        while let Some(batch) = orders.recv().await {
            for order in batch {
                tokio::task::spawn_local(Rc::clone(&worker).carry_out(order));
            }
        }
    });
    drop(local);
    let appender = worker.appender.borrow_mut().take();
    match appender {
        Some(appender) => appender.finish().map(|_| ()).map_err(EngineError::from),
        None => Ok(()),
    }
}

fn seed(number: usize) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(number) | 1
}

struct Worker<F> {
    number: usize,
    policy: AddressPolicy,
    fetcher: F,
    resolver: Resolver,
    starts: Arc<RequestStarts>,
    turns: Arc<Semaphore>,
    lease: Arc<dyn Lease>,
    reports: Sender<Vec<Report>>,
    commit_queue: Arc<CommitQueue>,
    jobs: Arc<Jobs>,
    counters: Arc<ProcessCounters>,
    processor: RefCell<ResponseProcessor>,
    appender: RefCell<Option<Box<dyn Appender>>>,
    random: Cell<u64>,
    /// The reports of this turn of the runtime: they are sent together, so that the scheduler wakes up once.
    outbox: RefCell<Vec<Report>>,
    flush: Notify,
    /// Responses that are reported and not processed yet.
    pending: RefCell<PendingResponses>,
    has_pending: Notify,
    late: RefCell<HashMap<Token, LateResponse>>,
}

/// A batch of this many reports is sent at once: the scheduler has enough to do.
const MOST_REPORTS: usize = 16;

impl<F: Fetch> Worker<F> {
    fn new(parts: WorkerParts, fetcher: F) -> (Worker<F>, mpsc::Receiver<Vec<Order>>) {
        let worker = Worker {
            number: parts.number,
            policy: parts.fetcher.addresses,
            fetcher,
            resolver: parts.resolver,
            starts: parts.starts,
            turns: parts.turns,
            lease: parts.lease,
            reports: parts.reports,
            commit_queue: parts.commit_queue,
            jobs: parts.jobs,
            counters: parts.counters,
            processor: RefCell::new(ResponseProcessor::new(parts.name, parts.key)),
            appender: RefCell::new(parts.appender),
            random: Cell::new(seed(parts.number)),
            outbox: RefCell::new(Vec::new()),
            flush: Notify::new(),
            pending: RefCell::default(),
            has_pending: Notify::new(),
            late: RefCell::default(),
        };
        (worker, parts.orders)
    }

    async fn carry_out(self: Rc<Self>, order: Order) {
        match order {
            Order::Visit(dispatch, term) => self.fetch_visit(dispatch, term).await,
            Order::Robots(dispatch, term) => self.fetch_robots(dispatch, term).await,
            Order::Late { token, is_kept } => self.settle_late(token, is_kept),
            Order::Resolve { host, name } => self.resolve(host, &name).await,
        }
    }

    async fn flush_reports(&self) {
        loop {
            self.flush.notified().await;
            // Once around the runtime's queue: tasks that are ready now report first.
            tokio::task::yield_now().await;
            if !self.send_reports() {
                continue;
            }
            // Where all cores are busy with pages, the scheduler comes first: connections wait for it.
            std::thread::yield_now();
        }
    }

    fn report(&self, report: Report) {
        let mut outbox = self.outbox.borrow_mut();
        outbox.push(report);
        let many = outbox.len() >= MOST_REPORTS;
        drop(outbox);
        if many {
            self.send_reports();
        } else {
            self.flush.notify_one();
        }
    }

    /// False if there was nothing to send. A scheduler that has ended needs no reports.
    fn send_reports(&self) -> bool {
        let reports = std::mem::take(&mut *self.outbox.borrow_mut());
        !reports.is_empty() && self.reports.send(reports).is_ok()
    }

    /// A random number in [0, 1).
    fn chance(&self) -> f64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        (x >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests;
