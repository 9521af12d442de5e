//! Keeps the delay between the starts of requests to one host when several may be in flight. The frontier counts from the
//! dispatch of a request; a busy worker starts it later, and the next request would follow too soon.

use argiope_frontier::HostIndex;
use argiope_model::Millis;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Above this many hosts, old starts are forgotten.
const KEPT: usize = 4096;
/// A start is remembered for at least this long: the delay of a host may grow while the next request waits.
const REMEMBERED: Duration = Duration::from_secs(10);

/// Shared by all workers; used only for hosts with more than one request at a time.
#[derive(Debug, Default)]
pub(crate) struct RequestStarts {
    last: Mutex<LastStarts>,
}

#[derive(Debug, Default)]
struct LastStarts {
    hosts: HashMap<HostIndex, LastStart>,
    /// With this many hosts, old starts are forgotten.
    crowded_at: usize,
}

#[derive(Debug)]
struct LastStart {
    at: Millis,
    delay: Duration,
}

impl RequestStarts {
    /// Claims a start now for a request with this `delay`, or returns when to try again. The clock is read under the lock, so
    /// that starts are in the order of the claims.
    pub(crate) fn begin<T>(
        &self,
        host: HostIndex,
        delay: Duration,
        clock: impl FnOnce() -> (Millis, T),
    ) -> Result<T, Millis> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, start) = clock();
        let mut at = now;
        if let Some(before) = last.hosts.get(&host) {
            // Its own delay, not that of the previous request: they may differ.
            let due = before.at + delay;
            if !delay.is_zero() && due > now {
                return Err(due);
            }
            at = at.max(before.at);
        }
        last.forget_if_crowded(now);
        last.hosts.insert(host, LastStart { at, delay });
        Ok(start)
    }
}

impl LastStarts {
    fn forget_if_crowded(&mut self, now: Millis) {
        if self.hosts.len() >= self.crowded_at.max(KEPT) {
            self.hosts.retain(|_, last| last.at + last.delay.max(REMEMBERED) > now);
            self.crowded_at = 2 * self.hosts.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(starts: &RequestStarts, host: HostIndex, delay_ms: u64, now: u64) -> Result<(), Millis> {
        starts.begin(host, Duration::from_millis(delay_ms), || (Millis(now), ()))
    }

    #[test]
    fn starts_are_a_delay_apart_however_late_the_first_one_was() {
        let starts = RequestStarts::default();
        assert_eq!(begin(&starts, 1, 10, 107), Ok(()));
        assert_eq!(begin(&starts, 1, 10, 110), Err(Millis(117)));
        assert_eq!(begin(&starts, 2, 10, 110), Ok(()));
        assert_eq!(begin(&starts, 1, 10, 117), Ok(()));
    }

    #[test]
    fn a_request_keeps_its_own_delay_from_one_that_had_another() {
        let starts = RequestStarts::default();
        assert_eq!(begin(&starts, 1, 0, 100), Ok(()));
        assert_eq!(begin(&starts, 1, 150, 105), Err(Millis(250)));
        assert_eq!(begin(&starts, 1, 0, 105), Ok(()));
        assert_eq!(begin(&starts, 1, 150, 250), Err(Millis(255)));
        assert_eq!(begin(&starts, 1, 150, 255), Ok(()));
        assert_eq!(begin(&starts, 1, 10, 265), Ok(()));
    }

    #[test]
    fn hosts_that_began_long_ago_are_forgotten() {
        let starts = RequestStarts::default();
        for host in 0..100_000 {
            assert_eq!(begin(&starts, host, 1, u64::from(host) * 10), Ok(()));
        }
        assert!(starts.last.lock().unwrap().hosts.len() <= KEPT);
    }
}
