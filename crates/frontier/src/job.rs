//! The frontier's state of a job. The job's rules (scope, filters) are applied earlier; see [`crate::admission`].

mod counts;
mod evictions;
mod limits;
mod record;
mod subdomains;

pub use counts::QueueCounts;
pub(crate) use evictions::Evictions;
pub use limits::JobLimits;
pub(crate) use record::{StoredJob, decode_job};
pub(crate) use subdomains::Subdomains;

use crate::hash::FastMap;
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use argiope_model::{JobId, NormalRules};
use std::collections::{HashMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Running,
    Paused,
}

/// The state of a job in one shard, stored with that shard.
#[derive(Debug, Default)]
pub(crate) struct JobShard {
    pub(crate) counts: QueueCounts,
    /// Pages stored or reserved per root domain, if that is limited.
    pub(crate) domain_pages: HashMap<Box<str>, u64>,
    /// URLs that seeds of this shard redirected to.
    scope_hosts: Vec<Box<str>>,
    /// The part of the job's `reserved` that belongs to redirects queued here. It is not stored: after a restart they
    /// need budget like any other.
    promised: u64,
    dirty: bool,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) limits: JobLimits,
    pub(crate) activity: Activity,
    /// For all shards owned here.
    pub(crate) counts: QueueCounts,
    /// By number of the shard.
    shards: Vec<JobShard>,
    dirty_shards: Vec<u16>,
    /// Handed out, not completed.
    pub(crate) in_progress: u64,
    /// Pages reserved for visits in progress, and for redirects that are queued at their target.
    pub(crate) reserved: u64,
    /// Hosts with work that wait for budget.
    pub(crate) wait_for_budget: VecDeque<HostIndex>,
    /// Hosts per root domain, where that is limited.
    pub(crate) subdomains: Subdomains,
    /// Visits admitted per host, where that is limited.
    pub(crate) host_visits: FastMap<HostIndex, u32>,
    /// URLs that seeds redirected to; their hosts are in scope.
    pub(crate) scope_hosts: Vec<Box<str>>,
    /// Entries to be evicted when they reach the head, by rank, if the queue is capped.
    pub(crate) evictions: Evictions,
    /// With leased shards, `max_pages` is shared by all owners; this is the part granted to this one.
    pub(crate) grant: Option<Grant>,
    pub(crate) normal: NormalRules,
    /// A URL may have been admitted in a spelling with parameters that its normal form drops.
    pub(crate) has_spellings: bool,
    /// URLs merged with such a one since the start.
    pub(crate) merged: u64,
}

/// Pages that an owner may store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grant {
    pub(crate) given: u64,
    pub(crate) spent: u64,
}

impl Job {
    pub(crate) fn new(id: JobId, limits: JobLimits, leased: bool) -> Job {
        Job {
            grant: leased.then(Grant::default),
            normal: limits.normal_form.compile(),
            has_spellings: false,
            merged: 0,
            id,
            limits,
            activity: Activity::Running,
            counts: QueueCounts::default(),
            shards: Vec::new(),
            dirty_shards: Vec::new(),
            in_progress: 0,
            reserved: 0,
            wait_for_budget: VecDeque::new(),
            subdomains: Subdomains::default(),
            host_visits: FastMap::default(),
            scope_hosts: Vec::new(),
            evictions: Evictions::default(),
        }
    }

    /// The state of the job in a shard, for changes; marks its record as out of date.
    pub(crate) fn shard_mut(&mut self, shard: u16) -> &mut JobShard {
        let at = usize::from(shard);
        if self.shards.len() <= at {
            self.shards.resize_with(at + 1, JobShard::default);
        }
        #[allow(clippy::indexing_slicing, reason = "made long enough just above")]
        let part = &mut self.shards[at];
        if !part.dirty {
            part.dirty = true;
            self.dirty_shards.push(shard);
        }
        part
    }

    fn shard(&self, shard: u16) -> Option<&JobShard> {
        self.shards.get(usize::from(shard))
    }

    /// Counts in a shard and in total.
    pub(crate) fn count(&mut self, shard: u16, change: impl Fn(&mut QueueCounts)) {
        change(&mut self.counts);
        change(&mut self.shard_mut(shard).counts);
    }

    /// The shards with delayed entries of this job.
    pub(crate) fn delayed_in(&self) -> impl Iterator<Item = u16> {
        (0..).zip(&self.shards).filter(|(_, part)| part.counts.delayed > 0).map(|(shard, _)| shard)
    }

    /// The records that are out of date.
    pub(crate) fn take_records(&mut self, sequence: u64) -> impl Iterator<Item = (u16, Vec<u8>)> {
        let dirty = std::mem::take(&mut self.dirty_shards);
        dirty.into_iter().filter_map(move |shard| {
            let part = self.shards.get_mut(usize::from(shard))?;
            std::mem::take(&mut part.dirty).then(|| (shard, part.encode(sequence)))
        })
    }

    /// Loads the stored state of a shard.
    pub(crate) fn restore_shard(&mut self, shard: u16, stored: StoredJob) {
        self.forget_shard(shard);
        self.has_spellings = true;
        self.counts.add(&stored.counts);
        for url in &stored.scope_hosts {
            self.add_to_scope(url);
        }
        let part = self.shard_mut(shard);
        part.counts = stored.counts;
        part.domain_pages = stored.domain_pages;
        part.scope_hosts = stored.scope_hosts;
        part.dirty = false;
    }

    /// Removes the job's state of a shard. Scopes stay: they only grow.
    pub(crate) fn drop_shard(&mut self, shard: u16) {
        self.forget_shard(shard);
        // Eviction marks are forgotten, too: better to evict none than the wrong ones.
        self.evictions = Evictions::default();
    }

    fn forget_shard(&mut self, shard: u16) {
        if let Some(part) = self.shards.get_mut(usize::from(shard)) {
            let part = std::mem::take(part);
            self.counts.remove(&part.counts);
            self.reserved = self.reserved.saturating_sub(part.promised);
        }
    }

    fn add_to_scope(&mut self, url: &str) {
        if !self.scope_hosts.iter().any(|known| **known == *url) {
            self.scope_hosts.push(url.into());
        }
    }

    /// False if this shard had it already.
    pub(crate) fn add_scope_host(&mut self, shard: u16, url: &str) -> bool {
        self.add_to_scope(url);
        let known = |part: &JobShard| part.scope_hosts.iter().any(|known| **known == *url);
        if self.shard(shard).is_some_and(known) {
            return false;
        }
        self.shard_mut(shard).scope_hosts.push(url.into());
        true
    }

    /// A reserved page is stored.
    pub(crate) fn spend(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
        if let Some(grant) = &mut self.grant {
            grant.spent += 1;
        }
    }

    pub(crate) fn has_budget(&self) -> bool {
        self.pages_left() > 0
    }

    /// Pages that are neither stored nor reserved.
    pub(crate) fn pages_left(&self) -> u64 {
        match (self.limits.max_pages, &self.grant) {
            (None, _) => u64::MAX,
            (Some(max), None) => max.saturating_sub(self.counts.pages + self.reserved),
            (Some(_), Some(grant)) => grant.given.saturating_sub(grant.spent + self.reserved),
        }
    }

    /// Whether the budget allows to serve an entry of this rank. Without a rank: whether it may be loaded to find out.
    pub(crate) fn may_take(&self, shard: u16, rank: Option<u8>) -> bool {
        // Resources are not pages, and entries that are not loaded yet may be resources.
        self.has_budget()
            || self.limits.resources && rank.is_none_or(|rank| rank == OrderKey::RESOURCE)
            || rank.is_none_or(|rank| rank == OrderKey::CONTINUATION)
                && self.shard(shard).is_some_and(|part| part.promised > 0)
    }

    /// A redirect queued in this shard has a reserved page already.
    pub(crate) fn promise(&mut self, shard: u16) {
        self.shard_mut(shard).promised += 1;
    }

    /// A redirect takes along the page reserved for its origin. False if there is none.
    pub(crate) fn take_promise(&mut self, shard: u16, rank: u8) -> bool {
        if rank != OrderKey::CONTINUATION {
            return false;
        }
        let Some(part) = self.shards.get_mut(usize::from(shard)) else { return false };
        let has = part.promised > 0;
        part.promised -= u64::from(has);
        has
    }

    pub(crate) fn domain_has_budget(&self, shard: u16, root: &str) -> bool {
        let Some(max) = self.limits.max_pages_per_domain else { return true };
        let pages = self.shard(shard).and_then(|part| part.domain_pages.get(root));
        pages.copied().unwrap_or(0) < max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::JobSpec;

    fn job() -> Job {
        Job::new(JobId(1), JobLimits::of(&JobSpec::default(), "TestBot"), false)
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let mut job = job();
        job.count(3, |counts| counts.queued += 1);
        job.count(60, |counts| counts.queued += 1);
        job.count(3, |counts| counts.done += 1);
        assert_eq!(job.take_records(1).map(|(shard, _)| shard).collect::<Vec<_>>(), [3, 60]);
        assert_eq!(job.take_records(1).count(), 0);
        job.count(60, |counts| counts.queued -= 1);
        assert_eq!(job.take_records(1).map(|(shard, _)| shard).collect::<Vec<_>>(), [60]);
    }

    #[test]
    fn a_shard_that_goes_takes_its_counts_and_promises_with_it() {
        let mut job = job();
        job.count(3, |counts| counts.queued += 2);
        job.count(4, |counts| counts.queued += 5);
        job.reserved = 3;
        job.promise(3);
        job.drop_shard(3);
        assert_eq!((job.counts.queued, job.reserved), (5, 2));
        assert_eq!(job.take_records(1).map(|(shard, _)| shard).collect::<Vec<_>>(), [4]);
        assert!(!job.take_promise(3, OrderKey::CONTINUATION));
    }
}
