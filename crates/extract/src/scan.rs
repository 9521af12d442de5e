//! Searches for one or two bytes. Most text between two tags or quotes is short, so it is read eight bytes at a time;
//! setting up a vectorized search does not pay off.

const WALKED_WORDS: usize = 4;

/// The position of the first `one`, or the length if there is none.
#[inline(always)]
pub(crate) fn length_before(one: u8, bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().take(WALKED_WORDS).enumerate() {
        let hits = zero_bytes(u64::from_le_bytes(*word) ^ splat(one));
        if hits != 0 {
            return at * 8 + first_byte(hits);
        }
    }
    let walked = words.len().min(WALKED_WORDS) * 8;
    far(walked, bytes, |rest| memchr::memchr(one, rest))
}

/// The position of the first `one` or `other`, or the length if there is neither.
#[inline(always)]
pub(crate) fn length_before_either(one: u8, other: u8, bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().take(WALKED_WORDS).enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = zero_bytes(word ^ splat(one)) | zero_bytes(word ^ splat(other));
        if hits != 0 {
            return at * 8 + first_byte(hits);
        }
    }
    let walked = words.len().min(WALKED_WORDS) * 8;
    far(walked, bytes, |rest| memchr::memchr2(one, other, rest))
}

#[inline(always)]
fn far(walked: usize, bytes: &[u8], find: impl FnOnce(&[u8]) -> Option<usize>) -> usize {
    let rest = bytes.get(walked..).unwrap_or_default();
    find(rest).map_or(bytes.len(), |at| walked + at)
}

#[inline(always)]
const fn splat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// Marks the zero bytes of a word. A byte above a zero byte may be marked wrongly, but the lowest mark is right.
#[inline(always)]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

#[inline(always)]
const fn first_byte(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_search_stops_where_a_plain_one_does(
            bytes in prop::collection::vec(prop_oneof![20 => b'a'..=b'z', 1 => prop::sample::select(b"&<=;\xbc\xa6\0".as_slice())], 0..200),
        ) {
            let plain = |needle: &[u8]| bytes.iter().position(|b| needle.contains(b)).unwrap_or(bytes.len());
            prop_assert_eq!(length_before(b'<', &bytes), plain(b"<"));
            prop_assert_eq!(length_before_either(b'<', b'&', &bytes), plain(b"<&"));
        }
    }
}
