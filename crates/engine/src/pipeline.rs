//! All threads of a crawl, started and stopped in one place. Every channel is named from -> to:
//!
//! | from -> to | what | bound |
//! |---|---|---|
//! | scheduler -> worker | requests that are due, all of a turn at once | the frontier's concurrency |
//! | worker, committer, people -> scheduler | what happened, all of a turn at once | what was handed out |
//! | worker, scheduler -> committer | visits to be stored ([`CommitQueue`]) | what may be outstanding |
//! | scheduler -> syncer | there is something to make durable | 1 |

use crate::blocked::{self, Blocked};
use crate::committer::{CommitQueue, Committer};
use crate::config::{EngineConfig, Ports};
use crate::counters::Counters;
use crate::duplicate_bodies::DuplicateBodies;
use crate::error::EngineError;
use crate::graph;
use crate::job::{JobContext, JobStart, Jobs};
use crate::killed;
use crate::log;
use crate::login;
use crate::recovery::{KnownVisits, Recoverer, RecoverySummary};
use crate::request_starts::RequestStarts;
use crate::retry;
use crate::scheduler::{
    CATALOGUE, Control, JobEnd, Report, RunEnd, RunState, Scheduler, marks, refused_rows, settle,
};
use crate::scope::ScopeCompiler;
use crate::shards::MemberState;
use crate::snapshot::Snapshot;
use crate::why::{self, Why};
use crate::worker::{self, WorkerParts};
use argiope_fetch::{Resolver, Tls};
use argiope_frontier::admission::{SitemapHints, priority};
use argiope_frontier::member::{Forever, Lease, Member, MemberEvent, Membership};
use argiope_frontier::state::{ShardState, StateBatch, StateSync};
use argiope_frontier::{Activity, Discovery, Found, Frontier, FrontierConfig, LastStop, Step};
use argiope_model::{FingerprintKey, JobId, Millis, RequestKind, Url};
use argiope_politeness::PolitenessRules;
use argiope_store::archive::Position;
use argiope_store::catalogue::{Batch, Catalogue, JobState, JobUpdate, StoredPage};
use argiope_store::clock::now;
use argiope_store::export::Output;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// How a crawl is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing new is asked for; what is under way may end within a few seconds.
    Clean,
    /// What is under way is given up.
    Now,
}

/// How one job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    Done,
    /// `max_pages` was reached.
    Limit,
    /// What is left cannot be asked before this time.
    Blocked {
        until: Millis,
    },
    /// It was stopped and can go on.
    Interrupted,
}

/// A crawl that has ended.
pub struct Ended {
    pub jobs: Vec<(JobId, JobOutcome)>,
    /// What each job leaves behind that has to wait for long.
    pub blocked: Vec<(JobId, Blocked)>,
    pub catalogue: Box<dyn Catalogue>,
    pub snapshot: Snapshot,
}

/// A running crawl.
pub struct Engine {
    handle: EngineHandle,
    recovery: RecoverySummary,
    supervisor: JoinHandle<Result<Ended, EngineError>>,
    end: Arc<End>,
}

/// The end of a crawl, for who waits for it.
#[derive(Default)]
struct End {
    has_come: AtomicBool,
    wakes: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl End {
    fn wakes(&self) -> MutexGuard<'_, Vec<Box<dyn FnOnce() + Send>>> {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells of the end when it goes, even if it goes with a panic.
struct TellEnd(Arc<End>);

impl Drop for TellEnd {
    fn drop(&mut self) {
        let wakes = {
            let mut wakes = self.0.wakes();
            self.0.has_come.store(true, Ordering::Release);
            std::mem::take(&mut *wakes)
        };
        wakes.into_iter().for_each(|wake| wake());
    }
}

/// For those who look at a running crawl or steer it. Outlives it without harm.
#[derive(Clone)]
pub struct EngineHandle {
    reports: Sender<Vec<Report>>,
    snapshot: Arc<Mutex<Snapshot>>,
}

/// Where the pages of a job are written as they come.
#[derive(Clone, Debug)]
pub struct OutputFile {
    pub job: JobId,
    pub path: PathBuf,
}

const CLEAN: &str = "clean";
/// The mark that says when a process first began after one that had been killed. It stays: hosts that the state does not
/// know may have been asked until then, and that is so after clean stops, too.
const KILLED: &str = "killed";
/// Seeds offered to the frontier at once.
const SEEDS: usize = 10_000;
/// One in so many requests is handed out ahead, so that no connection waits for the scheduler.
const AHEAD_SHARE: usize = 4;

impl Engine {
    /// Recovers what a former process left, then starts.
    pub fn start(
        config: EngineConfig,
        ports: Ports,
        starts: Vec<JobStart>,
        output: Option<OutputFile>,
    ) -> Result<Engine, EngineError> {
        let (reports_to, reports) = unbounded();
        let counters = Arc::new(Counters::default());
        let commit_queue = Arc::new(CommitQueue::with_room_for(config.max_outstanding));
        let mut shop =
            EngineSetup::open(&config, ports, &starts, &reports_to, &counters, &commit_queue, false)?;
        let mut recovery = shop.recover()?;
        shop.log_in(&config, &starts)?;
        if config.retry_failed {
            for start in &starts {
                recovery.retried += shop.retry_failed(start.id)?;
            }
        }
        shop.begin(&starts, output, recovery.visits)?;
        Engine::spawn(config, shop, reports_to, reports, recovery)
    }

    /// Queues pages of a job again while nobody crawls: all that have failed, and those that are given. Recovers what a former
    /// process left first. Gives back how many URLs are queued again.
    pub fn retry_at_rest(
        config: &EngineConfig,
        ports: Ports,
        start: JobStart,
        all_failed: bool,
        named: &[StoredPage],
    ) -> Result<u64, EngineError> {
        let (reports_to, _reports) = unbounded();
        let counters = Arc::new(Counters::default());
        let commit_queue = Arc::new(CommitQueue::with_room_for(config.max_outstanding));
        let starts = [start];
        let mut shop =
            EngineSetup::open(config, ports, &starts, &reports_to, &counters, &commit_queue, false)?;
        shop.recover()?;
        let mut queued = 0;
        for start in &starts {
            queued += shop.put_back(start.id, named)?;
            if all_failed {
                queued += shop.retry_failed(start.id)?;
            }
            shop.reopen(start.id)?;
        }
        Ok(queued)
    }

    /// Starts as a member of a cluster: shards and jobs come with the [`MemberEvent`]. It runs until it is stopped; then its
    /// shards are stored and can be handed over.
    pub fn join_cluster(
        config: EngineConfig,
        ports: Ports,
        membership: Membership,
    ) -> Result<Engine, EngineError> {
        let (reports_to, reports) = unbounded();
        let counters = Arc::new(Counters::default());
        let commit_queue = Arc::new(CommitQueue::with_room_for(config.max_outstanding));
        let mut shop = EngineSetup::open(&config, ports, &[], &reports_to, &counters, &commit_queue, true)?;
        let recovery = shop.take_up_archive()?;
        shop.open_appender()?;
        shop.lease = membership.lease;
        shop.member = Some(membership.member);
        shop.committer.in_cluster = true;
        Engine::spawn(config, shop, reports_to, reports, recovery)
    }

    fn spawn(
        config: EngineConfig,
        shop: EngineSetup,
        reports_to: Sender<Vec<Report>>,
        reports: Receiver<Vec<Report>>,
        recovery: RecoverySummary,
    ) -> Result<Engine, EngineError> {
        let snapshot = Arc::new(Mutex::new(Snapshot { at: now(), ..Snapshot::default() }));
        let shared = Arc::clone(&snapshot);
        let to = reports_to.clone();
        let end = Arc::new(End::default());
        let tell = TellEnd(Arc::clone(&end));
        let supervisor = thread::Builder::new()
            .name("supervisor".into())
            .spawn(move || {
                let _tell = tell;
                shop.run(&config, reports_to, reports, shared)
            })
            .map_err(thread_failed)?;
        Ok(Engine { handle: EngineHandle { reports: to, snapshot }, recovery, supervisor, end })
    }

    pub fn recovery(&self) -> &RecoverySummary {
        &self.recovery
    }

    pub fn handle(&self) -> &EngineHandle {
        &self.handle
    }

    pub fn has_ended(&self) -> bool {
        self.end.has_come.load(Ordering::Acquire)
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

impl EngineHandle {
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn control(&self, control: Control) {
        // A crawl that has ended needs no telling.
        let _ = self.reports.send(vec![Report::Control(control)]);
    }

    pub fn stop(&self, stop: Stop) {
        self.control(Control::Stop(stop));
    }

    /// What the cluster says.
    pub fn send_member_events(&self, events: Vec<MemberEvent>) {
        let _ = self.reports.send(events.into_iter().map(Report::Member).collect());
    }

    pub fn set_politeness(&self, rules: Arc<PolitenessRules>) {
        self.control(Control::Politeness(rules));
    }

    /// While there is a reason nothing new is asked for; what is under way ends, shards and leases are kept.
    pub fn hold(&self, why: Option<String>) {
        self.control(Control::Hold(why));
    }

    pub fn pause(&self, job: JobId) {
        self.control(Control::SetActivity(job, Activity::Paused));
    }

    pub fn resume(&self, job: JobId) {
        self.control(Control::SetActivity(job, Activity::Running));
    }

    /// Queues pages of a running job again. How many were not queued already; None if it has ended meanwhile.
    pub fn requeue(&self, job: JobId, pages: Vec<StoredPage>) -> Option<u64> {
        let (answer, asked) = bounded(1);
        self.control(Control::Requeue { job, pages, answer });
        asked.recv_timeout(Duration::from_secs(60)).ok()
    }

    /// Asks again for every robots.txt that was unreachable.
    pub fn forget_robots_failures(&self) {
        self.control(Control::ForgetRobotsFailures);
    }

    /// What rules and frontier say of a URL; None if the crawl has ended meanwhile.
    pub fn why(&self, job: JobId, url: &Url) -> Option<Why> {
        let (answer, asked) = bounded(1);
        self.control(Control::Why { job, url: url.clone(), answer });
        asked.recv_timeout(Duration::from_secs(10)).ok()
    }
}

/// What rules and frontier say of a URL, from the state alone: while nobody crawls, or, where shards are leased, beside
/// those who do. Of leased ones only the URL's own is read.
pub fn why_at_rest(
    config: &EngineConfig,
    state: &dyn ShardState,
    start: &JobStart,
    url: &Url,
    leased: bool,
) -> Result<Why, EngineError> {
    let at = now();
    let mut frontier = new_frontier(config, at, leased);
    let job = JobContext::new(start, &config.suffixes, at)?;
    let opens = HashMap::from([(start.id, job.limits())]);
    if leased {
        frontier.restore_shard(state, frontier.shard_of(url), &opens, LastStop::Clean, at)?;
    } else {
        frontier.restore(state, &opens, LastStop::Clean, at)?;
    }
    let scope = ScopeCompiler::new(&config.suffixes, std::slice::from_ref(start));
    for grown in frontier.scope_hosts(start.id).iter().filter_map(|url| Url::from_stored(url).ok()) {
        job.add_scope_host(&grown, || scope.compile(&job, &frontier));
    }
    let stored = state.load_robots(url.origin())?;
    frontier.show_robots(url, &job.agent, stored, at);
    why::of_frontier(&frontier, state, &job, url, &config.fingerprint_key, at)
}

/// Everything before the threads start.
struct EngineSetup {
    frontier: Frontier,
    state: Box<dyn ShardState>,
    committer: Committer,
    jobs: Arc<Jobs>,
    scope: ScopeCompiler,
    key: FingerprintKey,
    counters: Arc<Counters>,
    commit_queue: Arc<CommitQueue>,
    link_bytes: u64,
    last_stop: LastStop,
    member: Option<Box<dyn Member>>,
    lease: Arc<dyn Lease>,
}

fn new_frontier(config: &EngineConfig, at: Millis, leased: bool) -> Frontier {
    let frontier = FrontierConfig {
        shards: config.shards,
        concurrency: config.concurrency,
        ahead: config.concurrency / AHEAD_SHARE,
        per_address: config.politeness.per_address().get(),
        max_outstanding: config.max_outstanding,
        window: config.window,
        leased,
        ..FrontierConfig::default()
    };
    let (suffixes, key) = (Arc::clone(&config.suffixes), config.fingerprint_key.clone());
    let mut frontier = Frontier::new(frontier, suffixes, key, Arc::clone(&config.politeness), at);
    frontier.set_usual_proxies(config.fetcher.proxies.reach());
    frontier
}

fn last_stop(marks: &[(Box<str>, u64)], is_new: bool) -> LastStop {
    let mark = |wanted: &str| marks.iter().find(|(name, _)| **name == *wanted).map(|(_, value)| *value);
    match mark(KILLED) {
        _ if is_new => LastStop::Clean,
        _ if mark(CLEAN) != Some(1) => LastStop::Unclean,
        Some(at) => LastStop::CleanAfterKill(Millis(at)),
        None => LastStop::Clean,
    }
}

/// With an archive an old catalogue is brought up to the frontier from it. Without one nobody has the pages any more
/// that are missing from it.
fn check_not_behind(catalogue: &dyn Catalogue, state: &dyn ShardState) -> Result<(), EngineError> {
    let marks = state.marks()?;
    let told = marks.iter().find(|(name, _)| **name == *CATALOGUE).map_or(0, |(_, batch)| *batch);
    if told == 0 || told <= catalogue.reader()?.last_batch()? {
        return Ok(());
    }
    Err(EngineError::Corrupt(String::from(
        "the catalogue is older than the frontier: pages that were stored are missing from it",
    )))
}

impl EngineSetup {
    fn open(
        config: &EngineConfig,
        ports: Ports,
        starts: &[JobStart],
        reports: &Sender<Vec<Report>>,
        counters: &Arc<Counters>,
        commit_queue: &Arc<CommitQueue>,
        leased: bool,
    ) -> Result<EngineSetup, EngineError> {
        let at = now();
        let Ports { state, catalogue, archive, mut links } = ports;
        if archive.is_none() && !leased {
            check_not_behind(catalogue.as_ref(), state.as_ref())?;
        }
        let link_bytes = links.truncate_to(catalogue.links_position()?.unwrap_or_default())?;
        let mut frontier = new_frontier(config, at, leased);
        let jobs = Arc::new(Jobs::default());
        let mut opens = HashMap::new();
        for start in starts {
            let job = JobContext::new(start, &config.suffixes, at)?;
            opens.insert(start.id, job.limits());
            jobs.insert(Arc::new(job));
        }
        let last_stop = last_stop(&state.marks()?, config.is_new);
        if !leased {
            frontier.restore(state.as_ref(), &opens, last_stop, at)?;
        }
        if !leased {
            frontier.forget_robots_failures(state.as_ref(), at)?;
        }
        if config.forget_failures {
            frontier.forget_failures(at);
        }
        let scope = ScopeCompiler::new(&config.suffixes, starts);
        for (id, limits) in opens {
            frontier.open_job(id, limits);
            if let Some(job) = jobs.get(id) {
                for url in frontier.scope_hosts(id).iter().filter_map(|url| Url::from_stored(url).ok()) {
                    job.add_scope_host(&url, || scope.compile(&job, &frontier));
                }
            }
        }
        let committer = Committer {
            catalogue,
            archive,
            appender: None,
            links,
            jobs: Arc::clone(&jobs),
            cookies_kept_at: None,
            output: None,
            copies: starts.iter().all(|start| start.graph.is_none()).then(DuplicateBodies::default),
            counters: Arc::clone(counters),
            commit_queue: Arc::clone(commit_queue),
            reports: reports.clone(),
            batch_age: config.batch_age,
            batch_size: config.batch_size,
            in_cluster: false,
        };
        Ok(EngineSetup {
            frontier,
            state,
            committer,
            jobs,
            scope,
            key: config.fingerprint_key.clone(),
            counters: Arc::clone(counters),
            commit_queue: Arc::clone(commit_queue),
            link_bytes,
            last_stop,
            member: None,
            lease: Arc::new(Forever),
        })
    }

    fn recover(&mut self) -> Result<RecoverySummary, EngineError> {
        let (link_bytes, unclean) = (self.link_bytes, self.last_stop == LastStop::Unclean);
        let Some(archive) = self.committer.archive.clone() else {
            return Ok(RecoverySummary { link_bytes, unclean, ..RecoverySummary::default() });
        };
        let summary = Recoverer {
            archive,
            committer: &mut self.committer,
            frontier: &mut self.frontier,
            state: self.state.as_mut(),
            jobs: &self.jobs,
            scope: &self.scope,
            key: &self.key,
            known: KnownVisits::default(),
        }
        .run()?;
        Ok(RecoverySummary { link_bytes, unclean, ..summary })
    }

    fn retry_failed(&mut self, job: JobId) -> Result<u64, EngineError> {
        let (mut queued, mut after) = (0, 0);
        loop {
            let failed = retry::failures_after(self.committer.catalogue.reader()?.as_ref(), job, after)?;
            let Some(last) = failed.last() else { return Ok(queued) };
            after = last.seq;
            queued += self.put_back(job, &failed)?;
        }
    }

    /// First into the queue, for good, then out of the catalogue.
    fn put_back(&mut self, job: JobId, pages: &[StoredPage]) -> Result<u64, EngineError> {
        let at = now();
        let Some(job) = self.jobs.get(job) else { return Ok(0) };
        let mut queued = 0;
        for chunk in pages.chunks(retry::CHUNK) {
            let changes = self.frontier.take_changes();
            self.state.apply(&changes)?;
            let (new, forgotten) =
                retry::requeue(&mut self.frontier, self.state.as_ref(), &job.normal, chunk, at)?;
            let changes = self.frontier.take_changes();
            self.state.apply(&changes)?;
            self.state.sync()?;
            self.committer.catalogue.commit(&Batch { at, forgotten, ..Batch::default() })?;
            queued += new;
        }
        Ok(queued)
    }

    /// A job that has ended goes on if something of it is queued.
    fn reopen(&mut self, job: JobId) -> Result<(), EngineError> {
        let changes = self.frontier.take_changes();
        self.state.apply(&changes)?;
        self.state.sync()?;
        let left = self.frontier.progress(job).is_some_and(|progress| !progress.is_finished());
        let known = self.committer.catalogue.reader()?.job(job)?;
        if left && known.is_some_and(|job| job.state.is_finished()) {
            let update = JobUpdate {
                job,
                state: Some(JobState::Paused),
                message: Some(String::from("failures are queued again")),
                spec: None,
                at: now(),
            };
            self.committer.catalogue.commit(&Batch { at: now(), jobs: vec![update], ..Batch::default() })?;
        }
        Ok(())
    }

    /// What an earlier process of this member left in the archive is cut to what the catalogue has. Visits beyond are not
    /// completed: their URLs are queued still, maybe at another member, and are fetched again.
    fn take_up_archive(&mut self) -> Result<RecoverySummary, EngineError> {
        let summary = RecoverySummary { link_bytes: self.link_bytes, ..RecoverySummary::default() };
        let Some(archive) = &self.committer.archive else { return Ok(summary) };
        let known = self.committer.catalogue.reader()?.archive_positions()?;
        let known: Vec<Position> =
            known.into_iter().map(|p| Position { file: p.file.into(), length: p.length }).collect();
        let cuts = archive.truncate_to(&known)?;
        cuts.iter().for_each(log::cut_off);
        Ok(RecoverySummary { cuts: cuts.len() as u64, ..summary })
    }

    /// Before anything is stored of a job: one that cannot log in does not begin.
    fn log_in(&mut self, config: &EngineConfig, starts: &[JobStart]) -> Result<(), EngineError> {
        for start in starts {
            if let (Some(form), Some(job)) = (&start.session.login, self.jobs.get(start.id)) {
                login::log_in(config, &mut self.frontier, &job, form)?;
                job.cookies.keep();
            }
        }
        Ok(())
    }

    /// The jobs run from here on: the state is no longer clean, seeds are offered, output is opened.
    fn begin(
        &mut self,
        starts: &[JobStart],
        output: Option<OutputFile>,
        recovered: u64,
    ) -> Result<(), EngineError> {
        let at = now();
        // First of all: a file that cannot be written to leaves the job as it was.
        if let Some(OutputFile { job, path }) = output {
            let noindex = self.jobs.get(job).is_some_and(|job| job.spec.index_noindex);
            self.committer.output =
                Some(Output::open(self.committer.catalogue.as_mut(), job, &path, noindex, at)?);
        }
        let mut marks = vec![(CLEAN.into(), 0)];
        if self.last_stop == LastStop::Unclean {
            marks.push((KILLED.into(), at.0));
        }
        self.state.apply(&StateBatch { changes: Vec::new(), marks })?;
        let killed = (self.last_stop == LastStop::Unclean).then_some(recovered);
        let batch = killed::first_batch(self.committer.catalogue.as_ref(), starts, killed, at)?;
        self.committer.catalogue.commit(&batch)?;
        for start in starts {
            self.offer_seeds(start, at)?;
        }
        self.state.sync()?;
        self.open_appender()
    }

    fn open_appender(&mut self) -> Result<(), EngineError> {
        if let Some(archive) = &self.committer.archive {
            self.committer.appender = Some(archive.appender()?);
        }
        Ok(())
    }

    fn offer_seeds(&mut self, start: &JobStart, at: Millis) -> Result<(), EngineError> {
        for (host, visits) in start.graph.iter().flat_map(|rules| &rules.visited) {
            self.frontier.visited_host(start.id, host, *visits);
        }
        for chunk in start.seeds.chunks(SEEDS) {
            let found = chunk
                .iter()
                .filter_map(|url| match start.graph {
                    Some(_) => graph::seed(&self.key, url),
                    None => Some(Found {
                        fingerprint: self.key.of(url.normal(), 0),
                        priority: priority(url, 0, true, SitemapHints::default(), 0, at),
                        url: url.clone(),
                        kind: RequestKind::Page,
                    }),
                })
                .collect();
            let seeds = Discovery { job: start.id, round: 0, depth: 0, source: None, found };
            let (refused, _) = self.frontier.discover(seeds, at);
            if !refused.is_empty() && start.graph.is_none() {
                let skipped = refused_rows(refused);
                self.committer.catalogue.commit(&Batch { at, skipped, ..Batch::default() })?;
            }
            let changes = self.frontier.take_changes();
            self.state.apply(&changes)?;
        }
        Ok(())
    }

    /// Starts all threads, waits for the end, and ends them in the order that loses nothing.
    fn run(
        self,
        config: &EngineConfig,
        reports_to: Sender<Vec<Report>>,
        reports: Receiver<Vec<Report>>,
        snapshot: Arc<Mutex<Snapshot>>,
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
        } = self;
        let dns = DnsThread::start()?;
        let resolver = Resolver::new(config.resolver.clone(), dns.handle.clone())
            .map_err(|e| EngineError::Settings(format!("dns: {e}")))?;
        let tls = Tls::load(&config.tls).map_err(|e| EngineError::Settings(e.to_string()))?;
        let archive = committer.archive.clone();
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
        let sync_thread =
            spawn("syncer", move || sync_loop(syncer.as_ref(), &sync_asked, &sync_reports, tells))?;
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
            snapshot: Arc::clone(&snapshot),
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
        // The scheduler has gone, and the orders with it: workers end by themselves.
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
        // They were asked for, and nothing will tell any more that these were not their hosts' failures.
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
                    state.apply(&changes)?;
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
            let is_blocked = matches!(ends.get(&job.id), Some(JobEnd::Blocked { .. }));
            let left =
                blocked::collect(&mut frontier, state.as_ref(), catalogue.as_mut(), job, is_blocked, at)?;
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
        state.apply(&changes)?;
        // Where others have the shards already, nothing of it is taken, and none of it waited for.
        if !(is_member && stop == Some(Stop::Now)) {
            state.sync()?;
        }
        let outcomes = jobs.all().iter().map(|job| (job.id, outcome_of(ends.get(&job.id)))).collect();
        let last = snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Ended { jobs: outcomes, blocked, catalogue, snapshot: last })
    }
}

/// What rows are signed with that a thread of this process has made.
fn name_of(process: &str, thread: &str) -> String {
    if process.is_empty() { format!("worker-{thread}") } else { format!("{process}/{thread}") }
}

fn outcome_of(end: Option<&JobEnd>) -> JobOutcome {
    match end {
        Some(JobEnd::Done) => JobOutcome::Done,
        Some(JobEnd::Limit) => JobOutcome::Limit,
        Some(JobEnd::Blocked { until }) => JobOutcome::Blocked { until: *until },
        None => JobOutcome::Interrupted,
    }
}

/// Jobs that were stopped in the middle are paused: they can go on.
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

/// Makes batches durable one after the other; all that was applied meanwhile goes with the next one.
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

fn thread_failed(error: std::io::Error) -> EngineError {
    EngineError::Settings(format!("no thread can be started: {error}"))
}

fn join<T>(thread: JoinHandle<Result<T, EngineError>>, name: &str) -> Result<T, EngineError> {
    thread.join().unwrap_or_else(|_| Err(EngineError::Panicked(name.to_owned())))
}

fn keep_first<T>(first: &mut Option<EngineError>, result: Result<T, EngineError>) {
    if let Err(error) = result {
        first.get_or_insert(error);
    }
}

/// Carries the sockets to the resolvers. Ends with the crawl.
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
