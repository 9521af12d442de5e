//! Gzip members: each record is one, so that a reader can begin at any record.
//!
//! A payload that arrived compressed is framed in stored blocks, because deflate would spend time and save nothing. The
//! header before it is deflated with a fixed code ([`super::small_deflate`]), because setting up a general compressor
//! costs more than all the rest of the append. Measured by the example `archive_costs` of the local adapters,
//! microseconds on one core (bytes written):
//!
//! | | stored | deflate level 1 |
//! |---|---|---|
//! | 10 KB gzip body | 0.2 (10,109) | 47-60 (10,109) |
//! | 30 KB page | 0.8 (30,086) | 200 (10,278) |
//! | request or metadata, 700 bytes | 0.04 (723) | 7.3 (304) |

use super::small_deflate::SmallDeflate;
use libdeflater::{CompressionLvl, Compressor, Crc};

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
const LONGEST_STORED_BLOCK: usize = 0xffff;
/// Buffers that grew beyond this for one large page are freed.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// Writes members; holds the compressors and their buffer for the life of an appender.
pub struct GzipWriter {
    compressor: Compressor,
    small: SmallDeflate,
    plain: Vec<u8>,
}

impl GzipWriter {
    pub fn new() -> GzipWriter {
        GzipWriter {
            compressor: Compressor::new(CompressionLvl::new(1).unwrap_or_default()),
            small: SmallDeflate::new(),
            plain: Vec::new(),
        }
    }

    /// Whether these bytes can be part of a text that is compressed like headers.
    pub(super) fn is_text(bytes: &[u8]) -> bool {
        SmallDeflate::takes(bytes)
    }

    /// One member: a text compressed like record headers, then a body unchanged.
    pub fn text_and_stored(&mut self, text: &[&[u8]], body: &[&[u8]], out: &mut Vec<u8>) {
        self.plain.clear();
        for part in text {
            self.plain.extend_from_slice(part);
        }
        if !SmallDeflate::takes(&self.plain) {
            let parts: Vec<&[u8]> = text.iter().chain(body).copied().collect();
            return self.deflated(&parts, out);
        }
        let body_length: usize = body.iter().map(|part| part.len()).sum();
        let mut crc = Crc::new();
        crc.update(&self.plain);
        out.reserve(self.plain.len() + body_length + 256);
        out.extend_from_slice(&HEADER);
        let mut bits = Bits::new(out);
        self.small.block(&self.plain, body_length == 0, &mut bits);
        if body_length > 0 {
            // Of a stored block: whether it is the last, its kind, and nothing up to the next byte.
            bits.put(u32::from(body_length <= LONGEST_STORED_BLOCK), 3);
        }
        bits.finish();
        if body_length > 0 {
            stored_blocks(body, body_length, true, &mut crc, out);
        }
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&((self.plain.len() + body_length) as u32).to_le_bytes());
    }

    /// One member with the parts unchanged.
    pub fn stored(&self, parts: &[&[u8]], out: &mut Vec<u8>) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let blocks = length.div_ceil(LONGEST_STORED_BLOCK).max(1);
        out.reserve(HEADER.len() + 8 + length + blocks * 5);
        out.extend_from_slice(&HEADER);
        let mut crc = Crc::new();
        if length == 0 {
            out.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
        }
        stored_blocks(parts, length, false, &mut crc, out);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&(length as u32).to_le_bytes());
    }

    /// One member with the parts compressed.
    pub fn deflated(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) {
        self.plain.clear();
        for part in parts {
            self.plain.extend_from_slice(part);
        }
        let start = out.len();
        let bound = self.compressor.gzip_compress_bound(self.plain.len());
        out.resize(start + bound, 0);
        let target = out.get_mut(start..).unwrap_or_default();
        match self.compressor.gzip_compress(&self.plain, target) {
            Ok(length) => out.truncate(start + length),
            // The bound guarantees room. If it were ever wrong, the member is stored instead, which is as valid.
            Err(_) => {
                out.truncate(start);
                self.stored(parts, out);
            }
        }
        if self.plain.capacity() > KEPT_BUFFER_BYTES {
            self.plain = Vec::new();
        }
    }
}

/// The parts, with this total length, in stored blocks; the last one ends the stream. `begun` if the bits before the
/// first block's length are written already.
fn stored_blocks(parts: &[&[u8]], length: usize, mut begun: bool, crc: &mut Crc, out: &mut Vec<u8>) {
    let mut left = length;
    let mut room = 0;
    for part in parts {
        crc.update(part);
        let mut part = *part;
        while !part.is_empty() {
            if room == 0 {
                room = left.min(LONGEST_STORED_BLOCK);
                let length = room as u16;
                if !std::mem::take(&mut begun) {
                    out.push(u8::from(room == left));
                }
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(&(!length).to_le_bytes());
            }
            let (now, later) = part.split_at(room.min(part.len()));
            out.extend_from_slice(now);
            room -= now.len();
            left -= now.len();
            part = later;
        }
    }
}

/// Bits in the order of deflate.
pub(super) struct Bits<'o> {
    out: &'o mut Vec<u8>,
    waiting: u64,
    count: u32,
}

impl Bits<'_> {
    pub(super) fn new(out: &mut Vec<u8>) -> Bits<'_> {
        Bits { out, waiting: 0, count: 0 }
    }

    /// Up to 32 of them.
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.waiting |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.waiting as u32).to_le_bytes());
            self.waiting >>= 32;
            self.count -= 32;
        }
    }

    /// Fills up the last byte.
    pub(super) fn finish(self) {
        let bytes = self.waiting.to_le_bytes();
        self.out.extend_from_slice(bytes.get(..self.count.div_ceil(8) as usize).unwrap_or_default());
    }
}

impl Default for GzipWriter {
    fn default() -> GzipWriter {
        GzipWriter::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn unpacked(member: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(member).read_to_end(&mut plain).unwrap();
        plain
    }

    #[test]
    fn a_stored_member_of_any_length_is_valid_gzip() {
        let data: Vec<u8> = (0..200_000u32).map(|n| ((n * 31) >> 3) as u8).collect();
        let gzip = GzipWriter::new();
        for length in [0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 200_000] {
            let whole = &data[..length];
            let (a, b) = whole.split_at(length / 3);
            let mut out = Vec::new();
            gzip.stored(&[a, &[], b], &mut out);
            assert_eq!(unpacked(&out), whole, "{length}");
        }
    }

    #[test]
    fn a_text_and_what_follows_it_are_one_valid_member() {
        let data: Vec<u8> = (0..200_000u32).map(|n| ((n * 31) >> 3) as u8).collect();
        let mut gzip = GzipWriter::new();
        let text = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2026-11-18T08:06:35.212Z\r\n\r\n";
        for length in [0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 200_000] {
            for more in 0..20 {
                let text = text.repeat(8);
                let (a, b) = text.split_at(text.len() - more);
                let (c, d) = data[..length].split_at(length / 2);
                let mut out = Vec::new();
                gzip.text_and_stored(&[a], &[c, d], &mut out);
                assert_eq!(unpacked(&out), [a, c, d].concat(), "{length}");
                assert!(out.len() < length + a.len());
                let whole = [a, b].concat();
                out.clear();
                gzip.text_and_stored(&[&whole, "ä".as_bytes()], &[], &mut out);
                assert_eq!(unpacked(&out), [&whole, "ä".as_bytes()].concat());
            }
        }
    }

    #[test]
    fn a_deflated_member_is_appended_to_what_is_there() {
        let mut gzip = GzipWriter::new();
        let mut out = b"before".to_vec();
        gzip.deflated(&[&[b'a'; 5000], b"end"], &mut out);
        assert!(out.len() < 100);
        assert!(unpacked(&out[6..]).ends_with(b"aaaend"));
    }
}
