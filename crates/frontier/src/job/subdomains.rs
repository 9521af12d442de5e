//! How many hosts of a root domain a job has.

use crate::hash::{FastMap, FastSet};
use crate::ready::HostIndex;
use std::hash::BuildHasher;

/// The hosts of a job, counted by root domain, in one set, because most domains have one host. Root domains are
/// identified by their keyed hash, like URLs in the seen-set.
#[derive(Debug, Default)]
pub(crate) struct Subdomains {
    hosts: FastSet<HostIndex>,
    by_root: FastMap<u64, u32>,
}

impl Subdomains {
    pub(crate) fn count(&self, root: &str) -> u32 {
        self.by_root.get(&self.key(root)).copied().unwrap_or(0)
    }

    pub(crate) fn contains(&self, host: HostIndex) -> bool {
        self.hosts.contains(&host)
    }

    pub(crate) fn insert(&mut self, root: &str, host: HostIndex) {
        if !self.hosts.insert(host) {
            return;
        }
        *self.by_root.entry(self.key(root)).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, root: &str, host: HostIndex) {
        if self.hosts.remove(&host)
            && let Some(count) = self.by_root.get_mut(&self.by_root.hasher().hash_one(root))
        {
            *count = count.saturating_sub(1);
        }
    }

    fn key(&self, root: &str) -> u64 {
        self.by_root.hasher().hash_one(root)
    }
}
