//! Jobs in the catalogue: their state, their spec, and their counts.

use argiope_model::{JobId, Millis, SkipReason};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    #[default]
    Pending,
    Running,
    Paused,
    Completed,
    Failed,
    Cancelled,
}

impl JobState {
    pub const ALL: [JobState; 6] = [
        JobState::Pending,
        JobState::Running,
        JobState::Paused,
        JobState::Completed,
        JobState::Failed,
        JobState::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            JobState::Pending => "pending",
            JobState::Running => "running",
            JobState::Paused => "paused",
            JobState::Completed => "completed",
            JobState::Failed => "failed",
            JobState::Cancelled => "cancelled",
        }
    }

    pub fn parse(word: &str) -> Option<JobState> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// The job is over; running it again makes another job.
    pub fn is_finished(self) -> bool {
        matches!(self, JobState::Completed | JobState::Failed | JobState::Cancelled)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a job is created from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub name: Option<String>,
    /// Hash of the normalized seeds, list and spec: identifies an unnamed job.
    pub seeds_hash: String,
    /// The spec as JSON.
    pub spec: String,
    pub created_at: Millis,
    pub user: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Job {
    pub id: JobId,
    pub name: Option<String>,
    pub seeds_hash: String,
    /// The spec as JSON. It is not serialized with the job, because it may hold passwords.
    #[serde(skip_serializing)]
    pub spec: String,
    pub state: JobState,
    /// Why it failed or was paused.
    pub message: Option<String>,
    pub created_at: Millis,
    pub started_at: Option<Millis>,
    pub finished_at: Option<Millis>,
    pub user: Option<String>,
}

impl Job {
    /// The state of a job that is created now.
    pub const FIRST_STATE: JobState = JobState::Pending;

    /// As it is stored first, under the number that the catalogue gives it.
    pub fn created(id: JobId, new: &NewJob) -> Job {
        Job {
            id,
            name: new.name.clone(),
            seeds_hash: new.seeds_hash.clone(),
            spec: new.spec.clone(),
            state: Job::FIRST_STATE,
            message: None,
            created_at: new.created_at,
            started_at: None,
            finished_at: None,
            user: new.user.clone(),
        }
    }
}

/// A change of a job, committed with the batch it belongs to. The first change to `running` sets the start, a change
/// to a finished state sets the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobUpdate {
    pub job: JobId,
    pub state: Option<JobState>,
    pub message: Option<String>,
    /// A resumed job may have other limits, delay and concurrency.
    pub spec: Option<String>,
    pub at: Millis,
}

/// One point of a job's time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobStats {
    pub at: Millis,
    pub pages: u64,
    pub failed: u64,
    pub skipped: u64,
    pub bytes: u64,
    pub pending: u64,
    pub in_progress: u64,
    pub hosts_active: u64,
    pub hosts_waiting: u64,
}

/// What a job has counted, always in step with its committed rows: a repeated visit is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// URLs with a stored response, whatever its status: what `max_pages` counts.
    pub pages: u64,
    /// URLs that ended without a response.
    pub failed: u64,
    /// Bytes of bodies after content decoding.
    pub bytes: u64,
    /// Requests of every kind.
    pub requests: u64,
    /// Bytes received by those requests.
    pub received: u64,
    pub noindex: u64,
    pub duplicates: u64,
    pub redirected: u64,
    /// Resources of pages that were requested.
    pub resources: u64,
    /// Those of them that are broken.
    pub broken_resources: u64,
    /// Pages whose content was lost with a worker's disk.
    pub content_lost: u64,
    pub by_status: BTreeMap<u16, u64>,
    pub by_error: BTreeMap<String, u64>,
    #[serde(serialize_with = "skip_words")]
    pub by_skip: BTreeMap<SkipReason, u64>,
}

impl JobCounts {
    /// Adds one counter as catalogues store it: its class, its name and its count. Unknown ones are ignored.
    pub fn take(&mut self, class: &str, word: &str, count: u64) {
        match (class, word) {
            ("total", "failed") => self.failed = count,
            ("total", "bytes") => self.bytes = count,
            ("total", "requests") => self.requests = count,
            ("total", "received") => self.received = count,
            ("total", "noindex") => self.noindex = count,
            ("total", "duplicates") => self.duplicates = count,
            ("total", "redirected") => self.redirected = count,
            ("total", "resources") => self.resources = count,
            ("total", "broken_resources") => self.broken_resources = count,
            ("total", "content_lost") => self.content_lost = count,
            ("status", word) => {
                self.pages += count;
                self.by_status.extend(word.parse().ok().map(|status: u16| (status, count)));
            }
            ("error", word) => self.by_error.extend([(word.to_owned(), count)]),
            ("skip", word) => self.by_skip.extend(SkipReason::parse(word).map(|reason| (reason, count))),
            _ => {}
        }
    }

    pub fn skipped(&self) -> u64 {
        self.by_skip.values().sum()
    }
}

fn skip_words<S: serde::Serializer>(counts: &BTreeMap<SkipReason, u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().map(|(reason, count)| (reason.as_str(), count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_back_from_its_word() {
        for state in JobState::ALL {
            assert_eq!(JobState::parse(state.as_str()), Some(state));
        }
        assert!(JobState::Cancelled.is_finished() && !JobState::Paused.is_finished());
    }
}
