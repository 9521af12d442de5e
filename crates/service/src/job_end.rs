//! How a job has ended, for a caller that watched it without running it.

use crate::directory;
use crate::empty_crawl::EmptyCrawl;
use argiope_config::Failure;
use argiope_store::catalogue::{CatalogueReader, Job, JobCounts, JobState};
use argiope_store::cuts::{self, Cuts};
use std::path::Path;

pub struct JobEnd {
    pub job: Job,
    pub counts: JobCounts,
    /// What limits refused.
    pub cuts: Cuts,
    /// Why no page was stored, if so.
    pub empty: Option<EmptyCrawl>,
}

impl JobEnd {
    /// Of a job that is finished or paused. `data` is the data directory, for hints; `cuts` of each kind are named.
    pub fn of(
        reader: &dyn CatalogueReader,
        job: Job,
        data: Option<&Path>,
        cuts: usize,
    ) -> Result<JobEnd, Failure> {
        let store = |e| directory::store_failure(&e);
        // A job that is paused and was not interrupted has only URLs left that are blocked for now.
        let waits = job.state == JobState::Paused;
        let empty = match job.state {
            JobState::Cancelled => None,
            _ => EmptyCrawl::of(reader, &job, data, waits)?,
        };
        let counts = reader.counts(job.id).map_err(store)?;
        let cuts = cuts::gather(reader, job.id, &counts, cuts).map_err(store)?;
        Ok(JobEnd { job, counts, cuts, empty })
    }
}
