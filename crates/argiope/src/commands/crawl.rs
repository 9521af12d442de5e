//! `crawl`: create a job or go on with it, run it to its end, show how it goes.

use crate::brake::Brake;
use crate::cli::CrawlArgs;
use crate::commands::empty::EmptyCrawl;
use crate::commands::progress::{self, Narrator};
use crate::commands::submit;
use crate::control::ControlServer;
use crate::data::{self, CORRUPT, DISK_FULL, DataDirectory, Fixed};
use crate::descriptors::{self, Keeper, Room};
use crate::kept_cookies::KeptCookies;
use crate::progress::Display;
use crate::signals::{Signal, Signals};
use crate::stored_job;
use crate::stores::Stores;
use argiope_config::{
    CrawlOptions, CrawlSettings, Failure, FailureClass, GlobalOptions, Output, ProcessSettings, StoredJob,
    cannot_resume, compare_for_resume, reload_politeness,
};
use argiope_engine::{
    Ended, Engine, EngineConfig, EngineError, JobOutcome, JobStart, OutputFile, Ports, Session, Stop,
};
use argiope_fetch::cookies::Cookie;
use argiope_fetch::{AddressPolicy, Descriptors, FetcherOptions, RequestProfile};
use argiope_frontier::state::ShardState;
use argiope_frontier::stored_job_counts;
use argiope_local::archive::FileArchive;
use argiope_local::catalogue::SqliteReader;
use argiope_model::display::counted;
use argiope_model::{CookieJar, JobId, Url};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobState, JobUpdate, NewJob};
use argiope_store::clock::now;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the catalogue is asked for what progress cannot tell.
const COUNT_EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(global: &GlobalOptions, args: &CrawlArgs, display: &Display) -> Result<(), Failure> {
    let jobs = CrawlSettings::all(global, &CrawlOptions::from(args), &|config, name| {
        stored_job::find(global, config, name)
    })?;
    if let Stores::Cluster(place) = Stores::of(global)? {
        if jobs.len() > 1 && !args.detach {
            return Err(Failure::usage("on a cluster one job is followed at a time")
                .hint("hand all of them in with --detach, and look at them with 'argiope jobs' and 'argiope status'"));
        }
        return jobs
            .into_iter()
            .try_for_each(|settings| submit::run(settings, &place, args.detach, global.quiet, display));
    }
    if args.detach {
        return Err(Failure::usage("--detach is for a cluster, and the configuration names none")
            .hint("on one machine, let the shell run it in the background"));
    }
    crawl(jobs, global.quiet, display).map(|_| ())
}

/// A job of this process.
struct Run {
    settings: CrawlSettings,
    job: Job,
    is_new: bool,
    /// Pages that were stored when it began or went on.
    pages_before: u64,
    /// Those of the job's file, and those that an earlier run has kept.
    cookies: Vec<Cookie>,
    /// What is remembered of failures, and every robots.txt, is asked for again: the user wants a fresh start, or the same
    /// command has failed before.
    forgets: bool,
}

/// Runs the jobs to their ends, side by side. Their numbers are in the order of the settings.
pub(crate) fn crawl(
    mut all: Vec<CrawlSettings>,
    quiet: bool,
    display: &Display,
) -> Result<Vec<JobId>, Failure> {
    for notice in all.iter().flat_map(|settings| &settings.notices) {
        display.message(notice);
    }
    let Some(first) = all.first() else { return Ok(Vec::new()) };
    let (process, addresses) = (first.process.clone(), first.addresses.clone());
    let room = Room::new(process.concurrency, Keeper::Local)?;
    room.warning().iter().for_each(|warning| display.message(warning));
    let directory = DataDirectory::open(&process.data, process.shards)?;
    let mut catalogue = directory.catalogue()?;
    // All that may be refused is looked at before a job is stored.
    let mut seeds = Vec::new();
    for settings in &mut all {
        seeds.push(all_seeds(settings, display)?);
    }
    tell_missing_archive(&directory, catalogue.as_ref(), display)?;
    let archive = archive_of(&directory, &all)?;
    let links = directory.links()?;
    let state = directory.state()?;
    let signals =
        Signals::listen().map_err(|e| Failure::failed(format!("cannot listen for signals: {e}")))?;
    let mut runs = Vec::new();
    for settings in all {
        let begun = begin(&directory, catalogue.as_mut(), state.as_ref(), settings, display);
        match begun {
            Ok(run) => runs.push(run),
            Err(failure) => {
                forget_new(catalogue.as_mut(), &runs)?;
                return Err(failure);
            }
        }
    }
    let start = |(run, seeds): (&Run, Vec<Url>)| JobStart {
        id: run.job.id,
        spec: run.settings.job.clone(),
        seeds,
        graph: None,
        session: Session {
            cookies: run.cookies.clone(),
            keeper: Some(Arc::new(KeptCookies::of(&directory.path, run.job.id))),
            login: run.settings.login.clone(),
        },
    };
    let starts = runs.iter().zip(seeds).map(start).collect();
    let output_of = |run: &Run| {
        let path = output_path(run.settings.output.as_ref()?);
        Some(OutputFile { job: run.job.id, path })
    };
    let output = runs.iter().find_map(output_of);
    let ports = Ports {
        state,
        catalogue,
        archive: archive.map(|archive| archive as Arc<dyn argiope_store::archive::Archive>),
        links: Box::new(links),
    };
    let config = EngineConfig {
        is_new: directory.is_new,
        forget_failures: runs.iter().any(|run| run.forgets),
        retry_failed: runs.iter().any(|run| run.settings.retry_failed),
        ..room.fit(engine_config(&process, &addresses, &directory.fixed))
    };
    let began = Instant::now();
    let engine = match Engine::start(config, ports, starts, output) {
        Ok(engine) => engine,
        Err(error) => {
            if matches!(error, EngineError::Settings(_) | EngineError::Login(_)) {
                forget_new(directory.catalogue()?.as_mut(), &runs)?;
            }
            return Err(failure_of(&error));
        }
    };
    let numbers: Vec<JobId> = runs.iter().map(|run| run.job.id).collect();
    let server = ControlServer::start(&directory.path, engine.handle().clone(), numbers.clone());
    tell_recovery(&engine, display);
    let mut narrator = Narrator::new(title(&runs), page_limit(&runs));
    let mut interrupted = 0;
    engine.when_ended(signals.waker());
    let mut brake = Brake::new(process.disk, &directory.path);
    let mut refusals = if quiet { None } else { Some(Refusals::new(&directory.path)?) };
    while !engine.has_ended() {
        brake.keep(engine.handle(), || 0);
        if let Some(urls) = refusals.as_mut().and_then(|refusals| refusals.look(&numbers)) {
            narrator.set_skipped(urls);
        }
        match signals.wait(LOOK_EVERY) {
            Some(Signal::Stop) => {
                interrupted += 1;
                if interrupted > 1 {
                    display.finish();
                    // Everything stored is safe however the process ends; at once means at once.
                    std::process::exit(130);
                }
                display.message("stopping: requests under way may end; once more stops at once");
                engine.handle().stop(Stop::Clean);
            }
            Some(Signal::Reload) => reload(&engine, &process, display),
            Some(Signal::Wake) | None => {}
        }
        display.update(&narrator.tell(&engine.handle().status(), began.elapsed()));
    }
    display.finish();
    // Before the writer: who closes the catalogue last puts its journal away.
    drop(refusals);
    drop(server);
    let mut ended = engine.join().map_err(|e| failure_of(&e))?;
    conclude(&runs, &mut ended, began.elapsed(), quiet)?;
    Ok(numbers)
}

/// How many URLs were refused, from time to time.
struct Refusals {
    reader: SqliteReader,
    looked: Option<Instant>,
}

impl Refusals {
    fn new(directory: &Path) -> Result<Refusals, Failure> {
        Ok(Refusals { reader: data::reader(directory)?, looked: None })
    }

    fn look(&mut self, jobs: &[JobId]) -> Option<u64> {
        if self.looked.is_some_and(|at| at.elapsed() < COUNT_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        // A catalogue that cannot be read stops the crawl where it is written; the number shown stays.
        let counts = jobs.iter().map(|job| self.reader.counts(*job));
        counts.map(|counts| counts.ok().map(|counts| counts.skipped())).sum()
    }
}

/// One archive for all jobs that keep one.
fn archive_of(directory: &DataDirectory, all: &[CrawlSettings]) -> Result<Option<Arc<FileArchive>>, Failure> {
    let Some(first) = all.iter().find(|settings| settings.job.archive) else { return Ok(None) };
    let profile = RequestProfile::new(&first.profile).map_err(Failure::usage)?;
    let obeys_robots = all.iter().all(|settings| settings.job.respect_robots);
    let rotate_bytes = first.process.archive_file_size;
    directory.archive(profile.user_agent(), obeys_robots, rotate_bytes).map(|archive| Some(Arc::new(archive)))
}

fn begin(
    directory: &DataDirectory,
    catalogue: &mut dyn Catalogue,
    state: &dyn ShardState,
    settings: CrawlSettings,
    display: &Display,
) -> Result<Run, Failure> {
    let before = catalogue.reader().and_then(|reader| reader.find_job(&settings.identity.key));
    let before = before.map_err(|e| data::store_failure(&e))?;
    let forgets = settings.fresh || before.is_some_and(|job| job.state == JobState::Failed);
    let (mut job, is_new) = find_or_create(catalogue, &settings, display)?;
    // A catalogue from before a job gives that one's number to another.
    let is_there = |job| stored_job_counts(state, job).map(|counts| counts.is_some());
    while is_new && is_there(job.id).map_err(|e| data::state_failure(&directory.path, &e))? {
        display.message(&format!(
            "the catalogue is older than the rest and does not know job {}, which stays in the archive only",
            job.id
        ));
        catalogue.delete_job(job.id).map_err(|e| data::store_failure(&e))?;
        (job, _) = find_or_create(catalogue, &settings, display)?;
    }
    let counts = catalogue.reader().and_then(|reader| reader.counts(job.id));
    let pages_before = counts.map_err(|e| data::store_failure(&e))?.pages;
    let mut cookies = settings.cookies.clone();
    if settings.job.cookie_jar() == CookieJar::On && !is_new {
        cookies.extend(KeptCookies::of(&directory.path, job.id).read(&directory.fixed.suffixes)?);
    }
    Ok(Run { settings, job, is_new, pages_before, cookies, forgets })
}

/// Jobs that were stored for a crawl that does not begin.
fn forget_new(catalogue: &mut dyn Catalogue, runs: &[Run]) -> Result<(), Failure> {
    runs.iter()
        .filter(|run| run.is_new)
        .try_for_each(|run| catalogue.delete_job(run.job.id))
        .map_err(|e| data::store_failure(&e))
}

fn title(runs: &[Run]) -> String {
    let titles: Vec<String> = runs.iter().map(|run| progress::title(&run.job, &run.settings.job)).collect();
    match titles.as_slice() {
        [one] => one.clone(),
        several => format!("{} jobs: {}", several.len(), several.join(", ")),
    }
}

fn page_limit(runs: &[Run]) -> Option<u64> {
    runs.iter().map(|run| run.settings.job.max_pages).sum()
}

/// Each job's summary; an interruption, or else the first failure, is the command's end.
fn conclude(runs: &[Run], ended: &mut Ended, elapsed: Duration, quiet: bool) -> Result<(), Failure> {
    let store = |e| data::store_failure(&e);
    let reader = ended.catalogue.reader().map_err(store)?;
    let mut is_interrupted = false;
    let mut failure = None;
    let mut updates = Vec::new();
    for run in runs {
        let of_run = |(job, outcome): &(JobId, JobOutcome)| (*job == run.job.id).then_some(*outcome);
        let outcome = ended.jobs.iter().find_map(of_run).unwrap_or(JobOutcome::Done);
        let data = run.settings.data_is_kept.then_some(run.settings.process.data.as_path());
        let waits = matches!(outcome, JobOutcome::Blocked { .. });
        let empty = match outcome {
            JobOutcome::Interrupted => None,
            _ => EmptyCrawl::of(reader.as_ref(), &run.job, data, waits)?,
        };
        if !quiet {
            let facts = progress::EndFacts {
                settings: &run.settings,
                job: &run.job,
                ended,
                outcome,
                empty: empty.as_ref(),
                elapsed,
                output: run.settings.output.as_ref().map(output_path),
                pages_before: (runs.len() > 1).then_some(run.pages_before),
            };
            progress::print_summary(reader.as_ref(), &facts)?;
        }
        is_interrupted |= outcome == JobOutcome::Interrupted;
        // What the summary says, for those who ask later.
        let message = match &empty {
            Some(empty) => Some(format!("no page was stored; {}", empty.reason)),
            None if waits => progress::what_waits(ended, run.job.id),
            None => None,
        };
        // One that waits is not over.
        let state = Some(if waits { JobState::Paused } else { JobState::Failed });
        let update = |message| JobUpdate { job: run.job.id, state, message, spec: None, at: now() };
        updates.extend(message.map(|message| update(Some(message))));
        failure = failure.or(empty.map(|empty| empty.failure()));
    }
    let batch = Batch { at: now(), jobs: updates, ..Batch::default() };
    if !batch.is_empty() {
        ended.catalogue.commit(&batch).map_err(store)?;
    }
    match failure {
        _ if is_interrupted => Err(Failure::silent_interrupt()),
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

pub(crate) fn engine_config(
    process: &ProcessSettings,
    addresses: &AddressPolicy,
    fixed: &Fixed,
) -> EngineConfig {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    EngineConfig {
        name: String::new(),
        is_new: false,
        forget_failures: false,
        retry_failed: false,
        shards: fixed.shards,
        workers: cores,
        concurrency: process.concurrency.max(1) as usize,
        politeness: Arc::new(process.politeness.clone()),
        fetcher: FetcherOptions {
            addresses: addresses.clone(),
            proxies: Arc::clone(&process.proxies),
            descriptors: Descriptors::with_most_idle(descriptors::MOST_IDLE),
            ..FetcherOptions::default()
        },
        resolver: process.resolver.clone(),
        tls: process.tls.clone(),
        suffixes: Arc::clone(&fixed.suffixes),
        fingerprint_key: fixed.fingerprint_key.clone(),
        batch_age: EngineConfig::BATCH_AGE,
        batch_size: EngineConfig::BATCH_SIZE,
        window: EngineConfig::WINDOW,
        max_outstanding: EngineConfig::MAX_OUTSTANDING.max(process.concurrency as usize * 4),
        grace: EngineConfig::GRACE,
    }
}

/// Unfinished jobs go on; finished ones begin anew. Says whether the job is a new one.
pub(crate) fn find_or_create(
    catalogue: &mut dyn Catalogue,
    settings: &CrawlSettings,
    display: &Display,
) -> Result<(Job, bool), Failure> {
    let store = |e| data::store_failure(&e);
    let reader = catalogue.reader().map_err(store)?;
    let known = reader.find_job(&settings.identity.key).map_err(store)?;
    if let Some((job, old)) = resumed(known, settings)? {
        let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
        compare_for_resume(&old.spec, &settings.job)
            .map_err(|differences| cannot_resume(&name, old.is_finished, &differences))?;
        if job.seeds_hash != seeds_hash(settings) {
            return Err(Failure::usage(format!("job {name} was begun with another list of URLs"))
                .hint("give the same list to go on, or start anew with --fresh"));
        }
        if job.started_at.is_some() {
            display.message(&format!("going on with job {name}"));
        }
        return Ok((job, false));
    }
    let spec = serde_json::to_string(&settings.job).map_err(|e| Failure::failed(e.to_string()))?;
    let new = NewJob {
        name: settings.identity.named.then(|| settings.identity.key.clone()),
        seeds_hash: seeds_hash(settings),
        spec,
        created_at: now(),
        user: None,
    };
    catalogue.create_job(&new).map(|job| (job, true)).map_err(store)
}

/// The job, if the command resumes it instead of starting a new one. `--retry-failed` resumes a finished job, too.
fn resumed(known: Option<Job>, settings: &CrawlSettings) -> Result<Option<(Job, StoredJob)>, Failure> {
    let Some(job) = known.filter(|_| !settings.fresh) else { return Ok(None) };
    let stored = stored_job::stored_job(&job).map_err(|failure| failure.hint("start over with --fresh"))?;
    let resumes = settings.retry_failed || stored.continues_with(&settings.job);
    Ok(resumes.then_some((job, stored)))
}

fn seeds_hash(settings: &CrawlSettings) -> String {
    match (&settings.identity.list_digest, settings.identity.named) {
        (Some(digest), true) => digest.clone(),
        _ => settings.identity.key.clone(),
    }
}

pub(crate) fn all_seeds(settings: &mut CrawlSettings, display: &Display) -> Result<Vec<Url>, Failure> {
    let mut seeds = settings.seeds.clone();
    if let Some(list) = &mut settings.list {
        for url in list.urls(&settings.seed_rules)? {
            seeds.push(url?);
        }
    }
    if seeds.is_empty() {
        display.message("the list names no URL that can be crawled");
    }
    Ok(seeds)
}

pub(crate) fn output_path(output: &Output) -> PathBuf {
    match output {
        Output::Stdout => PathBuf::from("-"),
        Output::Jsonl(path) | Output::Csv(path) => path.clone(),
    }
}

fn reload(engine: &Engine, process: &ProcessSettings, display: &Display) {
    let Some(path) = &process.config_path else {
        display.message("SIGHUP: no configuration file was given, nothing to reload");
        return;
    };
    reload_from(path, engine, display);
}

pub(crate) fn reload_from(path: &Path, engine: &Engine, display: &Display) {
    let message = match reload_politeness(path) {
        Ok(rules) => {
            engine.handle().set_politeness(Arc::new(rules));
            format!("the politeness of {} is reloaded; other keys hold from the next start", path.display())
        }
        Err(failure) => {
            let mut text = Vec::new();
            let _ = crate::exit::print(&failure, &mut text);
            format!("not reloaded, the old settings hold: {}", String::from_utf8_lossy(&text).trim_end())
        }
    };
    display.message(&message);
}

/// What the pages were read from may have been cleared away; they are still listed, and the crawl can go on.
fn tell_missing_archive(
    directory: &DataDirectory,
    catalogue: &dyn Catalogue,
    display: &Display,
) -> Result<(), Failure> {
    let reader = catalogue.reader().map_err(|e| data::store_failure(&e))?;
    let missing = data::missing_archive_files(&directory.path, reader.as_ref())?;
    if let Some(first) = missing.first() {
        let (files, are) = match missing.len() {
            1 => (String::from("1 file"), "is"),
            many => (format!("{many} files"), "are"),
        };
        display.message(&format!(
            "warning: {files} of the archive {are} missing (archive/{first}): the pages stay listed, their content is \
             gone; restore archive/ from a backup to have it again"
        ));
    }
    Ok(())
}

fn tell_recovery(engine: &Engine, display: &Display) {
    let found = engine.recovery();
    if found.retried > 0 {
        display
            .message(&format!("{} queued again", counted(found.retried, "failed URL is", "failed URLs are")));
    }
    if found.restored > 0 {
        display.message(&format!(
            "the catalogue was older than the rest: {} put back from the archive",
            counted(found.restored, "visit was", "visits were")
        ));
    }
    if found.unclean || found.visits > 0 {
        display.message(&format!(
            "the last run was killed: recovered {} from the archive; requests in flight at the crash are repeated \
             (number unknown)",
            counted(found.visits, "page", "pages"),
        ));
    }
}

pub(crate) fn failure_of(error: &EngineError) -> Failure {
    match error {
        EngineError::Store(text) if descriptors::ran_out(text) => {
            Failure::failed(error).hint(descriptors::TOO_MANY_FILES)
        }
        EngineError::DiskFull(_) => Failure::failed(error).hint(DISK_FULL),
        EngineError::Corrupt(_) => Failure::failed(error).hint(CORRUPT),
        EngineError::Settings(_) => Failure::usage(error),
        EngineError::Login(_) => {
            Failure::failed(error).hint("nothing was crawled; check 'login' in the job file")
        }
        EngineError::OutputClosed(_) => Failure::new(
            FailureClass::Interrupted,
            "whoever read the pages went away: the crawl stopped before its end",
        )
        .hint("the same command goes on where it stopped; -o FILE keeps all pages in a file"),
        EngineError::Store(_) | EngineError::Fenced(_) | EngineError::Panicked(_) => Failure::failed(error),
    }
}
