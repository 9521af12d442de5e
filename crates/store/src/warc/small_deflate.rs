//! Deflate for record headers: about a kilobyte of text that is similar from record to record.
//!
//! A general compressor spends most of its time on clearing its tables and on building a Huffman code for each record.
//! Here the code is fixed, computed once for the text of this program's records (names of fields, hex digits, URLs,
//! JSON), and written out with each block as deflate requires: 76 bytes. One small table finds matches. Figures are in
//! `gzip.rs`.

use super::gzip::Bits;

/// The code length of each literal, the end of the block and each length code, from frequencies in header texts of many
/// kinds of visits. Zero for bytes that are not text; a text with such a byte is compressed differently.
const LITERAL_LENGTHS: [u8; 286] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 13, 6, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 13,
    5, 13, 13, 13, 12, 13, 11, 11, 13, 13, 6, 5, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 5, 6, 5, 8, 10, 8, 10, 11, 13,
    7, 13, 8, 8, 9, 9, 10, 9, 8, 10, 9, 8, 8, 9, 8, 8, 13, 7, 8, 7, 9, 11, 9, 10, 13, 10, 13, 13, 13, 13, 8,
    13, 5, 6, 6, 5, 4, 6, 6, 7, 5, 10, 8, 6, 7, 6, 6, 6, 9, 5, 5, 5, 6, 8, 8, 8, 7, 11, 9, 13, 8, 13, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 13, 6, 8, 9, 7, 9, 9, 8, 9, 11, 9,
    12, 12, 11, 11, 12, 11, 9, 11, 12, 12, 13, 13, 13, 13, 13, 13, 13, 13,
];
const DISTANCE_LENGTHS: [u8; 24] =
    [10, 9, 10, 10, 9, 10, 6, 8, 3, 5, 4, 5, 3, 3, 4, 3, 3, 5, 4, 4, 10, 10, 10, 10];
/// Both codes as written at the beginning of a block, including the block's three header bits.
const TABLES: [u8; 76] = [
    236, 119, 123, 127, 220, 56, 150, 221, 223, 225, 239, 199, 239, 128, 32, 201, 102, 38, 33, 72, 0, 124,
    129, 80, 171, 39, 21, 201, 110, 171, 45, 89, 74, 169, 60, 238, 116, 30, 10, 72, 92, 178, 208, 98, 145,
    52, 0, 74, 170, 113, 148, 207, 222, 161, 92, 182, 60, 222, 157, 217, 241, 236, 230, 157, 118, 183, 155,
    58, 184, 56, 231, 158, 131, 123, 251, 1,
];
const TABLE_BITS: u32 = 604;
const HASH_BITS: u32 = 10;
const SHORTEST_MATCH: usize = 4;
const LONGEST_MATCH: usize = 258;
/// The largest distance of the codes above.
const FARTHEST: usize = 4096;
/// Positions are kept in 16 bits.
pub(super) const LONGEST_TEXT: usize = 0xfff0;

/// Bits and their number.
type Code = (u32, u32);

pub(super) struct SmallDeflate {
    literals: [Code; 256],
    end_of_block: Code,
    /// By match length minus deflate's minimum, including extra bits.
    lengths: Vec<Code>,
    distances: [Code; DISTANCE_LENGTHS.len()],
    /// The last position of four bytes with this hash, plus one.
    seen: [u16; 1 << HASH_BITS],
}

impl SmallDeflate {
    pub(super) fn new() -> SmallDeflate {
        let codes = codes_of(&LITERAL_LENGTHS);
        let code = |symbol: usize| codes.get(symbol).copied().unwrap_or_default();
        let mut literals = [(0, 0); 256];
        for (symbol, literal) in literals.iter_mut().enumerate() {
            *literal = code(symbol);
        }
        let lengths = (3..=LONGEST_MATCH)
            .map(|length| {
                let (symbol, extra, extra_bits) = length_code(length);
                let (bits, count) = code(symbol);
                (bits | extra << count, count + extra_bits)
            })
            .collect();
        let mut distances = [(0, 0); DISTANCE_LENGTHS.len()];
        for (distance, code) in distances.iter_mut().zip(codes_of(&DISTANCE_LENGTHS)) {
            *distance = code;
        }
        SmallDeflate { literals, end_of_block: code(256), lengths, distances, seen: [0; 1 << HASH_BITS] }
    }

    /// Whether this code can write the text.
    pub(super) fn takes(text: &[u8]) -> bool {
        text.len() <= LONGEST_TEXT
            && text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
    }

    /// One block with the text, which it must [take](SmallDeflate::takes).
    pub(super) fn block(&mut self, text: &[u8], is_last: bool, out: &mut Bits<'_>) {
        out.put(u32::from(is_last), 1);
        // Without its first bit, which says whether it is the last block.
        for (place, byte) in TABLES.iter().enumerate() {
            let (from, to) = (place as u32 * 8, (place as u32 * 8 + 8).min(TABLE_BITS));
            match place {
                0 => out.put(u32::from(byte >> 1), to - 1),
                _ => out.put(u32::from(*byte), to - from),
            }
        }
        self.seen.fill(0);
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            let matched = self.find(text, at);
            let length = matched.map_or(1, |(length, _)| length);
            match matched {
                Some((length, distance)) => {
                    let (bits, count) = self.lengths.get(length - 3).copied().unwrap_or_default();
                    out.put(bits, count);
                    let (symbol, extra, extra_bits) = distance_code(distance);
                    let (bits, count) = self.distances.get(symbol).copied().unwrap_or_default();
                    out.put(bits | extra << count, count + extra_bits);
                    // Every second position within a match is enough to find it again.
                    for within in (at + 1..at + length).step_by(2) {
                        self.note(text, within);
                    }
                }
                None => {
                    let (bits, count) = self.literals.get(usize::from(*byte)).copied().unwrap_or_default();
                    out.put(bits, count);
                }
            }
            at += length;
        }
        out.put(self.end_of_block.0, self.end_of_block.1);
    }

    /// Records the position and returns the previous one with the same hash, plus one.
    fn note(&mut self, text: &[u8], at: usize) -> Option<u16> {
        let four = text.get(at..)?.first_chunk::<4>()?;
        let hash = u32::from_le_bytes(*four).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS);
        let seen = self.seen.get_mut(hash as usize)?;
        Some(std::mem::replace(seen, at as u16 + 1))
    }

    /// Length and distance of an earlier position with the same text.
    fn find(&mut self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let before = usize::from(self.note(text, at)?).checked_sub(1)?;
        let distance = at - before;
        if distance > FARTHEST {
            return None;
        }
        let (earlier, here) = (text.get(before..)?, text.get(at..)?);
        let length = common(earlier, here);
        (length >= SHORTEST_MATCH).then_some((length, distance))
    }
}

/// The length of the common prefix, up to the longest match; eight bytes at a time.
fn common(earlier: &[u8], here: &[u8]) -> usize {
    let most = here.len().min(LONGEST_MATCH);
    let (earlier, here) = (earlier.get(..most).unwrap_or_default(), here.get(..most).unwrap_or_default());
    let mut length = 0;
    for (a, b) in earlier.as_chunks::<8>().0.iter().zip(here.as_chunks::<8>().0) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return length + (differ.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = earlier.iter().skip(length).zip(here.iter().skip(length));
    length + rest.take_while(|(a, b)| a == b).count()
}

/// The symbol of a length, its extra bits, and their number.
fn length_code(length: usize) -> (usize, u32, u32) {
    match length {
        LONGEST_MATCH => (285, 0, 0),
        0..=10 => (254 + length, 0, 0),
        _ => {
            let (symbol, extra, bits) = by_halves(length as u32 - 3, 2);
            (257 + symbol, extra, bits)
        }
    }
}

/// The same for a distance.
fn distance_code(distance: usize) -> (usize, u32, u32) {
    by_halves(distance as u32 - 1, 1)
}

/// Deflate's numbers: from `1 << (kept + 1)` on, each power of two is parted into `1 << kept` symbols.
fn by_halves(value: u32, kept: u32) -> (usize, u32, u32) {
    let Some(highest) = value.checked_ilog2().filter(|highest| *highest > kept) else {
        return (value as usize, 0, 0);
    };
    let extra_bits = highest - kept;
    let symbol = (extra_bits << kept) + (value >> extra_bits);
    (symbol as usize, value & ((1 << extra_bits) - 1), extra_bits)
}

/// The canonical code with these lengths, in deflate's bit order.
fn codes_of(lengths: &[u8]) -> Vec<Code> {
    let mut codes = vec![(0, 0); lengths.len()];
    let mut next = 0u32;
    for count in 1..=15u32 {
        for (code, length) in codes.iter_mut().zip(lengths) {
            if u32::from(*length) == count {
                *code = (next.reverse_bits() >> (32 - count), count);
                next += 1;
            }
        }
        next <<= 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut bits = Bits::new(&mut out);
        SmallDeflate::new().block(text, true, &mut bits);
        bits.finish();
        out
    }

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        flate2::read::DeflateDecoder::new(packed).read_to_end(&mut plain).unwrap();
        plain
    }

    #[test]
    fn any_text_is_read_back() {
        let all: Vec<u8> = (b' '..=b'~').chain(*b"\t\r\n").collect();
        let mut state = 7u64;
        let mut chance = |most: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % most
        };
        for length in [0, 1, 2, 3, 4, 5, 100, 257, 258, 259, 260, 4000, 4096, 5000, 20_000, LONGEST_TEXT] {
            // Pieces of earlier text, at all distances, and new bytes.
            let mut text: Vec<u8> = Vec::new();
            while text.len() < length {
                let from = chance(text.len() + 1);
                let piece: Vec<u8> = text.iter().skip(from).take(chance(400)).copied().collect();
                text.extend(piece);
                text.push(all[chance(all.len())]);
            }
            text.truncate(length);
            assert!(SmallDeflate::takes(&text));
            assert_eq!(unpacked(&packed(&text)), text, "{length}");
        }
        let same = vec![b'a'; 10_000];
        assert_eq!(unpacked(&packed(&same)), same);
    }

    #[test]
    fn what_is_no_text_is_not_taken() {
        for text in [&b"\0"[..], b"\x7f", "ä".as_bytes(), &[b'a'; LONGEST_TEXT + 1]] {
            assert!(!SmallDeflate::takes(text));
        }
    }

    #[test]
    fn lengths_and_distances_have_deflates_symbols() {
        for (length, code) in
            [(3, (257, 0, 0)), (10, (264, 0, 0)), (11, (265, 0, 1)), (12, (265, 1, 1)), (13, (266, 0, 1))]
        {
            assert_eq!(length_code(length), code, "{length}");
        }
        assert_eq!(length_code(19), (269, 0, 2));
        assert_eq!(length_code(257), (284, 30, 5));
        assert_eq!(length_code(258), (285, 0, 0));
        for (distance, code) in
            [(1, (0, 0, 0)), (4, (3, 0, 0)), (5, (4, 0, 1)), (7, (5, 0, 1)), (9, (6, 0, 2))]
        {
            assert_eq!(distance_code(distance), code, "{distance}");
        }
        assert_eq!(distance_code(4096), (23, 1023, 10));
    }
}
