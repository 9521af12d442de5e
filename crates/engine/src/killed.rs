//! What a start stores in the catalogue before anything else: its jobs run, and whether the run before it was killed.

use crate::error::EngineError;
use crate::job::JobStart;
use argiope_model::Millis;
use argiope_store::catalogue::{Batch, Catalogue, JobState, JobUpdate, UncleanStop};

/// The first batch of a run. `killed` is given if the run before this one did not end by itself: how many visits were
/// completed from the archive. The jobs it ran are those that the catalogue still has as running.
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
        // One that does not go on now must not be taken for running when this run is killed, too.
        let resting = known.iter().filter(|job| starts.iter().all(|start| start.id != job.id));
        batch.jobs.extend(resting.map(|job| JobUpdate {
            job: job.id,
            state: Some(JobState::Paused),
            message: Some(String::from("the crawl was killed; the same command goes on with it")),
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
