//! What gives way where the queue of a job has a limit.

/// Lazy eviction from a capped queue: an evicted entry stays where it is and is skipped when it reaches the head.
#[derive(Debug)]
pub(crate) struct Evictions {
    queued: [u64; 102],
    evicted: [u64; 102],
    total: u64,
}

impl Default for Evictions {
    fn default() -> Evictions {
        Evictions { queued: [0; 102], evicted: [0; 102], total: 0 }
    }
}

impl Evictions {
    pub(crate) fn queued(&mut self, rank: u8) {
        if let Some(count) = self.queued.get_mut(usize::from(rank)) {
            *count += 1;
        }
    }

    /// Makes room for an entry of `rank`; false if nothing queued is worse.
    pub(crate) fn make_room(&mut self, rank: u8) -> bool {
        let worse = (usize::from(rank) + 1)..self.queued.len();
        for at in worse.rev() {
            if let (Some(queued), Some(evicted)) = (self.queued.get_mut(at), self.evicted.get_mut(at))
                && *queued > 0
            {
                *queued -= 1;
                *evicted += 1;
                self.total += 1;
                return true;
            }
        }
        false
    }

    /// An entry of `rank` reaches the head: whether it is one of the evicted.
    pub(crate) fn take_evicted(&mut self, rank: u8) -> bool {
        match self.evicted.get_mut(usize::from(rank)) {
            Some(evicted) if *evicted > 0 => {
                *evicted -= 1;
                self.total -= 1;
                true
            }
            _ => false,
        }
    }

    /// An entry of `rank` that was not evicted leaves the queue.
    pub(crate) fn served(&mut self, rank: u8) {
        if let Some(queued) = self.queued.get_mut(usize::from(rank)) {
            *queued = queued.saturating_sub(1);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_entry_is_evicted_and_only_for_a_better_one() {
        let mut evictions = Evictions::default();
        evictions.queued(50);
        evictions.queued(80);
        assert!(!evictions.make_room(80));
        assert!(evictions.make_room(60));
        assert!(evictions.make_room(49));
        assert!(!evictions.make_room(10));
        assert_eq!(evictions.total(), 2);
        assert!(evictions.take_evicted(80));
        assert!(!evictions.take_evicted(80));
    }
}
