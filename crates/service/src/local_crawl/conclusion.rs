//! The results of a crawl's jobs, stored in the catalogue.

use super::Run;
use crate::blocked::waiting_urls;
use crate::directory;
use crate::empty_crawl::EmptyCrawl;
use argiope_config::Failure;
use argiope_engine::{Ended, JobOutcome};
use argiope_model::JobId;
use argiope_store::catalogue::{Batch, JobState, JobUpdate};
use argiope_store::clock::now;
use std::time::Duration;

/// A job that the crawl was started for, and how it ended.
pub struct FinishedRun {
    pub run: Run,
    pub outcome: JobOutcome,
    /// Why no page was stored, if so.
    pub empty: Option<EmptyCrawl>,
}

pub struct Conclusion {
    pub runs: Vec<FinishedRun>,
    pub ended: Ended,
    pub elapsed: Duration,
}

impl Conclusion {
    pub(super) fn draw(runs: Vec<Run>, mut ended: Ended, elapsed: Duration) -> Result<Conclusion, Failure> {
        let store = |e| directory::store_failure(&e);
        let reader = ended.catalogue.reader().map_err(store)?;
        let mut finished = Vec::new();
        let mut updates = Vec::new();
        for run in runs {
            let of_run = |(job, outcome): &(JobId, JobOutcome)| (*job == run.job.id).then_some(*outcome);
            let outcome = ended.jobs.iter().find_map(of_run).unwrap_or(JobOutcome::Cancelled);
            let data = run.settings.data_is_kept.then_some(run.settings.process.data.as_path());
            let waits = matches!(outcome, JobOutcome::Blocked { .. });
            let empty = match outcome {
                JobOutcome::Interrupted | JobOutcome::Cancelled => None,
                _ => EmptyCrawl::of(reader.as_ref(), &run.job, data, waits)?,
            };
            let message = match &empty {
                Some(empty) => Some(empty.message()),
                None if waits => blocked_message(&ended, run.job.id),
                None => None,
            };
            // A job that waits has not ended.
            let state = Some(if waits { JobState::Paused } else { JobState::Failed });
            let update = |message| JobUpdate { job: run.job.id, state, message, spec: None, at: now() };
            updates.extend(message.map(|message| update(Some(message))));
            finished.push(FinishedRun { run, outcome, empty });
        }
        drop(reader);
        let batch = Batch { at: now(), jobs: updates, ..Batch::default() };
        if !batch.is_empty() {
            ended.catalogue.commit(&batch).map_err(store)?;
        }
        Ok(Conclusion { runs: finished, ended, elapsed })
    }

    /// An interruption, or else the first failure, determines the result of the whole crawl.
    pub fn result(&self) -> Result<(), Failure> {
        if self.runs.iter().any(|run| run.outcome == JobOutcome::Interrupted) {
            return Err(Failure::silent_interrupt());
        }
        match self.runs.iter().find_map(|run| run.empty.as_ref()) {
            Some(empty) => Err(empty.failure()),
            None => Ok(()),
        }
    }
}

/// Why a job is blocked, for its summary.
fn blocked_message(ended: &Ended, job: JobId) -> Option<String> {
    let (_, left) = ended.blocked.iter().find(|(known, _)| *known == job)?;
    let groups: Vec<_> = left.groups.iter().map(|(by, group)| (*by, group.urls)).collect();
    (!groups.is_empty()).then(|| waiting_urls(&groups))
}
