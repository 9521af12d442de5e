//! [`Engine`]: a running crawl, from start to end. [`crate::handle`] reads its status and controls it.

use crate::blocked::Blocked;
use crate::commit_queue::CommitQueue;
use crate::config::{EngineConfig, Ports};
use crate::error::EngineError;
use crate::handle::EngineHandle;
use crate::job::{JobContext, JobStart};
use crate::pipeline;
use crate::recovery::RecoverySummary;
use crate::scheduler::Report;
use crate::scope::{ScopeCompiler, domain_policy};
use crate::setup::{self, EngineSetup};
use crate::status::{ProcessCounters, ProcessMeter, Status};
use crate::why::{self, Why};
use argiope_frontier::LastStop;
use argiope_frontier::member::Membership;
use argiope_frontier::state::ShardState;
use argiope_model::{JobId, Millis, Url};
use argiope_store::catalogue::{Catalogue, StoredPage};
use argiope_store::clock::now;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How to stop a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Send no new requests; those in flight have a few seconds to finish.
    Clean,
    /// Abort requests in flight.
    Now,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    Done,
    /// `max_pages` was reached.
    Limit,
    /// The remaining URLs are blocked until then.
    Blocked {
        until: Millis,
    },
    /// It was stopped and can be resumed.
    Interrupted,
    /// A user cancelled or deleted it.
    Cancelled,
}

/// A crawl that has ended.
pub struct Ended {
    pub jobs: Vec<(JobId, JobOutcome)>,
    /// The URLs of each job that are blocked for long.
    pub blocked: Vec<(JobId, Blocked)>,
    pub catalogue: Box<dyn Catalogue>,
    pub status: Status,
}

/// A running crawl.
pub struct Engine {
    handle: EngineHandle,
    recovery: RecoverySummary,
    supervisor: JoinHandle<Result<Ended, EngineError>>,
    end: Arc<EndSignal>,
}

/// Where the pages of a job are written while it runs.
#[derive(Clone, Debug)]
pub struct OutputFile {
    pub job: JobId,
    pub path: PathBuf,
}

/// Signals the end of a crawl to those who wait for it.
#[derive(Default)]
struct EndSignal {
    has_ended: AtomicBool,
    wakes: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl EndSignal {
    fn wakes(&self) -> MutexGuard<'_, Vec<Box<dyn FnOnce() + Send>>> {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the signal when it is dropped, even by a panic.
struct SignalOnDrop(Arc<EndSignal>);

impl Drop for SignalOnDrop {
    fn drop(&mut self) {
        let wakes = {
            let mut wakes = self.0.wakes();
            self.0.has_ended.store(true, Ordering::Release);
            std::mem::take(&mut *wakes)
        };
        wakes.into_iter().for_each(|wake| wake());
    }
}

/// The parts that exist before setup and threads.
struct Channels {
    reports_to: Sender<Vec<Report>>,
    reports: Receiver<Vec<Report>>,
    counters: Arc<ProcessCounters>,
    commit_queue: Arc<CommitQueue>,
}

impl Channels {
    fn new(config: &EngineConfig) -> Channels {
        let (reports_to, reports) = unbounded();
        Channels {
            reports_to,
            reports,
            counters: Arc::default(),
            commit_queue: Arc::new(CommitQueue::with_room_for(config.max_outstanding)),
        }
    }

    fn setup(
        &self,
        config: &EngineConfig,
        ports: Ports,
        starts: &[JobStart],
        leased: bool,
    ) -> Result<EngineSetup, EngineError> {
        EngineSetup::open(config, ports, starts, &self.reports_to, &self.counters, &self.commit_queue, leased)
    }
}

impl Engine {
    /// Recovers what an earlier process left, then starts.
    pub fn start(
        config: EngineConfig,
        ports: Ports,
        starts: Vec<JobStart>,
        output: Option<OutputFile>,
    ) -> Result<Engine, EngineError> {
        let channels = Channels::new(&config);
        let mut setup = channels.setup(&config, ports, &starts, false)?;
        let mut recovery = setup.recover()?;
        setup.log_in(&config, &starts)?;
        if config.retry_failed {
            for start in &starts {
                recovery.retried += setup.retry_failed(start.id)?;
            }
        }
        setup.begin(&starts, output, recovery.visits)?;
        Engine::spawn(config, setup, channels, recovery)
    }

    /// Queues pages of a job again while no process crawls: all that failed, and the given ones. First recovers what an
    /// earlier process left. Returns how many URLs are queued again.
    pub fn retry_at_rest(
        config: &EngineConfig,
        ports: Ports,
        start: JobStart,
        all_failed: bool,
        named: &[StoredPage],
    ) -> Result<u64, EngineError> {
        let starts = [start];
        let mut setup = Channels::new(config).setup(config, ports, &starts, false)?;
        setup.recover()?;
        let mut queued = 0;
        for start in &starts {
            queued += setup.put_back(start.id, named)?;
            if all_failed {
                queued += setup.retry_failed(start.id)?;
            }
            setup.reopen(start.id)?;
        }
        Ok(queued)
    }

    /// Starts as a member of a cluster: shards and jobs come as events. It runs until it is stopped; then its shards are
    /// stored and can be handed over.
    pub fn join_cluster(
        config: EngineConfig,
        ports: Ports,
        membership: Membership,
    ) -> Result<Engine, EngineError> {
        let channels = Channels::new(&config);
        let mut setup = channels.setup(&config, ports, &[], true)?;
        let recovery = setup.join(membership)?;
        Engine::spawn(config, setup, channels, recovery)
    }

    fn spawn(
        config: EngineConfig,
        setup: EngineSetup,
        channels: Channels,
        recovery: RecoverySummary,
    ) -> Result<Engine, EngineError> {
        let at = now();
        // Publishes a complete status first, because a heartbeat may report it.
        let process = ProcessMeter::default().figures();
        let status = Arc::new(Mutex::new(Status { at, started_at: at, process, ..Status::default() }));
        let Channels { reports_to, reports, commit_queue, .. } = channels;
        let followers = setup.committer.followers.clone();
        let handle = EngineHandle::new(reports_to.clone(), commit_queue, Arc::clone(&status), followers);
        let end = Arc::new(EndSignal::default());
        let signal = SignalOnDrop(Arc::clone(&end));
        let supervisor = thread::Builder::new()
            .name("supervisor".into())
            .spawn(move || {
                let _signal = signal;
                pipeline::run(setup, &config, reports_to, reports, status)
            })
            .map_err(pipeline::thread_failed)?;
        Ok(Engine { handle, recovery, supervisor, end })
    }

    pub fn recovery(&self) -> &RecoverySummary {
        &self.recovery
    }

    pub fn handle(&self) -> &EngineHandle {
        &self.handle
    }

    pub fn has_ended(&self) -> bool {
        self.end.has_ended.load(Ordering::Acquire)
    }

    /// Calls `wake` when the crawl has ended, at once if it has.
    pub fn when_ended(&self, wake: impl FnOnce() + Send + 'static) {
        let mut wakes = self.end.wakes();
        if self.has_ended() {
            drop(wakes);
            wake();
        } else {
            wakes.push(Box::new(wake));
        }
    }

    pub fn join(self) -> Result<Ended, EngineError> {
        drop(self.handle);
        self.supervisor.join().unwrap_or_else(|_| Err(EngineError::Panicked(String::from("supervisor"))))
    }
}

/// The decision of rules and frontier on a URL, from the stored state only: while no process crawls or, with leased
/// shards, beside the processes that do. Only the URL's own shard is read.
pub fn why_at_rest(
    config: &EngineConfig,
    state: &dyn ShardState,
    start: &JobStart,
    url: &Url,
    leased: bool,
) -> Result<Why, EngineError> {
    let at = now();
    let mut frontier = setup::new_frontier(config, at, leased);
    let policy = domain_policy(&config.politeness)?;
    let job = JobContext::new(start, &config.suffixes, Arc::clone(&policy), at)?;
    let opens = HashMap::from([(start.id, job.limits())]);
    if leased {
        frontier.restore_shard(state, frontier.shard_of(url), &opens, LastStop::Clean, at)?;
    } else {
        frontier.restore(state, &opens, LastStop::Clean, at)?;
    }
    let scope = ScopeCompiler::new(&config.suffixes, policy, std::slice::from_ref(start));
    scope.widen(&job, &frontier);
    let stored = state.load_robots(url.origin())?;
    frontier.show_robots(url, &job.agent, stored, at);
    why::of_frontier(&frontier, state, &job, url, &config.fingerprint_key, at)
}
