//! What went wrong with a server: what kind of kind, which setting leads to it, and why.

use std::error::Error as StdError;
use std::fmt;

/// What a caller can do about it depends on this alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerErrorKind {
    /// Not reachable, hanging, or for the moment unable: the same request may succeed later.
    Unavailable,
    /// It is there and does not let us in.
    AccessDenied,
    /// It is there and is not what the settings say: the operator's to solve.
    Misconfigured,
    /// What was asked for was there once and is no more.
    DataLost,
    /// It answered something that makes no sense.
    InvalidResponse,
}

pub type Result<T> = std::result::Result<T, ServerError>;

/// `setting`: what is wrong with the server it leads to.
#[derive(Debug, thiserror::Error)]
pub struct ServerError {
    pub kind: ServerErrorKind,
    /// The setting that leads to the server, as the configuration names it.
    pub setting: &'static str,
    /// What is wrong, and where it helps what to do about it.
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

    /// The same request may succeed later without anyone's help.
    pub fn is_retryable(&self) -> bool {
        self.kind == ServerErrorKind::Unavailable
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.message)
    }
}
