//! `graph SEED`: merges the options with the file of `-c`, and prints messages while the graph grows.

use super::lines::Lines;
use crate::cli::GraphCrawlArgs;
use crate::progress::Display;
use crate::signals::{Signal, Signals};
use argiope_config::{Failure, GlobalOptions, GraphFile, process_environment, read_graph};
use argiope_service::host_graph::{
    GraphEvent, GraphFigures, HostGraphCrawl, HostGraphSettings, disable_huge_pages,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often to check signals and the age of pending rows.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the size of the graph is printed, while it changes.
const SAY_EVERY: Duration = Duration::from_secs(2);

pub(super) fn run(global: &GlobalOptions, args: &GraphCrawlArgs, display: &Display) -> Result<(), Failure> {
    disable_huge_pages();
    let mut file = match &args.file {
        Some(path) => read_graph(path, &process_environment)?,
        None => GraphFile::default(),
    };
    apply_flags(&mut file, args);
    let settings = HostGraphSettings::new(global, file, args.file.as_deref())?;
    settings.warnings.iter().for_each(|warning| display.message(warning));
    if !settings.spec.respect_robots {
        display.message(
            "WARNING: robots.txt is IGNORED in this crawl. Do this only to sites of your own; others may block you.",
        );
    }
    let lines = Arc::new(Lines::new(global.quiet, u32::from(settings.file.retry_attempts)));
    let signals = Signals::listen()?;
    let telling = Arc::clone(&lines);
    let tell = Arc::new(move |event: &GraphEvent<'_>| telling.tell(event));
    let mut crawl = HostGraphCrawl::start(settings, tell, &|text| display.message(text))?;
    watch(&mut crawl, &signals, &lines);
    crawl.conclude()?.result()
}

fn apply_flags(file: &mut GraphFile, args: &GraphCrawlArgs) {
    fn set<T: Clone>(place: &mut T, given: &Option<T>) {
        if let Some(value) = given {
            place.clone_from(value);
        }
    }
    file.seed_url = args.seed_url.clone().or(file.seed_url.take());
    file.user_agent = args.user_agent.clone().or(file.user_agent.take());
    set(&mut file.max_depth, &args.max_depth);
    set(&mut file.max_crawls_per_node, &args.max_crawls_per_node);
    set(&mut file.max_subdomains_per_root, &args.max_subdomains_per_root);
    set(&mut file.max_outbound_links, &args.max_outbound_links);
    set(&mut file.concurrent_workers, &args.concurrent_workers);
    set(&mut file.request_timeout_ms, &args.request_timeout_ms);
    set(&mut file.retry_attempts, &args.retry_attempts);
    set(&mut file.retry_delay_ms, &args.retry_delay_ms);
    set(&mut file.db_path, &args.db_path);
    set(&mut file.metrics_path, &args.metrics_path);
    if !args.exclude_domains.is_empty() {
        file.exclude_domains.clone_from(&args.exclude_domains);
    }
    file.respect_robots &= !args.ignore_robots;
    file.allow_private |= args.allow_private;
}

/// Until the crawl has ended.
fn watch(crawl: &mut HostGraphCrawl, signals: &Signals, lines: &Lines) {
    let mut interrupted = false;
    crawl.when_ended(signals.waker());
    let (mut said, mut said_at) = (GraphFigures::default(), Instant::now());
    while !crawl.has_ended() {
        if signals.wait(LOOK_EVERY) == Some(Signal::Stop) {
            if interrupted {
                // Written data is complete however the process ends, so at once means at once.
                std::process::exit(130);
            }
            interrupted = true;
            lines.info("Shutdown signal received");
            crawl.stop();
        }
        crawl.tend();
        let figures = crawl.figures();
        if said_at.elapsed() >= SAY_EVERY && figures != said {
            lines.size(crawl.queued(), &figures);
            (said, said_at) = (figures, Instant::now());
        }
    }
}
