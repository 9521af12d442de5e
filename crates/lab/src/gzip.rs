//! Gzip as servers send it: a body compressed whole, as one stream.

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor, Crc};
use std::cell::RefCell;

thread_local! {
    // Its tables are bigger than a page: made once per thread, not once per page. Level 6 is what servers are set to.
    static COMPRESSOR: RefCell<Compressor> =
        RefCell::new(Compressor::new(CompressionLvl::new(6).unwrap_or_default()));
}

/// The whole of `raw` as one gzip member, or `None` if the compressor refuses.
pub(crate) fn gzip(raw: &[u8]) -> Option<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        let mut out = vec![0; compressor.gzip_compress_bound(raw.len())];
        let length = compressor.gzip_compress(raw, &mut out).ok()?;
        out.truncate(length);
        Some(out)
    })
}

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty last block.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Gzip of `megabytes` of spaces, about a thousandth in size: the blocks of one megabyte repeated, which gives the same
/// stream without the time to compress it.
pub(crate) fn gzip_of_nothing(megabytes: u32) -> Vec<u8> {
    let megabyte = vec![b' '; 1 << 20];
    let blocks = flushed_blocks(&megabyte);
    let mut crc = Crc::new();
    let mut out = HEADER.to_vec();
    for _ in 0..megabytes {
        out.extend_from_slice(&blocks);
        crc.update(&megabyte);
    }
    out.extend_from_slice(&LAST_BLOCK);
    out.extend_from_slice(&crc.sum().to_le_bytes());
    // The length is kept modulo 2^32.
    out.extend_from_slice(&megabytes.wrapping_mul(1 << 20).to_le_bytes());
    out
}

/// Deflate blocks that end on a byte boundary and refer to nothing before them.
fn flushed_blocks(raw: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(Compression::new(6), false);
    let mut out = Vec::with_capacity(raw.len() / 2 + 64);
    loop {
        let taken = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let status = compress.compress_vec(raw.get(taken..).unwrap_or(&[]), &mut out, FlushCompress::Full);
        let whole = compress.total_in() >= raw.len() as u64 && out.len() < out.capacity();
        if whole || !matches!(status, Ok(Status::Ok | Status::BufError)) {
            return out;
        }
        out.reserve(raw.len() / 2 + 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn unzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn what_is_compressed_comes_back_with_its_checksum_right() {
        let bodies = [Vec::new(), b"x".to_vec(), (0..=255u8).cycle().take(100_000).collect()];
        for body in bodies {
            assert_eq!(unzip(&gzip(&body).unwrap()), body);
        }
    }

    #[test]
    fn nothing_is_long_when_it_comes_apart_and_its_checksum_is_right() {
        let zipped = gzip_of_nothing(3);
        assert!(zipped.len() < 5000, "{} bytes", zipped.len());
        assert_eq!(unzip(&zipped), vec![b' '; 3 << 20]);
    }
}
