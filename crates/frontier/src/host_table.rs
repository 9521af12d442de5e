//! All hosts by index, in blocks that never move: growing costs one block, not a copy of all hosts and room for twice
//! as many. Tables of indices find them by name and by key; the names are stored with the hosts only.

use crate::host::{Host, Place};
use crate::ready::{HostIndex, Stamp};
use crate::state::HostKey;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

const BLOCK: usize = 1024;

#[derive(Default)]
pub(crate) struct HostTable {
    /// All but the last are full.
    blocks: Vec<Vec<Host>>,
    by_name: HashTable<HostIndex>,
    by_key: HashTable<HostIndex>,
    /// Names come from outside.
    hasher: RandomState,
    /// Free places to which nothing refers any more ...
    vacant: Vec<HostIndex>,
    /// ... among all places whose host has left.
    left: usize,
    /// Hosts whose record on disk is out of date.
    dirty: Vec<HostIndex>,
}

impl HostTable {
    pub(crate) fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Host> {
        self.blocks.get(index / BLOCK)?.get(index % BLOCK)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Host> {
        self.blocks.get_mut(index / BLOCK)?.get_mut(index % BLOCK)
    }

    pub(crate) fn named(&self, name: &str) -> Option<HostIndex> {
        let is_it = |index: &HostIndex| self.get(*index as usize).is_some_and(|host| *host.name == *name);
        self.by_name.find(self.hasher.hash_one(name), is_it).copied()
    }

    pub(crate) fn keyed(&self, key: HostKey) -> Option<HostIndex> {
        let is_it = |index: &HostIndex| self.get(*index as usize).is_some_and(|host| host.key == key);
        self.by_key.find(self.hasher.hash_one(key), is_it).copied()
    }

    /// Puts a host into a free place, or a new one. It must not be in the table already.
    pub(crate) fn insert(&mut self, mut host: Host) -> HostIndex {
        let is_dirty = host.dirty;
        let vacant = self.vacant.pop();
        let index = match vacant.and_then(|index| Some((index, self.get_mut(index as usize)?))) {
            Some((index, place)) => {
                // Stale schedule entries of the previous host stay invalid.
                host.stamp = place.stamp;
                *place = host;
                self.left = self.left.saturating_sub(1);
                index
            }
            None => {
                let index = self.len() as HostIndex;
                self.push(host);
                index
            }
        };
        self.list(index);
        if is_dirty {
            self.dirty.push(index);
        }
        index
    }

    /// Removes a host. Its place stays taken until its outstanding lookups and loads have returned.
    pub(crate) fn leave(&mut self, index: HostIndex) -> Option<Host> {
        self.unlist(index);
        let host = self.get_mut(index as usize)?.leave();
        self.left += 1;
        if host.steps == 0 {
            self.vacant.push(index);
        }
        Some(host)
    }

    /// A lookup or load has returned. True if the host has left meanwhile: then its place is free.
    pub(crate) fn step_ended(&mut self, index: HostIndex) -> bool {
        let Some(host) = self.get_mut(index as usize) else { return true };
        let (before, gone) = (host.steps, host.gone);
        host.steps = before.saturating_sub(1);
        if gone && before == 1 {
            self.vacant.push(index);
        }
        gone
    }

    /// Hosts that have not left.
    pub(crate) fn live(&self) -> usize {
        self.len() - self.left
    }

    /// Whether a host is still where it was with this stamp.
    pub(crate) fn is_at(&self, index: HostIndex, stamp: Stamp, place: fn(Place) -> bool) -> bool {
        self.get(index as usize).is_some_and(|host| host.stamp == stamp && place(host.place))
    }

    /// Marks the record of the host on disk as out of date.
    pub(crate) fn mark_dirty(&mut self, index: HostIndex) {
        if let Some(host) = self.get_mut(index as usize)
            && !host.dirty
        {
            host.dirty = true;
            self.dirty.push(index);
        }
    }

    /// The records that are out of date, each with its key.
    pub(crate) fn take_records(&mut self) -> impl Iterator<Item = (HostKey, Vec<u8>)> {
        let dirty = std::mem::take(&mut self.dirty);
        dirty.into_iter().filter_map(|index| {
            let host = self.get_mut(index as usize)?;
            std::mem::take(&mut host.dirty).then(|| (host.key, host.encode()))
        })
    }

    fn push(&mut self, host: Host) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(host),
            // A small first block for small crawls.
            None => self.blocks.push(vec![host]),
            Some(_) => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(host);
                self.blocks.push(block);
            }
        }
    }

    fn list(&mut self, index: HostIndex) {
        let HostTable { blocks, by_name, by_key, hasher, .. } = self;
        let host = |index: HostIndex| blocks.get(index as usize / BLOCK)?.get(index as usize % BLOCK);
        let name_hash = |index: &HostIndex| host(*index).map_or(0, |host| hasher.hash_one(&*host.name));
        let key_hash = |index: &HostIndex| host(*index).map_or(0, |host| hasher.hash_one(host.key));
        by_name.insert_unique(name_hash(&index), index, name_hash);
        by_key.insert_unique(key_hash(&index), index, key_hash);
    }

    /// From now on it is found neither by name nor by key; its place stays.
    fn unlist(&mut self, index: HostIndex) {
        let Some(host) = self.get(index as usize) else { return };
        let (name, key) = (self.hasher.hash_one(&*host.name), self.hasher.hash_one(host.key));
        for (table, hash) in [(&mut self.by_name, name), (&mut self.by_key, key)] {
            if let Ok(entry) = table.find_entry(hash, |listed| *listed == index) {
                entry.remove();
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.blocks.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Host> {
        self.blocks.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_by_their_index_across_blocks() {
        let mut table = HostTable::default();
        let all = BLOCK * 2 + 3;
        let names: Vec<String> = (0..all).map(|number| format!("h{number}.test")).collect();
        for (number, name) in names.iter().enumerate() {
            assert_eq!(table.len(), number);
            let host = Host::new(name, name, HostKey { shard: 0, number: number as u32 });
            assert_eq!(table.insert(host), number as HostIndex);
        }
        for at in [0, 1, BLOCK - 1, BLOCK, BLOCK * 2, all - 1] {
            assert_eq!(table.get(at).map(|host| &*host.name), Some(&*names[at]));
            assert_eq!(table.get_mut(at).map(|host| &*host.name), Some(&*names[at]));
        }
        assert!(table.get(all).is_none() && table.get_mut(all).is_none());
        assert!(table.iter().map(|host| &*host.name).eq(names.iter()));
        table.iter_mut().for_each(|host| host.turn = 7);
        assert!(table.iter().all(|host| host.turn == 7));
        let numbers = 0..all as u32;
        assert!(names.iter().zip(numbers).all(|(name, number)| table.named(name) == Some(number)));
    }

    #[test]
    fn a_place_that_was_left_belongs_to_the_next_host() {
        let mut table = HostTable::default();
        let key = |number| HostKey { shard: 3, number };
        for (number, name) in ["a.test", "b.test", "c.test"].into_iter().enumerate() {
            table.insert(Host::new(name, name, key(number as u32)));
        }
        assert!(table.leave(1).is_some());
        assert_eq!((table.len(), table.live()), (3, 2));
        assert_eq!((table.named("b.test"), table.keyed(key(1))), (None, None));
        assert_eq!(table.insert(Host::new("d.test", "d.test", key(9))), 1);
        assert_eq!((table.named("d.test"), table.keyed(key(9))), (Some(1), Some(1)));
        assert_eq!((table.named("c.test"), table.keyed(key(2))), (Some(2), Some(2)));
        assert_eq!((table.named("b.test"), table.keyed(key(1)), table.len()), (None, None, 3));
    }
}
