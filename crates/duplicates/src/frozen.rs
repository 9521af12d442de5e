//! The large part of [`crate::NearIndex`]: four tables that are built at once and only read from then on.

use argiope_model::SimHash;

/// Fingerprints are cut into as many blocks. Two that differ in at most three bits are equal in at least one of four.
pub(crate) const BLOCKS: usize = 4;

/// Values of a block.
pub(crate) const VALUES: usize = 1 << 16;

/// The block of a fingerprint that table `number` is ordered by.
pub(crate) fn block(fingerprint: u64, number: usize) -> usize {
    (fingerprint >> (16 * number)) as usize & (VALUES - 1)
}

/// The other three blocks, one over the other: no more bits of two sketches differ than of the two fingerprints. Of
/// fingerprints that are not near, one in a hundred has a sketch that is; only those are looked at, each a read from
/// somewhere in memory.
fn sketch(fingerprint: u64, number: usize) -> u16 {
    let others = fingerprint.rotate_right(16 * number as u32) >> 16;
    (others ^ (others >> 16) ^ (others >> 32)) as u16
}

/// Positions of fingerprints, ordered by one block and then by age.
#[derive(Default)]
struct Table {
    /// Where the positions of each value begin, and where the last ones end.
    starts: Vec<u32>,
    positions: Vec<u32>,
    /// Beside each position.
    sketches: Vec<u16>,
}

impl Table {
    /// Sorts by counting. The memory of an earlier table is used again.
    fn build(&mut self, fingerprints: &[u64], number: usize) {
        self.starts.clear();
        self.starts.resize(VALUES + 1, 0);
        for fingerprint in fingerprints {
            if let Some(count) = self.starts.get_mut(block(*fingerprint, number) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.positions.clear();
        self.positions.reserve_exact(fingerprints.len());
        self.positions.resize(fingerprints.len(), 0);
        self.sketches.clear();
        self.sketches.reserve_exact(fingerprints.len());
        self.sketches.resize(fingerprints.len(), 0);
        let mut next = self.starts.clone();
        for (position, fingerprint) in (0u32..).zip(fingerprints) {
            if let Some(next) = next.get_mut(block(*fingerprint, number))
                && let Some(place) = self.positions.get_mut(*next as usize)
                && let Some(beside) = self.sketches.get_mut(*next as usize)
            {
                *place = position;
                *beside = sketch(*fingerprint, number);
                *next += 1;
            }
        }
    }

    /// Those that a near fingerprint may have, oldest first.
    fn candidates(&self, fingerprint: u64, number: usize) -> impl Iterator<Item = u32> {
        let value = block(fingerprint, number);
        let range = match self.starts.get(value..value + 2) {
            Some([from, to]) => *from as usize..*to as usize,
            _ => 0..0,
        };
        let own = sketch(fingerprint, number);
        let positions = self.positions.get(range.clone()).unwrap_or_default();
        let sketches = self.sketches.get(range).unwrap_or_default();
        let near =
            positions.iter().zip(sketches).filter(move |(_, of)| (own ^ **of).count_ones() <= SimHash::NEAR);
        near.map(|(position, _)| *position)
    }
}

/// Tables of the first `len` fingerprints of the index.
#[derive(Default)]
pub(crate) struct Frozen {
    tables: [Table; BLOCKS],
    len: usize,
}

impl Frozen {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// One table after the other, so that no more than one is being built.
    pub(crate) fn build(&mut self, fingerprints: &[u64]) {
        for (number, table) in self.tables.iter_mut().enumerate() {
            table.build(fingerprints, number);
        }
        self.len = fingerprints.len();
    }

    /// The oldest position for which `matches` holds, among those that share a block with the fingerprint.
    pub(crate) fn oldest(
        &self,
        fingerprint: u64,
        fingerprints: &[u64],
        matches: impl Fn(u32, u64) -> bool,
    ) -> Option<u32> {
        let mut oldest = None;
        for (number, table) in self.tables.iter().enumerate() {
            for position in table.candidates(fingerprint, number) {
                if oldest.is_some_and(|oldest| oldest <= position) {
                    break;
                }
                let Some(candidate) = fingerprints.get(position as usize) else { continue };
                if matches(position, *candidate) {
                    oldest = Some(position);
                    break;
                }
            }
        }
        oldest
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let of = |table: &Table| {
            (table.starts.capacity() + table.positions.capacity()) * size_of::<u32>()
                + table.sketches.capacity() * size_of::<u16>()
        };
        self.tables.iter().map(of).sum()
    }
}
