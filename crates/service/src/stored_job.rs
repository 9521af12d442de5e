//! Looks up a stored job that is given by its name alone, with the seeds and settings it was started with.

use crate::directory;
use crate::place::Place;
use crate::selection;
use argiope_config::{Failure, GlobalOptions, LoadedConfig, StoredJob};
use argiope_store::catalogue::{Job, JobState};

/// The job of that name in the store that `global` and `config` name.
pub fn find(global: &GlobalOptions, config: &LoadedConfig, name: &str) -> Result<StoredJob, Failure> {
    let stores = Place::named_by(global, config)?;
    let found = match stores.reader_if_any()? {
        Some(reader) => reader.find_job(name).map_err(|error| directory::store_failure(&error))?,
        None => None,
    };
    let Some(job) = found else {
        return Err(Failure::usage(format!("no seed was given, and {} has no job '{name}' to resume", stores.place()))
            .hint(format!(
                "give a URL to start from, as in 'argiope crawl https://example.com --name {name}'; 'argiope jobs' lists \
                 the stored jobs"
            )));
    };
    // Without a list it is the name.
    if job.seeds_hash != name {
        return Err(Failure::usage(format!(
            "job {name} was started with a list of URLs, which is not stored"
        ))
        .hint("give the same list with --list FILE to resume"));
    }
    stored_job(&job)
}

pub fn stored_job(job: &Job) -> Result<StoredJob, Failure> {
    Ok(StoredJob {
        spec: selection::spec(job)?,
        is_finished: job.state.is_finished(),
        reached_max_pages: job.state == JobState::Completed
            && job.message.as_deref() == Some("max_pages is reached"),
    })
}
