//! Links on this machine's disk: segments of zstd frames under `links/`, written by one thread.
//!
//! A batch is a skippable frame with the lengths of the next frame, then that frame, checksum included: any zstd tool
//! can unpack a segment, and the reader knows how much to read before it trusts a byte of it.
//!
//! In a cluster, the segments of a worker are uploaded and removed from its disk, like the files of its archive ([`Segments`]).

use crate::disk::{Disk, DiskFile, LocalDisk, make_directory, sync_directory, write_whole};
use argiope_model::Millis;
use argiope_store::archive::Position;
use argiope_store::clock::now;
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::links::{LinkBatch, Links, LinksPosition, PageLinks, decode};
use argiope_store::spool::Spool;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

const LEVEL: i32 = 1;
/// A segment of this length is finished.
const SEGMENT_BYTES: u64 = 256 << 20;
/// Longer than any batch; a length beyond it is damage.
const LONGEST_BATCH: usize = 256 << 20;
const SKIPPABLE_MAGIC: u32 = 0x184D_2A5A;
const PREFIX: usize = 16;

pub struct SegmentLinks {
    segments: Arc<Segments>,
    compressor: Compressor<'static>,
    buffer: Vec<u8>,
}

/// The segments on a disk, shared by the writer and the uploader.
pub struct Segments {
    root: PathBuf,
    disk: Box<dyn Disk>,
    segment_bytes: u64,
    /// Segments may be moved: missing ones are in the object store, and none is continued after a restart.
    is_spool: bool,
    writing: Mutex<Writing>,
}

#[derive(Default)]
struct Writing {
    current: Option<Box<dyn DiskFile>>,
    position: LinksPosition,
    /// How far they are catalogued.
    committed: LinksPosition,
    /// When the first batch of the current segment arrived.
    begun: Option<Millis>,
    /// Finished segments that are still on the disk, with their lengths.
    over: BTreeMap<u32, u64>,
    unsynced: bool,
    new_entries: bool,
}

impl Writing {
    /// The next batch starts a new segment.
    fn end_segment(&mut self) {
        let LinksPosition { segment, length } = self.position;
        if length > 0 {
            self.over.insert(segment, length);
            self.position = LinksPosition { segment: segment + 1, length: 0 };
        }
        self.current = None;
        self.begun = None;
    }
}

impl SegmentLinks {
    /// Opens the links under `root`, which is created if needed. Call [`Links::truncate_to`] before the first append.
    pub fn open(root: &Path) -> Result<SegmentLinks> {
        SegmentLinks::on_disk(root, SEGMENT_BYTES, Box::new(LocalDisk))
    }

    /// The same with segments that are moved once they are finished.
    pub fn open_spool(root: &Path, segment_bytes: u64) -> Result<SegmentLinks> {
        SegmentLinks::with(root, segment_bytes, Box::new(LocalDisk), true)
    }

    pub fn on_disk(root: &Path, segment_bytes: u64, disk: Box<dyn Disk>) -> Result<SegmentLinks> {
        SegmentLinks::with(root, segment_bytes, disk, false)
    }

    fn with(root: &Path, segment_bytes: u64, disk: Box<dyn Disk>, is_spool: bool) -> Result<SegmentLinks> {
        let failed = |error| StoreError::io(root.display().to_string(), error);
        make_directory(root)?;
        let mut compressor = Compressor::new(LEVEL).map_err(failed)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true)).map_err(failed)?;
        let root = root.to_owned();
        let segments = Segments { root, disk, segment_bytes, is_spool, writing: Mutex::default() };
        Ok(SegmentLinks { segments: Arc::new(segments), compressor, buffer: Vec::new() })
    }

    /// The segments, for the uploader.
    pub fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments)
    }

    /// Compresses the batch into the buffer, with its prefix.
    fn encode(&mut self, batch: &LinkBatch) -> Result<()> {
        let plain = batch.as_bytes();
        if plain.len() > LONGEST_BATCH {
            return Err(StoreError::new(ErrorKind::Usage, "links", "a batch of links is longer than 256 MB"));
        }
        let bound = zstd::zstd_safe::compress_bound(plain.len());
        let mut room = Cursor::new(std::mem::take(&mut self.buffer));
        room.get_mut().clear();
        room.get_mut().reserve(PREFIX + bound);
        room.get_mut().resize(PREFIX, 0);
        room.set_position(PREFIX as u64);
        let compressed = self.compressor.compress_to_buffer(plain, &mut room);
        self.buffer = room.into_inner();
        let length = compressed.map_err(|error| StoreError::io("links", error))?;
        let words = [SKIPPABLE_MAGIC, 8, length as u32, plain.len() as u32];
        for (place, word) in self.buffer.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }
}

impl Segments {
    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, writing: &mut Writing, bytes: &[u8]) -> Result<()> {
        if writing.position.length >= self.segment_bytes {
            self.sync(writing)?;
            writing.end_segment();
        }
        let LinksPosition { segment, length } = writing.position;
        let failed = |error| StoreError::io(name(segment), error);
        let path = self.root.join(name(segment));
        let file = match writing.current.take() {
            Some(file) => file,
            None if path.exists() => self.disk.open(&path).map_err(failed)?,
            None => {
                writing.new_entries = true;
                self.disk.create(&path).map_err(failed)?
            }
        };
        // Whether or not the segment can be cut back after a failure: the next write goes to the same place, and
        // anything after the position is cut at the next start.
        let written = write_whole(&**writing.current.insert(file), bytes, length);
        written.map_err(|unwritten| failed(unwritten.error))?;
        writing.begun.get_or_insert_with(now);
        writing.position.length += bytes.len() as u64;
        writing.unsynced = true;
        Ok(())
    }

    fn sync(&self, writing: &mut Writing) -> Result<LinksPosition> {
        if let (true, Some(file)) = (writing.unsynced, &writing.current) {
            file.sync_data().map_err(|error| StoreError::io(name(writing.position.segment), error))?;
            writing.unsynced = false;
        }
        if writing.new_entries {
            sync_directory(&self.root)
                .map_err(|error| StoreError::io(self.root.display().to_string(), error))?;
            writing.new_entries = false;
        }
        Ok(writing.position)
    }

    /// Checks that every segment with catalogued links is there and complete.
    fn check(&self, found: &[(u32, u64)], valid: LinksPosition) -> Result<()> {
        let first = if self.is_spool { valid.segment } else { 0 };
        for number in first..=valid.segment {
            let length = found.iter().find(|(known, _)| *known == number).map(|(_, length)| *length);
            let wanted = if number == valid.segment { valid.length } else { 1 };
            if length.unwrap_or(0) < wanted {
                let message = format!(
                    "has {} bytes, though the catalogue has links up to offset {wanted}; restore it from a backup",
                    length.unwrap_or(0)
                );
                return Err(StoreError::new(ErrorKind::Corrupt, name(number), message));
            }
        }
        Ok(())
    }

    fn truncate_to(&self, valid: LinksPosition) -> Result<u64> {
        let failed = |error| StoreError::io(self.root.display().to_string(), error);
        let mut writing = self.writing();
        *writing = Writing::default();
        let found = segments(&self.root).map_err(failed)?;
        self.check(&found, valid)?;
        let mut cut = 0;
        // Newest first: a crash in between leaves no gap.
        for (number, length) in found.iter().rev() {
            let path = self.root.join(name(*number));
            let is_current = *number == valid.segment;
            if *number > valid.segment || is_current && self.is_spool && valid.length == 0 {
                std::fs::remove_file(&path).map_err(failed)?;
                cut += length;
            } else if is_current && *length > valid.length {
                let file = self.disk.open(&path).map_err(failed)?;
                file.set_len(valid.length).and_then(|()| file.sync_data()).map_err(failed)?;
                cut += length - valid.length;
            } else if !is_current {
                writing.over.insert(*number, *length);
            }
        }
        if cut > 0 {
            sync_directory(&self.root).map_err(failed)?;
        }
        writing.position = valid;
        writing.committed = valid;
        if self.is_spool {
            writing.end_segment();
        }
        Ok(cut)
    }
}

/// The catalogue names segments by number.
impl Spool for Segments {
    fn path(&self, file: &str) -> PathBuf {
        self.root.join(file.parse().map_or_else(|_| file.to_owned(), name))
    }

    fn end_files(&self, begun_before: Millis) -> Result<Option<Millis>> {
        let mut writing = self.writing();
        // Segments that are not catalogued yet are checked again later.
        let Some(begun) = writing.begun.filter(|_| writing.committed == writing.position) else {
            return Ok(None);
        };
        if begun >= begun_before {
            return Ok(Some(begun));
        }
        writing.end_segment();
        Ok(None)
    }

    fn finished(&self) -> Result<Vec<Position>> {
        let writing = self.writing();
        let known = writing.over.iter().map(|(segment, length)| (*segment, *length));
        let is_catalogued = |(segment, length): &(u32, u64)| {
            LinksPosition { segment: *segment, length: *length } <= writing.committed
        };
        let position = |(segment, length): (u32, u64)| Position { file: segment.to_string().into(), length };
        Ok(known.filter(is_catalogued).map(position).collect())
    }

    fn remove(&self, file: &str) -> Result<()> {
        let is_finished = self.finished()?.iter().any(|finished| &*finished.file == file);
        let segment = file.parse().ok().filter(|_| is_finished);
        let Some(segment) = segment else {
            return Err(StoreError::new(ErrorKind::Usage, file, "is not finished, or was removed before"));
        };
        self.writing().over.remove(&segment);
        match std::fs::remove_file(self.root.join(name(segment))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io(name(segment), error))
            }
            _ => Ok(()),
        }
    }
}

impl Links for SegmentLinks {
    fn append(&mut self, batch: &LinkBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.encode(batch)?;
        self.segments.append(&mut self.segments.writing(), &self.buffer)
    }

    fn sync(&mut self) -> Result<LinksPosition> {
        self.segments.sync(&mut self.segments.writing())
    }

    fn committed(&mut self, reached: LinksPosition) {
        self.segments.writing().committed = reached;
    }

    fn truncate_to(&mut self, valid: LinksPosition) -> Result<u64> {
        self.segments.truncate_to(valid)
    }

    fn read(&self, until: LinksPosition, page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>) -> Result<()> {
        read_segments(&self.segments.root, until, page)
    }
}

/// Reads the pages up to a position, like [`Links::read`], while another process may write. Changes nothing.
pub fn read_segments(
    root: &Path,
    until: LinksPosition,
    page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>,
) -> Result<()> {
    for segment in 0..=until.segment {
        let failed = |error| StoreError::io(name(segment), error);
        let file = match File::open(root.join(name(segment))) {
            Ok(file) => file,
            Err(_) if segment == until.segment && until.length == 0 => break,
            Err(error) => return Err(failed(error)),
        };
        let length = file.metadata().map_err(failed)?.len();
        let length = if segment == until.segment { until.length } else { length };
        read_segment(&name(segment), file, length, page)?;
    }
    Ok(())
}

/// The same for one segment from any source. `name` is its name in errors.
pub fn read_segment(
    name: &str,
    source: impl Read,
    length: u64,
    page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>,
) -> Result<()> {
    let mut decompressor = Decompressor::new().map_err(|error| StoreError::io(name, error))?;
    let mut source = BufReader::with_capacity(1 << 16, source.take(length));
    let mut offset = 0;
    while offset < length {
        offset +=
            read_batch(&mut source, &mut decompressor, page).map_err(|error| placed(error, name, offset))?;
    }
    Ok(())
}

/// Reads one batch and calls back with its pages; returns the batch's length on disk.
fn read_batch(
    source: &mut impl Read,
    decompressor: &mut Decompressor<'_>,
    page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>,
) -> Result<u64> {
    let damaged = |what: &str| StoreError::new(ErrorKind::Corrupt, "links", what);
    let mut prefix = [0u8; PREFIX];
    source.read_exact(&mut prefix).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("ends within a batch"),
        _ => StoreError::io("links", error),
    })?;
    let mut words =
        prefix.chunks_exact(4).map(|word| word.iter().rev().fold(0, |n, b| (n << 8) | u32::from(*b)));
    let mut word = || words.next().unwrap_or(0);
    if (word(), word()) != (SKIPPABLE_MAGIC, 8) {
        return Err(damaged("no batch starts here"));
    }
    let (compressed, plain) = (word() as usize, word() as usize);
    if plain > LONGEST_BATCH || compressed > zstd::zstd_safe::compress_bound(LONGEST_BATCH) {
        return Err(damaged("a batch claims an impossible length"));
    }
    let mut frame = Vec::new();
    source.take(compressed as u64).read_to_end(&mut frame).map_err(|error| StoreError::io("links", error))?;
    if frame.len() != compressed {
        return Err(damaged("ends within a batch"));
    }
    let bytes =
        decompressor.decompress(&frame, plain).map_err(|_| damaged("a batch cannot be decompressed"))?;
    if bytes.len() != plain {
        return Err(damaged("a batch has another length than it claims"));
    }
    decode(&bytes, page)?;
    Ok((PREFIX + compressed) as u64)
}

/// Damage, with its place and what to do.
fn placed(mut error: StoreError, name: &str, offset: u64) -> StoreError {
    if error.kind == ErrorKind::Corrupt {
        error.subject = name.to_owned();
        error.message = format!("at offset {offset}: {}; restore the segment from a backup", error.message);
    }
    error
}

fn name(segment: u32) -> String {
    format!("links-{segment:08}.zst")
}

/// Numbers and lengths of the segments, in order.
fn segments(root: &Path) -> io::Result<Vec<(u32, u64)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let number = file_name
            .to_str()
            .and_then(|name| name.strip_prefix("links-")?.strip_suffix(".zst")?.parse().ok());
        if let Some(number) = number {
            found.push((number, entry.metadata()?.len()));
        }
    }
    found.sort_unstable();
    Ok(found)
}
