//! Membership in a cluster: leases of shards, messages to them, jobs and their budgets, and the leader's work. Two threads:
//! [`keeper`] keeps the leases, [`reader`] or [`log_reader`] reads the messages for the member's shards. Both send
//! [`MemberEvent`]s to the owner of the frontier.
//!
//! Leases run by the database's clock. A member that cannot renew its lease starts no new request, and aborts open ones by
//! its own clock before the database lets others take its shards ([`clock`]). After an outage it continues with the shards
//! that nobody took meanwhile. A member that was declared dead finds its row gone and joins again under another name.

mod budget;
mod clock;
mod epochs;
mod handle;
mod ingesting;
mod job_control;
mod jobs;
mod keeper;
mod leader;
mod leases;
mod load;
mod log_reader;
mod losses;
mod reader;
mod sending;
mod shared;
mod status;
mod submitting;

pub use budget::set_budget;
pub use clock::LeaseClock;
pub use epochs::{Epochs, Writing};
pub use ingesting::{IngestProgress, ingest_chunk, ingest_progress, recently_fetched};
pub use job_control::{JobMove, any_is_up, forget_job, move_open_job, set_job_spec};
pub(crate) use jobs::{OPEN_JOB, OpenJob, open_jobs};
pub(crate) use leader::{HOLD_JOBS, leads};
pub use leases::Figures;
pub use load::ClusterLoad;
pub use losses::{LogLoss, accept_losses, another_topic, log_identity, log_losses};
pub(crate) use sending::SentPositions;
pub use sending::{MessageSender, PreparedMessages, begin_logs, log_lag, send};
pub use status::{ClusterStatus, MemberStatus, cluster_status, is_up};
pub use submitting::{Addressing, Outgoing, keep_job_open, queued_urls, set_job_seeds, set_job_state};
pub(crate) use submitting::{OutgoingRef, append};

use crate::database::{Database, DatabaseErrorKind, LIMIT, Result};
use crate::redis::{NotifierEvent, ShardNotifier};
use crate::transport::Transport;
use argiope_frontier::member::{MemberEvent, Membership};
use handle::{MemberCommand, MemberHandle};
use keeper::LeaseKeeper;
use leases::Leases;
use log_reader::LogReader;
use shared::Shared;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Receives the events of a member, on behalf of the thread that owns the frontier. Must not block.
pub type EventSink = Arc<dyn Fn(Vec<MemberEvent>) + Send + Sync>;

#[derive(Clone)]
pub struct MemberOptions {
    pub worker: String,
    /// The name under which it owns shards. No other process has ever used it.
    pub owner: String,
    /// 15 s.
    pub lease: Duration,
    /// 5 s.
    pub renew_every: Duration,
    /// Without one, inboxes are polled.
    pub notifier: Option<Arc<ShardNotifier>>,
    pub transport: Transport,
}

/// A process that has joined a cluster.
pub struct Members {
    shared: Arc<Shared>,
    commands: Sender<MemberCommand>,
    threads: Vec<JoinHandle<()>>,
}

impl Members {
    /// Joins the cluster. Shards arrive as events.
    pub fn join(
        database: &Database,
        options: MemberOptions,
        epochs: Arc<Epochs>,
        events: EventSink,
    ) -> Result<(Members, Membership)> {
        let lease = Arc::new(LeaseClock::new(Arc::clone(&epochs), options.renew_every));
        let shared = Arc::new(Shared::new(Arc::clone(&lease), epochs, options.notifier));
        let (commands, received) = mpsc::channel();
        let leases = Leases { owner: options.owner, worker: options.worker, length: options.lease };
        // The keeper keeps trying the database while the others pause.
        let mut session = database.watching().connect(LIMIT)?;
        leases.join(&mut session)?;
        let (keeps, tells) = (Arc::clone(&shared), Arc::clone(&events));
        let mut keeper = LeaseKeeper::new(leases, session, options.renew_every, keeps, tells);
        let log = options
            .transport
            .log()
            .map_err(|error| database.error(DatabaseErrorKind::Settings, error.to_string()))?;
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

    /// Call it with every event of the notifier.
    pub fn on_notifier_event(&self, event: &NotifierEvent) {
        match event {
            NotifierEvent::Notified(_) => self.shared.wake_reader(),
            NotifierEvent::Disconnected => self.shared.is_notified.store(false, Ordering::Release),
            NotifierEvent::Connected => {
                self.shared.is_notified.store(true, Ordering::Release);
                self.shared.wake_reader();
            }
        }
    }

    /// Shown to others from the next renewal on.
    pub fn set_figures(&self, figures: Figures) {
        *self.shared.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    /// Whether it was declared dead: it can write nothing, and must join again.
    pub fn is_dead(&self) -> bool {
        self.shared.dead.load(Ordering::Acquire)
    }

    /// Whether others have taken shards of this member, and it has taken none since.
    pub fn has_lost_shards(&self) -> bool {
        self.shared.lost_shards.load(Ordering::Acquire)
    }

    /// Whether its lease has expired and the database is unreachable: others may have its shards.
    pub fn is_cut_off(&self) -> bool {
        self.shared.lease.left().is_zero() && !self.is_database_reachable()
    }

    /// Work and progress of all members, as of the last renewal.
    pub fn load(&self) -> ClusterLoad {
        *self.shared.load.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Call it ten times a second: it reports a hanging server when requests stop because the renewal is overdue, not
    /// only when the renewal times out.
    pub fn check_lease(&self) {
        self.shared.check_lease();
    }

    /// Whether the database has responded recently.
    pub fn is_database_reachable(&self) -> bool {
        self.shared.is_database_reachable()
    }

    /// Whether notifications arrive; None without a notifier.
    pub fn is_notified(&self) -> Option<bool> {
        self.shared.notifier.as_ref().map(|_| self.shared.is_notified.load(Ordering::Acquire))
    }

    /// How many shards it owns.
    pub fn owned(&self) -> usize {
        self.shared.readings().len()
    }

    /// Takes no more shards from now on; keeps those it has until [`Members::leave`].
    pub fn announce_leave(&self) {
        let _ = self.commands.send(MemberCommand::AnnounceLeave);
    }

    /// Releases all shards, after everything is stored. Returns when the database is updated, or cannot be reached in
    /// time.
    pub fn leave(&self) {
        let (done, wait) = mpsc::channel();
        if self.commands.send(MemberCommand::Leave(done)).is_ok() {
            let _ = wait.recv_timeout(2 * LIMIT);
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.shared.close();
        self.shared.wake_reader();
        let _ = self.commands.send(MemberCommand::Wake);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spawn(database: &Database, name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| database.error(DatabaseErrorKind::Failed, format!("cannot start a thread: {error}")))
}
