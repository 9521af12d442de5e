//! Names of records: `urn:uuid`, unique across files, restarts and machines without asking the system each time.

use std::fmt;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A version 4 UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId(u128);

impl RecordId {
    /// Appends the name as it stands in a record header: `<urn:uuid:...>`.
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<urn:uuid:");
        for (place, byte) in self.0.to_be_bytes().into_iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                out.push(b'-');
            }
            out.extend(
                [byte >> 4, byte & 15].map(|digit| HEX.get(usize::from(digit)).copied().unwrap_or(b'0')),
            );
        }
        out.push(b'>');
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(47);
        self.put(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// Draws names for one appender: a random start, then a counter. Two appenders share a name only if 60 random bits
/// of theirs agree.
pub struct RecordIds {
    high: u64,
    low: u64,
}

impl RecordIds {
    /// `random` must be new for each appender.
    pub fn new(random: [u8; 16]) -> RecordIds {
        let number = u128::from_le_bytes(random);
        RecordIds { high: (number >> 64) as u64, low: number as u64 }
    }

    pub fn draw(&mut self) -> RecordId {
        self.low = self.low.wrapping_add(1);
        let high = (self.high & 0xffff_ffff_ffff_0fff) | 0x4000;
        let low = (self.low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        RecordId((u128::from(high) << 64) | u128::from(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_version_4_uuids_and_differ() {
        let mut ids = RecordIds::new([0xff; 16]);
        let first = ids.draw().to_string();
        assert_eq!(first, "<urn:uuid:ffffffff-ffff-4fff-8000-000000000000>");
        assert_ne!(first, ids.draw().to_string());
        assert_ne!(RecordIds::new([1; 16]).draw(), RecordIds::new([2; 16]).draw());
    }
}
