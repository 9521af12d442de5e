//! The gaps of one host: the smallest exactly, the middle one from at most 65,536 samples.

const MOST: usize = 1 << 16;

pub(super) struct Gaps {
    samples: Vec<u64>,
    /// Every how many-th gap is a sample. Doubles when there are too many.
    stride: u64,
    seen: u64,
    min: Option<u64>,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps { samples: Vec::new(), stride: 1, seen: 0, min: None }
    }
}

impl Gaps {
    pub(super) fn add(&mut self, gap_ms: u64) {
        self.min = Some(self.min.map_or(gap_ms, |min| min.min(gap_ms)));
        if self.seen.is_multiple_of(self.stride) {
            self.samples.push(gap_ms);
            if self.samples.len() >= MOST {
                let mut keep = false;
                self.samples.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
        }
        self.seen += 1;
    }

    pub(super) fn min(&self) -> Option<u64> {
        self.min
    }

    /// The lower one of two middle gaps.
    pub(super) fn median(mut self) -> Option<u64> {
        let middle = self.samples.len().checked_sub(1)? / 2;
        let (_, median, _) = self.samples.select_nth_unstable(middle);
        Some(*median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_very_many_gaps_is_found_in_bounded_memory() {
        let mut gaps = Gaps::default();
        for n in 0..1_000_000u64 {
            gaps.add((n * 7919) % 1000 + 5);
            assert!(gaps.samples.len() < MOST);
        }
        assert_eq!(gaps.min(), Some(5));
        let median = gaps.median().unwrap();
        assert!((480..=530).contains(&median), "{median}");
    }

    #[test]
    fn no_gap_has_no_median() {
        assert_eq!(Gaps::default().median(), None);
    }
}
