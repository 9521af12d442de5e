//! Which job, and what it is like now: for the commands that read what a crawl has stored.

use crate::data;
use argiope_config::Failure;
use argiope_model::{JobId, JobSpec};
use argiope_store::catalogue::{CatalogueReader, Job};
use argiope_store::error::StoreError;
use std::io::Write;

/// A job by its name or number; without one the latest.
pub(crate) fn job(reader: &dyn CatalogueReader, wanted: Option<&str>) -> Result<Job, Failure> {
    let store = |e: StoreError| data::store_failure(&e);
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
        Failure::failed(format!("there is no job '{wanted}'"))
            .hint("'argiope jobs' lists those that are there")
    })
}

/// The job that is meant, or all of them.
pub(crate) fn jobs(
    reader: &dyn CatalogueReader,
    wanted: Option<&str>,
    all: bool,
) -> Result<Vec<Job>, Failure> {
    if all {
        return reader.jobs().map_err(|e| data::store_failure(&e));
    }
    job(reader, wanted).map(|job| vec![job])
}

pub(crate) fn spec(job: &Job) -> Result<JobSpec, Failure> {
    serde_json::from_str(&job.spec)
        .map_err(|e| Failure::failed(format!("job {} cannot be read: {e}", job.id)).hint(data::CORRUPT))
}

/// What a job began with, in one line.
pub(crate) fn seeds_in_short(seeds: &[String]) -> String {
    match seeds {
        [] => String::from("a list"),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Results go to stdout, whatever `-q` says.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::output(&e))
}

pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::failed(e.to_string()))?;
    print(&format!("{text}\n"))
}
