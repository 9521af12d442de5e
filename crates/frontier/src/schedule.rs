//! The place of each host: idle, waiting for a time, ready, waiting for its address, or busy. Every event that may
//! change it ends in [`Frontier::reschedule`].

use crate::frontier::Frontier;
use crate::host::{Host, Place};
use crate::host_table::HostTable;
use crate::ready::{HostIndex, ReadySet, Timers};
use argiope_model::Millis;
use std::net::IpAddr;
use std::time::Duration;

/// A host whose delay is over within this time waits only for new links.
const SOON: Duration = Duration::from_millis(100);

/// The hosts that are ready and those that wait for a time. Both structures delete lazily: an entry counts only while the
/// host is still there.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    ready: ReadySet,
    timers: Timers,
    /// Hosts that could be requested now, if the links in pages that are not stored yet were known.
    awaiting_links: usize,
}

fn is_waiting(place: Place) -> bool {
    matches!(place, Place::Waiting(..))
}

fn is_ready(place: Place) -> bool {
    place == Place::Ready
}

impl Schedule {
    /// Adds a host that has just moved to its place.
    fn put(&mut self, index: HostIndex, hosts: &HostTable) {
        let Some(host) = hosts.get(index as usize) else { return };
        match host.place {
            Place::Waiting(at, _) => {
                self.timers.insert(at, index, host.stamp);
                self.timers.compact(|host, stamp| hosts.is_at(host, stamp, is_waiting));
            }
            Place::Ready => {
                self.ready.insert(index, host.stamp, host.rank, host.prepared);
                self.ready.compact(|host, stamp| hosts.is_at(host, stamp, is_ready));
            }
            Place::Idle | Place::Busy | Place::AtAddress => {}
        }
    }

    /// The host that is served next.
    pub(crate) fn next_ready(&mut self, hosts: &HostTable) -> Option<HostIndex> {
        self.ready.pop(|host, stamp| hosts.is_at(host, stamp, is_ready))
    }

    /// The next host whose wait is over.
    pub(crate) fn pop_due(&mut self, now: Millis, hosts: &HostTable) -> Option<HostIndex> {
        self.timers.pop_due(now, |host, stamp| hosts.is_at(host, stamp, is_waiting))
    }

    /// When the first wait is over.
    pub(crate) fn next_due(&mut self, hosts: &HostTable) -> Option<Millis> {
        self.timers.next_due(|host, stamp| hosts.is_at(host, stamp, is_waiting))
    }

    pub(crate) fn awaiting_links(&self) -> usize {
        self.awaiting_links
    }

    fn count_awaiting(&mut self, awaits: bool) {
        self.awaiting_links =
            if awaits { self.awaiting_links + 1 } else { self.awaiting_links.saturating_sub(1) };
    }

    /// The host has left with its shard.
    pub(crate) fn left(&mut self, host: &Host) {
        self.awaiting_links = self.awaiting_links.saturating_sub(usize::from(host.awaits_links));
    }
}

impl Frontier {
    /// Moves a host to its current place. If it was woken because its address has room and does not use it, the next
    /// host in that line is woken instead.
    pub(crate) fn reschedule(&mut self, index: HostIndex, now: Millis) {
        let mut unused = self.place_host(index, now);
        while let Some(address) = unused {
            unused = self.wake_at(address).and_then(|next| self.place_host(next, now));
        }
    }

    pub(crate) fn reschedule_all(&mut self) {
        for index in 0..self.hosts.len() {
            // Time zero: a host with work becomes ready or waits for its time; `next` checks the clock.
            self.reschedule(index as HostIndex, Millis(0));
        }
    }

    /// A host with nothing more to do releases its memory.
    pub(crate) fn reschedule_if_idle(&mut self, index: HostIndex, now: Millis) {
        if self.host(index).is_some_and(|host| host.place == Place::Idle) {
            self.reschedule(index, now);
        }
    }

    /// Removes the first host that waits for this address; the address has room for it now.
    pub(crate) fn wake_at(&mut self, address: IpAddr) -> Option<HostIndex> {
        let hosts = &self.hosts;
        let live = |host, stamp| hosts.is_at(host, stamp, |place| place == Place::AtAddress);
        let next = self.addresses.next_waiting(address, live)?;
        let host = self.hosts.get_mut(next as usize)?;
        host.place = Place::Busy;
        host.reachability.address_turn = Some(address);
        Some(next)
    }

    /// This address has room for the first host in line.
    pub(crate) fn pass_on(&mut self, address: IpAddr, now: Millis) {
        if let Some(next) = self.wake_at(address) {
            self.reschedule(next, now);
        }
    }

    /// Returns the address whose room the host does not use.
    fn place_host(&mut self, index: HostIndex, now: Millis) -> Option<IpAddr> {
        self.find_rules(index);
        let host = self.hosts.get(index as usize)?;
        let (place, rank) = host.place_now(host.rules.as_deref()?, &self.jobs, now);
        let host = self.hosts.get_mut(index as usize)?;
        let awaits_links = place == Place::Idle
            && host.in_flight == 0
            && host.politeness.next_allowed() <= now + SOON
            && host.has_outstanding();
        if awaits_links != host.awaits_links {
            host.awaits_links = awaits_links;
            self.schedule.count_awaiting(awaits_links);
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
            self.schedule.put(index, &self.hosts);
        }
        if place == Place::Ready {
            None
        } else {
            self.hosts.get_mut(index as usize)?.reachability.take_address_turn()
        }
    }
}
