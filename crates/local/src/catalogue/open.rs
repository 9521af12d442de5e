//! Opening the database: settings, schema version, migrations.

use super::error::{damaged, database_error};
use argiope_store::error::{ErrorKind, Result, StoreError};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// Each runs once, in order, in its own transaction. The schema version is the number that have run.
const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_cuts.sql"),
    include_str!("migrations/0003_resources.sql"),
    include_str!("migrations/0004_unclean_stops.sql"),
];

/// How long to wait for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How the writer uses memory and disk. The defaults are measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueSettings {
    /// Fixed when the database is created.
    pub page_bytes: u32,
    pub cache_bytes: u32,
    /// The write-ahead log is copied into the database at this size. A larger log copies a page that changes often only
    /// once.
    pub checkpoint_bytes: u32,
}

impl Default for CatalogueSettings {
    fn default() -> CatalogueSettings {
        CatalogueSettings { page_bytes: 4096, cache_bytes: 64 << 20, checkpoint_bytes: 128 << 20 }
    }
}

pub(super) fn open_writer(path: &Path, settings: CatalogueSettings) -> Result<Connection> {
    let about = |error| database_error(path, error);
    // One thread at a time uses the connection, so SQLite need not lock it.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(about)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(about)?;
    connection.set_prepared_statement_cache_capacity(64);
    let pages = settings.checkpoint_bytes / settings.page_bytes.max(512);
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {};
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA cache_size = -{};
             PRAGMA wal_autocheckpoint = {pages};
             PRAGMA journal_size_limit = {};",
            settings.page_bytes,
            settings.cache_bytes / 1024,
            settings.checkpoint_bytes,
        ))
        .map_err(about)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// A read-only connection. The database must exist.
pub(super) fn open_reader(path: &Path) -> Result<Connection> {
    let about = |error| database_error(path, error);
    if !path.exists() {
        return Err(StoreError::new(
            ErrorKind::NotFound,
            path.display().to_string(),
            "there is no catalogue here yet",
        ));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(about)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(about)?;
    connection.set_prepared_statement_cache_capacity(32);
    let version = schema_version(&connection, path)?;
    let known = MIGRATIONS.len() as u64;
    match version {
        version if version > known => Err(too_new(path, version)),
        version if version < known => Err(StoreError::new(
            ErrorKind::Usage,
            path.display().to_string(),
            "the catalogue was written by an older version; run crawl once to bring it up to date",
        )),
        _ => Ok(connection),
    }
}

fn too_new(path: &Path, version: u64) -> StoreError {
    let known = MIGRATIONS.len();
    StoreError::new(
        ErrorKind::TooNew,
        path.display().to_string(),
        format!(
            "the catalogue has schema version {version}, this program supports {known}; use a newer argiope"
        ),
    )
}

/// 0 for an empty database.
fn schema_version(connection: &Connection, path: &Path) -> Result<u64> {
    let about = |error| database_error(path, error);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(about)?;
    if tables == 0 {
        return Ok(0);
    }
    let foreign =
        || StoreError::new(ErrorKind::Corrupt, path.display().to_string(), damaged("no schema version"));
    let text: Option<String> = connection
        .query_row("SELECT value FROM meta WHERE key = 'schema_version'", [], |row| row.get(0))
        .optional()
        .map_err(|error| match error.sqlite_error_code() {
            // No table `meta`: some other program's database.
            Some(rusqlite::ErrorCode::Unknown) => foreign(),
            _ => database_error(path, error),
        })?;
    text.and_then(|text| text.parse().ok()).ok_or_else(foreign)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    let about = |error| database_error(path, error);
    let version = schema_version(connection, path)?;
    if version > MIGRATIONS.len() as u64 {
        return Err(too_new(path, version));
    }
    for (number, script) in (1u64..).zip(MIGRATIONS).filter(|(number, _)| *number > version) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(about)?;
        transaction.execute_batch(script).map_err(about)?;
        transaction
            .execute(
                "INSERT INTO meta (key, value) VALUES ('schema_version', ?1)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [number.to_string()],
            )
            .map_err(about)?;
        transaction.commit().map_err(about)?;
    }
    Ok(())
}
