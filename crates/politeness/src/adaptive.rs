//! Adapts the delay to a host's responses: longer when they are slow, fail, or return 429; shorter again when they are
//! fast, but never below the configured delay.
//!
//! The mean covers the last 91 to 100 responses: they are summed in ten buckets of ten, and the oldest bucket is
//! dropped when a new one starts. That keeps the state of a host in 48 bytes, where a hundred latencies would take 200.

use crate::PolitenessError;
use crate::codec::{Reader, put_number};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const BUCKETS: usize = 10;
const ANSWERS_PER_BUCKET: u8 = 10;

#[derive(Clone, Debug, PartialEq)]
pub struct AdaptivePolicy {
    pub enabled: bool,
    /// A mean above this slows down.
    pub slow_above: Duration,
    /// A mean below this speeds up.
    pub fast_below: Duration,
    /// The rate is multiplied by this when responses are slow.
    pub slow_factor: f64,
    /// The rate is multiplied by this when responses are fast.
    pub fast_factor: f64,
    /// The rate is divided by this on a 5xx.
    pub server_error_divisor: f64,
    /// The rate is divided by this on a 429.
    pub too_many_requests_divisor: f64,
    /// With fewer responses than this the mean is not used.
    pub minimum_answers: u8,
    /// Responses cannot raise the delay beyond this; a longer configured delay stays as it is.
    pub longest_delay: Duration,
}

impl Default for AdaptivePolicy {
    fn default() -> AdaptivePolicy {
        AdaptivePolicy {
            enabled: true,
            slow_above: Duration::from_secs(2),
            fast_below: Duration::from_millis(500),
            slow_factor: 0.9,
            fast_factor: 1.1,
            server_error_divisor: 1.5,
            too_many_requests_divisor: 2.0,
            minimum_answers: 10,
            longest_delay: Duration::from_secs(10),
        }
    }
}

/// The first delay when slowing down a host without delay, and the lowest when speeding up: ten requests a second.
const SHORTEST_STRETCH_MS: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerClass {
    /// A response judged by its latency: anything but the two below, timeouts included.
    Plain,
    /// 5xx.
    ServerError,
    /// 429.
    TooManyRequests,
}

impl AnswerClass {
    pub fn of_status(status: u16) -> AnswerClass {
        match status {
            429 => AnswerClass::TooManyRequests,
            500..=599 => AnswerClass::ServerError,
            _ => AnswerClass::Plain,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// The current delay in milliseconds; 0 means the configured one.
    delay_ms: f32,
    /// Sums of latency in milliseconds; the bucket at `current` is being filled.
    sums_ms: [u32; BUCKETS],
    current: u8,
    in_current: u8,
    /// Full buckets besides the current one, at most nine.
    full: u8,
}

impl Adaptive {
    /// Records a response. `base_delay` is the configured delay of this host at this moment.
    pub fn observe(
        &mut self,
        latency: Duration,
        class: AnswerClass,
        base_delay: Duration,
        policy: &AdaptivePolicy,
    ) {
        if !policy.enabled {
            return;
        }
        self.push(latency);
        let divisor = match class {
            AnswerClass::ServerError => policy.server_error_divisor,
            AnswerClass::TooManyRequests => policy.too_many_requests_divisor,
            AnswerClass::Plain => match self.mean(policy.minimum_answers) {
                Some(mean) if mean > policy.slow_above => 1.0 / policy.slow_factor,
                Some(mean) if mean < policy.fast_below => 1.0 / policy.fast_factor,
                _ => return,
            },
        };
        self.scale(divisor, base_delay, policy.longest_delay);
    }

    fn scale(&mut self, by: f64, base_delay: Duration, longest: Duration) {
        let base = base_delay.as_secs_f64() * 1000.0;
        let from = f64::from(self.delay_ms).max(base);
        let to = if by > 1.0 {
            let longest = longest.as_secs_f64() * 1000.0;
            (from.max(SHORTEST_STRETCH_MS) * by).min(longest.max(from))
        } else {
            from * by
        };
        let stretched = to > base && (by > 1.0 || to > SHORTEST_STRETCH_MS);
        self.delay_ms = if stretched { to as f32 } else { 0.0 };
    }

    /// The delay to use now: the configured one, or longer.
    pub fn stretch(&self, base_delay: Duration) -> Duration {
        Duration::try_from_secs_f32(self.delay_ms / 1000.0).unwrap_or_default().max(base_delay)
    }

    /// None until there are enough responses.
    pub fn mean(&self, minimum_answers: u8) -> Option<Duration> {
        let answers = u64::from(self.full) * u64::from(ANSWERS_PER_BUCKET) + u64::from(self.in_current);
        if answers < u64::from(minimum_answers.max(1)) {
            return None;
        }
        let sum: u64 = self.sums_ms.iter().map(|sum| u64::from(*sum)).sum();
        Some(Duration::from_micros(sum * 1000 / answers))
    }

    fn push(&mut self, latency: Duration) {
        if self.in_current >= ANSWERS_PER_BUCKET {
            self.current = (self.current + 1) % BUCKETS as u8;
            self.in_current = 0;
            self.full = (self.full + 1).min(BUCKETS as u8 - 1);
            if let Some(sum) = self.sums_ms.get_mut(usize::from(self.current)) {
                *sum = 0;
            }
        }
        let ms = u32::try_from(latency.as_millis()).unwrap_or(u32::MAX);
        if let Some(sum) = self.sums_ms.get_mut(usize::from(self.current)) {
            *sum = sum.saturating_add(ms);
        }
        self.in_current += 1;
    }

    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        put_number(to, u64::from(self.delay_ms.to_bits().swap_bytes()));
        to.extend_from_slice(&[self.current, self.in_current, self.full]);
        for sum in &self.sums_ms {
            put_number(to, u64::from(*sum));
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Adaptive, PolitenessError> {
        let delay_ms = f32::from_bits(from.small::<u32>()?.swap_bytes());
        if !delay_ms.is_finite() || delay_ms < 0.0 {
            return Err(from.error("delay is not a number of milliseconds"));
        }
        let (current, in_current, full) = (from.byte()?, from.byte()?, from.byte()?);
        if usize::from(current) >= BUCKETS || in_current > ANSWERS_PER_BUCKET || usize::from(full) >= BUCKETS
        {
            return Err(from.error("latency buckets out of range"));
        }
        let mut sums_ms = [0; BUCKETS];
        for sum in &mut sums_ms {
            *sum = from.small()?;
        }
        Ok(Adaptive { delay_ms, sums_ms, current, in_current, full })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_secs(1);
    const SLOW: Duration = Duration::from_secs(3);
    const FAST: Duration = Duration::from_millis(100);

    fn after(answers: &[(Duration, AnswerClass, usize)]) -> Adaptive {
        let mut adaptive = Adaptive::default();
        for (latency, class, times) in answers {
            for _ in 0..*times {
                adaptive.observe(*latency, *class, BASE, &AdaptivePolicy::default());
            }
        }
        adaptive
    }

    fn about(is: Duration, seconds: f64) -> bool {
        (is.as_secs_f64() - seconds).abs() < 0.001 * seconds
    }

    #[test]
    fn nothing_is_concluded_from_fewer_than_ten_answers() {
        assert_eq!(after(&[(SLOW, AnswerClass::Plain, 9)]).stretch(BASE), BASE);
        assert!(about(after(&[(SLOW, AnswerClass::Plain, 10)]).stretch(BASE), 1.0 / 0.9));
        assert!(about(after(&[(SLOW, AnswerClass::Plain, 11)]).stretch(BASE), 1.0 / 0.81));
    }

    #[test]
    fn errors_count_at_once() {
        assert!(about(after(&[(FAST, AnswerClass::ServerError, 1)]).stretch(BASE), 1.5));
        assert!(about(after(&[(FAST, AnswerClass::TooManyRequests, 2)]).stretch(BASE), 4.0));
    }

    #[test]
    fn the_rate_never_falls_below_one_in_ten_seconds() {
        assert!(about(after(&[(FAST, AnswerClass::TooManyRequests, 50)]).stretch(BASE), 10.0));
        let mut adaptive = Adaptive::default();
        let base = Duration::from_secs(30);
        adaptive.observe(FAST, AnswerClass::TooManyRequests, base, &AdaptivePolicy::default());
        assert_eq!(adaptive.stretch(base), base);
    }

    #[test]
    fn quick_answers_lead_back_to_the_delay_of_the_rules_and_no_further() {
        let slowed = [(FAST, AnswerClass::TooManyRequests, 1)];
        let partly = after(&[slowed[0], (FAST, AnswerClass::Plain, 10)]).stretch(BASE);
        assert!(partly > BASE && partly < Duration::from_secs(2), "{partly:?}");
        assert_eq!(after(&[slowed[0], (FAST, AnswerClass::Plain, 30)]).stretch(BASE), BASE);
        assert_eq!(after(&[(FAST, AnswerClass::Plain, 500)]).stretch(BASE), BASE);
    }

    #[test]
    fn answers_of_middling_speed_change_nothing() {
        let middling = Duration::from_secs(1);
        let adaptive = after(&[(FAST, AnswerClass::ServerError, 1), (middling, AnswerClass::Plain, 50)]);
        assert!(about(adaptive.stretch(BASE), 1.5));
    }

    #[test]
    fn only_the_last_hundred_answers_count() {
        let ten_seconds = Duration::from_secs(10);
        let adaptive = after(&[(ten_seconds, AnswerClass::Plain, 100), (FAST, AnswerClass::Plain, 100)]);
        assert_eq!(adaptive.mean(10), Some(FAST));
    }

    #[test]
    fn a_host_without_delay_gets_one_when_it_fails_and_loses_it_again() {
        let mut adaptive = Adaptive::default();
        let policy = AdaptivePolicy::default();
        adaptive.observe(FAST, AnswerClass::ServerError, Duration::ZERO, &policy);
        assert!(about(adaptive.stretch(Duration::ZERO), 0.15));
        for _ in 0..20 {
            adaptive.observe(FAST, AnswerClass::Plain, Duration::ZERO, &policy);
        }
        assert_eq!(adaptive.stretch(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn switched_off_it_changes_nothing() {
        let mut adaptive = Adaptive::default();
        let off = AdaptivePolicy { enabled: false, ..AdaptivePolicy::default() };
        adaptive.observe(SLOW, AnswerClass::TooManyRequests, BASE, &off);
        assert_eq!(adaptive, Adaptive::default());
    }

    #[test]
    fn the_state_is_small() {
        assert!(size_of::<Adaptive>() <= 64, "{}", size_of::<Adaptive>());
    }
}
