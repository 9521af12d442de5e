//! The budget of file descriptors for connections. All fetchers share one [`Descriptors`]: it bounds their idle connections
//! and makes them close some when the system has no descriptor left.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Clones share the budget.
#[derive(Clone)]
pub struct Descriptors {
    shared: Arc<Shared>,
}

struct Shared {
    /// How many connections all fetchers together may keep idle. Lowered when descriptors run out.
    most_idle: AtomicUsize,
    /// How many they keep, by their last reports.
    idle: AtomicUsize,
    fetchers: AtomicUsize,
    /// Fetches that wait for a descriptor.
    waiting: AtomicUsize,
    shortage: Notify,
    freed: Notify,
    /// Permits for parallel connection attempts of one request.
    second_addresses: Semaphore,
}

impl Descriptors {
    pub fn with_most_idle(most_idle: usize) -> Descriptors {
        Descriptors::new(most_idle, SECOND_ADDRESSES)
    }

    /// A request has one connection. While it connects to a host with several addresses, it may try another in parallel;
    /// all requests together at most `second_addresses`.
    pub fn new(most_idle: usize, second_addresses: usize) -> Descriptors {
        let shared = Shared {
            most_idle: AtomicUsize::new(most_idle),
            idle: AtomicUsize::new(0),
            fetchers: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            shortage: Notify::new(),
            freed: Notify::new(),
            second_addresses: Semaphore::new(second_addresses.min(Semaphore::MAX_PERMITS)),
        };
        Descriptors { shared: Arc::new(shared) }
    }

    /// How many connections may be idle now.
    pub fn most_idle(&self) -> usize {
        self.shared.most_idle.load(Ordering::Relaxed)
    }

    /// None while too many connections are tried in parallel.
    pub(crate) fn second_address(&self) -> Option<SemaphorePermit<'_>> {
        self.shared.second_addresses.try_acquire().ok()
    }

    pub(crate) fn join(&self) -> Share {
        self.shared.fetchers.fetch_add(1, Ordering::Relaxed);
        Share { descriptors: self.clone(), idle: 0.into() }
    }
}

impl fmt::Debug for Descriptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Descriptors").field("most_idle", &self.most_idle()).finish_non_exhaustive()
    }
}

/// Whether the process or the system has no descriptor left.
pub(crate) fn ran_out(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// How long to wait for a connection of this process to end before trying again: other parts of the process free descriptors
/// without notice.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);
const SECOND_ADDRESSES: usize = 64;

/// One fetcher's share.
pub(crate) struct Share {
    descriptors: Descriptors,
    /// The number that this fetcher last reported.
    idle: std::cell::Cell<usize>,
}

impl Share {
    /// How many connections this fetcher may keep idle. Hosts are spread evenly over fetchers, so the shares are equal.
    pub(crate) fn most_idle(&self) -> usize {
        self.descriptors.most_idle() / self.descriptors.shared.fetchers.load(Ordering::Relaxed).max(1)
    }

    /// Reports the number of idle connections, and wakes those who wait for a descriptor.
    pub(crate) fn tell(&self, idle: usize) {
        let shared = &self.descriptors.shared;
        let before = self.idle.replace(idle);
        if idle > before {
            shared.idle.fetch_add(idle - before, Ordering::Relaxed);
        } else if idle < before {
            shared.idle.fetch_sub(before - idle, Ordering::Relaxed);
        }
        if shared.waiting.load(Ordering::Relaxed) > 0 {
            shared.freed.notify_waiters();
        }
    }

    /// Descriptors have run out: all fetchers close some idle connections, and the limit falls to three quarters of the
    /// current number.
    pub(crate) fn shrink(&self) {
        let shared = &self.descriptors.shared;
        let idle = shared.idle.load(Ordering::Relaxed);
        let fewer = (idle - idle / 4).max(LEAST_IDLE * shared.fetchers.load(Ordering::Relaxed));
        if shared.most_idle.fetch_min(fewer, Ordering::Relaxed) > fewer {
            tracing::warn!(idle = fewer, "too many open files: fewer idle connections are kept");
        }
        shared.shortage.notify_waiters();
    }

    /// Completes when descriptors have run out.
    pub(crate) fn shortage(&self) -> Notified<'_> {
        self.descriptors.shared.shortage.notified()
    }

    /// Waits until a connection has ended, or for a moment.
    pub(crate) async fn wait(&self) {
        let shared = &self.descriptors.shared;
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&shared.waiting);
        // Whether it was freed or not is seen by trying again.
        let _ = tokio::time::timeout(PATIENCE, shared.freed.notified()).await;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.tell(0);
        self.descriptors.shared.fetchers.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Waiting<'w>(&'w AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Each fetcher may keep this many idle even after a shortage.
const LEAST_IDLE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetchers_have_equal_shares_of_what_may_be_idle() {
        let descriptors = Descriptors::with_most_idle(100);
        let first = descriptors.join();
        assert_eq!(first.most_idle(), 100);
        let second = descriptors.join();
        assert_eq!((first.most_idle(), second.most_idle()), (50, 50));
        drop(second);
        assert_eq!(first.most_idle(), 100);
    }

    #[test]
    fn many_that_run_out_at_once_give_up_a_quarter_once() {
        let descriptors = Descriptors::with_most_idle(1000);
        let (one, other) = (descriptors.join(), descriptors.join());
        one.tell(300);
        other.tell(100);
        for _ in 0..50 {
            one.shrink();
        }
        assert_eq!(descriptors.most_idle(), 300);
        one.tell(150);
        other.tell(100);
        other.shrink();
        assert_eq!(descriptors.most_idle(), 188);
        one.tell(0);
        other.tell(3);
        other.shrink();
        assert_eq!(descriptors.most_idle(), 16, "some may be kept when there is room again");
    }

    #[test]
    fn no_more_second_addresses_are_tried_at_a_time_than_there_is_room_for() {
        let descriptors = Descriptors::new(0, 1);
        let first = descriptors.second_address();
        assert!(first.is_some() && descriptors.second_address().is_none());
        drop(first);
        assert!(descriptors.second_address().is_some());
    }
}
