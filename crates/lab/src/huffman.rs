//! The codes of deflate blocks: the fixed one of RFC 1951, and one made for the text of pages, which is written
//! much shorter by it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

pub(crate) const END_OF_BLOCK: usize = 256;
const SYMBOLS: usize = 286;
const DISTANCES: usize = 30;
/// Longer codes are not allowed.
const LONGEST: u8 = 15;

/// A code and its width in bits, in the order in which bits are written.
type Bits = (u16, u8);

pub(crate) struct Code {
    /// What a block with this code begins with.
    header: Vec<Bits>,
    /// The codes of single bytes, in a table that needs no check of its bounds.
    bytes: [Bits; 256],
    symbols: Vec<Bits>,
    distances: Vec<Bits>,
}

static FIXED: LazyLock<Code> = LazyLock::new(|| {
    let lengths: Vec<u8> = (0..288)
        .map(|symbol| match symbol {
            0..=143 => 8,
            144..=255 => 9,
            256..=279 => 7,
            _ => 8,
        })
        .collect();
    // Not the last block; type 1.
    Code::new(vec![(0b010, 3)], &lengths, &[5; 32])
});

impl Code {
    fn new(header: Vec<Bits>, lengths: &[u8], distances: &[u8]) -> Code {
        let symbols = canonical(lengths);
        let mut bytes = [(0, 0); 256];
        for (slot, code) in bytes.iter_mut().zip(&symbols) {
            *slot = *code;
        }
        Code { header, bytes, symbols, distances: canonical(distances) }
    }

    pub(crate) fn fixed() -> &'static Code {
        &FIXED
    }

    /// The code that writes texts like `sample` shortest, and can write any other.
    pub(crate) fn for_text(sample: &[u8]) -> Code {
        let mut counts = vec![0u64; SYMBOLS];
        for byte in sample {
            if let Some(count) = counts.get_mut(usize::from(*byte)) {
                *count += 1;
            }
        }
        // Every other symbol has to have a code as well; repetitions are frequent, each length a little.
        let floor = (sample.len() as u64 / 8192).max(1);
        let repetition = (sample.len() as u64 / 200).max(1);
        for (symbol, count) in counts.iter_mut().enumerate() {
            *count = (*count).max(if symbol > END_OF_BLOCK { repetition } else { floor });
        }
        let lengths = limited_lengths(counts);
        // A complete code of 30: the two kinds of distance between neighbours in a list are the shortest.
        let distances: Vec<u8> =
            (0..DISTANCES).map(|symbol| if matches!(symbol, 13 | 14) { 4 } else { 5 }).collect();
        Code::new(header(&lengths, &distances), &lengths, &distances)
    }

    pub(crate) fn header(&self) -> &[Bits] {
        &self.header
    }

    #[inline]
    pub(crate) fn byte(&self, byte: u8) -> Bits {
        self.bytes.get(usize::from(byte)).copied().unwrap_or((0, 0))
    }

    pub(crate) fn symbol(&self, symbol: usize) -> Bits {
        self.symbols.get(symbol).copied().unwrap_or((0, 0))
    }

    pub(crate) fn distance(&self, symbol: usize) -> Bits {
        self.distances.get(symbol).copied().unwrap_or((0, 0))
    }
}

/// The start of a block of type 2. The lengths are written four bits each, without the run lengths that would save
/// a few bytes.
fn header(lengths: &[u8], distances: &[u8]) -> Vec<Bits> {
    const ORDER: [u8; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let mut bits: Vec<Bits> = vec![(0b100, 3), (29, 5), (29, 5), (15, 4)];
    bits.extend(ORDER.iter().map(|symbol| (if *symbol < 16 { 4 } else { 0 }, 3)));
    let flat = canonical(&[4; 16]);
    for length in lengths.iter().chain(distances) {
        bits.push(flat.get(usize::from(*length)).copied().unwrap_or((0, 0)));
    }
    bits
}

/// Huffman's lengths, none over the limit: rare symbols are taken for less rare until that holds.
fn limited_lengths(mut counts: Vec<u64>) -> Vec<u8> {
    loop {
        let lengths = huffman_lengths(&counts);
        if lengths.iter().all(|length| *length <= LONGEST) {
            return lengths;
        }
        let floor = counts.iter().min().copied().unwrap_or(1) * 2;
        for count in &mut counts {
            *count = (*count).max(floor);
        }
    }
}

fn huffman_lengths(counts: &[u64]) -> Vec<u8> {
    let mut parents: Vec<Option<usize>> = vec![None; counts.len()];
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> =
        counts.iter().enumerate().map(|(node, count)| Reverse((*count, node))).collect();
    while let (Some(Reverse((one, left))), Some(Reverse((two, right)))) = (heap.pop(), heap.pop()) {
        let parent = parents.len();
        parents.push(None);
        for child in [left, right] {
            if let Some(slot) = parents.get_mut(child) {
                *slot = Some(parent);
            }
        }
        heap.push(Reverse((one + two, parent)));
        if heap.len() == 1 {
            break;
        }
    }
    (0..counts.len())
        .map(|leaf| {
            let mut depth = 0u8;
            let mut node = leaf;
            while let Some(Some(parent)) = parents.get(node) {
                node = *parent;
                depth = depth.saturating_add(1);
            }
            depth
        })
        .collect()
}

/// The canonical code of these lengths, bits reversed for writing.
fn canonical(lengths: &[u8]) -> Vec<Bits> {
    let mut codes = vec![(0, 0); lengths.len()];
    let mut next: u16 = 0;
    for width in 1..=LONGEST {
        for (slot, length) in codes.iter_mut().zip(lengths) {
            if *length == width {
                *slot = (next.reverse_bits() >> (16 - width), width);
                next = next.wrapping_add(1);
            }
        }
        next = next.wrapping_shl(1);
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_complete(code: &[Bits]) -> bool {
        code.iter().filter(|(_, width)| *width > 0).map(|(_, width)| 1u32 << (15 - width)).sum::<u32>()
            == 1 << 15
    }

    #[test]
    fn codes_are_complete_and_common_letters_are_short() {
        let code = Code::for_text(&b"the letter e is the most common here; ".repeat(50));
        assert!(is_complete(&code.symbols) && is_complete(&code.distances));
        assert!(code.symbol(usize::from(b'e')).1 <= 4);
        assert!(code.symbols.iter().all(|(_, width)| (1..=15).contains(width)));
    }

    #[test]
    fn extreme_frequencies_stay_within_the_limit() {
        let fibonacci = std::iter::successors(Some((1u64, 1u64)), |(a, b)| Some((*b, a + b)));
        let lengths = limited_lengths(fibonacci.map(|(a, _)| a).take(40).collect());
        assert!(lengths.iter().all(|length| (1..=LONGEST).contains(length)));
    }
}
