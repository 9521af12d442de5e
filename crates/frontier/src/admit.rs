//! Admits discovered URLs. Admission is idempotent: a known URL is ignored, so the links of a page may be offered again
//! after a crash.

use crate::admission::pattern::PatternTable;
use crate::codec::{VisitFacts, encode_visit};
use crate::frontier::Frontier;
use crate::host::{Host, HostQueue};
use crate::job::Job;
use crate::outbound::{hop, wrong_shard};
use crate::queue::{Entry, JobQueue, OrderKey};
use crate::ready::HostIndex;
use crate::state::{Change, Delayed, QueueAt};
use argiope_model::{
    Fingerprint, JobId, Millis, PreviousFetch, RequestKind, Skip, SkipReason, Url, Visit, plural, shard_of,
};

/// A URL that passed its job's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub url: Url,
    pub fingerprint: Fingerprint,
    pub priority: u8,
    pub kind: RequestKind,
    /// The last fetch of the URL, if this is a recrawl.
    pub previous: Option<Box<PreviousFetch>>,
}

/// URLs from one source: the links of a page, a sitemap, a seed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    pub job: JobId,
    pub round: u32,
    pub depth: u32,
    /// The page with the links. Seeds have none and are not subject to the rate of new URLs.
    pub source: Option<Url>,
    /// When they are due: they are admitted at once but not requested before. Default: at once.
    pub not_before: Option<Millis>,
    pub found: Vec<Found>,
}

/// A URL that the frontier itself refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub job: JobId,
    pub url: Url,
    pub source: Option<Url>,
    pub skip: Skip,
}

impl Frontier {
    /// Admits new URLs. Returns the skipped ones and the number of new ones. With leased shards, use
    /// [`Frontier::discover_in`] for the links of a visit; this function is for shards owned here.
    pub fn discover(&mut self, discovery: Discovery, now: Millis) -> (Vec<Refused>, usize) {
        self.admit_found(discovery, None, now)
    }

    /// Skips everything that does not belong to the shard `only`, if given.
    pub(crate) fn admit_found(
        &mut self,
        discovery: Discovery,
        only: Option<u16>,
        now: Millis,
    ) -> (Vec<Refused>, usize) {
        let Discovery { job, round, depth, source, not_before, found } = discovery;
        let mut refused = Vec::new();
        let mut new = 0;
        // Most links of a page lead to one shard.
        let mut fresh: Vec<(u16, Vec<Fingerprint>)> = Vec::new();
        let mut last: Option<HostIndex> = None;
        let mut remember =
            |shard: u16, fingerprint: Fingerprint| match fresh.iter_mut().find(|(of, _)| *of == shard) {
                Some((_, fingerprints)) => fingerprints.push(fingerprint),
                None => fresh.push((shard, vec![fingerprint])),
            };
        for one in found {
            // ... and to one host.
            let same =
                last.filter(|index| self.host(*index).is_some_and(|host| *host.name == *one.url.host()));
            let index = match same.or_else(|| self.hosts.named(one.url.host())) {
                Some(index) => index,
                None => match self.admit_host(job, one.url.host()) {
                    Ok(index) => index,
                    Err((shard, skip)) => {
                        if self.seen.insert(job, shard, one.fingerprint) {
                            refused.push(Refused { job, url: one.url, source: source.clone(), skip });
                        }
                        continue;
                    }
                },
            };
            last = Some(index);
            let shard = self.host(index).map(|host| host.key.shard);
            let Some(shard) = shard.filter(|shard| only.is_none_or(|only| *shard == only)) else {
                let skip = Skip::new(SkipReason::NotCrawlable, not_here(only, &one.url));
                refused.push(Refused { job, url: one.url, source: source.clone(), skip });
                continue;
            };
            if let Some(skip) = self.forbidden_spelling(index, job, &one, now) {
                let spelling = self.spelling_of(&one.url, round);
                if self.seen.insert(job, shard, spelling) {
                    refused.push(Refused { job, url: one.url, source: source.clone(), skip });
                }
                continue;
            }
            // A URL skipped below counts as seen from now on, so that it is reported once. That is not stored, so a
            // later run may decide differently.
            if !self.seen.insert(job, shard, one.fingerprint) {
                if let Some((skip, fingerprint)) = self.merge_spelling(job, shard, &one, round) {
                    remember(shard, fingerprint);
                    refused.push(Refused { job, url: one.url, source: source.clone(), skip });
                }
                continue;
            }
            let origin = Origin { job, round, depth, source: source.as_ref(), not_before };
            match self.admit(index, &origin, &one, now) {
                Ok(()) => {
                    new += 1;
                    remember(shard, one.fingerprint);
                    if !one.url.is_normal() {
                        for fingerprint in self.note_spelling(job, shard, &one, round) {
                            remember(shard, fingerprint);
                        }
                    }
                }
                Err(skip) => refused.push(Refused { job, url: one.url, source: source.clone(), skip }),
            }
        }
        for (shard, fingerprints) in fresh {
            self.pending.push(Change::Seen { job, shard, fingerprints });
        }
        (refused, new)
    }

    /// An unknown host gets a place in the table, unless its domain has reached its limit in this job. So made-up names
    /// by the million cost nothing.
    fn admit_host(&mut self, job: JobId, name: &str) -> Result<HostIndex, (u16, Skip)> {
        if let Some(state) = self.jobs.get(&job)
            && let Some(limit) = state.limits.max_subdomains_per_root
        {
            let root = self.suffixes.root_domain(name);
            if state.subdomains.count(root) >= limit {
                return Err((shard_of(root, self.config.shards), too_many_hosts(root, limit)));
            }
        }
        Ok(self.host_index(name))
    }

    fn admit(&mut self, index: HostIndex, origin: &Origin<'_>, one: &Found, now: Millis) -> Result<(), Skip> {
        let Origin { job, round, depth, source, not_before } = *origin;
        let rank = match one.kind {
            RequestKind::Resource => OrderKey::RESOURCE,
            RequestKind::Page | RequestKind::Robots | RequestKind::Sitemap => OrderKey::rank_of(one.priority),
        };
        let Some(state) = self.jobs.get_mut(&job) else {
            return Err(Skip::new(SkipReason::NotCrawlable, "the job is not open"));
        };
        let Some(host) = self.hosts.get_mut(index as usize) else {
            return Err(Skip::new(SkipReason::NotCrawlable, "no such host"));
        };
        within_visit_limit(state, host, index)?;
        within_subdomain_limit(state, host, index)?;
        if one.kind == RequestKind::Page
            && let Some(queue) = host.queue_mut(job)
        {
            queue.patterns.admit(&one.url)?;
        }
        if let Some(cap) = state.limits.queue_cap {
            let length = (state.counts.queued + state.counts.delayed).saturating_sub(state.evictions.total());
            if length >= cap && !state.evictions.make_room(rank) {
                return Err(Skip::new(
                    SkipReason::QueueFull,
                    format!("the queue is full ({})", plural(cap, "URL", "URLs")),
                ));
            }
            state.evictions.queued(rank);
        }
        let rate = state.limits.new_urls_per_source;
        let allowed = match source {
            // A host's own pages are fetched at its own pace, however many links it has; the limit protects other
            // hosts.
            Some(source) if source.host() != one.url.host() => {
                self.source_allows(source, rate.per_second, rate.burst, now)
            }
            _ => now,
        };
        let not_before = not_before.map_or(allowed, |due| due.max(allowed));
        let sequence = self.pending.new_sequence();
        let order = OrderKey { rank, depth: u8::try_from(depth).unwrap_or(u8::MAX), sequence };
        let facts = VisitFacts {
            kind: one.kind,
            attempt: 0,
            round,
            depth,
            scheduled_at: now,
            url: &one.url,
            source,
            hops: &[],
            previous: one.previous.as_deref(),
        };
        if let Some(state) = self.jobs.get_mut(&job).filter(|job| job.limits.max_visits_per_host.is_some()) {
            *state.host_visits.entry(index).or_default() += 1;
        }
        self.enqueue(index, job, Entry { order, value: facts.encode() }, not_before, now);
        Ok(())
    }

    /// Earlier runs of a job visited a host this many times: it keeps its place among the hosts of its domain, with
    /// fewer visits left.
    pub fn visited_host(&mut self, job: JobId, name: &str, visits: u32) {
        let index = self.host_index(name);
        let (Some(state), Some(host)) = (self.jobs.get_mut(&job), self.hosts.get(index as usize)) else {
            return;
        };
        state.host_visits.insert(index, visits);
        if state.limits.max_subdomains_per_root.is_some() {
            state.subdomains.insert(host.root(), index);
        }
    }

    /// When a new URL of this source may be served: now, or later if the source exceeds its rate.
    fn source_allows(&mut self, source: &Url, per_second: u32, burst: u32, now: Millis) -> Millis {
        let index = self.host_index(source.host());
        let rate = match self.hosts.get_mut(index as usize) {
            Some(host) => &mut host.new_urls,
            None => self.outbound.rate_of(source.host()),
        };
        rate.take(per_second, burst, now)
    }

    /// Stores an entry on disk and, if there is room, in memory.
    pub(crate) fn enqueue(
        &mut self,
        index: HostIndex,
        job: JobId,
        entry: Entry,
        not_before: Millis,
        now: Millis,
    ) {
        let room = self.windows.room();
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        let at = QueueAt { job, host: host.key };
        if let Some(state) = self.jobs.get_mut(&job) {
            state.count(at.host.shard, |counts| {
                if not_before > now { counts.delayed += 1 } else { counts.queued += 1 }
            });
        }
        // The host's record lists the jobs that have URLs queued here.
        let renamed = host.queue(job).is_none_or(|q| q.queue.is_finished());
        if host.queue(job).is_none() {
            let traps = self.jobs.get(&job).map(|job| job.limits.traps.of_host(&host.name));
            let patterns = traps.map(|traps| PatternTable::new(&traps)).unwrap_or_default();
            // Usually the only one; a vector would allocate room for four.
            host.queues.reserve_exact(1);
            host.queues.push(HostQueue::new(JobQueue::new(job), patterns));
        }
        if not_before > now {
            self.pending.delay(Delayed { due: not_before, at, entry });
        } else {
            let frees = host.is_freed_by(job, &entry);
            let Some(queue) = host.queue_mut(job) else { return };
            let queue = &mut queue.queue;
            let wakes =
                frees || queue.is_drained() || queue.head().is_none_or(|head| entry.order < head.order);
            if queue.keeps(entry.order) {
                let before = queue.in_memory();
                queue.push(entry.clone(), room);
                self.windows.changed(before, queue.in_memory());
            }
            self.pending.push(Change::Queue { at, entry });
            if renamed {
                self.wait_after_unclean_stop(index, now);
            }
            if wakes {
                self.reschedule(index, now);
            }
        }
        if renamed {
            self.hosts.mark_dirty(index);
        }
    }

    /// Puts a redirect at the head of its target host's queue, or sends it to the shard of that host.
    pub(crate) fn continue_at(&mut self, from: u16, visit: Visit, to: Url, status: u16, now: Millis) {
        let to_shard = self.sent_to(from, &to);
        let visit = hop(visit, to, status);
        match to_shard {
            Some(to) => self.send_continuation(from, to, visit),
            None => self.queue_continuation(&visit, now),
        }
    }

    /// The seen-set is not consulted.
    pub(crate) fn queue_continuation(&mut self, visit: &Visit, now: Millis) {
        let index = self.host_index(visit.url.host());
        let rank = OrderKey::continuation_of(visit.kind);
        let order = OrderKey { rank, depth: 0, sequence: self.pending.new_sequence() };
        let entry = Entry { order, value: encode_visit(visit) };
        self.enqueue(index, visit.job, entry, now, now);
    }
}

fn not_here(only: Option<u16>, url: &Url) -> String {
    match only {
        Some(shard) => wrong_shard(shard, url),
        None => format!("the shard of {} is not owned here", url.host()),
    }
}

/// Where a URL was found.
struct Origin<'d> {
    job: JobId,
    round: u32,
    depth: u32,
    source: Option<&'d Url>,
    not_before: Option<Millis>,
}

/// Counted when admitted: every visit in the queue will be made.
fn within_visit_limit(job: &Job, host: &Host, index: HostIndex) -> Result<(), Skip> {
    match job.limits.max_visits_per_host {
        Some(limit) if job.host_visits.get(&index).is_some_and(|visits| *visits >= limit) => {
            let times = plural(u64::from(limit), "time", "times");
            let detail = format!("{} has {times}, the limit of visits per host", host.name);
            Err(Skip::new(SkipReason::OverBudget, detail))
        }
        _ => Ok(()),
    }
}

fn within_subdomain_limit(job: &mut Job, host: &Host, index: HostIndex) -> Result<(), Skip> {
    let Some(limit) = job.limits.max_subdomains_per_root else { return Ok(()) };
    if !job.subdomains.contains(index) && job.subdomains.count(host.root()) >= limit {
        return Err(too_many_hosts(host.root(), limit));
    }
    job.subdomains.insert(host.root(), index);
    Ok(())
}

fn too_many_hosts(root: &str, limit: u32) -> Skip {
    let hosts = plural(u64::from(limit), "host", "hosts");
    Skip::new(SkipReason::OutOfScope, format!("{root} has reached the limit of {hosts} in this job"))
}
