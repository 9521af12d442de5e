//! Decodes a robots.txt to UTF-8. RFC 9309 requires UTF-8; some servers send UTF-16, as saved by Windows editors.

use std::borrow::Cow;

/// How much of a file without a byte order mark is examined.
const SAMPLE_BYTES: usize = 512;
/// Two letters could be anything; this is the length of the shortest file with a rule, in characters.
const FEWEST_CHARACTERS: usize = 8;

/// Decodes UTF-16: with a byte order mark, or without one if three of four characters are ASCII next to a zero byte.
/// Anything else stays as it is.
pub fn text_of(file: &[u8]) -> Cow<'_, [u8]> {
    let (order, text) = match file {
        [0xFF, 0xFE, text @ ..] => (u16::from_le_bytes as fn([u8; 2]) -> u16, text),
        [0xFE, 0xFF, text @ ..] => (u16::from_be_bytes as fn([u8; 2]) -> u16, text),
        _ if is_plainly(file, u16::from_le_bytes) => (u16::from_le_bytes as fn([u8; 2]) -> u16, file),
        _ if is_plainly(file, u16::from_be_bytes) => (u16::from_be_bytes as fn([u8; 2]) -> u16, file),
        _ => return Cow::Borrowed(file),
    };
    let decoded = char::decode_utf16(units(text, order));
    let text: String = decoded.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Cow::Owned(text.into_bytes())
}

fn units(text: &[u8], order: fn([u8; 2]) -> u16) -> impl Iterator<Item = u16> {
    text.chunks_exact(2).filter_map(move |pair| pair.try_into().ok().map(order))
}

fn is_plainly(file: &[u8], order: fn([u8; 2]) -> u16) -> bool {
    let sample = file.get(..SAMPLE_BYTES).unwrap_or(file);
    let count = sample.len() / 2;
    let is_ascii = |unit: &u16| matches!(unit, 0x09 | 0x0A | 0x0D | 0x20..=0x7E);
    let ascii = units(sample, order).filter(is_ascii).count();
    count >= FEWEST_CHARACTERS
        && units(sample, order).next().is_some_and(|u| is_ascii(&u))
        && ascii * 4 >= count * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "User-agent: *\r\nDisallow: /private/\r\nDisallow: /größe\r\n";

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn utf16_is_read_with_a_byte_order_mark_and_without() {
        for bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            assert_eq!(text_of(&utf16(RULES, bytes)), RULES.as_bytes());
            assert_eq!(text_of(&utf16(&format!("\u{feff}{RULES}"), bytes)), RULES.as_bytes());
        }
    }

    #[test]
    fn other_files_stay_as_they_are() {
        for file in
            [RULES.as_bytes(), b"", b"a\0", b"\xEF\xBB\xBFUser-agent: *", b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"]
        {
            assert!(matches!(text_of(file), Cow::Borrowed(same) if same == file), "{file:?}");
        }
    }

    #[test]
    fn a_broken_end_loses_no_more_than_itself() {
        let mut file = utf16(&format!("\u{feff}{RULES}"), u16::to_le_bytes);
        file.extend_from_slice(&[0x00, 0xD8, 0x41]);
        assert_eq!(text_of(&file), format!("{RULES}\u{fffd}").as_bytes());
    }
}
