//! URLs that have ended and should be fetched again.

use crate::codec::encode_visit;
use crate::frontier::Frontier;
use crate::queue::{Entry, OrderKey};
use crate::ready::HostIndex;
use crate::state::{QueueAt, ShardState, StateError};
use argiope_model::{Millis, Visit};

/// A URL that has ended.
#[derive(Clone, Debug)]
pub struct Again {
    /// As if it had just been discovered: no attempts, no hops.
    pub visit: Visit,
    /// The number of its record in the catalogue, from 1 on. Its place in the queue follows from it, so that an
    /// interrupted retry can be repeated without queueing the URL twice.
    pub number: u64,
    /// It was counted as a page of the job.
    pub counted: bool,
}

impl Frontier {
    /// Queues a URL again that has ended. False if it is queued already, None if its job is not open. Failures of its
    /// host are forgotten. For shards that are not leased; everything in [`Frontier::take_changes`] must have been
    /// applied before, and the record of the URL must be removed once this is durable.
    pub fn requeue(
        &mut self,
        state: &dyn ShardState,
        again: &Again,
        now: Millis,
    ) -> Result<Option<bool>, StateError> {
        let Again { visit, number, counted } = again;
        let index = self.host_index(visit.url.host());
        let Some(key) = self.host(index).map(|host| host.key) else { return Ok(None) };
        let at = QueueAt { job: visit.job, host: key };
        let depth = u8::try_from(visit.depth).unwrap_or(u8::MAX);
        let order = OrderKey { rank: OrderKey::rank_of(visit.priority), depth, sequence: *number };
        let before = OrderKey { sequence: number.saturating_sub(1), ..order };
        let known = state.load_queue(at, Some(before), 1)?;
        if !self.jobs.contains_key(&visit.job) {
            return Ok(None);
        }
        if known.first().is_some_and(|entry| entry.order == order) {
            return Ok(Some(false));
        }
        self.prepare_again(index, visit, order.rank, *counted);
        self.enqueue(index, visit.job, Entry { order, value: encode_visit(visit) }, now, now);
        if *counted {
            self.wake_for_budget(visit.job, now);
        }
        Ok(Some(true))
    }

    /// The same for the owner of a leased shard, which receives it as a message; whether it is queued already is not
    /// checked.
    pub(crate) fn ask_again(&mut self, visit: &Visit, now: Millis) {
        let index = self.host_index(visit.url.host());
        let depth = u8::try_from(visit.depth).unwrap_or(u8::MAX);
        let rank = OrderKey::rank_of(visit.priority);
        let order = OrderKey { rank, depth, sequence: self.pending.new_sequence() };
        // Its share of the budget was taken from its owner's at that time.
        self.prepare_again(index, visit, rank, false);
        self.enqueue(index, visit.job, Entry { order, value: encode_visit(visit) }, now, now);
    }

    /// It has not ended, and its host has not failed.
    fn prepare_again(&mut self, index: HostIndex, visit: &Visit, rank: u8, counted: bool) {
        let Some(shard) = self.host(index).map(|host| host.key.shard) else { return };
        if let Some(job) = self.jobs.get_mut(&visit.job) {
            job.count(shard, |counts| {
                counts.done = counts.done.saturating_sub(1);
                counts.pages = counts.pages.saturating_sub(u64::from(counted));
            });
            if job.limits.queue_cap.is_some() {
                job.evictions.queued(rank);
            }
        }
        if counted {
            self.leave_domain(index, visit.job);
        }
        let known = self.host_mut(index).filter(|host| host.politeness.is_known());
        if known.is_some_and(|host| host.politeness.forget_failures()) {
            self.hosts.mark_dirty(index);
        }
    }
}
