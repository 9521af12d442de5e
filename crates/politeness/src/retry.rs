//! What to do with a visit whose request failed: retry later, give up, or store the failure as final.

use argiope_model::FailureKind;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    After(Duration),
    /// Retried as often as allowed: kept for a person to look at.
    DeadLetter,
    /// Another attempt would end the same way.
    Final,
}

/// The retries after a kind of failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrySteps {
    pub times: u8,
    pub first_after: Duration,
    /// Each wait is the previous one times this.
    pub growth: f64,
}

impl RetrySteps {
    /// The upper limit of a wait.
    const LONGEST: Duration = Duration::from_secs(24 * 3600);

    fn wait(&self, retries_made: u8) -> Option<Duration> {
        if retries_made >= self.times {
            return None;
        }
        let seconds = self.first_after.as_secs_f64() * self.growth.max(1.0).powi(i32::from(retries_made));
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Self::LONGEST).min(Self::LONGEST))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// 429 and 503.
    pub busy: RetrySteps,
    /// Other 5xx.
    pub server_error: RetrySteps,
    /// Timeouts, and connections refused, broken or not secured.
    pub no_answer: RetrySteps,
    /// Each wait varies by up to this share of itself, so that retries do not run in step.
    pub jitter: f64,
    /// Upper bound for all of the above.
    pub max_retries: u8,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        let steady =
            |times, seconds| RetrySteps { times, first_after: Duration::from_secs(seconds), growth: 1.0 };
        RetryPolicy {
            busy: RetrySteps { times: 3, first_after: Duration::from_secs(30), growth: 2.0 },
            server_error: steady(2, 10),
            no_answer: steady(1, 15),
            jitter: 0.25,
            max_retries: u8::MAX,
        }
    }
}

impl RetryPolicy {
    pub fn never() -> RetryPolicy {
        RetryPolicy { max_retries: 0, ..RetryPolicy::default() }
    }

    /// `retries_made` is 0 after the first attempt; `chance` is a random number in [0, 1).
    pub fn decide(&self, kind: FailureKind, retries_made: u8, chance: f64) -> Next {
        let Some(steps) = self.steps(kind) else { return Next::Final };
        match steps.wait(retries_made).filter(|_| retries_made < self.max_retries) {
            Some(wait) => Next::After(self.jittered(wait, chance)),
            None => Next::DeadLetter,
        }
    }

    fn steps(&self, kind: FailureKind) -> Option<&RetrySteps> {
        match kind {
            FailureKind::Status(429 | 503) => Some(&self.busy),
            FailureKind::Status(500..=599) => Some(&self.server_error),
            FailureKind::Timeout
            | FailureKind::Connect
            | FailureKind::Reset
            | FailureKind::Tls
            | FailureKind::Protocol => Some(&self.no_answer),
            FailureKind::Status(_)
            | FailureKind::NameNotFound
            | FailureKind::NameUnresolved
            | FailureKind::TooManyRedirects
            | FailureKind::AddressRefused => None,
        }
    }

    fn jittered(&self, wait: Duration, chance: f64) -> Duration {
        let factor = 1.0 + self.jitter.clamp(0.0, 1.0) * (2.0 * chance.clamp(0.0, 1.0) - 1.0);
        Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of `chance` that leaves waits unchanged.
    const MIDDLE: f64 = 0.5;

    fn waits(kind: FailureKind) -> Vec<Next> {
        (0..4).map(|made| RetryPolicy::default().decide(kind, made, MIDDLE)).collect()
    }

    fn after(seconds: u64) -> Next {
        Next::After(Duration::from_secs(seconds))
    }

    #[test]
    fn a_busy_host_is_tried_three_times_with_doubling_waits() {
        for status in [429, 503] {
            assert_eq!(
                waits(FailureKind::Status(status)),
                [after(30), after(60), after(120), Next::DeadLetter]
            );
        }
    }

    #[test]
    fn other_server_errors_are_tried_twice_and_broken_connections_once() {
        let dead = Next::DeadLetter;
        for status in [500, 502, 504] {
            assert_eq!(waits(FailureKind::Status(status)), [after(10), after(10), dead, dead]);
        }
        for kind in [FailureKind::Timeout, FailureKind::Connect, FailureKind::Reset, FailureKind::Tls] {
            assert_eq!(waits(kind), [after(15), dead, dead, dead], "{kind:?}");
        }
    }

    #[test]
    fn client_errors_and_unknown_names_are_final() {
        for kind in [
            FailureKind::Status(404),
            FailureKind::Status(410),
            FailureKind::Status(999),
            FailureKind::NameNotFound,
            FailureKind::NameUnresolved,
            FailureKind::AddressRefused,
        ] {
            assert_eq!(waits(kind), [Next::Final; 4], "{kind:?}");
        }
    }

    #[test]
    fn waits_vary_by_a_quarter_either_way() {
        let policy = RetryPolicy::default();
        let wait = |chance| policy.decide(FailureKind::Status(503), 0, chance);
        assert_eq!(wait(0.0), Next::After(Duration::from_millis(22_500)));
        assert_eq!(wait(0.5), after(30));
        assert_eq!(wait(1.0), Next::After(Duration::from_millis(37_500)));
    }

    #[test]
    fn the_number_of_retries_can_be_bounded() {
        let policy = RetryPolicy { max_retries: 1, ..RetryPolicy::default() };
        assert_eq!(policy.decide(FailureKind::Status(503), 0, MIDDLE), after(30));
        assert_eq!(policy.decide(FailureKind::Status(503), 1, MIDDLE), Next::DeadLetter);
        assert_eq!(RetryPolicy::never().decide(FailureKind::Timeout, 0, MIDDLE), Next::DeadLetter);
    }
}
