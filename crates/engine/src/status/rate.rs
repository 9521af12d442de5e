//! The rate over the last few seconds, from a counter that is sampled now and then.

use std::collections::VecDeque;
use std::time::Duration;

/// The length of the window.
const WINDOW: Duration = Duration::from_secs(5);
/// However often it is sampled, no more samples than this are kept.
const SPACING: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default)]
pub struct RateMeter {
    /// (when, count), oldest first; the first is at least [`WINDOW`] old if there is one that old.
    samples: VecDeque<(Duration, u64)>,
}

impl RateMeter {
    /// Records the count and returns its growth per second over the window.
    pub fn sample(&mut self, elapsed: Duration, count: u64) -> f64 {
        if self.samples.back().is_none_or(|(last, _)| elapsed >= *last + SPACING) {
            self.samples.push_back((elapsed, count));
        }
        while self.samples.get(1).is_some_and(|(second, _)| elapsed >= *second + WINDOW) {
            self.samples.pop_front();
        }
        let Some((since, before)) = self.samples.front() else { return 0.0 };
        let seconds = elapsed.saturating_sub(*since).as_secs_f64();
        if seconds > 0.0 { count.saturating_sub(*before) as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.sample(ms(0), 0), 0.0);
        assert_eq!(meter.sample(ms(1000), 100), 100.0);
        for second in 2..=20 {
            meter.sample(ms(second * 1000), 100);
        }
        assert_eq!(meter.sample(ms(20_000), 100), 0.0);
        assert_eq!(meter.sample(ms(21_000), 150), 10.0);
    }

    #[test]
    fn asking_often_costs_bounded_memory() {
        let mut meter = RateMeter::default();
        for n in 0..100_000 {
            meter.sample(ms(n), n);
        }
        assert!(meter.samples.len() <= 53, "{}", meter.samples.len());
        assert!((meter.sample(ms(100_000), 100_000) - 1000.0).abs() < 25.0);
    }
}
