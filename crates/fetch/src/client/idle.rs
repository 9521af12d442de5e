//! Connections without a request: kept for the next one, closed when they expire or when file descriptors run out.

use super::{Link, Shared};
use crate::descriptors::Share;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

impl Shared {
    /// Keeps the connection for as long as it may be idle.
    pub(super) async fn release(&self, link: Link, key: &Rc<str>, idle: Option<Duration>) {
        // Dropping an HTTP/2 stream gives its connection back. The rest of an unfinished response is still on the
        // wire of an HTTP/1 connection, so that one cannot be reused.
        if let (Link::Http1(mut connection), Some(idle)) = (link, idle)
            && connection.is_usable().await
        {
            self.pool.borrow_mut().put_http1(key, *connection, Instant::now() + idle);
        }
    }

    /// Closes idle connections that have expired or exceed the limit. Returns when the next one expires.
    fn trim(&self) -> Option<Instant> {
        let mut pool = self.pool.borrow_mut();
        let next = pool.trim(Instant::now(), self.share.most_idle());
        self.share.tell(pool.idle_count());
        next
    }

    /// Closes `number` idle connections, or more if they exceed the limit. Returns whether any was closed.
    pub(super) fn shed(&self, number: usize) -> bool {
        let idle = self.pool.borrow().idle_count();
        self.trim();
        let mut pool = self.pool.borrow_mut();
        pool.trim(Instant::now(), idle.saturating_sub(number));
        self.share.tell(pool.idle_count());
        pool.idle_count() < idle
    }

    /// Cleans up after a fetch: expired connections, and the pool entry of a host without connections.
    pub(super) fn tidy(self: &Rc<Self>, key: &str) {
        let next = self.trim();
        self.pool.borrow_mut().forget_host(key);
        if let Some(next) = next
            && !self.sweeping.replace(true)
        {
            tokio::task::spawn_local(sweep(Rc::downgrade(self), self.share.clone(), next));
        }
    }

    /// When to sweep again, if the next idle connection expires at `next`: not once for each of them.
    fn next_sweep(&self, next: Instant) -> Instant {
        next.max(Instant::now() + SWEEP_INTERVAL.min(self.options.idle_timeout))
    }
}

const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Closes idle connections when they expire, or when file descriptors run out. Ends when none is left.
async fn sweep(shared: Weak<Shared>, share: Rc<Share>, mut next: Instant) {
    loop {
        let short = tokio::select! {
            () = sleep_until(next) => false,
            () = share.shortage() => true,
        };
        let Some(shared) = shared.upgrade() else { return };
        if short {
            let idle = shared.pool.borrow().idle_count();
            shared.shed(idle.div_ceil(4));
        }
        let Some(earliest) = shared.trim() else {
            shared.sweeping.set(false);
            return;
        };
        next = shared.next_sweep(earliest);
    }
}
