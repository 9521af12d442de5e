//! The archive on this machine's disk: WARC files under `archive/`, one open per worker.
//!
//! `NAME-TIMESTAMP-SERIAL-WORKER.warc.gz`, finished at 1 GB or on request, never appended to after a restart; beside
//! each finished file its `.cdxj` index. The record format and the contract are the store's (`argiope_store::archive`,
//! `argiope_store::warc`).

mod appender;
mod index;
mod recovery;

use crate::disk::{Disk, LocalDisk, make_directory, sync_directory};
use appender::{ActiveFile, Current, FileAppender};
use argiope_model::Millis;
use argiope_store::archive::payload::PayloadIndex;
use argiope_store::archive::reading::{self, Source};
use argiope_store::archive::{
    Appender, Archive, ArchiveRef, ArchiveSpool, Cut, Elsewhere, OnRecovered, Position, Recovery,
    StoredExchange,
};
use argiope_store::clock::now;
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::spool::Spool;
use argiope_store::warc::{VisitMetadata, WarcInfo, cdxj};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// How the archive's files are created.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// The prefix of each file name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// A file of this length is finished.
    pub rotate_bytes: u64,
    /// The contents of the first record of each file.
    pub info: WarcInfo,
    /// See [`VisitEncoder::with_block_digests`](argiope_store::warc::VisitEncoder::with_block_digests).
    pub block_digests: bool,
    /// How many payloads are remembered so that identical ones are not stored again.
    pub remembered_payloads: usize,
    /// Whether an identical payload becomes a record that refers to the first one.
    pub revisits: bool,
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
            revisits: true,
        }
    }
}

/// What the appenders and the committer share.
struct Shared {
    root: PathBuf,
    options: ArchiveOptions,
    disk: Box<dyn Disk>,
    payloads: PayloadIndex,
    /// Files with data to sync or commit.
    files: Mutex<Vec<Arc<ActiveFile>>>,
    /// The open file of each appender.
    open: Mutex<Vec<Weak<Mutex<Current>>>>,
    /// Finished files that are fully catalogued, by name, with their lengths.
    finished: Mutex<BTreeMap<Arc<str>, u64>>,
    serial: AtomicU32,
    workers: AtomicU32,
    /// A file was created since the directory was last synced.
    new_entries: AtomicBool,
    /// Where moved files are read.
    elsewhere: OnceLock<Elsewhere>,
}

pub struct FileArchive {
    shared: Arc<Shared>,
}

impl FileArchive {
    /// Opens the archive under `root`, which is created if needed. Call [`Archive::recover`] before the first append.
    pub fn open(root: &Path, options: ArchiveOptions) -> Result<FileArchive> {
        FileArchive::on_disk(root, options, Box::new(LocalDisk))
    }

    /// The same on the caller's disk.
    pub fn on_disk(root: &Path, options: ArchiveOptions, disk: Box<dyn Disk>) -> Result<FileArchive> {
        let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if options.name.is_empty() || !options.name.bytes().all(good) || options.name.starts_with('.') {
            let message = "not a name for archive files; use letters, digits, '-', '_' and '.'";
            return Err(StoreError::new(ErrorKind::Usage, options.name, message));
        }
        make_directory(root)?;
        let shared = Shared {
            root: root.to_owned(),
            payloads: PayloadIndex::with_capacity(options.remembered_payloads),
            options,
            disk,
            files: Mutex::new(Vec::new()),
            open: Mutex::new(Vec::new()),
            finished: Mutex::default(),
            serial: AtomicU32::new(0),
            workers: AtomicU32::new(0),
            new_entries: AtomicBool::new(false),
            elsewhere: OnceLock::new(),
        };
        Ok(FileArchive { shared: Arc::new(shared) })
    }
}

impl Shared {
    fn files(&self) -> MutexGuard<'_, Vec<Arc<ActiveFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, u64>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn before_first_append(&self) -> Result<()> {
        if self.files().is_empty() {
            return Ok(());
        }
        let message = "recovery must run before the first append";
        Err(StoreError::new(ErrorKind::Usage, "archive", message))
    }

    /// Moves finished files to their own list.
    fn put_done_aside(&self) {
        let mut finished = self.finished();
        self.files().retain(|file| {
            let is_done = file.is_done();
            if is_done {
                let Position { file, length } = file.position();
                finished.insert(file, length);
            }
            !is_done
        });
    }

    fn open(&self, at: &ArchiveRef) -> Result<Source> {
        let opened = File::open(self.root.join(&*at.file)).and_then(|mut file| {
            file.seek(SeekFrom::Start(at.offset))?;
            Ok(file)
        });
        Ok(Box::new(opened.map_err(|error| StoreError::io(&*at.file, error))?))
    }

    /// The same wherever the file is.
    fn open_anywhere(&self, at: &ArchiveRef) -> Result<Source> {
        match (self.open(at), self.elsewhere.get()) {
            (Err(error), Some(elsewhere)) if error.kind == ErrorKind::NotFound => elsewhere(at),
            (opened, _) => opened,
        }
    }

    fn create_file(&self, worker: u32) -> Result<(Arc<ActiveFile>, PathBuf)> {
        loop {
            let serial = self.serial.fetch_add(1, Ordering::Relaxed);
            let begun = now();
            let time = cdxj::timestamp(begun);
            let name: Arc<str> =
                format!("{}-{time}-{serial:05}-{worker:02}.warc.gz", self.options.name).into();
            let path = self.root.join(&*name);
            match self.disk.create(&path) {
                Ok(file) => {
                    let file = Arc::new(ActiveFile::new(name, begun, file));
                    self.new_entries.store(true, Ordering::Release);
                    self.files().push(file.clone());
                    return Ok((file, path));
                }
                // Two processes started within the same second: try the next serial.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io(&*name, error)),
            }
        }
    }
}

impl Archive for FileArchive {
    fn appender(&self) -> Result<Box<dyn Appender>> {
        let worker = self.shared.workers.fetch_add(1, Ordering::Relaxed);
        let current = Arc::new(Mutex::new(Current::default()));
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&current));
        Ok(Box::new(FileAppender::new(self.shared.clone(), worker, random(), current)))
    }

    fn sync(&self) -> Result<Vec<Position>> {
        let files = self.shared.files().clone();
        let mut positions = Vec::new();
        for file in &files {
            // The length first: appends during the sync are not covered.
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
        for file in self.shared.files().iter() {
            if let Some(length) = lengths.get(&*file.name) {
                // A position that was never synced is not durable, whatever the caller says.
                file.committed((*length).min(file.synced.load(Ordering::Acquire)), &self.shared.payloads);
            }
        }
        self.shared.put_done_aside();
    }

    fn recover(&self, catalogued: &[Position], found: OnRecovered<'_>) -> Result<Recovery> {
        self.shared.before_first_append()?;
        recovery::recover(&self.shared.root, catalogued, found)
    }

    fn truncate_to(&self, catalogued: &[Position]) -> Result<Vec<Cut>> {
        self.shared.before_first_append()?;
        let (cuts, left) = recovery::truncate_to(&self.shared.root, catalogued)?;
        *self.shared.finished() = left.into_iter().map(|found| (found.file, found.length)).collect();
        Ok(cuts)
    }

    fn read(&self, at: &ArchiveRef) -> Result<StoredExchange> {
        reading::exchange(&|at| self.shared.open(at), at)
    }

    fn read_metadata(&self, at: &ArchiveRef) -> Result<VisitMetadata> {
        reading::metadata(&|at| self.shared.open(at), at)
    }

    fn build_index(&self, file: &str) -> Result<()> {
        recovery::build_index(&self.shared.root, file)
    }

    fn verify(&self, position: &Position) -> Result<u64> {
        let beginning = ArchiveRef { file: position.file.clone(), offset: 0 };
        reading::verify(self.shared.open(&beginning)?, position)
    }
}

impl ArchiveSpool for FileArchive {
    fn look_elsewhere(&self, open: Elsewhere) {
        if self.shared.elsewhere.set(open).is_err() {
            tracing::warn!("moved archive files can be looked up in only one place");
        }
    }
}

impl Spool for FileArchive {
    fn path(&self, file: &str) -> PathBuf {
        self.shared.root.join(file)
    }

    fn end_files(&self, begun_before: Millis) -> Result<Option<Millis>> {
        let open: Vec<Arc<Mutex<Current>>> = {
            let open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.iter().filter_map(Weak::upgrade).collect()
        };
        let mut oldest: Option<Millis> = None;
        for current in open {
            let mut current = Current::lock(&current);
            match current.begun() {
                Some(begun) if begun < begun_before => drop(current.end(&self.shared)?),
                Some(begun) => oldest = Some(oldest.map_or(begun, |other| other.min(begun))),
                None => {}
            }
        }
        Ok(oldest)
    }

    fn finished(&self) -> Result<Vec<Position>> {
        self.shared.put_done_aside();
        let finished = self.shared.finished();
        let position = |(file, length): (&Arc<str>, &u64)| Position { file: file.clone(), length: *length };
        Ok(finished.iter().map(position).collect())
    }

    fn remove(&self, file: &str) -> Result<()> {
        if self.shared.finished().remove(file).is_none() {
            let message = "is not finished, or was removed before";
            return Err(StoreError::new(ErrorKind::Usage, file, message));
        }
        let path = self.path(file);
        for gone in [index::beside(&path, index::ENDING), path] {
            match std::fs::remove_file(&gone) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io(gone.display().to_string(), error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// For names, not for secrets: the standard library gets these keys from the system.
fn random() -> [u8; 16] {
    let state = RandomState::new();
    let high = state.hash_one((now().0, "high"));
    let low = state.hash_one((std::process::id(), "low"));
    ((u128::from(high) << 64) | u128::from(low)).to_le_bytes()
}
