//! The data directory: its layout, its lock, and what was fixed when it was created.
//!
//! `meta.json` has the number of shards and the key of the fingerprints, `public_suffix_list.dat` the list for root
//! domains. These three decide which shard a host belongs to, and never change.

mod worker;

pub use worker::{Spooled, WorkerDirectory};

use crate::descriptors;
use argiope_config::Failure;
use argiope_frontier::state::{ShardState, StateError};
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_local::catalogue::{self, CatalogueSettings, SqliteCatalogue, SqliteReader};
use argiope_local::frontier::FjallState;
use argiope_local::links::SegmentLinks;
use argiope_model::{FingerprintKey, PublicSuffixes};
use argiope_store::catalogue::{Catalogue, CatalogueReader};
use argiope_store::error::{ErrorKind, StoreError};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const META: &str = "meta.json";
const SUFFIXES: &str = "public_suffix_list.dat";
const LOCK: &str = "lock";
/// Commands that only read hold the lock for a moment; others wait that long.
const LOCK_TRIES: u32 = 10;
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_millis(50);
/// The layout this program writes. 2: the frontier counts a job's URLs by shard.
const VERSION: u32 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Meta {
    version: u32,
    shards: u16,
    /// 32 hex digits.
    fingerprint_key: String,
}

/// The parameters that decide which shard a host belongs to. They never change.
#[derive(Clone)]
pub struct Fixed {
    pub shards: u16,
    pub fingerprint_key: FingerprintKey,
    pub suffixes: Arc<PublicSuffixes>,
}

/// A data directory that this process owns.
pub struct DataDirectory {
    pub path: PathBuf,
    pub fixed: Fixed,
    /// Nothing was ever crawled into it.
    pub is_new: bool,
    /// Held open: the lock ends with the process, however it ends.
    _lock: File,
}

/// The socket of the running owner.
pub fn socket_path(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}

impl DataDirectory {
    /// Locks the directory for this process; creates it if needed.
    pub fn open(path: &Path, shards: u16) -> Result<DataDirectory, Failure> {
        fs::create_dir_all(path).map_err(|e| cannot(path, "create the data directory", &e))?;
        let lock = take_lock(path)?;
        let is_new = !is_begun(path) && !has_content(&path.join(catalogue::FILE_NAME));
        let meta = match read_meta(path)? {
            Some(meta) => meta,
            None => create(path, shards)?,
        };
        DataDirectory::with(path, meta, is_new, lock)
    }

    /// Locks an existing directory.
    pub fn open_existing(path: &Path) -> Result<DataDirectory, Failure> {
        if read_meta(path)?.is_none() {
            return Err(missing(path));
        }
        DataDirectory::open(path, 0)
    }

    fn with(path: &Path, meta: Meta, is_new: bool, lock: File) -> Result<DataDirectory, Failure> {
        let key = decode_key(&meta.fingerprint_key)
            .ok_or_else(|| damaged(path, "its fingerprint key is invalid"))?;
        Ok(DataDirectory {
            path: path.to_owned(),
            fixed: Fixed {
                shards: meta.shards,
                fingerprint_key: FingerprintKey::new(key),
                suffixes: Arc::new(suffixes(path)?),
            },
            is_new,
            _lock: lock,
        })
    }

    pub fn state(&self) -> Result<Box<dyn ShardState>, Failure> {
        let state = FjallState::open_with_files(&self.path.join("frontier"), descriptors::table_files())
            .map_err(|e| state_failure(&self.path, &e))?;
        Ok(Box::new(state))
    }

    /// Created only if the directory is empty: other stores make no sense without it.
    pub fn catalogue(&self) -> Result<Box<dyn Catalogue>, Failure> {
        let path = self.path.join(catalogue::FILE_NAME);
        if !has_content(&path) && is_begun(&self.path) {
            return Err(without_catalogue(&self.path));
        }
        let catalogue =
            SqliteCatalogue::open(&path, CatalogueSettings::default()).map_err(|e| store_failure(&e))?;
        Ok(Box::new(catalogue))
    }

    pub fn archive(
        &self,
        user_agent: &str,
        obeys_robots: bool,
        rotate_bytes: u64,
    ) -> Result<FileArchive, Failure> {
        let mut options = ArchiveOptions { rotate_bytes, ..ArchiveOptions::default() };
        options.info.user_agent = Some(user_agent.to_owned());
        options.info.robots = String::from(if obeys_robots { "obey" } else { "ignore" });
        FileArchive::open(&self.path.join("archive"), options).map_err(|e| store_failure(&e))
    }

    pub fn links(&self) -> Result<SegmentLinks, Failure> {
        SegmentLinks::open(&self.path.join("links")).map_err(|e| store_failure(&e))
    }
}

/// The process that owns the directory, as far as known.
pub fn owner_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path.join(LOCK)).ok()?.trim().parse().ok()
}

/// The same for a message.
pub fn owning_process(path: &Path) -> String {
    owner_pid(path).map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
}

/// Whether a process owns the directory now.
pub fn is_owned(path: &Path) -> bool {
    let Ok(lock) = File::open(path.join(LOCK)) else { return false };
    matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}

/// The catalogue of a directory, for reading beside its writer.
pub fn reader(path: &Path) -> Result<SqliteReader, Failure> {
    let file = path.join(catalogue::FILE_NAME);
    if !has_content(&file) {
        return Err(if is_begun(path) { without_catalogue(path) } else { missing(path) });
    }
    SqliteReader::open(&file).map_err(|e| store_failure(&e))
}

/// The same if there may be no crawl yet.
pub fn reader_if_any(path: &Path) -> Result<Option<SqliteReader>, Failure> {
    if has_content(&path.join(catalogue::FILE_NAME)) || is_begun(path) {
        return reader(path).map(Some);
    }
    Ok(None)
}

/// The Public Suffix List with which a directory was created.
pub fn suffixes(path: &Path) -> Result<PublicSuffixes, Failure> {
    let text =
        fs::read_to_string(path.join(SUFFIXES)).map_err(|e| damaged(path, &format!("{SUFFIXES}: {e}")))?;
    PublicSuffixes::parse(&text).map_err(|e| damaged(path, &e))
}

fn missing(path: &Path) -> Failure {
    Failure::failed(format!("there is no data in {}", path.display()))
        .hint("name the directory of a crawl with --data DIR, or start one with 'argiope crawl URL'")
}

/// Whether a crawl has stored something beside the catalogue, which comes first.
fn is_begun(path: &Path) -> bool {
    ["frontier", "archive", "links"].iter().any(|store| path.join(store).exists())
}

fn has_content(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.len() > 0)
}

fn without_catalogue(path: &Path) -> Failure {
    let file = catalogue::FILE_NAME;
    Failure::failed(format!(
        "the data directory {} is damaged: {file}, with its jobs and pages, is missing",
        path.display()
    ))
    .hint(format!(
        "nothing was changed; restore {file} from a backup (newer pages of its jobs are restored from the \
         archive), or start over in another directory (--data DIR); archived content can still be read from \
         archive/"
    ))
}

/// Archive files that the catalogue refers to and that are missing.
pub fn missing_archive_files(path: &Path, reader: &dyn CatalogueReader) -> Result<Vec<String>, Failure> {
    let known = reader.archive_positions().map_err(|e| store_failure(&e))?;
    let folder = path.join("archive");
    Ok(known.into_iter().map(|position| position.file).filter(|file| !folder.join(file).exists()).collect())
}

fn take_lock(path: &Path) -> Result<File, Failure> {
    let file = path.join(LOCK);
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file)
        .map_err(|e| cannot(path, "lock the data directory", &e))?;
    let mut taken = lock.try_lock();
    for _ in 0..LOCK_TRIES {
        if !matches!(taken, Err(fs::TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(LOCK_WAIT);
        taken = lock.try_lock();
    }
    match taken {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let _ = lock.read_to_string(&mut owner);
            let owner = owner.trim();
            let who =
                if owner.is_empty() { String::from("another process") } else { format!("process {owner}") };
            return Err(Failure::failed(format!("{} is in use by {who}", path.display()))
                .hint("wait for it to end, stop it, or use another directory with --data DIR"));
        }
        Err(fs::TryLockError::Error(error)) => return Err(cannot(path, "lock the data directory", &error)),
    }
    let written = lock
        .set_len(0)
        .and_then(|()| lock.seek(SeekFrom::Start(0)))
        .and_then(|_| writeln!(lock, "{}", std::process::id()))
        .and_then(|()| lock.flush());
    written.map_err(|e| cannot(path, "lock the data directory", &e))?;
    Ok(lock)
}

fn read_meta(path: &Path) -> Result<Option<Meta>, Failure> {
    let text = match fs::read_to_string(path.join(META)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(damaged(path, &format!("{META}: {error}")));
        }
        Err(error) => return Err(cannot(path, "read the data directory", &error)),
    };
    let meta: Meta = serde_json::from_str(&text).map_err(|e| damaged(path, &format!("{META}: {e}")))?;
    if meta.version > VERSION {
        let text = format!("{} was made by a newer version of argiope", path.display());
        return Err(Failure::failed(text).hint("use that version, or another directory with --data DIR"));
    }
    if meta.version < VERSION {
        let text = format!(
            "{} was made by an older version of argiope: its queues are of layout {}, this one reads {VERSION}",
            path.display(),
            meta.version
        );
        let hint = "finish its crawls with that version, or crawl into another directory with --data DIR; \
                    export, report and audit can read it";
        return Err(Failure::failed(text).hint(hint));
    }
    Ok(Some(meta))
}

/// The list first: a directory without `meta.json` was never initialized.
fn create(path: &Path, shards: u16) -> Result<Meta, Failure> {
    let begun = path.join(catalogue::FILE_NAME).exists() || path.join("frontier").exists();
    if begun {
        return Err(damaged(path, &format!("{META} is missing")));
    }
    let mut key = [0u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut key))
        .map_err(|e| Failure::failed(format!("no random numbers available: {e}")))?;
    let hex = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let meta = Meta { version: VERSION, shards: shards.max(1), fingerprint_key: hex };
    write_whole(&path.join(SUFFIXES), PublicSuffixes::BUNDLED.as_bytes())
        .and_then(|()| write_whole(&path.join(META), &serde_json::to_vec_pretty(&meta)?))
        .and_then(|()| File::open(path)?.sync_all())
        .map_err(|e| cannot(path, "write the data directory", &e))?;
    Ok(meta)
}

/// All of it or nothing.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)
}

fn decode_key(hex: &str) -> Option<[u8; 16]> {
    let mut key = [0; 16];
    if hex.len() != 32 {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(key)
}

fn cannot(path: &Path, what: &str, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot {what} {}: {error}", path.display()))
        .hint("--data DIR, or ARGIOPE_DATA, must name a directory that can be written or created")
}

fn damaged(path: &Path, what: &str) -> Failure {
    Failure::failed(format!("the data directory {} is damaged: {what}", path.display()))
        .hint("restore it from a backup, or start over in another directory (--data DIR)")
}

pub fn store_failure(error: &StoreError) -> Failure {
    let failure = match error.kind {
        ErrorKind::Usage => Failure::usage(error),
        _ => Failure::failed(argiope_config::chain(error)),
    };
    let failure = failure.passing(matches!(error.kind, ErrorKind::Unreachable | ErrorKind::Busy));
    match error.kind {
        ErrorKind::DiskFull => failure.hint(DISK_FULL),
        ErrorKind::Corrupt => failure.hint(CORRUPT),
        ErrorKind::Io if failure.messages.iter().any(|text| descriptors::ran_out(text)) => {
            failure.hint(descriptors::TOO_MANY_FILES)
        }
        _ => failure,
    }
}

pub const DISK_FULL: &str = "free some space and run the same command again to resume";
pub const CORRUPT: &str = "nothing was changed; restore the data directory from a backup, or start over in \
                           another one (--data DIR)";

pub fn state_failure(path: &Path, error: &StateError) -> Failure {
    let place = path.join("frontier");
    let text = format!("{}: {}", place.display(), argiope_config::chain(error));
    match error {
        StateError::DiskFull(_) => Failure::failed(text).hint(DISK_FULL),
        StateError::Store(_) if descriptors::ran_out(&text) => {
            Failure::failed(text).hint(descriptors::TOO_MANY_FILES)
        }
        StateError::Corrupt(_) | StateError::Store(_) => Failure::failed(text).hint(CORRUPT),
        StateError::Lost(_) => Failure::failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fixed_at_creation_stays() {
        let directory = tempfile::tempdir().unwrap();
        let url = "https://example.com/";
        let first = DataDirectory::open(directory.path(), 8).unwrap();
        let print = first.fixed.fingerprint_key.of(url, 0);
        drop(first);
        let second = DataDirectory::open(directory.path(), 64).unwrap();
        assert_eq!(second.fixed.shards, 8);
        assert_eq!(second.fixed.fingerprint_key.of(url, 0), print);
    }

    #[test]
    fn a_directory_of_an_older_layout_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let older = format!(r#"{{"version":1,"shards":64,"fingerprint_key":"{}"}}"#, "0".repeat(32));
        fs::write(directory.path().join(META), &older).unwrap();
        let failure = DataDirectory::open(directory.path(), 8).err().unwrap();
        assert!(failure.messages[0].contains("older version"), "{failure:?}");
        assert!(failure.hint.unwrap().contains("--data"));
        assert_eq!(fs::read_to_string(directory.path().join(META)).unwrap(), older);
        assert!(!directory.path().join("frontier").exists());
    }

    #[test]
    fn a_second_owner_is_refused_and_told_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let _first = DataDirectory::open(directory.path(), 8).unwrap();
        let failure = DataDirectory::open(directory.path(), 8).err().unwrap();
        let text = failure.messages.join("\n");
        assert!(text.contains(&std::process::id().to_string()), "{text}");
    }

    #[test]
    fn a_directory_without_its_key_is_not_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("frontier")).unwrap();
        assert!(DataDirectory::open(directory.path(), 8).is_err());
        assert!(DataDirectory::open_existing(directory.path()).is_err());
    }

    #[test]
    fn a_catalogue_is_made_only_where_nothing_else_is() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDirectory::open(directory.path(), 8).unwrap();
        assert!(data.catalogue().is_ok());
        drop(data.links().unwrap());
        assert!(data.catalogue().is_ok());
        fs::write(directory.path().join(catalogue::FILE_NAME), "").unwrap();
        for failure in [data.catalogue().err().unwrap(), reader(directory.path()).err().unwrap()] {
            assert!(failure.messages[0].contains("catalog.db"), "{failure:?}");
            assert!(failure.hint.unwrap().contains("backup"));
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(reader(empty.path()).err().unwrap().messages[0].contains("no data"));
    }
}
