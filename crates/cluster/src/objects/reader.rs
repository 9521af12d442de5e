//! Reads from the store: a record of a WARC file by byte ranges, or a page by its key.

use super::{ObjectHead, Objects, not_found};
use argiope_model::{Millis, Url};
use argiope_store::archive::reading::{self, Source};
use argiope_store::archive::{ArchiveRef, Position, StoredExchange};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::{Digest, VisitMetadata};
use flate2::read::GzDecoder;
use std::io::{self, Read};
use std::sync::Arc;

/// The first range: most visits are shorter. Each next one is twice as long.
const FIRST_RANGE: u64 = 128 * 1024;
const LONGEST_RANGE: u64 = 4 << 20;
/// More than any fetch limit allows.
const LONGEST_PAGE: u64 = 1 << 30;
pub(super) const PAGE_ENDING: &str = ".html.gz";

/// Metadata of a page's object.
pub(super) mod fact {
    pub(crate) const URL: &str = "url";
    pub(crate) const STATUS: &str = "status";
    pub(crate) const CONTENT_TYPE: &str = "content-type";
    pub(crate) const CRAWLED_AT: &str = "crawled-at";
}

/// The key of a WARC file, or of what is beside it.
pub(super) fn file_key(file: &str) -> String {
    format!("warc/{file}")
}

/// The archive for read-only users.
#[derive(Clone)]
pub struct ObjectReader {
    objects: Arc<dyn Objects>,
}

impl ObjectReader {
    pub fn new(objects: Arc<dyn Objects>) -> ObjectReader {
        ObjectReader { objects }
    }

    /// As [`argiope_store::archive::Archive::read`].
    pub fn read(&self, at: &ArchiveRef) -> Result<StoredExchange> {
        if at.file.ends_with(PAGE_ENDING) {
            return self.page(&at.file);
        }
        reading::exchange(&|at| Ok(self.source(at)), at)
    }

    /// As [`argiope_store::archive::Archive::read_metadata`]. An object that holds a page only has none.
    pub fn read_metadata(&self, at: &ArchiveRef) -> Result<VisitMetadata> {
        reading::metadata(&|at| Ok(self.source(at)), at)
    }

    pub fn verify(&self, position: &Position) -> Result<u64> {
        let beginning = ArchiveRef { file: position.file.clone(), offset: 0 };
        reading::verify(self.source(&beginning), position)
    }

    /// The key of a WARC file, if it is in the store.
    pub fn stored_file(&self, file: &str) -> Result<Option<String>> {
        let key = file_key(file);
        Ok(self.objects.head(&key)?.map(|_| key))
    }

    pub(super) fn source(&self, at: &ArchiveRef) -> Source {
        stream(self.objects.clone(), file_key(&at.file), at.offset)
    }

    fn page(&self, key: &str) -> Result<StoredExchange> {
        let head = self.objects.head(key)?.ok_or_else(|| not_found(key, self.objects.place()))?;
        let packed = self.objects.get(key, 0, head.length)?;
        let mut body = Vec::new();
        let unpacked = GzDecoder::new(packed.as_slice()).take(LONGEST_PAGE).read_to_end(&mut body);
        unpacked.map_err(|error| corrupt(key, &format!("is no gzip file ({error})")))?;
        exchange(key, &head, body)
    }
}

fn exchange(key: &str, head: &ObjectHead, body: Vec<u8>) -> Result<StoredExchange> {
    let told = |name: &str| head.fact(name).ok_or_else(|| corrupt(key, &format!("has no {name}")));
    let target = Url::from_stored(told(fact::URL)?).map_err(|error| corrupt(key, &error.to_string()))?;
    let date = Millis::parse_rfc3339(told(fact::CRAWLED_AT)?);
    let content_type = head.fact(fact::CONTENT_TYPE);
    let content_type = content_type.map(|value| format!("Content-Type: {value}\r\n")).unwrap_or_default();
    let status = head.fact(fact::STATUS).unwrap_or("200");
    Ok(StoredExchange {
        target,
        date: date.ok_or_else(|| corrupt(key, "has no crawl time"))?,
        head: format!("HTTP/1.1 {status} \r\n{content_type}Content-Length: {}\r\n\r\n", body.len())
            .into_bytes(),
        payload_digest: Some(Digest::of(&[&body])),
        body,
        refers_to: None,
    })
}

fn corrupt(key: &str, message: &str) -> StoreError {
    StoreError::new(ErrorKind::Corrupt, key, message)
}

/// An object from an offset on, however long it is. A missing object is reported with the first byte.
pub fn stream(objects: Arc<dyn Objects>, key: String, offset: u64) -> Source {
    Box::new(Ranged {
        objects,
        key,
        offset,
        length: FIRST_RANGE,
        piece: io::Cursor::default(),
        is_at_end: false,
    })
}

/// An object as a stream of ranges.
struct Ranged {
    objects: Arc<dyn Objects>,
    key: String,
    offset: u64,
    /// Of the next range.
    length: u64,
    piece: io::Cursor<Vec<u8>>,
    is_at_end: bool,
}

impl Read for Ranged {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(into)?;
            if read > 0 || into.is_empty() || self.is_at_end {
                return Ok(read);
            }
            let piece = self.objects.get(&self.key, self.offset, self.length).map_err(|error| {
                let kind = match error.kind {
                    ErrorKind::NotFound => io::ErrorKind::NotFound,
                    ErrorKind::Unreachable => io::ErrorKind::HostUnreachable,
                    _ => io::ErrorKind::Other,
                };
                io::Error::new(kind, error)
            })?;
            let length = piece.len() as u64;
            self.is_at_end = length < self.length;
            self.offset += length;
            self.length = (self.length * 2).min(LONGEST_RANGE);
            self.piece = io::Cursor::new(piece);
        }
    }
}
