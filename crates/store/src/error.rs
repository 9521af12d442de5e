//! The error of this crate and of the adapters of its ports: kind, subject and cause.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// Callers decide what to do about an error only by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The data cannot be trusted; the message says how to recover.
    Corrupt,
    /// The reader of our output has closed it.
    OutputClosed,
    /// No room left on the device. Nothing of the failed batch is stored.
    DiskFull,
    /// Another process holds what is needed; a retry may help.
    Busy,
    /// A server does not respond; a retry may help.
    Unreachable,
    /// Written by a newer version of the program.
    TooNew,
    /// Another worker has taken over: nothing was written, and nothing may be.
    Fenced,
    /// What was requested does not exist.
    NotFound,
    /// The request contradicts what is stored, or is invalid: the user has to change it.
    Usage,
    /// Reading or writing failed for another reason.
    Io,
}

impl ErrorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::OutputClosed => "output closed",
            ErrorKind::DiskFull => "disk full",
            ErrorKind::Busy => "busy",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::TooNew => "too new",
            ErrorKind::Fenced => "fenced",
            ErrorKind::NotFound => "not found",
            ErrorKind::Usage => "usage",
            ErrorKind::Io => "i/o",
        }
    }
}

pub type Result<T> = std::result::Result<T, StoreError>;

/// `subject`: what was wrong with it. The source, if there is one, is the error of the layer below.
#[derive(Debug, thiserror::Error)]
pub struct StoreError {
    pub kind: ErrorKind,
    /// The path, URL, job or key the error is about.
    pub subject: String,
    /// What is wrong, and what to do about it.
    pub message: String,
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl From<argiope_model::ArchiveRefError> for StoreError {
    fn from(error: argiope_model::ArchiveRefError) -> StoreError {
        let message = error.to_string();
        StoreError::new(ErrorKind::Usage, error.text, message)
    }
}

impl StoreError {
    pub fn new(kind: ErrorKind, subject: impl Into<String>, message: impl Into<String>) -> StoreError {
        StoreError { kind, subject: subject.into(), message: message.into(), source: None }
    }

    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> StoreError {
        self.source = Some(Box::new(source));
        self
    }

    /// An I/O error about `subject`; a full disk has its own kind.
    pub fn io(subject: impl Into<String>, error: io::Error) -> StoreError {
        let (kind, message) = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (ErrorKind::DiskFull, String::from("no space left; free some and run the same command again"))
            }
            io::ErrorKind::NotFound => (ErrorKind::NotFound, error.to_string()),
            io::ErrorKind::BrokenPipe => (ErrorKind::OutputClosed, error.to_string()),
            _ => (ErrorKind::Io, error.to_string()),
        };
        StoreError { kind, subject: subject.into(), message, source: Some(Box::new(error)) }
    }

    /// Whether a retry may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ErrorKind::Busy | ErrorKind::Unreachable)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_failures() {
        let full = StoreError::io("archive/a.warc.gz", io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.kind, ErrorKind::DiskFull);
        assert!(full.to_string().starts_with("archive/a.warc.gz: no space left"), "{full}");
        let denied = StoreError::io("x", io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(denied.kind, ErrorKind::Io);
    }

    #[test]
    fn only_what_is_busy_or_away_is_worth_another_try() {
        assert!(StoreError::new(ErrorKind::Busy, "catalog.db", "locked").is_retryable());
        assert!(StoreError::new(ErrorKind::Unreachable, "database", "away").is_retryable());
        assert!(!StoreError::new(ErrorKind::DiskFull, "catalog.db", "full").is_retryable());
    }
}
