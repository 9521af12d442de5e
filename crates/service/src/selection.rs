//! Which job is meant: by name, by number, or the latest.

use crate::directory;
use argiope_config::Failure;
use argiope_model::{JobId, JobSpec};
use argiope_store::catalogue::{CatalogueReader, Job};
use argiope_store::error::StoreError;
use serde::{Deserialize, Serialize};

/// The jobs that a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobSelection {
    #[default]
    Latest,
    /// By name or number.
    One(String),
    All,
}

impl JobSelection {
    pub fn new(wanted: Option<&str>, all: bool) -> JobSelection {
        match wanted {
            _ if all => JobSelection::All,
            Some(wanted) => JobSelection::One(wanted.to_owned()),
            None => JobSelection::Latest,
        }
    }

    pub fn of(&self, reader: &dyn CatalogueReader) -> Result<Vec<Job>, Failure> {
        match self {
            JobSelection::Latest => job(reader, None).map(|job| vec![job]),
            JobSelection::One(wanted) => job(reader, Some(wanted)).map(|job| vec![job]),
            JobSelection::All => reader.jobs().map_err(|e| directory::store_failure(&e)),
        }
    }
}

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

pub fn spec(job: &Job) -> Result<JobSpec, Failure> {
    serde_json::from_str(&job.spec)
        .map_err(|e| Failure::failed(format!("job {} cannot be read: {e}", job.id)).hint(directory::CORRUPT))
}

/// The seeds of a job in one line.
pub fn seeds_in_short(seeds: &[String]) -> String {
    match seeds {
        [] => String::from("a list"),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}
