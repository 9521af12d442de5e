//! Settings of the frontier itself: how much it hands out at once and keeps in memory.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct FrontierConfig {
    pub shards: u16,
    /// Shards come and go: none is owned before it is restored, and whatever leads from one to another is sent through the
    /// log of the other. Otherwise all are owned for good.
    pub leased: bool,
    /// Requests in flight in all.
    pub concurrency: usize,
    /// Requests that are handed out beside those: each waits until one of them has ended, and begins without being asked for.
    pub ahead: usize,
    /// Requests in flight per address.
    pub per_address: u32,
    /// Visits handed out and not yet completed: what the rooms behind may hold at most.
    pub max_outstanding: usize,
    /// Entries of a queue that are kept in memory: none where most hosts have a single one ...
    pub window: usize,
    /// ... while there are fewer than this in all; beyond it a few per queue.
    pub windows_in_all: usize,
    /// A visit handed out and not heard of for so long goes back to its queue.
    pub stale_after: Duration,
}

impl Default for FrontierConfig {
    fn default() -> FrontierConfig {
        FrontierConfig {
            shards: 64,
            leased: false,
            concurrency: 100,
            ahead: 0,
            per_address: 8,
            max_outstanding: 10_000,
            window: 32,
            windows_in_all: 400_000,
            stale_after: Duration::from_secs(300),
        }
    }
}
