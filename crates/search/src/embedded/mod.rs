//! The index on one machine's disk: tantivy in a directory of its own. One process writes, others search beside it. The
//! position is the payload of tantivy's commit, so that documents and position are durable together.
//!
//! An index that is damaged, or of another format, is deleted and built again from the beginning: it has nothing that
//! catalogue and archive do not have.

mod collapse;
mod compiled_query;
mod exclusion;
mod facets;
mod failure;
mod reader;
mod schema;
mod spelling;
mod word_tokenizer;
mod writer;

pub use reader::EmbeddedReader;
pub use writer::{EmbeddedWriter, WriterOptions};

use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::Position;
use failure::{corrupt, failure, guarded};
use schema::{FORMAT, Fields};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tantivy::Index;
use tantivy::directory::MmapDirectory;

/// In every directory of ours: nothing is deleted where it is not. Its text is the format.
const MARK: &str = "argiope-search-format";
/// Locked by the process that writes, also while it makes the index or deletes one that is damaged.
const LOCK: &str = "argiope-search-lock";

/// An index that is open, for one writer or any number of readers.
#[derive(Clone)]
struct Opened {
    directory: PathBuf,
    index: Index,
    fields: Arc<Fields>,
}

/// The payload of a commit.
#[derive(Serialize, Deserialize)]
struct StoredPosition {
    page: u64,
    batch: u64,
}

/// After the last commit.
fn stored_position(opened: &Opened) -> Result<Position> {
    let metas = opened.index.load_metas().map_err(|error| failure(&opened.directory, error))?;
    let Some(payload) = metas.payload else { return Ok(Position::default()) };
    let StoredPosition { page, batch } = serde_json::from_str(&payload)
        .map_err(|error| corrupt(&opened.directory, &format!("its position: {error}")))?;
    Ok(Position { page, batch })
}

/// What was found where an index should be.
enum Found {
    Good(Opened),
    Nothing,
    /// It cannot be used; the text says why.
    Bad(String),
}

/// The format of the index; none where there is nothing.
fn find_mark(directory: &Path) -> Result<Option<String>> {
    let mark = directory.join(MARK);
    match std::fs::read_to_string(&mark) {
        Ok(format) => Ok(Some(format)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if contents(directory)?.is_empty() {
                return Ok(None);
            }
            let message = "has files, but is no search index; move them away, or choose another directory";
            Err(StoreError::new(ErrorKind::Usage, directory.display().to_string(), message))
        }
        Err(error) => Err(StoreError::io(mark.display().to_string(), error)),
    }
}

fn find(directory: &Path) -> Result<Found> {
    let Some(format) = find_mark(directory)? else { return Ok(Found::Nothing) };
    if format.trim() != FORMAT.to_string() {
        return Ok(Found::Bad(format!("its format is {}, this program writes {FORMAT}", format.trim())));
    }
    match guarded(directory, || open(directory)) {
        Ok(opened) => Ok(Found::Good(opened)),
        Err(error) if error.kind == ErrorKind::Corrupt => Ok(Found::Bad(error.message)),
        Err(error) => Err(error),
    }
}

/// Opens every segment once, so that what is missing or cut off is found now.
fn open(directory: &Path) -> Result<Opened> {
    let failed = |error| failure(directory, error);
    let mapped = MmapDirectory::open(directory).map_err(|error| failed(error.into()))?;
    if !Index::exists(&mapped).map_err(|error| failed(error.into()))? {
        return Err(corrupt(directory, "meta.json is missing"));
    }
    let index = Index::open(mapped).map_err(failed)?;
    let fields = Fields::new();
    if index.schema() != fields.schema {
        return Err(corrupt(directory, "its fields are others than this program knows"));
    }
    schema::register_words(&index);
    let reader = index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual).try_into();
    let reader: tantivy::IndexReader = reader.map_err(failed)?;
    drop(reader);
    Ok(Opened { directory: directory.to_owned(), index, fields: Arc::new(fields) })
}

fn create(directory: &Path) -> Result<Opened> {
    let io = |path: &Path| {
        let path = path.display().to_string();
        move |error| StoreError::io(path, error)
    };
    std::fs::create_dir_all(directory).map_err(io(directory))?;
    // First: what is created by halves can be told from what is not ours.
    let mark = directory.join(MARK);
    std::fs::write(&mark, format!("{FORMAT}\n")).map_err(io(&mark))?;
    let fields = Fields::new();
    let builder = Index::builder().schema(fields.schema.clone()).settings(schema::settings());
    let index = builder.create_in_dir(directory).map_err(|error| failure(directory, error))?;
    schema::register_words(&index);
    Ok(Opened { directory: directory.to_owned(), index, fields: Arc::new(fields) })
}

/// Takes the directory for writing, and makes it where it is missing. The lock goes with the process, however it ends.
fn lock(directory: &Path) -> Result<File> {
    let io = |error| StoreError::io(directory.display().to_string(), error);
    // A directory of others is refused before anything is put into it.
    find_mark(directory)?;
    std::fs::create_dir_all(directory).map_err(io)?;
    let lock = File::create(directory.join(LOCK)).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            let message = "another process writes this search index";
            Err(StoreError::new(ErrorKind::Busy, directory.display().to_string(), message))
        }
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// Removes the files of an index of ours, but for the lock.
fn remove(directory: &Path) -> Result<()> {
    for path in contents(directory)? {
        let removed =
            if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(|error| StoreError::io(path.display().to_string(), error))?;
    }
    Ok(())
}

/// What is in the directory beside the lock; nothing where it does not exist.
fn contents(directory: &Path) -> Result<Vec<PathBuf>> {
    let io = |error| StoreError::io(directory.display().to_string(), error);
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(io)?.path();
        if !path.ends_with(LOCK) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Reads every byte of the index and compares checksums. The files that are damaged.
pub fn check(directory: &Path) -> Result<Vec<PathBuf>> {
    match find(directory)? {
        Found::Good(opened) => guarded(directory, || {
            let damaged = opened.index.validate_checksum().map_err(|error| failure(directory, error))?;
            Ok(damaged.into_iter().collect())
        }),
        Found::Nothing => Ok(Vec::new()),
        Found::Bad(why) => Err(corrupt(directory, &why)),
    }
}

#[cfg(test)]
mod tests;
