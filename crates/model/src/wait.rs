//! Why a host is paused.

use serde::{Deserialize, Serialize};

/// What a host is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    CrawlDelay,
    /// It asked for a short wait with `Retry-After`.
    RetryAfter,
    /// Its circuit breaker is open after failures in a row.
    BreakerOpen,
    /// Too many of its responses were errors.
    Suspended,
    /// It asked for a long wait with `Retry-After`.
    Parked,
    /// robots.txt failed and is retried.
    RobotsRetry,
    /// robots.txt failed and was retried as often as allowed.
    RobotsUnreachable,
    /// Its time window is closed.
    OutsideWindow,
    /// Its name could not be resolved; the lookup will be retried.
    DnsRetry,
}

impl WaitReason {
    /// "a.test is waiting: ..."
    pub fn words(self) -> &'static str {
        match self {
            WaitReason::CrawlDelay => "in its crawl delay",
            WaitReason::RetryAfter => "paused by Retry-After",
            WaitReason::BreakerOpen => "circuit breaker open after failures in a row",
            WaitReason::Suspended => "suspended after too many errors",
            WaitReason::Parked => "long pause by Retry-After",
            WaitReason::RobotsRetry => "robots.txt unreachable; retrying",
            WaitReason::RobotsUnreachable => "robots.txt unreachable",
            WaitReason::OutsideWindow => "outside its time window",
            WaitReason::DnsRetry => "DNS lookup failed; retrying",
        }
    }

    /// Whether the wait may be so long that a crawl ends instead of waiting.
    pub fn blocks(self) -> bool {
        matches!(self, WaitReason::RobotsUnreachable | WaitReason::Parked)
    }
}
