//! A clean stop of the process.

use crate::frontier::Frontier;
use crate::host::Host;
use crate::ready::HostIndex;
use crate::state::QueueAt;
use argiope_model::{JobId, Millis};
use std::collections::BTreeSet;

impl Frontier {
    /// The queues of the URLs of a job on a host, waiting or delayed, for listing them.
    pub fn queue_at(&self, job: JobId, host: &str) -> Option<QueueAt> {
        let host = self.hosts.named(host).and_then(|index| self.host(index))?;
        Some(QueueAt { job, host: host.key })
    }

    /// Requests in flight are aborted: their visits stay queued, and their hosts are owed a full delay from now.
    pub fn give_up(&mut self, now: Millis) {
        self.give_up_where(now, |_| true);
    }

    pub(crate) fn give_up_where(&mut self, now: Millis, means: impl Fn(u16) -> bool) {
        let asked = self.flights.values().filter(|flight| flight.is_requesting()).map(|flight| flight.host);
        let meant = |index: &HostIndex| self.shard_of_host(*index).is_some_and(&means);
        let hosts: Vec<HostIndex> = asked.filter(meant).collect();
        for index in hosts {
            let delay = self.delay_of(index, now);
            if let Some(host) = self.host_mut(index) {
                host.politeness.started(now, delay);
            }
            self.hosts.mark_dirty(index);
        }
        self.keep_unclean_waits(now, means);
    }

    /// Hosts that still wait because the previous owner did not stop cleanly keep waiting after this clean stop.
    fn keep_unclean_waits(&mut self, now: Millis, means: impl Fn(u16) -> bool) {
        let shards = self.shards.iter();
        let unclean: BTreeSet<u16> = shards
            .filter(|(shard, slot)| slot.unclean_start.is_some() && means(*shard))
            .map(|(shard, _)| shard)
            .collect();
        if unclean.is_empty() {
            return;
        }
        for index in 0..self.hosts.len() {
            let waits = |host: &&Host| {
                !host.gone && unclean.contains(&host.key.shard) && host.politeness.next_allowed() > now
            };
            if self.hosts.get(index).filter(waits).is_some() {
                self.hosts.mark_dirty(index as HostIndex);
            }
        }
    }
}
