//! What the frontier knows of a job: its limits, its counts, and its record on disk. The job's rules (scope, filters)
//! are applied before a URL comes here; see [`crate::admission`].

use crate::codec::{CodecError, Reader, put_number, put_text};
use crate::hash::{FastMap, FastSet};
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use argiope_model::{JobId, JobSpec, NewUrlRate, TrapRules};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;

const VERSION: u8 = 1;

/// The part of a job's settings that the frontier acts on. It may change while the job runs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLimits {
    pub max_pages: Option<u64>,
    pub max_pages_per_domain: Option<u64>,
    pub max_subdomains_per_root: Option<u32>,
    /// Visits to one host, those of former runs included (see [`crate::Frontier::visited_host`]).
    pub max_visits_per_host: Option<u32>,
    pub new_urls_per_source: NewUrlRate,
    pub queue_cap: Option<u64>,
    pub delay: Option<Duration>,
    pub per_host: Option<u32>,
    pub respect_robots: bool,
    pub traps: TrapRules,
    /// Names are resolved by the proxy.
    pub proxied: bool,
    /// The user agent whose rules in robots.txt hold for this job.
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
            proxied: spec.proxy.is_some(),
            agent: agent.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Running,
    Paused,
}

/// The counts that are stored with the queue they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// In the queues, those being fetched included.
    pub queued: u64,
    /// Not to be served before some time.
    pub delayed: u64,
    /// Pages with a final response.
    pub pages: u64,
    /// Visits that have ended in any way.
    pub done: u64,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) limits: JobLimits,
    pub(crate) activity: Activity,
    pub(crate) counts: JobCounts,
    /// Handed out, not completed.
    pub(crate) in_progress: u64,
    /// Pages promised to visits in progress, and to redirects that are queued at their target.
    pub(crate) reserved: u64,
    /// The part of `reserved` that queued redirects hold. A restart forgets it: they then need the budget like any other.
    pub(crate) promised: u64,
    /// Hosts with work that wait for a page of the budget to be given back.
    pub(crate) wait_for_budget: VecDeque<HostIndex>,
    /// Pages stored or promised per root domain, where that is limited.
    pub(crate) domain_pages: HashMap<Box<str>, u64>,
    /// Hosts per root domain, where that is limited.
    pub(crate) subdomains: Subdomains,
    /// Visits admitted per host, where that is limited.
    pub(crate) host_visits: FastMap<HostIndex, u32>,
    /// URLs that seeds redirected to: their hosts are in scope.
    pub(crate) scope_hosts: Vec<Box<str>>,
    /// Entries to be evicted when they come up, by rank, where the queue is capped.
    pub(crate) evictions: Evictions,
    pub(crate) dirty: bool,
}

impl Job {
    pub(crate) fn new(id: JobId, limits: JobLimits, counts: JobCounts) -> Job {
        Job {
            id,
            limits,
            activity: Activity::Running,
            counts,
            in_progress: 0,
            reserved: 0,
            promised: 0,
            wait_for_budget: VecDeque::new(),
            domain_pages: HashMap::new(),
            subdomains: Subdomains::default(),
            host_visits: FastMap::default(),
            scope_hosts: Vec::new(),
            evictions: Evictions::default(),
            dirty: true,
        }
    }

    pub(crate) fn has_budget(&self) -> bool {
        self.pages_left() > 0
    }

    /// Pages that are neither stored nor promised.
    pub(crate) fn pages_left(&self) -> u64 {
        self.limits.max_pages.map_or(u64::MAX, |max| max.saturating_sub(self.counts.pages + self.reserved))
    }

    /// May an entry of this rank be served, as far as the budget goes?
    pub(crate) fn may_take(&self, rank: Option<u8>) -> bool {
        self.has_budget() || rank == Some(OrderKey::CONTINUATION) && self.promised > 0
    }

    /// A redirect takes the page with it that was promised to its origin. False if it has none.
    pub(crate) fn take_promise(&mut self, rank: u8) -> bool {
        let has = rank == OrderKey::CONTINUATION && self.promised > 0;
        self.promised -= u64::from(has);
        has
    }

    pub(crate) fn domain_has_budget(&self, root: &str) -> bool {
        match self.limits.max_pages_per_domain {
            Some(max) => self.domain_pages.get(root).copied().unwrap_or(0) < max,
            None => true,
        }
    }
}

/// The hosts of a job, counted by root domain: one set for all, for most domains have one host. Root domains are known by
/// their keyed hash, as URLs are in the seen-set.
#[derive(Debug, Default)]
pub(crate) struct Subdomains {
    hosts: FastSet<HostIndex>,
    by_root: FastMap<u64, u32>,
}

impl Subdomains {
    pub(crate) fn count(&self, root: &str) -> u32 {
        self.by_root.get(&self.key(root)).copied().unwrap_or(0)
    }

    pub(crate) fn contains(&self, host: HostIndex) -> bool {
        self.hosts.contains(&host)
    }

    pub(crate) fn insert(&mut self, root: &str, host: HostIndex) {
        if !self.hosts.insert(host) {
            return;
        }
        *self.by_root.entry(self.key(root)).or_default() += 1;
    }

    fn key(&self, root: &str) -> u64 {
        self.by_root.hasher().hash_one(root)
    }
}

/// Lazy eviction from a capped queue: an entry that is evicted stays where it is and is refused when its turn comes.
#[derive(Debug)]
pub(crate) struct Evictions {
    queued: [u64; 102],
    evicted: [u64; 102],
    total: u64,
}

impl Default for Evictions {
    fn default() -> Evictions {
        Evictions { queued: [0; 102], evicted: [0; 102], total: 0 }
    }
}

impl Evictions {
    pub(crate) fn queued(&mut self, rank: u8) {
        if let Some(count) = self.queued.get_mut(usize::from(rank)) {
            *count += 1;
        }
    }

    /// Makes room for an entry of `rank`; false if nothing queued is worse than it.
    pub(crate) fn make_room(&mut self, rank: u8) -> bool {
        let worse = (usize::from(rank) + 1)..self.queued.len();
        for at in worse.rev() {
            if let (Some(queued), Some(evicted)) = (self.queued.get_mut(at), self.evicted.get_mut(at))
                && *queued > 0
            {
                *queued -= 1;
                *evicted += 1;
                self.total += 1;
                return true;
            }
        }
        false
    }

    /// An entry of `rank` comes up: is it one of the evicted?
    pub(crate) fn take_evicted(&mut self, rank: u8) -> bool {
        match self.evicted.get_mut(usize::from(rank)) {
            Some(evicted) if *evicted > 0 => {
                *evicted -= 1;
                self.total -= 1;
                true
            }
            _ => false,
        }
    }

    /// An entry of `rank` that was not evicted leaves the queue.
    pub(crate) fn served(&mut self, rank: u8) {
        if let Some(queued) = self.queued.get_mut(usize::from(rank)) {
            *queued = queued.saturating_sub(1);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

pub(crate) fn encode_counts(
    counts: &JobCounts,
    domain_pages: &HashMap<Box<str>, u64>,
    scope_hosts: &[Box<str>],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    out.push(VERSION);
    for number in [counts.queued, counts.delayed, counts.pages, counts.done] {
        put_number(&mut out, number);
    }
    put_number(&mut out, domain_pages.len() as u64);
    for (domain, pages) in domain_pages {
        put_text(&mut out, domain);
        put_number(&mut out, *pages);
    }
    put_number(&mut out, scope_hosts.len() as u64);
    for url in scope_hosts {
        put_text(&mut out, url);
    }
    out
}

/// A job as its record tells it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredJob {
    pub(crate) counts: JobCounts,
    pub(crate) domain_pages: HashMap<Box<str>, u64>,
    pub(crate) scope_hosts: Vec<Box<str>>,
}

pub(crate) fn decode_job(bytes: &[u8]) -> Result<StoredJob, CodecError> {
    let mut from = Reader { bytes, what: "job" };
    if from.byte()? != VERSION {
        return Err(from.error("unknown version"));
    }
    let counts = JobCounts {
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
    Ok(StoredJob { counts, domain_pages, scope_hosts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_back_as_they_were_written() {
        let counts = JobCounts { queued: 10_000_000, delayed: 3, pages: 77, done: 80 };
        let domains = HashMap::from([("example.com".into(), 5u64)]);
        let hosts = vec!["https://www.example.com/".into()];
        let record = encode_counts(&counts, &domains, &hosts);
        let stored = StoredJob { counts, domain_pages: domains, scope_hosts: hosts };
        assert_eq!(decode_job(&record), Ok(stored));
    }

    #[test]
    fn the_worst_entry_is_evicted_and_only_for_a_better_one() {
        let mut evictions = Evictions::default();
        evictions.queued(50);
        evictions.queued(80);
        assert!(!evictions.make_room(80));
        assert!(evictions.make_room(60));
        assert!(evictions.make_room(49));
        assert!(!evictions.make_room(10));
        assert_eq!(evictions.total(), 2);
        assert!(evictions.take_evicted(80));
        assert!(!evictions.take_evicted(80));
    }
}
