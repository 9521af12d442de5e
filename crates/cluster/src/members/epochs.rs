//! The shards that this process owns now, and their epochs: set by the lease keeper, read by the writers. Also which
//! writers are failing: then no new requests are sent.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{PoisonError, RwLock};

/// Writers to the database, each over its own connection: the success of one says nothing about the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    Leases = 1,
    Frontier = 2,
    Catalogue = 4,
}

#[derive(Debug, Default)]
pub struct Epochs {
    owned: RwLock<BTreeMap<u16, i64>>,
    failing: AtomicU8,
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

    /// A write has failed, or has succeeded. Returns true if that is a change.
    pub fn set_failing(&self, who: Writing, fails: bool) -> bool {
        let bit = who as u8;
        let before = if fails {
            self.failing.fetch_or(bit, Ordering::AcqRel)
        } else {
            self.failing.fetch_and(!bit, Ordering::AcqRel)
        };
        (before & bit != 0) != fails
    }

    /// Whether all writers succeeded at their last attempt.
    pub fn can_be_written(&self) -> bool {
        self.failing.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_can_write_again_says_nothing_of_the_others() {
        let epochs = Epochs::default();
        assert!(epochs.can_be_written());
        assert!(epochs.set_failing(Writing::Catalogue, true) && epochs.set_failing(Writing::Leases, true));
        assert!(!epochs.set_failing(Writing::Catalogue, true), "no news");
        assert!(epochs.set_failing(Writing::Leases, false));
        assert!(!epochs.can_be_written());
        assert!(epochs.set_failing(Writing::Catalogue, false) && epochs.can_be_written());
    }
}
