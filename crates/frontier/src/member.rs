//! The port to a cluster: which shards this process owns, the messages for them, and how many pages it may fetch. On
//! one machine there is no adapter: the process owns all shards permanently.
//!
//! The adapter sends [`MemberEvent`]s; the owner of the frontier replies through [`Member`]. Neither waits for the
//! other.

use crate::job::Activity;
use crate::restore::LastStop;
use argiope_model::{JobId, JobSpec, Url};
use std::sync::Arc;
use std::time::Duration;

/// A job that the cluster works on.
#[derive(Clone, Debug)]
pub struct ClusterJob {
    pub id: JobId,
    pub spec: JobSpec,
    /// The URLs that define its scope, in normal form.
    pub seeds: Vec<Url>,
    pub activity: Activity,
}

/// An event for a member of a cluster.
#[derive(Debug)]
pub enum MemberEvent {
    /// A new job, or one with changed settings. Always sent before its messages are delivered, and before a shard with
    /// its URLs is taken.
    Job(Box<ClusterJob>),
    /// It has ended: its state in memory is dropped.
    JobClosed(JobId),
    /// This process owns the shard from now on.
    Taken { shard: u16, last_stop: LastStop },
    /// Another member should get it: requests in flight may end, then call [`Member::handed_over`].
    HandOver { shard: u16 },
    /// It is no longer ours; writes for it are refused.
    Lost { shard: u16 },
    /// The lease holds, for the first time or again: requests belong to this term from now on. Shards that others took
    /// meanwhile were reported as lost before; nobody has sent requests to the hosts of the remaining ones.
    Resumed { term: u64 },
    /// Messages for a shard, each with its position in the shard's log.
    Delivery { shard: u16, messages: Vec<(u64, Vec<u8>)> },
    /// Grants this many more pages of the job's budget; none if there are none left.
    Granted { job: JobId, pages: u64 },
}

/// What a member tells the cluster. Called by the scheduler thread, so nothing here may wait for a server.
pub trait Member: Send {
    /// Messages up to this position are applied; continue after it.
    fn delivered(&mut self, shard: u16, offset: u64);
    /// The shard is quiet and all of it is stored: the next owner need not wait.
    fn handed_over(&mut self, shard: u16);
    /// A lost shard is dropped and may be taken again.
    fn dropped(&mut self, shard: u16);
    /// There is work, but no budget left.
    fn wants_pages(&mut self, job: JobId);
    /// These pages are not needed here.
    fn returns_pages(&mut self, job: JobId, pages: u64);
}

/// Whether this process may send requests now. Every thread checks it before each request.
pub trait Lease: Send + Sync {
    /// The lease holds and the database responds.
    fn holds(&self) -> bool;

    /// How often the lease has expired. Responses to requests of an earlier term are kept if nobody took their shard
    /// meanwhile, which is known when the lease holds again ([`MemberEvent::Resumed`]).
    fn term(&self) -> u64;

    /// When the lease expires unless renewed: requests in flight are aborted then. None if it never does.
    fn ends_in(&self) -> Option<Duration>;
}

/// A process that owns all shards needs no lease.
#[derive(Clone, Copy, Debug)]
pub struct Forever;

impl Lease for Forever {
    fn holds(&self) -> bool {
        true
    }

    fn term(&self) -> u64 {
        0
    }

    fn ends_in(&self) -> Option<Duration> {
        None
    }
}

/// The parts that make a process a member of a cluster.
pub struct Membership {
    pub member: Box<dyn Member>,
    pub lease: Arc<dyn Lease>,
}
