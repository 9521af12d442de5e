//! Batches that are applied but possibly not committed yet. Loads put them over what the database returns, which may
//! already contain some of them: applying the same change twice gives the same result.

use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{Change, Delayed, QueueAt, StateBatch, StoredRobots};
use argiope_model::Millis;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The latest change of a key: the number of its batch, and its place in that batch.
#[derive(Clone, Copy, Debug)]
struct Latest {
    batch: u64,
    place: usize,
}

type DelayedKey = (Millis, QueueAt, OrderKey);

/// Values stay in their batches, which the writer shares; here are only references to the latest ones.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    batches: BTreeMap<u64, Arc<StateBatch>>,
    queues: HashMap<QueueAt, BTreeMap<OrderKey, Latest>>,
    delayed: BTreeMap<DelayedKey, Latest>,
    robots: HashMap<Box<str>, Latest>,
}

impl Overlay {
    pub(super) fn apply(&mut self, number: u64, batch: &Arc<StateBatch>) {
        let mut is_needed = false;
        for (place, change) in batch.changes.iter().enumerate() {
            let latest = Latest { batch: number, place };
            match change {
                Change::Queue { at, entry } => {
                    self.queues.entry(*at).or_default().insert(entry.order, latest);
                }
                Change::Unqueue { at, order } => {
                    self.queues.entry(*at).or_default().insert(*order, latest);
                }
                Change::Delay(Delayed { due, at, entry }) => {
                    self.delayed.insert((*due, *at, entry.order), latest);
                }
                Change::Undelay { due, at, order } => {
                    self.delayed.insert((*due, *at, *order), latest);
                }
                Change::Robots { origin, .. } => {
                    self.robots.insert(origin.clone(), latest);
                }
                Change::Host { .. }
                | Change::Job { .. }
                | Change::ForgetJob(_)
                | Change::Seen { .. }
                | Change::Send { .. }
                | Change::Received { .. }
                | Change::Blocked { .. } => continue,
            }
            is_needed = true;
        }
        if is_needed {
            self.batches.insert(number, Arc::clone(batch));
        }
    }

    /// The database has all batches up to this one.
    pub(super) fn committed(&mut self, number: u64) {
        let later = self.batches.split_off(&(number + 1));
        for batch in std::mem::replace(&mut self.batches, later).into_values() {
            for change in &batch.changes {
                self.forget(change, number);
            }
        }
    }

    /// Unless a later batch has changed the same key again.
    fn forget(&mut self, change: &Change, number: u64) {
        match change {
            Change::Queue { at, entry: argiope_frontier::queue::Entry { order, .. } }
            | Change::Unqueue { at, order } => {
                let Some(queue) = self.queues.get_mut(at) else { return };
                if queue.get(order).is_some_and(|latest| latest.batch <= number) {
                    queue.remove(order);
                }
                if queue.is_empty() {
                    self.queues.remove(at);
                }
            }
            Change::Delay(Delayed { due, at, entry: argiope_frontier::queue::Entry { order, .. } })
            | Change::Undelay { due, at, order } => {
                let key = (*due, *at, *order);
                if self.delayed.get(&key).is_some_and(|latest| latest.batch <= number) {
                    self.delayed.remove(&key);
                }
            }
            Change::Robots { origin, .. }
                if self.robots.get(origin).is_some_and(|latest| latest.batch <= number) =>
            {
                self.robots.remove(origin);
            }
            _ => {}
        }
    }

    fn change(&self, latest: Latest) -> Option<&Change> {
        self.batches.get(&latest.batch)?.changes.get(latest.place)
    }

    /// None if the entry was removed.
    fn value(&self, latest: Latest) -> Option<Box<[u8]>> {
        match self.change(latest)? {
            Change::Queue { entry, .. } | Change::Delay(Delayed { entry, .. }) => Some(entry.value.clone()),
            _ => None,
        }
    }

    /// Entries added to a queue; `None` for removed ones.
    pub(super) fn queue(&self, at: QueueAt) -> BTreeMap<OrderKey, Option<Box<[u8]>>> {
        let queue = self.queues.get(&at).into_iter().flatten();
        queue.map(|(order, latest)| (*order, self.value(*latest))).collect()
    }

    /// Delayed entries; `None` for removed ones.
    pub(super) fn delayed(&self) -> BTreeMap<DelayedKey, Option<Box<[u8]>>> {
        self.delayed.iter().map(|(key, latest)| (*key, self.value(*latest))).collect()
    }

    pub(super) fn robots(&self, origin: &str) -> Option<StoredRobots> {
        match self.change(*self.robots.get(origin)?)? {
            Change::Robots { stored, .. } => Some(stored.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_frontier::queue::Entry;
    use argiope_frontier::state::HostKey;
    use argiope_model::JobId;

    const AT: QueueAt = QueueAt { job: JobId(1), host: HostKey { shard: 2, number: 3 } };

    fn order(sequence: u64) -> OrderKey {
        OrderKey { rank: 5, depth: 0, sequence }
    }

    fn put(sequence: u64) -> Change {
        Change::Queue { at: AT, entry: Entry { order: order(sequence), value: vec![1].into() } }
    }

    fn batch(changes: Vec<Change>) -> Arc<StateBatch> {
        Arc::new(StateBatch { changes, marks: Vec::new() })
    }

    #[test]
    fn a_committed_change_is_forgotten_unless_a_later_batch_changed_the_same_key() {
        let mut overlay = Overlay::default();
        overlay.apply(1, &batch(vec![put(1), put(2)]));
        overlay.apply(2, &batch(vec![Change::Unqueue { at: AT, order: order(1) }]));
        let both = BTreeMap::from([(order(1), None), (order(2), Some(Box::from([1])))]);
        assert_eq!(overlay.queue(AT), both);
        overlay.committed(1);
        assert_eq!(overlay.queue(AT), BTreeMap::from([(order(1), None)]));
        overlay.committed(2);
        assert!(overlay.queue(AT).is_empty() && overlay.queues.is_empty() && overlay.batches.is_empty());
    }

    #[test]
    fn the_last_change_of_a_delayed_entry_and_of_a_robots_file_counts() {
        let due = Millis(9);
        let stored = |status| StoredRobots { fetched_at: due, expires: due, status, body: Box::default() };
        let robots =
            |status| Change::Robots { shard: 2, origin: "https://a.test".into(), stored: stored(status) };
        let delay =
            Change::Delay(Delayed { due, at: AT, entry: Entry { order: order(1), value: vec![7].into() } });
        let mut overlay = Overlay::default();
        overlay.apply(1, &batch(vec![delay, robots(500)]));
        assert_eq!(overlay.delayed(), BTreeMap::from([((due, AT, order(1)), Some(Box::from([7])))]));
        overlay.apply(2, &batch(vec![Change::Undelay { due, at: AT, order: order(1) }, robots(200)]));
        assert_eq!(overlay.delayed(), BTreeMap::from([((due, AT, order(1)), None)]));
        overlay.committed(1);
        assert_eq!(overlay.robots("https://a.test").map(|stored| stored.status), Some(200));
        overlay.committed(2);
        assert!(overlay.delayed().is_empty() && overlay.robots("https://a.test").is_none());
    }
}
