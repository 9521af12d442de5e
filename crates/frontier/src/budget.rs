//! The budget of a job with leased shards: `max_pages` is shared by all owners, and each stores no more pages than it
//! was granted. It returns what it does not need.

use crate::frontier::Frontier;
use crate::job::Job;
use crate::ready::HostIndex;
use crate::state::QueueAt;
use argiope_model::{JobId, Millis, Url};

impl Frontier {
    /// Grants this many more pages of a job.
    pub fn grant(&mut self, job: JobId, pages: u64, now: Millis) {
        if let Some(grant) = self.jobs.get_mut(&job).and_then(|job| job.grant.as_mut()) {
            grant.given = grant.given.saturating_add(pages);
            self.wake_for_budget(job, now);
        }
    }

    /// Whether the job has work here that waits only for budget.
    pub fn wants_pages(&self, job: JobId) -> bool {
        let Some(state) = self.jobs.get(&job).filter(|state| !state.has_budget()) else { return false };
        state.wait_for_budget.iter().any(|index| {
            let queue = self.host(*index).filter(|host| !host.closed).and_then(|host| host.queue(job));
            queue.is_some_and(|queue| !queue.queue.is_drained())
        })
    }

    /// Returns pages that were granted and are neither stored nor reserved for a visit.
    pub fn return_pages(&mut self, job: JobId) -> u64 {
        let Some(state) = self.jobs.get_mut(&job) else { return 0 };
        let Some(grant) = &mut state.grant else { return 0 };
        let left = grant.given.saturating_sub(grant.spent + state.reserved);
        grant.given -= left;
        left
    }
}

impl Frontier {
    pub(crate) fn reserve(&mut self, job: JobId, index: HostIndex, rank: u8) -> bool {
        let (Some(job), Some(host)) = (self.jobs.get_mut(&job), self.hosts.get(index as usize)) else {
            return false;
        };
        if !job.take_promise(host.key.shard, rank) {
            job.reserved += 1;
        }
        if job.limits.max_pages_per_domain.is_some() {
            *job.shard_mut(host.key.shard).domain_pages.entry(host.root().into()).or_default() += 1;
        }
        true
    }

    /// A redirect takes its reserved page along, so that no other visit takes it meanwhile.
    pub(crate) fn promise(&mut self, id: JobId, to: &Url) {
        let target = self.host_index(to.host());
        if let (Some(job), Some(host)) = (self.jobs.get_mut(&id), self.hosts.get(target as usize)) {
            job.promise(host.key.shard);
        }
    }

    /// Frees the page that was reserved for a visit, or passes it to its redirect.
    pub(crate) fn unreserve(&mut self, index: HostIndex, id: JobId, reserved: bool, now: Millis) {
        if !reserved {
            return;
        }
        self.leave_domain(index, id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.reserved = job.reserved.saturating_sub(1);
        }
        self.wake_for_budget(id, now);
    }

    pub(crate) fn leave_domain(&mut self, index: HostIndex, id: JobId) {
        if let (Some(job), Some(host)) = (self.jobs.get_mut(&id), self.hosts.get(index as usize))
            && job.limits.max_pages_per_domain.is_some()
            && let Some(pages) = job.shard_mut(host.key.shard).domain_pages.get_mut(host.root())
        {
            *pages = pages.saturating_sub(1);
        }
    }

    /// A queued redirect ends without a request, or waits for long: its reserved page is freed.
    pub(crate) fn release_promise(&mut self, at: QueueAt, rank: u8, now: Millis) {
        if let Some(job) = self.jobs.get_mut(&at.job)
            && job.take_promise(at.host.shard, rank)
        {
            job.reserved = job.reserved.saturating_sub(1);
            self.wake_for_budget(at.job, now);
        }
    }

    /// Wakes as many hosts as there are pages left.
    pub(crate) fn wake_for_budget(&mut self, id: JobId, now: Millis) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let count = usize::try_from(job.pages_left()).unwrap_or(usize::MAX).min(job.wait_for_budget.len());
        let woken: Vec<HostIndex> = job.wait_for_budget.drain(..count).collect();
        for index in woken {
            if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(id)) {
                queue.waits_for_budget = false;
            }
            self.reschedule(index, now);
        }
    }

    /// A woken host may have found nothing to spend a page on. True if another one may use it.
    pub(crate) fn wake_for_spare_budget(&mut self, now: Millis) -> bool {
        let spare = |job: &&Job| job.has_budget() && !job.wait_for_budget.is_empty();
        let Some(id) = self.jobs.values().find(spare).map(|job| job.id) else { return false };
        self.wake_for_budget(id, now);
        true
    }
}
