//! `crawl`: create or resume a job, run it to its end, show its progress. Where another process owns the data directory,
//! the job is handed to it and watched.

use crate::cli::CrawlArgs;
use crate::commands::progress;
use crate::commands::{submit, watch};
use crate::progress::{Display, Narrator};
use crate::signals::{Signal, Signals};
use argiope_config::{CrawlOptions, CrawlSettings, Failure, GlobalOptions};
use argiope_engine::{RecoverySummary, Stop};
use argiope_model::JobId;
use argiope_model::display::counted;
use argiope_server::SocketServer;
use argiope_service::control::OwnerClient;
use argiope_service::local_crawl::{Conclusion, LocalCrawl, Run};
use argiope_service::{Access, Place, stored_job};
use std::sync::Arc;
use std::time::Duration;

/// How often progress is shown.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(global: &GlobalOptions, args: &CrawlArgs, display: &Display) -> Result<(), Failure> {
    let jobs = CrawlSettings::all(global, &CrawlOptions::from(args), &|config, name| {
        stored_job::find(global, config, name)
    })?;
    if let Place::Cluster(place) = Access::open(global)?.place {
        if jobs.len() > 1 && !args.detach {
            return Err(Failure::usage("on a cluster, only one job at a time can be watched").hint(
                "submit all of them with --detach, and watch them with 'argiope jobs' and 'argiope status'",
            ));
        }
        return jobs
            .into_iter()
            .try_for_each(|settings| submit::run(settings, &place, args.detach, global.quiet, display));
    }
    if args.detach {
        return Err(Failure::usage("--detach requires a cluster, and the configuration names none")
            .hint("on one machine, run it in the background of the shell"));
    }
    for notice in jobs.iter().flat_map(|settings| &settings.notices) {
        display.message(notice);
    }
    match OwnerClient::connect(&global.data) {
        Some(owner) => watch::hand_in(jobs, &owner, global, display),
        None => crawl(jobs, global.quiet, display).map(|_| ()),
    }
}

/// Runs the jobs to their ends, side by side. Returns their numbers in the order of the settings.
pub(crate) fn crawl(all: Vec<CrawlSettings>, quiet: bool, display: &Display) -> Result<Vec<JobId>, Failure> {
    let signals = Signals::listen()?;
    let mut crawl = LocalCrawl::start(all, &|text| display.message(text))?;
    let server = SocketServer::start(crawl.path(), crawl.control(), Arc::new(crawl.vitals()));
    if let Err(error) = &server {
        display.message(&format!("warning: no control socket: {error}; the crawl runs without it"));
    }
    report_recovery(crawl.recovery(), display);
    let mut narrator = Narrator::new(title(&crawl.runs), page_limit(&crawl.runs));
    let mut stops = 0;
    crawl.engine.when_ended(signals.waker());
    while !crawl.engine.has_ended() {
        crawl.tend();
        if let Some(urls) = crawl.skipped().filter(|_| !quiet) {
            narrator.set_skipped(urls);
        }
        match signals.wait(LOOK_EVERY) {
            Some(Signal::Stop) => {
                stops += 1;
                if stops > 1 {
                    display.finish();
                    // Everything stored is safe however the process ends.
                    std::process::exit(130);
                }
                display
                    .message("stopping: requests in flight may finish; press Ctrl-C again to stop at once");
                crawl.engine.handle().stop(Stop::Clean);
            }
            Some(Signal::Reload) => display.message(&crawl.reload()),
            Some(Signal::Wake) | None => {}
        }
        display.update(&narrator.view(&crawl.engine.handle().status(), crawl.elapsed()));
    }
    display.finish();
    drop(server);
    let numbers = crawl.runs.iter().map(|run| run.job.id).collect();
    let conclusion = crawl.conclude()?;
    if !quiet {
        summaries(&conclusion)?;
    }
    conclusion.result().map(|()| numbers)
}

fn summaries(conclusion: &Conclusion) -> Result<(), Failure> {
    let store = |e| argiope_service::directory::store_failure(&e);
    let reader = conclusion.ended.catalogue.reader().map_err(store)?;
    for finished in &conclusion.runs {
        let run = &finished.run;
        let facts = progress::EndFacts {
            settings: &run.settings,
            job: &run.job,
            ended: &conclusion.ended,
            outcome: finished.outcome,
            empty: finished.empty.as_ref(),
            elapsed: conclusion.elapsed,
            output: run.settings.output.as_ref().map(argiope_config::Output::path),
            pages_before: (conclusion.ended.status.jobs.len() > 1).then_some(run.pages_before),
        };
        progress::print_summary(reader.as_ref(), &facts)?;
    }
    Ok(())
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

fn report_recovery(found: &RecoverySummary, display: &Display) {
    if found.retried > 0 {
        display
            .message(&format!("{} queued again", counted(found.retried, "failed URL is", "failed URLs are")));
    }
    if found.restored > 0 {
        display.message(&format!(
            "the catalogue was older than the other stores: {} restored from the archive",
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
