//! [`Status`]: what a crawl looks like at one moment. The scheduler makes one a few times a second; everything that shows
//! figures is a projection of it: the terminal, the API, `/metrics`, the heartbeat of a worker.

mod counters;
mod domains;
mod histogram;
mod process;
mod rate;

pub(crate) use counters::{Counters, EndedVisit, ProcessCounters};
pub use counters::{RetryReason, Totals};
pub use domains::DomainFigures;
pub use histogram::Distribution;
pub use process::ProcessFigures;
pub(crate) use process::ProcessMeter;
pub use rate::RateMeter;

use argiope_frontier::{JobProgress, Overview};
use argiope_model::{JobId, Millis, WaitReason};
use argiope_store::follower::FollowerStatus;
use serde::{Deserialize, Serialize};

/// What the crawl as a whole is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Running,
    /// Many hosts failed at once. A few probes are sent until one of them succeeds.
    NetworkDown { since: Millis },
    /// No new requests are sent, for this reason. Requests in flight finish.
    Held { reason: String },
    /// A stop was requested. Requests in flight finish.
    Stopping,
}

impl Phase {
    /// Why no new requests are sent, in words; None while it runs.
    pub fn pause_reason(&self) -> Option<&str> {
        match self {
            Phase::Running => None,
            Phase::NetworkDown { .. } => Some("network down"),
            Phase::Held { reason } => Some(reason),
            Phase::Stopping => Some("stopping"),
        }
    }
}

/// A crawl at one moment. All counts are since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub at: Millis,
    pub started_at: Millis,
    #[serde(flatten)]
    pub phase: Phase,
    pub totals: Totals,
    pub rates: Rates,
    pub requests: RequestFigures,
    pub hosts: HostFigures,
    pub latency: Latency,
    /// The busiest domains, the others together last (without a name).
    pub domains: Vec<DomainFigures>,
    pub jobs: Vec<JobStatus>,
    /// When the first URL that waits for its own time is due: a retry, mostly.
    pub next_retry: Option<Millis>,
    pub process: ProcessFigures,
    /// What passes on committed pages, and how far behind it is.
    pub followers: Vec<FollowerStatus>,
    /// Recent events that concern an operator, oldest first.
    pub events: Vec<String>,
}

/// Pages per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Over the last few seconds.
    pub now: f64,
    /// Since the start.
    pub mean: f64,
    pub peak: f64,
    /// Of the URLs that ended over the last few seconds, how many failed: 0 to 1.
    pub failed_share: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFigures {
    pub in_flight: u64,
    /// Dispatched and not committed yet.
    pub outstanding: u64,
    /// DNS lookups in progress.
    pub resolving: u64,
    pub oldest: Option<OldestRequest>,
}

/// The request that has been in flight for longest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldestRequest {
    pub url: String,
    pub since: Millis,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFigures {
    pub known: u64,
    /// With requests in flight.
    pub active: u64,
    pub ready: u64,
    /// Waiting because their address has as many requests in flight as allowed.
    pub at_address: u64,
    pub waiting: Vec<WaitingHosts>,
    /// The hosts that wait longest, longest first.
    pub slowest: Vec<WaitingHost>,
}

impl HostFigures {
    /// Hosts that wait for a time of their own.
    pub fn waiting_count(&self) -> u64 {
        self.waiting.iter().map(|group| group.hosts).sum()
    }
}

/// Hosts that wait for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingHosts {
    pub reason: WaitReason,
    pub hosts: u64,
    /// When the first of them is due.
    pub next_due: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingHost {
    pub host: String,
    pub reason: WaitReason,
    pub due: Millis,
}

/// How long the phases of a fetch took, and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub dns: Distribution,
    pub connect: Distribution,
    pub tls: Distribution,
    pub first_byte: Distribution,
    pub download: Distribution,
    /// From the dispatch of a URL to its end.
    pub crawl: Distribution,
    /// Commits of a batch to the catalogue.
    pub commit: Distribution,
}

/// What a job is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobActivity {
    #[default]
    Running,
    Paused,
    /// Its requests in flight finish, then it is deleted.
    Deleting,
    Ended,
}

/// A job of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStatus {
    pub job: JobId,
    pub activity: JobActivity,
    /// In the queue, those in progress included.
    pub queued: u64,
    /// Of those: URLs that wait for their own time.
    pub delayed: u64,
    /// Dispatched and not committed yet.
    pub in_progress: u64,
    /// What this run of the job has counted.
    pub totals: Totals,
}

impl JobStatus {
    pub(crate) fn new(
        job: JobId,
        activity: JobActivity,
        progress: &JobProgress,
        totals: Totals,
    ) -> JobStatus {
        JobStatus {
            job,
            activity,
            queued: progress.queued + progress.delayed,
            delayed: progress.delayed,
            in_progress: progress.in_progress,
            totals,
        }
    }
}

impl Status {
    pub fn job(&self, id: JobId) -> Option<&JobStatus> {
        self.jobs.iter().find(|job| job.job == id)
    }

    /// URLs in the queues of all jobs.
    pub fn queued(&self) -> u64 {
        self.jobs.iter().map(|job| job.queued).sum()
    }

    pub(crate) fn take_overview(&mut self, overview: &Overview) {
        let count = |n: usize| n as u64;
        self.requests = RequestFigures {
            in_flight: count(overview.in_flight),
            outstanding: count(overview.outstanding),
            resolving: count(overview.resolving),
            oldest: overview
                .oldest_request
                .as_ref()
                .map(|(url, since)| OldestRequest { url: url.as_str().to_owned(), since: *since }),
        };
        self.hosts = HostFigures {
            known: count(overview.hosts),
            active: count(overview.active),
            ready: count(overview.ready),
            at_address: count(overview.at_address),
            waiting: overview
                .waiting
                .iter()
                .map(|(reason, (hosts, next_due))| WaitingHosts {
                    reason: *reason,
                    hosts: count(*hosts),
                    next_due: *next_due,
                })
                .collect(),
            slowest: overview
                .slowest
                .iter()
                .map(|(host, reason, due)| WaitingHost { host: host.to_string(), reason: *reason, due: *due })
                .collect(),
        };
        self.next_retry = overview.next_retry;
    }
}
