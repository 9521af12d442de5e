//! The graph of hosts: a crawl whose pages are home pages, and whose links to other hosts go into an SQLite file. The same
//! request resumes it: it visits every node that was not visited often enough.

mod metrics;
mod settings;

pub use argiope_local::graph::{GraphFigures, Happening};
pub use settings::HostGraphSettings;

use crate::descriptors::{Keeper, Room};
use crate::directory::{DISK_FULL, store_failure};
use argiope_config::Failure;
use argiope_engine::{
    Engine, EngineConfig, EngineError, GraphRules, JobOutcome, JobStart, Ports, Session, Stop,
};
use argiope_fetch::{Descriptors, FetcherOptions};
use argiope_frontier::transient::TransientState;
use argiope_local::graph::{Beginning, GraphStore};
use argiope_model::{FingerprintKey, JobId, Millis, NormalRules, PublicSuffixes, Scheme, Url};
use argiope_store::clock::now;
use metrics::{Metrics, Termination};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

/// Each file has one crawl.
const JOB: JobId = JobId(1);
/// Per transaction, at most; usually a few.
const BATCH_VISITS: usize = 50;
const SHARDS: u16 = 64;
/// robots.txt files kept for the next visit of their host.
const ROBOTS_BYTES: usize = 2 << 20;

/// Events of a crawl, for display.
pub enum GraphEvent<'e> {
    Starting {
        host: &'e str,
    },
    /// With so many nodes that have fewer visits than `most`.
    Resuming {
        nodes: usize,
        most: u32,
    },
    /// To a host.
    Host(&'e Happening<'e>),
    /// Nodes are written that were in memory.
    Flushing {
        nodes: u64,
    },
    Size {
        queued: u64,
        figures: GraphFigures,
    },
    MetricsWritten {
        path: &'e Path,
    },
}

/// Gets what happens, from several threads.
pub type Tell = Arc<dyn Fn(&GraphEvent<'_>) + Send + Sync>;

/// A running crawl.
pub struct HostGraphCrawl {
    engine: Engine,
    store: Arc<GraphStore>,
    settings: HostGraphSettings,
    tell: Tell,
    began: Millis,
    /// What stopped it.
    failure: Option<Failure>,
}

/// How a crawl has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEnd {
    pub interrupted: bool,
    pub figures: GraphFigures,
}

impl GraphEnd {
    pub fn result(&self) -> Result<(), Failure> {
        if self.interrupted {
            return Err(Failure::silent_interrupt());
        }
        if self.figures.pages_fetched == 0 && self.figures.pages_failed > 0 {
            return Err(Failure::failed("no home page responded").hint("check the name and the network"));
        }
        Ok(())
    }
}

impl HostGraphCrawl {
    /// `notice` gets what the user should know.
    pub fn start(
        settings: HostGraphSettings,
        tell: Tell,
        notice: &dyn Fn(&str),
    ) -> Result<HostGraphCrawl, Failure> {
        let room = Room::new(settings.process.concurrency, Keeper::Graph)?;
        room.warning().iter().for_each(|warning| notice(warning));
        let store = GraphStore::open(&settings.file.db_path).map_err(|e| store_failure(&e))?;
        let start = job_start(&settings, &store, &tell)?;
        let began = now();
        let config = room.fit(engine_config(&settings));
        let engine = Engine::start(config, ports(&settings, &store, &tell), vec![start], None)
            .map_err(|e| failure_of(&e))?;
        Ok(HostGraphCrawl { engine, store, settings, tell, began, failure: None })
    }

    /// Calls `wake` when it has ended.
    pub fn when_ended(&self, wake: impl FnOnce() + Send + 'static) {
        self.engine.when_ended(wake);
    }

    pub fn has_ended(&self) -> bool {
        self.engine.has_ended()
    }

    pub fn stop(&self) {
        self.engine.handle().stop(Stop::Clean);
    }

    pub fn figures(&self) -> GraphFigures {
        self.store.figures()
    }

    pub fn queued(&self) -> u64 {
        self.engine.handle().status().queued()
    }

    /// To be called several times a second while it runs: writes what has waited long enough.
    pub fn tend(&mut self) {
        if self.failure.is_none()
            && let Err(error) = self.store.flush_aged()
        {
            self.failure = Some(store_failure(&error));
            self.engine.handle().stop(Stop::Now);
        }
    }

    /// Waits for the end, and writes the remaining rows and the metrics.
    pub fn conclude(self) -> Result<GraphEnd, Failure> {
        let HostGraphCrawl { engine, store, settings, tell, began, failure } = self;
        let ended = engine.join().map_err(|e| failure_of(&e))?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let outcome = ended.jobs.first().map_or(JobOutcome::Done, |(_, outcome)| *outcome);
        let queued = ended.status.queued();
        // Dropping it releases the engine's hold on the store.
        drop(ended);
        tell(&GraphEvent::Flushing { nodes: store.pending_nodes() as u64 });
        store.flush().map_err(|e| store_failure(&e))?;
        let figures = store.figures();
        tell(&GraphEvent::Size { queued, figures });
        let interrupted = outcome == JobOutcome::Interrupted;
        let termination = if interrupted { Termination::Signal } else { Termination::QueueEmpty };
        let crawled = store.crawled_count().map_err(|e| store_failure(&e))?;
        let path = &settings.file.metrics_path;
        Metrics::new((began, now()), &figures, crawled, termination)
            .write(path)
            .map_err(|e| Failure::failed(format!("cannot write {}: {e}", path.display())))?;
        tell(&GraphEvent::MetricsWritten { path });
        Ok(GraphEnd { interrupted, figures })
    }
}

/// Pages of 2 MB for each thread and kind of object are worth their room where memory is plenty. Here they would double
/// what a graph takes; where the kernel does not know the request, nothing is lost. Of this process, before it starts.
pub fn disable_huge_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

/// Where to start: at the seed, or at every node with too few visits.
fn job_start(settings: &HostGraphSettings, store: &GraphStore, tell: &Tell) -> Result<JobStart, Failure> {
    let stored = |e| store_failure(&e);
    let most = settings.file.max_crawls_per_node;
    let (mut seeds, mut visited) = (vec![settings.seed.clone()], Vec::new());
    tell(&GraphEvent::Starting { host: settings.seed.host() });
    if store.begin(settings.seed.host()).map_err(stored)? == Beginning::Known {
        let known = store.nodes_below(most).map_err(stored)?;
        seeds = known.iter().filter_map(|node| home_of(&node.name, settings)).collect();
        visited = store
            .crawled_nodes()
            .map_err(stored)?
            .into_iter()
            .map(|node| (node.name.into_boxed_str(), node.crawl_count))
            .collect();
        tell(&GraphEvent::Resuming { nodes: seeds.len(), most });
    }
    let graph = Some(GraphRules {
        max_outbound_links: settings.file.max_outbound_links,
        max_visits_per_host: most,
        visited,
    });
    Ok(JobStart { id: JOB, spec: settings.spec.clone(), seeds, graph, session: Session::default() })
}

/// A node is identified by its host; it is requested with the scheme of the seed.
fn home_of(name: &str, settings: &HostGraphSettings) -> Option<Url> {
    let scheme = match settings.seed.scheme() {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    Url::parse(&format!("{scheme}://{name}/"), &NormalRules::default()).ok()
}

fn ports(settings: &HostGraphSettings, store: &Arc<GraphStore>, tell: &Tell) -> Ports {
    let tell = Arc::clone(tell);
    let retries = u32::from(settings.file.retry_attempts);
    let (catalogue, links) = store.ports(retries, move |happening| tell(&GraphEvent::Host(happening)));
    Ports {
        state: Box::new(TransientState::new(ROBOTS_BYTES)),
        catalogue: Box::new(catalogue),
        archive: None,
        links: Box::new(links),
    }
}

fn engine_config(settings: &HostGraphSettings) -> EngineConfig {
    let process = &settings.process;
    let concurrency = process.concurrency.max(1) as usize;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    EngineConfig {
        name: String::new(),
        // Which hosts an earlier run requested last is not known.
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
            // Each host gets two requests: a few connections are enough, and memory matters.
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

/// For this process only: nothing stored depends on it.
fn random_key() -> FingerprintKey {
    let half = |n: u8| RandomState::new().hash_one(n).to_le_bytes();
    let mut key = [0; 16];
    for (byte, chance) in key.iter_mut().zip(half(0).into_iter().chain(half(1))) {
        *byte = chance;
    }
    FingerprintKey::new(key)
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
