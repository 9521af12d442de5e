//! How long something took, counted in buckets by any thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// For writes to servers.
pub(crate) static WRITES: [Duration; 10] = [
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
];

/// For a URL from its dispatch to its end.
pub(crate) static CRAWLS: [Duration; 9] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2500),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

#[derive(Debug)]
pub(crate) struct Histogram {
    /// Rising.
    bounds: &'static [Duration],
    /// Those up to each bound and above the one before.
    within: Vec<AtomicU64>,
    beyond: AtomicU64,
    sum_micros: AtomicU64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [Duration]) -> Histogram {
        let within = bounds.iter().map(|_| AtomicU64::new(0)).collect();
        Histogram { bounds, within, beyond: AtomicU64::new(0), sum_micros: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, took: Duration) {
        let at = self.bounds.partition_point(|bound| *bound < took);
        self.within.get(at).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        self.sum_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn reading(&self) -> Reading {
        Reading {
            within: self.bounds.iter().copied().zip(self.within.iter().map(|n| n.load(Relaxed))).collect(),
            beyond: self.beyond.load(Relaxed),
            sum: Duration::from_micros(self.sum_micros.load(Relaxed)),
        }
    }
}

/// A histogram at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    within: Vec<(Duration, u64)>,
    beyond: u64,
    pub(crate) sum: Duration,
}

impl Reading {
    /// How many took no longer than each bound; the last has none.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        let bounds = self.within.iter().map(|(bound, count)| (Some(*bound), *count));
        bounds.chain([(None, self.beyond)]).scan(0, |total: &mut u64, (bound, count)| {
            *total += count;
            Some((bound, *total))
        })
    }

    pub(crate) fn count(&self) -> u64 {
        self.within.iter().map(|(_, count)| count).sum::<u64>() + self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_observation_is_counted_in_every_bucket_that_holds_it() {
        for bounds in [&WRITES[..], &CRAWLS[..]] {
            assert!(bounds.is_sorted());
        }
        let histogram = Histogram::new(&WRITES);
        let observed =
            [Duration::ZERO, Duration::from_millis(1), Duration::from_micros(1001), Duration::from_secs(31)];
        for took in observed {
            histogram.observe(took);
        }
        let reading = histogram.reading();
        for (bound, count) in reading.cumulative() {
            let expected = observed.iter().filter(|took| bound.is_none_or(|bound| **took <= bound)).count();
            assert_eq!(count, expected as u64, "{bound:?}");
        }
        assert_eq!(reading.count(), 4);
        assert_eq!(reading.sum, Duration::from_micros(31_002_001));
    }
}
