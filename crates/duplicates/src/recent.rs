//! The small part of [`crate::NearIndex`]: what came after its tables were built. Four sets of lists, one entry each in
//! all of them; adding one costs four stores.

use crate::frozen::{BLOCKS, VALUES, block};
use crate::push;

/// As few are looked through one by one; lists for them would take more memory than they do.
const FEW: usize = 512;

/// The end of a list.
const NONE: u32 = u32::MAX;

struct Entry {
    fingerprint: u64,
    /// The next older one with the same block, for each block.
    next: [u32; BLOCKS],
}

#[derive(Default)]
pub(crate) struct Recent {
    entries: Vec<Entry>,
    /// The youngest entry of each value of each block; empty while there are few entries.
    heads: Vec<u32>,
}

impl Recent {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn push(&mut self, fingerprint: u64) {
        push(&mut self.entries, Entry { fingerprint, next: [NONE; BLOCKS] });
        if !self.heads.is_empty() {
            self.link(self.entries.len() - 1);
        } else if self.entries.len() > FEW {
            self.heads = vec![NONE; BLOCKS * VALUES];
            for place in 0..self.entries.len() {
                self.link(place);
            }
        }
    }

    fn link(&mut self, place: usize) {
        let Some(entry) = self.entries.get_mut(place) else { return };
        for (number, (heads, next)) in self.heads.chunks_exact_mut(VALUES).zip(&mut entry.next).enumerate() {
            if let Some(head) = heads.get_mut(block(entry.fingerprint, number)) {
                *next = std::mem::replace(head, place as u32);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.heads.fill(NONE);
    }

    /// The oldest place for which `matches` holds, among those that share a block with the fingerprint.
    pub(crate) fn oldest(&self, fingerprint: u64, matches: impl Fn(u32, u64) -> bool) -> Option<u32> {
        if self.heads.is_empty() {
            let mut places = (0u32..).zip(&self.entries);
            return places.find(|(place, entry)| matches(*place, entry.fingerprint)).map(|(place, _)| place);
        }
        let mut oldest = None;
        for (number, heads) in self.heads.chunks_exact(VALUES).enumerate() {
            let mut place = heads.get(block(fingerprint, number)).copied().unwrap_or(NONE);
            // A list leads from the youngest to the oldest.
            while let Some(entry) = self.entries.get(place as usize) {
                if matches(place, entry.fingerprint) {
                    oldest = Some(oldest.map_or(place, |oldest: u32| oldest.min(place)));
                }
                place = entry.next.get(number).copied().unwrap_or(NONE);
            }
        }
        oldest
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.heads.capacity() * size_of::<u32>()
    }
}
