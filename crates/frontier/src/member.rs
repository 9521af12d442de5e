//! The port to a cluster: which shards this process has, what others send to them, and how many pages it may fetch. On one
//! machine nobody stands behind it: the process has all shards, and keeps them.
//!
//! The adapter tells [`MemberEvent`]; the owner of the frontier answers through [`Member`]. Neither waits for the other.

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
    /// What its scope is made from, in normal form.
    pub seeds: Vec<Url>,
    pub activity: Activity,
}

/// What a member of a cluster is told.
#[derive(Debug)]
pub enum MemberEvent {
    /// A job to work on, or one whose settings have changed. Always told before anything of it is delivered, and before
    /// a shard is taken that has URLs of it.
    Job(Box<ClusterJob>),
    /// It has ended: nothing of it is kept in memory.
    JobClosed(JobId),
    /// A shard is ours from now on.
    Taken { shard: u16, last_stop: LastStop },
    /// Another member is to have it: what is under way may end, then [`Member::handed_over`].
    HandOver { shard: u16 },
    /// It is no longer ours, and nothing may be written for it.
    Lost { shard: u16 },
    /// The lease holds, for the first time or again: requests belong to this term of it from now on. Shards that others
    /// took meanwhile were told as lost before; nobody has asked a host of those that are left.
    Resumed { term: u64 },
    /// What others sent to a shard, with each message's place in the shard's log.
    Delivery { shard: u16, messages: Vec<(u64, Vec<u8>)> },
    /// So many more pages of the job's budget are ours; none if there are none left.
    Granted { job: JobId, pages: u64 },
}

/// What a member says. Called by the thread that decides: nothing here may wait for a server.
pub trait Member: Send {
    /// What was delivered is taken in up to this place: from there on it is to be read.
    fn delivered(&mut self, shard: u16, offset: u64);
    /// The shard is quiet and all of it is stored: whoever has it next need not wait.
    fn handed_over(&mut self, shard: u16);
    /// A shard that was lost is dropped: it may be taken again.
    fn dropped(&mut self, shard: u16);
    /// There is work, and no page of the budget left.
    fn wants_pages(&mut self, job: JobId);
    /// They are not needed here.
    fn returns_pages(&mut self, job: JobId, pages: u64);
}

/// Whether this process may make requests now. Asked before each of them, by every thread.
pub trait Lease: Send + Sync {
    /// It has not ended, and the database answers.
    fn holds(&self) -> bool;

    /// How often it has ended. What was asked for in an earlier term is kept if its shard was not taken meanwhile, which is
    /// known when the lease holds again ([`MemberEvent::Resumed`]).
    fn term(&self) -> u64;

    /// When it ends if it is not renewed: requests that are under way then are given up. None if it never does.
    fn ends_in(&self) -> Option<Duration>;
}

/// A process that has all shards needs nobody's leave.
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

/// What makes a process a member of a cluster.
pub struct Membership {
    pub member: Box<dyn Member>,
    pub lease: Arc<dyn Lease>,
}
