//! Shards that come and go while others run. A shard is restored ([`Frontier::restore_shard`]), served, perhaps handed
//! over ([`Frontier::hand_over`]), and dropped ([`Frontier::drop_shard`]). What was handed out for a shard that has gone is
//! still heard of: that frees its slot and its address, and changes nothing else.

use crate::frontier::Frontier;
use crate::host::Host;
use crate::ready::{HostIndex, NO_HOST};
use argiope_model::{JobId, Millis, Url};

impl Frontier {
    /// Is the shard here, even if it is about to go?
    pub fn owns(&self, shard: u16) -> bool {
        self.shards.is_here(shard)
    }

    /// How far the log of a shard is applied; None if nothing of it is.
    pub fn received(&self, shard: u16) -> Option<u64> {
        self.shards.get(shard)?.received
    }

    /// In the order of their places, so that a run can be repeated.
    fn hosts_of(&self, shard: u16) -> Vec<HostIndex> {
        let of_shard = |host: &Host| !host.gone && host.key.shard == shard;
        (0..).zip(self.hosts.iter()).filter(|(_, host)| of_shard(host)).map(|(index, _)| index).collect()
    }

    pub(crate) fn shard_of_host(&self, index: HostIndex) -> Option<u16> {
        self.host(index).filter(|host| !host.gone).map(|host| host.key.shard)
    }

    /// The shard of a URL, at least cost if its host is known here.
    pub(crate) fn shard_of_url(&self, url: &Url) -> u16 {
        let known = self.hosts.named(url.host()).and_then(|index| self.host(index));
        known.map_or_else(|| self.shard_of(url), |host| host.key.shard)
    }

    /// Where what leads to `url` has to be sent, if it must not be taken in directly by the shard `from`.
    pub(crate) fn sent_to(&self, from: u16, url: &Url) -> Option<u16> {
        if !self.config.leased {
            return None;
        }
        Some(self.shard_of_url(url)).filter(|to| *to != from)
    }

    /// The shard is to go to another owner: no host of it is asked for anything new. Once it is quiet, or cannot be waited
    /// for any longer, [`Frontier::give_up_shard`], write [`Frontier::take_changes`], give the lease back and drop it.
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

    /// Is nothing of the shard under way, neither a request nor a page to the catalogue?
    pub fn is_quiet(&self, shard: u16) -> bool {
        !self.flights.values().any(|flight| self.shard_of_host(flight.host) == Some(shard))
    }

    /// Requests of a shard that are under way are given up, as by [`Frontier::give_up`]: its hosts' records, which the next
    /// batch has, say when they may be asked again.
    pub fn give_up_shard(&mut self, shard: u16, now: Millis) {
        self.give_up_where(now, |of| of == shard);
    }

    /// The shard belongs to somebody else, or will in a moment: all that is known of it is forgotten, and what has not been
    /// written of it never will be.
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

    /// What is under way for the shard is nobody's from now on. A page that it may have stored stays reserved until that is
    /// known: no other may take its place in the budget.
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

    /// A name or a load that was asked for has come. True if the host it is for has gone meanwhile: then that was all that
    /// was waited for, and its place is free.
    pub(crate) fn step_ended(&mut self, index: HostIndex) -> bool {
        self.hosts.step_ended(index)
    }

    pub(crate) fn step_asked(&mut self, index: HostIndex) {
        if let Some(host) = self.host_mut(index) {
            host.step_began();
        }
    }
}
