//! A job that is meant by its name alone: its seeds and settings are those it began with.

use crate::cli::CrawlArgs;
use crate::config::JobFile;
use crate::data;
use crate::exit::Failure;
use crate::stores::Stores;
use argiope_model::JobSpec;
use argiope_store::catalogue::Job;

/// The name of a job for which no seed is given.
pub(super) fn name_alone<'n>(args: &'n CrawlArgs, job_file: Option<&'n JobFile>) -> Option<&'n str> {
    let key = |key: &str| job_file.and_then(|file| file.keys.get(key));
    if !args.seeds.is_empty() || args.list.is_some() || key("seeds").is_some() {
        return None;
    }
    args.name.as_deref().or_else(|| key("name")?.as_str())
}

/// The job of that name, which can go on without being told where it began.
pub(super) fn find(stores: &Stores, name: &str) -> Result<(Job, JobSpec), Failure> {
    let found = match stores.reader_if_any()? {
        Some(reader) => reader.find_job(name).map_err(|error| data::store_failure(&error))?,
        None => None,
    };
    let Some(job) = found else {
        return Err(Failure::usage(format!(
            "no seed was given, and there is no job '{name}' in {} to go on with",
            stores.place()
        ))
        .hint(format!("name a place to start, as in 'argiope crawl https://example.com --name {name}'; 'argiope jobs' lists the jobs that are there")));
    };
    // Without a list it is the name.
    if job.seeds_hash != name {
        return Err(Failure::usage(format!("job {name} was begun with a list of URLs, which is not stored"))
            .hint("give the same list with --list FILE to go on"));
    }
    let spec = serde_json::from_str(&job.spec).map_err(|error| {
        Failure::failed(format!("job {} cannot be read: {error}", job.id)).hint(data::CORRUPT)
    })?;
    Ok((job, spec))
}

/// There is nothing to go on with.
pub(super) fn is_finished(name: &str) -> Failure {
    Failure::usage(format!("job {name} is finished"))
        .hint(
        "add --fresh to crawl its seeds anew, --retry-failed to ask again for what failed, or a higher --max-pages if it \
         ended at that limit",
    )
}
