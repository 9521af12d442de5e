//! Changes that are applied and not committed. They are bounded, because while the database or Kafka is unavailable
//! they are only in memory.

use std::collections::VecDeque;

/// Visits that have ended. Beyond this the caller waits, and no new requests are sent.
const MOST_VISITS: usize = 10_000;
/// Changes of any kind: incoming messages end no visit.
const MOST_CHANGES: usize = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Held {
    batches: VecDeque<Batch>,
    visits: usize,
    changes: usize,
}

#[derive(Debug)]
struct Batch {
    number: u64,
    visits: usize,
    changes: usize,
}

impl Held {
    /// A batch of this many changes, which ends this many visits.
    pub(super) fn hold(&mut self, number: u64, changes: usize, visits: usize) {
        self.batches.push_back(Batch { number, visits, changes });
        self.visits += visits;
        self.changes += changes;
    }

    /// All batches up to this one are committed.
    pub(super) fn committed(&mut self, number: u64) {
        while let Some(batch) = self.batches.pop_front_if(|batch| batch.number <= number) {
            self.visits -= batch.visits;
            self.changes -= batch.changes;
        }
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.visits > MOST_VISITS || self.changes > MOST_CHANGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_visits_are_held_and_one_more_is_too_much_until_some_are_committed() {
        let mut held = Held::default();
        held.hold(1, 6_000, 6_000);
        held.hold(2, 10, 0);
        held.hold(3, 4_500, 4_000);
        assert!(!held.is_too_much());
        held.hold(4, 1, 1);
        assert!(held.is_too_much());
        held.committed(0);
        assert!(held.is_too_much());
        held.committed(2);
        assert!(!held.is_too_much());
        held.hold(5, 6_000, 6_000);
        assert!(held.is_too_much());
        held.committed(5);
        assert!(!held.is_too_much());
    }

    #[test]
    fn what_ends_no_visit_is_bounded_too() {
        let mut held = Held::default();
        (1..=1_000).for_each(|number| held.hold(number, 1_000, 0));
        assert!(!held.is_too_much());
        held.hold(1_001, 1, 0);
        assert!(held.is_too_much());
        held.committed(1);
        assert!(!held.is_too_much());
    }
}
