//! `crawl` on a cluster: hands the job to the workers, shows how it goes, and ends with it.

use crate::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use crate::commands::crawl::{all_seeds, find_or_create, now, output_path, without_any_answer};
use crate::commands::progress;
use crate::commands::selection::print;
use crate::data;
use crate::exit::Failure;
use crate::progress::numbers::{bytes, count, counted};
use crate::progress::{Display, Phase, RateMeter, Snapshot};
use crate::settings::CrawlSettings;
use crate::signals::{Signal, Signals};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{
    Post, cluster_status, queued_urls, send, set_budget, set_job_seeds, set_job_state,
};
use argiope_model::{JobId, JobSpec, Scope, Url};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobState};
use argiope_store::export::Output;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(500);
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
    for notice in &settings.notices {
        display.message(notice);
    }
    let store = |e| data::store_failure(&e);
    let mut session = place.session()?;
    let mut post = place.post(CLIENT)?;
    let mut catalogue = PostgresCatalogue::open(&place.database, CLIENT).map_err(store)?;
    let seeds = all_seeds(&mut settings, display)?;
    let signals =
        Signals::listen().map_err(|e| Failure::failed(format!("cannot listen for signals: {e}")))?;
    let (job, is_new) = find_or_create(&mut catalogue, &settings, display)?;
    let old: Option<JobSpec> = serde_json::from_str(&job.spec).ok().filter(|_| !is_new);
    hand_in((&mut session, &mut post), place, &settings, &job, old.as_ref(), &seeds)?;
    if detach {
        return print(&format!("{}\n", job.id));
    }
    let followed = Following {
        settings: &settings,
        place,
        job: job.id,
        title: progress::title(&job, &settings.job),
        pages_before: catalogue.reader().and_then(|reader| reader.counts(job.id)).map_err(store)?.pages,
        began: Instant::now(),
        meter: RateMeter::default(),
        said_at: None,
    }
    .follow(&mut session, &mut catalogue, &signals, display)?;
    let reader = catalogue.reader().map_err(store)?;
    match followed {
        Followed::Interrupted => Err(Failure::silent_interrupt()),
        Followed::Ended(ended) => {
            if !quiet {
                print(&summary(reader.as_ref(), &ended)?)?;
            }
            match without_any_answer(reader.as_ref(), &ended, None)? {
                Some(failure) => Err(failure),
                None => Ok(()),
            }
        }
    }
}

/// The job's settings, budget and seeds, in this order; then it runs. Each step may be repeated.
fn hand_in(
    (session, post): (&mut Session, &mut Post),
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
        let posted = post.prepare(addressing.seeds(job.id, chunk, now())).map_err(|e| kafka_failure(&e))?;
        send(session, &posted).map_err(failed)?;
    }
    let spec = serde_json::to_string(&settings.job).map_err(|e| Failure::failed(e.to_string()))?;
    set_job_state(session, job.id, JobState::Running.as_str(), Some(&spec), None).map_err(failed)
}

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
    ) -> Result<Followed, Failure> {
        let store = |e| data::store_failure(&e);
        let reader = catalogue.reader().map_err(store)?;
        let mut output = match &self.settings.output {
            Some(output) => {
                let noindex = self.settings.job.index_noindex;
                Some(Output::open(catalogue, self.job, &output_path(output), noindex, now()).map_err(store)?)
            }
            None => None,
        };
        loop {
            match signals.wait(LOOK_EVERY) {
                Some(Signal::Stop) => {
                    set_job_state(session, self.job, JobState::Paused.as_str(), None, Some("interrupted"))
                        .map_err(|e| database_failure(&e))?;
                    finish(catalogue, output)?;
                    display.finish();
                    display.message("the job is paused; the same command goes on with it");
                    return Ok(Followed::Interrupted);
                }
                Some(Signal::Reload) => display.message("SIGHUP: the workers have the politeness, tell them"),
                Some(Signal::Wake) | None => {}
            }
            if let Some(output) = &mut output {
                output.catch_up(reader.as_ref()).map_err(store)?;
            }
            let job = reader
                .job(self.job)
                .map_err(store)?
                .ok_or_else(|| Failure::failed(format!("job {} was deleted meanwhile", self.job)))?;
            if job.state.is_finished() || job.state == JobState::Paused {
                if let Some(output) = &mut output {
                    output.catch_up(reader.as_ref()).map_err(store)?;
                }
                finish(catalogue, output)?;
                display.finish();
                return Ok(Followed::Ended(job));
            }
            self.show(session, reader.as_ref(), display)?;
        }
    }

    fn show(
        &mut self,
        session: &mut Session,
        reader: &dyn CatalogueReader,
        display: &Display,
    ) -> Result<(), Failure> {
        let failed = |e| database_failure(&e);
        let counts = reader.counts(self.job).map_err(|e| data::store_failure(&e))?;
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

fn finish(catalogue: &mut PostgresCatalogue, output: Option<Output>) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    let store = |e| data::store_failure(&e);
    let position = output.finish().map_err(store)?;
    catalogue.commit(&Batch { at: now(), outputs: vec![position], ..Batch::default() }).map_err(store)?;
    Ok(())
}

fn summary(reader: &dyn CatalogueReader, job: &Job) -> Result<String, Failure> {
    let counts = reader.counts(job.id).map_err(|e| data::store_failure(&e))?;
    let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
    let why = job.message.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    Ok(format!(
        "Job {name} is {}{why}: {}, {} failed, {} skipped, {}\n\
         'argiope export {id}', 'argiope report {id}' and 'argiope audit {id}' show more, each with this --config\n",
        job.state.as_str(),
        counted(counts.pages, "page", "pages"),
        count(counts.failed),
        count(counts.skipped()),
        bytes(counts.bytes),
        id = job.id,
    ))
}
