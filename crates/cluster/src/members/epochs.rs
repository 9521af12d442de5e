//! The shards that this process owns now, and under which epochs: set by whoever keeps the leases, asked by whoever writes.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

#[derive(Debug, Default)]
pub struct Epochs {
    owned: RwLock<BTreeMap<u16, i64>>,
}

impl Epochs {
    /// None if the shard is not ours.
    pub fn get(&self, shard: u16) -> Option<i64> {
        self.owned.read().unwrap_or_else(PoisonError::into_inner).get(&shard).copied()
    }

    pub fn insert(&self, shard: u16, epoch: i64) {
        self.owned.write().unwrap_or_else(PoisonError::into_inner).insert(shard, epoch);
    }

    pub fn remove(&self, shard: u16) {
        self.owned.write().unwrap_or_else(PoisonError::into_inner).remove(&shard);
    }

    pub fn clear(&self) {
        self.owned.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
