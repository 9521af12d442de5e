//! The state port for a crawl that does not survive its process. It keeps only what the running process loads, in
//! little memory per host. Queues and delayed entries are complete; seen-set, hosts and jobs are in the frontier only.
//! robots.txt files are kept up to a number of bytes, and the oldest are dropped: they are fetched again when needed.

use crate::delayed::DelayedEntries;
use crate::hash::FastMap;
use crate::queue::{Entry, OrderKey};
use crate::state::{
    Change, Delayed, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync, StoredRobots,
};
use argiope_model::{JobId, Millis};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

/// The size of an entry in the robots.txt cache besides its texts.
const ROBOTS_ENTRY_BYTES: usize = 192;

#[derive(Debug)]
pub struct TransientState {
    /// One tree for all hosts: separate trees would take a node for a single entry.
    queued: BTreeMap<(QueueAt, OrderKey), Box<[u8]>>,
    delayed: DelayedEntries,
    robots: RobotsCache,
}

impl TransientState {
    pub fn new(robots_bytes: usize) -> TransientState {
        TransientState {
            queued: BTreeMap::new(),
            delayed: DelayedEntries::default(),
            robots: RobotsCache { most_bytes: robots_bytes, ..RobotsCache::default() },
        }
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Queue { at, entry } => {
                self.queued.insert((*at, entry.order), entry.value.clone());
            }
            Change::Unqueue { at, order } => {
                self.queued.remove(&(*at, *order));
            }
            Change::Delay(delayed) => self.delayed.insert(delayed),
            Change::Undelay { due, at, order } => self.delayed.remove(*due, *at, *order),
            Change::ForgetJob(job) => {
                self.queued.retain(|(at, _), _| at.job != *job);
                self.delayed.forget_job(*job);
            }
            Change::Robots { origin, stored, .. } => self.robots.put(origin, stored),
            // For a restart, or for other owners; there are none.
            Change::Host { .. }
            | Change::Job { .. }
            | Change::Seen { .. }
            | Change::Send { .. }
            | Change::Received { .. }
            | Change::Blocked { .. } => {}
        }
    }
}

impl ShardState for TransientState {
    fn apply(&mut self, batch: StateBatch) -> Result<(), StateError> {
        for change in &batch.changes {
            self.change(change);
        }
        Ok(())
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(NothingToSync)
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        let first = OrderKey { rank: 0, depth: 0, sequence: 0 };
        let from = match after {
            Some(after) => Bound::Excluded((at, after)),
            None => Bound::Included((at, first)),
        };
        let entries = self.queued.range((from, Bound::Unbounded)).take_while(|((of, _), _)| *of == at);
        Ok(entries
            .take(limit)
            .map(|((_, order), value)| Entry { order: *order, value: value.clone() })
            .collect())
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        Ok(self.delayed.load(shards, until, limit))
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        Ok(self.robots.by_origin.get(origin).cloned())
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        _: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        into.next_due(self.delayed.first(shards));
        Ok(())
    }

    fn restore_job(&self, _: &Shards, _: JobId, _: &mut dyn Restore) -> Result<(), StateError> {
        Ok(())
    }

    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        Ok(Vec::new())
    }
}

#[derive(Debug, Default)]
struct RobotsCache {
    by_origin: FastMap<Box<str>, StoredRobots>,
    /// Oldest first; an origin that was fetched again is listed again.
    order: VecDeque<Box<str>>,
    bytes: usize,
    most_bytes: usize,
}

impl RobotsCache {
    fn put(&mut self, origin: &str, stored: &StoredRobots) {
        let size =
            |origin: &str, stored: &StoredRobots| ROBOTS_ENTRY_BYTES + 2 * origin.len() + stored.body.len();
        self.bytes += size(origin, stored);
        match self.by_origin.insert(origin.into(), stored.clone()) {
            Some(old) => self.bytes -= size(origin, &old),
            None => self.order.push_back(origin.into()),
        }
        while self.bytes > self.most_bytes
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some(gone) = self.by_origin.remove(&oldest) {
                self.bytes -= size(&oldest, &gone);
            }
        }
    }
}

struct NothingToSync;

impl StateSync for NothingToSync {
    fn sync(&self) -> Result<(), StateError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::HostKey;

    fn place(number: u32) -> QueueAt {
        QueueAt { job: JobId(1), host: HostKey { shard: 3, number } }
    }

    fn entry(rank: u8, sequence: u64) -> Entry {
        Entry { order: OrderKey { rank, depth: 0, sequence }, value: Box::from([rank]) }
    }

    fn apply(state: &mut TransientState, changes: Vec<Change>) {
        state.apply(StateBatch { changes, marks: Vec::new() }).unwrap();
    }

    fn robots(bytes: usize) -> StoredRobots {
        StoredRobots {
            fetched_at: Millis(1),
            expires: Millis(2),
            status: 200,
            body: vec![b'#'; bytes].into_boxed_slice(),
        }
    }

    #[test]
    fn queues_are_loaded_in_order_and_apart() {
        let mut state = TransientState::new(1000);
        let queue = |number, entry| Change::Queue { at: place(number), entry };
        apply(
            &mut state,
            vec![queue(2, entry(9, 1)), queue(1, entry(5, 2)), queue(1, entry(4, 3)), queue(1, entry(5, 1))],
        );
        let all = state.load_queue(place(1), None, 10).unwrap();
        assert_eq!(all, [entry(4, 3), entry(5, 1), entry(5, 2)]);
        assert_eq!(state.load_queue(place(1), Some(entry(4, 3).order), 1).unwrap(), [entry(5, 1)]);
        assert_eq!(state.load_queue(place(1), Some(entry(5, 2).order), 9).unwrap(), []);
        apply(&mut state, vec![Change::Unqueue { at: place(1), order: entry(4, 3).order }]);
        assert_eq!(state.load_queue(place(1), None, 1).unwrap(), [entry(5, 1)]);
        apply(&mut state, vec![Change::ForgetJob(JobId(1))]);
        assert_eq!(state.load_queue(place(2), None, 1).unwrap(), []);
    }

    #[test]
    fn what_is_delayed_comes_due_in_its_order() {
        let mut state = TransientState::new(1000);
        let delayed = |due, sequence| Delayed { due: Millis(due), at: place(1), entry: entry(5, sequence) };
        apply(&mut state, vec![Change::Delay(delayed(30, 1)), Change::Delay(delayed(10, 2))]);
        assert_eq!(
            state.load_due(&Shards::All, Millis(20), 9).unwrap(),
            (vec![delayed(10, 2)], Some(Millis(30)))
        );
        let order = entry(5, 2).order;
        apply(&mut state, vec![Change::Undelay { due: Millis(10), at: place(1), order }]);
        assert_eq!(state.load_due(&Shards::All, Millis(40), 9).unwrap(), (vec![delayed(30, 1)], None));
    }

    #[test]
    fn robots_texts_are_kept_up_to_a_size_and_the_newest_stay() {
        let mut state = TransientState::new(2000);
        for site in 0..20 {
            let origin = format!("https://h{site}.test").into();
            apply(&mut state, vec![Change::Robots { shard: 3, origin, stored: robots(500) }]);
        }
        let kept = |site: u32| state.load_robots(&format!("https://h{site}.test")).unwrap().is_some();
        assert!(kept(19) && kept(18) && !kept(0));
        assert!(state.robots.bytes <= 2000);
        assert_eq!(state.robots.order.len(), state.robots.by_origin.len());
    }
}
