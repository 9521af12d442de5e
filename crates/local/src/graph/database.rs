//! The SQLite file: its lock, its schema, and one transaction at a time.

use super::KnownNode;
use super::pending::{NodeChange, Pending};
use argiope_store::error::{ErrorKind, Result, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");
/// Without these columns the file belongs to another program.
const NODE_COLUMNS: [&str; 5] = ["node_id", "domain_name", "description", "crawl_count", "created_at"];
const EDGE_COLUMNS: [&str; 4] = ["edge_id", "from_node_id", "to_node_id", "weight"];

/// A user with another tool may hold the file for a moment.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const CACHE_KB: u32 = 4 * 1024;

pub(super) struct GraphDatabase {
    path: PathBuf,
    connection: Connection,
    /// Dropped after the connection: closing a file releases SQLite's locks on it.
    _lock: File,
}

/// What a transaction added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) new_nodes: u64,
    pub(super) new_edges: u64,
}

impl GraphDatabase {
    pub(super) fn open(path: &Path) -> Result<GraphDatabase> {
        let lock = take_lock(path)?;
        let about = |error| graph_error(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(about)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(about)?;
        check(&connection, path)?;
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = WAL;
                 PRAGMA synchronous = NORMAL;
                 PRAGMA cache_size = -{CACHE_KB};
                 PRAGMA journal_size_limit = 16777216;"
            ))
            .map_err(about)?;
        let database = GraphDatabase { path: path.to_owned(), connection, _lock: lock };
        if database.is_empty()? {
            database
                .connection
                .execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))
                .map_err(about)?;
        }
        Ok(database)
    }

    fn about<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|error| graph_error(&self.path, error))
    }

    fn is_empty(&self) -> Result<bool> {
        self.about(tables(&self.connection)).map(|tables| tables == 0)
    }

    pub(super) fn counts(&self) -> Result<(u64, u64)> {
        let sql = "SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM edges)";
        self.about(self.connection.query_row(sql, [], |row| Ok((count(row, 0)?, count(row, 1)?))))
    }

    pub(super) fn crawled_count(&self) -> Result<u64> {
        let sql = "SELECT count(*) FROM nodes WHERE crawl_count > 0";
        self.about(self.connection.query_row(sql, [], |row| count(row, 0)))
    }

    pub(super) fn has_node(&self, name: &str) -> Result<bool> {
        let found = self
            .connection
            .query_row("SELECT 1 FROM nodes WHERE domain_name = ?1", [name], |_| Ok(()))
            .optional();
        self.about(found).map(|found| found.is_some())
    }

    /// `condition` is one of ours, on `crawl_count`, with one number.
    pub(super) fn nodes_where(&self, condition: &str, number: u32) -> Result<Vec<KnownNode>> {
        let sql = format!("SELECT domain_name, crawl_count FROM nodes WHERE {condition} ORDER BY node_id");
        let read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement
                .query_map([number], |row| Ok(KnownNode { name: row.get(0)?, crawl_count: row.get(1)? }))?;
            rows.collect()
        };
        self.about(read())
    }

    pub(super) fn limit_size(&self, pages: u32) -> Result<()> {
        let sql = format!("PRAGMA max_page_count = {pages}");
        self.about(self.connection.query_row(&sql, [], |_| Ok(())))
    }

    /// All of it, or nothing.
    pub(super) fn write(&mut self, pending: &Pending) -> Result<Written> {
        let written = write(&mut self.connection, pending);
        written.map_err(|error| graph_error(&self.path, error))
    }
}

fn write(connection: &mut Connection, pending: &Pending) -> rusqlite::Result<Written> {
    let transaction = connection.transaction()?;
    let mut written = Written::default();
    let mut ids = Vec::with_capacity(pending.nodes());
    for node in pending.node_changes() {
        let (id, is_new) = upsert_node(&transaction, node)?;
        ids.push(id);
        written.new_nodes += u64::from(is_new);
    }
    {
        let mut upsert = transaction.prepare_cached(
            "INSERT INTO edges (from_node_id, to_node_id, weight) VALUES (?1, ?2, ?3)
             ON CONFLICT (from_node_id, to_node_id) DO UPDATE SET weight = weight + excluded.weight
             RETURNING weight",
        )?;
        for edge in pending.edge_changes() {
            let ends = (ids.get(edge.from), ids.get(edge.to));
            let weight: u32 = upsert.query_row((ends.0, ends.1, edge.weight), |row| row.get(0))?;
            // An edge that existed gets the added weight.
            written.new_edges += u64::from(weight == edge.weight);
        }
    }
    transaction.commit()?;
    Ok(written)
}

/// Looked up first: most targets are known and do not change, and a conflict would use up an id each time.
fn upsert_node(transaction: &Transaction<'_>, node: &NodeChange) -> rusqlite::Result<(i64, bool)> {
    let known: Option<i64> = transaction
        .prepare_cached("SELECT node_id FROM nodes WHERE domain_name = ?1")?
        .query_row([&node.name], |row| row.get(0))
        .optional()?;
    let Some(id) = known else {
        transaction
            .prepare_cached("INSERT INTO nodes (domain_name, description, crawl_count) VALUES (?1, ?2, ?3)")?
            .execute((&node.name, &node.description, node.crawls))?;
        return Ok((transaction.last_insert_rowid(), true));
    };
    if node.crawls > 0 || node.description.is_some() {
        transaction
            .prepare_cached(
                "UPDATE nodes SET description = coalesce(?2, description), crawl_count = crawl_count + ?3
                 WHERE node_id = ?1",
            )?
            .execute((id, &node.description, node.crawls))?;
    }
    Ok((id, false))
}

fn take_lock(path: &Path) -> Result<File> {
    let subject = || path.display().to_string();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| StoreError::io(subject(), error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::new(
            ErrorKind::Busy,
            subject(),
            "another graph crawl is writing to it; wait for it to end, stop it, or name another file with --db-path",
        )),
        Err(TryLockError::Error(error)) => Err(StoreError::io(subject(), error)),
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| count(row, 0))
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

/// An empty file is accepted, and one with our tables.
fn check(connection: &Connection, path: &Path) -> Result<()> {
    let about = |error| graph_error(path, error);
    if tables(connection).map_err(about)? == 0 {
        return Ok(());
    }
    for (table, wanted) in [("nodes", &NODE_COLUMNS[..]), ("edges", &EDGE_COLUMNS[..])] {
        let columns = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            statement.query_map([table], |row| row.get(0))?.collect()
        };
        let columns = columns().map_err(about)?;
        let missing = wanted.iter().find(|column| !columns.iter().any(|name| name == *column));
        if let Some(column) = missing {
            let what = match columns.is_empty() {
                true => format!("it has no table '{table}'"),
                false => format!("its table '{table}' has no column '{column}'"),
            };
            return Err(not_ours(path, &what));
        }
    }
    Ok(())
}

fn not_ours(path: &Path, what: &str) -> StoreError {
    let message = format!("this is not a graph of argiope: {what}; name another file with --db-path");
    StoreError::new(ErrorKind::Usage, path.display().to_string(), message)
}

fn graph_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let subject = path.display().to_string();
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            return not_ours(path, "it is not an SQLite database").with_source(error);
        }
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            format!(
                "the graph is damaged ({error}); restore it from a backup, or start a new one in another file"
            ),
        ),
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::DiskFull, "no space left; free some and run the same command again".to_owned())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::Busy, "another program has locked the file; try again later".to_owned())
        }
        Some(ErrorCode::ReadOnly) => (ErrorKind::Io, "the file cannot be written".to_owned()),
        _ => (ErrorKind::Io, error.to_string()),
    };
    StoreError::new(kind, subject, message).with_source(error)
}
