//! How many documents a term is in, in memory that does not grow with the number of terms: a count-min sketch whose four
//! counters of a term lie in one cache line, and of which only the smallest are increased.
//!
//! A count is never too low and rarely too high. A sketch begins small and doubles with the terms that it has seen, by having
//! each of its lines twice: that keeps every count.

const CELLS: usize = 32;
/// Cells of a line among which a term has one, four times.
const GROUP: usize = 8;
/// New terms per line, on average, before the sketch doubles. What shares a cell then shares it for good, so a sketch that
/// grows from the least to the usual size has half of its cells in use when it gets there.
const TERMS_PER_LINE: u64 = 1;
pub(super) const LINE_BYTES: usize = CELLS * 2;
pub(super) const LEAST_LINES: usize = 4096;
/// Before counters of 16 bits are full, all are halved, and so is the number of documents: shares stay, and a crawl's later
/// documents count more than its first.
const MOST_DOCUMENTS: u32 = 60_000;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u16; CELLS]);

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Sketch {
    /// A power of two of them.
    lines: Vec<Line>,
    most_lines: usize,
    documents: u32,
    /// Terms that were new when they came.
    terms: u64,
}

impl Sketch {
    /// Of at most so many bytes, rounded down to a power of two.
    pub(super) fn new(most_bytes: usize) -> Sketch {
        let most = (most_bytes / LINE_BYTES).max(LEAST_LINES);
        let most_lines = 1 << most.ilog2();
        Sketch { lines: vec![Line([0; CELLS]); LEAST_LINES], most_lines, documents: 0, terms: 0 }
    }

    pub(super) fn documents(&self) -> u32 {
        self.documents
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines.len() * LINE_BYTES
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.lines.len().wrapping_sub(1))
    }

    #[inline]
    fn cells(hash: u64) -> [usize; 4] {
        let high = (hash >> 48) as usize;
        [high & 7, (high >> 3) & 7, (high >> 6) & 7, (high >> 9) & 7]
    }

    /// In how many documents the term is, at most.
    #[inline]
    pub(super) fn count(&self, hash: u64) -> u16 {
        let Some(Line(line)) = self.lines.get(self.place(hash)) else { return 0 };
        let (groups, _) = line.as_chunks::<GROUP>();
        let counts = groups.iter().zip(Self::cells(hash));
        counts.filter_map(|(group, at)| group.get(at)).copied().min().unwrap_or(0)
    }

    /// A new document begins.
    pub(super) fn begin_document(&mut self) {
        if self.documents >= MOST_DOCUMENTS {
            self.halve();
        }
        if self.terms > self.lines.len() as u64 * TERMS_PER_LINE && self.lines.len() < self.most_lines {
            self.double();
        }
        self.documents += 1;
    }

    /// The document has this term; the answer is how many had it before. Once for each term of a document.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) -> u16 {
        let place = self.place(hash);
        let Some(Line(line)) = self.lines.get_mut(place) else { return 0 };
        let (groups, _) = line.as_chunks_mut::<GROUP>();
        let cells = Self::cells(hash);
        let counts = groups.iter().zip(cells).filter_map(|(group, at)| group.get(at));
        let least = counts.copied().min().unwrap_or(0);
        for (group, at) in groups.iter_mut().zip(cells) {
            if let Some(cell) = group.get_mut(at)
                && *cell == least
            {
                *cell = least.saturating_add(1);
            }
        }
        self.terms += u64::from(least == 0);
        least
    }

    fn double(&mut self) {
        self.lines.extend_from_within(..);
    }

    fn halve(&mut self) {
        self.lines.iter_mut().flat_map(|line| &mut line.0).for_each(|cell| *cell /= 2);
        self.documents /= 2;
        self.terms /= 2;
    }

    /// Adds what another one has counted.
    pub(super) fn merge(&mut self, mut other: Sketch) {
        let wanted = self.lines.len().max(other.lines.len().min(self.most_lines));
        while self.lines.len() < wanted {
            self.double();
        }
        while other.lines.len() < wanted {
            other.double();
        }
        while other.lines.len() > wanted {
            other.fold();
        }
        while self.documents.saturating_add(other.documents) > MOST_DOCUMENTS {
            self.halve();
            other.halve();
        }
        let mine = self.lines.iter_mut().flat_map(|line| &mut line.0);
        for (cell, more) in mine.zip(other.lines.iter().flat_map(|line| &line.0)) {
            *cell = cell.saturating_add(*more);
        }
        self.documents += other.documents;
        self.terms = self.terms.max(other.terms);
    }

    /// Half as large: what shared a cell in the larger one does so in the smaller one, and more does.
    fn fold(&mut self) {
        let half = self.lines.len() / 2;
        let upper = self.lines.split_off(half);
        for (low, high) in self.lines.iter_mut().zip(upper) {
            for (cell, more) in low.0.iter_mut().zip(high.0) {
                *cell = cell.saturating_add(more);
            }
        }
    }

    /// Documents, terms, lines, then the cells; numbers in little-endian order.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.documents.to_le_bytes());
        out.extend_from_slice(&self.terms.to_le_bytes());
        out.extend_from_slice(&u32::try_from(self.lines.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.reserve(self.bytes());
        self.lines.iter().flat_map(|line| line.0).for_each(|cell| out.extend_from_slice(&cell.to_le_bytes()));
    }

    /// What [`Sketch::write`] wrote, and what follows it; none if it is not that or larger than a sketch of `largest` bytes.
    pub(super) fn read(bytes: &[u8], most_bytes: usize, largest: usize) -> Option<(Sketch, &[u8])> {
        let (documents, rest) = bytes.split_first_chunk()?;
        let (terms, rest) = rest.split_first_chunk()?;
        let (lines, rest) = rest.split_first_chunk()?;
        let lines = u32::from_le_bytes(*lines) as usize;
        let is_sound =
            lines.is_power_of_two() && lines >= LEAST_LINES && lines.checked_mul(LINE_BYTES)? <= largest;
        if !is_sound {
            return None;
        }
        let (cells, rest) = rest.split_at_checked(lines * LINE_BYTES)?;
        let mut sketch = Sketch::new(most_bytes);
        sketch.documents = u32::from_le_bytes(*documents).min(MOST_DOCUMENTS);
        sketch.terms = u64::from_le_bytes(*terms);
        sketch.lines = Vec::with_capacity(lines);
        for stored in cells.as_chunks::<LINE_BYTES>().0 {
            let mut line = Line([0; CELLS]);
            for (cell, bytes) in line.0.iter_mut().zip(stored.as_chunks::<2>().0) {
                *cell = u16::from_le_bytes(*bytes);
            }
            sketch.lines.push(line);
        }
        while sketch.lines.len() > sketch.most_lines {
            sketch.fold();
        }
        Some((sketch, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::hash_of_pair;
    use std::collections::HashMap;

    fn hash(term: u64) -> u64 {
        hash_of_pair(term, 1)
    }

    /// Documents of 100 terms, the lower the number of a term the more of them have it.
    fn filled(documents: u64, most_bytes: usize, exact: &mut HashMap<u64, u16>) -> Sketch {
        let mut sketch = Sketch::new(most_bytes);
        for document in 0..documents {
            sketch.begin_document();
            let mut terms: Vec<u64> = (0..100)
                .map(|n| {
                    let random = hash_of_pair(document, n) as f64 / u64::MAX as f64;
                    (200_000.0 * random.powi(4)) as u64
                })
                .collect();
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                sketch.add(hash(term));
                *exact.entry(term).or_default() += 1;
            }
        }
        sketch
    }

    #[test]
    fn counts_are_never_too_low_and_rarely_too_high() {
        let mut exact = HashMap::new();
        let sketch = filled(5_000, 4 << 20, &mut exact);
        assert!(sketch.bytes() > LEAST_LINES * LINE_BYTES && sketch.bytes() <= 4 << 20);
        let wrong = exact.iter().filter(|(term, count)| {
            assert!(sketch.count(hash(**term)) >= **count);
            sketch.count(hash(**term)) > **count
        });
        let share = wrong.count() as f64 / exact.len() as f64;
        assert!(share < 0.25, "{share} of {}", exact.len());
        let ghosts = (1_000_000..1_010_000).filter(|term| sketch.count(hash(*term)) > 0).count();
        assert!(ghosts < 2_000, "{ghosts}");
    }

    #[test]
    fn merged_counts_are_those_of_both() {
        let mut exact = HashMap::new();
        let mut one = filled(3_000, 4 << 20, &mut exact);
        let mut two = Sketch::new(4 << 20);
        for _ in 0..40 {
            two.begin_document();
            two.add(hash(1));
        }
        let before = one.count(hash(1));
        one.merge(two.clone());
        assert_eq!(one.count(hash(1)), before + 40);
        assert_eq!(one.documents(), 3_040);
        // A small one takes from a large one.
        let mut small = Sketch::new(LEAST_LINES * LINE_BYTES);
        small.merge(one.clone());
        assert_eq!(small.bytes(), LEAST_LINES * LINE_BYTES);
        assert!(small.count(hash(1)) >= before + 40);
    }

    #[test]
    fn counters_do_not_overflow() {
        let mut sketch = Sketch::new(0);
        for _ in 0..200_000 {
            sketch.begin_document();
            sketch.add(hash(7));
        }
        assert!(sketch.documents() <= MOST_DOCUMENTS);
        let share = f64::from(sketch.count(hash(7))) / f64::from(sketch.documents());
        assert!((0.99..=1.01).contains(&share), "{share}");
        let twice = sketch.clone();
        sketch.merge(twice);
        assert!(sketch.documents() <= MOST_DOCUMENTS);
    }
}
