//! Puts failed URLs back into the queue of a job. The process that runs the job does it at once, and so do the workers
//! of a cluster. If nothing runs it, the URLs are queued in the data directory, and the next crawl of the job requests
//! them.

mod in_cluster;
mod in_directory;
mod named;

pub use in_cluster::put_back as put_back_in_cluster;

use crate::access::Access;
use crate::place::Place;
use crate::{directory, selection};
use argiope_config::Failure;
use argiope_model::SkipReason;
use argiope_store::catalogue::{CatalogueReader, Job, StoredPage};
use serde::{Deserialize, Serialize};

/// Which pages are fetched again. Without any choice it is all that failed or is blocked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRequest {
    /// The name or number of a job, where it is not the latest; then URLs as a person types them.
    pub words: Vec<String>,
    pub failed: bool,
    /// Those whose robots.txt was unreachable.
    pub blocked: bool,
}

#[derive(Clone, Debug)]
pub struct RetryAnswer {
    pub job: Job,
    /// URLs that are queued again.
    pub queued: u64,
    /// URLs whose robots.txt is requested again.
    pub blocked: u64,
    /// Whether that happens now: otherwise the next crawl of the job does it.
    pub is_running: bool,
}

/// What is to be fetched again.
struct Wanted {
    failed: bool,
    blocked: bool,
    named: Vec<StoredPage>,
}

struct Queued {
    urls: u64,
    is_running: bool,
}

pub fn retry(access: &Access, request: &RetryRequest) -> Result<RetryAnswer, Failure> {
    let reader = access.reader()?;
    let (job, urls) = named::job_and_urls(reader.as_ref(), &request.words)?;
    let spec = selection::spec(&job)?;
    check_is_latest(reader.as_ref(), &job)?;
    let is_chosen = request.failed || request.blocked || !urls.is_empty();
    let wanted = Wanted {
        failed: request.failed || !is_chosen,
        blocked: request.blocked || !is_chosen,
        named: named::pages(reader.as_ref(), &job, &spec, urls)?,
    };
    let counts = reader.counts(job.id).map_err(|e| directory::store_failure(&e))?;
    let blocked = match wanted.blocked {
        true => counts.by_skip.get(&SkipReason::RobotsUnreachable).copied().unwrap_or(0),
        false => 0,
    };
    let Queued { urls: queued, is_running } = match &access.place {
        Place::Directory(directory) => {
            drop(reader);
            in_directory::put_back(access, directory, &job, &spec, &wanted)?
        }
        Place::Cluster(place) => {
            let urls = in_cluster::put_back(place, reader.as_ref(), &job, wanted.failed, &wanted.named)?;
            Queued { urls, is_running: true }
        }
    };
    Ok(RetryAnswer { job, queued, blocked, is_running })
}

/// Only the latest job of a name, or of the same seeds, can be resumed.
fn check_is_latest(reader: &dyn CatalogueReader, job: &Job) -> Result<(), Failure> {
    let key = job.name.as_ref().unwrap_or(&job.seeds_hash);
    let latest = reader.find_job(key).map_err(|e| directory::store_failure(&e))?;
    match latest.filter(|latest| latest.id != job.id) {
        None => Ok(()),
        Some(latest) => {
            let text =
                format!("job {} was followed by job {}: only the latest can be resumed", job.id, latest.id);
            Err(Failure::failed(text).hint(format!("retry job {} instead", latest.id)))
        }
    }
}
