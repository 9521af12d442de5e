//! Entries with a later due time, kept in memory, earliest first.

use crate::queue::{Entry, OrderKey};
use crate::state::{Delayed, QueueAt, Shards};
use argiope_model::{JobId, Millis};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct DelayedEntries {
    by_time: BTreeMap<(Millis, QueueAt, OrderKey), Box<[u8]>>,
}

impl DelayedEntries {
    pub(crate) fn insert(&mut self, Delayed { due, at, entry }: &Delayed) {
        self.by_time.insert((*due, *at, entry.order), entry.value.clone());
    }

    pub(crate) fn remove(&mut self, due: Millis, at: QueueAt, order: OrderKey) {
        self.by_time.remove(&(due, at, order));
    }

    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.by_time.retain(|(_, at, _), _| at.job != job);
    }

    /// See [`crate::state::ShardState::load_due`].
    pub(crate) fn load(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> (Vec<Delayed>, Option<Millis>) {
        let mut found = Vec::new();
        let all = self.by_time.iter().filter(|((_, at, _), _)| shards.contains(at.host.shard));
        for ((due, at, order), value) in all {
            if *due > until || found.len() == limit {
                return (found, Some(*due));
            }
            let entry = Entry { order: *order, value: value.clone() };
            found.push(Delayed { due: *due, at: *at, entry });
        }
        (found, None)
    }

    /// When the first entry of these shards is due.
    pub(crate) fn first(&self, shards: &Shards) -> Option<Millis> {
        let mut keys = self.by_time.keys().filter(|(_, at, _)| shards.contains(at.host.shard));
        keys.next().map(|(due, _, _)| *due)
    }
}
