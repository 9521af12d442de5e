//! The hashes of a page's content. As text, in JSON and in exports, both are lower-case hex digits.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// SHA-256 of a body after content decoding; 64 hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    pub fn parse(hex: &str) -> Option<ContentHash> {
        let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { return None };
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (digit(*high)? << 4) | digit(*low)?;
        }
        Some(ContentHash(bytes))
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 64];
        let (pairs, _) = text.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [hex_digit(byte >> 4), hex_digit(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

fn hex_digit(number: u8) -> u8 {
    if number < 10 { b'0' + number } else { b'a' + number - 10 }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 64-bit SimHash of a text: near duplicates differ in few bits. 16 hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SimHash(pub u64);

impl SimHash {
    /// Pages at most this far apart are near duplicates.
    pub const NEAR: u32 = 3;

    /// The number of bits in which the two differ.
    pub fn distance(self, other: SimHash) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    pub fn parse(hex: &str) -> Option<SimHash> {
        // The integer parser would accept a sign.
        if hex.len() != 16 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        u64::from_str_radix(hex, 16).ok().map(SimHash)
    }
}

impl fmt::Display for SimHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SimHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for SimHash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ContentHash, D::Error> {
        let text = String::deserialize(from)?;
        ContentHash::parse(&text).ok_or_else(|| D::Error::custom("a content hash has 64 hex digits"))
    }
}

impl<'de> Deserialize<'de> for SimHash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SimHash, D::Error> {
        let text = String::deserialize(from)?;
        SimHash::parse(&text).ok_or_else(|| D::Error::custom("a SimHash has 16 hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_and_read_as_hex_digits() {
        let text = "00f1e2d3c4b5a6978897a6b5c4d3e2f100f1e2d3c4b5a6978897a6b5c4d3e2ff";
        assert_eq!(ContentHash::parse(text).unwrap().to_string(), text);
        assert_eq!(
            serde_json::to_string(&ContentHash([0xab; 32])).unwrap(),
            format!("\"{}\"", "ab".repeat(32))
        );
        for wrong in ["", "ab", &text[1..], &format!("{text}00"), &text.replace('f', "g")] {
            assert_eq!(ContentHash::parse(wrong), None, "{wrong}");
        }
        assert_eq!(SimHash::parse("00000000000000ff"), Some(SimHash(255)));
        assert_eq!(SimHash(255).to_string(), "00000000000000ff");
        for wrong in ["", "ff", "+0000000000000ff", "00000000000000fg"] {
            assert_eq!(SimHash::parse(wrong), None, "{wrong}");
        }
    }
}
