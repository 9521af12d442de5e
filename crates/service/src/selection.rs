//! Which job is meant: by name, by number, or the latest.

use crate::directory;
use argiope_config::Failure;
use argiope_model::{JobId, JobSpec};
use argiope_store::catalogue::{CatalogueReader, Job};
use argiope_store::error::StoreError;

/// A job by its name or number; without one the latest.
pub fn job(reader: &dyn CatalogueReader, wanted: Option<&str>) -> Result<Job, Failure> {
    let store = |e: StoreError| directory::store_failure(&e);
    let Some(wanted) = wanted else {
        return reader.latest_job().map_err(store)?.ok_or_else(|| {
            Failure::failed("there is no job yet").hint("start one with 'argiope crawl URL'")
        });
    };
    // Names are never digits alone.
    let found = match wanted.parse::<u32>() {
        Ok(number) => reader.job(JobId(number)),
        Err(_) => reader.find_job(wanted),
    };
    found.map_err(store)?.ok_or_else(|| {
        Failure::failed(format!("there is no job '{wanted}'")).hint("'argiope jobs' lists the stored jobs")
    })
}

/// The job that is meant, or all of them.
pub fn jobs(reader: &dyn CatalogueReader, wanted: Option<&str>, all: bool) -> Result<Vec<Job>, Failure> {
    if all {
        return reader.jobs().map_err(|e| directory::store_failure(&e));
    }
    job(reader, wanted).map(|job| vec![job])
}

pub fn spec(job: &Job) -> Result<JobSpec, Failure> {
    serde_json::from_str(&job.spec)
        .map_err(|e| Failure::failed(format!("job {} cannot be read: {e}", job.id)).hint(directory::CORRUPT))
}
