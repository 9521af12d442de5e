//! Which hosts may be requested now, and which are due when. Both structures hold only hosts and delete lazily: an
//! entry counts only while its stamp is the host's current one, so that a host can leave either at no cost.

use argiope_model::Millis;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Index of a host in the frontier's table.
pub type HostIndex = u32;

/// No host has this index.
pub(crate) const NO_HOST: HostIndex = HostIndex::MAX;

/// Changes whenever a host enters or leaves a structure; older entries are dead.
pub(crate) type Stamp = u32;

type Entry = (HostIndex, Stamp);

const RANKS: usize = 102;

/// Dead entries are removed when there are more of them than live ones, and at least this many.
const SWEEP_FROM: usize = 1024;

/// Every so many turns the host that has been ready longest is served, whatever its priority: the n-th oldest host
/// waits at most 4 n turns.
const AGED_TURN: u32 = 4;

#[derive(Debug)]
pub(crate) struct ReadySet {
    /// Within each rank, hosts whose next page is prepared go first.
    prepared: Ranks,
    others: Ranks,
    by_age: VecDeque<Entry>,
    turn: u32,
    /// The number of entries at which dead ones are removed.
    sweep_at: usize,
}

/// Hosts by rank; within a rank in order of arrival.
#[derive(Debug)]
struct Ranks {
    buckets: Vec<VecDeque<Entry>>,
    occupied: u128,
    entries: usize,
}

impl Default for ReadySet {
    fn default() -> ReadySet {
        ReadySet {
            prepared: Ranks::default(),
            others: Ranks::default(),
            by_age: VecDeque::new(),
            turn: 0,
            sweep_at: SWEEP_FROM,
        }
    }
}

impl Default for Ranks {
    fn default() -> Ranks {
        Ranks { buckets: (0..RANKS).map(|_| VecDeque::new()).collect(), occupied: 0, entries: 0 }
    }
}

impl Ranks {
    fn push(&mut self, entry: Entry, rank: u8) {
        let rank = usize::from(rank).min(RANKS - 1);
        if let Some(bucket) = self.buckets.get_mut(rank) {
            bucket.push_back(entry);
            self.occupied |= 1 << rank;
            self.entries += 1;
        }
    }

    /// The best rank with entries, after removing dead ones at its front; [`RANKS`] if there is none.
    fn best(&mut self, is_live: &impl Fn(HostIndex, Stamp) -> bool) -> usize {
        while self.occupied != 0 {
            let rank = self.occupied.trailing_zeros() as usize;
            let Some(bucket) = self.buckets.get_mut(rank) else { break };
            while let Some((host, stamp)) = bucket.front() {
                if is_live(*host, *stamp) {
                    return rank;
                }
                bucket.pop_front();
                self.entries -= 1;
            }
            self.occupied &= !(1 << rank);
        }
        RANKS
    }

    fn pop(&mut self, rank: usize) -> Option<HostIndex> {
        let (host, _) = self.buckets.get_mut(rank)?.pop_front()?;
        self.entries -= 1;
        Some(host)
    }

    fn retain(&mut self, is_live: impl Fn(HostIndex, Stamp) -> bool) {
        self.entries = 0;
        for bucket in &mut self.buckets {
            bucket.retain(|(host, stamp)| is_live(*host, *stamp));
            self.entries += bucket.len();
        }
    }
}

impl ReadySet {
    pub(crate) fn insert(&mut self, host: HostIndex, stamp: Stamp, rank: u8, prepared: bool) {
        let ranks = if prepared { &mut self.prepared } else { &mut self.others };
        ranks.push((host, stamp), rank);
        self.by_age.push_back((host, stamp));
    }

    /// Takes the next host. `is_live` returns whether an entry still counts.
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
        let (prepared, other) = (self.prepared.best(&is_live), self.others.best(&is_live));
        let host = if prepared <= other { self.prepared.pop(prepared) } else { self.others.pop(other) }?;
        self.trim(&is_live);
        Some(host)
    }

    /// Removes dead entries once they outnumber live ones: a host that moves often leaves many behind.
    pub(crate) fn compact(&mut self, is_live: impl Fn(HostIndex, Stamp) -> bool) {
        let ranked = |set: &ReadySet| set.prepared.entries + set.others.entries;
        if ranked(self).max(self.by_age.len()) < self.sweep_at {
            return;
        }
        self.by_age.retain(|(host, stamp)| is_live(*host, *stamp));
        self.prepared.retain(&is_live);
        self.others.retain(&is_live);
        self.sweep_at = (2 * ranked(self)).max(SWEEP_FROM);
    }

    /// Removes dead entries at the front of the age list, so that it stays as long as the set of live ones.
    fn trim(&mut self, is_live: &impl Fn(HostIndex, Stamp) -> bool) {
        // Removing two at a time keeps ahead of one insertion per pop.
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

/// Hosts that wait, by due time.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Millis, HostIndex, Stamp)>>,
    sweep_at: usize,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { heap: BinaryHeap::new(), sweep_at: SWEEP_FROM }
    }
}

impl Timers {
    pub(crate) fn insert(&mut self, due: Millis, host: HostIndex, stamp: Stamp) {
        self.heap.push(Reverse((due, host, stamp)));
    }

    /// As [`ReadySet::compact`].
    pub(crate) fn compact(&mut self, is_live: impl Fn(HostIndex, Stamp) -> bool) {
        if self.heap.len() >= self.sweep_at {
            self.heap.retain(|Reverse((_, host, stamp))| is_live(*host, *stamp));
            self.sweep_at = (2 * self.heap.len()).max(SWEEP_FROM);
        }
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

    /// When the next live host is due.
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
        ready.insert(0, 0, 90, false);
        for host in 1..100 {
            ready.insert(host, 0, 10, false);
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
    fn prepared_hosts_go_first_among_their_rank_in_their_order() {
        let mut ready = ReadySet::default();
        for (host, rank, prepared) in
            [(1, 20, false), (2, 20, true), (3, 10, false), (4, 20, true), (5, 30, true)]
        {
            ready.insert(host, 0, rank, prepared);
        }
        let mut gone = Vec::new();
        while let Some(host) = ready.pop(|host, _| !gone.contains(&host)) {
            gone.push(host);
        }
        assert_eq!(gone, [3, 2, 4, 1, 5]);
    }

    #[test]
    fn dead_entries_are_passed_over() {
        let mut ready = ReadySet::default();
        ready.insert(1, 1, 5, false);
        ready.insert(2, 1, 5, true);
        assert_eq!(ready.pop(|host, _| host == 2), Some(2));
        assert_eq!(ready.pop(|_, _| false), None);
    }

    #[test]
    fn what_hosts_leave_behind_is_swept_out() {
        let (mut ready, mut timers) = (ReadySet::default(), Timers::default());
        for stamp in 0..100_000 {
            let live = |_, at| at == stamp;
            ready.insert(1, stamp, (stamp % 90) as u8, stamp % 2 == 0);
            ready.compact(live);
            timers.insert(Millis(u64::from(stamp)), 1, stamp);
            timers.compact(live);
        }
        assert!(
            ready.by_age.len() <= SWEEP_FROM
                && ready.prepared.entries + ready.others.entries <= SWEEP_FROM
                && timers.heap.len() <= SWEEP_FROM
        );
        assert_eq!(ready.pop(|_, stamp| stamp == 99_999), Some(1));
        assert_eq!(timers.next_due(|_, stamp| stamp == 99_999), Some(Millis(99_999)));
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
