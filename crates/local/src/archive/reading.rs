//! Reads visits back from their place.

use argiope_model::{Millis, Url};
use argiope_store::archive::{ArchiveRef, StoredExchange};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::{
    Digest, RecordHead, Referred, VisitMetadata, VisitReader, WarcError, WarcFault, WarcReader, field,
    read_referred,
};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// More than any fetch limit lets through; a record that claims more is damaged.
const LONGEST_BLOCK: usize = 1 << 30;

/// What to do about a damaged file, as errors say it.
pub(super) const ADVICE: &str =
    "restore the file from a backup, or move it out of the archive to go on without the pages in it";

pub(super) fn open(root: &Path, at: &ArchiveRef) -> Result<File> {
    let mut file = File::open(root.join(&*at.file)).map_err(|error| StoreError::io(&*at.file, error))?;
    file.seek(SeekFrom::Start(at.offset)).map_err(|error| StoreError::io(&*at.file, error))?;
    Ok(file)
}

/// Damage where there must be none.
pub(super) fn corrupt(file: &str, error: WarcError) -> StoreError {
    match error.fault {
        WarcFault::Io(error) => StoreError::io(file, error),
        _ => StoreError::new(ErrorKind::Corrupt, file, format!("{error}; {ADVICE}")).with_source(error),
    }
}

fn first_record(root: &Path, at: &ArchiveRef) -> Result<(RecordHead, WarcReader<File>)> {
    let mut records = WarcReader::new(open(root, at)?, at.offset);
    let head = records.next_record().map_err(|error| corrupt(&at.file, error))?;
    let head = head.ok_or_else(|| {
        StoreError::new(ErrorKind::NotFound, at.to_string(), "the file ends before this offset")
    })?;
    Ok((head, records))
}

/// What a revisit needs to know of the record at `at`; if that is itself a revisit, of the one it refers to.
pub(super) fn referred(root: &Path, at: &ArchiveRef) -> Result<Referred> {
    let (head, _) = first_record(root, at)?;
    let (head, at) = match place_of(&head)? {
        Some(place) => (first_record(root, &place)?.0, place),
        None => (head, at.clone()),
    };
    read_referred(&head, &at).ok_or_else(|| {
        StoreError::new(ErrorKind::NotFound, at.to_string(), "is no response that can be referred to")
    })
}

/// The place a revisit record refers to.
fn place_of(head: &RecordHead) -> Result<Option<ArchiveRef>> {
    match (head.kind(), head.get(field::REFERS_TO_PLACE)) {
        ("revisit", Some(place)) => place.parse().map(Some),
        _ => Ok(None),
    }
}

pub(super) fn exchange(root: &Path, at: &ArchiveRef) -> Result<StoredExchange> {
    let (record, records) = first_record(root, at)?;
    if !matches!(record.kind(), "response" | "revisit") {
        return Err(StoreError::new(ErrorKind::NotFound, at.to_string(), "this visit had no response"));
    }
    let (head, mut body) = block(at, records)?;
    let refers_to = place_of(&record)?;
    if let Some(place) = &refers_to {
        let (referred, records) = first_record(root, place)?;
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
fn block(at: &ArchiveRef, mut records: WarcReader<File>) -> Result<(Vec<u8>, Vec<u8>)> {
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

pub(super) fn metadata(root: &Path, at: &ArchiveRef) -> Result<VisitMetadata> {
    let mut visits = VisitReader::new(open(root, at)?, at.offset);
    match visits.next_visit().map_err(|error| corrupt(&at.file, error))? {
        Some(visit) if visit.start == at.offset => Ok(visit.metadata),
        _ => Err(StoreError::new(ErrorKind::NotFound, at.to_string(), "no visit begins here")),
    }
}
