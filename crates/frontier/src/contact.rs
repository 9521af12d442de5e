//! What is at hand for asking a host: its address, its robots.txt, requests for it. Most hosts of a large frontier wait
//! their turn or have had it; a word is all that they take here.

use crate::host::{Address, Errand, Origin};
use argiope_model::Millis;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

/// Of a host that nobody is about to ask.
static NOTHING: AtHand = AtHand::new();

#[derive(Debug, Default)]
pub(crate) struct Contact(Option<Box<AtHand>>);

#[derive(Debug)]
pub(crate) struct AtHand {
    pub(crate) errands: VecDeque<Errand>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) address: Address,
    pub(crate) dns_tries: u8,
    pub(crate) dns_retry_at: Millis,
    /// A request to this address has ended, and this host was the first in line.
    pub(crate) address_turn: Option<IpAddr>,
}

impl AtHand {
    const fn new() -> AtHand {
        AtHand {
            errands: VecDeque::new(),
            origins: Vec::new(),
            address: Address::Unknown,
            dns_tries: 0,
            dns_retry_at: Millis(0),
            address_turn: None,
        }
    }
}

impl Contact {
    pub(crate) fn take_address_turn(&mut self) -> Option<IpAddr> {
        self.0.as_mut()?.address_turn.take()
    }

    /// Lets go of the room that nothing is kept in.
    pub(crate) fn shrink(&mut self) {
        let Some(at_hand) = &mut self.0 else { return };
        at_hand.errands.shrink_to_fit();
        at_hand.origins.shrink_to_fit();
        let is_empty = at_hand.errands.is_empty()
            && at_hand.origins.is_empty()
            && matches!(at_hand.address, Address::Unknown)
            && (at_hand.dns_tries, at_hand.dns_retry_at) == (0, Millis(0))
            && at_hand.address_turn.is_none();
        if is_empty {
            self.0 = None;
        }
    }
}

impl Deref for Contact {
    type Target = AtHand;

    fn deref(&self) -> &AtHand {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for Contact {
    fn deref_mut(&mut self) -> &mut AtHand {
        self.0.get_or_insert_with(|| Box::new(AtHand::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_takes_no_room() {
        let mut contact = Contact::default();
        assert!(contact.errands.is_empty() && contact.take_address_turn().is_none() && contact.0.is_none());
        let turn = Some(IpAddr::from([127, 0, 0, 1]));
        contact.address_turn = turn;
        contact.shrink();
        assert_eq!(contact.take_address_turn(), turn);
        contact.shrink();
        assert!(contact.0.is_none());
        contact.dns_retry_at = Millis(7);
        contact.shrink();
        assert_eq!(contact.dns_retry_at, Millis(7));
    }
}
