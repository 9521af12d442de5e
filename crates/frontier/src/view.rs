//! Read-only views of the frontier: for progress, `status` and `why`.

use crate::codec::decode_visit;
use crate::flights::InFlight;
use crate::frontier::Frontier;
use crate::host::{Host, Place, RobotsHandle};
use crate::job::Job;
use crate::queue::{JobQueue, OrderKey};
use crate::state::HostKey;
use argiope_model::{Fingerprint, JobId, Millis, Url, WaitReason};
use std::collections::BTreeMap;

/// Summary of all hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub hosts: usize,
    /// With requests in flight.
    pub active: usize,
    pub ready: usize,
    /// Waiting, by reason, with the time at which the first of them is due.
    pub waiting: BTreeMap<WaitReason, (usize, Millis)>,
    pub at_address: usize,
    pub in_flight: usize,
    /// The URL that has been in flight for longest, and since when.
    pub oldest_request: Option<(Url, Millis)>,
    /// Hosts whose names are being looked up.
    pub resolving: usize,
    /// Handed out, not completed.
    pub outstanding: usize,
    pub network_down_since: Option<Millis>,
    /// When the first delayed entry is due; most are retries.
    pub next_retry: Option<Millis>,
    /// The hosts that are due last, and why.
    pub slowest: Vec<(Box<str>, WaitReason, Millis)>,
}

/// The state of a host for `why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostView {
    pub name: Box<str>,
    pub shard: u16,
    pub place: &'static str,
    pub due: Option<(Millis, WaitReason)>,
    pub in_flight: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueView {
    /// Never admitted by this job.
    Unseen,
    /// Admitted; the catalogue knows whether it is done.
    Seen,
}

const SLOWEST: usize = 3;

impl Frontier {
    /// Walks all hosts: call it a few times a second at most.
    fn oldest_request(&self) -> Option<(Url, Millis)> {
        let oldest = self.flights.oldest_request()?;
        requested(oldest).map(|url| (url, oldest.since()))
    }

    pub fn overview(&self) -> Overview {
        let mut view = Overview {
            hosts: self.hosts.live(),
            in_flight: self.flights.requests(),
            oldest_request: self.oldest_request(),
            resolving: self.resolving,
            outstanding: self.flights.len(),
            network_down_since: self.network.down_since(),
            next_retry: self.pending.next_due(),
            ..Overview::default()
        };
        for host in self.hosts.iter() {
            view.active += usize::from(host.in_flight > 0);
            match host.place {
                Place::Ready => view.ready += 1,
                Place::AtAddress => view.at_address += 1,
                Place::Waiting(at, reason) => {
                    let (count, first) = view.waiting.entry(reason).or_insert((0, at));
                    *count += 1;
                    *first = (*first).min(at);
                    note_slow(&mut view.slowest, host, reason, at);
                }
                Place::Idle | Place::Busy => {}
            }
        }
        view
    }

    pub fn host_view(&self, name: &str) -> Option<HostView> {
        let host = self.host(self.hosts.named(name)?)?;
        let (place, due) = match host.place {
            Place::Idle if host.in_flight > 0 => ("being asked", None),
            Place::Idle => ("idle", None),
            Place::Waiting(at, reason) => ("waiting", Some((at, reason))),
            Place::Ready => ("ready", None),
            Place::AtAddress => ("waiting for DNS", None),
            Place::Busy => ("busy", None),
        };
        Some(HostView {
            name: host.name.clone(),
            shard: host.key.shard,
            place,
            due,
            in_flight: host.in_flight,
        })
    }

    /// Whether the seen-set of a job has this URL.
    pub fn queue_view(&self, job: JobId, url: &Url, fingerprint: Fingerprint) -> QueueView {
        let Some(host) = self.hosts.named(url.host()).and_then(|index| self.host(index)) else {
            return QueueView::Unseen;
        };
        match self.seen.contains(job, host.key.shard, fingerprint) {
            true => QueueView::Seen,
            false => QueueView::Unseen,
        }
    }

    /// Hosts with URLs of a job that wait for long: paused, or without their robots.txt. With reason and end.
    pub fn blocked_hosts(&self, job: JobId) -> impl Iterator<Item = (&str, WaitReason, Millis)> {
        self.hosts.iter().filter_map(move |host| match host.place {
            Place::Waiting(at, reason) if reason.blocks() && host.queue(job).is_some() => {
                Some((&*host.name, reason, at))
            }
            _ => None,
        })
    }

    /// What blocks a URL for long, and until when: its host as a whole, or the robots.txt of its origin.
    pub fn block_of(&mut self, key: HostKey, url: &Url, now: Millis) -> Option<(WaitReason, Millis)> {
        let index = self.hosts.keyed(key)?;
        let rules = self.rules_of(index);
        let host = self.host(index)?;
        let (until, reason) = host.due(&rules, now);
        if until > now && reason.blocks() && reason != WaitReason::RobotsUnreachable {
            return Some((reason, until));
        }
        host.reachability.origins.iter().filter(|origin| origin.scheme == url.scheme()).find_map(|origin| {
            match origin.robots {
                RobotsHandle::Unreachable { until } if until > now => {
                    Some((WaitReason::RobotsUnreachable, until))
                }
                _ => None,
            }
        })
    }

    pub fn host_name(&self, key: HostKey) -> Option<&str> {
        self.host(self.hosts.keyed(key)?).map(|host| &*host.name)
    }

    /// Whether the job has nothing to do before `until`, and nothing in progress.
    pub fn is_blocked_until(&self, job: JobId, until: Millis) -> bool {
        let Some(state) = self.jobs.get(&job) else { return false };
        if state.in_progress > 0 || self.flights.requests() > 0 || self.resolving > 0 {
            return false;
        }
        if self.pending.next_due().is_some_and(|due| due < until) {
            return false;
        }
        self.hosts.iter().filter(|host| host.queue(job).is_some_and(|q| !q.queue.is_drained())).all(|host| {
            match host.place {
                Place::Waiting(at, reason) => at >= until && reason.blocks(),
                _ => false,
            }
        })
    }

    /// Whether a resource of the job's pages is due before `until`, or an entry that may turn out to be one. Resources
    /// need no budget, so a job that has spent it goes on with them.
    pub fn awaits_resources(&self, job: JobId, until: Millis) -> bool {
        let Some(state) = self.jobs.get(&job).filter(|state| state.limits.resources) else { return false };
        if state.counts.delayed > 0 && self.pending.next_due().is_some_and(|due| due < until) {
            return true;
        }
        self.hosts.iter().any(|host| {
            let is_blocked =
                matches!(host.place, Place::Waiting(at, reason) if at >= until && reason.blocks());
            let queue = host.queue(job).map(|queue| &queue.queue).filter(|queue| !queue.is_drained());
            let resource = |queue: &JobQueue| queue.head().is_none_or(|e| e.order.rank == OrderKey::RESOURCE);
            !is_blocked && queue.is_some_and(resource)
        })
    }

    /// Whether the job has something queued or in progress on this host.
    pub fn serves(&self, job: JobId, host: &str) -> bool {
        self.hosts
            .named(host)
            .and_then(|index| self.host(index))
            .is_some_and(|host| host.queue(job).is_some())
    }

    /// Handed out, answered, and not yet completed.
    pub fn has_uncommitted(&self) -> bool {
        self.flights.len() > self.flights.requests()
    }

    /// Whether something is queued that is not handed out. Then new links are not what is missing.
    pub fn has_backlog(&self) -> bool {
        self.jobs.values().any(|job| job.counts.queued > job.in_progress)
    }

    /// Hosts that could be requested now, except that their links are in pages that are not stored yet.
    pub fn hosts_awaiting_links(&self) -> usize {
        self.schedule.awaiting_links()
    }

    /// Requests that may be under way at once.
    pub fn concurrency(&self) -> usize {
        self.config.concurrency
    }

    pub fn has_free_slots(&self) -> bool {
        self.flights.requests() + self.resolving < self.config.concurrency
    }

    pub fn requests_under_way(&self) -> usize {
        self.flights.requests()
    }

    /// URLs that the job's seeds redirected to.
    pub fn scope_hosts(&self, job: JobId) -> &[Box<str>] {
        self.jobs.get(&job).map_or(&[], |job| &job.scope_hosts)
    }

    /// The robots.txt verdict for a URL, if the file is in memory.
    pub fn robots_view(&self, url: &Url, agent: &str) -> Option<RobotsView> {
        let host = self.host(self.hosts.named(url.host())?)?;
        match &host.origin(url.scheme(), agent)?.robots {
            RobotsHandle::Known { robots, .. } => {
                let verdict = robots.check(url.path_and_query());
                Some(RobotsView::Says {
                    allowed: verdict.allowed,
                    rule: verdict.rule.map(|r| (r.text(), r.line())),
                })
            }
            RobotsHandle::Unreachable { until } => Some(RobotsView::Unreachable { until: *until }),
            RobotsHandle::Unknown | RobotsHandle::Missing | RobotsHandle::Asked => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsView {
    Says { allowed: bool, rule: Option<(String, Option<u32>)> },
    Unreachable { until: Millis },
}

fn note_slow(slowest: &mut Vec<(Box<str>, WaitReason, Millis)>, host: &Host, reason: WaitReason, at: Millis) {
    let worst_kept = slowest.last().map_or(Millis(0), |(_, _, due)| *due);
    if slowest.len() == SLOWEST && at <= worst_kept {
        return;
    }
    slowest.push((host.name.clone(), reason, at));
    slowest.sort_by_key(|(_, _, due)| std::cmp::Reverse(*due));
    slowest.truncate(SLOWEST);
}

impl Frontier {
    /// Makes a stored robots.txt visible to [`Frontier::robots_view`], for read-only use.
    pub fn show_robots(
        &mut self,
        url: &Url,
        agent: &str,
        stored: Option<crate::state::StoredRobots>,
        now: Millis,
    ) {
        let index = self.host_index(url.host());
        self.robots_loaded(index, url.scheme(), agent, stored, now);
    }
}

pub(crate) fn requested(flight: &InFlight) -> Option<Url> {
    match (&flight.robots, &flight.entry) {
        (Some(request), _) => Some(request.url.clone()),
        (None, Some(entry)) => decode_visit(entry.job, 0, &entry.value).ok().map(|visit| visit.url),
        (None, None) => None,
    }
}

/// Counts for a display or the end of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    pub queued: u64,
    pub delayed: u64,
    pub in_progress: u64,
    pub pages: u64,
    pub done: u64,
    pub budget_spent: bool,
}

impl JobProgress {
    /// Pending and in progress are zero.
    pub fn is_finished(&self) -> bool {
        self.queued == 0 && self.delayed == 0 && self.in_progress == 0
    }
}

impl Frontier {
    pub fn progress(&self, job: JobId) -> Option<JobProgress> {
        let job: &Job = self.jobs.get(&job)?;
        Some(JobProgress {
            queued: job.counts.queued,
            delayed: job.counts.delayed,
            in_progress: job.in_progress,
            pages: job.counts.pages,
            done: job.counts.done,
            budget_spent: job.limits.max_pages.is_some_and(|max| job.counts.pages >= max),
        })
    }
}
