//! The two clocks of a fetch: the wall for records, the monotonic one for lengths of time.

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

/// The moment at which a request begins, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    instant: Instant,
    since_epoch: Duration,
}

impl Start {
    pub fn now() -> Start {
        // In this order: what lies between the two readings makes an end later, never earlier.
        let instant = Instant::now();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Start { instant, since_epoch }
    }

    /// As the request's record has it.
    pub fn at(&self) -> Millis {
        Millis(u64::try_from(self.since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Takes the times of one fetch. The wall clock is read once: its end is the start plus what the monotonic clock
/// says, so that a step of the wall clock makes no fetch of negative length.
pub(crate) struct Stopwatch {
    pub(crate) began: Instant,
    timings: FetchTimings,
    /// What the start in whole milliseconds leaves out: the end must not seem earlier than it was.
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

    /// Ends a stage and begins the next; returns the length of the ended one.
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

    /// The end of a fetch that failed: what it was waiting for counts as long as it waited.
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
