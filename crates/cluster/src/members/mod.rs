//! Membership in a cluster: leases of shards, what is sent to them, jobs and their budgets, and the one who leads. Two
//! threads: one keeps leases and runs the commands of the member, one reads what is sent to its shards. Both send [`MemberEvent`]s.
//!
//! The database's clock decides. A member that cannot renew its lease asks for nothing new, and gives up by its own clock
//! what is under way before the database lets others have its shards ([`clock`]). When it can again it goes on with those
//! that nobody took meanwhile; a member that was declared dead finds its row gone, and joins anew under another name.

mod budget;
mod clock;
mod epochs;
mod ingesting;
mod jobs;
mod leader;
mod leases;
mod log_reader;
mod losses;
mod reader;
mod sending;
mod status;
mod submitting;

pub use budget::set_budget;
pub use clock::LeaseClock;
pub use epochs::{Epochs, Writing};
pub use ingesting::{IngestProgress, ingest_chunk, ingest_progress, recently_fetched};
pub(crate) use jobs::{OPEN_JOB, OpenJob, open_jobs};
pub(crate) use leader::{HOLD_JOBS, leads};
pub use leases::Figures;
pub use losses::{LogLoss, accept_losses, another_topic, log_identity, log_losses};
pub(crate) use sending::SentPositions;
pub use sending::{MessageSender, PreparedMessages, begin_logs, log_lag, send};
pub use status::{ClusterStatus, MemberStatus, cluster_status, is_up};
pub use submitting::{Addressing, Outgoing, keep_job_open, queued_urls, set_job_seeds, set_job_state};
pub(crate) use submitting::{OutgoingRef, append};

use crate::database::{Cells, Database, LIMIT, Result, Session};
use crate::redis::{NotifierEvent, ShardNotifier};
use crate::transport::Transport;
use argiope_frontier::member::{Member, MemberEvent, Membership};
use argiope_frontier::ownership::{self, Observation, Seat};
use argiope_model::{JobId, Millis};
use clock::since_boot;
use jobs::KnownJobs;
use leader::Leader;
use leases::{Leases, Renewed};
use log_reader::LogReader;
use reader::Reading;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where news go: to the thread that owns the frontier.
pub type EventSink = Arc<dyn Fn(Vec<MemberEvent>) + Send + Sync>;

/// Members and free shards are looked for this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Half a second, see [`Members::look_at_lease`].
const OVERDUE_LOOKS: u32 = 5;
const SILENT: &str = "PostgreSQL does not answer; no new request is made until it does";

#[derive(Clone)]
pub struct MemberOptions {
    pub worker: String,
    /// Under which it owns: no other process ever had it.
    pub owner: String,
    /// 15 s.
    pub lease: Duration,
    /// 5 s.
    pub renew_every: Duration,
    /// Without one, what is sent through inboxes is looked for by the clock.
    pub notifier: Option<Arc<ShardNotifier>>,
    pub transport: Transport,
}

/// All members together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterLoad {
    pub queued: u64,
    pub workers: u32,
    /// None before it was measured.
    pub pages_per_second: Option<f64>,
}

/// A process that has joined a cluster.
pub struct Members {
    shared: Arc<Shared>,
    commands: Sender<MemberCommand>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads share.
pub(crate) struct Shared {
    readings: Mutex<BTreeMap<u16, Reading>>,
    jobs: Mutex<KnownJobs>,
    woken: Mutex<bool>,
    wake: Condvar,
    closed: AtomicBool,
    dead: AtomicBool,
    /// Others took shards of it, and it has taken none since.
    lost_shards: AtomicBool,
    /// Rings are heard: nothing need be looked for by the clock.
    connected: AtomicBool,
    notifier: Option<Arc<ShardNotifier>>,
    figures: Mutex<Figures>,
    load: Mutex<ClusterLoad>,
    away: AtomicBool,
    /// Looks in a row at a lease whose renewal is overdue.
    overdue: AtomicU32,
    lease: Arc<LeaseClock>,
    epochs: Arc<Epochs>,
}

impl Shared {
    fn readings(&self) -> MutexGuard<'_, BTreeMap<u16, Reading>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The notifier listens to what is owned.
    fn update_notifier(&self) {
        if let Some(notifier) = &self.notifier {
            let owned: Vec<u16> = self.readings().keys().copied().collect();
            notifier.listen_to(owned);
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn wake_reader(&self) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    fn wait_for_wake(&self, most: Duration) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.wake.wait_timeout_while(woken, most, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// What a member says. At most one of each kind per shard or job is under way.
enum MemberCommand {
    HandedOver(u16),
    Dropped(u16),
    RequestPages(JobId),
    ReturnPages(JobId, u64),
    AnnounceLeave,
    Leave(Sender<()>),
    Wake,
}

impl Members {
    /// Joins. Shards come with the news.
    pub fn join(
        database: &Database,
        options: MemberOptions,
        epochs: Arc<Epochs>,
        events: EventSink,
    ) -> Result<(Members, Membership)> {
        let lease = Arc::new(LeaseClock::new(Arc::clone(&epochs), options.renew_every));
        let shared = Arc::new(Shared {
            readings: Mutex::default(),
            jobs: Mutex::default(),
            woken: Mutex::default(),
            wake: Condvar::new(),
            closed: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            lost_shards: AtomicBool::new(false),
            connected: AtomicBool::new(false),
            notifier: options.notifier,
            figures: Mutex::default(),
            load: Mutex::default(),
            away: AtomicBool::new(false),
            overdue: AtomicU32::new(0),
            lease: Arc::clone(&lease),
            epochs,
        });
        let (commands, received) = mpsc::channel();
        let leases = Leases { owner: options.owner, worker: options.worker, length: options.lease };
        // Whoever keeps the leases asks on while the others leave the database alone.
        let mut session = database.watching().connect(LIMIT)?;
        leases.join(&mut session)?;
        let mut keeper = Keeper {
            leader: Leader::new(&leases.owner, leases.length),
            leases,
            session,
            renew_every: options.renew_every,
            shared: Arc::clone(&shared),
            events: Arc::clone(&events),
            handing_over: None,
            losing: BTreeSet::new(),
            observation: Observation::default(),
            held: BTreeMap::new(),
            renewed_at: None,
            leaving: false,
            measured: None,
        };
        let log = options.transport.log().map_err(|error| {
            database.error(crate::database::DatabaseErrorKind::Settings, error.to_string())
        })?;
        let (place, own) = (database.clone(), Arc::clone(&shared));
        let read: Box<dyn FnOnce() + Send> = match log {
            None => Box::new(move || reader::run(&place, &own, &events)),
            Some(log) => {
                let (transport, stuck) = (options.transport, BTreeMap::new());
                let reader = LogReader { database: place, transport, log, shared: own, events, stuck };
                Box::new(move || reader.run())
            }
        };
        let threads =
            vec![spawn(database, "members", move || keeper.run(&received))?, spawn(database, "inbox", read)?];
        let member = Box::new(MemberHandle { commands: commands.clone(), shared: Arc::clone(&shared) });
        Ok((Members { shared, commands, threads }, Membership { member, lease }))
    }

    /// The notifier was heard, or is not heard any more.
    pub fn on_notifier_event(&self, event: &NotifierEvent) {
        match event {
            NotifierEvent::Notified(_) => self.shared.wake_reader(),
            NotifierEvent::Disconnected => self.shared.connected.store(false, Ordering::Release),
            NotifierEvent::Connected => {
                self.shared.connected.store(true, Ordering::Release);
                self.shared.wake_reader();
            }
        }
    }

    pub fn set_figures(&self, figures: Figures) {
        *self.shared.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    /// Whether it was declared dead: it can write nothing, and has to join anew.
    pub fn is_dead(&self) -> bool {
        self.shared.dead.load(Ordering::Acquire)
    }

    /// Whether others have taken shards that it had, and it has none of them back.
    pub fn has_lost_shards(&self) -> bool {
        self.shared.lost_shards.load(Ordering::Acquire)
    }

    /// Its lease is over and the database is away: nobody can say whether what it holds will be taken.
    pub fn is_cut_off(&self) -> bool {
        self.shared.lease.left().is_zero() && !self.database_answers()
    }

    /// What all members have to do and have done, as of a moment ago.
    pub fn load(&self) -> ClusterLoad {
        *self.shared.load.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called ten times a second: a server that hangs is told of when requests stop for want of a renewal, not when
    /// the renewal gives up.
    pub fn look_at_lease(&self) {
        let shared = &self.shared;
        if !shared.lease.is_overdue() || shared.is_closed() {
            shared.overdue.store(0, Ordering::Release);
        // A process that was stopped and goes on is overdue until it has renewed.
        } else if shared.overdue.fetch_add(1, Ordering::AcqRel) >= OVERDUE_LOOKS
            && !shared.away.swap(true, Ordering::AcqRel)
        {
            tracing::warn!(error = "a renewal of the lease is overdue", "{SILENT}");
        }
    }

    /// Whether the database has answered lately.
    pub fn database_answers(&self) -> bool {
        !self.shared.away.load(Ordering::Acquire)
    }

    /// Whether rings are heard; None without a notifier.
    pub fn notifier_connected(&self) -> Option<bool> {
        self.shared.notifier.as_ref().map(|_| self.shared.connected.load(Ordering::Acquire))
    }

    pub fn owned(&self) -> usize {
        self.shared.readings().len()
    }

    /// No more shards from now on; those it has it keeps until it leaves.
    pub fn announce_leave(&self) {
        let _ = self.commands.send(MemberCommand::AnnounceLeave);
    }

    /// All is stored: its shards are free. Returns when the database knows, or cannot be told within a moment.
    pub fn leave(&self) {
        let (done, wait) = mpsc::channel();
        if self.commands.send(MemberCommand::Leave(done)).is_ok() {
            let _ = wait.recv_timeout(2 * LIMIT);
        }
    }

    fn close(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.wake_reader();
        let _ = self.commands.send(MemberCommand::Wake);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.close();
    }
}

fn spawn(database: &Database, name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(|error| {
        database
            .error(crate::database::DatabaseErrorKind::Failed, format!("no thread can be started: {error}"))
    })
}

/// What the owner of the frontier holds.
struct MemberHandle {
    commands: Sender<MemberCommand>,
    shared: Arc<Shared>,
}

impl Member for MemberHandle {
    fn delivered(&mut self, shard: u16, offset: u64) {
        if let Some(reading) = self.shared.readings().get_mut(&shard) {
            (reading.delivered, reading.applied) = (offset, offset);
        }
        self.shared.wake_reader();
    }

    fn handed_over(&mut self, shard: u16) {
        let _ = self.commands.send(MemberCommand::HandedOver(shard));
    }

    fn dropped(&mut self, shard: u16) {
        let _ = self.commands.send(MemberCommand::Dropped(shard));
    }

    fn wants_pages(&mut self, job: JobId) {
        let _ = self.commands.send(MemberCommand::RequestPages(job));
    }

    fn returns_pages(&mut self, job: JobId, pages: u64) {
        let _ = self.commands.send(MemberCommand::ReturnPages(job, pages));
    }
}

/// The thread that keeps the leases.
struct Keeper {
    leases: Leases,
    leader: Leader,
    session: Session,
    renew_every: Duration,
    shared: Arc<Shared>,
    events: EventSink,
    handing_over: Option<u16>,
    /// Lost, and not dropped yet by who owns the frontier: taken again now, what was made of them before would be written
    /// under the new epoch.
    losing: BTreeSet<u16>,
    observation: Observation,
    /// Pages of each job's budget that were told and not given back, those included that have been stored.
    held: BTreeMap<JobId, u64>,
    renewed_at: Option<Instant>,
    leaving: bool,
    /// When all members together had stored how many pages.
    measured: Option<(Instant, u64)>,
}

impl Keeper {
    fn run(&mut self, received: &Receiver<MemberCommand>) {
        let mut next_look = Instant::now();
        let mut pending = Vec::new();
        while !self.shared.is_closed() {
            let wait = next_look.saturating_duration_since(Instant::now());
            match received.recv_timeout(wait) {
                Ok(MemberCommand::Wake) => next_look = Instant::now(),
                Ok(command) => pending.push(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let done = self.run_commands(&mut pending).and_then(|()| {
                if Instant::now() < next_look {
                    return Ok(());
                }
                next_look = Instant::now() + LOOK_EVERY;
                self.look()
            });
            self.note(done);
        }
    }

    fn note(&mut self, done: Result<()>) {
        match done {
            Ok(()) => {
                self.shared.epochs.set_failing(Writing::Leases, false);
                if !self.shared.lease.is_overdue() && self.shared.away.swap(false, Ordering::AcqRel) {
                    tracing::warn!("PostgreSQL answers again");
                }
            }
            Err(error) => {
                self.shared.epochs.set_failing(Writing::Leases, true);
                if !self.shared.away.swap(true, Ordering::AcqRel) {
                    tracing::warn!(%error, "{SILENT}");
                }
                // Not at once again: the pause is that of a look.
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }

    /// What cannot be done now is done later.
    fn run_commands(&mut self, commands: &mut Vec<MemberCommand>) -> Result<()> {
        while let Some(command) = commands.first() {
            match command {
                MemberCommand::HandedOver(shard) => {
                    let shard = *shard;
                    self.leases.release(&mut self.session, shard, true)?;
                    self.forget(shard);
                }
                MemberCommand::Dropped(shard) => {
                    self.losing.remove(shard);
                }
                MemberCommand::RequestPages(job) => {
                    let held = self.held.entry(*job).or_default();
                    let pages = budget::take(&mut self.session, *job, &self.leases.owner, *held)?;
                    *held += pages;
                    // If there are none now, others may give some back.
                    (self.events)(vec![MemberEvent::Granted { job: *job, pages }]);
                }
                MemberCommand::ReturnPages(job, pages) => {
                    let held = self.held.entry(*job).or_default();
                    let kept = held.saturating_sub(*pages);
                    budget::give_back(&mut self.session, *job, &self.leases.owner, kept)?;
                    *held = kept;
                }
                MemberCommand::AnnounceLeave => {
                    self.leaving = true;
                    self.leases.announce_leave(&mut self.session)?;
                }
                MemberCommand::Leave(done) => {
                    let released = self.leases.release_all(&mut self.session, true)?;
                    if released < self.shared.readings().len() {
                        self.shared.lost_shards.store(true, Ordering::Release);
                    }
                    self.leases.leave(&mut self.session)?;
                    self.shared.epochs.clear();
                    let _ = done.send(());
                    self.shared.closed.store(true, Ordering::Release);
                }
                MemberCommand::Wake => {}
            }
            commands.remove(0);
        }
        Ok(())
    }

    fn forget(&mut self, shard: u16) {
        self.shared.epochs.remove(shard);
        self.shared.readings().remove(&shard);
        self.shared.update_notifier();
        if self.handing_over == Some(shard) {
            self.handing_over = None;
        }
    }

    /// Renews the lease, whether it still holds or is over. In the second case it holds again, for the shards that nobody
    /// took meanwhile: what was done for them is as good as if it had never been over, for nobody else has asked their
    /// hosts. None if this member is dead.
    fn renew(&mut self) -> Result<Option<Renewed>> {
        let figures = self.shared.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // The lease runs from when it was sent, and so does the time until the next.
        let (sent, sent_at) = (since_boot(), Instant::now());
        let Some(found) = self.leases.renew(&mut self.session, &figures)? else {
            self.die();
            return Ok(None);
        };
        // Before the lease holds: nothing may be asked for a shard that is another's.
        let before = self.shared.readings().len();
        self.lose_others(&found);
        if let Some(term) = self.shared.lease.renewed(sent, self.leases.length) {
            if self.renewed_at.is_some() {
                match (before, self.shared.readings().len()) {
                    (1.., 0) => tracing::warn!("the lease had expired; all shards went to other workers"),
                    (_, kept) => {
                        tracing::warn!(
                            kept,
                            lost = before.saturating_sub(kept),
                            "the lease had expired; it is renewed"
                        )
                    }
                }
            }
            (self.events)(vec![MemberEvent::Resumed { term }]);
        }
        self.renewed_at = Some(sent_at);
        self.measure()?;
        Ok(Some(found))
    }

    /// What the table says, with the lease renewed if that is due.
    fn see(&mut self) -> Result<Option<Renewed>> {
        let is_due = self.renewed_at.is_none_or(|at| at.elapsed() >= self.renew_every);
        if is_due || self.shared.lease.left().is_zero() {
            return self.renew();
        }
        let found = self.leases.look_now(&mut self.session)?;
        let is_ours = |row: &leases::Row| row.owner.as_deref() == Some(&*self.leases.owner);
        if found.shards.iter().any(|row| is_ours(row) && !row.holds) {
            // The table's clock was set: it lets others in, and knows nothing of ours.
            self.shared.lease.end();
            return self.renew();
        }
        self.lose_others(&found);
        Ok(Some(found))
    }

    fn look(&mut self) -> Result<()> {
        let Some(found) = self.see()? else { return Ok(()) };
        self.observation.seen(Millis(u64::try_from(since_boot().as_millis()).unwrap_or(u64::MAX)));
        self.release_unknown(&found)?;
        self.refresh_jobs()?;
        if !self.leaving {
            let seats: Vec<Seat<'_>> = found.shards.iter().map(leases::Row::seat).collect();
            let handing_over = usize::from(self.handing_over.is_some());
            let (me, lease) = (&self.leases.owner, self.leases.length);
            let moves = ownership::moves(me, &found.working, &seats, handing_over, &self.observation, lease);
            let free: Vec<u16> =
                moves.take.into_iter().filter(|shard| !self.losing.contains(shard)).collect();
            self.take(&free)?;
            if let Some(shard) = moves.hand_over.first().copied() {
                self.handing_over = Some(shard);
                if let Some(reading) = self.shared.readings().get_mut(&shard) {
                    reading.is_closing = true;
                }
                (self.events)(vec![MemberEvent::HandOver { shard }]);
            }
        }
        self.leader.work(&mut self.session, &self.observation)
    }

    fn measure(&mut self) -> Result<()> {
        let row = self.session.query_one(
            "SELECT coalesce(sum(queued), 0)::bigint, coalesce(sum(pages), 0)::bigint, count(*)
             FROM members WHERE lease_until > clock_timestamp()",
            &[],
        )?;
        let mut cells = Cells::of(&row);
        let mut number = || cells.number().map_err(|error| self.session.error(error));
        let (queued, pages, workers) = (number()?, number()?, number()?);
        let at = Instant::now();
        let rate = self
            .measured
            .filter(|(_, before)| *before <= pages)
            .map(|(then, before)| (pages - before) as f64 / at.duration_since(then).as_secs_f64().max(0.001));
        self.measured = Some((at, pages));
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        *self.shared.load.lock().unwrap_or_else(PoisonError::into_inner) =
            ClusterLoad { queued, workers, pages_per_second: rate };
        Ok(())
    }

    /// Somebody else has what was ours, or has had it.
    fn lose_others(&mut self, found: &Renewed) {
        let ours: Vec<u16> = self.shared.readings().keys().copied().collect();
        for shard in ours {
            let row = found.shards.get(usize::from(shard));
            let is_ours = row.is_some_and(|row| {
                row.owner.as_deref() == Some(&*self.leases.owner)
                    && self.shared.epochs.get(shard) == Some(row.epoch)
            });
            if !is_ours {
                tracing::warn!(shard, "another worker has a shard that was ours");
                self.shared.lost_shards.store(true, Ordering::Release);
                self.losing.insert(shard);
                self.forget(shard);
                (self.events)(vec![MemberEvent::Lost { shard }]);
            }
        }
    }

    /// A shard was taken in our name by a request whose answer never came. Nobody works on it: it is free, and taken anew.
    fn release_unknown(&mut self, found: &Renewed) -> Result<()> {
        for (shard, row) in (0..).zip(&found.shards) {
            let is_known = self.shared.readings().contains_key(&shard);
            if row.owner.as_deref() == Some(&*self.leases.owner) && !is_known {
                self.leases.release(&mut self.session, shard, false)?;
            }
        }
        Ok(())
    }

    fn refresh_jobs(&mut self) -> Result<()> {
        let mut known = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = known.refresh(&mut self.session)?;
        if !changed.is_empty() {
            (self.events)(changed);
        }
        Ok(())
    }

    fn take(&mut self, shards: &[u16]) -> Result<()> {
        if shards.is_empty() {
            return Ok(());
        }
        let taken = self.leases.take(&mut self.session, shards)?;
        // Jobs whose URLs the last owner has taken in: all of them were there before this shard was ours.
        self.refresh_jobs()?;
        if !taken.is_empty() {
            self.shared.lost_shards.store(false, Ordering::Release);
        }
        for taken in taken {
            self.shared.epochs.insert(taken.shard, taken.epoch);
            // Before its log is read: what was delivered to a shard that is not there yet would be passed over.
            (self.events)(vec![MemberEvent::Taken { shard: taken.shard, last_stop: taken.last_stop }]);
            let loss = taken.loss.map(Into::into);
            let reading =
                Reading { delivered: taken.applied, applied: taken.applied, is_closing: false, loss };
            self.shared.readings().insert(taken.shard, reading);
        }
        self.shared.update_notifier();
        Ok(())
    }

    fn die(&mut self) {
        self.shared.lease.end();
        self.shared.dead.store(true, Ordering::Release);
        let ours: Vec<u16> = self.shared.readings().keys().copied().collect();
        for shard in ours {
            self.forget(shard);
            (self.events)(vec![MemberEvent::Lost { shard }]);
        }
        self.shared.closed.store(true, Ordering::Release);
    }
}
