//! Gives a page's bytes to the tokenizer. The tokenizer asks for everything up to one of a few bytes; which few is
//! known at each place, and here each of these searches is written out.

use html5gum::Reader;
use std::convert::Infallible;

pub(crate) struct PageReader<'b> {
    rest: &'b [u8],
    /// Whether the page has any of these anywhere; if not, nobody need look for them.
    has_nul: bool,
    has_carriage_return: bool,
}

impl<'b> PageReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> PageReader<'b> {
        // Most pages have neither, and one pass shows it.
        let odd = memchr::memchr2(0, b'\r', bytes).is_some();
        PageReader {
            rest: bytes,
            has_nul: odd && memchr::memchr(0, bytes).is_some(),
            has_carriage_return: odd && memchr::memchr(b'\r', bytes).is_some(),
        }
    }

    /// The length of what comes before the first byte of `needle`.
    #[inline(always)]
    fn length_before(&self, needle: &[u8]) -> usize {
        let rest = self.rest;
        let found = match needle {
            b"&<\0\r" => self.find_pair(b'&', b'<'),
            b"\"&\0\r" => self.find_pair(b'"', b'&'),
            b"'&\0\r" => self.find_pair(b'\'', b'&'),
            b"<\0\r" => self.find_pair(b'<', b'<'),
            b"<-\0\r" | b"-<\0\r" => self.find_pair(b'<', b'-'),
            b"\t\n\x0c />\0\r" => rest.iter().position(|b| ends_tag_name(*b)),
            b"\t\n\x0c />=\0\"'<\r" => {
                rest.iter().position(|b| ends_tag_name(*b) || matches!(b, b'=' | b'"' | b'\'' | b'<'))
            }
            _ => rest.iter().position(|b| needle.contains(b)),
        };
        found.unwrap_or(rest.len())
    }

    /// The first of two bytes, or of the odd ones if there are any. Short distances are walked eight bytes at a
    /// time, as a vectorized search is not worth setting up for them.
    #[inline(always)]
    fn find_pair(&self, one: u8, other: u8) -> Option<usize> {
        const WALKED_WORDS: usize = 4;
        let (words, _) = self.rest.as_chunks::<8>();
        for (at, word) in words.iter().take(WALKED_WORDS).enumerate() {
            let word = u64::from_le_bytes(*word);
            let mut hits = zero_bytes(word ^ splat(one)) | zero_bytes(word ^ splat(other));
            if self.has_nul || self.has_carriage_return {
                hits |= zero_bytes(word) | zero_bytes(word ^ splat(b'\r'));
            }
            if hits != 0 {
                return Some(at * 8 + hits.trailing_zeros() as usize / 8);
            }
        }
        let walked = words.len().min(WALKED_WORDS) * 8;
        let far = self.rest.get(walked..).unwrap_or_default();
        let found = match (self.has_nul, self.has_carriage_return) {
            (false, false) => memchr::memchr2(one, other, far),
            (false, true) => memchr::memchr3(one, other, b'\r', far),
            (true, _) => far.iter().position(|b| *b == one || *b == other || matches!(*b, 0 | b'\r')),
        };
        found.map(|at| walked + at)
    }
}

/// The bytes after which a tag name or attribute cannot go on.
#[inline(always)]
fn ends_tag_name(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b' ' | b'/' | b'>' | 0 | b'\r')
}

#[inline(always)]
const fn splat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// Marks the zero bytes of a word. A byte above a zero byte may be marked wrongly, the lowest mark is right.
#[inline(always)]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

impl Reader for PageReader<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        Ok(self.rest.split_first().map(|(first, rest)| {
            self.rest = rest;
            *first
        }))
    }

    #[inline(always)]
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        let Some((start, rest)) = self.rest.split_at_checked(text.len()) else { return Ok(false) };
        let same = if case_sensitive { start == text } else { start.eq_ignore_ascii_case(text) };
        if same {
            self.rest = rest;
        }
        Ok(same)
    }

    #[inline(always)]
    fn read_until<'r>(
        &'r mut self,
        needle: &[u8],
        _: &'r mut [u8; 4],
    ) -> Result<Option<&'r [u8]>, Infallible> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        // A needle at the very start is given alone.
        let length = self.length_before(needle).max(1);
        Ok(self.rest.split_at_checked(length).map(|(chunk, rest)| {
            self.rest = rest;
            chunk
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEEDLES: [&[u8]; 9] = [
        b"&<\0\r",
        b"\"&\0\r",
        b"'&\0\r",
        b"<\0\r",
        b"<-\0\r",
        b"-<\0\r",
        b"\t\n\x0c />\0\r",
        b"\t\n\x0c />=\0\"'<\r",
        b">\0\r",
    ];

    proptest! {
        #[test]
        fn every_search_stops_where_a_plain_one_does(
            needle in prop::sample::select(NEEDLES.as_slice()),
            bytes in prop::collection::vec(prop_oneof![20 => b'a'..=b'z', 1 => prop::sample::select(b"&<\"'-/> =\t\n\r\0\x0c\xbc".as_slice())], 0..200),
        ) {
            let mut reader = PageReader::new(&bytes);
            let mut rest = bytes.as_slice();
            let mut buffer = [0; 4];
            while let Ok(Some(chunk)) = reader.read_until(needle, &mut buffer) {
                let plain = rest.iter().position(|b| needle.contains(b)).unwrap_or(rest.len()).max(1);
                prop_assert_eq!(chunk, &rest[..plain]);
                rest = &rest[plain..];
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn strings_are_taken_only_whole() {
        let mut reader = PageReader::new(b"DOCtype html");
        assert_eq!(reader.try_read_string(b"doctype", true), Ok(false));
        assert_eq!(reader.try_read_string(b"doctype", false), Ok(true));
        assert_eq!(reader.try_read_string(b" html and more", false), Ok(false));
        assert_eq!(reader.read_byte(), Ok(Some(b' ')));
    }
}
