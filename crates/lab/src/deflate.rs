//! Gzip made from parts: blocks compressed ahead of time are copied in as they are, what differs from page to page
//! is coded on the spot with a code made for such text, and the checksum is combined. A page of 30 KB costs a few
//! microseconds instead of half a millisecond.

use crate::huffman::{Code, END_OF_BLOCK};
use flate2::{Compress, Compression, FlushCompress, Status};
use zlib_rs::crc32::{crc32, crc32_combine_gen, crc32_combine_op};

/// A piece of a page, with its compressed form: deflate blocks that begin and end on a byte and refer to nothing
/// before them.
pub(crate) struct Segment {
    pub(crate) raw: Vec<u8>,
    deflated: Vec<u8>,
    crc: u32,
    /// Multiplies the checksum of what comes before by the length of this segment.
    shift: u32,
}

impl Segment {
    pub(crate) fn new(raw: Vec<u8>) -> Segment {
        let deflated = deflate_flushed(&raw);
        Segment { crc: crc32(0, &raw), shift: crc32_combine_gen(raw.len() as u64), deflated, raw }
    }
}

fn deflate_flushed(raw: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(Compression::new(6), false);
    let mut out = Vec::with_capacity(raw.len() / 2 + 64);
    let mut taken = 0;
    loop {
        let rest = raw.get(taken..).unwrap_or(&[]);
        let status = compress.compress_vec(rest, &mut out, FlushCompress::Full);
        taken = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let complete = taken >= raw.len() && out.len() < out.capacity();
        if complete || !matches!(status, Ok(Status::Ok | Status::BufError)) {
            return out;
        }
        out.reserve(raw.len() / 2 + 64);
    }
}

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// A last block with nothing in it.
const LAST_BLOCK: [u8; 2] = [3, 0];
const WINDOW: usize = 32_768;

/// Writes one gzip member.
pub(crate) struct GzipWriter<'a> {
    out: &'a mut Vec<u8>,
    code: &'a Code,
    bits: u64,
    bit_count: u32,
    in_block: bool,
    crc: u32,
    length: usize,
    /// The text of the open block: checksums of many short pieces would cost more than the coding.
    run: Vec<u8>,
}

impl<'a> GzipWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, code: &'a Code) -> GzipWriter<'a> {
        out.extend_from_slice(&HEADER);
        GzipWriter {
            out,
            code,
            bits: 0,
            bit_count: 0,
            in_block: false,
            crc: 0,
            length: 0,
            run: Vec::with_capacity(8192),
        }
    }

    /// Bytes of uncompressed content so far.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn segment(&mut self, segment: &Segment) {
        self.close_block();
        self.out.extend_from_slice(&segment.deflated);
        self.crc = crc32_combine_op(self.crc, segment.crc, segment.shift);
        self.length += segment.raw.len();
    }

    pub(crate) fn literals(&mut self, bytes: &[u8]) {
        self.open_block();
        let code = self.code;
        let mut pairs = bytes.chunks_exact(2);
        for pair in &mut pairs {
            // Two codes of 15 bits at most go into the register at once.
            if let [one, two] = *pair {
                let (first, width) = code.byte(one);
                let (second, second_width) = code.byte(two);
                let both = u64::from(first) | (u64::from(second) << width);
                self.put(both, u32::from(width) + u32::from(second_width));
            }
        }
        for byte in pairs.remainder() {
            let (bits, width) = code.byte(*byte);
            self.put(u64::from(bits), u32::from(width));
        }
        self.run.extend_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Repeats what stands `distance` bytes back; `bytes` is the same text. Falls back to literals where deflate
    /// has no such match.
    pub(crate) fn repeat(&mut self, bytes: &[u8], distance: usize) {
        if !(3..=258).contains(&bytes.len()) || distance == 0 || distance > WINDOW || distance > self.length {
            return self.literals(bytes);
        }
        self.open_block();
        let (symbol, extra, width) = length_symbol(bytes.len());
        let (code, code_width) = self.code.symbol(symbol);
        self.put(u64::from(code), u32::from(code_width));
        self.put(extra, width);
        let (symbol, extra, width) = distance_symbol(distance);
        let (code, code_width) = self.code.distance(symbol);
        self.put(u64::from(code), u32::from(code_width));
        self.put(extra, width);
        self.run.extend_from_slice(bytes);
        self.length += bytes.len();
    }

    pub(crate) fn finish(mut self) {
        self.close_block();
        self.out.extend_from_slice(&LAST_BLOCK);
        self.out.extend_from_slice(&self.crc.to_le_bytes());
        let length = u32::try_from(self.length & 0xffff_ffff).unwrap_or(0);
        self.out.extend_from_slice(&length.to_le_bytes());
    }

    #[inline]
    fn put(&mut self, value: u64, width: u32) {
        self.bits |= value << self.bit_count;
        self.bit_count += width;
        if self.bit_count >= 32 {
            let whole = u32::try_from(self.bits & 0xffff_ffff).unwrap_or(0);
            self.out.extend_from_slice(&whole.to_le_bytes());
            self.bits >>= 32;
            self.bit_count -= 32;
        }
    }

    fn open_block(&mut self) {
        if !self.in_block {
            self.in_block = true;
            let code = self.code;
            for (bits, width) in code.header() {
                self.put(u64::from(*bits), u32::from(*width));
            }
        }
    }

    /// Ends the block and fills up to a whole byte with an empty stored block, as a flush of zlib does.
    fn close_block(&mut self) {
        if !self.in_block {
            return;
        }
        self.in_block = false;
        self.crc = crc32(self.crc, &self.run);
        self.run.clear();
        let (code, width) = self.code.symbol(END_OF_BLOCK);
        self.put(u64::from(code), u32::from(width));
        self.put(0, 3);
        while self.bit_count > 0 {
            self.out.push(u8::try_from(self.bits & 0xff).unwrap_or(0));
            self.bits >>= 8;
            self.bit_count = self.bit_count.saturating_sub(8);
        }
        self.bits = 0;
        self.out.extend_from_slice(&[0, 0, 0xff, 0xff]);
    }
}

/// Symbol, extra bits, number of extra bits (RFC 1951 §3.2.5).
fn length_symbol(length: usize) -> (usize, u64, u32) {
    let rest = u32::try_from(length - 3).unwrap_or(0);
    if length == 258 {
        return (285, 0, 0);
    }
    if rest < 8 {
        return (257 + rest as usize, 0, 0);
    }
    let magnitude = rest.ilog2();
    let width = magnitude - 2;
    let symbol = 257 + 4 * (magnitude - 1) + ((rest >> width) & 3);
    (symbol as usize, u64::from(rest & ((1 << width) - 1)), width)
}

fn distance_symbol(distance: usize) -> (usize, u64, u32) {
    let rest = u32::try_from(distance - 1).unwrap_or(0);
    if rest < 4 {
        return (rest as usize, 0, 0);
    }
    let magnitude = rest.ilog2();
    let width = magnitude - 1;
    let symbol = 2 * magnitude + ((rest >> width) & 1);
    (symbol as usize, u64::from(rest & ((1 << width) - 1)), width)
}

/// The whole of `raw` as gzip, for answers that need no speed.
pub(crate) fn gzip(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = GzipWriter::new(&mut out, Code::fixed());
    writer.segment(&Segment::new(raw.to_vec()));
    writer.finish();
    out
}

/// Gzip of `megabytes` of spaces: about a thousandth of it in size.
pub(crate) fn gzip_of_nothing(megabytes: usize) -> Vec<u8> {
    let segment = Segment::new(vec![b' '; 1 << 20]);
    let mut out = Vec::new();
    let mut writer = GzipWriter::new(&mut out, Code::fixed());
    for _ in 0..megabytes {
        writer.segment(&segment);
    }
    writer.finish();
    out
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
    fn what_is_put_together_comes_apart_with_its_checksum_right() {
        for code in [Code::fixed(), &Code::for_text(b"some sample of text")] {
            put_together(code);
        }
    }

    fn put_together(code: &Code) {
        let one = Segment::new(b"the first segment, the first segment".repeat(30));
        let two = Segment::new((0..=255u8).cycle().take(5000).collect());
        let mut out = Vec::new();
        let mut writer = GzipWriter::new(&mut out, code);
        writer.literals(b"<html>");
        writer.segment(&one);
        writer.literals("é ÿ between".as_bytes());
        writer.repeat(" between".as_bytes(), 8);
        writer.segment(&two);
        writer.segment(&two);
        writer.finish();
        let mut whole = b"<html>".to_vec();
        whole.extend(&one.raw);
        whole.extend("é ÿ between between".as_bytes());
        whole.extend(&two.raw);
        whole.extend(&two.raw);
        assert_eq!(unzip(&out), whole);
    }

    #[test]
    fn every_length_and_distance_of_a_repetition_is_coded_right() {
        for code in [Code::fixed(), &Code::for_text(b"some sample of text")] {
            repetitions(code);
        }
    }

    fn repetitions(code: &Code) {
        let ground: Vec<u8> = (0..40_000u32)
            .map(|n| u8::try_from((n.wrapping_mul(2_654_435_761) >> 13) & 0xff).unwrap())
            .collect();
        let mut out = Vec::new();
        let mut whole = ground.clone();
        let mut writer = GzipWriter::new(&mut out, code);
        writer.literals(&ground);
        for step in 0..600usize {
            let distance = 1 + (step * step * 37) % 33_500;
            let length = (3 + step % 257).min(distance);
            let from = whole.len() - distance;
            let bytes = whole[from..from + length].to_vec();
            writer.repeat(&bytes, distance);
            whole.extend(&bytes);
        }
        writer.finish();
        assert_eq!(unzip(&out), whole);
    }

    #[test]
    fn an_empty_body_is_valid_gzip() {
        assert_eq!(unzip(&gzip(b"")), b"");
        assert_eq!(unzip(&gzip_of_nothing(2)).len(), 2 << 20);
    }
}
