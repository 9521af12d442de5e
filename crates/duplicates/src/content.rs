//! Looks up pages with the very same content.

use argiope_model::ContentHash;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use std::collections::VecDeque;
use std::hash::BuildHasher;

struct Entry {
    content: u64,
    page: u64,
}

/// Content hashes with the keys of their pages, oldest first. It holds `limit` of them; beyond that the oldest go.
///
/// Of a SHA-256, the first 64 bits are kept. That two of ten million differing bodies share them has a chance of 1 in 370,000,
/// and to make one that shares those of a given page takes 2^64 attempts.
pub struct ContentIndex {
    limit: usize,
    entries: VecDeque<Entry>,
    /// Numbers of entries, counted from the first one there ever was, modulo 2^32.
    table: HashTable<u32>,
    gone: u64,
    /// Differs from run to run, so that nobody can make contents that collide in the table.
    keyed: RandomState,
}

impl ContentIndex {
    /// The most that can be held.
    pub const MOST: usize = 1 << 30;

    pub fn new(limit: usize) -> ContentIndex {
        ContentIndex {
            limit: limit.min(Self::MOST),
            entries: VecDeque::new(),
            table: HashTable::new(),
            gone: 0,
            keyed: RandomState::default(),
        }
    }

    /// The oldest page with this content.
    pub fn find(&self, content: ContentHash) -> Option<u64> {
        let content = beginning(content);
        let found = self.table.find(self.keyed.hash_one(content), |number| {
            entry(&self.entries, self.gone, *number).is_some_and(|entry| entry.content == content)
        });
        found.and_then(|number| entry(&self.entries, self.gone, *number)).map(|entry| entry.page)
    }

    /// Adds a page, unless its content is known.
    pub fn add(&mut self, content: ContentHash, page: u64) {
        if self.limit == 0 || self.find(content).is_some() {
            return;
        }
        if self.entries.len() >= self.limit {
            self.drop_oldest();
        }
        let content = beginning(content);
        let number = (self.gone as u32).wrapping_add(self.entries.len() as u32);
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact((self.entries.len() / 8).max(64));
        }
        self.entries.push_back(Entry { content, page });
        let (entries, keyed, gone) = (&self.entries, &self.keyed, self.gone);
        self.table.insert_unique(keyed.hash_one(content), number, |number| {
            keyed.hash_one(entry(entries, gone, *number).map_or(0, |entry| entry.content))
        });
    }

    fn drop_oldest(&mut self) {
        let number = self.gone as u32;
        if let Some(oldest) = self.entries.pop_front() {
            let hash = self.keyed.hash_one(oldest.content);
            if let Ok(found) = self.table.find_entry(hash, |candidate| *candidate == number) {
                found.remove();
            }
            self.gone += 1;
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many had to go because there were more than the limit.
    pub fn gone(&self) -> u64 {
        self.gone
    }

    /// What it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.table.allocation_size()
    }
}

fn beginning(content: ContentHash) -> u64 {
    content.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn entry(entries: &VecDeque<Entry>, gone: u64, number: u32) -> Option<&Entry> {
    entries.get(number.wrapping_sub(gone as u32) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(number: u64) -> ContentHash {
        let mut hash = [7; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        ContentHash(hash)
    }

    #[test]
    fn the_oldest_page_with_a_content_is_found() {
        let mut index = ContentIndex::new(10);
        assert_eq!(index.find(content(1)), None);
        index.add(content(1), 11);
        index.add(content(2), 12);
        index.add(content(1), 13);
        assert_eq!(
            (index.find(content(1)), index.find(content(2)), index.find(content(3))),
            (Some(11), Some(12), None)
        );
        assert_eq!((index.len(), index.gone()), (2, 0));
    }

    #[test]
    fn beyond_the_limit_the_oldest_go() {
        let mut index = ContentIndex::new(1000);
        for number in 0..5500 {
            index.add(content(number), number);
        }
        assert_eq!((index.len(), index.gone()), (1000, 4500));
        for number in 0..5500 {
            assert_eq!(index.find(content(number)), (number >= 4500).then_some(number), "{number}");
        }
        index.add(content(3), 6000);
        assert_eq!(index.find(content(3)), Some(6000), "as new");
        let mut none = ContentIndex::new(0);
        none.add(content(1), 1);
        assert_eq!((none.find(content(1)), none.len()), (None, 0));
    }
}
