//! Gzip members: each record is one, so that a reader can begin at any record.
//!
//! A payload that came compressed is framed in stored blocks: deflate would spend its time to find nothing. So are the
//! small records of a visit, where setting up the match finder costs more than all the rest of the append. Measured by
//! the example `archive_costs` of the embedded adapters, microseconds on one core (bytes written):
//!
//! | | stored | deflate level 1 |
//! |---|---|---|
//! | 10 KB gzip body | 0.2 (10,109) | 47-60 (10,109) |
//! | 30 KB page | 0.8 (30,086) | 200 (10,278) |
//! | request or metadata, 700 bytes | 0.04 (723) | 7.3 (304) |
//!
//! A visit's two small records would take 15 us to save some 900 bytes of its 12 KB.

use libdeflater::{CompressionLvl, Compressor, Crc};

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
const LONGEST_STORED_BLOCK: usize = 0xffff;
/// Buffers that grew beyond this for one great page are given back.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// Writes members; holds the compressor and its buffer for the life of an appender.
pub struct GzipWriter {
    compressor: Compressor,
    plain: Vec<u8>,
}

impl GzipWriter {
    pub fn new() -> GzipWriter {
        GzipWriter {
            compressor: Compressor::new(CompressionLvl::new(1).unwrap_or_default()),
            plain: Vec::new(),
        }
    }

    /// One member with the parts as they are.
    pub fn stored(&self, parts: &[&[u8]], out: &mut Vec<u8>) {
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        let blocks = left.div_ceil(LONGEST_STORED_BLOCK).max(1);
        out.reserve(HEADER.len() + 8 + left + blocks * 5);
        out.extend_from_slice(&HEADER);
        let size = left as u32;
        let mut crc = Crc::new();
        let mut room = 0;
        if left == 0 {
            out.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
        }
        for part in parts {
            crc.update(part);
            let mut part = *part;
            while !part.is_empty() {
                if room == 0 {
                    room = left.min(LONGEST_STORED_BLOCK);
                    let length = room as u16;
                    out.push(u8::from(room == left));
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
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&size.to_le_bytes());
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
            // The bound promises room; were it ever broken, the member is no smaller for being stored but as valid.
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
    fn a_deflated_member_is_appended_to_what_is_there() {
        let mut gzip = GzipWriter::new();
        let mut out = b"before".to_vec();
        gzip.deflated(&[&[b'a'; 5000], b"end"], &mut out);
        assert!(out.len() < 100);
        assert!(unpacked(&out[6..]).ends_with(b"aaaend"));
    }
}
