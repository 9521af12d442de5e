//! Repairs the archive after an unclean stop: incomplete tails are cut. Complete visits are returned, or cut as well if
//! they will be fetched again.

use super::index::{ENDING, IndexBuilder, RUNS_ENDING, UNFINISHED_ENDING, beside};
use crate::disk::sync_directory;
use argiope_store::archive::reading::{ADVICE, corrupt};
use argiope_store::archive::{ArchiveRef, Cut, OnRecovered, Position, RecoveredVisit, Recovery};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::{VisitReader, WarcFault, cdxj};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

const WARC_ENDING: &str = ".warc.gz";

fn lengths(catalogued: &[Position]) -> HashMap<&str, u64> {
    let mut lengths: HashMap<&str, u64> = HashMap::with_capacity(catalogued.len());
    for position in catalogued {
        let length = lengths.entry(&position.file).or_default();
        *length = position.length.max(*length);
    }
    lengths
}

pub(super) fn recover(root: &Path, catalogued: &[Position], found: OnRecovered<'_>) -> Result<Recovery> {
    let lengths = lengths(catalogued);
    let mut recovery = Recovery::default();
    let failed = |error| StoreError::io(root.display().to_string(), error);
    // Returned visits are catalogued next, so their files must survive a power cut from now on.
    sync_directory(root).map_err(failed)?;
    for name in warc_files(root).map_err(failed)? {
        let length = lengths.get(&*name).copied().unwrap_or(0);
        recover_file(root, &name, length, found, &mut recovery)?;
    }
    if !recovery.cuts.is_empty() {
        sync_directory(root).map_err(failed)?;
    }
    Ok(recovery)
}

/// Returns what was cut, and the remaining files, each with its index.
pub(super) fn truncate_to(root: &Path, catalogued: &[Position]) -> Result<(Vec<Cut>, Vec<Position>)> {
    let lengths = lengths(catalogued);
    let failed = |error| StoreError::io(root.display().to_string(), error);
    // Damage is found before anything is changed.
    let mut found = Vec::new();
    for file in warc_files(root).map_err(failed)? {
        let length = lengths.get(&*file).copied().unwrap_or(0);
        let bytes = length_of(&root.join(&*file), &file, length)? - length;
        found.push((file, length, bytes));
    }
    let (mut cuts, mut left) = (Vec::new(), Vec::new());
    for (file, length, bytes) in found {
        let path = root.join(&*file);
        let failed = |error| StoreError::io(&*file, error);
        if length == 0 {
            remove(&path).map_err(failed)?;
        } else if bytes > 0 {
            cut(&path, length).map_err(failed)?;
            remove(&beside(&path, ENDING)).map_err(failed)?;
        }
        let now = Position { file: file.clone(), length };
        if bytes > 0 {
            let reason = String::from("the catalogue does not have it");
            cuts.push(Cut { now: now.clone(), bytes, reason });
        }
        if length > 0 {
            if !beside(&path, ENDING).exists() {
                build_index(root, &file)?;
            }
            left.push(now);
        }
    }
    sync_directory(root).map_err(failed)?;
    Ok((cuts, left))
}

/// The length of a file, which must be at least its catalogued length.
fn length_of(path: &Path, name: &str, catalogued: u64) -> Result<u64> {
    let length = std::fs::metadata(path).map_err(|error| StoreError::io(name, error))?.len();
    if length < catalogued {
        let message =
            format!("ends at offset {length}, though the catalogue has visits up to {catalogued}; {ADVICE}");
        return Err(StoreError::new(ErrorKind::Corrupt, name, message));
    }
    Ok(length)
}

/// Missing files are ignored.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The WARC files by name, which is by age; leftovers of an interrupted indexing are removed.
fn warc_files(root: &Path) -> io::Result<Vec<Arc<str>>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        if name.ends_with(WARC_ENDING) {
            names.push(name.into());
        } else if name.ends_with(RUNS_ENDING) || name.ends_with(UNFINISHED_ENDING) {
            std::fs::remove_file(entry.path())?;
        }
    }
    names.sort();
    Ok(names)
}

fn recover_file(
    root: &Path,
    name: &Arc<str>,
    catalogued: u64,
    found: OnRecovered<'_>,
    recovery: &mut Recovery,
) -> Result<()> {
    let path = root.join(&**name);
    let failed = |error| StoreError::io(&**name, error);
    let length = length_of(&path, name, catalogued)?;
    let mut complete = catalogued;
    let mut visits_found = 0;
    if length > catalogued {
        let mut file = File::open(&path).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        file.seek(SeekFrom::Start(catalogued)).map_err(failed)?;
        let mut visits = VisitReader::new(file, catalogued);
        let reason = loop {
            match visits.next_visit() {
                Ok(Some(visit)) => {
                    visits_found += 1;
                    found(RecoveredVisit {
                        at: ArchiveRef { file: name.clone(), offset: visit.start },
                        end: visit.end,
                        has_response: visit.capture.is_some(),
                        duplicate_of: visit.capture.and_then(|capture| capture.same_as),
                        metadata: visit.metadata,
                    })?;
                }
                Ok(None) => break String::from("the visit has no metadata record"),
                // A disk that cannot be read is no reason to delete its contents.
                Err(error) if matches!(error.fault, WarcFault::Io(_)) => return Err(corrupt(name, error)),
                Err(error) => break error.to_string(),
            }
        };
        complete = visits.complete();
        if complete < length {
            cut(&path, complete).map_err(failed)?;
            let now = Position { file: name.clone(), length: complete };
            recovery.cuts.push(Cut { now, bytes: length - complete, reason });
        }
    }
    recovery.visits += visits_found;
    if catalogued == 0 && visits_found == 0 {
        // Only the first record of a file, at most: nothing refers to it.
        std::fs::remove_file(&path).map_err(failed)?;
        let _ = std::fs::remove_file(beside(&path, ENDING));
        if let Some(cut) = recovery.cuts.last_mut().filter(|cut| cut.now.file == *name) {
            cut.now.length = 0;
        }
        return Ok(());
    }
    if complete < length {
        remove(&beside(&path, ENDING)).map_err(failed)?;
    }
    if !beside(&path, ENDING).exists() {
        recovery.unindexed.push(name.clone());
    }
    Ok(())
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_data()
}

pub(super) fn build_index(root: &Path, name: &str) -> Result<()> {
    let path = root.join(name);
    let file = File::open(&path).map_err(|error| StoreError::io(name, error))?;
    let mut index = IndexBuilder::new(&path);
    let mut visits = VisitReader::new(file, 0);
    while let Some(visit) = visits.next_visit().map_err(|error| corrupt(name, error))? {
        if let Some(capture) = &visit.capture {
            index.push(cdxj::line(capture, name))?;
        }
    }
    index.finish()
}
