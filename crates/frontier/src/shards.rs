//! Shards that come and go while others run. A shard is restored ([`Frontier::restore_shard`]), served, perhaps handed
//! over ([`Frontier::hand_over`]), and dropped ([`Frontier::drop_shard`]). Responses for a dropped shard still arrive:
//! they free its slot and its address, and change nothing else.

use crate::frontier::Frontier;
use crate::host::Host;
use crate::ready::{HostIndex, NO_HOST};
use argiope_model::{JobId, Millis, Url};

impl Frontier {
    /// Whether the shard is owned here, even if it is about to leave.
    pub fn owns(&self, shard: u16) -> bool {
        self.shards.is_here(shard)
    }

    /// How far the log of a shard is applied; None if nothing is.
    pub fn received(&self, shard: u16) -> Option<u64> {
        self.shards.get(shard)?.received
    }

    /// In order of position, so that a run is reproducible.
    fn hosts_of(&self, shard: u16) -> Vec<HostIndex> {
        let of_shard = |host: &Host| !host.gone && host.key.shard == shard;
        (0..).zip(self.hosts.iter()).filter(|(_, host)| of_shard(host)).map(|(index, _)| index).collect()
    }

    pub(crate) fn shard_of_host(&self, index: HostIndex) -> Option<u16> {
        self.host(index).filter(|host| !host.gone).map(|host| host.key.shard)
    }

    /// The shard of a URL; cheap if its host is known here.
    pub(crate) fn shard_of_url(&self, url: &Url) -> u16 {
        let known = self.hosts.named(url.host()).and_then(|index| self.host(index));
        known.map_or_else(|| self.shard_of(url), |host| host.key.shard)
    }

    /// The shard that must receive `url`, if the shard `from` cannot admit it directly.
    pub(crate) fn sent_to(&self, from: u16, url: &Url) -> Option<u16> {
        if !self.config.leased {
            return None;
        }
        Some(self.shard_of_url(url)).filter(|to| *to != from)
    }

    /// The shard goes to another owner: its hosts get no new requests. Once it is quiet, or waited for too long, call
    /// [`Frontier::give_up_shard`], write [`Frontier::take_changes`], release the lease and drop it.
    pub fn hand_over(&mut self, shard: u16, now: Millis) {
        if !self.owns(shard) {
            return;
        }
        self.shards.close(shard);
        for index in self.hosts_of(shard) {
            if let Some(host) = self.host_mut(index) {
                host.closed = true;
            }
            self.reschedule(index, now);
        }
    }

    /// Whether nothing of the shard is in progress, neither a request nor a page on its way to the catalogue.
    pub fn is_quiet(&self, shard: u16) -> bool {
        !self.flights.values().any(|flight| self.shard_of_host(flight.host) == Some(shard))
    }

    /// Aborts requests of a shard that are in flight, like [`Frontier::give_up`]: the records of its hosts in the next
    /// batch have the times of their next requests.
    pub fn give_up_shard(&mut self, shard: u16, now: Millis) {
        self.give_up_where(now, |of| of == shard);
    }

    /// The shard belongs to another owner, or soon will: its state is forgotten, and unwritten changes are discarded.
    pub fn drop_shard(&mut self, shard: u16, now: Millis) {
        if !self.owns(shard) {
            return;
        }
        self.shards.drop(shard);
        self.pending.drop_shard(shard);
        self.outbound.drop_shard(shard);
        self.orphan_flights(shard);
        for index in self.hosts_of(shard) {
            self.drop_host(index, now);
        }
        self.seen.drop_shard(shard);
        let hosts = &self.hosts;
        let stays = |index: &HostIndex| hosts.get(*index as usize).is_some_and(|host| !host.gone);
        for job in self.jobs.values_mut() {
            job.drop_shard(shard);
            job.wait_for_budget.retain(stays);
        }
        let mut jobs: Vec<JobId> = self.jobs.keys().copied().collect();
        jobs.sort_unstable();
        for id in jobs {
            self.wake_for_budget(id, now);
        }
    }

    /// Visits of the shard in progress have no owner from now on. A page that they may have stored stays reserved until
    /// that is known, so that no other takes its place in the budget.
    fn orphan_flights(&mut self, shard: u16) {
        let (hosts, jobs) = (&self.hosts, &mut self.jobs);
        self.flights.retain(|flight| {
            let host = hosts.get(flight.host as usize);
            if host.is_none_or(|host| host.gone || host.key.shard != shard) {
                return true;
            }
            flight.host = NO_HOST;
            flight.robots = None;
            if let Some(entry) = flight.entry.take() {
                if let Some(job) = jobs.get_mut(&entry.job) {
                    job.in_progress = job.in_progress.saturating_sub(1);
                }
                flight.orphan_of = Some(entry.job);
            }
            flight.reserved
        });
    }

    fn drop_host(&mut self, index: HostIndex, now: Millis) {
        let Some(host) = self.hosts.leave(index) else { return };
        let in_memory: usize = host.queues.iter().map(|q| q.queue.in_memory()).sum();
        self.windows.changed(in_memory, 0);
        self.schedule.left(&host);
        for job in self.jobs.values_mut() {
            job.subdomains.remove(host.root(), index);
            job.host_visits.remove(&index);
        }
        if let Some(address) = host.reachability.address_turn {
            self.pass_on(address, now);
        }
    }

    /// A lookup or load has returned. True if its host has left meanwhile: then its place is free.
    pub(crate) fn step_ended(&mut self, index: HostIndex) -> bool {
        self.hosts.step_ended(index)
    }

    pub(crate) fn step_asked(&mut self, index: HostIndex) {
        if let Some(host) = self.host_mut(index) {
            host.step_began();
        }
    }
}
