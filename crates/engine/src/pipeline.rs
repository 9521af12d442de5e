//! Starts and stops all threads of a crawl. Every channel is named from -> to:
//!
//! | from -> to | what | bound |
//! |---|---|---|
//! | scheduler -> worker | requests that are due, all of a turn at once | the frontier's concurrency |
//! | worker, committer, people -> scheduler | what happened, all of a turn at once | what was handed out |
//! | worker, scheduler -> committer | visits to be stored ([`CommitQueue`]) | what may be outstanding |
//! | scheduler -> syncer | there is something to make durable | 1 |

use crate::blocked;
use crate::commit_queue::CommitQueue;
use crate::config::EngineConfig;
use crate::engine::{Ended, JobOutcome, Stop};
use crate::error::EngineError;
use crate::job::Jobs;
use crate::request_starts::RequestStarts;
use crate::scheduler::{JobEnd, Report, RunEnd, RunState, Scheduler, marks, settle};
use crate::setup::{CLEAN, EngineSetup};
use crate::shards::MemberState;
use crate::status::Status;
use crate::worker::{self, WorkerParts};
use argiope_fetch::{Resolver, Tls};
use argiope_frontier::Step;
use argiope_frontier::state::StateSync;
use argiope_model::JobId;
use argiope_store::catalogue::{JobState, JobUpdate};
use argiope_store::clock::now;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::sync::{Semaphore, mpsc};

/// Starts all threads, waits for the end, and stops them in an order that loses nothing.
pub(crate) fn run(
    setup: EngineSetup,
    config: &EngineConfig,
    reports_to: Sender<Vec<Report>>,
    reports: Receiver<Vec<Report>>,
    status: Arc<Mutex<Status>>,
) -> Result<Ended, EngineError> {
    let EngineSetup {
        frontier,
        state,
        committer,
        jobs,
        scope,
        key,
        counters,
        commit_queue,
        member,
        lease,
        ..
    } = setup;
    let dns = DnsThread::start()?;
    let resolver = Resolver::new(config.resolver.clone(), dns.handle.clone())
        .map_err(|e| EngineError::Settings(format!("dns: {e}")))?;
    let tls = Tls::load(&config.tls).map_err(|e| EngineError::Settings(e.to_string()))?;
    let archive = committer.archive.clone();
    let followers = committer.followers.clone();
    let mut orders = Vec::new();
    let mut workers = Vec::new();
    let starts = Arc::new(RequestStarts::default());
    let turns = Arc::new(Semaphore::new(config.concurrency));
    for number in 0..config.workers.max(1) {
        let (to, from) = mpsc::channel(config.concurrency.max(16) * 2);
        orders.push(to);
        let parts = WorkerParts {
            number,
            name: name_of(&config.name, &number.to_string()),
            orders: from,
            reports: reports_to.clone(),
            commit_queue: Arc::clone(&commit_queue),
            jobs: Arc::clone(&jobs),
            counters: Arc::clone(&counters),
            key: key.clone(),
            appender: archive.as_ref().map(|archive| archive.appender()).transpose()?,
            fetcher: config.fetcher.clone(),
            tls: tls.clone(),
            resolver: resolver.clone(),
            starts: Arc::clone(&starts),
            turns: Arc::clone(&turns),
            lease: Arc::clone(&lease),
        };
        workers.push(spawn(&format!("worker-{number}"), move || worker::run(parts))?);
    }
    let (sync, sync_asked) = bounded(1);
    let syncer = state.syncer();
    let (sync_reports, tells) = (reports_to.clone(), member.is_some());
    let sync_thread = spawn("syncer", move || sync_loop(syncer.as_ref(), &sync_asked, &sync_reports, tells))?;
    let commit_thread = spawn("committer", move || committer.run())?;
    drop(reports_to);
    let scheduler = Scheduler {
        name: name_of(&config.name, "scheduler"),
        frontier,
        state,
        sync,
        workers: orders,
        reports: reports.clone(),
        commit_queue: Arc::clone(&commit_queue),
        jobs: Arc::clone(&jobs),
        key,
        counters,
        status: Arc::clone(&status),
        followers,
        grace: config.grace,
        scope: scope.clone(),
        run: RunState::default(),
        member,
        lease,
        shards: MemberState::default(),
    };
    let scheduling = spawn("scheduler", move || scheduler.run())?;
    let RunEnd { stop, jobs: ends, error, mut frontier, mut state, member } =
        scheduling.join().map_err(|_| EngineError::Panicked(String::from("scheduler")))?;
    // The scheduler has ended and its orders with it: workers end by themselves.
    let mut first_error = error;
    for worker in workers {
        keep_first(&mut first_error, join(worker, "worker"));
    }
    let _ = sync_thread.join();
    let at = now();
    let mut last_reports = Vec::new();
    let mut failed = HashMap::new();
    for report in reports.try_iter().flatten() {
        match report {
            Report::Failed { token, answer, record } => {
                frontier.answered(token, &answer, at);
                failed.insert(token, record);
            }
            other => last_reports.push(other),
        }
    }
    while let Some(step) = frontier.next_verdict(at) {
        if let Step::Forget(token) = step {
            failed.remove(&token);
        }
    }
    // These requests were sent, and nothing will show any more that their failures had another cause than their hosts.
    failed.into_values().for_each(|record| commit_queue.put(*record));
    interrupt_rest(&commit_queue, &jobs, &ends, stop.is_some() && member.is_none());
    commit_queue.close();
    let catalogue = match join(commit_thread, "committer") {
        Ok(catalogue) => catalogue,
        Err(error) => return Err(first_error.unwrap_or(error)),
    };
    let at = now();
    for report in last_reports.into_iter().chain(reports.try_iter().flatten()) {
        match report {
            Report::Stored(stored) if first_error.is_none() => {
                let (positions, batch) = (stored.positions, stored.batch);
                for settled in stored.settled {
                    settle(&mut frontier, settled, &jobs, &scope, at);
                }
                let mut changes = frontier.take_changes();
                changes.marks = marks(&positions, batch);
                state.apply(changes)?;
            }
            Report::Answered { token, answer } => {
                frontier.answered(token, &answer, at);
            }
            Report::Fatal(error) => keep_first(&mut first_error, Err::<(), _>(error)),
            _ => {}
        }
    }
    if let Some(error) = first_error {
        return Err(error);
    }
    let mut catalogue = catalogue;
    let mut blocked = Vec::new();
    for job in jobs.all().iter().filter(|_| member.is_none()) {
        if matches!(ends.get(&job.id), Some(JobEnd::Cancelled | JobEnd::Stopped)) {
            continue;
        }
        let is_blocked = matches!(ends.get(&job.id), Some(JobEnd::Blocked { .. }));
        let left = blocked::collect(&mut frontier, state.as_ref(), catalogue.as_mut(), job, is_blocked, at)?;
        blocked.push((job.id, left));
    }
    frontier.give_up(at);
    let mut changes = frontier.take_changes();
    let is_member = member.is_some();
    if let Some(mut member) = member {
        for job in jobs.all() {
            let pages = frontier.return_pages(job.id);
            if pages > 0 {
                member.returns_pages(job.id, pages);
            }
        }
    } else {
        changes.marks.push((CLEAN.into(), 1));
    }
    state.apply(changes)?;
    // If other workers own the shards already, nothing of it is stored or waited for.
    if !(is_member && stop == Some(Stop::Now)) {
        state.sync()?;
    }
    let outcomes = jobs.all().iter().map(|job| (job.id, outcome_of(ends.get(&job.id)))).collect();
    let last = status.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Ended { jobs: outcomes, blocked, catalogue, status: last })
}

/// The worker name in rows written by a thread of this process.
fn name_of(process: &str, thread: &str) -> String {
    if process.is_empty() { format!("worker-{thread}") } else { format!("{process}/{thread}") }
}

fn outcome_of(end: Option<&JobEnd>) -> JobOutcome {
    match end {
        Some(JobEnd::Done) => JobOutcome::Done,
        Some(JobEnd::Limit) => JobOutcome::Limit,
        Some(JobEnd::Blocked { until }) => JobOutcome::Blocked { until: *until },
        Some(JobEnd::Cancelled) => JobOutcome::Cancelled,
        Some(JobEnd::Stopped) => JobOutcome::Interrupted,
        None => JobOutcome::Interrupted,
    }
}

/// Jobs that were stopped midway are paused: they can be resumed.
fn interrupt_rest(commit_queue: &CommitQueue, jobs: &Jobs, ends: &HashMap<JobId, JobEnd>, stopped: bool) {
    if !stopped {
        return;
    }
    for job in jobs.all().iter().filter(|job| !ends.contains_key(&job.id)) {
        commit_queue.put_job(JobUpdate {
            job: job.id,
            state: Some(JobState::Paused),
            message: Some(String::from("interrupted")),
            spec: None,
            at: now(),
        });
    }
}

/// Makes batches durable, one after the other; everything applied meanwhile goes with the next one.
fn sync_loop(syncer: &dyn StateSync, asked: &Receiver<u64>, reports: &Sender<Vec<Report>>, tells: bool) {
    while let Ok(batches) = asked.recv() {
        if let Err(error) = syncer.sync() {
            let _ = reports.send(vec![Report::Fatal(error.into())]);
            return;
        }
        if tells {
            let _ = reports.send(vec![Report::Synced(batches)]);
        }
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, EngineError> {
    thread::Builder::new().name(name.into()).spawn(work).map_err(thread_failed)
}

pub(crate) fn thread_failed(error: std::io::Error) -> EngineError {
    EngineError::Settings(format!("cannot start a thread: {error}"))
}

fn join<T>(thread: JoinHandle<Result<T, EngineError>>, name: &str) -> Result<T, EngineError> {
    thread.join().unwrap_or_else(|_| Err(EngineError::Panicked(name.to_owned())))
}

fn keep_first<T>(first: &mut Option<EngineError>, result: Result<T, EngineError>) {
    if let Err(error) = result {
        first.get_or_insert(error);
    }
}

/// The runtime for DNS sockets. Ends with the crawl.
struct DnsThread {
    handle: tokio::runtime::Handle,
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl DnsThread {
    fn start() -> Result<DnsThread, EngineError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(thread_failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        spawn("dns", move || {
            let _ = runtime.block_on(stopped);
        })?;
        Ok(DnsThread { handle, _stop: stop })
    }
}
