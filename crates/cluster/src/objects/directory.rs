//! Objects as files of a directory: a disk that all workers share, or a cluster on one machine. Metadata of an object
//! is a JSON file beside it.

use super::{ObjectHead, ObjectMetadata, Objects, checked_key, not_found};
use argiope_store::error::{ErrorKind, Result, StoreError};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const FACTS_ENDING: &str = ".object_metadata.json";
/// The name prefix of files that are being written.
const UNFINISHED: &str = ".unfinished-";
/// Metadata is short.
const LONGEST_FACTS: u64 = 64 * 1024;

pub struct Directory {
    root: PathBuf,
    place: String,
    /// Distinguishes files being written from those of other processes: process ids are the same in many containers.
    token: u64,
    serial: AtomicU64,
}

impl Directory {
    pub fn new(root: &Path) -> Directory {
        Directory {
            root: root.to_owned(),
            place: format!("file://{}", root.display()),
            token: RandomState::new().hash_one(std::process::id()),
            serial: AtomicU64::new(0),
        }
    }

    fn path(&self, key: &str) -> Result<PathBuf> {
        checked_key(key)?;
        let is_ours = key.ends_with(FACTS_ENDING) || key.split('/').any(|part| part.starts_with(UNFINISHED));
        if is_ours {
            return Err(StoreError::new(ErrorKind::Usage, key, "is no key for an object"));
        }
        Ok(self.root.join(key))
    }

    /// Writes a temporary file beside the target, durably, then renames it.
    fn write(
        &self,
        path: &Path,
        over: Over,
        fill: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let parent = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent)?;
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let draft = parent.join(format!("{UNFINISHED}{:016x}-{serial}", self.token));
        let written = File::create(&draft)
            .and_then(|mut file| {
                fill(&mut file)?;
                file.sync_all()
            })
            .and_then(|()| match over {
                Over::Anything => fs::rename(&draft, path),
                Over::Nothing => fs::hard_link(&draft, path),
            });
        // Gone already if it was renamed.
        let _ = fs::remove_file(&draft);
        written?;
        File::open(parent)?.sync_all()
    }

    fn write_object(
        &self,
        key: &str,
        object_metadata: &ObjectMetadata,
        over: Over,
        fill: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> Result<()> {
        let path = self.path(key)?;
        let failed = |error| StoreError::io(path.display().to_string(), error);
        // Metadata first: an object that exists has it.
        if !object_metadata.is_empty() {
            let text = serde_json::to_string(object_metadata).unwrap_or_default();
            let mut write_text = |file: &mut File| file.write_all(text.as_bytes());
            self.write(&facts_beside(&path), Over::Anything, &mut write_text).map_err(failed)?;
        }
        self.write(&path, over, fill).map_err(failed)
    }
}

/// What a new file may replace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Anything,
    Nothing,
}

fn facts_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(FACTS_ENDING);
    PathBuf::from(name)
}

impl Objects for Directory {
    fn place(&self) -> &str {
        &self.place
    }

    fn address(&self, key: &str) -> String {
        format!("{}/{key}", self.place)
    }

    fn check(&self) -> Result<()> {
        // Unique: others may check at the same time.
        let file = self.root.join(format!("{UNFINISHED}{:016x}-check", self.token));
        let tried = fs::create_dir_all(&self.root)
            .and_then(|()| self.write(&file, Over::Anything, &mut |_| Ok(())))
            .and_then(|()| fs::remove_file(&file));
        tried.map_err(|error| {
            let message = format!("{} cannot be written ({error})", self.root.display());
            StoreError::new(ErrorKind::Usage, "storage.html_bucket", message).with_source(error)
        })
    }

    fn put(&self, key: &str, body: &[u8], object_metadata: &ObjectMetadata) -> Result<()> {
        self.write_object(key, object_metadata, Over::Anything, &mut |file| file.write_all(body))
    }

    fn put_new(&self, key: &str, body: &[u8], object_metadata: &ObjectMetadata) -> Result<bool> {
        if self.path(key)?.exists() {
            return Ok(false);
        }
        match self.write_object(key, object_metadata, Over::Nothing, &mut |file| file.write_all(body)) {
            Ok(()) => Ok(true),
            Err(_) if self.path(key)?.exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn put_file(&self, key: &str, path: &Path, object_metadata: &ObjectMetadata) -> Result<()> {
        let mut copy = |file: &mut File| io::copy(&mut File::open(path)?, file).map(|_| ());
        self.write_object(key, object_metadata, Over::Anything, &mut copy)
    }

    fn head(&self, key: &str) -> Result<Option<ObjectHead>> {
        let path = self.path(key)?;
        let failed = |error| StoreError::io(path.display().to_string(), error);
        let length = match fs::metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut text = String::new();
        match File::open(facts_beside(&path)) {
            Ok(file) => drop(file.take(LONGEST_FACTS).read_to_string(&mut text).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => text.push_str("[]"),
            Err(error) => return Err(failed(error)),
        }
        let object_metadata = serde_json::from_str(&text).map_err(|error| {
            let message = format!("its metadata cannot be read ({error})");
            StoreError::new(ErrorKind::Corrupt, path.display().to_string(), message)
        })?;
        Ok(Some(ObjectHead { length, object_metadata }))
    }

    fn get(&self, key: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
        let path = self.path(key)?;
        let read = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => not_found(key, &self.place),
            _ => StoreError::io(path.display().to_string(), error),
        })
    }

    fn delete(&self, key: &str) -> Result<()> {
        let path = self.path(key)?;
        for gone in [path.clone(), facts_beside(&path)] {
            match fs::remove_file(&gone) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io(gone.display().to_string(), error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        // Only the directories that can contain such keys are walked.
        let (folder, _) = prefix.rsplit_once('/').unwrap_or(("", prefix));
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(self.root.join(&folder)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(|error| StoreError::io(folder.clone(), error))?,
            };
            for entry in entries {
                let entry = entry.map_err(|error| StoreError::io(folder.clone(), error))?;
                let name = entry.file_name();
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                    continue;
                };
                let key = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                let kind = entry.file_type().map_err(|error| StoreError::io(key.clone(), error))?;
                if kind.is_dir() {
                    if key.starts_with(prefix) || prefix.starts_with(&key) {
                        folders.push(key);
                    }
                } else if !key.ends_with(FACTS_ENDING) && key.starts_with(prefix) {
                    keys.push(key);
                }
            }
        }
        keys.retain(|key| after.is_none_or(|after| key.as_str() > after));
        keys.sort_unstable();
        keys.truncate(limit);
        Ok(keys)
    }
}
