//! Jobs that are opened, paused, changed, ended and forgotten while the frontier runs.

use crate::frontier::Frontier;
use crate::job::{Activity, Job, JobLimits};
use crate::ready::HostIndex;
use crate::state::Change;
use argiope_model::{JobId, Millis, Url};

impl Frontier {
    /// Starts a job, or resumes one that was restored. Its limits may have changed.
    pub fn open_job(&mut self, id: JobId, limits: JobLimits) {
        let leased = self.config.leased;
        let job = self.jobs.open(id, || Job::new(id, limits.clone(), leased));
        job.normal = limits.normal_form.compile();
        job.limits = limits;
        job.activity = Activity::Running;
        self.reschedule_all();
    }

    /// A seed of a host in this shard redirected to this URL; kept with the job.
    pub fn add_scope_host(&mut self, id: JobId, shard: u16, url: &Url) {
        if self.owns(shard)
            && let Some(job) = self.jobs.get_mut(&id)
            && job.add_scope_host(shard, url.as_str())
        {
            self.send_scope(id, shard, url);
        }
    }

    /// None for a job that is not open.
    pub fn activity(&self, id: JobId) -> Option<Activity> {
        self.jobs.get(&id).map(|job| job.activity)
    }

    pub fn set_activity(&mut self, id: JobId, activity: Activity) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.activity = activity;
        }
        self.reschedule_all();
    }

    /// New limits of an open job apply from the next request on; its delay also to current waits.
    pub fn set_limits(&mut self, id: JobId, limits: JobLimits, now: Millis) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.normal = limits.normal_form.compile();
        job.limits = limits;
        for index in 0..self.hosts.len() {
            let index = index as HostIndex;
            self.renew_delay(index, now);
            self.reschedule(index, now);
        }
    }

    /// Removes everything of a job: from memory now, from disk with the next batch.
    pub fn forget_job(&mut self, id: JobId) {
        self.end_job(id);
        self.seen.forget_job(id);
        for host in self.hosts.iter_mut() {
            let before: usize = host.queues.iter().map(|q| q.queue.in_memory()).sum();
            host.queues.retain(|q| q.queue.job != id);
            host.closed_jobs.retain(|closed| *closed != id);
            let after: usize = host.queues.iter().map(|q| q.queue.in_memory()).sum();
            self.windows.changed(before, after);
            host.turn = 0;
        }
        self.pending.push(Change::ForgetJob(id));
        self.reschedule_all();
    }

    /// Stops all work for a job. Its stored state stays.
    pub fn end_job(&mut self, id: JobId) {
        self.jobs.end(id);
        self.outbound.forget_job(id);
    }
}
