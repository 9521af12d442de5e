//! Everything else: type by its first bytes, size, hash, and the size of pictures.

use super::image_size::image_size;
use super::{Input, ProcessError, Processed, Processor};
use argiope_extract::content_hash;
use serde_json::Value;

#[derive(Clone, Copy, Debug)]
pub struct Binary;

impl Processor for Binary {
    fn name(&self) -> &'static str {
        "binary"
    }

    fn takes(&self, _media_type: &str) -> bool {
        true
    }

    /// The hash is that of all bytes, whatever the budget: the crawl has them all.
    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        let mut processed = Processed::of(self.name());
        let properties = &mut processed.properties;
        properties.insert("type".to_owned(), Value::from(media_type_of(input.bytes)));
        properties.insert("bytes".to_owned(), Value::from(input.bytes.len()));
        properties.insert("sha256".to_owned(), Value::from(content_hash(input.bytes).to_string()));
        if let Some((width, height)) = image_size(input.within_budget().0) {
            properties.insert("width".to_owned(), Value::from(width));
            properties.insert("height".to_owned(), Value::from(height));
        }
        Ok(processed)
    }
}

/// Where in a body a type has which bytes.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"%!PS", "application/postscript"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO", "font/otf"),
    (0, b"\0\x01\0\0", "font/ttf"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"MZ", "application/vnd.microsoft.portable-executable"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
];

/// Files of office programs are archives whose first entries have these names.
const IN_ARCHIVES: &[(&[u8], &str)] = &[
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
];

const LOOKED_AT: usize = 4096;

/// The type of a body by its first bytes.
pub(super) fn media_type_of(bytes: &[u8]) -> &'static str {
    let head = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let found =
        MAGIC.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    match found {
        Some((_, _, "application/zip")) => {
            let holds = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
            IN_ARCHIVES.iter().find(|(name, _)| holds(name)).map_or("application/zip", |(_, kind)| kind)
        }
        Some((_, _, kind)) => kind,
        None => media_type_of_text(head),
    }
}

fn media_type_of_text(head: &[u8]) -> &'static str {
    let is_binary =
        head.iter().any(|byte| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b));
    if is_binary || head.is_empty() {
        return "application/octet-stream";
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let begins = |start: &[u8]| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    let is_html = || {
        [b"<html".as_slice(), b"<head", b"<body", b"<div", b"<title"]
            .iter()
            .any(|tag| text.windows(tag.len()).any(|window| window.eq_ignore_ascii_case(tag)))
    };
    if begins(b"<!doctype html") || begins(b"<html") {
        "text/html"
    } else if begins(b"<svg") {
        "image/svg+xml"
    } else if begins(b"<?xml") || begins(b"<rss") || begins(b"<feed") {
        if is_html() && !begins(b"<rss") && !begins(b"<feed") {
            "application/xhtml+xml"
        } else {
            "application/xml"
        }
    } else if matches!(text.first(), Some(b'{' | b'[')) {
        "application/json"
    } else if text.first() == Some(&b'<') && is_html() {
        "text/html"
    } else {
        "text/plain"
    }
}
