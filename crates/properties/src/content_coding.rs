//! Content encodings: never past the limit, and everything that was encoded comes out again.

use crate::choice;
use argiope_fetch::{DecodeScratch, Decoded, decode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, HeaderValue};
use std::io::Write;

const CODINGS: [&str; 8] =
    ["gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip", "deflate, zstd", "identity"];
const SINGLE: usize = 4;
const LIMITS: [usize; 4] = [1, 100, 5000, 1 << 20];

/// The first byte chooses encoding and limit, the rest is the body as received; and once more as it was sent.
pub(crate) fn is_undone_within_limits(bytes: &[u8]) {
    let (chosen, body) = choice(bytes);
    let coding = usize::from(chosen & 7);
    let limit = LIMITS[usize::from(chosen >> 3 & 3)];
    let decoded = undo(CODINGS[coding], body, limit);
    assert!(decoded.bytes.len() <= limit);
    assert!(!decoded.cut || decoded.bytes.len() == limit || coding >= SINGLE, "cut before the limit");
    if coding < SINGLE && decoded.error.is_none() {
        let more = undo(CODINGS[coding], body, 2 * limit);
        assert!(more.bytes.starts_with(&decoded.bytes), "a higher limit gives other bytes");
        assert!(!decoded.cut || more.bytes.len() > limit || more.error.is_some());
    }
    for (name, encoded) in encodings(body) {
        let whole = undo(name, &encoded, body.len());
        assert_eq!(whole, Decoded { bytes: Bytes::copy_from_slice(body), cut: false, error: None }, "{name}");
        if let Some((_, less)) = body.split_last() {
            let cut = undo(name, &encoded, less.len());
            assert_eq!((&cut.bytes[..], cut.cut), (less, true), "{name}");
        }
    }
}

fn undo(coding: &'static str, body: &[u8], limit: usize) -> Decoded {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    decode(&headers, &Bytes::copy_from_slice(body), limit, &mut DecodeScratch::new())
}

fn encodings(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let fast = Compression::fast();
    let mut gzip = GzEncoder::new(Vec::new(), fast);
    let mut zlib = ZlibEncoder::new(Vec::new(), fast);
    let mut raw = DeflateEncoder::new(Vec::new(), fast);
    for encoder in [&mut gzip as &mut dyn Write, &mut zlib, &mut raw] {
        encoder.write_all(body).expect("memory takes everything");
    }
    let mut brotli = Vec::new();
    let quick = brotli::enc::BrotliEncoderParams { quality: 1, lgwin: 16, ..Default::default() };
    brotli::BrotliCompress(&mut &body[..], &mut brotli, &quick).expect("memory takes everything");
    vec![
        ("gzip", gzip.finish().expect("gzip")),
        ("deflate", zlib.finish().expect("zlib")),
        ("deflate", raw.finish().expect("deflate")),
        ("br", brotli),
        ("zstd", zstd::encode_all(body, 1).expect("zstd")),
    ]
}
