//! How many URLs of a job are in which state.

/// The URLs of a job by their state in the frontier, stored with the queues they count. The catalogue counts what a job
/// has fetched and stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// In the queues, including those being fetched.
    pub queued: u64,
    /// Delayed until a later time.
    pub delayed: u64,
    /// Pages with a final response.
    pub pages: u64,
    /// Visits that have ended, however they did.
    pub done: u64,
}

impl QueueCounts {
    /// The same job in another shard.
    pub fn add(&mut self, other: &QueueCounts) {
        self.queued += other.queued;
        self.delayed += other.delayed;
        self.pages += other.pages;
        self.done += other.done;
    }

    pub(super) fn remove(&mut self, other: &QueueCounts) {
        self.queued = self.queued.saturating_sub(other.queued);
        self.delayed = self.delayed.saturating_sub(other.delayed);
        self.pages = self.pages.saturating_sub(other.pages);
        self.done = self.done.saturating_sub(other.done);
    }
}
