//! Reads a domain graph: an SQLite file with the tables `nodes` (hosts) and `edges`, while another process may write it.

use argiope_store::error::{ErrorKind, Result, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A row of `nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainNode {
    pub id: i64,
    pub name: String,
    pub description: Option<String>,
    pub crawl_count: u32,
}

/// A row of `edges`, by the ids of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainEdge {
    pub from: i64,
    pub to: i64,
    pub weight: u32,
}

pub struct DomainGraphReader {
    path: PathBuf,
    connection: Connection,
}

impl DomainGraphReader {
    pub fn open(path: &Path) -> Result<DomainGraphReader> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|e| failed(path, e))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|e| failed(path, e))?;
        Ok(DomainGraphReader { path: path.to_owned(), connection })
    }

    /// In one snapshot, so that every edge has its nodes: all nodes, then all edges, in the order of creation.
    pub fn read(
        &self,
        node: &mut dyn FnMut(DomainNode) -> Result<()>,
        edge: &mut dyn FnMut(DomainEdge) -> Result<()>,
    ) -> Result<()> {
        let about = |error| failed(&self.path, error);
        let snapshot = self.connection.unchecked_transaction().map_err(about)?;
        let sql =
            "SELECT node_id, domain_name, description, coalesce(crawl_count, 0) FROM nodes ORDER BY node_id";
        let mut statement = snapshot.prepare(sql).map_err(about)?;
        let mut rows = statement.query([]).map_err(about)?;
        while let Some(row) = rows.next().map_err(about)? {
            let read = || -> rusqlite::Result<DomainNode> {
                Ok(DomainNode {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    description: row.get(2)?,
                    crawl_count: number(row.get(3)?),
                })
            };
            node(read().map_err(about)?)?;
        }
        let sql = "SELECT from_node_id, to_node_id, coalesce(weight, 1) FROM edges ORDER BY edge_id";
        let mut statement = snapshot.prepare(sql).map_err(about)?;
        let mut rows = statement.query([]).map_err(about)?;
        while let Some(row) = rows.next().map_err(about)? {
            let read = || -> rusqlite::Result<DomainEdge> {
                Ok(DomainEdge { from: row.get(0)?, to: row.get(1)?, weight: number(row.get(2)?) })
            };
            edge(read().map_err(about)?)?;
        }
        Ok(())
    }
}

/// Counts are never negative; those beyond `u32::MAX` stay there.
fn number(stored: i64) -> u32 {
    u32::try_from(stored.max(0)).unwrap_or(u32::MAX)
}

fn failed(path: &Path, error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => (ErrorKind::NotFound, String::from("cannot be opened")),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::Busy, String::from("another process is using it; try again when it has ended"))
        }
        Some(ErrorCode::NotADatabase) => (ErrorKind::Usage, String::from("is not an SQLite database")),
        _ if text.contains("no such table") || text.contains("no such column") => {
            (ErrorKind::Usage, format!("is not a domain graph with the tables 'nodes' and 'edges': {text}"))
        }
        _ => (ErrorKind::Corrupt, text),
    };
    StoreError::new(kind, path.display().to_string(), message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(sql: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crawler.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        (directory, path)
    }

    #[test]
    fn nodes_and_edges_are_read_with_their_defaults() {
        let (_directory, path) = database(
            "CREATE TABLE nodes (node_id INTEGER PRIMARY KEY AUTOINCREMENT, domain_name TEXT UNIQUE NOT NULL,
               description TEXT, crawl_count INTEGER DEFAULT 0, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
             CREATE TABLE edges (edge_id INTEGER PRIMARY KEY AUTOINCREMENT, from_node_id INTEGER NOT NULL,
               to_node_id INTEGER NOT NULL, weight INTEGER DEFAULT 1, UNIQUE(from_node_id, to_node_id));
             INSERT INTO nodes (node_id, domain_name, description, crawl_count)
               VALUES (3, 'a.test', 'A', 2), (7, 'b.test', NULL, NULL);
             INSERT INTO edges (from_node_id, to_node_id, weight) VALUES (3, 7, 99999999999), (7, 3, NULL);",
        );
        let reader = DomainGraphReader::open(&path).unwrap();
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        let read = reader.read(
            &mut |node| {
                nodes.push(node);
                Ok(())
            },
            &mut |edge| {
                edges.push(edge);
                Ok(())
            },
        );
        read.unwrap();
        let a = DomainNode { id: 3, name: "a.test".into(), description: Some("A".into()), crawl_count: 2 };
        let b = DomainNode { id: 7, name: "b.test".into(), description: None, crawl_count: 0 };
        assert_eq!(nodes, [a, b]);
        let there = DomainEdge { from: 3, to: 7, weight: u32::MAX };
        assert_eq!(edges, [there, DomainEdge { from: 7, to: 3, weight: 1 }]);
    }

    #[test]
    fn another_file_is_the_users_mistake_and_none_is_made() {
        let (directory, path) = database("CREATE TABLE pages (url TEXT);");
        let read = DomainGraphReader::open(&path).unwrap().read(&mut |_| Ok(()), &mut |_| Ok(()));
        assert_eq!(read.unwrap_err().kind, ErrorKind::Usage);
        let text = directory.path().join("notes.txt");
        std::fs::write(&text, "these are notes, not a database at all, and long enough to be read as one")
            .unwrap();
        let read = DomainGraphReader::open(&text).and_then(|r| r.read(&mut |_| Ok(()), &mut |_| Ok(())));
        assert_eq!(read.unwrap_err().kind, ErrorKind::Usage);
        let missing = directory.path().join("missing.db");
        assert_eq!(DomainGraphReader::open(&missing).err().unwrap().kind, ErrorKind::NotFound);
        assert!(!missing.exists());
    }
}
