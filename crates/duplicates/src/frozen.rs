//! The large part of [`crate::NearIndex`]: four tables that are built at once and only read from then on.

/// Fingerprints are cut into as many blocks. Two that differ in at most three bits are equal in at least one of four.
pub(crate) const BLOCKS: usize = 4;

/// Values of a block.
pub(crate) const VALUES: usize = 1 << 16;

/// The block of a fingerprint that table `number` is ordered by.
pub(crate) fn block(fingerprint: u64, number: usize) -> usize {
    (fingerprint >> (16 * number)) as usize & (VALUES - 1)
}

/// Positions of fingerprints, ordered by one block and then by age.
#[derive(Default)]
struct Table {
    /// Where the positions of each value begin, and where the last ones end.
    starts: Vec<u32>,
    positions: Vec<u32>,
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
        let mut next = self.starts.clone();
        for (position, fingerprint) in (0u32..).zip(fingerprints) {
            if let Some(next) = next.get_mut(block(*fingerprint, number))
                && let Some(place) = self.positions.get_mut(*next as usize)
            {
                *place = position;
                *next += 1;
            }
        }
    }

    /// Oldest first.
    fn with(&self, value: usize) -> &[u32] {
        let range = self.starts.get(value..value + 2).and_then(|bounds| {
            let [from, to] = bounds else { return None };
            self.positions.get(*from as usize..*to as usize)
        });
        range.unwrap_or_default()
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
            for position in table.with(block(fingerprint, number)) {
                if oldest.is_some_and(|oldest| oldest <= *position) {
                    break;
                }
                let Some(candidate) = fingerprints.get(*position as usize) else { continue };
                if matches(*position, *candidate) {
                    oldest = Some(*position);
                    break;
                }
            }
        }
        oldest
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let cells = |table: &Table| table.starts.capacity() + table.positions.capacity();
        self.tables.iter().map(cells).sum::<usize>() * size_of::<u32>()
    }
}
