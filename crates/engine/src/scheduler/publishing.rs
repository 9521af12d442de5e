//! Publishes the status a few times a second.

use super::Scheduler;
use crate::log;
use crate::status::{JobActivity, JobStatus, Phase, ProcessMeter, RateMeter, Rates, Status, Totals};
use argiope_frontier::Activity;
use argiope_model::{JobId, Millis};
use std::sync::PoisonError;
use std::time::Duration;

pub(super) const STATUS_EVERY: Duration = Duration::from_millis(250);

/// State that a status needs from the previous ones.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    pages: RateMeter,
    failures: RateMeter,
    peak: f64,
    process: ProcessMeter,
}

impl Scheduler {
    pub(super) fn publish(&mut self, at: Millis) {
        self.run.next_status = at + STATUS_EVERY;
        let overview = self.frontier.overview();
        let is_down = overview.network_down_since.is_some();
        if std::mem::replace(&mut self.run.network_down, is_down) != is_down {
            log::network(is_down);
        }
        let started_at = self.status.lock().unwrap_or_else(PoisonError::into_inner).started_at;
        let totals = self.counters.all.totals();
        let mut status = Status {
            at,
            started_at,
            phase: self.phase(overview.network_down_since),
            rates: self.rates(&totals, at.since(started_at)),
            totals,
            latency: self.counters.latency(),
            domains: self.counters.domains(),
            jobs: self.job_statuses(),
            process: self.run.meters.process.figures(),
            followers: self.followers.statuses(),
            events: self.run.notices.iter().cloned().collect(),
            ..Status::default()
        };
        status.take_overview(&overview);
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    fn phase(&self, network_down_since: Option<Millis>) -> Phase {
        match (&self.run.stopping, &self.run.hold, network_down_since) {
            (Some(_), _, _) => Phase::Stopping,
            (None, Some(reason), _) => Phase::Held { reason: reason.clone() },
            (None, None, Some(since)) => Phase::NetworkDown { since },
            (None, None, None) => Phase::Running,
        }
    }

    fn rates(&mut self, totals: &Totals, elapsed: Duration) -> Rates {
        let meters = &mut self.run.meters;
        let now = meters.pages.sample(elapsed, totals.pages);
        let failed = meters.failures.sample(elapsed, totals.failed);
        meters.peak = meters.peak.max(now);
        Rates {
            now,
            mean: totals.pages as f64 / elapsed.as_secs_f64().max(0.001),
            peak: meters.peak,
            failed_share: if failed > 0.0 { failed / (failed + now) } else { 0.0 },
        }
    }

    fn job_statuses(&self) -> Vec<JobStatus> {
        let mut jobs: Vec<JobStatus> = self
            .jobs
            .all()
            .iter()
            .map(|job| {
                let progress = self.frontier.progress(job.id).unwrap_or_default();
                JobStatus::new(job.id, self.activity(job.id), &progress, job.counters.totals())
            })
            .collect();
        jobs.sort_by_key(|job| job.job);
        jobs
    }

    fn activity(&self, job: JobId) -> JobActivity {
        if self.run.deleting.contains_key(&job) {
            return JobActivity::Deleting;
        }
        match (self.run.ended.contains_key(&job), self.frontier.activity(job)) {
            (true, _) | (_, None) => JobActivity::Ended,
            (false, Some(Activity::Paused)) => JobActivity::Paused,
            (false, Some(Activity::Running)) => JobActivity::Running,
        }
    }
}
