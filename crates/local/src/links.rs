//! Links on this machine's disk: segments of zstd frames under `links/`, written by one hand.
//!
//! A batch is a skippable frame with the lengths of the frame that follows, then that frame, checksum included: any
//! zstd tool unpacks a segment, and the reader knows how much to read before it trusts a byte of it.

use crate::disk::{Disk, DiskFile, LocalDisk, sync_directory, write_whole};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::links::{LinkBatch, Links, LinksPosition, PageLinks, decode};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

const LEVEL: i32 = 1;
/// A segment that has reached this length is ended.
const SEGMENT_BYTES: u64 = 256 << 20;
/// Longer than any batch; a length beyond it is damage.
const LONGEST_BATCH: usize = 256 << 20;
const SKIPPABLE_MAGIC: u32 = 0x184D_2A5A;
const PREFIX: usize = 16;

pub struct SegmentLinks {
    root: PathBuf,
    disk: Box<dyn Disk>,
    segment_bytes: u64,
    compressor: Compressor<'static>,
    buffer: Vec<u8>,
    current: Option<Box<dyn DiskFile>>,
    position: LinksPosition,
    unsynced: bool,
    new_entries: bool,
}

impl SegmentLinks {
    /// Opens the links under `root`, which is made if it is not there. Call [`Links::truncate_to`] before the first
    /// append.
    pub fn open(root: &Path) -> Result<SegmentLinks> {
        SegmentLinks::on_disk(root, SEGMENT_BYTES, Box::new(LocalDisk))
    }

    pub fn on_disk(root: &Path, segment_bytes: u64, disk: Box<dyn Disk>) -> Result<SegmentLinks> {
        let failed = |error| StoreError::io(root.display().to_string(), error);
        std::fs::create_dir_all(root).map_err(failed)?;
        let mut compressor = Compressor::new(LEVEL).map_err(failed)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true)).map_err(failed)?;
        Ok(SegmentLinks {
            root: root.to_owned(),
            disk,
            segment_bytes,
            compressor,
            buffer: Vec::new(),
            current: None,
            position: LinksPosition::default(),
            unsynced: false,
            new_entries: false,
        })
    }

    fn failed(&self, segment: u32) -> impl Fn(io::Error) -> StoreError + use<> {
        let subject = name(segment);
        move |error| StoreError::io(subject.clone(), error)
    }

    /// Compresses the batch into the buffer, with its prefix.
    fn encode(&mut self, batch: &LinkBatch) -> Result<()> {
        let plain = batch.as_bytes();
        if plain.len() > LONGEST_BATCH {
            return Err(StoreError::new(ErrorKind::Usage, "links", "a batch of links is longer than 256 MB"));
        }
        let failed = self.failed(self.position.segment);
        let bound = zstd::zstd_safe::compress_bound(plain.len());
        self.buffer.resize(PREFIX + bound, 0);
        let (prefix, room) = self.buffer.split_at_mut_checked(PREFIX).unwrap_or_default();
        let length = self.compressor.compress_to_buffer(plain, room).map_err(failed)?;
        let words = [SKIPPABLE_MAGIC, 8, length as u32, plain.len() as u32];
        for (place, word) in prefix.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.buffer.truncate(PREFIX + length);
        Ok(())
    }

    /// The open segment; the next one if it is long enough.
    fn segment(&mut self) -> Result<&dyn DiskFile> {
        if self.position.length >= self.segment_bytes {
            self.sync()?;
            self.current = None;
            self.position = LinksPosition { segment: self.position.segment + 1, length: 0 };
        }
        let failed = self.failed(self.position.segment);
        let path = self.root.join(name(self.position.segment));
        let file = match self.current.take() {
            Some(file) => file,
            None if path.exists() => self.disk.open(&path).map_err(failed)?,
            None => {
                self.new_entries = true;
                self.disk.create(&path).map_err(failed)?
            }
        };
        Ok(&**self.current.insert(file))
    }
}

impl Links for SegmentLinks {
    fn append(&mut self, batch: &LinkBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.encode(batch)?;
        let bytes = std::mem::take(&mut self.buffer);
        self.segment()?;
        let written = match &self.current {
            Some(file) => write_whole(&**file, &bytes, self.position.length),
            None => Ok(()),
        };
        match written {
            Ok(()) => {
                self.position.length += bytes.len() as u64;
                self.unsynced = true;
                self.buffer = bytes;
                Ok(())
            }
            // Whether or not the segment could be cut back: the next write goes to the same place, and what lies
            // beyond the position is cut at the next start.
            Err(unwritten) => Err(StoreError::io(name(self.position.segment), unwritten.error)),
        }
    }

    fn sync(&mut self) -> Result<LinksPosition> {
        if let (true, Some(file)) = (self.unsynced, &self.current) {
            file.sync_data().map_err(self.failed(self.position.segment))?;
            self.unsynced = false;
        }
        if self.new_entries {
            sync_directory(&self.root)
                .map_err(|error| StoreError::io(self.root.display().to_string(), error))?;
            self.new_entries = false;
        }
        Ok(self.position)
    }

    fn truncate_to(&mut self, valid: LinksPosition) -> Result<u64> {
        let failed = |error| StoreError::io(self.root.display().to_string(), error);
        self.current = None;
        let lengths = segments(&self.root).map_err(failed)?;
        for number in 0..=valid.segment {
            let length = lengths.iter().find(|(known, _)| *known == number).map(|(_, length)| *length);
            let wanted = if number == valid.segment { valid.length } else { 1 };
            if length.unwrap_or(0) < wanted {
                let message = format!(
                    "has {} bytes, though the catalogue has links up to offset {wanted}; restore it from a backup",
                    length.unwrap_or(0)
                );
                return Err(StoreError::new(ErrorKind::Corrupt, name(number), message));
            }
        }
        let mut cut = 0;
        // The newest first: a crash in between leaves no hole.
        for (number, length) in lengths.iter().rev() {
            let path = self.root.join(name(*number));
            if *number > valid.segment {
                std::fs::remove_file(&path).map_err(failed)?;
                cut += length;
            } else if *number == valid.segment && *length > valid.length {
                let file = self.disk.open(&path).map_err(failed)?;
                file.set_len(valid.length).and_then(|()| file.sync_data()).map_err(failed)?;
                cut += length - valid.length;
            }
        }
        if cut > 0 {
            sync_directory(&self.root).map_err(failed)?;
        }
        self.position = valid;
        self.unsynced = false;
        Ok(cut)
    }

    fn read(&self, until: LinksPosition, page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>) -> Result<()> {
        read_segments(&self.root, until, page)
    }
}

/// Gives out the pages up to a position, as [`Links::read`] does, beside whoever writes and without touching anything.
pub fn read_segments(
    root: &Path,
    until: LinksPosition,
    page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>,
) -> Result<()> {
    let mut decompressor = Decompressor::new().map_err(|error| StoreError::io(name(0), error))?;
    for segment in 0..=until.segment {
        let failed = |error| StoreError::io(name(segment), error);
        let file = match File::open(root.join(name(segment))) {
            Ok(file) => file,
            Err(_) if segment == until.segment && until.length == 0 => break,
            Err(error) => return Err(failed(error)),
        };
        let length = file.metadata().map_err(failed)?.len();
        let length = if segment == until.segment { until.length } else { length };
        let mut source = BufReader::with_capacity(1 << 16, file.take(length));
        let mut offset = 0;
        while offset < length {
            offset += read_batch(&mut source, &mut decompressor, page)
                .map_err(|error| placed(error, segment, offset))?;
        }
    }
    Ok(())
}

/// Reads one batch and gives out its pages; returns the batch's length on disk.
fn read_batch(
    source: &mut impl Read,
    decompressor: &mut Decompressor<'_>,
    page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>,
) -> Result<u64> {
    let damaged = |what: &str| StoreError::new(ErrorKind::Corrupt, "links", what);
    let mut prefix = [0u8; PREFIX];
    source.read_exact(&mut prefix).map_err(|_| damaged("ends within a batch"))?;
    let mut words =
        prefix.chunks_exact(4).map(|word| word.iter().rev().fold(0, |n, b| (n << 8) | u32::from(*b)));
    let mut word = || words.next().unwrap_or(0);
    if (word(), word()) != (SKIPPABLE_MAGIC, 8) {
        return Err(damaged("no batch begins here"));
    }
    let (compressed, plain) = (word() as usize, word() as usize);
    if plain > LONGEST_BATCH || compressed > zstd::zstd_safe::compress_bound(LONGEST_BATCH) {
        return Err(damaged("a batch claims to be longer than any is"));
    }
    let mut frame = Vec::new();
    source.take(compressed as u64).read_to_end(&mut frame).map_err(|error| StoreError::io("links", error))?;
    if frame.len() != compressed {
        return Err(damaged("ends within a batch"));
    }
    let bytes = decompressor.decompress(&frame, plain).map_err(|_| damaged("a batch does not unpack"))?;
    if bytes.len() != plain {
        return Err(damaged("a batch is not as long as it claims"));
    }
    decode(&bytes, page)?;
    Ok((PREFIX + compressed) as u64)
}

/// Damage with its place and what to do.
fn placed(mut error: StoreError, segment: u32, offset: u64) -> StoreError {
    if error.kind == ErrorKind::Corrupt {
        error.subject = name(segment);
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
