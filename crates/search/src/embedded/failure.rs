//! Errors of tantivy as errors of stores, with what to do about them.

use argiope_store::error::{ErrorKind, Result, StoreError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};

pub(super) fn failure(directory: &Path, error: TantivyError) -> StoreError {
    let subject = directory.display().to_string();
    let io = |error: &std::sync::Arc<std::io::Error>| {
        if matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) {
            return corrupt(directory, &error.to_string());
        }
        StoreError::io(subject.clone(), std::io::Error::new(error.kind(), error.to_string()))
    };
    match &error {
        TantivyError::LockFailure(LockError::LockBusy, _) => {
            let message = "another process writes this search index; only one can";
            StoreError::new(ErrorKind::Busy, subject, message)
        }
        TantivyError::IoError(error) => io(error),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => io(io_error),
        TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(path)) => {
            corrupt(directory, &format!("{} is missing", path.display()))
        }
        TantivyError::DataCorruption(_)
        | TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(_))
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::SchemaError(_)
        | TantivyError::DeserializeError(_) => corrupt(directory, &error.to_string()),
        _ => StoreError::new(ErrorKind::Io, subject, error.to_string()),
    }
}

pub(super) fn corrupt(directory: &Path, what: &str) -> StoreError {
    let message =
        format!("the search index is damaged ({what}); delete this directory and it is built again");
    StoreError::new(ErrorKind::Corrupt, directory.display().to_string(), message)
}

/// Files that are damaged may also make tantivy panic. That must not end the crawl.
pub(super) fn guarded<T>(directory: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(corrupt(directory, "it cannot be read")))
}
