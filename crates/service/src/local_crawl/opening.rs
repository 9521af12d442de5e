//! What is opened, created or checked before a crawl starts.

use super::Run;
use crate::directory::{self, DataDirectory};
use crate::job_request::{JobRequest, create, find_or_create};
use crate::kept_cookies::KeptCookies;
use argiope_config::{CrawlSettings, Failure};
use argiope_fetch::RequestProfile;
use argiope_frontier::state::ShardState;
use argiope_frontier::stored_job_counts;
use argiope_local::archive::FileArchive;
use argiope_model::CookieJar;
use argiope_store::catalogue::{Catalogue, JobState};
use std::sync::Arc;

/// One archive for all jobs that keep one.
pub(super) fn archive(
    directory: &DataDirectory,
    all: &[CrawlSettings],
) -> Result<Option<Arc<FileArchive>>, Failure> {
    let Some(first) = all.iter().find(|settings| settings.job.archive) else { return Ok(None) };
    let profile = RequestProfile::new(&first.profile).map_err(Failure::usage)?;
    let obeys_robots = all.iter().all(|settings| settings.job.respect_robots);
    let rotate_bytes = first.process.archive_file_size;
    directory.archive(profile.user_agent(), obeys_robots, rotate_bytes).map(|archive| Some(Arc::new(archive)))
}

pub(super) fn open_job(
    directory: &DataDirectory,
    catalogue: &mut dyn Catalogue,
    state: &dyn ShardState,
    settings: CrawlSettings,
    notice: &dyn Fn(&str),
) -> Result<Run, Failure> {
    let store = |e| directory::store_failure(&e);
    let before = catalogue.reader().and_then(|reader| reader.find_job(&settings.identity.key));
    let failed_before = before.map_err(store)?.is_some_and(|job| job.state == JobState::Failed);
    let forgets = settings.fresh || failed_before;
    let request = JobRequest::of(&settings);
    let mut found = find_or_create(catalogue, &request)?;
    if !found.is_new && found.job.started_at.is_some() {
        let name = found.job.name.clone().unwrap_or_else(|| found.job.id.to_string());
        notice(&format!("resuming job {name}"));
    }
    // A catalogue from before a job was created assigns that job's number to another one.
    let is_there = |job| stored_job_counts(state, job).map(|counts| counts.is_some());
    while found.is_new && is_there(found.job.id).map_err(|e| directory::state_failure(&directory.path, &e))? {
        notice(&format!(
            "the catalogue is older than the other stores and does not know job {}, which remains only in the archive",
            found.job.id
        ));
        catalogue.delete_job(found.job.id).map_err(store)?;
        found = create(catalogue, &request)?;
    }
    let job = found.job;
    let counts = catalogue.reader().and_then(|reader| reader.counts(job.id));
    let pages_before = counts.map_err(store)?.pages;
    let mut cookies = settings.cookies.clone();
    if settings.job.cookie_jar() == CookieJar::On && !found.is_new {
        cookies.extend(KeptCookies::of(&directory.path, job.id).read(&directory.fixed.suffixes)?);
    }
    Ok(Run { settings, job, is_new: found.is_new, pages_before, cookies, forgets })
}

/// Removes jobs that were stored for a crawl that does not start.
pub(super) fn forget_new(catalogue: &mut dyn Catalogue, runs: &[Run]) -> Result<(), Failure> {
    runs.iter()
        .filter(|run| run.is_new)
        .try_for_each(|run| catalogue.delete_job(run.job.id))
        .map_err(|e| directory::store_failure(&e))
}

/// The files that pages are read from may have been deleted; the pages are still listed, and the crawl can continue.
pub(super) fn report_missing_archive(
    directory: &DataDirectory,
    catalogue: &dyn Catalogue,
    notice: &dyn Fn(&str),
) -> Result<(), Failure> {
    let reader = catalogue.reader().map_err(|e| directory::store_failure(&e))?;
    let missing = directory::missing_archive_files(&directory.path, reader.as_ref())?;
    if let Some(first) = missing.first() {
        let (files, are) = match missing.len() {
            1 => (String::from("1 file"), "is"),
            many => (format!("{many} files"), "are"),
        };
        notice(&format!(
            "warning: {files} of the archive {are} missing (archive/{first}): the pages stay listed, but their \
             content is lost; restore archive/ from a backup to get it back"
        ));
    }
    Ok(())
}
