//! The catalogue in SQLite: `catalog.db`. One writer in one process, readers in any.
//!
//! The write-ahead log is synced with every commit, and rows use integers where possible: one transaction per batch and
//! one integer index per table keep the cost of a page at a few microseconds. SQL longer than a line is in `sql/`.

mod cells;
mod commit;
mod counts;
mod duplicates;
mod error;
mod fetch;
mod hosts;
mod jobs;
mod open;
mod page;
mod reader;
mod resource;
mod summary;

pub use open::CatalogueSettings;
pub use reader::SqliteReader;

use argiope_model::JobId;
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Committed, Job, NewJob, SKIPPED_PER_JOB};
use argiope_store::error::Result;
use error::database_error;
use hosts::HostIds;
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The name of the database within a data directory.
pub const FILE_NAME: &str = "catalog.db";

/// The writer. Its caller holds the lock of the data directory.
pub struct SqliteCatalogue {
    path: PathBuf,
    connection: Connection,
    next: Next,
    hosts: HostIds,
    /// How many skipped URLs of a job are stored; read when first needed.
    skipped_stored: HashMap<JobId, u64>,
    skipped_limit: u64,
}

/// The numbers of the next batch, page and request.
#[derive(Clone, Copy)]
struct Next {
    batch: u64,
    page: u64,
    fetch: u64,
}

impl SqliteCatalogue {
    /// Opens the database at `path`, creates it if needed, and upgrades its schema.
    pub fn open(path: &Path, settings: CatalogueSettings) -> Result<SqliteCatalogue> {
        let connection = open::open_writer(path, settings)?;
        let next = commit::next_numbers(&connection).map_err(|error| database_error(path, error))?;
        Ok(SqliteCatalogue {
            path: path.to_owned(),
            connection,
            next,
            hosts: HostIds::default(),
            skipped_stored: HashMap::new(),
            skipped_limit: SKIPPED_PER_JOB,
        })
    }

    /// Copies the write-ahead log into the database and empties it. Closing does the same.
    pub fn checkpoint(&self) -> Result<()> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| database_error(&self.path, error))
    }
}

/// Limits that tests and small disks lower.
impl SqliteCatalogue {
    /// The largest number of pages (of [`CatalogueSettings::page_bytes`]) the database may have; beyond that a commit
    /// fails with `DiskFull`.
    pub fn limit_size(&self, pages: Option<u32>) -> Result<()> {
        // SQLite takes its own largest number for no limit.
        let most = pages.unwrap_or(0xffff_fffe);
        self.connection
            .query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))
            .map_err(|error| database_error(&self.path, error))
    }

    /// How many skipped URLs are stored per job.
    pub fn limit_skipped(&mut self, per_job: u64) {
        self.skipped_limit = per_job;
    }
}

impl Catalogue for SqliteCatalogue {
    fn commit(&mut self, batch: &Batch) -> Result<Committed> {
        let outcome = commit::commit(self, batch);
        if outcome.is_err() {
            // What was cached within the failed transaction is wrong.
            self.hosts.forget();
            self.skipped_stored.clear();
        }
        outcome.map_err(|error| database_error(&self.path, error))
    }

    fn create_job(&mut self, job: &NewJob) -> Result<Job> {
        jobs::create(&self.connection, job).map_err(|error| database_error(&self.path, error))
    }

    fn delete_job(&mut self, job: JobId) -> Result<()> {
        self.skipped_stored.remove(&job);
        jobs::delete(&mut self.connection, job).map_err(|error| database_error(&self.path, error))
    }

    fn reader(&self) -> Result<Box<dyn CatalogueReader>> {
        Ok(Box::new(SqliteReader::open(&self.path)?))
    }
}
