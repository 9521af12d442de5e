//! `graph SEED`: the crawl itself. The engine runs a job whose pages are home pages; what comes of them goes into the graph.

use super::lines::Lines;
use super::metrics::{Metrics, Termination};
use super::settings::GraphSettings;
use crate::cli::GraphCrawlArgs;
use crate::progress::Display;
use crate::signals::{Signal, Signals};
use argiope_config::{Failure, GlobalOptions};
use argiope_engine::{
    Engine, EngineConfig, EngineError, GraphRules, JobOutcome, JobStart, Ports, Session, Stop,
};
use argiope_fetch::{Descriptors, FetcherOptions};
use argiope_frontier::transient::TransientState;
use argiope_local::graph::{Beginning, GraphFigures, GraphStore};
use argiope_model::{FingerprintKey, JobId, NormalRules, PublicSuffixes, Scheme, Url};
use argiope_service::descriptors::{Keeper, Room};
use argiope_service::directory::{DISK_FULL, store_failure};
use argiope_store::clock::now;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often signals and the age of what waits are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the size of the graph is said, while it changes.
const SAY_EVERY: Duration = Duration::from_secs(2);
/// A file has one crawl.
const JOB: JobId = JobId(1);
/// Of a transaction, at most; mostly it is a few.
const BATCH_VISITS: usize = 50;
const SHARDS: u16 = 64;
/// robots.txt that is kept for the next look at its host.
const ROBOTS_BYTES: usize = 2 << 20;

pub(super) fn run(global: &GlobalOptions, args: &GraphCrawlArgs, display: &Display) -> Result<(), Failure> {
    keep_small();
    let settings = GraphSettings::new(global, args)?;
    settings.warnings.iter().for_each(|warning| display.message(warning));
    if !settings.spec.respect_robots {
        display.message(
            "WARNING: robots.txt is IGNORED in this crawl. Do this only to sites of your own; others may block you.",
        );
    }
    let room = Room::new(settings.process.concurrency, Keeper::Graph)?;
    room.warning().iter().for_each(|warning| display.message(warning));
    let store = GraphStore::open(&settings.file.db_path).map_err(|e| store_failure(&e))?;
    let lines = Arc::new(Lines::new(global.quiet, u32::from(settings.file.retry_attempts)));
    let start = job_start(&settings, &store, &lines)?;
    let signals = Signals::listen()?;
    let began = now();
    let config = room.fit(engine_config(&settings));
    let engine = Engine::start(config, ports(&settings, &store, &lines), vec![start], None)
        .map_err(|e| failure_of(&e))?;
    let watched = watch(&engine, &store, &signals, &lines);
    let ended = engine.join().map_err(|e| failure_of(&e))?;
    watched?;
    let outcome = ended.jobs.first().map_or(JobOutcome::Done, |(_, outcome)| *outcome);
    let left = ended.status.queued();
    // With it goes the engine's hold on the store.
    drop(ended);
    lines.info(format_args!("Flushing {} in-memory nodes to DB", store.pending_nodes()));
    store.flush().map_err(|e| store_failure(&e))?;
    say_size(&lines, left, &store.figures());
    conclude(&settings, &store, &lines, began, outcome)
}

/// Pages of 2 MB for each thread and kind of object are worth their room where memory is plenty. Here they would double what a
/// graph takes; where the kernel does not know the request, nothing is lost.
fn keep_small() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

/// Where to begin: at the seed, or at every node that was not looked at often enough.
fn job_start(settings: &GraphSettings, store: &GraphStore, lines: &Lines) -> Result<JobStart, Failure> {
    let stored = |e| store_failure(&e);
    let most = settings.file.max_crawls_per_node;
    let (mut seeds, mut visited) = (vec![settings.seed.clone()], Vec::new());
    lines.info(format_args!("Starting crawl from {}", settings.seed.host()));
    if store.begin(settings.seed.host()).map_err(stored)? == Beginning::Known {
        let known = store.nodes_below(most).map_err(stored)?;
        seeds = known.iter().filter_map(|node| home_of(&node.name, settings)).collect();
        visited = store
            .crawled_nodes()
            .map_err(stored)?
            .into_iter()
            .map(|node| (node.name.into_boxed_str(), node.crawl_count))
            .collect();
        lines.info(format_args!("Resuming with {} nodes below {most} crawls", seeds.len()));
    }
    let graph = Some(GraphRules {
        max_outbound_links: settings.file.max_outbound_links,
        max_visits_per_host: most,
        visited,
    });
    Ok(JobStart { id: JOB, spec: settings.spec.clone(), seeds, graph, session: Session::default() })
}

/// A node is known by its host; it is asked by the scheme of the seed.
fn home_of(name: &str, settings: &GraphSettings) -> Option<Url> {
    let scheme = match settings.seed.scheme() {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    Url::parse(&format!("{scheme}://{name}/"), &NormalRules::default()).ok()
}

fn ports(settings: &GraphSettings, store: &Arc<GraphStore>, lines: &Arc<Lines>) -> Ports {
    let lines = Arc::clone(lines);
    let retries = u32::from(settings.file.retry_attempts);
    let (catalogue, links) = store.ports(retries, move |happening| lines.tell(happening));
    Ports {
        state: Box::new(TransientState::new(ROBOTS_BYTES)),
        catalogue: Box::new(catalogue),
        archive: None,
        links: Box::new(links),
    }
}

fn engine_config(settings: &GraphSettings) -> EngineConfig {
    let process = &settings.process;
    let concurrency = process.concurrency.max(1) as usize;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    EngineConfig {
        name: String::new(),
        // Who was asked by an earlier run is not known.
        is_new: false,
        forget_failures: false,
        retry_failed: false,
        shards: SHARDS,
        workers: concurrency.min(cores),
        concurrency,
        politeness: Arc::new(process.politeness.clone()),
        fetcher: FetcherOptions {
            addresses: settings.addresses.clone(),
            proxies: Arc::clone(&process.proxies),
            // Hosts are asked for two things each: a few connections are enough, and memory counts.
            descriptors: Descriptors::with_most_idle(concurrency.max(16) * concurrency.min(cores)),
            ..FetcherOptions::default()
        },
        resolver: process.resolver.clone(),
        tls: process.tls.clone(),
        suffixes: Arc::new(PublicSuffixes::bundled()),
        fingerprint_key: random_key(),
        batch_age: EngineConfig::BATCH_AGE,
        batch_size: BATCH_VISITS,
        // The state is in memory, too.
        window: 0,
        max_outstanding: (concurrency * 4).max(300),
        grace: EngineConfig::GRACE,
    }
}

/// For this process only: nothing that is stored depends on it.
fn random_key() -> FingerprintKey {
    let half = |n: u8| RandomState::new().hash_one(n).to_le_bytes();
    let mut key = [0; 16];
    for (byte, chance) in key.iter_mut().zip(half(0).into_iter().chain(half(1))) {
        *byte = chance;
    }
    FingerprintKey::new(key)
}

/// Until the crawl has ended.
fn watch(engine: &Engine, store: &GraphStore, signals: &Signals, lines: &Lines) -> Result<(), Failure> {
    let mut interrupted = false;
    engine.when_ended(signals.waker());
    let (mut said, mut said_at) = (GraphFigures::default(), Instant::now());
    let mut outcome = Ok(());
    while !engine.has_ended() {
        if signals.wait(LOOK_EVERY) == Some(Signal::Stop) {
            if interrupted {
                // What is written is whole however the process ends; at once means at once.
                std::process::exit(130);
            }
            interrupted = true;
            lines.info("Shutdown signal received");
            engine.handle().stop(Stop::Clean);
        }
        if outcome.is_ok()
            && let Err(error) = store.flush_aged()
        {
            outcome = Err(store_failure(&error));
            engine.handle().stop(Stop::Now);
        }
        let figures = store.figures();
        if said_at.elapsed() >= SAY_EVERY && figures != said {
            say_size(lines, queued(engine), &figures);
            (said, said_at) = (figures, Instant::now());
        }
    }
    outcome
}

fn queued(engine: &Engine) -> u64 {
    engine.handle().status().queued()
}

fn say_size(lines: &Lines, queued: u64, figures: &GraphFigures) {
    lines.info(format_args!("Queue: {queued} | Nodes: {} | Edges: {}", figures.nodes, figures.edges));
}

fn conclude(
    settings: &GraphSettings,
    store: &GraphStore,
    lines: &Lines,
    began: argiope_model::Millis,
    outcome: JobOutcome,
) -> Result<(), Failure> {
    let stored = |e| store_failure(&e);
    let figures = store.figures();
    let interrupted = outcome == JobOutcome::Interrupted;
    let termination = if interrupted { Termination::Signal } else { Termination::QueueEmpty };
    let crawled = store.crawled_count().map_err(stored)?;
    let path = &settings.file.metrics_path;
    Metrics::new((began, now()), &figures, crawled, termination)
        .write(path)
        .map_err(|e| Failure::failed(format!("cannot write {}: {e}", path.display())))?;
    lines.info(format_args!("Metrics written to {}", path.display()));
    if interrupted {
        return Err(Failure::silent_interrupt());
    }
    if figures.pages_fetched == 0 && figures.pages_failed > 0 {
        return Err(Failure::failed("no home page answered").hint("check the name and the network"));
    }
    Ok(())
}

fn failure_of(error: &EngineError) -> Failure {
    match error {
        EngineError::DiskFull(_) => Failure::failed(error).hint(DISK_FULL),
        EngineError::Settings(_) => Failure::usage(error),
        EngineError::Corrupt(_)
        | EngineError::Store(_)
        | EngineError::OutputClosed(_)
        | EngineError::Fenced(_)
        | EngineError::Login(_)
        | EngineError::Panicked(_) => Failure::failed(error),
    }
}
