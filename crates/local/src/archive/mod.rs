//! The archive on this machine's disk: WARC files under `archive/`, one open per worker.
//!
//! `NAME-TIMESTAMP-SERIAL-WORKER.warc.gz`, ended at 1 GB, never appended to after a restart; beside each ended file its
//! `.cdxj` index. The record format and the contract are the store's (`argiope_store::archive`, `argiope_store::warc`).

mod appender;
mod index;
mod reading;
mod recovery;

use crate::disk::{Disk, LocalDisk, sync_directory};
use appender::{ActiveFile, FileAppender};
use argiope_model::Millis;
use argiope_store::archive::payload::PayloadIndex;
use argiope_store::archive::{
    Appender, Archive, ArchiveRef, OnRecovered, Position, Recovery, StoredExchange,
};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::{VisitMetadata, WarcInfo, cdxj};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How the archive's files are made.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// Begins the name of each file: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// A file that has reached this length is ended.
    pub rotate_bytes: u64,
    /// What the first record of each file says.
    pub info: WarcInfo,
    /// See [`VisitEncoder::with_block_digests`](argiope_store::warc::VisitEncoder::with_block_digests).
    pub block_digests: bool,
    /// How many payloads are remembered so that identical ones are not stored again.
    pub remembered_payloads: usize,
}

impl Default for ArchiveOptions {
    fn default() -> ArchiveOptions {
        ArchiveOptions {
            name: String::from("argiope"),
            rotate_bytes: 1 << 30,
            info: WarcInfo {
                software: format!("argiope/{}", env!("CARGO_PKG_VERSION")),
                robots: String::from("obey"),
                user_agent: None,
                operator: None,
            },
            block_digests: false,
            remembered_payloads: argiope_store::archive::payload::CAPACITY,
        }
    }
}

/// What the appenders and the committer share.
struct Shared {
    root: PathBuf,
    options: ArchiveOptions,
    disk: Box<dyn Disk>,
    payloads: PayloadIndex,
    /// Files with something left to sync or commit.
    files: Mutex<Vec<Arc<ActiveFile>>>,
    serial: AtomicU32,
    workers: AtomicU32,
    /// A file was created since the directory was last synced.
    new_entries: AtomicBool,
}

pub struct FileArchive {
    shared: Arc<Shared>,
}

impl FileArchive {
    /// Opens the archive under `root`, which is made if it is not there. Call [`Archive::recover`] before the first
    /// append.
    pub fn open(root: &Path, options: ArchiveOptions) -> Result<FileArchive> {
        FileArchive::on_disk(root, options, Box::new(LocalDisk))
    }

    /// The same on a disk of the caller's.
    pub fn on_disk(root: &Path, options: ArchiveOptions, disk: Box<dyn Disk>) -> Result<FileArchive> {
        let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if options.name.is_empty() || !options.name.bytes().all(good) || options.name.starts_with('.') {
            let message = "not a name for archive files; use letters, digits, '-', '_' and '.'";
            return Err(StoreError::new(ErrorKind::Usage, options.name, message));
        }
        std::fs::create_dir_all(root).map_err(|error| StoreError::io(root.display().to_string(), error))?;
        let shared = Shared {
            root: root.to_owned(),
            payloads: PayloadIndex::with_capacity(options.remembered_payloads),
            options,
            disk,
            files: Mutex::new(Vec::new()),
            serial: AtomicU32::new(0),
            workers: AtomicU32::new(0),
            new_entries: AtomicBool::new(false),
        };
        Ok(FileArchive { shared: Arc::new(shared) })
    }
}

impl Shared {
    fn files(&self) -> MutexGuard<'_, Vec<Arc<ActiveFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create_file(&self, worker: u32) -> Result<(Arc<ActiveFile>, PathBuf)> {
        loop {
            let serial = self.serial.fetch_add(1, Ordering::Relaxed);
            let time = cdxj::timestamp(now());
            let name: Arc<str> =
                format!("{}-{time}-{serial:05}-{worker:02}.warc.gz", self.options.name).into();
            let path = self.root.join(&*name);
            match self.disk.create(&path) {
                Ok(file) => {
                    let file = Arc::new(ActiveFile::new(name, file));
                    self.new_entries.store(true, Ordering::Release);
                    self.files().push(file.clone());
                    return Ok((file, path));
                }
                // Two starts within a second: the next serial is free.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io(&*name, error)),
            }
        }
    }
}

impl Archive for FileArchive {
    fn appender(&self) -> Result<Box<dyn Appender>> {
        let worker = self.shared.workers.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(FileAppender::new(self.shared.clone(), worker, random())))
    }

    fn sync(&self) -> Result<Vec<Position>> {
        let files = self.shared.files().clone();
        let mut positions = Vec::new();
        for file in &files {
            // The length first: what is appended while the disk works is not covered.
            let length = file.length.load(Ordering::Acquire);
            if length > file.synced.load(Ordering::Acquire) {
                file.sync_data()?;
                file.synced.store(length, Ordering::Release);
                positions.push(Position { file: file.name.clone(), length });
            }
        }
        if self.shared.new_entries.swap(false, Ordering::AcqRel)
            && let Err(error) = sync_directory(&self.shared.root)
        {
            self.shared.new_entries.store(true, Ordering::Release);
            return Err(StoreError::io(self.shared.root.display().to_string(), error));
        }
        Ok(positions)
    }

    fn committed(&self, positions: &[Position]) {
        let lengths: HashMap<&str, u64> = positions.iter().map(|p| (&*p.file, p.length)).collect();
        let mut files = self.shared.files();
        for file in files.iter() {
            if let Some(length) = lengths.get(&*file.name) {
                // A position that was never synced is no durable one, whatever the caller says.
                file.committed((*length).min(file.synced.load(Ordering::Acquire)), &self.shared.payloads);
            }
        }
        files.retain(|file| !file.is_done());
    }

    fn recover(&self, catalogued: &[Position], found: OnRecovered<'_>) -> Result<Recovery> {
        if !self.shared.files().is_empty() {
            let message = "recovery runs before the first append, not beside it";
            return Err(StoreError::new(ErrorKind::Usage, "archive", message));
        }
        recovery::recover(&self.shared.root, catalogued, found)
    }

    fn read(&self, at: &ArchiveRef) -> Result<StoredExchange> {
        reading::exchange(&self.shared.root, at)
    }

    fn read_metadata(&self, at: &ArchiveRef) -> Result<VisitMetadata> {
        reading::metadata(&self.shared.root, at)
    }

    fn build_index(&self, file: &str) -> Result<()> {
        recovery::build_index(&self.shared.root, file)
    }

    fn verify(&self, position: &Position) -> Result<u64> {
        recovery::verify(&self.shared.root, position)
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// For names, not for secrets: the standard library draws these keys from the system.
fn random() -> [u8; 16] {
    let state = RandomState::new();
    let high = state.hash_one((now().0, "high"));
    let low = state.hash_one((std::process::id(), "low"));
    ((u128::from(high) << 64) | u128::from(low)).to_le_bytes()
}
