//! Errors of the lab itself. The faults it simulates are not errors here.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("the lab cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the lab cannot use its log {path}: {source}")]
    Log { path: PathBuf, source: io::Error },
    #[error("line {line} of the log {path} is no log entry: {source}")]
    LogLine { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("the lab cannot use {path}: {reason}")]
    Certificate { path: PathBuf, reason: String },
    #[error("{0}")]
    Config(String),
    #[error("the lab's thread cannot be started: {0}")]
    Thread(io::Error),
    #[error("the lab has stopped")]
    Stopped,
}

impl LabError {
    /// A port that is in use may be free a moment later; nothing else here resolves itself.
    pub fn is_retryable(&self) -> bool {
        matches!(self, LabError::Listen { .. })
    }
}
