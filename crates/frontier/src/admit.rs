//! What was discovered comes in. Admission is idempotent: a URL that was seen is nothing new, so the links of a page
//! may be offered again after a crash.

use crate::admission::pattern::{PatternTable, pattern_of};
use crate::codec::encode_visit;
use crate::frontier::Frontier;
use crate::host::{Host, HostQueue};
use crate::job::Job;
use crate::queue::{Entry, JobQueue, OrderKey};
use crate::ready::HostIndex;
use crate::state::{Change, Delayed, QueueAt};
use argiope_model::{Fingerprint, Hop, JobId, Millis, RequestKind, Skip, SkipReason, Url, Visit};
use std::collections::HashMap;
use std::time::Duration;

/// A URL that passed its job's rules.
#[derive(Clone, Debug)]
pub struct Found {
    pub url: Url,
    pub fingerprint: Fingerprint,
    pub priority: u8,
    pub kind: RequestKind,
}

/// URLs of one source: the links of a page, a sitemap, a list of seeds.
#[derive(Clone, Debug)]
pub struct Discovery {
    pub job: JobId,
    pub round: u32,
    pub depth: u32,
    /// The page they stand on; seeds have none, and are not held to the rate of new URLs.
    pub source: Option<Url>,
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
    /// Admits what is new. Returns what it refused and how many were new.
    pub fn discover(&mut self, discovery: Discovery, now: Millis) -> (Vec<Refused>, usize) {
        let Discovery { job, round, depth, source, found } = discovery;
        let mut refused = Vec::new();
        let mut new = 0;
        let mut fresh: HashMap<u16, Vec<Fingerprint>> = HashMap::new();
        for one in found {
            let index = self.host_index(one.url.host());
            let Some(shard) = self.host(index).map(|host| host.key.shard) else { continue };
            if self.seen.get(&(job, shard)).is_some_and(|table| table.contains(one.fingerprint)) {
                continue;
            }
            let url = one.url.clone();
            match self.admit(index, job, round, depth, &source, one, now) {
                Ok(fingerprint) => {
                    new += 1;
                    self.seen.entry((job, shard)).or_default().insert(fingerprint);
                    fresh.entry(shard).or_default().push(fingerprint);
                }
                Err(Refusal { fingerprint, skip }) => {
                    // Known from now on, so that it is told once; not stored, so that a later run may decide anew.
                    self.seen.entry((job, shard)).or_default().insert(fingerprint);
                    refused.push(Refused { job, url, source: source.clone(), skip });
                }
            }
        }
        for (shard, fingerprints) in fresh {
            self.changes.changes.push(Change::Seen { job, shard, fingerprints });
        }
        (refused, new)
    }

    #[allow(clippy::too_many_arguments, reason = "the facts of one URL")]
    fn admit(
        &mut self,
        index: HostIndex,
        job: JobId,
        round: u32,
        depth: u32,
        source: &Option<Url>,
        one: Found,
        now: Millis,
    ) -> Result<Fingerprint, Refusal> {
        let fingerprint = one.fingerprint;
        let refusal = |skip| Refusal { fingerprint, skip };
        let rank = OrderKey::rank_of(one.priority);
        let pattern = if one.kind == RequestKind::Page { Some(pattern_of(&one.url)) } else { None };
        let Some(state) = self.jobs.get_mut(&job) else {
            return Err(refusal(Skip::new(SkipReason::NotCrawlable, "the job is not open")));
        };
        let Some(host) = self.hosts.get_mut(index as usize) else {
            return Err(refusal(Skip::new(SkipReason::NotCrawlable, "no such host")));
        };
        within_subdomain_limit(state, host, index).map_err(refusal)?;
        if state.limits.traps.enabled
            && let Some(pattern) = pattern
            && let Some(queue) = host.queue_mut(job)
        {
            queue.patterns.admit(pattern).map_err(refusal)?;
        }
        if let Some(cap) = state.limits.queue_cap {
            let length = (state.counts.queued + state.counts.delayed).saturating_sub(state.evictions.total());
            if length >= cap && !state.evictions.make_room(rank) {
                return Err(refusal(Skip::new(SkipReason::QueueFull, format!("the queue is full ({cap} URLs)"))));
            }
            state.evictions.queued(rank);
        }
        let rate = state.limits.new_urls_per_source;
        let not_before = match source {
            Some(source) => self.source_allows(source, rate.per_second, rate.burst, now),
            None => now,
        };
        let sequence = self.new_sequence();
        let order = OrderKey { rank, depth: u8::try_from(depth).unwrap_or(u8::MAX), sequence };
        let visit = Visit {
            job,
            kind: one.kind,
            url: one.url,
            round,
            attempt: 0,
            depth,
            priority: one.priority,
            scheduled_at: now,
            hops: Vec::new(),
            source: source.clone(),
        };
        let entry = Entry { order, value: encode_visit(&visit) };
        self.enqueue(index, job, entry, not_before, now);
        Ok(fingerprint)
    }

    /// When a new URL of this source may be served: now, or later if the source brings more than its rate.
    fn source_allows(&mut self, source: &Url, per_second: u32, burst: u32, now: Millis) -> Millis {
        let index = self.host_index(source.host());
        let Some(host) = self.hosts.get_mut(index as usize) else { return now };
        let elapsed = now.since(host.new_url_tokens_at).as_secs_f32();
        let rate = per_second.max(1) as f32;
        host.new_url_tokens = (host.new_url_tokens + elapsed * rate).min(burst.max(1) as f32) - 1.0;
        host.new_url_tokens_at = now;
        if host.new_url_tokens >= 0.0 {
            return now;
        }
        now + Duration::from_secs_f32((-host.new_url_tokens / rate).min(86_400.0 * 365.0))
    }

    /// Puts an entry on disk and, as far as there is room, into memory.
    pub(crate) fn enqueue(&mut self, index: HostIndex, job: JobId, entry: Entry, not_before: Millis, now: Millis) {
        let room = self.room();
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        let at = QueueAt { job, host: host.key };
        if let Some(state) = self.jobs.get_mut(&job) {
            state.dirty = true;
            if not_before > now { state.counts.delayed += 1 } else { state.counts.queued += 1 }
        }
        // The host's record names the jobs that have something queued here.
        let renamed = host.queue(job).is_none_or(|q| q.queue.is_finished());
        if host.queue(job).is_none() {
            let patterns = self.jobs.get(&job).map(|job| PatternTable::new(&job.limits.traps)).unwrap_or_default();
            host.queues.push(HostQueue { queue: JobQueue::new(job), patterns });
        }
        if not_before > now {
            self.delay_entry(Delayed { due: not_before, at, entry });
        } else {
            self.changes.changes.push(Change::Queue { at, entry: entry.clone() });
            if let Some(queue) = host.queue_mut(job) {
                let before = queue.queue.in_memory();
                let was_drained = queue.queue.is_drained();
                let better = queue.queue.head().is_none_or(|head| entry.order < head.order);
                queue.queue.push(entry, room);
                self.in_memory = self.in_memory + queue.queue.in_memory() - before;
                if was_drained || better {
                    self.reschedule(index, now);
                }
            }
        }
        if renamed {
            self.mark_dirty(index);
        }
    }

    /// A redirect goes on at the head of its target host's queue; the seen-set is not asked.
    pub(crate) fn continue_at(&mut self, mut visit: Visit, to: Url, status: u16, now: Millis) {
        let from = std::mem::replace(&mut visit.url, to);
        visit.hops.push(Hop { url: from, status });
        let index = self.host_index(visit.url.host());
        let order = OrderKey { rank: OrderKey::CONTINUATION, depth: 0, sequence: self.new_sequence() };
        let entry = Entry { order, value: encode_visit(&visit) };
        self.enqueue(index, visit.job, entry, now, now);
    }
}

struct Refusal {
    fingerprint: Fingerprint,
    skip: Skip,
}

fn within_subdomain_limit(job: &mut Job, host: &Host, index: HostIndex) -> Result<(), Skip> {
    let Some(limit) = job.limits.max_subdomains_per_root else { return Ok(()) };
    let known = job.subdomains.entry(host.root.clone()).or_default();
    if !known.contains(&index) && known.len() >= limit as usize {
        let detail = format!("{} has {limit} hosts in this job already", host.root);
        return Err(Skip::new(SkipReason::OutOfScope, detail));
    }
    known.insert(index);
    Ok(())
}
