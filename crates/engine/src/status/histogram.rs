//! Durations, counted in buckets by any thread.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const fn millis<const N: usize>(bounds: [u64; N]) -> [Duration; N] {
    let mut durations = [Duration::ZERO; N];
    let mut at = 0;
    while at < N {
        #[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            durations[at] = Duration::from_millis(bounds[at]);
        }
        at += 1;
    }
    durations
}

/// For commits.
pub(crate) static COMMITS: [Duration; 10] = millis([1, 5, 10, 25, 50, 100, 500, 1000, 5000, 30_000]);

/// For a URL from its dispatch to its end.
pub(crate) static CRAWLS: [Duration; 9] = millis([50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000]);

/// For the phases of a fetch.
pub(crate) static PHASES: [Duration; 14] =
    millis([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000]);

#[derive(Debug)]
pub(crate) struct Histogram {
    /// Rising.
    bounds: &'static [Duration],
    /// Observations up to each bound and above the one before; those beyond the last bound come last.
    counts: Vec<AtomicU64>,
    sum_us: AtomicU64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [Duration]) -> Histogram {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram { bounds, counts, sum_us: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, took: Duration) {
        let at = self.bounds.partition_point(|bound| *bound < took);
        if let Some(count) = self.counts.get(at) {
            count.fetch_add(1, Relaxed);
        }
        self.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let bounds = self.bounds.iter().map(|bound| u64::try_from(bound.as_millis()).unwrap_or(u64::MAX));
        Distribution {
            bounds_ms: bounds.collect(),
            counts: self.counts.iter().map(|count| count.load(Relaxed)).collect(),
            sum_us: self.sum_us.load(Relaxed),
        }
    }
}

/// A histogram at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    pub bounds_ms: Vec<u64>,
    /// One more than the bounds: the last is for everything beyond them.
    pub counts: Vec<u64>,
    pub sum_us: u64,
}

impl Distribution {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.sum_us)
    }

    /// Each bucket with its own count, for an encoder that adds them up. The last bound is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.bounds_ms.iter().map(|ms| *ms as f64 / 1000.0).chain([f64::INFINITY]);
        bounds.zip(self.counts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_observation_is_counted_in_the_bucket_that_holds_it() {
        for bounds in [&COMMITS[..], &CRAWLS[..], &PHASES[..]] {
            assert!(bounds.is_sorted());
        }
        let histogram = Histogram::new(&COMMITS);
        let observed =
            [Duration::ZERO, Duration::from_millis(1), Duration::from_micros(1001), Duration::from_secs(31)];
        for took in observed {
            histogram.observe(took);
        }
        let distribution = histogram.distribution();
        assert_eq!(distribution.counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((distribution.count(), distribution.sum_us), (4, 31_002_001));
        let (last, beyond) = distribution.buckets().last().unwrap();
        assert_eq!((last, beyond), (f64::INFINITY, 1));
    }
}
