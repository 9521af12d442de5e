//! What has been applied and is not known to be committed: the last word on each key. Loads put it over what the database
//! says, which may have some of it already: the last word is the same said twice.

use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{Change, Delayed, QueueAt, StateBatch, StoredRobots};
use argiope_model::Millis;
use std::collections::{BTreeMap, HashMap};

/// With the number of the batch that said it; nothing means that the key is gone.
type Word<T> = (u64, Option<T>);

type QueueWords = BTreeMap<OrderKey, Word<Box<[u8]>>>;
type DelayedKey = (Millis, QueueAt, OrderKey);

#[derive(Debug, Default)]
pub(super) struct Overlay {
    queues: HashMap<QueueAt, QueueWords>,
    delayed: BTreeMap<DelayedKey, Word<Box<[u8]>>>,
    robots: HashMap<Box<str>, Word<StoredRobots>>,
    /// Which keys each batch spoke of.
    batches: BTreeMap<u64, Vec<Key>>,
}

#[derive(Debug)]
enum Key {
    Queued(QueueAt, OrderKey),
    Delayed(DelayedKey),
    Robots(Box<str>),
}

impl Overlay {
    pub(super) fn apply(&mut self, number: u64, batch: &StateBatch) {
        let mut keys = Vec::new();
        for change in &batch.changes {
            match change {
                Change::Queue { at, entry } => {
                    self.queued(number, *at, entry.order, Some(entry.value.clone()));
                    keys.push(Key::Queued(*at, entry.order));
                }
                Change::Unqueue { at, order } => {
                    self.queued(number, *at, *order, None);
                    keys.push(Key::Queued(*at, *order));
                }
                Change::Delay(Delayed { due, at, entry }) => {
                    let key = (*due, *at, entry.order);
                    self.delayed.insert(key, (number, Some(entry.value.clone())));
                    keys.push(Key::Delayed(key));
                }
                Change::Undelay { due, at, order } => {
                    let key = (*due, *at, *order);
                    self.delayed.insert(key, (number, None));
                    keys.push(Key::Delayed(key));
                }
                Change::Robots { origin, stored, .. } => {
                    self.robots.insert(origin.clone(), (number, Some(stored.clone())));
                    keys.push(Key::Robots(origin.clone()));
                }
                Change::Host { .. }
                | Change::Job { .. }
                | Change::ForgetJob(_)
                | Change::Seen { .. }
                | Change::Send { .. }
                | Change::Received { .. }
                | Change::Blocked { .. } => {}
            }
        }
        if !keys.is_empty() {
            self.batches.insert(number, keys);
        }
    }

    fn queued(&mut self, number: u64, at: QueueAt, order: OrderKey, value: Option<Box<[u8]>>) {
        self.queues.entry(at).or_default().insert(order, (number, value));
    }

    /// The database has all batches up to this one.
    pub(super) fn committed(&mut self, number: u64) {
        let later = self.batches.split_off(&(number + 1));
        for keys in std::mem::replace(&mut self.batches, later).into_values() {
            for key in keys {
                self.forget(&key, number);
            }
        }
    }

    fn forget(&mut self, key: &Key, number: u64) {
        match key {
            Key::Queued(at, order) => {
                let Some(queue) = self.queues.get_mut(at) else { return };
                if queue.get(order).is_some_and(|(said, _)| *said <= number) {
                    queue.remove(order);
                }
                if queue.is_empty() {
                    self.queues.remove(at);
                }
            }
            Key::Delayed(key) => {
                if self.delayed.get(key).is_some_and(|(said, _)| *said <= number) {
                    self.delayed.remove(key);
                }
            }
            Key::Robots(origin) => {
                if self.robots.get(origin).is_some_and(|(said, _)| *said <= number) {
                    self.robots.remove(origin);
                }
            }
        }
    }

    pub(super) fn queue(&self, at: QueueAt) -> BTreeMap<OrderKey, Option<Box<[u8]>>> {
        let words = self.queues.get(&at);
        words.into_iter().flatten().map(|(order, (_, value))| (*order, value.clone())).collect()
    }

    pub(super) fn delayed(&self) -> BTreeMap<DelayedKey, Option<Box<[u8]>>> {
        self.delayed.iter().map(|(key, (_, value))| (*key, value.clone())).collect()
    }

    pub(super) fn robots(&self, origin: &str) -> Option<StoredRobots> {
        self.robots.get(origin).and_then(|(_, stored)| stored.clone())
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

    fn batch(changes: Vec<Change>) -> StateBatch {
        StateBatch { changes, marks: Vec::new() }
    }

    #[test]
    fn what_is_committed_is_forgotten_unless_it_was_spoken_of_again() {
        let mut overlay = Overlay::default();
        overlay.apply(1, &batch(vec![put(1), put(2)]));
        overlay.apply(2, &batch(vec![Change::Unqueue { at: AT, order: order(1) }]));
        overlay.committed(1);
        assert_eq!(overlay.queue(AT), BTreeMap::from([(order(1), None)]));
        overlay.committed(2);
        assert!(overlay.queue(AT).is_empty() && overlay.queues.is_empty() && overlay.batches.is_empty());
    }
}
