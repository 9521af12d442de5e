//! What is needed to send a request to a host: its address, its robots.txt, pending requests for robots.txt. Most hosts of a
//! large frontier have no request due; they take one machine word here.

use crate::host::{Address, Origin, RobotsRequest};
use argiope_model::Millis;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

/// The state of a host that has no request due.
static UNUSED: ReachabilityState = ReachabilityState::new();

#[derive(Debug, Default)]
pub(crate) struct Reachability(Option<Box<ReachabilityState>>);

#[derive(Debug)]
pub(crate) struct ReachabilityState {
    pub(crate) robots_requests: VecDeque<RobotsRequest>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) address: Address,
    pub(crate) dns_tries: u8,
    pub(crate) dns_retry_at: Millis,
    /// A request to this address has ended, and this host was the first in line.
    pub(crate) address_turn: Option<IpAddr>,
}

impl ReachabilityState {
    const fn new() -> ReachabilityState {
        ReachabilityState {
            robots_requests: VecDeque::new(),
            origins: Vec::new(),
            address: Address::Unknown,
            dns_tries: 0,
            dns_retry_at: Millis(0),
            address_turn: None,
        }
    }
}

impl Reachability {
    pub(crate) fn take_address_turn(&mut self) -> Option<IpAddr> {
        self.0.as_mut()?.address_turn.take()
    }

    /// Frees unused capacity.
    pub(crate) fn shrink(&mut self) {
        let Some(state) = &mut self.0 else { return };
        state.robots_requests.shrink_to_fit();
        state.origins.shrink_to_fit();
        let is_empty = state.robots_requests.is_empty()
            && state.origins.is_empty()
            && matches!(state.address, Address::Unknown)
            && (state.dns_tries, state.dns_retry_at) == (0, Millis(0))
            && state.address_turn.is_none();
        if is_empty {
            self.0 = None;
        }
    }
}

impl Deref for Reachability {
    type Target = ReachabilityState;

    fn deref(&self) -> &ReachabilityState {
        self.0.as_deref().unwrap_or(&UNUSED)
    }
}

impl DerefMut for Reachability {
    fn deref_mut(&mut self) -> &mut ReachabilityState {
        self.0.get_or_insert_with(|| Box::new(ReachabilityState::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_takes_no_room() {
        let mut reachability = Reachability::default();
        assert!(
            reachability.robots_requests.is_empty()
                && reachability.take_address_turn().is_none()
                && reachability.0.is_none()
        );
        let turn = Some(IpAddr::from([127, 0, 0, 1]));
        reachability.address_turn = turn;
        reachability.shrink();
        assert_eq!(reachability.take_address_turn(), turn);
        reachability.shrink();
        assert!(reachability.0.is_none());
        reachability.dns_retry_at = Millis(7);
        reachability.shrink();
        assert_eq!(reachability.dns_retry_at, Millis(7));
    }
}
