//! Where a host belongs in the schedule, and what it serves next.

use crate::codec::decode_visit;
use crate::host::{Address, Host, Place, RobotsHandle};
use crate::job::Activity;
use crate::job_table::JobTable;
use crate::queue::{Entry, OrderKey};
use crate::ready::HostIndex;
use argiope_model::{JobId, Millis, Scheme, WaitReason};
use argiope_politeness::Gate;
use argiope_politeness::HostRules;

impl Host {
    /// Where the host belongs, and the rank of the visit it would serve next.
    pub(crate) fn place_now(&self, rules: &HostRules, jobs: &JobTable, now: Millis) -> (Place, u8) {
        if self.closed {
            return (Place::Idle, 0);
        }
        let Some(rank) = self.head_rank(jobs) else { return (Place::Idle, 0) };
        if matches!(self.reachability.address, Address::Asking) {
            return (Place::Busy, 0);
        }
        if self.in_flight > 0 {
            // A host that has been failing is probed by a single request.
            let probing = matches!(self.politeness.gate(now), Gate::Probe);
            if probing || self.in_flight >= self.per_host(rules, jobs).get() {
                return (Place::Busy, 0);
            }
        }
        let (at, reason) = self.due(rules, now);
        if at > now { (Place::Waiting(at, reason), rank) } else { (Place::Ready, rank) }
    }

    /// The rank of the visit the host would serve next; None if there is none.
    fn head_rank(&self, jobs: &JobTable) -> Option<u8> {
        if !self.reachability.robots_requests.is_empty() {
            return Some(0);
        }
        let queue = self.queues.get(self.queue_in_turn(jobs)?)?;
        // An entry that is not loaded yet counts as ordinary.
        Some(queue.queue.head().map_or(OrderKey::rank_of(50), |entry| entry.order.rank))
    }

    /// The first queue, starting from the host's turn, with an entry that its job may serve now.
    pub(crate) fn queue_in_turn(&self, jobs: &JobTable) -> Option<usize> {
        let count = self.queues.len();
        (0..count).map(|n| (self.turn + n) % count).find(|at| {
            self.queues.get(*at).is_some_and(|q| {
                !q.queue.is_drained()
                    && jobs.get(&q.queue.job).is_some_and(|job| {
                        job.activity == Activity::Running
                            && job.may_take(self.key.shard, q.queue.head().map(|e| e.order.rank))
                    })
            })
        })
    }

    /// Hosts with work that lack budget are woken when some is returned.
    pub(crate) fn wait_for_budget(&mut self, index: HostIndex, jobs: &mut JobTable) {
        for queue in &mut self.queues {
            if !queue.waits_for_budget
                && !queue.queue.is_drained()
                && let Some(job) = jobs.get_mut(&queue.queue.job)
                && !job.has_budget()
            {
                queue.waits_for_budget = true;
                job.wait_for_budget.push_back(index);
            }
        }
    }

    /// Whether a host that waits for the robots.txt of one origin has work for the other origin.
    pub(crate) fn is_freed_by(&self, job: JobId, entry: &Entry) -> bool {
        if !matches!(self.place, Place::Waiting(_, WaitReason::RobotsUnreachable)) {
            return false;
        }
        let Ok(visit) = decode_visit(job, entry.order.rank.saturating_sub(1), &entry.value) else {
            return false;
        };
        let scheme = visit.url.scheme();
        !self.reachability.origins.iter().any(|origin| {
            origin.scheme == scheme && matches!(origin.robots, RobotsHandle::Unreachable { .. })
        })
    }

    /// Whether everything in memory that waits for this host has the same scheme: then only the robots.txt of that
    /// origin matters. Checked only if that one is unreachable.
    fn needs_only(&self, scheme: Scheme) -> bool {
        let is_other = |job: JobId, entry: &Entry| {
            decode_visit(job, entry.order.rank.saturating_sub(1), &entry.value)
                .is_ok_and(|visit| visit.url.scheme() != scheme)
        };
        !self.queues.iter().any(|q| q.queue.window().any(|entry| is_other(q.queue.job, entry)))
    }

    /// When the host may be requested, considering politeness, robots.txt and DNS, and the reason for the wait.
    pub(crate) fn due(&self, rules: &HostRules, now: Millis) -> (Millis, WaitReason) {
        let (mut at, mut reason) = match self.politeness.wait(now, rules) {
            Some(wait) => (wait.until, wait.reason),
            None => (now, WaitReason::CrawlDelay),
        };
        let mut later = |other: Millis, why: WaitReason| {
            if other > at {
                at = other;
                reason = why;
            }
        };
        if self.reachability.robots_requests.is_empty() {
            for origin in &self.reachability.origins {
                match &origin.robots {
                    RobotsHandle::Unreachable { until } if self.needs_only(origin.scheme) => {
                        later(*until, WaitReason::RobotsUnreachable);
                    }
                    _ => later(origin.retry_at, WaitReason::RobotsRetry),
                }
            }
        }
        later(self.reachability.dns_retry_at, WaitReason::DnsRetry);
        (at, reason)
    }
}
