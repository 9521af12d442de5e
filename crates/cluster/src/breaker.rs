//! Decides when to try a failed server again. Pure: the time comes from the caller.

use std::time::{Duration, Instant};

/// What a failure or a success changed, so that an outage is logged once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    None,
    /// The first failure after successes.
    WentAway,
    /// The first success after failures.
    CameBack,
}

/// After this many failures in a row the server is not used for a while.
#[derive(Debug)]
pub(crate) struct Breaker {
    limit: u32,
    pause: Duration,
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    pub(crate) fn new(limit: u32, pause: Duration) -> Breaker {
        Breaker { limit, pause, failures: 0, open_until: None }
    }

    pub(crate) fn may_try(&self, now: Instant) -> bool {
        self.open_until.is_none_or(|until| now >= until)
    }

    /// After the pause a single attempt decides; before it, a few are allowed.
    pub(crate) fn may_try_again(&self) -> bool {
        self.open_until.is_none()
    }

    pub(crate) fn failed(&mut self, now: Instant) -> Turn {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.limit {
            self.open_until = Some(now + self.pause);
        }
        if self.failures == 1 { Turn::WentAway } else { Turn::None }
    }

    pub(crate) fn succeeded(&mut self) -> Turn {
        let turn = if self.failures > 0 { Turn::CameBack } else { Turn::None };
        *self = Breaker::new(self.limit, self.pause);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURES: u32 = 5;
    const PAUSE: Duration = Duration::from_secs(10);

    #[test]
    fn failures_in_a_row_make_a_pause_and_one_try_ends_or_renews_it() {
        let start = Instant::now();
        let mut breaker = Breaker::new(FAILURES, PAUSE);
        assert_eq!(breaker.failed(start), Turn::WentAway);
        for _ in 2..FAILURES {
            assert!(breaker.may_try_again());
            assert_eq!(breaker.failed(start), Turn::None);
        }
        assert!(breaker.may_try(start));
        breaker.failed(start);
        assert!(!breaker.may_try(start));
        assert!(!breaker.may_try(start + PAUSE - Duration::from_millis(1)));
        let later = start + PAUSE;
        assert!(breaker.may_try(later));
        breaker.failed(later);
        assert!(!breaker.may_try_again(), "one try decides");
        assert!(!breaker.may_try(later));
        assert_eq!(breaker.succeeded(), Turn::CameBack);
        assert!(breaker.may_try_again());
        assert_eq!(breaker.succeeded(), Turn::None);
    }

    #[test]
    fn a_success_forgets_the_failures_before_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(FAILURES, PAUSE);
        for _ in 0..10 {
            for _ in 1..FAILURES {
                breaker.failed(now);
            }
            breaker.succeeded();
        }
        assert!(breaker.may_try(now));
    }
}
