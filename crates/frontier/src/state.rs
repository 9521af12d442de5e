//! The port for a shard's durable state: seen-sets, queues, hosts, robots.txt, jobs.
//!
//! The frontier keeps what it needs in memory and returns its changes as a [`StateBatch`]. The adapter applies a batch
//! **atomically** and makes it visible to later loads before [`ShardState::apply`] returns. The batch is durable once
//! [`ShardState::sync`] has returned. A crash loses a suffix of the applied batches, never one in the middle.
//!
//! Every change belongs to one shard ([`Change::shard`]), so that an adapter that shares its store with other owners
//! can fence each shard's part by its epoch. Marks belong to the process.

use crate::queue::{Entry, OrderKey};
use argiope_model::{Fingerprint, JobId, Millis};
use argiope_politeness::RobotsAnswer;
use std::collections::BTreeSet;

/// Selects shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shards {
    /// One machine: all shards.
    All,
    Only(BTreeSet<u16>),
}

impl Shards {
    pub fn one(shard: u16) -> Shards {
        Shards::Only(BTreeSet::from([shard]))
    }

    pub fn contains(&self, shard: u16) -> bool {
        match self {
            Shards::All => true,
            Shards::Only(some) => some.contains(&shard),
        }
    }
}

/// A host's durable id: short, fixed for the life of the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey {
    pub shard: u16,
    pub number: u32,
}

/// The queue of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueAt {
    pub job: JobId,
    pub host: HostKey,
}

/// An entry that must not be served before `due`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    pub due: Millis,
    pub at: QueueAt,
    pub entry: Entry,
}

/// The stored result of a robots.txt request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRobots {
    pub fetched_at: Millis,
    pub expires: Millis,
    /// The status of the final response; 0 without a response.
    pub status: u16,
    pub body: Box<[u8]>,
}

impl StoredRobots {
    /// The status of a robots.txt that was unreachable.
    pub const NO_ANSWER: u16 = 0;

    pub fn answer(&self) -> RobotsAnswer {
        match self.status {
            StoredRobots::NO_ANSWER => RobotsAnswer::NoAnswer,
            status => RobotsAnswer::Status(status),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Queue {
        at: QueueAt,
        entry: Entry,
    },
    Unqueue {
        at: QueueAt,
        order: OrderKey,
    },
    Delay(Delayed),
    Undelay {
        due: Millis,
        at: QueueAt,
        order: OrderKey,
    },
    Host {
        key: HostKey,
        record: Vec<u8>,
    },
    /// The state of a job in one shard: its counts there.
    Job {
        job: JobId,
        shard: u16,
        record: Vec<u8>,
    },
    /// Removes the whole state of the job: queues, delayed entries, seen-set, records.
    ForgetJob(JobId),
    Robots {
        /// The shard of the origin's host.
        shard: u16,
        origin: Box<str>,
        stored: StoredRobots,
    },
    Seen {
        job: JobId,
        shard: u16,
        fingerprints: Vec<Fingerprint>,
    },
    /// To be appended to the log of the shard `to`, whoever owns it: in the same transaction, or acknowledged before it.
    /// One machine has no such log.
    Send {
        /// The shard whose visit it ends: this shard's epoch counts.
        from: u16,
        to: u16,
        /// See [`crate::message`].
        message: Vec<u8>,
    },
    /// The log of the shard is applied up to this offset, inclusive.
    Received {
        shard: u16,
        offset: u64,
    },
    /// All URLs of the job in this shard, with its log applied so far, are blocked until `until`; None withdraws that.
    /// For deciding about the end of a job across members; one machine does not need it.
    Blocked {
        job: JobId,
        shard: u16,
        applied: u64,
        until: Option<Millis>,
    },
}

impl Change {
    /// The shard whose owner alone may make this change; None for changes that concern all of them.
    pub fn shard(&self) -> Option<u16> {
        match self {
            Change::Queue { at, .. } | Change::Unqueue { at, .. } | Change::Undelay { at, .. } => {
                Some(at.host.shard)
            }
            Change::Delay(delayed) => Some(delayed.at.host.shard),
            Change::Host { key, .. } => Some(key.shard),
            Change::Job { shard, .. }
            | Change::Robots { shard, .. }
            | Change::Seen { shard, .. }
            | Change::Received { shard, .. }
            | Change::Blocked { shard, .. }
            | Change::Send { from: shard, .. } => Some(*shard),
            Change::ForgetJob(_) => None,
        }
    }
}

/// Changes that are applied together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateBatch {
    pub changes: Vec<Change>,
    /// Named numbers stored with it: the positions of archive and catalogue when these visits were done, and whether
    /// the process stopped cleanly.
    pub marks: Vec<(Box<str>, u64)>,
}

impl StateBatch {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.marks.is_empty()
    }

    /// The rest of the batch after a shard is lost.
    pub fn drop_shard(&mut self, shard: u16) {
        self.changes.retain(|change| change.shard() != Some(shard));
    }
}

/// Receives stored state at a restart, piece by piece.
pub trait Restore {
    fn job(&mut self, job: JobId, shard: u16, record: &[u8]) -> Result<(), StateError>;
    fn host(&mut self, key: HostKey, record: &[u8]) -> Result<(), StateError>;
    fn seen(&mut self, job: JobId, shard: u16, fingerprints: &mut dyn Iterator<Item = Fingerprint>);
    /// How far the log of a shard is applied; not called if nothing was.
    fn received(&mut self, shard: u16, offset: u64);
    /// When the first delayed entry of these shards is due.
    fn next_due(&mut self, due: Option<Millis>);
}

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the disk is full while writing the frontier")]
    DiskFull(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the frontier is damaged: {0}")]
    Corrupt(String),
    #[error("the frontier's store failed: {0}")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The shard belongs to another owner now: see [`ShardState::apply`].
    #[error("shard {0} is owned by another worker")]
    Lost(u16),
}

pub trait ShardState: Send {
    /// Applies all of the batch, or nothing. [`StateError::Lost`] names a shard that is no longer owned: nothing was
    /// applied, and the batch without that shard ([`StateBatch::drop_shard`]) may be applied again.
    fn apply(&mut self, batch: StateBatch) -> Result<(), StateError>;

    /// Makes applied batches durable, from another thread than the one that applies.
    fn syncer(&self) -> Box<dyn StateSync>;

    /// Returns once everything applied so far would survive a power cut. [`StateError::Lost`] means that this holds for
    /// all shards but the one it names.
    fn sync(&self) -> Result<(), StateError> {
        self.syncer().sync()
    }

    /// Up to `limit` entries with keys greater than `after`, smallest first.
    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError>;

    /// Up to `limit` delayed entries of these shards due at `until`, earliest first, and when the next one after them
    /// is due.
    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError>;

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError>;

    /// Reports everything that the owner of these shards needs: jobs first, then hosts, then seen-sets of jobs that
    /// `wants_seen`, the positions of their logs, and when the first delayed entry is due.
    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError>;

    /// Reports the state of one job in these shards that was left out of [`ShardState::restore`]: its records and
    /// seen-sets.
    fn restore_job(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError>;

    /// All marks, each with its last number.
    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError>;
}

/// See [`ShardState::syncer`].
pub trait StateSync: Send {
    fn sync(&self) -> Result<(), StateError>;
}
