//! The two clocks of a fetch: the wall clock for records, the monotonic clock for durations.

use argiope_model::{FetchTimings, Millis};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

pub(crate) fn now() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}

pub(crate) fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// When a request starts, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    instant: Instant,
    since_epoch: Duration,
}

impl Start {
    pub fn now() -> Start {
        // In this order: the time between the two readings makes the end later, never earlier.
        let instant = Instant::now();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Start { instant, since_epoch }
    }

    /// The time for the request's record.
    pub fn at(&self) -> Millis {
        Millis(u64::try_from(self.since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Measures one fetch. The wall clock is read once; the end is the start plus the elapsed monotonic time, so that a step of
/// the wall clock cannot make a duration negative.
pub(crate) struct Stopwatch {
    pub(crate) began: Instant,
    timings: FetchTimings,
    /// The fraction of a millisecond that the recorded start lacks: the end must not be recorded too early.
    rest: Duration,
    /// When the current stage began.
    mark: Instant,
}

impl Stopwatch {
    pub(crate) fn start(start: Start, dns_us: u32) -> Stopwatch {
        let began = start.instant;
        let rest = Duration::from_nanos(u64::from(start.since_epoch.subsec_nanos() % 1_000_000));
        let timings = FetchTimings { started: start.at(), dns_us, ..FetchTimings::default() };
        Stopwatch { began, timings, rest, mark: began }
    }

    /// Ends a stage and starts the next; returns the duration of the ended one.
    fn lap(&mut self) -> u32 {
        let now = Instant::now();
        micros(now.saturating_duration_since(std::mem::replace(&mut self.mark, now)))
    }

    pub(crate) fn restart(&mut self) {
        self.mark = Instant::now();
    }

    pub(crate) fn connected(&mut self) {
        self.timings.connect_us = self.lap();
    }

    pub(crate) fn secured(&mut self) {
        self.timings.tls_us = self.lap();
    }

    pub(crate) fn answered(&mut self) {
        self.timings.first_byte_us = self.lap();
    }

    pub(crate) fn downloaded(&mut self) {
        self.timings.download_us = self.lap();
    }

    /// The end of a failed fetch: the time of the unfinished stage counts as time to first byte.
    pub(crate) fn give_up(&self) -> FetchTimings {
        let waited = micros(self.mark.elapsed());
        let mut timings = self.finish();
        timings.first_byte_us = timings.first_byte_us.saturating_add(waited);
        timings
    }

    pub(crate) fn finish(&self) -> FetchTimings {
        let ended = self.timings.started + (self.rest + self.began.elapsed());
        FetchTimings { ended, ..self.timings }
    }
}
