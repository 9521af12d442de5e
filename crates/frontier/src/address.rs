//! Requests in flight per IP address: many host names may share one server.

use crate::hash::FastMap;
use crate::ready::{HostIndex, Stamp};
use std::collections::VecDeque;
use std::net::IpAddr;

#[derive(Debug, Default)]
pub(crate) struct AddressBook {
    slots: FastMap<IpAddr, Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    in_flight: u32,
    waiting: VecDeque<(HostIndex, Stamp)>,
}

impl AddressBook {
    pub(crate) fn in_flight(&self, address: IpAddr) -> u32 {
        self.slots.get(&address).map_or(0, |slot| slot.in_flight)
    }

    pub(crate) fn take(&mut self, address: IpAddr) {
        self.slots.entry(address).or_default().in_flight += 1;
    }

    /// Wake the host when a request to this address ends.
    pub(crate) fn wait(&mut self, address: IpAddr, host: HostIndex, stamp: Stamp) {
        self.slots.entry(address).or_default().waiting.push_back((host, stamp));
    }

    /// A request has ended.
    pub(crate) fn give_back(&mut self, address: IpAddr) {
        if let Some(slot) = self.slots.get_mut(&address) {
            slot.in_flight = slot.in_flight.saturating_sub(1);
            if slot.in_flight == 0 && slot.waiting.is_empty() {
                self.slots.remove(&address);
            }
        }
    }

    /// Removes the first host in line for the address.
    pub(crate) fn next_waiting(
        &mut self,
        address: IpAddr,
        is_live: impl Fn(HostIndex, Stamp) -> bool,
    ) -> Option<HostIndex> {
        let slot = self.slots.get_mut(&address)?;
        let mut next = None;
        while let Some((host, stamp)) = slot.waiting.pop_front() {
            if is_live(host, stamp) {
                next = Some(host);
                break;
            }
        }
        if slot.in_flight == 0 && slot.waiting.is_empty() {
            self.slots.remove(&address);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_host_is_woken_by_the_end_of_a_request() {
        let mut book = AddressBook::default();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        book.take(address);
        book.take(address);
        book.wait(address, 4, 0);
        book.wait(address, 5, 0);
        book.give_back(address);
        assert_eq!(book.next_waiting(address, |host, _| host != 4), Some(5));
        assert_eq!(book.in_flight(address), 1);
        book.give_back(address);
        assert_eq!(book.next_waiting(address, |_, _| true), None);
        assert_eq!(book.in_flight(address), 0);
        assert!(book.slots.is_empty());
    }
}
