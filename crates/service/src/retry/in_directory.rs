//! A retry in a data directory: by the process that owns it, or in the stores at rest.

use super::{Queued, Wanted};
use crate::access::Access;
use crate::control::{self, Control, Owner, OwnerClient};
use crate::directory::DataDirectory;
use crate::engine_settings::{engine_config, failure_of};
use argiope_config::{Failure, ProcessSettings, addresses_of, load_config};
use argiope_engine::{Engine, JobStart, Ports, Session};
use argiope_fetch::{ProfileOptions, RequestProfile};
use argiope_model::{JobSpec, Url};
use argiope_store::archive::Archive;
use argiope_store::catalogue::{Job, StoredPage};
use std::path::Path;
use std::sync::Arc;

pub(super) fn put_back(
    access: &Access,
    directory: &Path,
    job: &Job,
    spec: &JobSpec,
    wanted: &Wanted,
) -> Result<Queued, Failure> {
    let owner = Owner::of(directory);
    if owner.runs(job.id).is_some() {
        return in_running(directory, job, spec, wanted);
    }
    match owner {
        Owner::Running(status) => {
            let text = format!("{} is in use by a crawl of {}", directory.display(), control::named(&status));
            Err(Failure::failed(text).hint("retry when it has ended, or stop it with Ctrl-C first"))
        }
        Owner::Silent(error) => {
            let text = format!("the process that owns {} does not respond: {error}", directory.display());
            Err(Failure::failed(text).hint("retry when it has ended"))
        }
        Owner::Nobody => at_rest(access, directory, job, spec, wanted),
    }
}

fn in_running(directory: &Path, job: &Job, spec: &JobSpec, wanted: &Wanted) -> Result<Queued, Failure> {
    let rules = spec.normal_form.compile();
    let normal = |page: &StoredPage| {
        let url = Url::from_stored(&page.row.page.url).and_then(|url| url.under(&rules));
        url.map_or_else(|_| page.row.page.url.clone(), |url| url.normal().to_owned())
    };
    let request = control::RetryRequest {
        failed: wanted.failed,
        blocked: wanted.blocked,
        urls: wanted.named.iter().map(normal).collect(),
    };
    let Some(owner) = OwnerClient::connect(directory) else {
        return Err(Failure::failed("the crawl has just ended").hint("run the same command again"));
    };
    let retried = owner.retry(job.id, request).map_err(|error| {
        Failure::failed(format!("the running crawl did not accept it: {error}"))
            .hint("retry when it has ended")
    })?;
    Ok(Queued { urls: retried.queued, is_running: true })
}

fn at_rest(
    access: &Access,
    path: &Path,
    job: &Job,
    spec: &JobSpec,
    wanted: &Wanted,
) -> Result<Queued, Failure> {
    let directory = DataDirectory::open_existing(path)?;
    let config = load_config(&access.options)?;
    let process = ProcessSettings::new(&access.options, &config)?;
    let addresses = addresses_of(&config.file, spec.allow_private)?;
    let engine = engine_config(&process, &addresses, &directory.fixed);
    let archive = match spec.archive {
        true => {
            let options = ProfileOptions { user_agent: spec.user_agent.clone(), ..ProfileOptions::default() };
            let profile = RequestProfile::new(&options).map_err(Failure::usage)?;
            let rotate_bytes = process.archive_file_size;
            Some(directory.archive(profile.user_agent(), spec.respect_robots, rotate_bytes)?)
        }
        false => None,
    };
    let ports = Ports {
        state: directory.state()?,
        catalogue: directory.catalogue()?,
        archive: archive.map(|archive| Arc::new(archive) as Arc<dyn Archive>),
        links: Box::new(directory.links()?),
    };
    let seeds = spec.seed_urls().collect();
    let session = Session::default();
    let start = JobStart { id: job.id, spec: spec.clone(), seeds, graph: None, session };
    let queued = Engine::retry_at_rest(&engine, ports, start, wanted.failed, &wanted.named)
        .map_err(|error| failure_of(&error))?;
    Ok(Queued { urls: queued, is_running: false })
}
