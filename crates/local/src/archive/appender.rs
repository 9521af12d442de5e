//! Appends the visits of one worker to its own file, several complete visits in one write.

use super::Shared;
use super::index::IndexBuilder;
use crate::disk::{DiskFile, sync_directory, write_whole};
use argiope_model::Millis;
use argiope_store::archive::payload::{PayloadIndex, SMALLEST_PAYLOAD};
use argiope_store::archive::reading;
use argiope_store::archive::{Appended, Appender, ArchiveRef, Exchange, Position};
use argiope_store::clock::now;
use argiope_store::error::{Result, StoreError};
use argiope_store::warc::{Capture, Digest, EncodedVisit, Referred, VisitEncoder, cdxj};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most payloads that wait for their visits to be catalogued; beyond this the oldest are forgotten.
const MOST_WAITING: usize = 100_000;
/// A buffer that grew beyond this for a large page is freed.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// A file as its appender and the committer share it.
pub(super) struct ActiveFile {
    pub(super) name: Arc<str>,
    begun: Millis,
    file: Box<dyn DiskFile>,
    /// A sync failed: the kernel may have dropped what it could not write, and a second sync would not report it.
    failed: AtomicBool,
    /// How far the file holds complete visits.
    pub(super) length: AtomicU64,
    pub(super) synced: AtomicU64,
    /// Up to where its visits are catalogued.
    committed: AtomicU64,
    /// Its appender has finished it.
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
    pub(super) fn new(name: Arc<str>, begun: Millis, file: Box<dyn DiskFile>) -> ActiveFile {
        ActiveFile {
            name,
            begun,
            file,
            length: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            committed: AtomicU64::new(0),
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
        self.committed.fetch_max(length, Ordering::AcqRel);
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
            && self.committed.load(Ordering::Acquire) == self.length.load(Ordering::Acquire)
    }

    pub(super) fn position(&self) -> Position {
        Position { file: self.name.clone(), length: self.length.load(Ordering::Acquire) }
    }
}

/// The file an appender has open, if any. Shared with the archive, which finishes files that have been open for long.
#[derive(Default)]
pub(super) struct Current {
    open: Option<(Arc<ActiveFile>, IndexBuilder)>,
}

impl Current {
    pub(super) fn lock(current: &Mutex<Current>) -> MutexGuard<'_, Current> {
        // A panic may leave an unfinished file, as after a crash.
        current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begun(&self) -> Option<Millis> {
        self.open.as_ref().map(|(file, _)| file.begun)
    }

    /// The file to append to: a new one if there is none or it is long enough.
    fn file(&mut self, shared: &Shared, worker: u32) -> Result<Arc<ActiveFile>> {
        let rotate_at = shared.options.rotate_bytes;
        if self.open.as_ref().is_some_and(|(file, _)| file.length.load(Ordering::Acquire) >= rotate_at) {
            self.end(shared)?;
        }
        if let Some((file, _)) = &self.open {
            return Ok(file.clone());
        }
        let (file, path) = shared.create_file(worker)?;
        self.open = Some((file.clone(), IndexBuilder::new(&path)));
        Ok(file)
    }

    /// Finishes the file: durable, with its index, never written again.
    pub(super) fn end(&mut self, shared: &Shared) -> Result<Option<Position>> {
        let Some((file, index)) = self.open.take() else {
            return Ok(None);
        };
        let synced = file.sync_data();
        let synced = synced.and_then(|()| {
            sync_directory(&shared.root)
                .map_err(|error| StoreError::io(shared.root.display().to_string(), error))
        });
        // The crawl can do without an index; the next recovery creates it.
        if synced.is_ok()
            && let Err(error) = index.finish()
        {
            tracing::warn!(file = &*file.name, %error, "index not written");
        }
        // Last: from here on the file may be moved.
        file.ended.store(true, Ordering::Release);
        synced?;
        Ok(Some(file.position()))
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
        let Some((_, index)) = &mut self.open else {
            return;
        };
        if let Err(error) = index.push(cdxj::line(&capture, &at.file)) {
            tracing::warn!(file = &*at.file, %error, "index line not written");
        }
    }
}

pub(super) struct FileAppender {
    shared: Arc<Shared>,
    worker: u32,
    encoder: VisitEncoder,
    current: Arc<Mutex<Current>>,
    buffer: Vec<u8>,
}

impl FileAppender {
    pub(super) fn new(
        shared: Arc<Shared>,
        worker: u32,
        random: [u8; 16],
        current: Arc<Mutex<Current>>,
    ) -> FileAppender {
        let encoder = VisitEncoder::new(random).with_block_digests(shared.options.block_digests);
        FileAppender { shared, worker, encoder, current, buffer: Vec::new() }
    }

    /// The record this payload would repeat, if it is durable.
    fn referred(&self, exchange: &Exchange<'_>, digest: &Digest, payload_length: usize) -> Option<Referred> {
        if !self.shared.options.revisits {
            return None;
        }
        if payload_length >= SMALLEST_PAYLOAD
            && let Some(at) = self.shared.payloads.get(digest)
        {
            match reading::referred(&|at| self.shared.open(at), &at) {
                Ok(referred) if referred.digest == *digest => return Some(referred),
                // The file is gone or another payload shares half the digest: the payload is stored again.
                Ok(_) | Err(_) => self.shared.payloads.remove(digest),
            }
        }
        let previous = exchange.previous?;
        if exchange.metadata.status == Some(304) {
            // Also in the object store: without the previous copy there is no body at all.
            let found = reading::referred(&|at| self.shared.open_anywhere(at), previous);
            return found
                .inspect_err(|error| tracing::warn!(%previous, %error, "cannot read the previous copy of a page that was not modified"))
                .ok();
        }
        let previous = reading::referred(&|at| self.shared.open(at), previous).ok()?;
        (payload_length >= SMALLEST_PAYLOAD && previous.digest == *digest).then_some(previous)
    }
}

/// A visit that is encoded and not yet written.
struct Prepared {
    digest: Option<Digest>,
    referred: Option<Referred>,
    encoded: EncodedVisit,
    offset: u64,
    end: u64,
}

impl Prepared {
    /// What later visits with the same payload may refer to once this one is catalogued.
    fn payload(&self, exchange: &Exchange<'_>) -> Option<WaitingPayload> {
        let long_enough = exchange.response.is_some_and(|response| response.body.len() >= SMALLEST_PAYLOAD);
        let kept = self.referred.is_none() && long_enough && exchange.metadata.truncated.is_none();
        let digest = self.digest.filter(|_| kept)?;
        Some(WaitingPayload { visit_end: self.end, offset: self.offset, digest })
    }
}

impl FileAppender {
    /// Appends the visit's records to the buffer, which starts at `start` in the file.
    fn prepare(&mut self, exchange: &Exchange<'_>, start: u64) -> Result<Prepared> {
        let digest = exchange.response.map(|response| match response.body_sha256 {
            Some(known) => Digest(known),
            None => Digest::of(&[response.body]),
        });
        let referred = match (&digest, exchange.response) {
            (Some(digest), Some(response)) => self.referred(exchange, digest, response.body.len()),
            _ => None,
        };
        let offset = start + self.buffer.len() as u64;
        let encoded = self.encoder.visit(exchange, digest, referred.as_ref(), &mut self.buffer)?;
        let end = start + self.buffer.len() as u64;
        Ok(Prepared { digest, referred, encoded, offset, end })
    }
}

impl Appender for FileAppender {
    fn append_all(&mut self, exchanges: &[Exchange<'_>]) -> Result<Vec<Appended>> {
        let shared = self.shared.clone();
        let current = self.current.clone();
        let mut current = Current::lock(&current);
        let file = current.file(&shared, self.worker)?;
        let start = file.length.load(Ordering::Acquire);
        self.buffer.clear();
        if start == 0 {
            self.encoder.warcinfo(&self.shared.options.info, &file.name, now(), &mut self.buffer);
        }
        let prepared = exchanges.iter().map(|exchange| self.prepare(exchange, start)).collect::<Result<_>>();
        // Nothing refers to unwritten records.
        let prepared: Vec<Prepared> = prepared.inspect_err(|_| self.encoder.forget_requests())?;
        let written = write_whole(&*file.file, &self.buffer, start);
        if written.is_err() {
            self.encoder.forget_requests();
        }
        if let Err(unwritten) = written {
            if !unwritten.cut_back {
                // Anything after the valid length is cut by the next recovery.
                file.ended.store(true, Ordering::Release);
                current.open = None;
            }
            return Err(StoreError::io(&*file.name, unwritten.error));
        }
        let mut waiting = file.waiting();
        for payload in prepared.iter().zip(exchanges).filter_map(|(visit, exchange)| visit.payload(exchange))
        {
            if waiting.len() >= MOST_WAITING {
                waiting.pop_front();
            }
            waiting.push_back(payload);
        }
        drop(waiting);
        // From here on the committer may sync and report this length: the kernel has the bytes.
        file.length.store(start + self.buffer.len() as u64, Ordering::Release);
        if self.buffer.capacity() > KEPT_BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        let appended = prepared.into_iter().zip(exchanges).map(|(visit, exchange)| {
            let Prepared { digest, referred, encoded, offset, end } = visit;
            let at = ArchiveRef { file: file.name.clone(), offset };
            let stored_digest = referred.as_ref().map(|referred| referred.digest).or(digest);
            current.write_index_line(&at, exchange, stored_digest, referred.is_some(), encoded);
            let duplicate_of = referred.map(|referred| referred.page);
            Appended { at, end, duplicate_of }
        });
        Ok(appended.collect())
    }

    fn finish(self: Box<Self>) -> Result<Option<Position>> {
        Current::lock(&self.current).end(&self.shared)
    }
}

impl Drop for FileAppender {
    fn drop(&mut self) {
        if let Some((file, _)) = Current::lock(&self.current).open.take() {
            file.ended.store(true, Ordering::Release);
        }
    }
}
