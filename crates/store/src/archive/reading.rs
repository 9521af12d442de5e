//! Reads visits back from their place, wherever their files are: on a disk, or in an object store.

use super::{ArchiveRef, Position, StoredExchange};
use crate::error::{ErrorKind, Result, StoreError};
use crate::warc::{
    Digest, RecordHead, Referred, VisitMetadata, VisitReader, WarcError, WarcFault, WarcReader, field,
    read_referred,
};
use argiope_model::{Millis, Url};
use std::io::Read;

/// More than any fetch limit allows; a record that claims more is damaged.
const LONGEST_BLOCK: usize = 1 << 30;

/// The advice about a damaged file in error messages.
pub const ADVICE: &str =
    "restore the file from a backup, or move it out of the archive to continue without its pages";

/// A file of the archive, from an offset on.
pub type Source = Box<dyn Read>;
/// Opens the file of a place at its offset.
pub type Open<'f> = &'f dyn Fn(&ArchiveRef) -> Result<Source>;

/// Damage where there must be none.
pub fn corrupt(file: &str, error: WarcError) -> StoreError {
    match error.fault {
        WarcFault::Io(error) => StoreError::io(file, error),
        _ => StoreError::new(ErrorKind::Corrupt, file, format!("{error}; {ADVICE}")).with_source(error),
    }
}

fn first_record(open: Open<'_>, at: &ArchiveRef) -> Result<(RecordHead, WarcReader<Source>)> {
    let mut records = WarcReader::new(open(at)?, at.offset);
    let head = records.next_record().map_err(|error| corrupt(&at.file, error))?;
    let head = head.ok_or_else(|| {
        let message = format!("the file ends before this offset; {ADVICE}");
        StoreError::new(ErrorKind::Corrupt, at.to_string(), message)
    })?;
    Ok((head, records))
}

/// The details that a revisit needs of the record at `at`; if that is itself a revisit, of the one it refers to.
pub fn referred(open: Open<'_>, at: &ArchiveRef) -> Result<Referred> {
    let (head, _) = first_record(open, at)?;
    let (head, at) = match place_of(&head)? {
        Some(place) => (first_record(open, &place)?.0, place),
        None => (head, at.clone()),
    };
    read_referred(&head, &at).ok_or_else(|| {
        StoreError::new(ErrorKind::NotFound, at.to_string(), "is not a response that can be referred to")
    })
}

/// The place a revisit record refers to.
fn place_of(head: &RecordHead) -> Result<Option<ArchiveRef>> {
    match (head.kind(), head.get(field::REFERS_TO_PLACE)) {
        ("revisit", Some(place)) => Ok(Some(place.parse()?)),
        _ => Ok(None),
    }
}

/// The exchange whose first record is there; a revisit is followed to the body it refers to.
pub fn exchange(open: Open<'_>, at: &ArchiveRef) -> Result<StoredExchange> {
    let (record, records) = first_record(open, at)?;
    if !matches!(record.kind(), "response" | "revisit") {
        return Err(StoreError::new(ErrorKind::NotFound, at.to_string(), "this visit had no response"));
    }
    let (head, mut body) = block(at, records)?;
    let refers_to = place_of(&record)?;
    if let Some(place) = &refers_to {
        let (referred, records) = first_record(open, place)?;
        if referred.get(field::PAYLOAD_DIGEST) != record.get(field::PAYLOAD_DIGEST) {
            let message = format!("refers to {place}, which holds another payload; {ADVICE}");
            return Err(StoreError::new(ErrorKind::Corrupt, at.to_string(), message));
        }
        body = block(place, records)?.1;
    }
    let unreadable = |name| {
        let message = format!("has no readable {name}; {ADVICE}");
        StoreError::new(ErrorKind::Corrupt, at.to_string(), message)
    };
    Ok(StoredExchange {
        target: record
            .get(field::TARGET_URI)
            .and_then(|text| Url::from_stored(text).ok())
            .ok_or_else(|| unreadable(field::TARGET_URI))?,
        date: record
            .get(field::DATE)
            .and_then(Millis::parse_rfc3339)
            .ok_or_else(|| unreadable(field::DATE))?,
        head,
        body,
        payload_digest: record.get(field::PAYLOAD_DIGEST).and_then(Digest::parse),
        refers_to,
    })
}

/// Head and body of the HTTP message in the current record, checksum verified.
fn block(at: &ArchiveRef, mut records: WarcReader<Source>) -> Result<(Vec<u8>, Vec<u8>)> {
    let failed = |error| corrupt(&at.file, error);
    let mut head = Vec::new();
    if !records.read_block(LONGEST_BLOCK, &mut head).map_err(failed)? {
        let message = format!("claims to be longer than {LONGEST_BLOCK} bytes; {ADVICE}");
        return Err(StoreError::new(ErrorKind::Corrupt, at.to_string(), message));
    }
    records.finish_record().map_err(failed)?;
    let split =
        head.windows(4).position(|window| window == b"\r\n\r\n").map_or(head.len(), |found| found + 4);
    let body = head.split_off(split);
    Ok((head, body))
}

/// What the metadata record of the visit that begins there has.
pub fn metadata(open: Open<'_>, at: &ArchiveRef) -> Result<VisitMetadata> {
    let mut visits = VisitReader::new(open(at)?, at.offset);
    match visits.next_visit().map_err(|error| corrupt(&at.file, error))? {
        Some(visit) if visit.start == at.offset => Ok(visit.metadata),
        _ => Err(StoreError::new(ErrorKind::NotFound, at.to_string(), "no visit begins here")),
    }
}

/// Reads a file from its beginning up to its position and counts the visits; the first damage is the error.
pub fn verify(file: Source, position: &Position) -> Result<u64> {
    let mut visits = VisitReader::new(file.take(position.length), 0);
    let mut count = 0;
    while visits.next_visit().map_err(|error| corrupt(&position.file, error))?.is_some() {
        count += 1;
    }
    if visits.complete() != position.length {
        let message = format!(
            "holds complete visits up to offset {} only, not {}; {ADVICE}",
            visits.complete(),
            position.length
        );
        return Err(StoreError::new(ErrorKind::Corrupt, &*position.file, message));
    }
    Ok(count)
}
