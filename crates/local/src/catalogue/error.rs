//! Maps SQLite's errors to those of the port.

use argiope_store::error::{ErrorKind, StoreError};
use rusqlite::ErrorCode;
use std::path::Path;

/// What is wrong with the database at `path`, and what to do about it.
pub(super) fn database_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let subject = path.display().to_string();
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            (ErrorKind::Corrupt, damaged(&error.to_string()))
        }
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::DiskFull, "no space left; free some and run the same command again".to_owned())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            ErrorKind::Busy,
            "another process is using the catalogue; try again when it has ended".to_owned(),
        ),
        Some(ErrorCode::CannotOpen) => (ErrorKind::NotFound, format!("cannot be opened: {error}")),
        _ => match &error {
            // Rows that do not decode were not written by this program.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => (ErrorKind::Corrupt, damaged(&error.to_string())),
            _ => (ErrorKind::Io, error.to_string()),
        },
    };
    StoreError::new(kind, subject, message).with_source(error)
}

/// The archive is complete without the catalogue, and an older catalogue is brought up to date from it.
pub(super) fn damaged(what: &str) -> String {
    format!(
        "the catalogue is damaged ({what}); restore it from a backup; newer pages are restored from the archive"
    )
}
