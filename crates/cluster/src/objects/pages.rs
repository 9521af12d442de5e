//! One object per page: its key, its metadata, and its body as an ordinary gzip file.

use super::reader::{PAGE_ENDING, fact};
use super::{ObjectMetadata, Objects};
use argiope_model::{Millis, RequestKind, Url};
use argiope_store::archive::{Archive, ArchiveRef, StoredExchange};
use argiope_store::error::{Result, StoreError};
use argiope_store::warc::gzip::GzipWriter;
use argiope_store::warc::{StoredVisit, VisitOutcome, VisitReader, http_head};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// Concurrent requests: a store takes tens of milliseconds for each.
const PAGES_AT_ONCE: usize = 8;
/// The largest page that is unpacked; larger ones are stored as received.
const LONGEST_UNPACKED: u64 = 256 << 20;
/// Stores limit metadata to two kilobytes in total.
const LONGEST_URL_FACT: usize = 1700;
const LONGEST_TYPE_FACT: usize = 128;

/// `DOMAIN/YEAR-MONTH/URL_HASH.html.gz`. A later version within the month has its time in the name.
pub fn key_of(url: &Url, scheduled_at: Millis, later_version: Option<Millis>) -> String {
    let month = scheduled_at.rfc3339();
    let month = month.get(..7).unwrap_or(&month);
    let (host, hash) = (url.host(), url.identity().key());
    match later_version {
        None => format!("{host}/{month}/{hash}{PAGE_ENDING}"),
        Some(time) => format!("{host}/{month}/{hash}-{}{PAGE_ENDING}", time.0),
    }
}

/// A page of a file and the key it was stored under.
pub(super) struct StoredPage {
    pub(super) at: ArchiveRef,
    pub(super) key: String,
}

/// Stores every page of a finished file; returns where each is, in the order of the file. Pages that were stored before
/// are found and not stored again.
pub(super) fn store_all(
    objects: &dyn Objects,
    archive: &dyn Archive,
    file: &Arc<str>,
    path: &Path,
    stop: &AtomicBool,
) -> Result<Vec<StoredPage>> {
    let source = File::open(path).map_err(|error| StoreError::io(path.display().to_string(), error))?;
    let mut visits = VisitReader::new(source, 0);
    let stored: Mutex<Vec<StoredPage>> = Mutex::default();
    let failed: Mutex<Option<StoreError>> = Mutex::default();
    let fail = |error| {
        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    };
    let has_failed = || failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    let (give, take) = mpsc::sync_channel::<StoredVisit>(PAGES_AT_ONCE);
    let take = Mutex::new(take);
    std::thread::scope(|scope| {
        for _ in 0..PAGES_AT_ONCE {
            scope.spawn(|| {
                let mut gzip = GzipWriter::new();
                loop {
                    let next = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(visit) = next else { return };
                    if has_failed() {
                        continue;
                    }
                    let at = ArchiveRef { file: file.clone(), offset: visit.start };
                    match store(objects, archive, &at, &visit, &mut gzip) {
                        Ok(key) => {
                            stored
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .push(StoredPage { at, key });
                        }
                        Err(error) => fail(error),
                    }
                }
            });
        }
        loop {
            match visits.next_visit() {
                Ok(Some(visit)) if !has_failed() && !stop.load(Ordering::Acquire) => {
                    if is_page(&visit) && give.send(visit).is_err() {
                        break;
                    }
                }
                Ok(_) => break,
                Err(error) => {
                    fail(argiope_store::archive::reading::corrupt(file, error));
                    break;
                }
            }
        }
        drop(give);
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if stop.load(Ordering::Acquire) {
        let message = "was left for the next start";
        return Err(StoreError::new(argiope_store::error::ErrorKind::Busy, &**file, message));
    }
    let mut stored = stored.into_inner().unwrap_or_else(PoisonError::into_inner);
    stored.sort_by_key(|page| page.at.offset);
    Ok(stored)
}

/// The final result of a URL, with a body.
fn is_page(visit: &StoredVisit) -> bool {
    let metadata = &visit.metadata;
    metadata.visit.kind == RequestKind::Page
        && metadata.outcome == VisitOutcome::Final
        && metadata.status != Some(304)
        && visit.capture.is_some()
}

fn store(
    objects: &dyn Objects,
    archive: &dyn Archive,
    at: &ArchiveRef,
    visit: &StoredVisit,
    gzip: &mut GzipWriter,
) -> Result<String> {
    let exchange = archive.read(at)?;
    let (packed, object_metadata) = packed(visit, &exchange, gzip);
    let scheduled = visit.metadata.visit.scheduled_url();
    let month = visit.metadata.visit.scheduled_at;
    let key = key_of(scheduled, month, None);
    if objects.put_new(&key, &packed, &object_metadata)? {
        return Ok(key);
    }
    // It exists: ours, stored before a crash or an outage, or an earlier version.
    let crawled_at = visit.metadata.timings.started;
    let there = objects.head(&key)?;
    let is_ours =
        there.is_some_and(|head| head.fact(fact::CRAWLED_AT) == Some(crawled_at.rfc3339().as_str()));
    if is_ours {
        return Ok(key);
    }
    let key = key_of(scheduled, month, Some(crawled_at));
    objects.put(&key, &packed, &object_metadata)?;
    Ok(key)
}

fn packed(
    visit: &StoredVisit,
    exchange: &StoredExchange,
    gzip: &mut GzipWriter,
) -> (Vec<u8>, ObjectMetadata) {
    let head = http_head::facts(&exchange.head);
    let encoding = head.content_encoding.unwrap_or_default();
    let unpacked = unpacked(&exchange.body, encoding);
    let body = unpacked.as_deref().unwrap_or(&exchange.body);
    let mut packed = Vec::new();
    gzip.deflated(&[body], &mut packed);
    let mut object_metadata: ObjectMetadata = Vec::new();
    let mut tell = |name: &str, value: &str| object_metadata.push((name.to_owned(), value.to_owned()));
    if exchange.target.as_str().len() <= LONGEST_URL_FACT {
        tell(fact::URL, exchange.target.as_str());
    }
    if let Some(status) = visit.metadata.status {
        tell(fact::STATUS, &status.to_string());
    }
    tell(fact::CRAWLED_AT, &visit.metadata.timings.started.rfc3339());
    let media_type = head.content_type.and_then(|value| std::str::from_utf8(value).ok()).map(str::trim);
    let is_plain = |value: &&str| {
        (1..=LONGEST_TYPE_FACT).contains(&value.len())
            && value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
    };
    if let Some(media_type) = media_type.filter(is_plain) {
        tell(fact::CONTENT_TYPE, media_type);
    }
    (packed, object_metadata)
}

/// The body without its content encoding, as far as it goes: a body that was cut is cut there too. `None` if it has no
/// encoding or cannot be decoded.
fn unpacked(body: &[u8], encoding: &[u8]) -> Option<Vec<u8>> {
    let encoding = encoding.trim_ascii().to_ascii_lowercase();
    let mut decoder: Box<dyn Read + '_> = match encoding.as_slice() {
        b"gzip" | b"x-gzip" => Box::new(MultiGzDecoder::new(body)),
        b"deflate" => Box::new(ZlibDecoder::new(body)),
        b"br" => Box::new(brotli_decompressor::Decompressor::new(body, 4096)),
        b"zstd" => Box::new(zstd::stream::read::Decoder::new(body).ok()?),
        _ => return None,
    };
    let mut out = Vec::new();
    let mut limited = (&mut decoder).take(LONGEST_UNPACKED);
    let whole = limited.read_to_end(&mut out).is_ok();
    let is_longer = whole && out.len() as u64 == LONGEST_UNPACKED;
    (!out.is_empty() && !is_longer).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_key_has_domain_month_and_hash() {
        let url = Url::from_stored("https://example.com/").unwrap();
        let scheduled = Millis::parse_rfc3339("2024-07-31T23:59:59.999Z").unwrap();
        assert_eq!(key_of(&url, scheduled, None), "example.com/2024-07/0f115db062b7c0dd.html.gz");
        let later = key_of(&url, scheduled, Some(Millis(1_722_470_400_000)));
        assert_eq!(later, "example.com/2024-07/0f115db062b7c0dd-1722470400000.html.gz");
        let url = Url::from_stored("http://127.0.0.1:8080/").unwrap();
        assert!(key_of(&url, scheduled, None).starts_with("127.0.0.1:8080/2024-07/"));
    }

    #[test]
    fn content_encodings_are_taken_off_as_far_as_they_go() {
        let text = b"<p>some text</p>".repeat(500);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(unpacked(&gzip, b" GZIP ").unwrap(), text);
        assert_eq!(unpacked(&zstd::bulk::compress(&text, 1).unwrap(), b"zstd").unwrap(), text);
        let cut = unpacked(&gzip[..gzip.len() - 20], b"gzip").unwrap();
        assert!(!cut.is_empty() && text.starts_with(&cut));
        assert_eq!(unpacked(&text, b""), None);
        assert_eq!(unpacked(&text, b"identity"), None);
        assert_eq!(unpacked(b"no gzip at all", b"gzip"), None);
        assert_eq!(unpacked(&text, b"gzip, br"), None, "more than one is kept as it came");
    }
}
