//! Control of the crawl that this process runs.

use super::stored::{self, internal, invalid, not_found, of_failure};
use super::{AcceptedJob, Control, ControlError, ControlErrorKind, JobControl, Retried, RetryRequest};
use crate::directory;
use crate::empty_crawl::EmptyCrawl;
use crate::job_request::{JobRequest, find_or_create};
use crate::kept_cookies::KeptCookies;
use crate::selection;
use argiope_config::parse_cookies;
use argiope_engine::{
    CommandError, EngineError, EngineHandle, JobActivity, JobStart, Session, Status, Why, failures_after,
};
use argiope_model::{CookieJar, JobId, JobSpec, PublicSuffixes, Url};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, JobState, JobUpdate};
use argiope_store::clock::now;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Settings that apply to all jobs of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTerms {
    /// Whether pages are archived at all.
    pub archives: bool,
    /// Whether private addresses may be connected to.
    pub allow_private: bool,
}

/// A job that was submitted and has not started.
struct Pending {
    request: JobRequest,
    seeds: Vec<Url>,
}

/// The crawl of this process.
pub struct RunningCrawl {
    engine: EngineHandle,
    directory: PathBuf,
    suffixes: Arc<PublicSuffixes>,
    terms: ProcessTerms,
    pending: Mutex<HashMap<JobId, Pending>>,
    /// Jobs that were added and have not ended.
    added: Mutex<Vec<JobId>>,
}

impl RunningCrawl {
    pub fn new(
        engine: EngineHandle,
        directory: PathBuf,
        suffixes: Arc<PublicSuffixes>,
        terms: ProcessTerms,
    ) -> RunningCrawl {
        RunningCrawl {
            engine,
            directory,
            suffixes,
            terms,
            pending: Mutex::default(),
            added: Mutex::default(),
        }
    }

    /// Added jobs that ended without a page have failed: their state and the reason are stored.
    pub fn conclude_ended(&self) {
        let added = std::mem::take(&mut *self.lock_added());
        if added.is_empty() {
            return;
        }
        let status = self.engine.status();
        let (ended, running): (Vec<JobId>, Vec<JobId>) = added
            .into_iter()
            .partition(|id| status.job(*id).is_some_and(|job| job.activity == JobActivity::Ended));
        self.lock_added().extend(running);
        for job in ended {
            if let Err(error) = self.conclude(job) {
                tracing::warn!(%job, %error, "cannot store the result of the job");
            }
        }
    }

    fn conclude(&self, job: JobId) -> Result<(), ControlError> {
        // After this, the end of the job is committed.
        self.with_catalogue(|_| ())?;
        let reader = self.reader()?;
        let Some(stored) = reader.job(job).map_err(|error| internal(&error))? else { return Ok(()) };
        let waits = stored.state == JobState::Paused;
        if stored.state == JobState::Cancelled {
            return Ok(());
        }
        let empty = EmptyCrawl::of(&reader, &stored, Some(&self.directory), waits).map_err(of_failure)?;
        match empty {
            Some(empty) => {
                let state = if waits { JobState::Paused } else { JobState::Failed };
                self.set_state(job, state, &empty.message())
            }
            None => Ok(()),
        }
    }

    fn lock_added(&self) -> MutexGuard<'_, Vec<JobId>> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<JobId, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> Result<impl CatalogueReader, ControlError> {
        directory::reader(&self.directory).map_err(of_failure)
    }

    fn with_catalogue<R: Send + 'static>(
        &self,
        task: impl FnOnce(&mut dyn Catalogue) -> R + Send + 'static,
    ) -> Result<R, ControlError> {
        self.engine.with_catalogue(task).ok_or_else(ending)
    }

    /// Settings of the whole process cannot differ between its jobs.
    fn check_terms(&self, spec: &JobSpec) -> Result<(), ControlError> {
        let refused = |what: &str| {
            Err(invalid(format!("the process that owns the data directory {what}"))
                .hint("wait for it to end, or use another directory with --data DIR"))
        };
        match self.terms {
            _ if spec.login.is_some() => refused("cannot log in for another job while it crawls"),
            ProcessTerms { archives: false, .. } if spec.archive => refused("runs with --no-archive"),
            ProcessTerms { allow_private: false, .. } if spec.allow_private => {
                refused("does not connect to private addresses (--allow-private)")
            }
            ProcessTerms { allow_private: true, .. } if !spec.allow_private => {
                refused("connects to private addresses (--allow-private), and this job must not")
            }
            _ => Ok(()),
        }
    }

    fn is_running(&self, job: JobId) -> bool {
        let status = self.engine.status();
        status.job(job).is_some_and(|job| job.activity != JobActivity::Ended)
    }

    /// With the seeds of its settings, and others.
    fn job_start(&self, job: JobId, spec: &JobSpec, others: &[Url]) -> Result<JobStart, ControlError> {
        let kept = KeptCookies::of(&self.directory, job);
        let mut cookies = match &spec.cookies_text {
            Some(text) => parse_cookies(text, &self.suffixes).map_err(invalid)?,
            None => Vec::new(),
        };
        if spec.cookie_jar() == CookieJar::On {
            cookies.extend(kept.read(&self.suffixes).map_err(of_failure)?);
        }
        let mut seeds: Vec<Url> = spec.seed_urls().collect();
        seeds.extend(others.iter().cloned());
        let session = Session { cookies, keeper: Some(Arc::new(kept)), login: None };
        Ok(JobStart { id: job, spec: spec.clone(), seeds, graph: None, session })
    }

    fn set_state(&self, job: JobId, state: JobState, message: &str) -> Result<(), ControlError> {
        let message = Some(message.to_owned());
        let update = JobUpdate { job, state: Some(state), message, spec: None, at: now() };
        let batch = Batch { at: now(), jobs: vec![update], ..Batch::default() };
        let committed = self.with_catalogue(move |catalogue| catalogue.commit(&batch).map(|_| ()))?;
        committed.map_err(|error| internal(&error))
    }

    /// A job that does not run here.
    fn in_catalogue(
        &self,
        task: impl FnOnce(&mut dyn Catalogue) -> Result<(), ControlError> + Send + 'static,
    ) -> Result<(), ControlError> {
        self.with_catalogue(task).and_then(|done| done)
    }

    /// A job that does not run here goes on with its stored settings.
    fn resume_stored(&self, job: JobId) -> Result<(), ControlError> {
        // After this, the end of a job that has just ended is committed.
        self.with_catalogue(|_| ())?;
        let stored = stored::unfinished(&self.reader()?, job)?;
        let spec = selection::spec(&stored).map_err(of_failure)?;
        if spec.seeds.is_empty() || stored.name.as_ref().is_some_and(|name| *name != stored.seeds_hash) {
            return Err(ControlError::new(
                ControlErrorKind::Conflict,
                format!("job {job} was started with a list of URLs, which is not stored"),
            )
            .hint("give the same list with --list FILE to resume"));
        }
        self.check_terms(&spec)?;
        let start = self.job_start(job, &spec, &[])?;
        self.engine.add_job(start, false).map_err(of_command)?;
        self.lock_added().push(job);
        Ok(())
    }

    fn requeue_failed(&self, job: JobId) -> Result<u64, ControlError> {
        let reader = self.reader()?;
        let (mut queued, mut after) = (0, 0);
        loop {
            let pages = failures_after(&reader, job, after).map_err(|error| internal(&error))?;
            let Some(last) = pages.last() else { return Ok(queued) };
            after = last.seq;
            queued += self.engine.requeue(job, pages).ok_or_else(ending)?;
        }
    }
}

/// The engine changes the jobs that it runs; others are changed in the catalogue.
impl JobControl for RunningCrawl {
    fn pause(&self, job: JobId) -> Result<(), ControlError> {
        match self.engine.pause(job) {
            Err(CommandError::UnknownJob(_)) => {
                self.in_catalogue(move |catalogue| stored::pause(catalogue, job))
            }
            done => done.map_err(of_command),
        }
    }

    fn resume(&self, job: JobId) -> Result<(), ControlError> {
        match self.engine.resume(job) {
            Err(CommandError::UnknownJob(_)) => self.resume_stored(job),
            done => done.map_err(of_command),
        }
    }

    fn cancel(&self, job: JobId) -> Result<(), ControlError> {
        match self.engine.cancel(job) {
            Err(CommandError::UnknownJob(_)) => {
                self.in_catalogue(move |catalogue| stored::cancel(catalogue, job))
            }
            done => done.map_err(of_command),
        }
    }

    fn delete(&self, job: JobId) -> Result<(), ControlError> {
        stored::job(&self.reader()?, job)?;
        self.pending().remove(&job);
        self.engine.delete(job).map_err(of_command)?;
        KeptCookies::of(&self.directory, job).delete().map_err(|error| internal(&error))
    }

    fn change(&self, job: JobId, spec: JobSpec) -> Result<(), ControlError> {
        self.check_terms(&spec)?;
        stored::check_change(&stored::job(&self.reader()?, job)?, &spec)?;
        match self.engine.change_spec(job, spec.clone()) {
            Err(CommandError::UnknownJob(_)) => {
                self.in_catalogue(move |catalogue| stored::change(catalogue, job, &spec))
            }
            done => done.map_err(of_command),
        }
    }
}

impl Control for RunningCrawl {
    fn status(&self) -> Result<Status, ControlError> {
        Ok(self.engine.status())
    }

    fn submit(&self, request: JobRequest) -> Result<AcceptedJob, ControlError> {
        self.check_terms(&request.spec)?;
        let wanted = request.clone();
        let found = self.with_catalogue(move |catalogue| find_or_create(catalogue, &wanted))?;
        let found = found.map_err(of_failure)?;
        let job = found.job.id;
        let is_running = self.is_running(job);
        if !is_running {
            self.pending().insert(job, Pending { request, seeds: Vec::new() });
        }
        let notices = vec![String::from("the configuration of the running process applies")];
        Ok(AcceptedJob { job, is_new: found.is_new, is_running, notices })
    }

    fn add_seeds(&self, job: JobId, seeds: Vec<String>) -> Result<(), ControlError> {
        let mut pending = self.pending();
        let waiting = pending.get_mut(&job).ok_or_else(|| not_found(job))?;
        let rules = waiting.request.spec.normal_form.compile();
        for seed in &seeds {
            let url = Url::parse(seed, &rules).map_err(|error| invalid(format!("{seed}: {error}")))?;
            waiting.seeds.push(url);
        }
        Ok(())
    }

    fn start(&self, job: JobId) -> Result<(), ControlError> {
        let pending = self.pending().remove(&job).ok_or_else(|| not_found(job))?;
        let start = self.job_start(job, &pending.request.spec, &pending.seeds)?;
        self.engine.add_job(start, pending.request.fresh).map_err(of_command)?;
        self.lock_added().push(job);
        if pending.request.retry_failed {
            self.requeue_failed(job)?;
        }
        Ok(())
    }

    fn stop(&self, job: JobId) -> Result<(), ControlError> {
        self.engine.stop_job(job).map_err(of_command)
    }

    fn retry(&self, job: JobId, wanted: RetryRequest) -> Result<Retried, ControlError> {
        if wanted.blocked {
            self.engine.forget_robots_failures();
        }
        let mut named = Vec::new();
        if !wanted.urls.is_empty() {
            let reader = self.reader()?;
            for url in &wanted.urls {
                named.extend(reader.page(Some(job), url).map_err(|error| internal(&error))?);
            }
        }
        let mut queued = 0;
        if !named.is_empty() {
            queued += self.engine.requeue(job, named).ok_or_else(ending)?;
        }
        if wanted.failed {
            queued += self.requeue_failed(job)?;
        }
        Ok(Retried { queued })
    }

    fn why(&self, job: JobId, url: &str) -> Result<Why, ControlError> {
        let url = Url::from_stored(url).map_err(|error| invalid(format!("{url}: {error}")))?;
        self.engine.why(job, &url).ok_or_else(ending)
    }
}

fn ending() -> ControlError {
    ControlError::new(ControlErrorKind::Unavailable, "the crawl is ending")
}

fn of_command(error: CommandError) -> ControlError {
    let kind = match &error {
        CommandError::Ending => ControlErrorKind::Unavailable,
        CommandError::UnknownJob(_) => ControlErrorKind::NotFound,
        CommandError::Engine(EngineError::Settings(_)) => ControlErrorKind::Invalid,
        CommandError::Engine(_) => ControlErrorKind::Internal,
    };
    ControlError::new(kind, error.to_string())
}
