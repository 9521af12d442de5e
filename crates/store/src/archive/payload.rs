//! An index of the payloads in the archive. Bounded: old entries are evicted, and hits are verified.
//!
//! An entry is 32 bytes: half of the digest and the place. The details for a revisit record are read from the referred
//! record on a hit, which also verifies the whole digest and that the record is still there.

use super::ArchiveRef;
use crate::warc::Digest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many payloads are remembered.
pub const CAPACITY: usize = 1_000_000;
/// Smaller payloads are not worth a revisit record, which is as long.
pub const SMALLEST_PAYLOAD: usize = 512;

const WAYS: usize = 8;

/// Two words of the digest, file number plus one, offset. A file number of zero marks a free slot.
type Slot = [u64; 4];

/// Payload digest to the first record that has it. Shared by all appenders; filled with durable records only.
pub struct PayloadIndex {
    table: Mutex<Table>,
}

struct Table {
    /// Sets of `WAYS` slots, the most recently used first. Zeroed by the allocator, so that a small crawl never
    /// touches most of it.
    slots: Vec<Slot>,
    files: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u64>,
}

impl PayloadIndex {
    pub fn new() -> PayloadIndex {
        PayloadIndex::with_capacity(CAPACITY)
    }

    /// `capacity` is rounded up to whole sets; the oldest of a set makes room for a new one.
    pub fn with_capacity(capacity: usize) -> PayloadIndex {
        let slots = vec![[0u64; 4]; capacity.div_ceil(WAYS).max(1) * WAYS];
        PayloadIndex { table: Mutex::new(Table { slots, files: Vec::new(), numbers: HashMap::new() }) }
    }

    pub fn get(&self, digest: &Digest) -> Option<ArchiveRef> {
        let mut table = self.lock();
        let [high, low] = digest.prefix();
        let set = table.set(high);
        let at = set
            .iter()
            .position(|slot| matches!(slot, [h, l, file, _] if *h == high && *l == low && *file > 0))?;
        set.get_mut(..=at)?.rotate_right(1);
        let [_, _, number, offset] = *set.first()?;
        let file = table.files.get(usize::try_from(number - 1).ok()?)?.clone();
        Some(ArchiveRef { file, offset })
    }

    /// `at` must be durable and catalogued.
    pub fn insert(&self, digest: &Digest, at: &ArchiveRef) {
        let mut table = self.lock();
        let number = table.number(&at.file);
        let [high, low] = digest.prefix();
        let set = table.set(high);
        let known = set
            .iter()
            .position(|slot| matches!(slot, [h, l, file, _] if *h == high && *l == low && *file > 0));
        let from = known.unwrap_or(WAYS - 1);
        if let Some(slots) = set.get_mut(..=from) {
            slots.rotate_right(1);
        }
        // The first record with a payload remains the referred one.
        if let (None, Some(slot)) = (known, set.first_mut()) {
            *slot = [high, low, number, at.offset];
        }
    }

    /// Forgets a payload whose record turned out to be gone.
    pub fn remove(&self, digest: &Digest) {
        let mut table = self.lock();
        let [high, low] = digest.prefix();
        for slot in table.set(high) {
            if matches!(slot, [h, l, ..] if *h == high && *l == low) {
                *slot = [0; 4];
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A slot is written as a whole; a panic elsewhere cannot have left it half-written.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for PayloadIndex {
    fn default() -> PayloadIndex {
        PayloadIndex::new()
    }
}

impl Table {
    fn set(&mut self, high: u64) -> &mut [Slot] {
        let sets = self.slots.len() / WAYS;
        let at = (high % sets.max(1) as u64) as usize * WAYS;
        self.slots.get_mut(at..at + WAYS).unwrap_or_default()
    }

    fn number(&mut self, file: &Arc<str>) -> u64 {
        if let Some(number) = self.numbers.get(file) {
            return *number;
        }
        self.files.push(file.clone());
        let number = self.files.len() as u64;
        self.numbers.insert(file.clone(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> ArchiveRef {
        ArchiveRef { file: format!("f{}", offset % 3).as_str().into(), offset }
    }

    #[test]
    fn a_payload_is_found_where_it_was_first() {
        let index = PayloadIndex::with_capacity(100);
        let digest = Digest::of(&[b"x"]);
        assert_eq!(index.get(&digest), None);
        index.insert(&digest, &at(7));
        index.insert(&digest, &at(8));
        assert_eq!(index.get(&digest), Some(at(7)));
        index.remove(&digest);
        assert_eq!(index.get(&digest), None);
    }

    #[test]
    fn the_index_stays_bounded_and_keeps_what_is_used() {
        let index = PayloadIndex::with_capacity(64);
        let used = Digest::of(&[b"used"]);
        index.insert(&used, &at(1));
        for n in 0..1000u64 {
            index.insert(&Digest::of(&[&n.to_le_bytes()]), &at(n));
            assert_eq!(index.get(&used), Some(at(1)));
        }
        let kept = (0..1000u64).filter(|n| index.get(&Digest::of(&[&n.to_le_bytes()])).is_some()).count();
        assert!((32..64).contains(&kept), "{kept}");
    }
}
