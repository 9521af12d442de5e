//! Digests of blocks and payloads in record headers: `sha256:` and hexadecimal.

use sha2::{Digest as _, Sha256};
use std::fmt;

const LABEL: &str = "sha256:";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// SHA-256 of a record's block or payload.
///
/// Not SHA-1, though most archives have it: two files with one SHA-1 are public, and the second of them would be
/// recorded as a copy of the first and lost. The price is small (8.5 KB: 5.9 us against 5.4 us, both on the CPU's SHA
/// instructions), and where a body came without content encoding its payload digest is the page's `content_hash`, which
/// is computed anyway. Hexadecimal because that is what `sha256sum` and the page record show.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of the parts, one after the other.
    pub fn of(parts: &[&[u8]]) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// The inverse of `Display`.
    pub fn parse(text: &str) -> Option<Digest> {
        let value = text.strip_prefix(LABEL)?;
        let mut bytes = [0u8; 32];
        if value.len() != 2 * bytes.len() || !value.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(value.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Digest(bytes))
    }

    /// Appends the output of `Display` without going through formatting.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(LABEL.as_bytes());
        for byte in self.0 {
            out.extend(
                [byte >> 4, byte & 15].map(|digit| HEX.get(usize::from(digit)).copied().unwrap_or(b'0')),
            );
        }
    }

    /// The first 128 bits: the key of the payload index.
    pub fn prefix(&self) -> [u64; 2] {
        let mut words = [0u64; 2];
        for (word, bytes) in words.iter_mut().zip(self.0.chunks_exact(8)) {
            *word = bytes.iter().fold(0, |n, byte| (n << 8) | u64::from(*byte));
        }
        words
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LABEL)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_written_in_hexadecimal() {
        let digest = Digest::of(&[b"ab", b"c"]);
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        let mut out = Vec::new();
        digest.put(&mut out);
        assert_eq!(out, text.as_bytes());
    }

    #[test]
    fn digests_are_read_back_and_nothing_else_is() {
        let digest = Digest::of(&[b"abc"]);
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse(&digest.to_string().to_uppercase()), None);
        assert_eq!(Digest::parse("sha1:a9993e364706816aba3e25717850c26c9cd0d89d"), None);
        assert_eq!(Digest::parse("sha256:ba78"), None);
        assert_eq!(Digest::parse(&format!("sha256:{}é", "a".repeat(62))), None);
        assert_eq!(Digest::parse(&format!("sha256:+a{}", "a".repeat(62))), None);
    }
}
