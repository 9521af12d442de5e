//! The port for a shard's durable state: seen-sets, queues, hosts, robots.txt, jobs.
//!
//! The core keeps what it needs in memory and says what must change in a [`StateBatch`]. The adapter applies a batch
//! **atomically**, and makes it visible to later loads before [`ShardState::apply`] returns; it is durable once
//! [`ShardState::sync`] has returned. A crash loses a suffix of the applied batches, never one in the middle.

use crate::queue::{Entry, OrderKey};
use argiope_model::{Fingerprint, JobId, Millis};

/// A host's durable name: short, fixed for the life of the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey {
    pub shard: u16,
    pub number: u32,
}

/// Where an entry is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueAt {
    pub job: JobId,
    pub host: HostKey,
}

/// An entry that is not to be served before `due`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    pub due: Millis,
    pub at: QueueAt,
    pub entry: Entry,
}

/// What is kept of a robots.txt answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRobots {
    pub fetched_at: Millis,
    pub expires: Millis,
    /// The status of the final answer; 0 where none came.
    pub status: u16,
    pub body: Box<[u8]>,
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
    Job {
        job: JobId,
        record: Vec<u8>,
    },
    /// All that the job has in this state is to go: queues, delayed entries, seen-set.
    ForgetJob(JobId),
    Robots {
        origin: Box<str>,
        stored: StoredRobots,
    },
    Seen {
        job: JobId,
        shard: u16,
        fingerprints: Vec<Fingerprint>,
    },
}

/// Changes that happen together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateBatch {
    pub changes: Vec<Change>,
    /// Named numbers that are stored with it: how far archive and catalogue were when these visits were done, and
    /// whether the process stopped cleanly.
    pub marks: Vec<(Box<str>, u64)>,
}

impl StateBatch {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.marks.is_empty()
    }
}

/// What a restart is told, piece by piece.
pub trait Restore {
    fn job(&mut self, job: JobId, record: &[u8]) -> Result<(), StateError>;
    fn host(&mut self, key: HostKey, record: &[u8]) -> Result<(), StateError>;
    fn seen(&mut self, job: JobId, shard: u16, fingerprints: &mut dyn Iterator<Item = Fingerprint>);
    /// When the first delayed entry comes due.
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
}

pub trait ShardState: Send {
    fn apply(&mut self, batch: &StateBatch) -> Result<(), StateError>;

    /// Makes durable what was applied, from another thread than the one that applies.
    fn syncer(&self) -> Box<dyn StateSync>;

    /// Returns once everything applied so far would survive a power cut.
    fn sync(&self) -> Result<(), StateError> {
        self.syncer().sync()
    }

    /// Up to `limit` entries with keys beyond `after`, smallest first.
    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError>;

    /// Up to `limit` delayed entries due at `until`, the earliest first, and when the next one after them is due.
    fn load_due(&self, until: Millis, limit: usize) -> Result<(Vec<Delayed>, Option<Millis>), StateError>;

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError>;

    /// Tells everything that a restart needs: jobs first, then hosts, then seen-sets of jobs that `wants_seen`.
    fn restore(&self, into: &mut dyn Restore, wants_seen: &dyn Fn(JobId) -> bool) -> Result<(), StateError>;

    /// All marks, each with its last number.
    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError>;
}

/// See [`ShardState::syncer`].
pub trait StateSync: Send {
    fn sync(&self) -> Result<(), StateError>;
}
