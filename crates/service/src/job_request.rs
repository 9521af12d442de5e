//! A job as it is submitted, and how the catalogue finds or creates it.

use crate::directory;
use crate::stored_job::stored_job;
use argiope_config::{CrawlSettings, Failure, JobIdentity, cannot_resume, compare_for_resume};
use argiope_model::JobSpec;
use argiope_store::catalogue::{Catalogue, Job, NewJob};
use argiope_store::clock::now;
use serde::{Deserialize, Serialize};

/// What is submitted. Seeds of a list are sent separately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRequest {
    pub spec: JobSpec,
    pub identity: JobIdentity,
    /// A new job even if one with the same identity is unfinished.
    pub fresh: bool,
    /// Failed pages are fetched again, even if the job is finished.
    pub retry_failed: bool,
}

impl JobRequest {
    pub fn of(settings: &CrawlSettings) -> JobRequest {
        JobRequest {
            spec: settings.job.clone(),
            identity: settings.identity.clone(),
            fresh: settings.fresh,
            retry_failed: settings.retry_failed,
        }
    }

    fn seeds_hash(&self) -> String {
        match (&self.identity.list_digest, self.identity.named) {
            (Some(digest), true) => digest.clone(),
            _ => self.identity.key.clone(),
        }
    }
}

/// A job that was found or created.
#[derive(Clone, Debug)]
pub struct FoundJob {
    pub job: Job,
    pub is_new: bool,
}

/// Unfinished jobs are resumed; finished ones start over as another job.
pub fn find_or_create(catalogue: &mut dyn Catalogue, request: &JobRequest) -> Result<FoundJob, Failure> {
    let store = |e| directory::store_failure(&e);
    let reader = catalogue.reader().map_err(store)?;
    let known = reader.find_job(&request.identity.key).map_err(store)?.filter(|_| !request.fresh);
    if let Some(job) = known {
        let stored = stored_job(&job).map_err(|failure| failure.hint("start it over with --fresh"))?;
        if request.retry_failed || stored.continues_with(&request.spec) {
            let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
            compare_for_resume(&stored.spec, &request.spec)
                .map_err(|differences| cannot_resume(&name, stored.is_finished, &differences))?;
            if job.seeds_hash != request.seeds_hash() {
                return Err(Failure::usage(format!("job {name} was started with another list of URLs"))
                    .hint("give the same list to resume it, or start over with --fresh"));
            }
            return Ok(FoundJob { job, is_new: false });
        }
    }
    create(catalogue, request)
}

/// Always a new job.
pub fn create(catalogue: &mut dyn Catalogue, request: &JobRequest) -> Result<FoundJob, Failure> {
    let spec = serde_json::to_string(&request.spec).map_err(|e| Failure::failed(e.to_string()))?;
    let new = NewJob {
        name: request.identity.named.then(|| request.identity.key.clone()),
        seeds_hash: request.seeds_hash(),
        spec,
        created_at: now(),
        user: None,
    };
    let job = catalogue.create_job(&new).map_err(|e| directory::store_failure(&e))?;
    Ok(FoundJob { job, is_new: true })
}
