//! Written to the catalogue before anything else at start: its jobs are running, and whether the previous run was
//! killed.

use crate::error::EngineError;
use crate::job::JobStart;
use argiope_model::Millis;
use argiope_store::catalogue::{Batch, Catalogue, JobState, JobUpdate, UncleanStop};

/// The first batch of a run. `killed` is set if the previous run did not end by itself: the number of visits completed
/// from the archive. Its jobs are those that the catalogue still has as running.
pub(crate) fn first_batch(
    catalogue: &dyn Catalogue,
    starts: &[JobStart],
    killed: Option<u64>,
    at: Millis,
) -> Result<Batch, EngineError> {
    let mut batch = Batch { at, ..Batch::default() };
    // A graph keeps no history.
    let keeps_history = starts.iter().all(|start| start.graph.is_none());
    if let Some(recovered_visits) = killed.filter(|_| keeps_history) {
        let mut known = catalogue.reader()?.jobs()?;
        known.retain(|job| job.state == JobState::Running);
        let stop = |job| UncleanStop { job, found_at: at, recovered_visits };
        batch.unclean_stops = known.iter().map(|job| stop(Some(job.id))).collect();
        if batch.unclean_stops.is_empty() {
            batch.unclean_stops.push(stop(None));
        }
        // Jobs that are not resumed now must not count as running if this run is killed, too.
        let resting = known.iter().filter(|job| starts.iter().all(|start| start.id != job.id));
        batch.jobs.extend(resting.map(|job| JobUpdate {
            job: job.id,
            state: Some(JobState::Paused),
            message: Some(String::from("the crawl was killed; run the same command to resume it")),
            spec: None,
            at,
        }));
    }
    batch.jobs.extend(starts.iter().map(|start| JobUpdate {
        job: start.id,
        state: Some(JobState::Running),
        message: None,
        spec: serde_json::to_string(&start.spec).ok(),
        at,
    }));
    Ok(batch)
}
