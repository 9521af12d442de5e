//! Which hosts may be asked now, and which come due when. Both structures hold hosts only and delete lazily: an
//! entry counts only while its stamp is the host's current one, so that a host can leave either at no cost.

use argiope_model::Millis;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Index of a host in the frontier's table.
pub type HostIndex = u32;

/// Changes whenever a host enters or leaves a structure; older entries are dead.
pub(crate) type Stamp = u32;

const RANKS: usize = 102;

/// Every so many turns the host that has been ready longest is served, whatever its priority: a host that is n-th in age
/// waits at most 4 n turns.
const AGED_TURN: u32 = 4;

#[derive(Debug)]
pub(crate) struct ReadySet {
    by_rank: Vec<VecDeque<(HostIndex, Stamp)>>,
    occupied: u128,
    by_age: VecDeque<(HostIndex, Stamp)>,
    turn: u32,
}

impl Default for ReadySet {
    fn default() -> ReadySet {
        ReadySet {
            by_rank: (0..RANKS).map(|_| VecDeque::new()).collect(),
            occupied: 0,
            by_age: VecDeque::new(),
            turn: 0,
        }
    }
}

impl ReadySet {
    pub(crate) fn insert(&mut self, host: HostIndex, stamp: Stamp, rank: u8) {
        let rank = usize::from(rank).min(RANKS - 1);
        if let Some(bucket) = self.by_rank.get_mut(rank) {
            bucket.push_back((host, stamp));
            self.occupied |= 1 << rank;
        }
        self.by_age.push_back((host, stamp));
    }

    /// Takes the host whose turn it is. `is_live` tells whether an entry still counts.
    pub(crate) fn pop(&mut self, is_live: impl Fn(HostIndex, Stamp) -> bool) -> Option<HostIndex> {
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(AGED_TURN) {
            while let Some((host, stamp)) = self.by_age.pop_front() {
                if is_live(host, stamp) {
                    return Some(host);
                }
            }
            return None;
        }
        while self.occupied != 0 {
            let rank = self.occupied.trailing_zeros() as usize;
            let Some(bucket) = self.by_rank.get_mut(rank) else { break };
            while let Some((host, stamp)) = bucket.pop_front() {
                if is_live(host, stamp) {
                    self.trim(&is_live);
                    return Some(host);
                }
            }
            self.occupied &= !(1 << rank);
        }
        None
    }

    /// Dead entries at the front of the age list go, so that it stays as long as the set of the living.
    fn trim(&mut self, is_live: &impl Fn(HostIndex, Stamp) -> bool) {
        // Two at a time keeps ahead of one insertion per pop.
        for _ in 0..2 {
            match self.by_age.front() {
                Some((host, stamp)) if !is_live(*host, *stamp) => {
                    self.by_age.pop_front();
                }
                _ => return,
            }
        }
    }
}

/// Hosts that wait, by the time they come due.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Millis, HostIndex, Stamp)>>,
}

impl Timers {
    pub(crate) fn insert(&mut self, due: Millis, host: HostIndex, stamp: Stamp) {
        self.heap.push(Reverse((due, host, stamp)));
    }

    /// The next host that is due at `now`.
    pub(crate) fn pop_due(
        &mut self,
        now: Millis,
        is_live: impl Fn(HostIndex, Stamp) -> bool,
    ) -> Option<HostIndex> {
        while let Some(Reverse((due, host, stamp))) = self.heap.peek().copied() {
            let live = is_live(host, stamp);
            if live && due > now {
                return None;
            }
            self.heap.pop();
            if live {
                return Some(host);
            }
        }
        None
    }

    /// When the next live host comes due.
    pub(crate) fn next_due(&mut self, is_live: impl Fn(HostIndex, Stamp) -> bool) -> Option<Millis> {
        while let Some(Reverse((due, host, stamp))) = self.heap.peek().copied() {
            if is_live(host, stamp) {
                return Some(due);
            }
            self.heap.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_rank_goes_first_but_the_oldest_gets_every_fourth_turn() {
        let mut ready = ReadySet::default();
        let mut gone = std::collections::HashSet::new();
        ready.insert(0, 0, 90);
        for host in 1..100 {
            ready.insert(host, 0, 10);
        }
        let mut order = Vec::new();
        while let Some(host) = ready.pop(|h, _| !gone.contains(&h)) {
            gone.insert(host);
            order.push(host);
        }
        assert_eq!(order[..4], [1, 2, 3, 0]);
        assert_eq!(order.len(), 100);
    }

    #[test]
    fn dead_entries_are_passed_over() {
        let mut ready = ReadySet::default();
        ready.insert(1, 1, 5);
        ready.insert(2, 1, 5);
        assert_eq!(ready.pop(|host, _| host == 2), Some(2));
        assert_eq!(ready.pop(|_, _| false), None);
    }

    #[test]
    fn timers_wake_in_order_and_tell_the_next() {
        let mut timers = Timers::default();
        timers.insert(Millis(30), 3, 0);
        timers.insert(Millis(10), 1, 0);
        timers.insert(Millis(20), 2, 0);
        assert_eq!(timers.next_due(|h, _| h != 1), Some(Millis(20)));
        assert_eq!(timers.pop_due(Millis(25), |h, _| h != 1), Some(2));
        assert_eq!(timers.pop_due(Millis(25), |_, _| true), None);
        assert_eq!(timers.next_due(|_, _| true), Some(Millis(30)));
    }
}
