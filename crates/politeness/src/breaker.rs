//! The circuit breaker of a host. Five failures in a row open it for a minute; then it lets single requests through as
//! probes, and two successes close it. If more than half of the requests fail within five minutes, the host is
//! suspended and an alert is raised.
//!
//! Errors are counted in five buckets of a fifth of the window each, so that the window covers 80 to 100 % of its
//! length in 24 bytes.

use crate::PolitenessError;
use crate::codec::{Reader, put_number};
use argiope_model::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const BUCKETS: usize = 5;

#[derive(Clone, Debug, PartialEq)]
pub struct BreakerPolicy {
    pub enabled: bool,
    /// Consecutive failures that open it.
    pub failures: u8,
    pub open_for: Duration,
    /// Successes while half-open that close it.
    pub successes: u8,
    /// The window for the share of errors.
    pub window: Duration,
    /// Above this share of errors, 0 to 1, the host is suspended.
    pub error_share: f64,
    /// With fewer requests in the window than this, the share is not used.
    pub minimum_requests: u16,
    pub suspend_for: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> BreakerPolicy {
        BreakerPolicy {
            enabled: true,
            failures: 5,
            open_for: Duration::from_secs(60),
            successes: 2,
            window: Duration::from_secs(300),
            error_share: 0.5,
            minimum_requests: 20,
            suspend_for: Duration::from_secs(300),
        }
    }
}

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// Half-open: one request at a time, to check whether the host has recovered.
    Probe,
    Shut {
        until: Millis,
        suspended: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// Failures in a row.
    Opened,
    /// Too large a share of errors: a person should look at it.
    Suspended,
}

/// A change that may interest a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    pub kind: AlertKind,
    pub until: Millis,
    /// Errors and requests in the window.
    pub errors: u32,
    pub requests: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    #[default]
    Closed,
    /// Open until `until`, half-open from then on.
    Opened,
    Suspended,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    until: Millis,
    phase: Phase,
    failures_in_row: u8,
    probe_successes: u8,
    /// The time slot that the bucket at `slot % BUCKETS` counts.
    slot: u32,
    successes: [u16; BUCKETS],
    errors: [u16; BUCKETS],
}

impl Breaker {
    pub fn allows(&self, now: Millis) -> Gate {
        match self.phase {
            Phase::Closed => Gate::Open,
            Phase::Opened | Phase::Suspended if now >= self.until => Gate::Probe,
            phase => Gate::Shut { until: self.until, suspended: phase == Phase::Suspended },
        }
    }

    pub fn on_success(&mut self, now: Millis, policy: &BreakerPolicy) {
        if !policy.enabled {
            *self = Breaker::default();
            return;
        }
        self.count(now, policy, false);
        match self.allows(now) {
            Gate::Open => self.failures_in_row = 0,
            Gate::Probe => {
                self.probe_successes = self.probe_successes.saturating_add(1);
                if self.probe_successes >= policy.successes {
                    *self = Breaker::default();
                }
            }
            // The response to a request that was in flight when the breaker opened: no sign of recovery.
            Gate::Shut { .. } => {}
        }
    }

    pub fn on_failure(&mut self, now: Millis, policy: &BreakerPolicy) -> Option<Alert> {
        if !policy.enabled {
            *self = Breaker::default();
            return None;
        }
        self.count(now, policy, true);
        match self.allows(now) {
            Gate::Shut { .. } => None,
            Gate::Probe => Some(self.shut(Phase::Opened, now, policy)),
            Gate::Open => {
                self.failures_in_row = self.failures_in_row.saturating_add(1);
                if self.too_many_errors(policy) {
                    Some(self.shut(Phase::Suspended, now, policy))
                } else if self.failures_in_row >= policy.failures {
                    Some(self.shut(Phase::Opened, now, policy))
                } else {
                    None
                }
            }
        }
    }

    fn shut(&mut self, phase: Phase, now: Millis, policy: &BreakerPolicy) -> Alert {
        let (errors, requests) = self.window();
        self.phase = phase;
        self.failures_in_row = 0;
        self.probe_successes = 0;
        let (kind, lasts) = match phase {
            Phase::Suspended => (AlertKind::Suspended, policy.suspend_for),
            Phase::Opened | Phase::Closed => (AlertKind::Opened, policy.open_for),
        };
        self.until = now + lasts;
        Alert { kind, until: self.until, errors, requests }
    }

    fn too_many_errors(&self, policy: &BreakerPolicy) -> bool {
        let (errors, requests) = self.window();
        requests >= u32::from(policy.minimum_requests.max(1))
            && f64::from(errors) > f64::from(requests) * policy.error_share
    }

    /// (errors, requests) in the window.
    fn window(&self) -> (u32, u32) {
        let sum = |counts: &[u16]| counts.iter().map(|count| u32::from(*count)).sum::<u32>();
        let errors = sum(&self.errors);
        (errors, errors + sum(&self.successes))
    }

    fn count(&mut self, now: Millis, policy: &BreakerPolicy, error: bool) {
        let width = u64::try_from(policy.window.as_millis()).unwrap_or(u64::MAX) / BUCKETS as u64;
        // Only differences matter, so the low half of the slot number is enough.
        let slot = (now.0 / width.max(1)) as u32;
        let passed = slot.wrapping_sub(self.slot);
        // If the clock went back, the counts stay as they are.
        if passed <= u32::MAX / 2 {
            for step in 0..passed.min(BUCKETS as u32) {
                let emptied = index(slot.wrapping_sub(step));
                for counts in [&mut self.successes, &mut self.errors] {
                    if let Some(count) = counts.get_mut(emptied) {
                        *count = 0;
                    }
                }
            }
            self.slot = slot;
        }
        let counts = if error { &mut self.errors } else { &mut self.successes };
        if let Some(count) = counts.get_mut(index(self.slot)) {
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let phase = match self.phase {
            Phase::Closed => 0,
            Phase::Opened => 1,
            Phase::Suspended => 2,
        };
        to.extend_from_slice(&[phase, self.failures_in_row, self.probe_successes]);
        put_number(to, self.until.0);
        put_number(to, u64::from(self.slot));
        for count in self.successes.iter().chain(&self.errors) {
            put_number(to, u64::from(*count));
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Breaker, PolitenessError> {
        let phase = match from.byte()? {
            0 => Phase::Closed,
            1 => Phase::Opened,
            2 => Phase::Suspended,
            _ => return Err(from.error("unknown phase of the breaker")),
        };
        let (failures_in_row, probe_successes) = (from.byte()?, from.byte()?);
        let until = Millis(from.number()?);
        let slot = from.small()?;
        let mut breaker =
            Breaker { until, phase, failures_in_row, probe_successes, slot, ..Breaker::default() };
        for count in breaker.successes.iter_mut().chain(&mut breaker.errors) {
            *count = from.small()?;
        }
        Ok(breaker)
    }
}

fn index(slot: u32) -> usize {
    usize::try_from(slot % BUCKETS as u32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> Millis {
        Millis(1_700_000_000_000 + n * 1000)
    }

    fn policy() -> BreakerPolicy {
        BreakerPolicy::default()
    }

    #[test]
    fn five_failures_in_a_row_open_it_for_a_minute() {
        let mut breaker = Breaker::default();
        for n in 0..4 {
            assert_eq!(breaker.on_failure(second(n), &policy()), None);
        }
        breaker.on_success(second(4), &policy());
        for n in 5..9 {
            assert_eq!(breaker.on_failure(second(n), &policy()), None);
        }
        let alert = breaker.on_failure(second(9), &policy()).unwrap();
        assert_eq!((alert.kind, alert.until), (AlertKind::Opened, second(69)));
        assert_eq!((alert.errors, alert.requests), (9, 10));
        assert_eq!(breaker.allows(second(68)), Gate::Shut { until: second(69), suspended: false });
        assert_eq!(breaker.allows(second(69)), Gate::Probe);
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..5 {
            breaker.on_failure(second(0), &policy());
        }
        breaker
    }

    #[test]
    fn two_successes_close_it_again() {
        let mut breaker = opened();
        breaker.on_success(second(60), &policy());
        assert_eq!(breaker.allows(second(60)), Gate::Probe);
        breaker.on_success(second(61), &policy());
        assert_eq!(breaker.allows(second(61)), Gate::Open);
    }

    #[test]
    fn a_failed_probe_opens_it_for_another_minute() {
        let mut breaker = opened();
        breaker.on_success(second(60), &policy());
        let alert = breaker.on_failure(second(61), &policy()).unwrap();
        assert_eq!(alert.until, second(121));
        breaker.on_success(second(121), &policy());
        assert_eq!(breaker.allows(second(121)), Gate::Probe);
    }

    #[test]
    fn answers_that_were_under_way_when_it_opened_change_nothing() {
        let mut breaker = opened();
        breaker.on_success(second(1), &policy());
        breaker.on_success(second(1), &policy());
        assert_eq!(breaker.on_failure(second(2), &policy()), None);
        assert_eq!(breaker.allows(second(3)), Gate::Shut { until: second(60), suspended: false });
    }

    #[test]
    fn more_than_half_failing_in_five_minutes_suspends_with_an_alert() {
        let mut breaker = Breaker::default();
        // With two failures per success there are never five in a row.
        let mut alert = None;
        for n in 0..60 {
            if n % 3 == 0 {
                breaker.on_success(second(n), &policy());
            } else {
                alert = alert.or(breaker.on_failure(second(n), &policy()));
            }
        }
        let alert = alert.unwrap();
        assert_eq!((alert.kind, alert.requests), (AlertKind::Suspended, 20));
        assert!(matches!(breaker.allows(second(60)), Gate::Shut { suspended: true, .. }));
    }

    #[test]
    fn half_failing_is_not_more_than_half() {
        let mut breaker = Breaker::default();
        for n in 0..200 {
            breaker.on_success(second(n), &policy());
            assert_eq!(breaker.on_failure(second(n), &policy()), None);
        }
    }

    #[test]
    fn errors_older_than_the_window_are_forgotten() {
        let mut breaker = Breaker::default();
        for n in 0..10 {
            breaker.on_failure(second(n), &BreakerPolicy { failures: 100, ..policy() });
        }
        breaker.on_success(second(400), &policy());
        assert_eq!(breaker.window(), (0, 1));
    }

    #[test]
    fn a_clock_that_goes_back_does_no_harm() {
        let mut breaker = Breaker::default();
        breaker.on_failure(second(1000), &policy());
        breaker.on_failure(second(0), &policy());
        assert_eq!(breaker.window(), (2, 2));
    }

    #[test]
    fn switched_off_it_never_shuts() {
        let off = BreakerPolicy { enabled: false, ..policy() };
        let mut breaker = opened();
        assert_eq!(breaker.on_failure(second(1), &off), None);
        assert_eq!(breaker.allows(second(1)), Gate::Open);
    }

    #[test]
    fn the_state_is_small() {
        assert!(size_of::<Breaker>() <= 48, "{}", size_of::<Breaker>());
    }
}
