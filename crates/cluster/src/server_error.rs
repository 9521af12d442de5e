//! A server error: its kind, the setting of the server, and the cause.

use std::error::Error as StdError;
use std::fmt;

/// Callers decide what to do about an error only by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerErrorKind {
    /// Unreachable, hanging, or temporarily unable: the same request may succeed later.
    Unavailable,
    /// The server refuses the login.
    AccessDenied,
    /// The server differs from the settings: the operator must solve it.
    Misconfigured,
    /// The requested data existed once and is gone.
    DataLost,
    /// The server sent an invalid response.
    InvalidResponse,
}

pub type Result<T> = std::result::Result<T, ServerError>;

/// `setting`: what is wrong with the server it names.
#[derive(Debug, thiserror::Error)]
pub struct ServerError {
    pub kind: ServerErrorKind,
    /// The setting that names the server.
    pub setting: &'static str,
    /// What is wrong, and what to do about it if that helps.
    pub message: String,
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ServerError {
    pub fn new(kind: ServerErrorKind, setting: &'static str, message: impl Into<String>) -> ServerError {
        ServerError { kind, setting, message: message.into(), source: None }
    }

    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> ServerError {
        self.source = Some(Box::new(source));
        self
    }

    /// The same request may succeed later without intervention.
    pub fn is_retryable(&self) -> bool {
        self.kind == ServerErrorKind::Unavailable
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.message)
    }
}
