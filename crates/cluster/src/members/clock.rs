//! How long a lease still holds, as far as this process knows: by a clock that includes suspension, from when the
//! renewal was sent, and with some margin. While something cannot be written, the lease does not hold either, though it
//! has not expired.

use super::epochs::Epochs;
use argiope_frontier::member::Lease;
use argiope_frontier::ownership::MARGIN;
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Milliseconds since boot, including sleep.
pub(super) fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The lease of all shards of this process. Initially there is none.
#[derive(Debug)]
pub struct LeaseClock {
    state: Mutex<State>,
    epochs: Arc<Epochs>,
    renew_every: Duration,
}

/// A renewal that is not confirmed this long after it was due has failed, even without an error: a server that hangs
/// returns nothing.
const OVERDUE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// By the clock above.
    until: Duration,
    /// When the next renewal should have been confirmed.
    expected: Duration,
    /// Terms that had ended when the next one began.
    ended: u64,
}

impl State {
    fn left(&self) -> Duration {
        self.until.saturating_sub(since_boot())
    }
}

impl LeaseClock {
    pub(super) fn new(epochs: Arc<Epochs>, renew_every: Duration) -> LeaseClock {
        LeaseClock { state: Mutex::default(), epochs, renew_every }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A renewal that was sent at `sent` is confirmed. Returns the number of the term if it is a new one.
    pub(super) fn renewed(&self, sent: Duration, length: Duration) -> Option<u64> {
        self.set(sent + length.saturating_sub(MARGIN), sent + self.renew_every + OVERDUE)
    }

    /// The lease is over, whatever was confirmed.
    pub(super) fn end(&self) {
        self.set(Duration::ZERO, Duration::ZERO);
    }

    fn set(&self, until: Duration, expected: Duration) -> Option<u64> {
        let mut state = self.state();
        let is_over = state.left().is_zero();
        state.ended += u64::from(is_over);
        (state.until, state.expected) = (until, expected);
        is_over.then_some(state.ended)
    }

    pub(super) fn left(&self) -> Duration {
        self.state().left()
    }

    /// A renewal should have been confirmed by now. Never true without a lease.
    pub(super) fn is_overdue(&self) -> bool {
        let expected = self.state().expected;
        !expected.is_zero() && since_boot() >= expected
    }
}

impl Lease for LeaseClock {
    fn holds(&self) -> bool {
        let state = *self.state();
        !state.left().is_zero() && since_boot() < state.expected && self.epochs.can_be_written()
    }

    fn term(&self) -> u64 {
        let state = self.state();
        state.ended + u64::from(state.left().is_zero())
    }

    fn ends_in(&self) -> Option<Duration> {
        Some(self.left())
    }
}

#[cfg(test)]
mod tests {
    use super::super::epochs::Writing;
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_lease_holds_from_its_renewal_until_a_little_before_its_end() {
        let clock = LeaseClock::new(Arc::default(), HOUR);
        assert!(!clock.holds());
        clock.renewed(since_boot(), HOUR);
        assert!(clock.holds());
        assert!(clock.left() <= Duration::from_secs(3598));
        // The time counts from sending, however late the response comes.
        clock.renewed(since_boot().saturating_sub(Duration::from_secs(9)), Duration::from_secs(10));
        assert!(!clock.holds());
    }

    #[test]
    fn a_term_is_over_with_its_lease_however_soon_the_next_begins() {
        let clock = LeaseClock::new(Arc::default(), HOUR);
        let first = clock.renewed(since_boot(), HOUR);
        assert_eq!(first, Some(clock.term()));
        assert_eq!(clock.renewed(since_boot(), HOUR), None, "it went on");
        assert_eq!(first, Some(clock.term()));
        clock.end();
        assert_ne!(first, Some(clock.term()));
        let over = clock.term();
        assert_eq!(clock.renewed(since_boot(), HOUR), Some(over));
        assert_eq!(clock.term(), over);
    }

    #[test]
    fn a_renewal_that_is_overdue_stops_requests_and_ends_no_term() {
        let clock = LeaseClock::new(Arc::default(), Duration::from_secs(5));
        let first = clock.renewed(since_boot().saturating_sub(Duration::from_secs(9)), HOUR);
        assert!(!clock.holds() && !clock.left().is_zero());
        assert_eq!(first, Some(clock.term()));
        assert_eq!(clock.renewed(since_boot(), HOUR), None);
        assert!(clock.holds());
    }

    #[test]
    fn a_write_that_fails_stops_requests_and_ends_no_term() {
        let epochs = Arc::new(Epochs::default());
        let clock = LeaseClock::new(Arc::clone(&epochs), HOUR);
        clock.renewed(since_boot(), HOUR);
        let term = clock.term();
        epochs.set_failing(Writing::Frontier, true);
        assert!(!clock.holds() && !clock.left().is_zero());
        epochs.set_failing(Writing::Frontier, false);
        assert!(clock.holds());
        assert_eq!(clock.term(), term);
    }

    #[test]
    fn a_renewal_is_overdue_when_it_should_have_been_confirmed() {
        let clock = LeaseClock::new(Arc::default(), Duration::from_secs(5));
        assert!(!clock.is_overdue(), "there is no lease yet");
        clock.renewed(since_boot(), HOUR);
        assert!(!clock.is_overdue());
        clock.renewed(since_boot().saturating_sub(Duration::from_secs(9)), HOUR);
        assert!(clock.is_overdue() && !clock.holds() && !clock.left().is_zero());
        clock.end();
        assert!(!clock.is_overdue());
    }
}
