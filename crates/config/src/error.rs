//! What is wrong with a configuration file, and where.

use crate::failure::Failure;
use std::fmt;

/// A place in a file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// Printed as `FILE:LINE:COLUMN: message`, the form editors jump to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub file: String,
    pub at: Option<Position>,
    pub message: String,
    /// The file could not be read.
    unreadable: bool,
}

impl ConfigError {
    pub fn new(file: &str, at: Option<Position>, message: impl Into<String>) -> ConfigError {
        ConfigError { file: file.to_owned(), at, message: message.into(), unreadable: false }
    }

    pub fn unset(file: &str, at: Position, variable: &str) -> ConfigError {
        ConfigError::new(file, Some(at), format!("environment variable '{variable}' is not set"))
    }

    pub fn unreadable(file: &str, error: &std::io::Error) -> ConfigError {
        let message = format!("cannot be read: {error}");
        ConfigError { unreadable: true, ..ConfigError::new(file, None, message) }
    }
}

/// Errors in files are usage errors; unreadable files get a hint.
impl From<Vec<ConfigError>> for Failure {
    fn from(errors: Vec<ConfigError>) -> Failure {
        let unreadable = errors.iter().any(|error| error.unreadable);
        let failure = Failure::usage_all(errors);
        if unreadable {
            failure.hint("name an existing file; 'argiope config show' prints a configuration to start from")
        } else {
            failure
        }
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
