//! The queue of one job on one host. Only its head is in memory (the window); the tail is on disk, under keys in queue
//! order. Entries in progress are still on disk, so a crash returns them to the queue.

use argiope_model::{JobId, RequestKind};
use std::collections::VecDeque;

/// The position of an entry in its queue: redirect continuations first, then resources, then by priority, then lower
/// depth, then age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderKey {
    /// 0 for a continuation, 1 for a resource, priority + 1 for the rest.
    pub rank: u8,
    pub depth: u8,
    pub sequence: u64,
}

impl OrderKey {
    pub const CONTINUATION: u8 = 0;
    /// Resources come before all pages: they need no budget, and must not wait behind pages that do.
    pub const RESOURCE: u8 = 1;

    pub fn rank_of(priority: u8) -> u8 {
        priority.clamp(1, 100) + 1
    }

    /// For a visit that a redirect has led here.
    pub fn continuation_of(kind: RequestKind) -> u8 {
        if kind == RequestKind::Resource { Self::RESOURCE } else { Self::CONTINUATION }
    }
}

/// A queued visit in its stored form (see [`crate::codec`]): decoded only when it is dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub order: OrderKey,
    pub value: Box<[u8]>,
}

/// What the window needs from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadAfter(pub Option<OrderKey>);

#[derive(Debug)]
pub struct JobQueue {
    pub job: JobId,
    window: VecDeque<Entry>,
    /// The largest key ever taken into the window: entries on disk beyond it are not in memory.
    cursor: Option<OrderKey>,
    /// There may be entries on disk beyond the cursor.
    more: bool,
    /// Taken out, not yet done: still on disk, so a load finds them again. Sorted; usually a single one.
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

    /// The entries in memory, head first.
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

    /// Nothing to serve and nothing in progress.
    pub fn is_finished(&self) -> bool {
        self.is_drained() && self.outstanding.is_empty()
    }

    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    pub fn needs_load(&self) -> Option<LoadAfter> {
        (self.window.is_empty() && self.more).then_some(LoadAfter(self.cursor))
    }

    /// Whether [`JobQueue::push`] would keep an entry of this order in memory; otherwise it stays on disk only.
    pub fn keeps(&self, order: OrderKey) -> bool {
        !self.more || self.cursor.is_some_and(|cursor| order < cursor)
    }

    /// Adds an entry that is (or is about to be) on disk. `room` is how many the window may hold.
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
        // Evicts only beyond twice the room, so that a run of small keys does not evict one by one.
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

    /// Adds the entries that the disk had after the cursor. `complete` means that there are no more.
    pub fn loaded(&mut self, entries: Vec<Entry>, complete: bool) {
        self.more = !complete;
        for entry in entries {
            self.cursor = self.cursor.max(Some(entry.order));
            if self.outstanding.binary_search(&entry.order).is_err() {
                self.insert(entry);
            }
        }
    }

    /// Takes the head out. It stays in progress until [`JobQueue::done`] or [`JobQueue::put_back`].
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

    /// Marks an entry as taken that an earlier process had taken, wherever it is now.
    pub fn claim(&mut self, order: OrderKey) {
        self.window.retain(|entry| entry.order != order);
        self.take(order);
    }

    /// The entry has left the disk. True if it was in progress.
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

    /// Serves a queue against a model of the disk, loading on request.
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
        /// In any order of events, every entry is served once, and always the smallest one on disk that is not taken
        /// already.
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
