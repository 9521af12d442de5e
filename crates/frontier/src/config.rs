//! Settings of the frontier: how many visits it hands out at once and keeps in memory.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct FrontierConfig {
    pub shards: u16,
    /// Shards come and go: none is owned before it is restored, and messages between shards go through their logs.
    /// Otherwise all shards are owned permanently.
    pub leased: bool,
    /// Requests in flight in total.
    pub concurrency: usize,
    /// Requests handed out in addition: each waits until one in flight has ended, and then starts without another round
    /// trip to the scheduler.
    pub ahead: usize,
    /// Requests in flight per IP address.
    pub per_address: u32,
    /// Visits handed out and not yet completed: the limit of everything behind the frontier.
    pub max_outstanding: usize,
    /// Queue entries kept in memory: none where most hosts have only one ...
    pub window: usize,
    /// ... while there are fewer than this in total; beyond it, a few per queue.
    pub windows_in_all: usize,
    /// A visit without a response for this long goes back to its queue.
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
