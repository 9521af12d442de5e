//! The politeness state of one host in one record: when the next request is allowed, why the host is paused, how it has
//! responded. The frontier owns it, counts requests in flight itself, and stores the record with every batch.

use crate::codec::{Reader, put_number};
use crate::{Adaptive, Alert, AnswerClass, Breaker, Gate, HostRules, PolitenessError, RetryAfter};
use argiope_model::{FailureKind, Millis, RequestKind, WaitReason};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::time::Duration;

/// How a request to the host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// Any status, errors included.
    Status(u16),
    /// There was no complete response.
    Failed(FailureKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerOutcome {
    pub request: RequestKind,
    /// From the start of the request to its first byte or its failure.
    pub latency: Duration,
    pub result: AnswerResult,
    /// The value that [`crate::parse_retry_after`] read from the header.
    pub retry_after: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParkReason {
    /// The host asked for a wait so long that it is reported.
    RetryAfter,
    /// robots.txt is unreachable.
    RobotsUnreachable,
}

impl From<ParkReason> for WaitReason {
    fn from(reason: ParkReason) -> WaitReason {
        match reason {
            ParkReason::RetryAfter => WaitReason::Parked,
            ParkReason::RobotsUnreachable => WaitReason::RobotsUnreachable,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub until: Millis,
    pub reason: ParkReason,
}

/// Events that the caller should report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    pub alert: Option<Alert>,
    pub parked: Option<Parked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub until: Millis,
    pub reason: WaitReason,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    next_allowed: Millis,
    /// Where the delay starts: at the end of the last response, or, with several requests in flight, at the last start.
    /// A delay that grows during the wait is counted from there, too.
    free_since: Millis,
    /// The end of a `Retry-After` that did not park the host. A wait that ends no later than the delay is not shown
    /// separately.
    asked_until: Millis,
    parked: Option<Parked>,
    /// The delay from the host's robots.txt; http and https share the longer one.
    crawl_delay_ms: Option<u32>,
    adaptive: Adaptive,
    breaker: Breaker,
}

impl HostState {
    /// A request has started. With several in flight the delay runs from start to start; with one, the end of the
    /// response sets a later time.
    pub fn started(&mut self, at: Millis, base_delay: Duration) {
        self.free_since = self.free_since.max(at);
        self.next_allowed = self.next_allowed.max(at + self.adaptive.stretch(base_delay));
    }

    /// Whether the delay is over at `now`. It is `delay` now, and may have been shorter when the wait for it began.
    pub fn keeps(&mut self, delay: Duration, now: Millis) -> bool {
        self.next_allowed = self.next_allowed.max(self.free_after(delay));
        self.next_allowed <= now
    }

    /// When a delay is over. Without a delay there is no wait: the end of a response, rounded up to whole milliseconds,
    /// is over when it is reported.
    fn free_after(&self, delay: Duration) -> Millis {
        if delay.is_zero() { Millis(0) } else { self.free_since + delay }
    }

    /// Sets the delay, also for the current wait. Pauses that the host itself asked for stay.
    pub fn change_delay(&mut self, delay: Duration) {
        self.next_allowed = self.asked_until.max(self.free_after(delay));
    }

    /// A request has ended, with or without a response. robots.txt and redirect hops are requests like any other.
    /// `base_delay` and `per_host` are the configured values for the jobs involved.
    pub fn answered(
        &mut self,
        ended: Millis,
        outcome: &AnswerOutcome,
        rules: &HostRules,
        base_delay: Duration,
        per_host: NonZeroU32,
    ) -> Reaction {
        self.adapt(outcome, rules, base_delay);
        let alert = self.judge(ended, outcome, rules);
        if per_host.get() == 1 {
            self.free_since = self.free_since.max(ended);
            self.next_allowed = self.next_allowed.max(self.free_after(self.adaptive.stretch(base_delay)));
        }
        Reaction { alert, parked: self.obey_retry_after(ended, outcome, rules) }
    }

    fn adapt(&mut self, outcome: &AnswerOutcome, rules: &HostRules, base_delay: Duration) {
        let class = match outcome.result {
            AnswerResult::Status(status) => AnswerClass::of_status(status),
            // Without a response there is no latency to judge; the breaker handles failures.
            AnswerResult::Failed(FailureKind::Timeout) => AnswerClass::Plain,
            AnswerResult::Failed(FailureKind::Status(status)) => AnswerClass::of_status(status),
            AnswerResult::Failed(_) => return,
        };
        self.adaptive.observe(outcome.latency, class, base_delay, rules.adaptive());
    }

    /// An unreachable robots.txt has its own policy and does not count as a failure here.
    fn judge(&mut self, ended: Millis, outcome: &AnswerOutcome, rules: &HostRules) -> Option<Alert> {
        let kind = match outcome.result {
            AnswerResult::Status(status) => FailureKind::Status(status),
            AnswerResult::Failed(kind) => kind,
        };
        if kind.counts_for_breaker() {
            let counted = outcome.request != RequestKind::Robots;
            return counted.then(|| self.breaker.on_failure(ended, rules.breaker())).flatten();
        }
        // Any response shows that the host is up. The other failures show nothing.
        if matches!(outcome.result, AnswerResult::Status(_)) {
            self.breaker.on_success(ended, rules.breaker());
        }
        None
    }

    /// Applies a `Retry-After` to the whole host. Reporting the same response twice is harmless.
    pub fn obey_retry_after(
        &mut self,
        ended: Millis,
        outcome: &AnswerOutcome,
        rules: &HostRules,
    ) -> Option<Parked> {
        match RetryAfter::classify(outcome.retry_after?, ended, rules.park_over()) {
            RetryAfter::Wait(until) => {
                self.next_allowed = self.next_allowed.max(until);
                self.asked_until = self.asked_until.max(until);
                None
            }
            RetryAfter::Park(until) => Some(self.park(until, ParkReason::RetryAfter)),
        }
    }

    /// Parks the host, or extends its pause.
    pub fn park(&mut self, until: Millis, reason: ParkReason) -> Parked {
        let parked = match self.parked {
            Some(already) if already.until >= until => already,
            _ => Parked { until, reason },
        };
        self.parked = Some(parked);
        parked
    }

    pub fn unpark(&mut self) {
        self.parked = None;
    }

    /// Forgets the failures of the host: its breaker and a suspension. Delays, and pauses that the host asked for,
    /// stay. Returns whether there was anything to forget.
    pub fn forget_failures(&mut self) -> bool {
        std::mem::take(&mut self.breaker) != Breaker::default()
    }

    pub fn parked(&self, now: Millis) -> Option<Parked> {
        self.parked.filter(|parked| parked.until > now)
    }

    /// After an unclean stop nobody knows when the last request ended, so the full delay starts again.
    pub fn after_unclean_stop(&mut self, start: Millis, full_delay: Duration) {
        self.started(start, full_delay);
    }

    /// The first moment, `now` or later, at which the next request may start.
    pub fn ready_at(&self, now: Millis, rules: &HostRules) -> Millis {
        self.wait(now, rules).map_or(now, |wait| wait.until)
    }

    /// The longest of the host's current waits, if it has to wait.
    pub fn wait(&self, now: Millis, rules: &HostRules) -> Option<Wait> {
        let is_asked_for = self.next_allowed <= self.asked_until;
        let reason = if is_asked_for { WaitReason::RetryAfter } else { WaitReason::CrawlDelay };
        let delay = Wait { until: self.next_allowed, reason };
        let parked = self.parked.map(|parked| Wait { until: parked.until, reason: parked.reason.into() });
        let breaker = match self.breaker.allows(now) {
            Gate::Shut { until, suspended: true } => Some(Wait { until, reason: WaitReason::Suspended }),
            Gate::Shut { until, suspended: false } => Some(Wait { until, reason: WaitReason::BreakerOpen }),
            Gate::Open | Gate::Probe => None,
        };
        let longest = [Some(delay), parked, breaker]
            .into_iter()
            .flatten()
            .filter(|wait| wait.until > now)
            .max_by_key(|wait| wait.until);
        let free = longest.map_or(now, |wait| wait.until);
        let opens = rules.windows().opens_at(free);
        if opens > free { Some(Wait { until: opens, reason: WaitReason::OutsideWindow }) } else { longest }
    }

    /// Whether only a single request may be sent, to probe a host that has been failing.
    pub fn gate(&self, now: Millis) -> Gate {
        self.breaker.allows(now)
    }

    /// The delay now: `base_delay`, or longer if the host's responses call for it.
    pub fn delay(&self, base_delay: Duration) -> Duration {
        self.adaptive.stretch(base_delay)
    }

    pub fn next_allowed(&self) -> Millis {
        self.next_allowed
    }

    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay_ms.map(|ms| Duration::from_millis(ms.into()))
    }

    pub fn set_crawl_delay(&mut self, delay: Option<Duration>) {
        self.crawl_delay_ms =
            delay.map(|delay| u32::try_from(delay.as_micros().div_ceil(1000)).unwrap_or(u32::MAX));
    }

    /// Takes the longer of two: for a host that serves http and https with a robots.txt each.
    pub fn raise_crawl_delay(&mut self, delay: Option<Duration>) {
        self.set_crawl_delay(self.crawl_delay().max(delay));
    }
}

const VERSION: u8 = 2;
/// Does not distinguish the delay from pauses that the host asked for: treats all of the wait as asked for.
const WITHOUT_ASKED: u8 = 1;

/// The stored form: version, times as variable-length numbers, and the two parts that have state only if they have any.
/// A host that responds well takes about 30 bytes.
impl HostState {
    pub fn encode(&self, to: &mut Vec<u8>) {
        let parked = match self.parked.map(|parked| parked.reason) {
            None => 0,
            Some(ParkReason::RetryAfter) => 1,
            Some(ParkReason::RobotsUnreachable) => 2,
        };
        let adaptive = self.adaptive != Adaptive::default();
        let breaker = self.breaker != Breaker::default();
        let flags = parked
            | u8::from(self.crawl_delay_ms.is_some()) << 2
            | u8::from(adaptive) << 3
            | u8::from(breaker) << 4
            | u8::from(self.free_since != Millis(0)) << 5
            | u8::from(self.asked_until != Millis(0)) << 6;
        to.extend_from_slice(&[VERSION, flags]);
        put_number(to, self.next_allowed.0);
        if let Some(parked) = self.parked {
            put_number(to, parked.until.0);
        }
        if let Some(ms) = self.crawl_delay_ms {
            put_number(to, ms.into());
        }
        if adaptive {
            self.adaptive.encode(to);
        }
        if breaker {
            self.breaker.encode(to);
        }
        if self.free_since != Millis(0) {
            put_number(to, self.free_since.0);
        }
        if self.asked_until != Millis(0) {
            put_number(to, self.asked_until.0);
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<HostState, PolitenessError> {
        let mut from = Reader::new(bytes);
        let version = from.byte()?;
        if !(WITHOUT_ASKED..=VERSION).contains(&version) {
            return Err(from.error("unknown version; it was written by a newer program"));
        }
        let flags = from.byte()?;
        if flags >> 7 != 0 || (version == WITHOUT_ASKED && flags >> 6 != 0) {
            return Err(from.error("unknown flags"));
        }
        let next_allowed = Millis(from.number()?);
        let reason = match flags & 3 {
            0 => None,
            1 => Some(ParkReason::RetryAfter),
            2 => Some(ParkReason::RobotsUnreachable),
            _ => return Err(from.error("unknown reason for parking")),
        };
        let parked = match reason {
            Some(reason) => Some(Parked { until: Millis(from.number()?), reason }),
            None => None,
        };
        let crawl_delay_ms = if flags & 4 != 0 { Some(from.small()?) } else { None };
        let adaptive = if flags & 8 != 0 { Adaptive::decode(&mut from)? } else { Adaptive::default() };
        let breaker = if flags & 16 != 0 { Breaker::decode(&mut from)? } else { Breaker::default() };
        let free_since = if flags & 32 != 0 { Millis(from.number()?) } else { Millis(0) };
        let asked_until = match version {
            WITHOUT_ASKED => next_allowed,
            _ if flags & 64 != 0 => Millis(from.number()?),
            _ => Millis(0),
        };
        from.end()?;
        Ok(HostState { next_allowed, free_since, asked_until, parked, crawl_delay_ms, adaptive, breaker })
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
