//! Content decoding: gzip, deflate, brotli and zstd, also stacked, never past a limit. Pure. If decoding fails, the part that
//! was decoded is kept, since half a page has links too.

use bytes::{Bytes, BytesMut};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use memchr::memmem;
use std::io::{self, Read};

/// More codings than this are an attack or a mistake.
const MAX_CODINGS: usize = 3;

/// The largest window of zstd that receivers on the web have to support; larger ones cost memory.
const ZSTD_WINDOW_LOG: u32 = 23;

/// No deflate stream expands by more than this.
const MAX_DEFLATE_RATIO: usize = 1032;

const FIRST_BUFFER: usize = 32 * 1024;

/// Memory beyond this is not kept for the next body.
const KEPT_BYTES: usize = 1 << 20;

/// What one thread keeps from one body to the next.
pub struct DecodeScratch {
    deflate: libdeflater::Decompressor,
    /// The memory of an earlier body.
    spare: BytesMut,
}

impl DecodeScratch {
    pub fn new() -> DecodeScratch {
        DecodeScratch { deflate: libdeflater::Decompressor::new(), spare: BytesMut::new() }
    }

    /// Takes a body back to reuse its memory for the next one.
    pub fn recycle(&mut self, body: Decoded) {
        if let Ok(spare) = body.bytes.try_into_mut()
            && spare.capacity() <= KEPT_BYTES
        {
            self.spare = spare;
        }
    }
}

impl Default for DecodeScratch {
    fn default() -> DecodeScratch {
        DecodeScratch::new()
    }
}

/// A decoded body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub bytes: Bytes,
    /// The body was longer than the limit and is cut there.
    pub cut: bool,
    /// Why `bytes` may be incomplete.
    pub error: Option<DecodeError>,
}

impl Decoded {
    /// The `error` of the record, if the body is incomplete or cannot be decoded. The latter begins with another word.
    pub fn problem(&self, limit: usize) -> Option<String> {
        match &self.error {
            Some(error @ (DecodeError::Unknown(_) | DecodeError::TooMany)) => {
                Some(format!("encoding: {error}"))
            }
            _ if self.cut => Some(format!("truncated: more than {limit} bytes after decoding")),
            Some(error @ DecodeError::Broken { .. }) => Some(format!("truncated: {error}")),
            None => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("content encoding '{0}' is not known")]
    Unknown(String),
    #[error("more than {MAX_CODINGS} content encodings")]
    TooMany,
    #[error("{coding} body is broken: {reason}")]
    Broken { coding: &'static str, reason: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Undoes the content encodings that `headers` name. A body that is clearly not encoded that way is used as it is:
/// servers label plain text as gzip, and browsers show it.
pub fn decode(headers: &HeaderMap, body: &Bytes, limit: usize, scratch: &mut DecodeScratch) -> Decoded {
    let mut decoded = Decoded { bytes: body.clone(), cut: false, error: None };
    if body.is_empty() {
        return decoded;
    }
    match codings(headers) {
        Ok(codings) => {
            // The last one named was applied last.
            for coding in codings.into_iter().rev().flatten() {
                let step = undo(coding, &decoded.bytes, limit, scratch);
                decoded = Decoded { cut: decoded.cut | step.cut, ..step };
                if decoded.error.is_some() {
                    break;
                }
            }
        }
        Err(error) => decoded.error = Some(error),
    }
    if decoded.bytes.len() > limit {
        decoded.bytes.truncate(limit);
        decoded.cut = true;
    }
    decoded
}

fn codings(headers: &HeaderMap) -> Result<[Option<Coding>; MAX_CODINGS], DecodeError> {
    let mut found = [None; MAX_CODINGS];
    let mut slots = found.iter_mut();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.as_bytes().split(|byte| *byte == b',') {
            let name = name.trim_ascii();
            let coding = match name {
                b"" => continue,
                _ if name.eq_ignore_ascii_case(b"identity") || name.eq_ignore_ascii_case(b"none") => continue,
                _ if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") => {
                    Coding::Gzip
                }
                _ if name.eq_ignore_ascii_case(b"deflate") => Coding::Deflate,
                _ if name.eq_ignore_ascii_case(b"br") => Coding::Brotli,
                _ if name.eq_ignore_ascii_case(b"zstd") => Coding::Zstd,
                _ => {
                    let shown = name.get(..40).unwrap_or(name);
                    return Err(DecodeError::Unknown(String::from_utf8_lossy(shown).into_owned()));
                }
            };
            *slots.next().ok_or(DecodeError::TooMany)? = Some(coding);
        }
    }
    Ok(found)
}

fn undo(coding: Coding, body: &Bytes, limit: usize, scratch: &mut DecodeScratch) -> Decoded {
    match coding {
        Coding::Gzip if !is_gzip(body) => as_it_is(body),
        Coding::Gzip => match gunzip_at_once(body, limit, scratch) {
            Some(bytes) => Decoded { bytes, cut: false, error: None },
            None => gunzip(body, limit),
        },
        Coding::Deflate if is_zlib(body) => {
            Output::read(ZlibDecoder::new(body.as_ref()), limit).decoded("deflate")
        }
        Coding::Deflate => {
            unless_plain(body, Output::read(DeflateDecoder::new(body.as_ref()), limit), "deflate")
        }
        Coding::Brotli => unless_plain(body, unbrotli(body, limit), "brotli"),
        Coding::Zstd if !body.starts_with(&ZSTD_MAGIC) && !is_skippable_zstd(body) => as_it_is(body),
        Coding::Zstd => unzstd(body, limit),
    }
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&GZIP_MAGIC)
}

fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..]
        if method & 0x0f == 8 && method >> 4 <= 7 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0)
}

fn is_skippable_zstd(body: &[u8]) -> bool {
    matches!(body, [first, 0x2a, 0x4d, 0x18, ..] if first & 0xf0 == 0x50)
}

fn as_it_is(body: &Bytes) -> Decoded {
    Decoded { bytes: body.clone(), cut: false, error: None }
}

/// For codings without a magic number: a body that fails before any output was never encoded.
fn unless_plain(body: &Bytes, output: Output, coding: &'static str) -> Decoded {
    if output.bytes.is_empty() && output.error.is_some() { as_it_is(body) } else { output.decoded(coding) }
}

/// The common case, several times as fast as streaming: one gzip member with its length.
fn gunzip_at_once(body: &Bytes, limit: usize, scratch: &mut DecodeScratch) -> Option<Bytes> {
    let trailer: [u8; 4] = body.last_chunk::<4>().copied()?;
    let announced = usize::try_from(u32::from_le_bytes(trailer)).ok()?;
    if announced > limit || announced > body.len().saturating_mul(MAX_DEFLATE_RATIO) {
        return None;
    }
    // A second member would be ignored silently. Its magic number may also be a coincidence: the streaming decoder
    // decides.
    let rest = body.get(GZIP_MAGIC.len()..)?;
    if memmem::find(rest, &GZIP_MAGIC).is_some() {
        return None;
    }
    let mut bytes = std::mem::take(&mut scratch.spare);
    bytes.resize(announced, 0);
    match scratch.deflate.gzip_decompress(body, &mut bytes) {
        Ok(length) if length == announced => Some(bytes.freeze()),
        Ok(_) | Err(_) => None,
    }
}

/// All gzip members; trailing garbage is ignored, as browsers do.
fn gunzip(body: &[u8], limit: usize) -> Decoded {
    let mut output = Output::default();
    let mut rest = body;
    loop {
        let mut member = GzDecoder::new(rest);
        output.append(&mut member, limit);
        rest = member.into_inner();
        if output.cut || output.error.is_some() || !is_gzip(rest) {
            return output.decoded("gzip");
        }
    }
}

fn unbrotli(body: &[u8], limit: usize) -> Output {
    let mut reader = brotli_decompressor::Decompressor::new(body, 4096);
    // Windows beyond the standard's 16 MB are not part of brotli on the web.
    reader.set_parameter(brotli_decompressor::BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
    Output::read(reader, limit)
}

fn unzstd(body: &[u8], limit: usize) -> Decoded {
    let reader = zstd::stream::read::Decoder::with_buffer(body).and_then(|mut decoder| {
        decoder.window_log_max(ZSTD_WINDOW_LOG)?;
        Ok(decoder)
    });
    match reader {
        Ok(reader) => Output::read(reader, limit).decoded("zstd"),
        Err(error) => Output { error: Some(error), ..Output::default() }.decoded("zstd"),
    }
}

/// The output of a stream, up to the limit.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    cut: bool,
    error: Option<io::Error>,
}

impl Output {
    fn read(mut reader: impl Read, limit: usize) -> Output {
        let mut output = Output::default();
        output.append(&mut reader, limit);
        output
    }

    /// The buffer doubles, never beyond the limit.
    fn append(&mut self, reader: &mut impl Read, limit: usize) {
        let mut filled = self.bytes.len();
        loop {
            if filled == self.bytes.len() {
                if filled >= limit {
                    let mut probe = [0];
                    match reader.read(&mut probe) {
                        Ok(0) => {}
                        Ok(_) => self.cut = true,
                        Err(error) => self.error = Some(error),
                    }
                    return;
                }
                let length = filled.saturating_mul(2).max(FIRST_BUFFER).min(limit);
                self.bytes.reserve_exact(length - filled);
                self.bytes.resize(length, 0);
            }
            let Some(space) = self.bytes.get_mut(filled..) else { return };
            match reader.read(space) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.bytes.truncate(filled);
    }

    fn decoded(self, coding: &'static str) -> Decoded {
        let error = self.error.map(|error| DecodeError::Broken {
            coding,
            reason: match error.kind() {
                io::ErrorKind::UnexpectedEof => String::from("it ends early"),
                _ => error.to_string(),
            },
        });
        Decoded { bytes: Bytes::from(self.bytes), cut: self.cut, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;
    use std::io::Write;

    const LIMIT: usize = 1 << 20;

    fn text() -> Vec<u8> {
        (0..3000).flat_map(|n| format!("<p>paragraph {n}</p>\n").into_bytes()).collect()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        brotli::BrotliCompress(&mut &bytes[..], &mut out, &brotli::enc::BrotliEncoderParams::default())
            .unwrap();
        out
    }

    fn decoded(encodings: &[&'static str], body: Vec<u8>, limit: usize) -> Decoded {
        let mut headers = HeaderMap::new();
        for encoding in encodings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        decode(&headers, &Bytes::from(body), limit, &mut DecodeScratch::new())
    }

    fn whole(bytes: Vec<u8>) -> Decoded {
        Decoded { bytes: Bytes::from(bytes), cut: false, error: None }
    }

    #[test]
    fn every_coding_is_undone() {
        let text = text();
        let zstd = zstd::encode_all(text.as_slice(), 3).unwrap();
        for (encoding, body) in [
            ("gzip", gzip(&text)),
            ("X-GZip", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", raw_deflate(&text)),
            ("br", brotli(&text)),
            ("zstd", zstd),
            ("identity", text.clone()),
            ("", text.clone()),
        ] {
            assert_eq!(decoded(&[encoding], body, LIMIT), whole(text.clone()), "{encoding}");
        }
        assert_eq!(decoded(&[], text.clone(), LIMIT), whole(text));
    }

    #[test]
    fn stacked_codings_are_undone_from_the_last_and_bounded() {
        let text = text();
        let twice = gzip(&brotli(&text));
        assert_eq!(decoded(&["br, gzip"], twice.clone(), LIMIT), whole(text.clone()));
        assert_eq!(decoded(&["br", "gzip"], twice, LIMIT), whole(text.clone()));
        let four = decoded(&["gzip, gzip, gzip, gzip"], text.clone(), LIMIT);
        assert_eq!((four.error, four.bytes), (Some(DecodeError::TooMany), Bytes::from(text)));
    }

    #[test]
    fn the_usual_gzip_body_is_undone_at_once() {
        let body = Bytes::from(gzip(&text()));
        assert_eq!(gunzip_at_once(&body, LIMIT, &mut DecodeScratch::new()), Some(Bytes::from(text())));
    }

    #[test]
    fn a_body_that_is_taken_back_lends_its_memory_to_the_next() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let mut scratch = DecodeScratch::new();
        let mut decoded = |text: &[u8]| {
            let decoded = decode(&headers, &Bytes::from(gzip(text)), LIMIT, &mut scratch);
            assert_eq!(decoded.bytes, text);
            let place = decoded.bytes.as_ptr();
            scratch.recycle(decoded);
            place
        };
        let first = decoded(&text());
        assert_eq!(decoded(b"a short one"), first);
        assert_eq!(decoded(&text()), first);
    }

    #[test]
    fn members_of_gzip_are_joined_even_if_they_are_alike() {
        let member = gzip(b"half a page, ");
        let body = [member.clone(), member].concat();
        assert_eq!(decoded(&["gzip"], body, LIMIT).bytes, "half a page, half a page, ");
        let unlike = [gzip(&text()), gzip(b"end")].concat();
        assert_eq!(decoded(&["gzip"], unlike, LIMIT).bytes, [text(), b"end".to_vec()].concat());
    }

    #[test]
    fn what_follows_the_last_member_is_ignored() {
        let body = [gzip(&text()), vec![0; 20]].concat();
        assert_eq!(decoded(&["gzip"], body, LIMIT), whole(text()));
    }

    #[test]
    fn a_bomb_is_cut_at_the_limit_in_every_coding() {
        let zeros = vec![0; 8 << 20];
        let zstd = zstd::encode_all(zeros.as_slice(), 3).unwrap();
        for (encoding, body) in [
            ("gzip", gzip(&zeros)),
            ("deflate", zlib(&zeros)),
            ("deflate", raw_deflate(&zeros)),
            ("br", brotli(&zeros)),
            ("zstd", zstd),
            ("gzip, gzip", gzip(&gzip(&zeros))),
        ] {
            let decoded = decoded(&[encoding], body, 100_000);
            assert_eq!(
                (decoded.bytes.len(), decoded.cut, decoded.error),
                (100_000, true, None),
                "{encoding}"
            );
            assert!(decoded.bytes.iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn a_body_of_exactly_the_limit_is_whole() {
        let text = text();
        for (encoding, body) in [("gzip", gzip(&text)), ("br", brotli(&text)), ("", text.clone())] {
            assert_eq!(decoded(&[encoding], body, text.len()), whole(text.clone()), "{encoding}");
        }
        let cut = decoded(&["gzip"], gzip(&text), text.len() - 1);
        assert_eq!((cut.bytes.len(), cut.cut), (text.len() - 1, true));
    }

    #[test]
    fn a_lying_length_in_the_trailer_costs_nothing_and_hides_nothing() {
        let text = text();
        for lie in [0_u32, 1, 900_000, u32::MAX] {
            let mut body = gzip(&text);
            let length = body.len();
            body[length - 4..].copy_from_slice(&lie.to_le_bytes());
            let decoded = decoded(&["gzip"], body, LIMIT);
            assert_eq!(decoded.bytes, text, "{lie}");
            assert!(decoded.error.is_some(), "{lie}");
        }
    }

    #[test]
    fn a_plain_body_with_a_wrong_label_is_taken_as_it_is() {
        for encoding in ["gzip", "deflate", "br", "zstd"] {
            let plain = b"<html><body>just text, no compression at all</body></html>".to_vec();
            assert_eq!(decoded(&[encoding], plain.clone(), LIMIT), whole(plain), "{encoding}");
        }
    }

    #[test]
    fn a_truncated_body_is_decoded_as_far_as_possible_and_reported() {
        let text = text();
        let zstd = zstd::encode_all(text.as_slice(), 3).unwrap();
        for (encoding, body) in
            [("gzip", gzip(&text)), ("deflate", zlib(&text)), ("br", brotli(&text)), ("zstd", zstd)]
        {
            let half = body[..body.len() * 2 / 3].to_vec();
            let decoded = decoded(&[encoding], half, LIMIT);
            assert!(text.starts_with(&decoded.bytes), "{encoding}");
            assert!(decoded.error.is_some(), "{encoding}");
            assert!(decoded.problem(LIMIT).unwrap().starts_with("truncated: "), "{encoding}");
            if encoding == "gzip" || encoding == "deflate" {
                assert!(decoded.bytes.len() > 1000, "{encoding}");
            }
        }
    }

    #[test]
    fn an_unknown_coding_is_named() {
        let decoded = decoded(&["compress"], b"x".to_vec(), LIMIT);
        assert_eq!(decoded.error, Some(DecodeError::Unknown("compress".into())));
        assert_eq!(decoded.bytes, "x");
        assert_eq!(decoded.problem(LIMIT).unwrap(), "encoding: content encoding 'compress' is not known");
    }

    #[test]
    fn noise_never_panics() {
        let mut state = 1_u64;
        for round in 0..2000 {
            let mut body = match round % 4 {
                0 => gzip(b"some text that is long enough to be broken"),
                1 => brotli(b"some text that is long enough to be broken"),
                2 => zstd::encode_all(&b"some text that is long enough to be broken"[..], 1).unwrap(),
                _ => zlib(b"some text that is long enough to be broken"),
            };
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(state >> 33).unwrap() % body.len();
                body[at] = u8::try_from(state & 0xff).unwrap();
            }
            for encoding in ["gzip", "deflate", "br", "zstd", "br, gzip"] {
                assert!(decoded(&[encoding], body.clone(), 10_000).bytes.len() <= 10_000);
            }
        }
    }
}
