//! One worker's way into the archive: a file of its own, a visit at a time, each in one write.

use super::index::IndexBuilder;
use super::{Shared, reading};
use crate::disk::{DiskFile, sync_directory, write_whole};
use argiope_model::Url;
use argiope_store::archive::payload::{PayloadIndex, SMALLEST_PAYLOAD};
use argiope_store::archive::{Appended, Appender, ArchiveRef, Exchange, Position};
use argiope_store::error::{Result, StoreError};
use argiope_store::warc::{Capture, Digest, EncodedVisit, Referred, VisitEncoder, cdxj};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Payloads that wait for their visits to be catalogued; beyond this the oldest are forgotten.
const MOST_WAITING: usize = 100_000;
/// A buffer that grew beyond this for one great page is given back.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// A file as its appender and the committer share it.
pub(super) struct ActiveFile {
    pub(super) name: Arc<str>,
    file: Box<dyn DiskFile>,
    /// A sync failed: the kernel may have dropped what it could not write, and a second sync would not tell.
    failed: AtomicBool,
    /// How far the file holds complete visits.
    pub(super) length: AtomicU64,
    pub(super) synced: AtomicU64,
    /// Its appender is done with it.
    pub(super) ended: AtomicBool,
    waiting: Mutex<VecDeque<WaitingPayload>>,
}

/// A payload that may be referred to once the catalogue holds its visit.
struct WaitingPayload {
    visit_end: u64,
    offset: u64,
    digest: Digest,
}

impl ActiveFile {
    pub(super) fn new(name: Arc<str>, file: Box<dyn DiskFile>) -> ActiveFile {
        ActiveFile {
            name,
            file,
            length: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            waiting: Mutex::new(VecDeque::new()),
        }
    }

    pub(super) fn sync_data(&self) -> Result<()> {
        let synced = match self.failed.load(Ordering::Acquire) {
            true => Err(io::Error::other("an earlier sync of this file failed")),
            false => self.file.sync_data(),
        };
        synced.map_err(|error| {
            self.failed.store(true, Ordering::Release);
            StoreError::io(&*self.name, error)
        })
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<WaitingPayload>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All visits up to `length` are catalogued: their payloads may be referred to.
    pub(super) fn committed(&self, length: u64, payloads: &PayloadIndex) {
        let mut waiting = self.waiting();
        while waiting.front().is_some_and(|first| first.visit_end <= length) {
            if let Some(payload) = waiting.pop_front() {
                let at = ArchiveRef { file: self.name.clone(), offset: payload.offset };
                payloads.insert(&payload.digest, &at);
            }
        }
    }

    /// Neither sync nor commit has anything left to do with it.
    pub(super) fn is_done(&self) -> bool {
        self.ended.load(Ordering::Acquire)
            && self.synced.load(Ordering::Acquire) == self.length.load(Ordering::Acquire)
            && self.waiting().is_empty()
    }
}

pub(super) struct FileAppender {
    shared: Arc<Shared>,
    worker: u32,
    encoder: VisitEncoder,
    current: Option<(Arc<ActiveFile>, IndexBuilder)>,
    buffer: Vec<u8>,
}

impl FileAppender {
    pub(super) fn new(shared: Arc<Shared>, worker: u32, random: [u8; 16]) -> FileAppender {
        let encoder = VisitEncoder::new(random).with_block_digests(shared.options.block_digests);
        FileAppender { shared, worker, encoder, current: None, buffer: Vec::new() }
    }

    /// The record this payload would repeat, if it is durable.
    fn referred(&self, exchange: &Exchange<'_>, digest: &Digest, payload_length: usize) -> Option<Referred> {
        if payload_length >= SMALLEST_PAYLOAD
            && let Some(at) = self.shared.payloads.get(digest)
        {
            match reading::referred(&self.shared.root, &at) {
                Ok(referred) if referred.digest == *digest => return Some(referred),
                // The file is gone or another payload shares half the digest: the payload is stored again.
                Ok(_) | Err(_) => self.shared.payloads.remove(digest),
            }
        }
        let previous = reading::referred(&self.shared.root, exchange.previous?).ok()?;
        let not_modified = exchange.metadata.status == Some(304);
        (not_modified || (payload_length >= SMALLEST_PAYLOAD && previous.digest == *digest))
            .then_some(previous)
    }

    /// The current file; a new one if there is none or it is long enough.
    fn file_to_append_to(&mut self) -> Result<Arc<ActiveFile>> {
        let rotate_at = self.shared.options.rotate_bytes;
        if self.current.as_ref().is_some_and(|(file, _)| file.length.load(Ordering::Acquire) >= rotate_at) {
            self.end_file()?;
        }
        if let Some((file, _)) = &self.current {
            return Ok(file.clone());
        }
        let (file, path) = self.shared.create_file(self.worker)?;
        self.current = Some((file.clone(), IndexBuilder::new(&path)));
        Ok(file)
    }

    /// Ends the current file: durable, with its index, never written again.
    fn end_file(&mut self) -> Result<Option<Position>> {
        let Some((file, index)) = self.current.take() else {
            return Ok(None);
        };
        let length = file.length.load(Ordering::Acquire);
        let synced = file.sync_data();
        file.ended.store(true, Ordering::Release);
        synced?;
        sync_directory(&self.shared.root)
            .map_err(|error| StoreError::io(self.shared.root.display().to_string(), error))?;
        // The crawl can do without an index; the next recovery makes it.
        if let Err(error) = index.finish() {
            tracing::warn!(file = &*file.name, %error, "index not written");
        }
        Ok(Some(Position { file: file.name.clone(), length }))
    }

    fn write_index_line(
        &mut self,
        at: &ArchiveRef,
        exchange: &Exchange<'_>,
        digest: Option<Digest>,
        is_revisit: bool,
        encoded: EncodedVisit,
    ) {
        if encoded.capture_length == 0 {
            return;
        }
        let capture = Capture {
            offset: at.offset,
            length: encoded.capture_length,
            target: exchange.metadata.visit.url.as_str().to_owned(),
            date: exchange.metadata.timings.started,
            digest,
            status: encoded.status,
            media_type: encoded.media_type,
            is_revisit,
            same_as: None,
        };
        let Some((_, index)) = &mut self.current else {
            return;
        };
        if let Err(error) = index.push(cdxj::line(&capture, &at.file)) {
            tracing::warn!(file = &*at.file, %error, "index line not written");
        }
    }
}

impl Appender for FileAppender {
    fn append(&mut self, exchange: &Exchange<'_>) -> Result<Appended> {
        let body = exchange.response.map(|response| response.body);
        let digest = exchange.response.map(|response| match response.body_sha256 {
            Some(known) => Digest(known),
            None => Digest::of(&[response.body]),
        });
        let referred = match (&digest, body) {
            (Some(digest), Some(body)) => self.referred(exchange, digest, body.len()),
            _ => None,
        };
        let file = self.file_to_append_to()?;
        let start = file.length.load(Ordering::Acquire);
        self.buffer.clear();
        if start == 0 {
            self.encoder.warcinfo(&self.shared.options.info, &file.name, super::now(), &mut self.buffer);
        }
        let offset = start + self.buffer.len() as u64;
        let encoded = self.encoder.visit(exchange, digest, referred.as_ref(), &mut self.buffer)?;
        if let Err(unwritten) = write_whole(&*file.file, &self.buffer, start) {
            if !unwritten.cut_back {
                // What lies beyond the good length is cut by the next recovery.
                file.ended.store(true, Ordering::Release);
                self.current = None;
            }
            return Err(StoreError::io(&*file.name, unwritten.error));
        }
        let bytes_written = self.buffer.len() as u64;
        let end = start + bytes_written;
        if let (Some(digest), None, Some(body)) = (digest, &referred, body)
            && body.len() >= SMALLEST_PAYLOAD
            && exchange.metadata.truncated.is_none()
        {
            let mut waiting = file.waiting();
            if waiting.len() >= MOST_WAITING {
                waiting.pop_front();
            }
            waiting.push_back(WaitingPayload { visit_end: end, offset, digest });
        }
        // The committer may sync and report this length from here on: the bytes are with the kernel.
        file.length.store(end, Ordering::Release);
        let at = ArchiveRef { file: file.name.clone(), offset };
        let stored_digest = referred.as_ref().map(|referred| referred.digest).or(digest);
        self.write_index_line(&at, exchange, stored_digest, referred.is_some(), encoded);
        if self.buffer.capacity() > KEPT_BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        let duplicate_of: Option<Url> = referred.map(|referred| referred.page);
        Ok(Appended { at, end, duplicate_of, bytes_written })
    }

    fn finish(mut self: Box<Self>) -> Result<Option<Position>> {
        self.end_file()
    }
}

impl Drop for FileAppender {
    fn drop(&mut self) {
        if let Some((file, _)) = &self.current {
            file.ended.store(true, Ordering::Release);
        }
    }
}
