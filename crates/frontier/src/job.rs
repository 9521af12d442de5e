//! The frontier's state of a job: its limits, its counts, and its record on disk. The job's rules (scope, filters) are
//! applied earlier; see [`crate::admission`].

mod evictions;
mod subdomains;

pub(crate) use evictions::Evictions;
pub(crate) use subdomains::Subdomains;

use crate::codec::{CodecError, Reader, put_number, put_text};
use crate::hash::FastMap;
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use argiope_model::{JobId, JobSpec, NewUrlRate, NormalForm, NormalRules, Resources, TrapRules};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// 2: counts per shard. Version 1 had one record for all of them.
const VERSION: u8 = 2;

/// The job settings that the frontier uses. They may change while the job runs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLimits {
    pub max_pages: Option<u64>,
    pub max_pages_per_domain: Option<u64>,
    pub max_subdomains_per_root: Option<u32>,
    /// Visits to one host, including those of earlier runs (see [`crate::Frontier::visited_host`]).
    pub max_visits_per_host: Option<u32>,
    pub new_urls_per_source: NewUrlRate,
    pub queue_cap: Option<u64>,
    pub delay: Option<Duration>,
    pub per_host: Option<u32>,
    pub respect_robots: bool,
    pub traps: TrapRules,
    pub normal_form: NormalForm,
    /// Whether everything or nothing goes through a proxy. Default: [`crate::Frontier::set_usual_proxies`]. A proxy
    /// resolves names itself.
    pub proxied: Option<bool>,
    /// Resources of pages are requested, too.
    pub resources: bool,
    /// The user agent whose robots.txt rules apply to this job.
    pub agent: Box<str>,
}

impl JobLimits {
    pub fn of(spec: &JobSpec, agent: &str) -> JobLimits {
        JobLimits {
            max_pages: spec.max_pages,
            max_pages_per_domain: spec.max_pages_per_domain,
            max_subdomains_per_root: spec.max_subdomains_per_root,
            max_visits_per_host: None,
            new_urls_per_source: spec.new_urls_per_source,
            queue_cap: spec.queue_cap,
            delay: spec.delay,
            per_host: spec.per_host,
            respect_robots: spec.respect_robots,
            traps: spec.traps.clone(),
            normal_form: spec.normal_form.clone(),
            proxied: spec.proxy.as_ref().map(|proxy| proxy != "none"),
            resources: spec.resources != Resources::Off,
            agent: agent.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Running,
    Paused,
}

/// The URLs of a job by their state in the frontier, stored with the queues they count. The catalogue counts what a job
/// has fetched and stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// In the queues, including those being fetched.
    pub queued: u64,
    /// Delayed until a later time.
    pub delayed: u64,
    /// Pages with a final response.
    pub pages: u64,
    /// Visits that have ended, however they did.
    pub done: u64,
}

impl QueueCounts {
    /// The same job in another shard.
    pub fn add(&mut self, other: &QueueCounts) {
        self.queued += other.queued;
        self.delayed += other.delayed;
        self.pages += other.pages;
        self.done += other.done;
    }

    fn remove(&mut self, other: &QueueCounts) {
        self.queued = self.queued.saturating_sub(other.queued);
        self.delayed = self.delayed.saturating_sub(other.delayed);
        self.pages = self.pages.saturating_sub(other.pages);
        self.done = self.done.saturating_sub(other.done);
    }
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

impl JobShard {
    /// `sequence` is the last one used; the next owner of the shard continues after it.
    fn encode(&self, sequence: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        out.push(VERSION);
        let QueueCounts { queued, delayed, pages, done } = self.counts;
        for number in [sequence, queued, delayed, pages, done] {
            put_number(&mut out, number);
        }
        put_number(&mut out, self.domain_pages.len() as u64);
        for (domain, pages) in &self.domain_pages {
            put_text(&mut out, domain);
            put_number(&mut out, *pages);
        }
        put_number(&mut out, self.scope_hosts.len() as u64);
        for url in &self.scope_hosts {
            put_text(&mut out, url);
        }
        out
    }
}

/// A job in one shard as stored in its record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredJob {
    pub(crate) sequence: u64,
    pub(crate) counts: QueueCounts,
    pub(crate) domain_pages: HashMap<Box<str>, u64>,
    pub(crate) scope_hosts: Vec<Box<str>>,
}

pub(crate) fn decode_job(bytes: &[u8]) -> Result<StoredJob, CodecError> {
    let mut from = Reader { bytes, what: "job" };
    if from.byte()? != VERSION {
        return Err(from.error("unknown version"));
    }
    let sequence = from.number()?;
    // Far beyond any clock, so that later numbers cannot overflow.
    if sequence >> 62 != 0 {
        return Err(from.error("sequence too large"));
    }
    let counts = QueueCounts {
        queued: from.number()?,
        delayed: from.number()?,
        pages: from.number()?,
        done: from.number()?,
    };
    let mut domain_pages = HashMap::new();
    for _ in 0..from.number()? {
        let domain = from.text()?;
        domain_pages.insert(domain.into(), from.number()?);
    }
    let mut scope_hosts = Vec::new();
    for _ in 0..from.number()? {
        scope_hosts.push(from.text()?.into());
    }
    Ok(StoredJob { sequence, counts, domain_pages, scope_hosts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job::new(JobId(1), JobLimits::of(&JobSpec::default(), "TestBot"), false)
    }

    #[test]
    fn counts_are_read_back_as_they_were_written() {
        let mut job = job();
        job.count(5, |counts| *counts = QueueCounts { queued: 10_000_000, delayed: 3, pages: 77, done: 80 });
        job.shard_mut(5).domain_pages.insert("example.com".into(), 5);
        job.add_scope_host(5, "https://www.example.com/");
        let records: Vec<(u16, Vec<u8>)> = job.take_records(99).collect();
        let [(5, record)] = &records[..] else { panic!("{records:?}") };
        let stored = StoredJob {
            sequence: 99,
            counts: QueueCounts { queued: 10_000_000, delayed: 3, pages: 77, done: 80 },
            domain_pages: HashMap::from([("example.com".into(), 5u64)]),
            scope_hosts: vec!["https://www.example.com/".into()],
        };
        assert_eq!(decode_job(record), Ok(stored));
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
