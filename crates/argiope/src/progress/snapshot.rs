//! The state of a crawl at one moment. The engine fills it; `render` turns it into lines. Data only.

use std::time::Duration;

/// What the crawl as a whole is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Running,
    /// A signal was received: requests in flight may finish.
    Stopping,
    /// Too many hosts failed at once; probing until the network is back.
    NetworkDown,
    /// No new requests are sent, with the reason.
    Held(String),
}

/// Why a host is not requested now. The order is the order of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum WaitReason {
    CrawlDelay,
    BackingOff,
    RetryAfter,
    BreakerOpen,
    RobotsUnreachable,
    OutsideTimeWindow,
    /// Too many requests in flight to its address.
    AddressBusy,
}

impl WaitReason {
    /// As a group: "37 in their crawl delay", "1 in its crawl delay".
    pub(crate) fn of_group(self, hosts: u64) -> &'static str {
        match self {
            WaitReason::CrawlDelay | WaitReason::OutsideTimeWindow if hosts == 1 => self.of_one(),
            WaitReason::CrawlDelay => "in their crawl delay",
            WaitReason::BackingOff => "backing off",
            WaitReason::RetryAfter => "in a long pause (Retry-After)",
            WaitReason::BreakerOpen => "with the breaker open",
            WaitReason::RobotsUnreachable => "with robots.txt unreachable",
            WaitReason::OutsideTimeWindow => "outside their time window",
            WaitReason::AddressBusy => "whose address is busy",
        }
    }

    /// For one: "news.example.com: in its crawl delay".
    pub(crate) fn of_one(self) -> &'static str {
        match self {
            WaitReason::CrawlDelay => "in its crawl delay",
            WaitReason::BackingOff => "backing off after errors",
            WaitReason::RetryAfter => "in a long pause (Retry-After)",
            WaitReason::BreakerOpen => "breaker open after failures",
            WaitReason::RobotsUnreachable => "robots.txt unreachable",
            WaitReason::OutsideTimeWindow => "outside its time window",
            WaitReason::AddressBusy => "its address is busy",
        }
    }
}

/// Hosts that wait for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) reason: WaitReason,
    pub(crate) hosts: u64,
    /// Until the first of them is due.
    pub(crate) next_due: Option<Duration>,
}

/// A host with a long wait that holds up the crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingHost {
    pub(crate) host: String,
    pub(crate) reason: WaitReason,
    pub(crate) due: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// The job's name, or its first seed.
    pub(crate) title: String,
    pub(crate) phase: Phase,
    pub(crate) elapsed: Duration,
    /// Pages with a final response that are stored.
    pub(crate) pages: u64,
    pub(crate) max_pages: Option<u64>,
    /// Pages a second over the last few seconds.
    pub(crate) rate_now: f64,
    pub(crate) rate_overall: f64,
    pub(crate) queued: u64,
    /// Of the queued: URLs with a later due time, and how long until the first of them is due.
    pub(crate) retries: u64,
    pub(crate) next_retry: Option<Duration>,
    pub(crate) in_flight: u64,
    /// Names that are being resolved.
    pub(crate) looked_up: u64,
    /// The URL of the oldest request in flight, if that takes long.
    pub(crate) slow_answer: Option<(String, Duration)>,
    /// URLs that ended without a response.
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Received from the network.
    pub(crate) bytes: u64,
    /// None if only the workers of a cluster know.
    pub(crate) hosts_active: Option<u64>,
    pub(crate) waiting: Vec<Waiting>,
    /// The hosts with the longest waits, longest first.
    pub(crate) slowest: Vec<WaitingHost>,
}

impl Snapshot {
    pub(crate) fn hosts_waiting(&self) -> u64 {
        self.waiting.iter().map(|waiting| waiting.hosts).sum()
    }
}
