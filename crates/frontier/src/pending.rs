//! Changes that are not stored yet, and the numbers that go with them: sequence numbers of queue entries, and the time
//! at which the first delayed entry is due.

use crate::state::{Change, Delayed, StateBatch};
use argiope_model::Millis;

#[derive(Debug)]
pub(crate) struct Pending {
    batch: StateBatch,
    /// The last sequence number used.
    sequence: u64,
    /// No delayed entry, stored or in the batch, is due earlier.
    next_due: Option<Millis>,
}

impl Pending {
    /// Sequence numbers start with the start time, so that they grow across restarts without being stored.
    pub(crate) fn new(started_at: Millis) -> Pending {
        Pending { batch: StateBatch::default(), sequence: started_at.0 << 20, next_due: None }
    }

    pub(crate) fn push(&mut self, change: Change) {
        self.batch.changes.push(change);
    }

    pub(crate) fn extend(&mut self, changes: impl Iterator<Item = Change>) {
        self.batch.changes.extend(changes);
    }

    /// An entry waits on disk until it is due.
    pub(crate) fn delay(&mut self, delayed: Delayed) {
        self.note_due(Some(delayed.due));
        self.push(Change::Delay(delayed));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// The next batch will have about the same size.
    pub(crate) fn take(&mut self) -> StateBatch {
        let room = Vec::with_capacity(self.batch.changes.len().clamp(8, 4096));
        std::mem::replace(&mut self.batch, StateBatch { changes: room, marks: Vec::new() })
    }

    pub(crate) fn drop_shard(&mut self, shard: u16) {
        self.batch.drop_shard(shard);
    }

    pub(crate) fn new_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(crate) fn last_sequence(&self) -> u64 {
        self.sequence
    }

    /// Entries of a shard that was taken over have numbers up to this one.
    pub(crate) fn skip_sequences(&mut self, last: u64) {
        self.sequence = self.sequence.max(last);
    }

    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.next_due
    }

    /// An entry is due at that time.
    pub(crate) fn note_due(&mut self, due: Option<Millis>) {
        self.next_due = self.next_due.into_iter().chain(due).min();
    }

    /// Whether entries are due at `now`. They are loaded next, and the load reports when the next is due.
    pub(crate) fn take_due(&mut self, now: Millis) -> bool {
        self.next_due.take_if(|due| *due <= now).is_some()
    }
}
