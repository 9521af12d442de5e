//! A file that is written completely or not at all.

use crate::error::{ErrorKind, Result, StoreError};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Lets `write` fill a temporary file beside `path` and renames it when all of it is on disk. After a failure, the
/// previous file at `path` is still there.
pub fn write_atomically<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let subject = path.display().to_string();
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(StoreError::new(ErrorKind::Usage, subject, "is not a file name"));
    };
    // The process id keeps two exports to one file from writing into each other's temporary.
    let temporary = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let outcome = fill(&temporary, path, write);
    if outcome.is_err() {
        // The first error is reported; a temporary file that cannot be removed either is only litter.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

fn fill<T>(temporary: &Path, path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let about = |error| StoreError::io(path.display().to_string(), error);
    let mut buffered = BufWriter::with_capacity(1 << 18, File::create(temporary).map_err(about)?);
    let value = write(&mut buffered)?;
    let file = buffered.into_inner().map_err(|error| about(error.into_error()))?;
    file.sync_all().map_err(about)?;
    fs::rename(temporary, path).map_err(about)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_export_leaves_the_old_file_and_no_litter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.csv");
        write_atomically(&path, |to| to.write_all(b"old").map_err(|e| StoreError::io("x", e))).unwrap();
        let failed: Result<()> = write_atomically(&path, |to| {
            to.write_all(b"half").map_err(|e| StoreError::io("x", e))?;
            Err(StoreError::new(ErrorKind::Io, "x", "broken"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = write_atomically(Path::new("/nonexistent/x/pages.csv"), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(error.to_string().contains("pages.csv"));
    }
}
