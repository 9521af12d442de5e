//! The queue of one job on one host. Only its head is in memory (the window); the tail is on disk, under keys that
//! sort as the queue is served. Whatever has been taken out but is not yet done is still on disk: a crash puts it back.

use argiope_model::{JobId, RequestKind};
use std::collections::VecDeque;

/// The place of an entry in its queue: redirect continuations first, then resources, then by priority, then the
/// shallower, then the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderKey {
    /// 0 for a continuation, 1 for a resource, priority + 1 for the rest.
    pub rank: u8,
    pub depth: u8,
    pub sequence: u64,
}

impl OrderKey {
    pub const CONTINUATION: u8 = 0;
    /// Before all pages, and of no others: resources need no page of the budget, and must not wait behind pages that do.
    pub const RESOURCE: u8 = 1;

    pub fn rank_of(priority: u8) -> u8 {
        priority.clamp(1, 100) + 1
    }

    /// Of a visit where a redirect has led it.
    pub fn continuation_of(kind: RequestKind) -> u8 {
        if kind == RequestKind::Resource { Self::RESOURCE } else { Self::CONTINUATION }
    }
}

/// A queued visit in its stored form (see [`crate::codec`]): decoded only when its turn comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub order: OrderKey,
    pub value: Box<[u8]>,
}

/// What the window wants from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadAfter(pub Option<OrderKey>);

#[derive(Debug)]
pub struct JobQueue {
    pub job: JobId,
    window: VecDeque<Entry>,
    /// The largest key that was ever taken into the window: what the disk holds beyond it is not in memory.
    cursor: Option<OrderKey>,
    /// There may be entries on disk beyond the cursor.
    more: bool,
    /// Taken out, not yet done: still on disk, so a load meets them again. Sorted; mostly a single one.
    outstanding: Vec<OrderKey>,
}

impl JobQueue {
    pub fn new(job: JobId) -> JobQueue {
        JobQueue { job, window: VecDeque::new(), cursor: None, more: false, outstanding: Vec::new() }
    }

    /// A queue known from the disk, of which nothing is in memory yet.
    pub fn stored(job: JobId) -> JobQueue {
        JobQueue { more: true, ..JobQueue::new(job) }
    }

    pub fn head(&self) -> Option<&Entry> {
        self.window.front()
    }

    /// The entries in memory, the head first.
    pub fn window(&self) -> impl Iterator<Item = &Entry> {
        self.window.iter()
    }

    /// Entries held in memory.
    pub fn in_memory(&self) -> usize {
        self.window.len()
    }

    /// Nothing to serve, here or on disk.
    pub fn is_drained(&self) -> bool {
        self.window.is_empty() && !self.more
    }

    /// Nothing to serve and nothing unfinished.
    pub fn is_finished(&self) -> bool {
        self.is_drained() && self.outstanding.is_empty()
    }

    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    pub fn needs_load(&self) -> Option<LoadAfter> {
        (self.window.is_empty() && self.more).then_some(LoadAfter(self.cursor))
    }

    /// Would [`JobQueue::push`] keep an entry of this order, or is it enough that it is on disk?
    pub fn keeps(&self, order: OrderKey) -> bool {
        !self.more || self.cursor.is_some_and(|cursor| order < cursor)
    }

    /// Takes in an entry that is (or is about to be) on disk. `room` is how many the window may hold.
    pub fn push(&mut self, entry: Entry, room: usize) {
        let before_cursor = self.cursor.is_some_and(|cursor| entry.order < cursor);
        if self.more && !before_cursor {
            return; // on disk only
        }
        let order = entry.order;
        if !self.more && !before_cursor && self.window.len() >= room {
            self.more = true;
            self.cursor = self.cursor.max(self.window.back().map(|last| last.order));
            return;
        }
        self.insert(entry);
        self.cursor = self.cursor.max(Some(order));
        // Twice the room before anything is let go, so that a run of small keys does not evict one by one.
        if self.window.len() > room.saturating_mul(2).max(2) {
            self.window.truncate(room.max(1));
            self.cursor = self.window.back().map(|last| last.order);
            self.more = true;
        }
    }

    fn insert(&mut self, entry: Entry) {
        let at = self.window.partition_point(|e| e.order < entry.order);
        if self.window.get(at).is_none_or(|e| e.order != entry.order) {
            self.window.insert(at, entry);
        }
    }

    /// What the disk had after the cursor. `complete` says that it has no more than this.
    pub fn loaded(&mut self, entries: Vec<Entry>, complete: bool) {
        self.more = !complete;
        for entry in entries {
            self.cursor = self.cursor.max(Some(entry.order));
            if self.outstanding.binary_search(&entry.order).is_err() {
                self.insert(entry);
            }
        }
    }

    /// Takes the head out. It stays outstanding until [`JobQueue::done`] or [`JobQueue::put_back`].
    pub fn pop(&mut self) -> Option<Entry> {
        let entry = self.window.pop_front()?;
        self.take(entry.order);
        Some(entry)
    }

    fn take(&mut self, order: OrderKey) {
        if let Err(at) = self.outstanding.binary_search(&order) {
            self.outstanding.insert(at, order);
        }
    }

    pub fn put_back(&mut self, entry: Entry) {
        let beyond = self.more && self.cursor.is_none_or(|cursor| entry.order > cursor);
        if self.done(entry.order) && !beyond {
            self.insert(entry);
        }
    }

    /// Marks an entry as taken that a former process had taken, wherever it is now.
    pub fn claim(&mut self, order: OrderKey) {
        self.window.retain(|entry| entry.order != order);
        self.take(order);
    }

    /// The entry has left the disk. True if it was outstanding.
    pub fn done(&mut self, order: OrderKey) -> bool {
        match self.outstanding.binary_search(&order) {
            Ok(at) => {
                self.outstanding.remove(at);
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(rank: u8, sequence: u64) -> Entry {
        Entry { order: OrderKey { rank, depth: 0, sequence }, value: Box::default() }
    }

    /// Serves a queue against a model disk, loading as it asks.
    fn serve(queue: &mut JobQueue, disk: &BTreeMap<OrderKey, ()>, limit: usize) -> Option<OrderKey> {
        while let Some(LoadAfter(after)) = queue.needs_load() {
            let found: Vec<Entry> = disk
                .keys()
                .filter(|k| after.is_none_or(|a| **k > a))
                .take(limit)
                .map(|k| Entry { order: *k, value: Box::default() })
                .collect();
            let complete = found.len() < limit;
            queue.loaded(found, complete);
        }
        queue.pop().map(|e| e.order)
    }

    #[derive(Clone, Debug)]
    enum Act {
        Push(u8),
        Pop,
        Done,
        Back,
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            4 => (1u8..6).prop_map(Act::Push),
            3 => Just(Act::Pop),
            2 => Just(Act::Done),
            1 => Just(Act::Back),
        ]
    }

    proptest! {
        /// Whatever the order of events: every entry is served once, and always the smallest one on disk that is not
        /// taken already.
        #[test]
        fn the_window_is_a_faithful_view_of_the_disk(acts in proptest::collection::vec(act(), 1..400), room in 0usize..6) {
            let mut queue = JobQueue::new(JobId(1));
            let mut disk = BTreeMap::new();
            let mut taken: Vec<OrderKey> = Vec::new();
            let mut sequence = 0;
            for act in acts {
                match act {
                    Act::Push(rank) => {
                        sequence += 1;
                        let new = entry(rank, sequence);
                        disk.insert(new.order, ());
                        queue.push(new, room);
                    }
                    Act::Pop => {
                        let want = disk.keys().find(|k| !taken.contains(k)).copied();
                        let got = serve(&mut queue, &disk, room.max(1));
                        prop_assert_eq!(got, want);
                        taken.extend(got);
                    }
                    Act::Done => if let Some(order) = taken.pop() {
                        prop_assert!(queue.done(order));
                        disk.remove(&order);
                    },
                    Act::Back => if let Some(order) = taken.pop() {
                        queue.put_back(Entry { order, value: Box::default() });
                    },
                }
            }
            while let Some(order) = serve(&mut queue, &disk, room.max(1)) {
                prop_assert!(!taken.contains(&order));
                taken.push(order);
            }
            prop_assert_eq!(taken.len(), disk.len());
            prop_assert!(queue.is_drained());
        }
    }

    #[test]
    fn a_restored_queue_asks_for_its_first_entries() {
        let queue = JobQueue::stored(JobId(1));
        assert_eq!(queue.needs_load(), Some(LoadAfter(None)));
        assert!(!queue.is_drained());
    }
}
