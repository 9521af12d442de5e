//! The list of jobs, with what each has done and what it is doing now.

use crate::access::Access;
use crate::control::Owner;
use crate::job_status::stored_counts;
use crate::place::Work;
use crate::{directory, selection};
use argiope_config::Failure;
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{CatalogueReader, Job};
use serde::Serialize;

/// A job as it is listed, its fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedJob {
    pub id: u32,
    pub name: Option<String>,
    pub state: &'static str,
    pub message: Option<String>,
    pub pages: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Known for a running job, and for an unfinished one while nothing crawls.
    pub queued: Option<u64>,
    pub created_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub seeds: Vec<String>,
}

/// All jobs, the oldest first.
pub fn list(access: &Access) -> Result<Vec<ListedJob>, Failure> {
    let reader = access.reader()?;
    let work = access.work()?;
    let jobs = reader.jobs().map_err(|e| directory::store_failure(&e))?;
    let mut listed: Vec<ListedJob> =
        jobs.iter().map(|job| listed_job(reader.as_ref(), job, &work)).collect::<Result<_, _>>()?;
    if let Work::Here { owner: Owner::Nobody, path } = &work {
        let resting: Vec<JobId> =
            jobs.iter().filter(|job| !job.state.is_finished()).map(|job| job.id).collect();
        // A crawl that starts at this moment takes the directory: then the counts are unknown.
        let counts = match resting.as_slice() {
            [] => Vec::new(),
            resting => stored_counts(path, resting).unwrap_or_default(),
        };
        for (job, counts) in resting.iter().zip(counts) {
            if let Some(listed) = listed.iter_mut().find(|listed| listed.id == job.0) {
                listed.queued = counts.map(|counts| counts.queued + counts.delayed);
            }
        }
    }
    Ok(listed)
}

fn listed_job(reader: &dyn CatalogueReader, job: &Job, work: &Work) -> Result<ListedJob, Failure> {
    let counts = reader.counts(job.id).map_err(|e| directory::store_failure(&e))?;
    let time = |at: Option<Millis>| at.map(Millis::rfc3339);
    Ok(ListedJob {
        id: job.id.0,
        name: job.name.clone(),
        state: work.state_word(job),
        message: job.message.clone(),
        pages: counts.pages,
        failed: counts.failed,
        skipped: counts.skipped(),
        queued: work.queued(job.id),
        created_at: job.created_at.rfc3339(),
        started_at: time(job.started_at),
        finished_at: time(job.finished_at),
        seeds: selection::spec(job)?.seeds,
    })
}
