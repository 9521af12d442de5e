//! What can end a crawl.

use argiope_frontier::state::StateError;
use argiope_store::error::{ErrorKind, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the disk is full: {0}")]
    DiskFull(String),
    #[error("{0}")]
    Corrupt(String),
    #[error("{0}")]
    Store(String),
    #[error("{0}")]
    Settings(String),
    #[error("the login failed: {0}")]
    Login(String),
    /// The reader of a pipe has closed it.
    #[error("{0}")]
    OutputClosed(String),
    /// Another worker has taken over: nothing more may be written.
    #[error("{0}")]
    Fenced(String),
    #[error("a part of the crawl ended unexpectedly: {0}")]
    Panicked(String),
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> EngineError {
        match error.kind {
            ErrorKind::DiskFull => EngineError::DiskFull(error.to_string()),
            ErrorKind::Corrupt => EngineError::Corrupt(error.to_string()),
            ErrorKind::Usage => EngineError::Settings(error.to_string()),
            ErrorKind::Fenced => EngineError::Fenced(error.to_string()),
            ErrorKind::OutputClosed => EngineError::OutputClosed(error.to_string()),
            _ => EngineError::Store(error.to_string()),
        }
    }
}

impl From<StateError> for EngineError {
    fn from(error: StateError) -> EngineError {
        match error {
            StateError::DiskFull(_) => EngineError::DiskFull(error.to_string()),
            StateError::Corrupt(_) => EngineError::Corrupt(error.to_string()),
            StateError::Lost(_) => EngineError::Store(error.to_string()),
            StateError::Store(ref source) => EngineError::Store(format!("{error}: {source}")),
        }
    }
}
