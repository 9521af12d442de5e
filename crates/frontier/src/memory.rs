//! The state port in memory: for simulations, and for crawls that need not survive their process.

use crate::delayed::DelayedEntries;
use crate::hash::FastMap;
use crate::queue::{Entry, OrderKey};
use crate::state::{
    Change, Delayed, HostKey, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync,
    StoredRobots,
};
use argiope_model::{Fingerprint, JobId, Millis};
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Clone, Debug, Default)]
pub struct MemoryState {
    queues: FastMap<QueueAt, BTreeMap<OrderKey, Box<[u8]>>>,
    delayed: DelayedEntries,
    hosts: FastMap<HostKey, Vec<u8>>,
    jobs: BTreeMap<(JobId, u16), Vec<u8>>,
    robots: FastMap<Box<str>, StoredRobots>,
    seen: BTreeMap<(JobId, u16), Vec<Fingerprint>>,
    /// The messages to each shard, in order; the first has offset 1.
    logs: BTreeMap<u16, Vec<Vec<u8>>>,
    received: BTreeMap<u16, u64>,
    marks: BTreeMap<Box<str>, u64>,
}

impl MemoryState {
    pub fn new() -> MemoryState {
        MemoryState::default()
    }

    /// Everything queued, for tests that check the frontier from outside.
    pub fn queues(&self) -> impl Iterator<Item = (&QueueAt, &BTreeMap<OrderKey, Box<[u8]>>)> {
        self.queues.iter()
    }

    /// Messages to a shard after this offset, each with its own.
    pub fn log(&self, shard: u16, after: u64) -> impl Iterator<Item = (u64, &[u8])> {
        let log = self.logs.get(&shard).map_or(&[][..], Vec::as_slice);
        let applied = usize::try_from(after).unwrap_or(usize::MAX);
        let messages = log.get(applied..).unwrap_or_default();
        (after.saturating_add(1)..).zip(messages).map(|(offset, message)| (offset, &message[..]))
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Queue { at, entry } => {
                self.queues.entry(*at).or_default().insert(entry.order, entry.value.clone());
            }
            Change::Unqueue { at, order } => {
                if let Some(queue) = self.queues.get_mut(at) {
                    queue.remove(order);
                    if queue.is_empty() {
                        self.queues.remove(at);
                    }
                }
            }
            Change::Delay(delayed) => self.delayed.insert(delayed),
            Change::Undelay { due, at, order } => self.delayed.remove(*due, *at, *order),
            Change::Host { key, record } => {
                self.hosts.entry(*key).or_default().clone_from(record);
            }
            Change::Job { job, shard, record } => {
                self.jobs.entry((*job, *shard)).or_default().clone_from(record);
            }
            Change::ForgetJob(job) => {
                self.queues.retain(|at, _| at.job != *job);
                self.delayed.forget_job(*job);
                self.seen.retain(|(owner, _), _| owner != job);
                self.jobs.retain(|(owner, _), _| owner != job);
            }
            Change::Robots { origin, stored, .. } => {
                self.robots.insert(origin.clone(), stored.clone());
            }
            Change::Seen { job, shard, fingerprints } => {
                self.seen.entry((*job, *shard)).or_default().extend(fingerprints);
            }
            Change::Send { to, message, .. } => self.logs.entry(*to).or_default().push(message.clone()),
            Change::Received { shard, offset } => {
                self.received.insert(*shard, *offset);
            }
            Change::Blocked { .. } => {}
        }
    }
}

impl ShardState for MemoryState {
    fn apply(&mut self, batch: StateBatch) -> Result<(), StateError> {
        for change in &batch.changes {
            self.change(change);
        }
        self.marks.extend(batch.marks);
        Ok(())
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(NothingToSync)
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        let Some(queue) = self.queues.get(&at) else { return Ok(Vec::new()) };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(queue
            .range((from, Bound::Unbounded))
            .take(limit)
            .map(|(order, value)| Entry { order: *order, value: value.clone() })
            .collect())
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        Ok(self.delayed.load(shards, until, limit))
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        Ok(self.robots.get(origin).cloned())
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        for ((job, shard), record) in self.jobs.iter().filter(|((_, shard), _)| shards.contains(*shard)) {
            into.job(*job, *shard, record)?;
        }
        let mut hosts: Vec<(&HostKey, &Vec<u8>)> =
            self.hosts.iter().filter(|(key, _)| shards.contains(key.shard)).collect();
        hosts.sort_unstable_by_key(|(key, _)| **key);
        for (key, record) in hosts {
            into.host(*key, record)?;
        }
        for ((job, shard), fingerprints) in &self.seen {
            if shards.contains(*shard) && wants_seen(*job) {
                into.seen(*job, *shard, &mut fingerprints.iter().copied());
            }
        }
        for (shard, offset) in self.received.iter().filter(|(shard, _)| shards.contains(**shard)) {
            into.received(*shard, *offset);
        }
        into.next_due(self.delayed.first(shards));
        Ok(())
    }

    fn restore_job(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError> {
        for ((_, shard), record) in self.jobs.range((job, 0)..=(job, u16::MAX)) {
            if shards.contains(*shard) {
                into.job(job, *shard, record)?;
            }
        }
        for ((_, shard), fingerprints) in self.seen.range((job, 0)..=(job, u16::MAX)) {
            if shards.contains(*shard) {
                into.seen(job, *shard, &mut fingerprints.iter().copied());
            }
        }
        Ok(())
    }

    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        Ok(self.marks.iter().map(|(name, number)| (name.clone(), *number)).collect())
    }
}

struct NothingToSync;

impl StateSync for NothingToSync {
    fn sync(&self) -> Result<(), StateError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fulfils_the_contract_of_shard_state() {
        crate::contract::shard_state(&mut MemoryState::new);
    }
}
