//! `crawl` on a cluster: hands the job to the workers, shows how it goes, and ends with it.

use crate::commands::progress;
use crate::commands::retry;
use crate::commands::selection::print;
use crate::commands::watch::short_summary;
use crate::outage::{Doing, Outages, Stopping};
use crate::progress::{Display, Phase, Snapshot};
use crate::signals::{Signal, Signals};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{
    MessageSender, cluster_status, queued_urls, send, set_budget, set_job_seeds, set_job_state,
};
use argiope_config::{CrawlSettings, Failure, read_cookies_file};
use argiope_engine::RateMeter;
use argiope_model::display::{count, counted};
use argiope_model::{CookieJar, JobId, JobSpec, Scope, Url};
use argiope_service::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use argiope_service::directory;
use argiope_service::empty_crawl::EmptyCrawl;
use argiope_service::job_request::{FoundJob, JobRequest, find_or_create};
use argiope_service::seeds::all_seeds;
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobState};
use argiope_store::clock::now;
use argiope_store::export::Output;
use argiope_store::follower::{CatalogueSource, PagesFollower};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Within which a server that is there answers the smallest request.
const PULSE_LIMIT: Duration = Duration::from_secs(5);
/// Seeds that are sent in one transaction.
const CHUNK: usize = 100_000;
/// How often it is said that no worker is there.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Scopes of single hosts are made from the hosts of the seeds: that many every worker can hold.
const MOST_SCOPE_HOSTS: usize = 200_000;

pub(crate) fn run(
    mut settings: CrawlSettings,
    place: &ClusterPlace,
    detach: bool,
    quiet: bool,
    display: &Display,
) -> Result<(), Failure> {
    prepare(&mut settings)?;
    for notice in &settings.notices {
        display.message(notice);
    }
    let store = |e| directory::store_failure(&e);
    let mut session = place.session()?;
    let mut sender = place.sender(CLIENT)?;
    let mut catalogue = PostgresCatalogue::open(&place.database, CLIENT).map_err(store)?;
    let seeds = all_seeds(&mut settings, &|text| display.message(text))?;
    let signals = Signals::listen()?;
    let stopping = Stopping::watch(&signals, &place.database, display);
    let outages = Outages::of(place, display, Some((&signals, &stopping)), Doing::Submitting);
    let request = JobRequest::of(&settings);
    let FoundJob { job, is_new } = outages.outlast(|| find_or_create(&mut catalogue, &request))?;
    if !is_new && job.started_at.is_some() {
        display.message(&format!("resuming job {}", job.name.clone().unwrap_or_else(|| job.id.to_string())));
    }
    let old: Option<JobSpec> = serde_json::from_str(&job.spec).ok().filter(|_| !is_new);
    if settings.retry_failed && !is_new {
        let reader = catalogue.reader().map_err(store)?;
        let queued = retry::in_cluster(place, reader.as_ref(), &job, true, &[])?;
        if queued > 0 {
            display.message(&format!("{} queued again", counted(queued, "failed URL is", "failed URLs are")));
        }
    }
    outages.outlast(|| hand_in((&mut session, &mut sender), place, &settings, &job, old.as_ref(), &seeds))?;
    if detach {
        return print(&format!("{}\n", job.id));
    }
    stopping.follows();
    let outages = Outages::of(place, display, Some((&signals, &stopping)), Doing::Following);
    let pages_before = || catalogue.reader().and_then(|reader| reader.counts(job.id)).map_err(store);
    let followed = Following {
        settings: &settings,
        place,
        job: job.id,
        title: progress::title(&job, &settings.job),
        pages_before: outages.outlast(pages_before)?.pages,
        began: Instant::now(),
        meter: RateMeter::default(),
        said_at: None,
    }
    .follow(&mut session, &mut catalogue, &signals, display, outages)?;
    match followed {
        Followed::Interrupted => Err(Failure::silent_interrupt()),
        Followed::Ended(ended) => {
            // A job that is paused and was not interrupted has only URLs left that cannot be asked for now.
            let waits = ended.state == JobState::Paused;
            let (summary, empty) = outages.outlast(|| {
                let reader = catalogue.reader().map_err(store)?;
                let empty = EmptyCrawl::of(reader.as_ref(), &ended, None, waits)?;
                Ok((
                    short_summary(reader.as_ref(), &ended, empty.is_some(), ", each with this --config")?,
                    empty,
                ))
            })?;
            if !quiet {
                print(&summary)?;
            }
            empty.map_or(Ok(()), |empty| Err(empty.failure()))
        }
    }
}

/// What workers cannot do, or cannot read, is refused or handed to them.
fn prepare(settings: &mut CrawlSettings) -> Result<(), Failure> {
    if settings.login.is_some() {
        return Err(Failure::usage(
            "a job of a cluster cannot log in: its workers have no session in common",
        )
        .hint("log in with a browser or curl, and give the cookies with --cookies FILE"));
    }
    if settings.job.cookie_jar() == CookieJar::On {
        return Err(Failure::usage("a cluster keeps no cookies with a job")
            .hint("'session' keeps them in the memory of each worker while the job runs"));
    }
    if settings.has_ca_file {
        return Err(Failure::usage("--ca-file is for the machine that asks, and here the workers do")
            .hint("name the file in crawl.extra_authorities of the workers' configuration"));
    }
    if let Some(path) = settings.job.cookies_file.take() {
        settings.job.cookies_text = Some(read_cookies_file(Path::new(&path))?);
    }
    Ok(())
}

/// The job's settings, budget and seeds, in this order; then it runs. Each step may be repeated.
fn hand_in(
    (session, sender): (&mut Session, &mut MessageSender),
    place: &ClusterPlace,
    settings: &CrawlSettings,
    job: &Job,
    old: Option<&JobSpec>,
    seeds: &[Url],
) -> Result<(), Failure> {
    let failed = |e| database_failure(&e);
    if settings.job.scope == Scope::Host && settings.list.is_some() {
        let mut hosts = BTreeSet::new();
        let one_a_host: Vec<&Url> = seeds.iter().filter(|url| hosts.insert(url.host())).collect();
        if one_a_host.len() > MOST_SCOPE_HOSTS {
            return Err(Failure::usage(format!(
                "the list names {} hosts, too many for a scope of single hosts",
                count(one_a_host.len() as u64)
            ))
            .hint("say --scope any --depth 0 to fetch the list alone, or --scope any to follow all links"));
        }
        set_job_seeds(session, job.id, &one_a_host).map_err(failed)?;
    }
    if let Some(max) = settings.job.max_pages {
        set_budget(session, job.id, old.and_then(|old| old.max_pages), max).map_err(failed)?;
    }
    let addressing = place.addressing();
    for chunk in seeds.chunks(CHUNK) {
        let prepared =
            sender.prepare(addressing.seeds(job.id, chunk, now())).map_err(|e| kafka_failure(&e))?;
        send(session, &prepared).map_err(failed)?;
    }
    let prepared = sender.prepare(addressing.begin(job.id, settings.fresh)).map_err(|e| kafka_failure(&e))?;
    send(session, &prepared).map_err(failed)?;
    let spec = serde_json::to_string(&settings.job).map_err(|e| Failure::failed(e.to_string()))?;
    set_job_state(session, job.id, JobState::Running.as_str(), Some(&spec), None).map_err(failed)
}

/// The file of `-o`. It looks for pages whenever the job is looked at.
type OutputFollower = PagesFollower<CatalogueSource, Output>;

enum Followed {
    Ended(Job),
    Interrupted,
}

struct Following<'c> {
    settings: &'c CrawlSettings,
    place: &'c ClusterPlace,
    job: JobId,
    title: String,
    pages_before: u64,
    began: Instant,
    meter: RateMeter,
    said_at: Option<Instant>,
}

impl Following<'_> {
    fn follow(
        mut self,
        session: &mut Session,
        catalogue: &mut PostgresCatalogue,
        signals: &Signals,
        display: &Display,
        outages: Outages<'_>,
    ) -> Result<Followed, Failure> {
        let store = |e| directory::store_failure(&e);
        let reader = outages.outlast(|| catalogue.reader().map_err(store))?;
        let mut pulse =
            outages.outlast(|| self.place.database.connect(PULSE_LIMIT).map_err(|e| database_failure(&e)))?;
        let mut output = match &self.settings.output {
            Some(output) => {
                let (path, noindex) = (output.path(), self.settings.job.index_noindex);
                let mut open = || {
                    let output = Output::open(catalogue, self.job, &path, noindex, now())?;
                    let source = CatalogueSource::new(catalogue.reader()?, Some(self.job));
                    Ok(PagesFollower::new(source, output))
                };
                Some(outages.outlast(|| open().map_err(store))?)
            }
            None => None,
        };
        loop {
            match signals.wait(LOOK_EVERY) {
                Some(Signal::Stop) => {
                    // First whether it answers: one that hangs would carry out later what it is told now.
                    let told = pulse.ping().map_err(|e| database_failure(&e));
                    match told.and_then(|()| pause(session, self.job)) {
                        // It is away, and nobody has noticed before.
                        Err(failure) if failure.may_pass => return Err(outages.interrupted()),
                        paused => paused?,
                    }
                    finish(catalogue, output, outages)?;
                    display.finish();
                    display.message("the job is paused; the same command goes on with it");
                    return Ok(Followed::Interrupted);
                }
                Some(Signal::Reload) => display.message("SIGHUP: the workers have the politeness, tell them"),
                Some(Signal::Wake) | None => {}
            }
            let ended = outages.outlast(|| {
                // Other requests may take long: a server that does not answer is found out by this one.
                pulse.ping().map_err(|e| database_failure(&e))?;
                self.look(session, reader.as_ref(), output.as_mut(), display)
            })?;
            if let Some(job) = ended {
                finish(catalogue, output, outages)?;
                display.finish();
                return Ok(Followed::Ended(job));
            }
        }
    }

    /// The job, if it is over or paused and all of it is written.
    fn look(
        &mut self,
        session: &mut Session,
        reader: &dyn CatalogueReader,
        output: Option<&mut OutputFollower>,
        display: &Display,
    ) -> Result<Option<Job>, Failure> {
        let store = |e| directory::store_failure(&e);
        let job = reader
            .job(self.job)
            .map_err(store)?
            .ok_or_else(|| Failure::failed(format!("job {} was deleted meanwhile", self.job)))?;
        // After the job was looked at: what it had when it ended is among the pages.
        if let Some(output) = output {
            output.catch_up().map_err(store)?;
        }
        if job.state.is_finished() || job.state == JobState::Paused {
            return Ok(Some(job));
        }
        self.show(session, reader, display)?;
        Ok(None)
    }

    fn show(
        &mut self,
        session: &mut Session,
        reader: &dyn CatalogueReader,
        display: &Display,
    ) -> Result<(), Failure> {
        let failed = |e| database_failure(&e);
        let counts = reader.counts(self.job).map_err(|e| directory::store_failure(&e))?;
        let queued = queued_urls(session).map_err(failed)?.get(&self.job).copied().unwrap_or(0);
        let status = cluster_status(session).map_err(failed)?;
        let working = status.workers.iter().filter(|worker| worker.state == "working").count();
        if working == 0 && self.said_at.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            self.said_at = Some(Instant::now());
            display.message(&format!(
                "no worker is up on {}; the job waits for one ('argiope worker' starts it)",
                self.place.database.place()
            ));
        }
        let elapsed = self.began.elapsed();
        display.update(&Snapshot {
            title: format!("{} on {}", self.title, counted(working as u64, "worker", "workers")),
            phase: Phase::Running,
            elapsed,
            pages: counts.pages,
            max_pages: self.settings.job.max_pages,
            rate_now: self.meter.sample(elapsed, counts.pages),
            rate_overall: counts.pages.saturating_sub(self.pages_before) as f64
                / elapsed.as_secs_f64().max(0.001),
            queued,
            retries: 0,
            next_retry: None,
            in_flight: status.workers.iter().map(|worker| worker.active).sum(),
            failed: counts.failed,
            skipped: counts.skipped(),
            bytes: counts.bytes,
            hosts_active: None,
            waiting: Vec::new(),
            looked_up: 0,
            slow_answer: None,
            slowest: Vec::new(),
        });
        Ok(())
    }
}

fn pause(session: &mut Session, job: JobId) -> Result<(), Failure> {
    set_job_state(session, job, JobState::Paused.as_str(), None, Some("interrupted"))
        .map_err(|e| database_failure(&e))
}

fn finish(
    catalogue: &mut PostgresCatalogue,
    output: Option<OutputFollower>,
    outages: Outages<'_>,
) -> Result<(), Failure> {
    let Some(mut output) = output else { return Ok(()) };
    let store = |e| directory::store_failure(&e);
    outages.outlast(|| output.finish_all().map_err(store))?;
    let position = output.sink().progress().position();
    let batch = Batch { at: now(), outputs: vec![position], ..Batch::default() };
    outages.outlast(|| catalogue.commit(&batch).map(|_| ()).map_err(store))
}
