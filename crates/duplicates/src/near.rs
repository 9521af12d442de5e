//! Looks up the fingerprints at a Hamming distance of three or less, exactly.
//!
//! A fingerprint is cut into four blocks of 16 bits. Two fingerprints that differ in three bits or less are equal in one
//! block at least, so that four tables, each ordered by one block, have every one that is near. Most are in tables that
//! are built at once (`frozen`); those that came later are in lists (`recent`), until these are long enough for the tables
//! to be built anew.
//!
//! What is found to be near another is not added. So any two in the index are further apart, equal fingerprints never
//! swell a table, and no map of equal ones is needed beside the tables.

use crate::frozen::Frozen;
use crate::push;
use crate::recent::Recent;
use argiope_model::SimHash;

/// Tables are built anew when as many came since, or an eighth of what they hold, but before it is more than `MANY`.
const SOME: usize = 1 << 16;
const MANY: usize = 1 << 19;

/// The page that another one is nearly the same as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    pub page: u64,
    pub distance: u32,
}

/// Fingerprints of texts with the keys of their pages, oldest first. It holds `limit` of them; beyond that the oldest go.
pub struct NearIndex {
    limit: usize,
    fingerprints: Vec<u64>,
    pages: Vec<u64>,
    /// Those before are gone; their memory is given back when the tables are built.
    first: u32,
    gone: u64,
    frozen: Frozen,
    recent: Recent,
}

impl NearIndex {
    /// The most that can be held.
    pub const MOST: usize = 1 << 30;

    pub fn new(limit: usize) -> NearIndex {
        NearIndex {
            limit: limit.min(Self::MOST),
            fingerprints: Vec::new(),
            pages: Vec::new(),
            first: 0,
            gone: 0,
            frozen: Frozen::default(),
            recent: Recent::default(),
        }
    }

    /// An index of pages that are known to be originals, in the order they were stored.
    pub fn of(limit: usize, originals: impl IntoIterator<Item = (SimHash, u64)>) -> NearIndex {
        let mut index = NearIndex::new(limit);
        originals.into_iter().for_each(|(fingerprint, page)| index.restore(fingerprint, page));
        index.restored();
        index
    }

    /// The oldest page that the fingerprint is near to, but for the page itself. A page that is near to none is added.
    pub fn insert(&mut self, fingerprint: SimHash, page: u64) -> Option<Near> {
        let near = self.find(fingerprint, page);
        if near.is_none() {
            self.add(fingerprint, page);
        }
        near
    }

    /// The oldest page that the fingerprint is near to, but for `page` itself.
    pub fn find(&self, fingerprint: SimHash, page: u64) -> Option<Near> {
        let is_other = |position: u32| self.pages.get(position as usize) != Some(&page);
        let matches = |position: u32, candidate: u64| {
            fingerprint.distance(SimHash(candidate)) <= SimHash::NEAR
                && position >= self.first
                && is_other(position)
        };
        // Whatever is in the tables is older than what is not.
        let found = self.frozen.oldest(fingerprint.0, &self.fingerprints, matches).or_else(|| {
            let before = self.frozen.len() as u32;
            let found =
                self.recent.oldest(fingerprint.0, |place, candidate| matches(before + place, candidate));
            found.map(|place| before + place)
        })? as usize;
        let candidate = self.fingerprints.get(found)?;
        Some(Near { page: *self.pages.get(found)?, distance: fingerprint.distance(SimHash(*candidate)) })
    }

    /// Adds a page without looking for one that it is near to.
    pub fn add(&mut self, fingerprint: SimHash, page: u64) {
        if self.limit == 0 {
            return;
        }
        self.restore(fingerprint, page);
        self.restored();
    }

    /// As [`NearIndex::add`], for many one after the other: tables are built less often than is good for looking up.
    /// [`NearIndex::restored`] makes up for that.
    pub fn restore(&mut self, fingerprint: SimHash, page: u64) {
        if self.limit == 0 {
            return;
        }
        if self.len() >= self.limit {
            self.first += 1;
            self.gone += 1;
        }
        push(&mut self.fingerprints, fingerprint.0);
        push(&mut self.pages, page);
        self.recent.push(fingerprint.0);
        if self.recent.len() >= self.frozen.len().clamp(SOME, 4 * MANY) {
            self.freeze();
        }
    }

    /// Builds the tables if it is time to.
    pub fn restored(&mut self) {
        if self.recent.len() >= (self.frozen.len() / 8).clamp(SOME, MANY) {
            self.freeze();
        }
    }

    /// Moves everything to the tables, and gives back the memory of what is gone.
    fn freeze(&mut self) {
        let gone = std::mem::take(&mut self.first) as usize;
        self.fingerprints.drain(..gone.min(self.fingerprints.len()));
        self.pages.drain(..gone.min(self.pages.len()));
        self.frozen.build(&self.fingerprints);
        self.recent.clear();
    }

    pub fn len(&self) -> usize {
        self.fingerprints.len() - self.first as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many had to go because there were more than the limit.
    pub fn gone(&self) -> u64 {
        self.gone
    }

    /// What it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        let lists = self.fingerprints.capacity() + self.pages.capacity();
        lists * size_of::<u64>() + self.frozen.memory_bytes() + self.recent.memory_bytes()
    }

    /// What one takes in the tables: fingerprint, page, and in each table its position and sketch.
    pub const BYTES_PER_ENTRY: usize = 2 * size_of::<u64>() + 4 * (size_of::<u32>() + size_of::<u16>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by looking at each.
    #[derive(Default)]
    struct Naive {
        limit: usize,
        pages: Vec<(u64, u64)>,
    }

    impl Naive {
        fn insert(&mut self, fingerprint: u64, page: u64) -> Option<Near> {
            let start = self.pages.len().saturating_sub(self.limit);
            let of = |candidate: u64| (candidate ^ fingerprint).count_ones();
            let found = self.pages[start..].iter().find(|(known, by)| of(*known) <= 3 && *by != page);
            match found {
                Some((known, by)) => Some(Near { page: *by, distance: of(*known) }),
                None => {
                    self.pages.push((fingerprint, page));
                    None
                }
            }
        }
    }

    /// xorshift: the same numbers on every machine.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        /// A fingerprint at most `bits` away from one of the earlier ones, or a new one.
        fn fingerprint(&mut self, earlier: &mut Vec<u64>, bits: u64) -> u64 {
            let fingerprint = match earlier.len() {
                0 => self.next(),
                _ if self.next().is_multiple_of(3) => self.next(),
                known => {
                    let mut copy = earlier[(self.next() % known as u64) as usize];
                    for _ in 0..self.next() % (bits + 1) {
                        copy ^= 1 << (self.next() % 64);
                    }
                    copy
                }
            };
            earlier.push(fingerprint);
            fingerprint
        }
    }

    proptest! {
        /// Few and many, so that all of them are looked through, or they are in lists; with pages that come again.
        #[test]
        fn finds_what_a_scan_finds(seed in 1u64.., pages in 1usize..1500, limit in 1usize..2000, keys in 1u64..3000) {
            let mut random = Random(seed);
            let (mut index, mut naive) = (NearIndex::new(limit), Naive { limit, ..Naive::default() });
            let mut earlier = Vec::new();
            for _ in 0..pages {
                let (fingerprint, page) = (random.fingerprint(&mut earlier, 6), random.next() % keys);
                prop_assert_eq!(index.insert(SimHash(fingerprint), page), naive.insert(fingerprint, page));
            }
        }

        /// Fingerprints that share most of their blocks: what somebody would send to make look-ups slow.
        #[test]
        fn finds_what_a_scan_finds_in_crowded_blocks(seed in 1u64.., pages in 1usize..1200) {
            let mut random = Random(seed);
            let (mut index, mut naive) = (NearIndex::new(pages), Naive { limit: pages, ..Naive::default() });
            for page in 0..pages as u64 {
                let fingerprint = random.next() & 0x0fff_0000_0000_000f;
                prop_assert_eq!(index.insert(SimHash(fingerprint), page), naive.insert(fingerprint, page));
            }
        }
    }

    /// With tables, lists and pages that are gone; and an index that is built again from what is stored gives the same answers.
    #[test]
    fn finds_in_tables_and_lists_what_a_scan_finds() {
        for (limit, seed) in [(1 << 20, 1), (150_000, 2)] {
            let mut random = Random(seed);
            let mut index = NearIndex::new(limit);
            let mut all: Vec<(u64, u64)> = Vec::new();
            // Far apart from each other, nearly surely.
            for page in 0..400_000 {
                let fingerprint = random.next();
                if index.insert(SimHash(fingerprint), page).is_none() {
                    all.push((fingerprint, page));
                }
            }
            assert!(all.len() > 399_000);
            assert_eq!(
                (index.len(), index.gone() as usize),
                (all.len().min(limit), all.len().saturating_sub(limit))
            );
            let again =
                NearIndex::of(limit, all.iter().map(|(fingerprint, page)| (SimHash(*fingerprint), *page)));
            assert_eq!((again.len(), again.gone()), (index.len(), index.gone()));
            let held = &all[all.len().saturating_sub(limit)..];
            for round in 0..300 {
                let (mut query, _) = all[(random.next() % all.len() as u64) as usize];
                for _ in 0..round % 6 {
                    query ^= 1 << (random.next() % 64);
                }
                let of = |known: u64| (known ^ query).count_ones();
                let expected = held.iter().find(|(known, _)| of(*known) <= 3);
                let expected = expected.map(|(known, page)| Near { page: *page, distance: of(*known) });
                assert_eq!(index.find(SimHash(query), u64::MAX), expected, "{query:x}");
                assert_eq!(again.find(SimHash(query), u64::MAX), expected, "{query:x}, built again");
            }
        }
    }

    #[test]
    fn the_earliest_page_is_the_original_and_no_page_duplicates_itself() {
        let mut index = NearIndex::new(100);
        assert_eq!(index.insert(SimHash(0b0), 1), None);
        assert_eq!(index.insert(SimHash(0b11111), 2), None, "five bits away");
        // Three from the first, two from the second.
        assert_eq!(index.insert(SimHash(0b00111), 3), Some(Near { page: 1, distance: 3 }));
        assert_eq!(index.insert(SimHash(0b01111), 4), Some(Near { page: 2, distance: 1 }));
        assert_eq!(index.insert(SimHash(0b1), 1), None, "the same page, changed a little");
        assert_eq!(index.len(), 3);
    }

    #[test]
    fn without_room_nothing_is_held() {
        let mut index = NearIndex::new(0);
        assert_eq!(index.insert(SimHash(1), 1), None);
        assert_eq!(index.insert(SimHash(1), 2), None);
        assert_eq!((index.len(), index.gone()), (0, 0));
    }
}
