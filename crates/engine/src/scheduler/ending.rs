//! When a job has ended, and when the whole crawl has.

use super::Scheduler;
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{JobState, JobUpdate};
use std::time::Duration;

/// A host that waits longer than this, with no other work, does not keep a crawl running.
pub(crate) const BLOCKED: Duration = Duration::from_secs(600);

/// How a job ends, from the frontier's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// Nothing is left.
    Done,
    /// `--max-pages` is reached.
    Limit,
    /// All remaining URLs are blocked for long.
    Blocked { until: Millis },
    /// A user has stopped it: it can be resumed.
    Stopped,
    /// A user has cancelled it.
    Cancelled,
}

impl JobEnd {
    /// The state and the message for the catalogue.
    pub(super) fn stored(self) -> (Option<JobState>, Option<String>) {
        match self {
            JobEnd::Done => (Some(JobState::Completed), None),
            JobEnd::Limit => (Some(JobState::Completed), Some(String::from("max_pages is reached"))),
            JobEnd::Blocked { until } => {
                let message = format!("remaining URLs are blocked until {}", until.rfc3339());
                (Some(JobState::Paused), Some(message))
            }
            JobEnd::Stopped => (Some(JobState::Paused), Some(String::from("interrupted"))),
            JobEnd::Cancelled => (Some(JobState::Cancelled), Some(String::from("cancelled by a user"))),
        }
    }
}

impl Scheduler {
    pub(super) fn is_over(&mut self, at: Millis) -> bool {
        if self.run.stopping.is_some() {
            return self.frontier.requests_under_way() == 0 && !self.frontier.has_uncommitted()
                || at >= self.run.give_up_at;
        }
        // A job of a cluster ends when all members have finished their part.
        if self.member.is_some() || !self.run.deleting.is_empty() {
            return false;
        }
        let mut all = true;
        for job in self.jobs.all() {
            if self.run.ended.contains_key(&job.id) {
                continue;
            }
            match self.end_of(job.id, at) {
                Some(end) => {
                    self.run.ended.insert(job.id, end);
                    let (state, message) = end.stored();
                    self.commit_queue.put_job(JobUpdate { job: job.id, state, message, spec: None, at });
                }
                None => all = false,
            }
        }
        // The responses of a job that was stopped or cancelled are still stored.
        let is_cancelled =
            self.run.ended.values().any(|end| matches!(end, JobEnd::Cancelled | JobEnd::Stopped));
        let is_idle = || self.frontier.requests_under_way() == 0 && !self.frontier.has_uncommitted();
        all && (!is_cancelled || is_idle())
    }

    pub(super) fn end_of(&mut self, job: JobId, at: Millis) -> Option<JobEnd> {
        let progress = self.frontier.progress(job)?;
        if progress.is_finished() {
            return Some(JobEnd::Done);
        }
        if progress.in_progress > 0 {
            return None;
        }
        let until = at + BLOCKED;
        if progress.budget_spent {
            return (!self.frontier.awaits_resources(job, until)).then_some(JobEnd::Limit);
        }
        let quiet = self.frontier.wake_time(at).is_none_or(|wake| wake >= until);
        (quiet && self.frontier.is_blocked_until(job, until))
            .then(|| JobEnd::Blocked { until: self.frontier.wake_time(at).unwrap_or(until) })
    }
}
