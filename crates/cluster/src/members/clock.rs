//! How long a lease still holds, as far as this process can tell: on a clock that goes on while the machine sleeps or the
//! process is stopped, from when the renewal was sent, and with some time to spare.

use argiope_frontier::member::Lease;
use argiope_frontier::ownership::MARGIN;
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Milliseconds since the machine was started, those of its sleep included.
pub(super) fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The lease of all shards of this process. It begins without any.
#[derive(Debug, Default)]
pub struct LeaseClock {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// On the clock above.
    until: Duration,
    /// Terms that were over when the next began.
    ended: u64,
}

impl State {
    fn left(&self) -> Duration {
        self.until.saturating_sub(since_boot())
    }
}

impl LeaseClock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A renewal that was sent at `sent` has been confirmed.
    pub(super) fn renewed(&self, sent: Duration, length: Duration) {
        self.set(sent + length.saturating_sub(MARGIN));
    }

    pub(super) fn set(&self, until: Duration) {
        let mut state = self.state();
        state.ended += u64::from(state.left().is_zero());
        state.until = until;
    }

    pub(super) fn left(&self) -> Duration {
        self.state().left()
    }
}

impl Lease for LeaseClock {
    fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    fn term(&self) -> u64 {
        let state = self.state();
        state.ended + u64::from(state.left().is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_from_its_renewal_until_a_little_before_its_end() {
        let clock = LeaseClock::default();
        assert!(!clock.holds());
        clock.renewed(since_boot(), Duration::from_secs(3600));
        assert!(clock.holds());
        assert!(clock.left() <= Duration::from_secs(3598));
        // What was sent long ago counts from then, however late the answer came.
        clock.renewed(since_boot().saturating_sub(Duration::from_secs(9)), Duration::from_secs(10));
        assert!(!clock.holds());
    }

    #[test]
    fn a_term_is_over_with_its_lease_however_soon_the_next_begins() {
        let clock = LeaseClock::default();
        let hour = Duration::from_secs(3600);
        clock.renewed(since_boot(), hour);
        let term = clock.term();
        clock.renewed(since_boot(), hour);
        assert_eq!(clock.term(), term, "it went on");
        clock.set(Duration::ZERO);
        assert_ne!(clock.term(), term);
        let over = clock.term();
        clock.renewed(since_boot(), hour);
        assert_eq!(clock.term(), over);
    }
}
