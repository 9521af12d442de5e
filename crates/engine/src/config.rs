//! What the caller provides: the adapters of the ports, and the settings of this process.

use argiope_fetch::{FetcherOptions, ResolverOptions, TlsOptions};
use argiope_frontier::state::ShardState;
use argiope_model::{FingerprintKey, PublicSuffixes};
use argiope_politeness::PolitenessRules;
use argiope_store::archive::Archive;
use argiope_store::catalogue::Catalogue;
use argiope_store::links::Links;
use std::sync::Arc;
use std::time::Duration;

/// The adapters of all ports.
pub struct Ports {
    pub state: Box<dyn ShardState>,
    pub catalogue: Box<dyn Catalogue>,
    /// None with `--no-archive`.
    pub archive: Option<Arc<dyn Archive>>,
    pub links: Box<dyn Links>,
}

#[derive(Clone)]
pub struct EngineConfig {
    /// Prefix of the worker name in the catalogue; empty on one machine.
    pub name: String,
    /// No request was ever sent from this data directory: no host needs a delay at the start.
    pub is_new: bool,
    /// Forgets how often hosts have failed, and their robots.txt: `--fresh`.
    pub forget_failures: bool,
    /// Failed URLs of the jobs are queued again before they start.
    pub retry_failed: bool,
    pub shards: u16,
    /// Threads that fetch and extract.
    pub workers: usize,
    /// Requests in flight in total.
    pub concurrency: usize,
    pub politeness: Arc<PolitenessRules>,
    pub fetcher: FetcherOptions,
    pub resolver: ResolverOptions,
    pub tls: TlsOptions,
    pub suffixes: Arc<PublicSuffixes>,
    pub fingerprint_key: FingerprintKey,
    /// A batch closes at this age ...
    pub batch_age: Duration,
    /// ... or with this many visits.
    pub batch_size: usize,
    /// Entries of each queue that are kept in memory in addition to the state.
    pub window: usize,
    /// Visits handed out and not yet completed.
    pub max_outstanding: usize,
    /// How long a clean stop waits for requests in flight.
    pub grace: Duration,
}

impl EngineConfig {
    pub const BATCH_AGE: Duration = Duration::from_millis(250);
    pub const BATCH_SIZE: usize = 4_000;
    pub const WINDOW: usize = 32;
    pub const MAX_OUTSTANDING: usize = 12_000;
    pub const GRACE: Duration = Duration::from_secs(5);
}
