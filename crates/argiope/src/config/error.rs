//! What is wrong with a configuration file, and where.

use std::fmt;

/// A place in a file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Printed as `FILE:LINE:COLUMN: message`, the form editors jump to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    pub(crate) file: String,
    pub(crate) at: Option<Position>,
    pub(crate) message: String,
}

impl ConfigError {
    pub(crate) fn new(file: &str, at: Option<Position>, message: impl Into<String>) -> ConfigError {
        ConfigError { file: file.to_owned(), at, message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{}:{}:{}: {}", self.file, at.line, at.column, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ConfigError {}
