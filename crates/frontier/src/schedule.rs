//! Where each host stands: idle, waiting for a time, ready, waiting for its address, or busy. Every event that may change
//! that ends in [`Frontier::reschedule`].

use crate::frontier::Frontier;
use crate::host::Place;
use crate::host_table::HostTable;
use crate::ready::{HostIndex, Stamp};
use argiope_model::Millis;
use std::net::IpAddr;
use std::time::Duration;

/// A host whose delay is over within this time has nothing but new links to wait for.
const STARVES_WITHIN: Duration = Duration::from_millis(100);

impl Frontier {
    /// Puts a host where it belongs now. If it was woken for a place at its address and does not take it, the next one
    /// in that line is woken instead.
    pub(crate) fn reschedule(&mut self, index: HostIndex, now: Millis) {
        let mut unused = self.place_host(index, now);
        while let Some(address) = unused {
            unused = self.wake_at(address).and_then(|next| self.place_host(next, now));
        }
    }

    pub(crate) fn reschedule_all(&mut self) {
        for index in 0..self.hosts.len() {
            // Time zero: whoever has work becomes ready or waits for its time; `next` looks at the clock.
            self.reschedule(index as HostIndex, Millis(0));
        }
    }

    /// A host that has nothing more to do lets go of what it holds.
    pub(crate) fn reschedule_if_idle(&mut self, index: HostIndex, now: Millis) {
        if self.host(index).is_some_and(|host| host.place == Place::Idle) {
            self.reschedule(index, now);
        }
    }

    /// The first host that waits for this address leaves the line; it has a place there now.
    pub(crate) fn wake_at(&mut self, address: IpAddr) -> Option<HostIndex> {
        let hosts = &self.hosts;
        let live = |host, stamp| Frontier::is_live(hosts, host, stamp, |p| p == Place::AtAddress);
        let next = self.addresses.next_waiting(address, live)?;
        let host = self.hosts.get_mut(next as usize)?;
        host.place = Place::Busy;
        host.reachability.address_turn = Some(address);
        Some(next)
    }

    /// There is a place at this address for the first in line.
    pub(crate) fn pass_on(&mut self, address: IpAddr, now: Millis) {
        if let Some(next) = self.wake_at(address) {
            self.reschedule(next, now);
        }
    }

    /// Returns the address at which the host had a place that it does not take.
    fn place_host(&mut self, index: HostIndex, now: Millis) -> Option<IpAddr> {
        self.find_rules(index);
        let host = self.hosts.get(index as usize)?;
        let (place, rank) = host.place_now(host.rules.as_deref()?, &self.jobs, now);
        let host = self.hosts.get_mut(index as usize)?;
        let starved = place == Place::Idle
            && host.in_flight == 0
            && host.politeness.next_allowed() <= now + STARVES_WITHIN
            && host.has_outstanding();
        if starved != host.starved {
            host.starved = starved;
            self.starved = if starved { self.starved + 1 } else { self.starved.saturating_sub(1) };
        }
        if place == Place::Idle {
            if !host.closed {
                host.wait_for_budget(index, &mut self.jobs);
            }
            if host.in_flight == 0 {
                host.rest();
            }
        }
        let stays = match (host.place, place) {
            (Place::Ready, Place::Ready) => host.rank == rank,
            // Only the end of a request to its address makes it ready.
            (Place::AtAddress, Place::Ready) => true,
            (before, after) => before == after,
        };
        if !stays {
            host.stamp = host.stamp.wrapping_add(1);
            host.place = place;
            host.rank = rank;
            let stamp = host.stamp;
            match place {
                Place::Waiting(at, _) => {
                    self.timers.insert(at, index, stamp);
                    self.compact_timers();
                }
                Place::Ready => {
                    self.ready.insert(index, stamp, rank, host.prepared);
                    self.compact_ready();
                }
                Place::Idle | Place::Busy | Place::AtAddress => {}
            }
        }
        if place == Place::Ready {
            None
        } else {
            self.hosts.get_mut(index as usize)?.reachability.take_address_turn()
        }
    }

    pub(crate) fn is_live(
        hosts: &HostTable,
        index: HostIndex,
        stamp: Stamp,
        place: fn(Place) -> bool,
    ) -> bool {
        hosts.get(index as usize).is_some_and(|host| host.stamp == stamp && place(host.place))
    }

    fn compact_timers(&mut self) {
        let hosts = &self.hosts;
        self.timers.compact(|host, stamp| {
            Frontier::is_live(hosts, host, stamp, |p| matches!(p, Place::Waiting(..)))
        });
    }

    fn compact_ready(&mut self) {
        let hosts = &self.hosts;
        self.ready.compact(|host, stamp| Frontier::is_live(hosts, host, stamp, |p| p == Place::Ready));
    }
}
