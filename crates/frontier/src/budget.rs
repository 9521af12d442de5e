//! The budget of a job where shards are leased: `max_pages` is for all owners together, and each stores no more pages than
//! it was granted. What it does not need it gives back.

use crate::frontier::Frontier;
use argiope_model::{JobId, Millis};

impl Frontier {
    /// So many more pages of a job may be stored here.
    pub fn grant(&mut self, job: JobId, pages: u64, now: Millis) {
        if let Some(grant) = self.jobs.get_mut(&job).and_then(|job| job.grant.as_mut()) {
            grant.given = grant.given.saturating_add(pages);
            self.wake_for_budget(job, now);
        }
    }

    /// Is there something to do for the job that nothing but the budget holds?
    pub fn wants_pages(&self, job: JobId) -> bool {
        let Some(state) = self.jobs.get(&job).filter(|state| !state.has_budget()) else { return false };
        state.wait_for_budget.iter().any(|index| {
            let queue = self.host(*index).filter(|host| !host.closed).and_then(|host| host.queue(job));
            queue.is_some_and(|queue| !queue.queue.is_drained())
        })
    }

    /// Pages that were granted and are neither stored nor promised to a visit: they are no longer this owner's.
    pub fn return_pages(&mut self, job: JobId) -> u64 {
        let Some(state) = self.jobs.get_mut(&job) else { return 0 };
        let Some(grant) = &mut state.grant else { return 0 };
        let left = grant.given.saturating_sub(grant.spent + state.reserved);
        grant.given -= left;
        left
    }
}
