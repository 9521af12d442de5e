//! The state port kept in memory: for simulations, and for crawls that need not outlive their process.

use crate::hash::FastMap;
use crate::queue::{Entry, OrderKey};
use crate::state::{
    Change, Delayed, HostKey, QueueAt, Restore, ShardState, StateBatch, StateError, StateSync, StoredRobots,
};
use argiope_model::{Fingerprint, JobId, Millis};
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Clone, Debug, Default)]
pub struct MemoryState {
    queues: FastMap<QueueAt, BTreeMap<OrderKey, Box<[u8]>>>,
    delayed: BTreeMap<(Millis, QueueAt, OrderKey), Box<[u8]>>,
    hosts: FastMap<HostKey, Vec<u8>>,
    jobs: BTreeMap<JobId, Vec<u8>>,
    robots: FastMap<Box<str>, StoredRobots>,
    seen: BTreeMap<(JobId, u16), Vec<Fingerprint>>,
    marks: BTreeMap<Box<str>, u64>,
}

impl MemoryState {
    pub fn new() -> MemoryState {
        MemoryState::default()
    }

    /// Everything that is queued, for those who check the frontier from outside.
    pub fn queues(&self) -> impl Iterator<Item = (&QueueAt, &BTreeMap<OrderKey, Box<[u8]>>)> {
        self.queues.iter()
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
            Change::Delay(Delayed { due, at, entry }) => {
                self.delayed.insert((*due, *at, entry.order), entry.value.clone());
            }
            Change::Undelay { due, at, order } => {
                self.delayed.remove(&(*due, *at, *order));
            }
            Change::Host { key, record } => {
                self.hosts.entry(*key).or_default().clone_from(record);
            }
            Change::Job { job, record } => {
                self.jobs.entry(*job).or_default().clone_from(record);
            }
            Change::ForgetJob(job) => {
                self.queues.retain(|at, _| at.job != *job);
                self.delayed.retain(|(_, at, _), _| at.job != *job);
                self.seen.retain(|(owner, _), _| owner != job);
                self.jobs.remove(job);
            }
            Change::Robots { origin, stored } => {
                self.robots.insert(origin.clone(), stored.clone());
            }
            Change::Seen { job, shard, fingerprints } => {
                self.seen.entry((*job, *shard)).or_default().extend(fingerprints);
            }
        }
    }
}

impl ShardState for MemoryState {
    fn apply(&mut self, batch: &StateBatch) -> Result<(), StateError> {
        for change in &batch.changes {
            self.change(change);
        }
        self.marks.extend(batch.marks.iter().cloned());
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

    fn load_due(&self, until: Millis, limit: usize) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        let mut all = self.delayed.iter();
        let mut found = Vec::new();
        for ((due, at, order), value) in all.by_ref() {
            if *due > until || found.len() == limit {
                return Ok((found, Some(*due)));
            }
            let entry = Entry { order: *order, value: value.clone() };
            found.push(Delayed { due: *due, at: *at, entry });
        }
        Ok((found, None))
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        Ok(self.robots.get(origin).cloned())
    }

    fn restore(&self, into: &mut dyn Restore, wants_seen: &dyn Fn(JobId) -> bool) -> Result<(), StateError> {
        for (job, record) in &self.jobs {
            into.job(*job, record)?;
        }
        let mut hosts: Vec<(&HostKey, &Vec<u8>)> = self.hosts.iter().collect();
        hosts.sort_unstable_by_key(|(key, _)| **key);
        for (key, record) in hosts {
            into.host(*key, record)?;
        }
        for ((job, shard), fingerprints) in &self.seen {
            if wants_seen(*job) {
                into.seen(*job, *shard, &mut fingerprints.iter().copied());
            }
        }
        into.next_due(self.delayed.keys().next().map(|(due, _, _)| *due));
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
