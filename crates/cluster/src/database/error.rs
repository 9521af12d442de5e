//! Database errors, with messages that say what to do.

use super::SETTING;
use crate::tls;
use argiope_store::error::{ErrorKind, StoreError};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use tokio_postgres::error::SqlState;

pub type Result<T> = std::result::Result<T, DatabaseError>;

/// Callers decide what to do about an error only by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatabaseErrorKind {
    /// It does not respond, restarts, or accepts no more connections: a later attempt may succeed.
    Unreachable,
    /// Another transaction conflicted: the same one may succeed now.
    Busy,
    /// The setting is invalid.
    Settings,
    /// Unknown user or wrong password.
    Password,
    /// The user lacks a privilege.
    Permission,
    /// There is no such database.
    NoDatabase,
    /// There is no cluster in it yet.
    NoCluster,
    /// Its schema is from an older version of the program.
    TooOld,
    /// Its schema is from a newer version of the program.
    TooNew,
    /// It belongs to another cluster or program.
    Foreign,
    /// No room on its disk.
    Full,
    /// The stored data cannot be read.
    Damaged,
    /// Another owner has what was to be written.
    Fenced,
    /// Anything else.
    Failed,
}

/// What is wrong, and with which database. The address has no password.
#[derive(Debug, thiserror::Error)]
pub struct DatabaseError {
    pub kind: DatabaseErrorKind,
    /// `user@host:port/database`.
    pub place: String,
    pub message: String,
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl DatabaseError {
    pub(crate) fn new(kind: DatabaseErrorKind, place: &str, message: impl Into<String>) -> DatabaseError {
        DatabaseError { kind, place: place.to_owned(), message: message.into(), source: None }
    }

    /// The server's error code.
    pub(crate) fn code(&self) -> Option<&str> {
        let error = self.source.as_ref()?.downcast_ref::<tokio_postgres::Error>()?;
        error.code().map(SqlState::code)
    }

    /// The same request may succeed later without intervention.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, DatabaseErrorKind::Unreachable | DatabaseErrorKind::Busy)
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return write!(f, "{SETTING}: {}", self.message);
        }
        write!(f, "{SETTING} ({}): {}", self.place, self.message)
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> StoreError {
        let kind = match error.kind {
            DatabaseErrorKind::Unreachable => ErrorKind::Unreachable,
            DatabaseErrorKind::Busy => ErrorKind::Busy,
            DatabaseErrorKind::TooNew => ErrorKind::TooNew,
            DatabaseErrorKind::NoDatabase | DatabaseErrorKind::NoCluster => ErrorKind::NotFound,
            DatabaseErrorKind::Full => ErrorKind::DiskFull,
            DatabaseErrorKind::Damaged => ErrorKind::Corrupt,
            DatabaseErrorKind::Settings | DatabaseErrorKind::TooOld | DatabaseErrorKind::Foreign => {
                ErrorKind::Usage
            }
            DatabaseErrorKind::Fenced => ErrorKind::Fenced,
            DatabaseErrorKind::Password | DatabaseErrorKind::Permission | DatabaseErrorKind::Failed => {
                ErrorKind::Io
            }
        };
        let subject = format!("{SETTING} ({})", error.place);
        StoreError { kind, subject, message: error.message, source: error.source }
    }
}

/// The client's error in our words.
pub(crate) fn failed(place: &str, error: tokio_postgres::Error) -> DatabaseError {
    let (kind, message) = match error.as_db_error() {
        Some(answer) => said_by_server(answer.code(), answer.message()),
        None => said_by_client(&error),
    };
    DatabaseError { kind, place: place.to_owned(), message, source: Some(Box::new(error)) }
}

fn said_by_server(code: &SqlState, words: &str) -> (DatabaseErrorKind, String) {
    let class = code.code().get(..2).unwrap_or_default();
    match code.code() {
        "28P01" | "28000" => {
            (DatabaseErrorKind::Password, format!("the server refuses this user or password: {words}"))
        }
        "3D000" => {
            (DatabaseErrorKind::NoDatabase, format!("{words}; create it with createdb, or name another"))
        }
        "42501" => (
            DatabaseErrorKind::Permission,
            format!("{words}; the user needs the right to create and change tables in this database"),
        ),
        "53100" => (DatabaseErrorKind::Full, format!("no room on the server's disk: {words}")),
        "XX001" | "XX002" => (
            DatabaseErrorKind::Damaged,
            format!("the database is damaged: {words}; restore it from a backup"),
        ),
        "42P01" | "42703" | "42883" => (
            DatabaseErrorKind::TooOld,
            format!("its tables do not match this version ({words}); run argiope cluster init"),
        ),
        "25006" => {
            (DatabaseErrorKind::Unreachable, format!("this server is read-only at the moment: {words}"))
        }
        "40001" | "40P01" | "55P03" | "57014" => (DatabaseErrorKind::Busy, words.to_owned()),
        // Shutting down or starting up, idle too long, too many connections, out of memory.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" | "53200" | "53000" => {
            (DatabaseErrorKind::Unreachable, format!("the server is not available now: {words}"))
        }
        _ if class == "08" => (DatabaseErrorKind::Unreachable, words.to_owned()),
        _ => (DatabaseErrorKind::Failed, words.to_owned()),
    }
}

/// The client has no public error kinds: its causes and fixed texts distinguish them.
fn said_by_client(error: &tokio_postgres::Error) -> (DatabaseErrorKind, String) {
    let words = error.to_string();
    let cause = error.source();
    let detail = cause.map_or(String::new(), |cause| format!(": {cause}"));
    if words.starts_with("error deserializing") {
        let message = format!("a stored value cannot be read{detail}; restore the database from a backup");
        return (DatabaseErrorKind::Damaged, message);
    }
    if words.starts_with("invalid connection string") || words.starts_with("invalid configuration") {
        if detail.contains("password") {
            return (DatabaseErrorKind::Password, format!("the server requires a password{detail}"));
        }
        return (DatabaseErrorKind::Settings, format!("invalid address{detail}"));
    }
    if words.starts_with("authentication error") {
        return (DatabaseErrorKind::Password, format!("the server refuses this user or password{detail}"));
    }
    if words.starts_with("error performing TLS") {
        return match cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
            Some(error) => match tls::refusal(error) {
                Some(refusal) => (DatabaseErrorKind::Settings, format!("{refusal} (sslmode, sslrootcert)")),
                None => (
                    DatabaseErrorKind::Unreachable,
                    format!("the server cannot be reached ({words}{detail})"),
                ),
            },
            None => {
                (DatabaseErrorKind::Settings, format!("sslmode asks for an encrypted connection{detail}"))
            }
        };
    }
    if error.is_closed() || words.starts_with("timeout") || cause.is_some_and(|cause| cause.is::<io::Error>())
    {
        return (DatabaseErrorKind::Unreachable, format!("the server cannot be reached ({words}{detail})"));
    }
    (DatabaseErrorKind::Failed, format!("{words}{detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_answers_are_told_apart() {
        for (code, kind) in [
            ("28P01", DatabaseErrorKind::Password),
            ("3D000", DatabaseErrorKind::NoDatabase),
            ("42501", DatabaseErrorKind::Permission),
            ("40P01", DatabaseErrorKind::Busy),
            ("57P01", DatabaseErrorKind::Unreachable),
            ("08006", DatabaseErrorKind::Unreachable),
            ("53100", DatabaseErrorKind::Full),
            ("XX001", DatabaseErrorKind::Damaged),
            ("42P01", DatabaseErrorKind::TooOld),
            ("22012", DatabaseErrorKind::Failed),
        ] {
            assert_eq!(said_by_server(&SqlState::from_code(code), "words").0, kind, "{code}");
        }
    }

    #[test]
    fn an_error_names_the_setting_and_the_place() {
        let error = DatabaseError::new(DatabaseErrorKind::Busy, "crawler@db:5432/crawler", "a lock");
        assert_eq!(error.to_string(), "storage.metadata_db_url (crawler@db:5432/crawler): a lock");
        assert!(error.is_retryable() && StoreError::from(error).is_retryable());
        let lost = DatabaseError::new(DatabaseErrorKind::Unreachable, "x", "gone");
        assert!(StoreError::from(lost).is_retryable());
    }
}
