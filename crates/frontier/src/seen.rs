//! The seen-set of one job in one shard: a flat open-addressing table of 64-bit fingerprints. Exact up to a collision
//! of keyed fingerprints. It alone decides whether a URL is new; its log is written in the same atomic batch as the
//! queue (see [`crate::state`]).

use crate::hash::FastMap;
use argiope_model::{Fingerprint, JobId};

/// Marks a free slot; a fingerprint with this value is stored as 1.
const FREE: u64 = 0;
const FIRST_CAPACITY: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct SeenTable {
    slots: Vec<u64>,
    len: usize,
}

impl SeenTable {
    pub fn new() -> SeenTable {
        SeenTable::default()
    }

    pub fn with_capacity(keys: usize) -> SeenTable {
        let slots = (keys.saturating_mul(10) / 8).next_power_of_two().max(FIRST_CAPACITY);
        SeenTable { slots: vec![FREE; slots], len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    pub fn contains(&self, key: Fingerprint) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        let key = stored(key);
        self.slots.get(self.slot_of(key)).is_some_and(|slot| *slot == key)
    }

    /// True if the fingerprint was not there before.
    pub fn insert(&mut self, key: Fingerprint) -> bool {
        // At most 80 % full: linear probing stays short, and growing by doubling takes 10 to 20 bytes per key.
        if (self.len + 1) * 10 > self.slots.len() * 8 {
            self.grow();
        }
        let key = stored(key);
        let at = self.slot_of(key);
        match self.slots.get_mut(at) {
            Some(slot) if *slot == FREE => {
                *slot = key;
                self.len += 1;
                true
            }
            _ => false,
        }
    }

    /// The slot of `key`, or the free one where it belongs. There is always a free slot.
    fn slot_of(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Fingerprints are uniform: their high bits choose the place, so that sorted input does not cluster.
        let mut at = (key >> 20) as usize & mask;
        while let Some(slot) = self.slots.get(at) {
            if *slot == key || *slot == FREE {
                return at;
            }
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(FIRST_CAPACITY);
        let old = std::mem::replace(&mut self.slots, vec![FREE; capacity]);
        for key in old {
            if key != FREE {
                let at = self.slot_of(key);
                if let Some(slot) = self.slots.get_mut(at) {
                    *slot = key;
                }
            }
        }
    }
}

fn stored(key: Fingerprint) -> u64 {
    key.0.max(1)
}

/// The seen-sets of all jobs in all shards owned here.
#[derive(Debug, Default)]
pub(crate) struct SeenSets {
    tables: FastMap<(JobId, u16), SeenTable>,
}

impl SeenSets {
    /// True if the fingerprint was not there before.
    pub(crate) fn insert(&mut self, job: JobId, shard: u16, key: Fingerprint) -> bool {
        self.table(job, shard).insert(key)
    }

    pub(crate) fn contains(&self, job: JobId, shard: u16, key: Fingerprint) -> bool {
        self.tables.get(&(job, shard)).is_some_and(|table| table.contains(key))
    }

    pub(crate) fn table(&mut self, job: JobId, shard: u16) -> &mut SeenTable {
        self.tables.entry((job, shard)).or_default()
    }

    pub(crate) fn get_mut(&mut self, job: JobId, shard: u16) -> Option<&mut SeenTable> {
        self.tables.get_mut(&(job, shard))
    }

    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.tables.retain(|(of, _), _| *of != job);
    }

    pub(crate) fn drop_shard(&mut self, shard: u16) {
        self.tables.retain(|(_, of), _| *of != shard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn agrees_with_a_hash_set(keys in proptest::collection::vec(0u64..500, 0..2000)) {
            let mut table = SeenTable::new();
            let mut model = HashSet::new();
            for key in keys {
                let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                prop_assert_eq!(table.insert(Fingerprint(key)), model.insert(key.max(1)));
                prop_assert!(table.contains(Fingerprint(key)));
            }
            prop_assert_eq!(table.len(), model.len());
        }
    }

    #[test]
    fn an_empty_table_holds_nothing_and_takes_no_memory() {
        let table = SeenTable::new();
        assert!(!table.contains(Fingerprint(7)));
        assert_eq!(table.memory_bytes(), 0);
    }
}
