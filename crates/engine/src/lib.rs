//! Connects the rooms into a running crawl. It sees ports only; the caller chooses the state, catalogue and archive
//! behind them.
//!
//! Threads and queues (see [`pipeline`]):
//!
//! * the scheduler owns the frontier and only decides;
//! * workers, one per core, fetch, decode, extract, hash and archive, each with its own connections and archive file;
//! * the committer closes batches: archive synced, links synced, catalogue committed;
//! * followers pass on what is committed: the file of `-o` is one ([`argiope_store::follower`]);
//! * the syncer makes the frontier's batches durable, so that no other thread waits for the disk.
//!
//! The order for a page is archive, catalogue, frontier: any prefix of it can be repeated after a crash ([`recovery`]).

mod blocked;
mod classify;
mod commit_queue;
mod committer;
mod config;
mod content;
mod cookies;
mod duplicates;
mod engine;
mod error;
mod graph;
mod handle;
mod job;
mod killed;
mod log;
mod login;
mod output_follower;
mod pipeline;
mod recent;
mod recovery;
mod request_starts;
mod retry;
mod robots;
#[cfg(test)]
mod sample;
mod scheduler;
mod scope;
mod seeds;
mod setup;
mod shards;
mod status;
mod visit_record;
mod why;
mod worker;

pub use blocked::{Blocked, BlockedBy, BlockedGroup, BlockedHost};
pub use config::{EngineConfig, Ports};
pub use cookies::{CookieKeeper, Session};
pub use engine::{Ended, Engine, JobOutcome, OutputFile, Stop, why_at_rest};
pub use error::EngineError;
pub use graph::GraphRules;
pub use handle::{CommandError, EngineHandle};
pub use job::JobStart;
pub use recovery::RecoverySummary;
pub use retry::{failures_after, visit_of};
pub use status::{
    Distribution, DomainFigures, HostFigures, JobActivity, JobStatus, Latency, OldestRequest, Phase,
    ProcessFigures, RateMeter, Rates, RequestFigures, RetryReason, Status, Totals, WaitingHost, WaitingHosts,
};
pub use why::{Why, WhyStep};
