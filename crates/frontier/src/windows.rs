//! How many queue entries are kept in memory, in total and per queue.

/// Beyond the limit for all queues, each keeps this many.
const FEW: usize = 2;

#[derive(Debug)]
pub(crate) struct Windows {
    entries: usize,
    per_queue: usize,
    in_all: usize,
}

impl Windows {
    pub(crate) fn new(per_queue: usize, in_all: usize) -> Windows {
        Windows { entries: 0, per_queue, in_all }
    }

    /// How many entries a queue may keep in memory now.
    pub(crate) fn room(&self) -> usize {
        if self.entries < self.in_all { self.per_queue } else { self.per_queue.min(FEW) }
    }

    /// The entries that a queue has in memory changed from `before` to `after`.
    pub(crate) fn changed(&mut self, before: usize, after: usize) {
        self.entries = (self.entries + after).saturating_sub(before);
    }
}
