//! A crawl in a data directory that this process owns: opens the stores, starts the engine, and determines the results
//! when it has ended. It starts with its own jobs; others can be added while it runs ([`crate::control`]).

mod conclusion;
mod opening;

pub use conclusion::{Conclusion, FinishedRun};

use crate::control::{ProcessTerms, RunningCrawl};
use crate::descriptors::{Keeper, Room};
use crate::directory::{self, DataDirectory};
use crate::disk_guard::DiskGuard;
use crate::engine_settings::{engine_config, failure_of};
use crate::health::{Dependency, Lifecycle, Vitals};
use crate::kept_cookies::KeptCookies;
use crate::seeds::all_seeds;
use argiope_config::{CrawlSettings, Failure, ProcessSettings, reload_politeness};
use argiope_engine::{
    Engine, EngineConfig, EngineError, JobStart, OutputFile, Phase, Ports, RecoverySummary, Session,
};
use argiope_fetch::cookies::Cookie;
use argiope_local::catalogue::SqliteReader;
use argiope_model::{JobId, Url};
use argiope_store::archive::Archive;
use argiope_store::catalogue::{CatalogueReader, Job};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the catalogue is queried for counts that the status lacks.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// A job that this process was started for.
pub struct Run {
    pub settings: CrawlSettings,
    pub job: Job,
    is_new: bool,
    /// Pages that were stored when it started or resumed.
    pub pages_before: u64,
    /// From the job's file, and from an earlier run.
    cookies: Vec<Cookie>,
    /// Failures of hosts and every robots.txt are forgotten: the user wants a fresh start, or the same command has failed
    /// before.
    forgets: bool,
}

/// A running crawl of this process.
pub struct LocalCrawl {
    pub engine: Engine,
    pub runs: Vec<Run>,
    directory: DataDirectory,
    process: ProcessSettings,
    control: Arc<RunningCrawl>,
    guard: DiskGuard,
    counts: SkipCounts,
    started: Instant,
}

impl LocalCrawl {
    /// Starts all jobs side by side. `notice` receives messages for the user.
    pub fn start(mut all: Vec<CrawlSettings>, notice: &dyn Fn(&str)) -> Result<LocalCrawl, Failure> {
        let Some(first) = all.first() else { return Err(Failure::usage("no job was given")) };
        let (process, addresses) = (first.process.clone(), first.addresses.clone());
        let terms = ProcessTerms {
            archives: all.iter().any(|settings| settings.job.archive),
            allow_private: first.job.allow_private,
        };
        let room = Room::new(process.concurrency, Keeper::Local)?;
        room.warning().iter().for_each(|warning| notice(warning));
        let directory = DataDirectory::open(&process.data, process.shards)?;
        let mut catalogue = directory.catalogue()?;
        // Everything that may be refused is checked before a job is stored.
        let mut seeds = Vec::new();
        for settings in &mut all {
            seeds.push(all_seeds(settings, notice)?);
        }
        opening::report_missing_archive(&directory, catalogue.as_ref(), notice)?;
        let archive = opening::archive(&directory, &all)?;
        let links = directory.links()?;
        let state = directory.state()?;
        let mut runs = Vec::new();
        for settings in all {
            match opening::open_job(&directory, catalogue.as_mut(), state.as_ref(), settings, notice) {
                Ok(run) => runs.push(run),
                Err(failure) => {
                    opening::forget_new(catalogue.as_mut(), &runs)?;
                    return Err(failure);
                }
            }
        }
        let starts =
            runs.iter().zip(seeds).map(|(run, seeds)| run.job_start(&directory.path, seeds)).collect();
        let output = runs.iter().find_map(Run::output);
        let ports = Ports {
            state,
            catalogue,
            archive: archive.map(|archive| archive as Arc<dyn Archive>),
            links: Box::new(links),
        };
        let config = EngineConfig {
            is_new: directory.is_new,
            forget_failures: runs.iter().any(|run| run.forgets),
            retry_failed: runs.iter().any(|run| run.settings.retry_failed),
            ..room.fit(engine_config(&process, &addresses, &directory.fixed))
        };
        let started = Instant::now();
        let engine = match Engine::start(config, ports, starts, output) {
            Ok(engine) => engine,
            Err(error) => {
                if matches!(error, EngineError::Settings(_) | EngineError::Login(_)) {
                    opening::forget_new(directory.catalogue()?.as_mut(), &runs)?;
                }
                return Err(failure_of(&error));
            }
        };
        let control = Arc::new(RunningCrawl::new(
            engine.handle().clone(),
            directory.path.clone(),
            Arc::clone(&directory.fixed.suffixes),
            terms,
        ));
        let guard = DiskGuard::new(process.disk, &directory.path);
        let counts = SkipCounts { reader: directory::reader(&directory.path)?, looked: None };
        Ok(LocalCrawl { engine, runs, directory, process, control, guard, counts, started })
    }

    pub fn path(&self) -> &Path {
        &self.directory.path
    }

    /// For controlling it.
    pub fn control(&self) -> Arc<RunningCrawl> {
        Arc::clone(&self.control)
    }

    pub fn recovery(&self) -> &RecoverySummary {
        self.engine.recovery()
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Call it several times a second while it runs: watches the disk, and determines the results of added jobs that
    /// have ended.
    pub fn tend(&mut self) {
        self.guard.keep(self.engine.handle(), || 0);
        self.control.conclude_ended();
    }

    /// URLs of its jobs that were skipped, if it is time to look again. A catalogue that cannot be read stops the crawl
    /// when it is written.
    pub fn skipped(&mut self) -> Option<u64> {
        let jobs: Vec<JobId> = self.runs.iter().map(|run| run.job.id).collect();
        self.counts.look(&jobs)
    }

    /// Reloads the politeness settings of the configuration file. Returns a message for the user.
    pub fn reload(&self) -> String {
        match &self.process.config_path {
            Some(path) => reload(&self.engine, path),
            None => String::from("SIGHUP: no configuration file was given, nothing to reload"),
        }
    }

    /// The state of this process, for probes and metrics.
    pub fn vitals(&self) -> impl Fn() -> Vitals + Send + Sync + 'static {
        let engine = self.engine.handle().clone();
        move || {
            let status = engine.status();
            let (lifecycle, held) = match &status.phase {
                Phase::Stopping => (Lifecycle::Draining, None),
                Phase::Held { reason } => (Lifecycle::Running, Some(reason.clone())),
                Phase::Running | Phase::NetworkDown { .. } => (Lifecycle::Running, None),
            };
            let disk = Dependency { name: "disk", up: held.is_none(), detail: held };
            Vitals { lifecycle, dependencies: vec![disk], status, worker: None }
        }
    }

    /// Waits for the end, then stores and returns the result of each job.
    pub fn conclude(self) -> Result<Conclusion, Failure> {
        let LocalCrawl { engine, runs, counts, started, control, .. } = self;
        let elapsed = started.elapsed();
        // Readers first: the last one to close the catalogue cleans up its journal.
        drop((counts, control));
        let ended = engine.join().map_err(|e| failure_of(&e))?;
        Conclusion::draw(runs, ended, elapsed)
    }
}

/// Reloads the politeness settings of a file into a running crawl.
pub fn reload(engine: &Engine, path: &Path) -> String {
    match reload_politeness(path) {
        Ok(rules) => {
            engine.handle().set_politeness(Arc::new(rules));
            format!("politeness reloaded from {}; other keys apply from the next start", path.display())
        }
        Err(failure) => {
            let mut text = failure.messages.join("; ");
            if let Some(hint) = failure.hint {
                text = format!("{text}\nhint: {hint}");
            }
            format!("not reloaded, the previous settings apply: {text}")
        }
    }
}

impl Run {
    fn job_start(&self, directory: &Path, seeds: Vec<Url>) -> JobStart {
        JobStart {
            id: self.job.id,
            spec: self.settings.job.clone(),
            seeds,
            graph: None,
            session: Session {
                cookies: self.cookies.clone(),
                keeper: Some(Arc::new(KeptCookies::of(directory, self.job.id))),
                login: self.settings.login.clone(),
            },
        }
    }

    fn output(&self) -> Option<OutputFile> {
        let path = self.settings.output.as_ref()?.path();
        Some(OutputFile { job: self.job.id, path })
    }
}

/// How many URLs were skipped, queried now and then.
struct SkipCounts {
    reader: SqliteReader,
    looked: Option<Instant>,
}

impl SkipCounts {
    fn look(&mut self, jobs: &[JobId]) -> Option<u64> {
        if self.looked.is_some_and(|at| at.elapsed() < COUNT_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let counts = jobs.iter().map(|job| self.reader.counts(*job));
        counts.map(|counts| counts.ok().map(|counts| counts.skipped())).sum()
    }
}
