//! Reads while another process may write. Long streams are read in pieces, each a short snapshot, so that a slow export does not
//! keep the write-ahead log from being emptied.

use super::error::{damaged, database_error};
use super::fetch::fetch_row;
use super::page::stored_page;
use super::{counts, duplicates, hosts, jobs, open, resource, summary};
use argiope_model::{JobId, Millis, SkipReason};
use argiope_store::catalogue::{
    BriefKind, CatalogueReader, DuplicateGroup, Each, ErrorRow, FetchRow, FilePosition, HostFigures,
    HostOrder, HostRow, Job, JobCounts, JobStats, OutputPosition, PageBrief, PageQuery, ResourceRow,
    RobotsRow, SkippedRow, StoredOriginal, StoredPage, UncleanStop, note_key, url_key,
};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::links::LinksPosition;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Rows of a stream read at once.
const PIECE: i64 = 1000;

pub struct SqliteReader {
    path: PathBuf,
    connection: Connection,
}

/// Requests in the columns of `fetch_row`; defined in the file.
macro_rules! requests {
    ($file:literal) => {
        concat!(include_str!("sql/fetch_select.sql"), include_str!($file))
    };
}

/// Pages in the columns of `stored_page`; defined in the file.
macro_rules! pages {
    ($file:literal) => {
        concat!(include_str!("sql/page_select.sql"), include_str!($file))
    };
}

impl SqliteReader {
    /// Opens the database at `path` for reading, beside a writer or without one.
    pub fn open(path: &Path) -> Result<SqliteReader> {
        Ok(SqliteReader { connection: open::open_reader(path)?, path: path.to_owned() })
    }

    fn error(&self, error: rusqlite::Error) -> StoreError {
        database_error(&self.path, error)
    }

    /// Streams the rows of one statement. False if it was stopped early.
    fn stream<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        decode: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        each: Each<'_, T>,
    ) -> Result<bool> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.error(e))?;
        let mut rows = statement.query(parameters).map_err(|e| self.error(e))?;
        while let Some(row) = rows.next().map_err(|e| self.error(e))? {
            let value = decode(row).map_err(|e| self.error(e))?;
            if each(value)?.is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Streams rows that carry a growing number, piece by piece. `read` streams one piece after a number.
    fn in_pieces<T>(
        &self,
        mut after: i64,
        number: impl Fn(&T) -> u64,
        each: Each<'_, T>,
        read: impl Fn(i64, Each<'_, T>) -> Result<bool>,
    ) -> Result<()> {
        loop {
            let mut count = 0;
            let goes_on = read(after, &mut |row| {
                after = number(&row) as i64;
                count += 1;
                each(row)
            })?;
            if !goes_on || count < PIECE {
                return Ok(());
            }
        }
    }

    /// The range of numbers of a job's rows: everything for all jobs, nothing for a job without any.
    fn range(&self, job: Option<JobId>, first: &str, last: &str) -> Result<(i64, i64)> {
        let Some(job) = job else { return Ok((0, i64::MAX)) };
        let sql = format!("SELECT coalesce({first}, 1), coalesce({last}, 0) FROM jobs WHERE id = ?1");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| {
                statement.query_row([job.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(|e| self.error(e))?;
        // A row may name a job that was never created: then its range is unknown.
        Ok(found.unwrap_or((0, i64::MAX)))
    }

    /// The first number of a column of `batches` that lies after `batch`.
    fn first_after(&self, column: &str, batch: u64) -> Result<i64> {
        let sql = format!("SELECT coalesce(max({column}), 1) FROM batches WHERE batch <= ?1");
        self.connection
            .prepare_cached(&sql)
            .and_then(|mut statement| {
                statement.query_row([i64::try_from(batch).unwrap_or(i64::MAX)], |row| row.get(0))
            })
            .map_err(|e| self.error(e))
    }

    fn positions(&self, store: &str) -> Result<Vec<FilePosition>> {
        let read = || -> rusqlite::Result<Vec<FilePosition>> {
            self.connection
                .prepare_cached("SELECT file, length FROM positions WHERE store = ?1 ORDER BY file")?
                .query_map([store], |row| {
                    Ok(FilePosition { file: row.get(0)?, length: row.get::<_, i64>(1)? as u64 })
                })?
                .collect()
        };
        read().map_err(|e| self.error(e))
    }

    fn requests(&self, sql: &str, parameters: &[&dyn rusqlite::ToSql]) -> Result<Vec<FetchRow>> {
        let mut found = Vec::new();
        self.stream(sql, parameters, fetch_row, &mut |(_, row)| {
            found.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

impl CatalogueReader for SqliteReader {
    fn last_batch(&self) -> Result<u64> {
        self.connection
            .query_row("SELECT coalesce(max(batch), 0) FROM batches", [], |row| row.get::<_, i64>(0))
            .map(|batch| batch as u64)
            .map_err(|e| self.error(e))
    }

    fn last_page(&self) -> Result<u64> {
        let sql = "SELECT next_page - 1 FROM batches ORDER BY batch DESC LIMIT 1";
        let last = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).optional();
        last.map(|last| last.unwrap_or(0) as u64).map_err(|e| self.error(e))
    }

    fn archive_positions(&self) -> Result<Vec<FilePosition>> {
        self.positions("archive")
    }

    fn links_position(&self) -> Result<Option<LinksPosition>> {
        // Segments are numbers; links end in the last one.
        let positions = self.positions("links")?.into_iter().map(|position| {
            let segment = position.file.parse().map_err(|_| {
                let message = damaged(&format!("no segment of links: '{}'", position.file));
                StoreError::new(ErrorKind::Corrupt, self.path.display().to_string(), message)
            })?;
            Ok(LinksPosition { segment, length: position.length })
        });
        Ok(positions.collect::<Result<Vec<_>>>()?.into_iter().max_by_key(|position| position.segment))
    }

    fn output_position(&self, job: JobId, path: &str) -> Result<Option<OutputPosition>> {
        self.connection
            .query_row(
                "SELECT seq, length FROM outputs WHERE job = ?1 AND path = ?2",
                params![job.0, path],
                |row| {
                    Ok(OutputPosition {
                        job,
                        path: path.to_owned(),
                        seq: row.get::<_, i64>(0)? as u64,
                        length: row.get::<_, i64>(1)? as u64,
                    })
                },
            )
            .optional()
            .map_err(|e| self.error(e))
    }

    fn pages_after_batch(&self, batch: u64, each: Each<'_, StoredPage>) -> Result<()> {
        let first = self.first_after("next_page", batch)?;
        let limit = i64::try_from(batch).unwrap_or(i64::MAX);
        let repeated = pages!("sql/pages_repeated.sql");
        if !self.stream(repeated, [limit, first - 1], stored_page, each)? {
            return Ok(());
        }
        let query = PageQuery { after_seq: (first - 1) as u64, include_noindex: true, job: None };
        self.pages(&query, each)
    }

    fn overwritten_after(&self, batch: u64) -> Result<Option<(u64, Vec<StoredPage>)>> {
        let after = i64::try_from(batch).unwrap_or(i64::MAX);
        let next: Option<i64> = self
            .connection
            .prepare_cached("SELECT min(batch) FROM pages WHERE repeated AND batch > ?1")
            .and_then(|mut statement| statement.query_row([after], |row| row.get(0)))
            .map_err(|e| self.error(e))?;
        let Some(next) = next else { return Ok(None) };
        let mut pages = Vec::new();
        self.stream(pages!("sql/pages_overwritten.sql"), [next], stored_page, &mut |stored| {
            pages.push(stored);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Some((next as u64, pages)))
    }

    fn fetches_after_batch(&self, batch: u64, each: Each<'_, FetchRow>) -> Result<()> {
        let first = self.first_after("next_fetch", batch)?;
        let mut row_only = |(_, row): (u64, FetchRow)| each(row);
        self.in_pieces(
            first - 1,
            |(id, _)| *id,
            &mut row_only,
            |after, each| self.stream(requests!("sql/fetches_from.sql"), [after + 1, PIECE], fetch_row, each),
        )?;
        Ok(())
    }

    fn jobs(&self) -> Result<Vec<Job>> {
        jobs::all(&self.connection).map_err(|e| self.error(e))
    }

    fn job(&self, id: JobId) -> Result<Option<Job>> {
        jobs::by_id(&self.connection, id).map_err(|e| self.error(e))
    }

    fn find_job(&self, name_or_hash: &str) -> Result<Option<Job>> {
        jobs::find(&self.connection, name_or_hash).map_err(|e| self.error(e))
    }

    fn latest_job(&self) -> Result<Option<Job>> {
        jobs::latest(&self.connection).map_err(|e| self.error(e))
    }

    fn counts(&self, job: JobId) -> Result<JobCounts> {
        counts::load(&self.connection, job).map_err(|e| self.error(e))
    }

    fn stats(&self, job: JobId, since: Millis) -> Result<Vec<JobStats>> {
        jobs::stats(&self.connection, job, since).map_err(|e| self.error(e))
    }

    fn pages(&self, query: &PageQuery, each: Each<'_, StoredPage>) -> Result<()> {
        let (first, _) = self.range(query.job, "first_page", "last_page")?;
        let after = i64::try_from(query.after_seq).unwrap_or(i64::MAX).max(first - 1);
        self.in_pieces(
            after,
            |stored: &StoredPage| stored.seq,
            each,
            |after, each| {
                // Read for each piece, because a running job grows.
                let (_, last) = self.range(query.job, "first_page", "last_page")?;
                let job = query.job.map(|job| job.0);
                let parameters = params![after, last, job, query.include_noindex, PIECE];
                self.stream(pages!("sql/pages_select.sql"), parameters, stored_page, each)
            },
        )?;
        Ok(())
    }

    fn page(&self, job: Option<JobId>, normal: &str) -> Result<Option<StoredPage>> {
        let parameters = params![url_key(normal) as i64, job.map(|job| job.0)];
        self.connection
            .prepare_cached(pages!("sql/page_by_url.sql"))
            .and_then(|mut statement| statement.query_row(parameters, stored_page).optional())
            .map_err(|e| self.error(e))
    }

    fn skipped_after(&self, job: Option<JobId>, after: u64, each: Each<'_, (u64, SkippedRow)>) -> Result<()> {
        self.in_pieces(
            i64::try_from(after).unwrap_or(i64::MAX),
            |(id, _)| *id,
            each,
            |after, each| {
                let parameters = params![after, job.map(|job| job.0), PIECE];
                self.stream(include_str!("sql/skipped_select.sql"), parameters, skipped_row, each)
            },
        )?;
        Ok(())
    }

    fn skipped_url(&self, job: Option<JobId>, normal: &str) -> Result<Option<SkippedRow>> {
        let parameters = params![url_key(normal) as i64, job.map(|job| job.0)];
        self.connection
            .prepare_cached(include_str!("sql/skipped_by_url.sql"))
            .and_then(|mut statement| statement.query_row(parameters, skipped_row).optional())
            .map(|found| found.map(|(_, row)| row))
            .map_err(|e| self.error(e))
    }

    fn notes(&self, job: JobId, normal: &str) -> Result<Vec<SkippedRow>> {
        let mut notes = Vec::new();
        for reason in SkipReason::ABOUT_PAGES {
            let parameters = params![note_key(reason, url_key(normal)) as i64, job.0];
            let found = self
                .connection
                .prepare_cached(include_str!("sql/skipped_by_url.sql"))
                .and_then(|mut statement| statement.query_row(parameters, skipped_row).optional());
            notes.extend(found.map_err(|e| self.error(e))?.map(|(_, row)| row));
        }
        Ok(notes)
    }

    fn cuts(&self, job: JobId, each: Each<'_, SkippedRow>) -> Result<()> {
        let mut row_only = |(_, row): (u64, SkippedRow)| each(row);
        self.in_pieces(
            0,
            |(id, _)| *id,
            &mut row_only,
            |after, each| {
                let parameters = params![after, job.0, PIECE];
                self.stream(include_str!("sql/skipped_cuts.sql"), parameters, skipped_row, each)
            },
        )?;
        Ok(())
    }

    fn resources(&self, job: Option<JobId>, each: Each<'_, ResourceRow>) -> Result<()> {
        let mut row_only = |(_, row): (u64, ResourceRow)| each(row);
        self.in_pieces(
            0,
            |(id, _)| *id,
            &mut row_only,
            |after, each| {
                let parameters = params![after, job.map(|job| job.0), PIECE];
                self.stream(resource::SELECT, parameters, resource::row, each)
            },
        )?;
        Ok(())
    }

    fn resource(&self, job: Option<JobId>, normal: &str) -> Result<Option<ResourceRow>> {
        let parameters = params![url_key(normal) as i64, job.map(|job| job.0)];
        self.connection
            .prepare_cached(resource::BY_URL)
            .and_then(|mut statement| statement.query_row(parameters, resource::row).optional())
            .map(|found| found.map(|(_, row)| row))
            .map_err(|e| self.error(e))
    }

    fn fetches(&self, job: Option<JobId>, each: Each<'_, FetchRow>) -> Result<()> {
        let (first, last) = self.range(job, "first_fetch", "last_fetch")?;
        let mut by_id =
            self.connection.prepare(requests!("sql/fetch_by_id.sql")).map_err(|e| self.error(e))?;
        let parameters = params![first, last, job.map(|job| job.0)];
        let sorted = include_str!("sql/fetches_sorted.sql");
        self.stream(sorted, parameters, |row| row.get::<_, i64>(0), &mut |id| match by_id
            .query_row([id], fetch_row)
            .optional()
            .map_err(|e| self.error(e))?
        {
            Some((_, row)) => each(row),
            None => Ok(ControlFlow::Continue(())),
        })?;
        Ok(())
    }

    fn fetches_of(&self, job: Option<JobId>, normal: &str, limit: usize) -> Result<Vec<FetchRow>> {
        let (first, last) = self.range(job, "first_fetch", "last_fetch")?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = params![first, last, url_key(normal) as i64, job.map(|job| job.0), limit];
        self.requests(requests!("sql/fetches_of_url.sql"), parameters)
    }

    fn hops_to(&self, job: JobId, url: &str, limit: usize) -> Result<Vec<FetchRow>> {
        let (first, last) = self.range(Some(job), "first_fetch", "last_fetch")?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = params![first, last, url, job.0, limit];
        self.requests(requests!("sql/fetches_hops.sql"), parameters)
    }

    fn errors(&self, job: JobId, dead_letters_only: bool, each: Each<'_, ErrorRow>) -> Result<()> {
        let parameters = params![job.0, dead_letters_only];
        self.stream(include_str!("sql/errors_select.sql"), parameters, error_row, each)?;
        Ok(())
    }

    fn unclean_stops(&self, job: Option<JobId>) -> Result<Vec<UncleanStop>> {
        jobs::unclean_stops(&self.connection, job).map_err(|e| self.error(e))
    }

    fn host(&self, host: &str) -> Result<Option<HostRow>> {
        hosts::find(&self.connection, host).map_err(|e| self.error(e))
    }

    fn robots(&self, origin: &str) -> Result<Vec<RobotsRow>> {
        let mut versions = Vec::new();
        let decode = |row: &Row<'_>| {
            Ok(RobotsRow {
                origin: row.get(0)?,
                fetched_at: Millis(row.get::<_, i64>(1)? as u64),
                status: row.get(2)?,
                body: row.get(3)?,
            })
        };
        self.stream(include_str!("sql/robots_select.sql"), [origin], decode, &mut |row| {
            versions.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(versions)
    }

    fn host_delays(&self, job: JobId) -> Result<Vec<(String, u64)>> {
        let range = self.range(Some(job), "first_fetch", "last_fetch")?;
        summary::host_delays(&self.connection, job, range).map_err(|e| self.error(e))
    }

    fn host_figures(&self, job: JobId, order: HostOrder, limit: usize) -> Result<Vec<HostFigures>> {
        let range = self.range(Some(job), "first_page", "last_page")?;
        summary::host_figures(&self.connection, job, range, order, limit).map_err(|e| self.error(e))
    }

    fn host_count(&self, job: JobId) -> Result<u64> {
        let range = self.range(Some(job), "first_page", "last_page")?;
        summary::host_count(&self.connection, job, range).map_err(|e| self.error(e))
    }

    fn briefs(&self, job: JobId, kind: BriefKind, limit: usize) -> Result<Vec<PageBrief>> {
        let range = self.range(Some(job), "first_page", "last_page")?;
        summary::briefs(&self.connection, job, range, kind, limit).map_err(|e| self.error(e))
    }

    fn originals(&self, job: JobId, after: u64, each: Each<'_, StoredOriginal>) -> Result<()> {
        let (first, _) = self.range(Some(job), "first_page", "last_page")?;
        let after = i64::try_from(after).unwrap_or(i64::MAX).max(first - 1);
        let sql = include_str!("sql/originals.sql");
        self.in_pieces(
            after,
            |stored: &StoredOriginal| stored.seq,
            each,
            |after, each| {
                // Asked for each piece: a job that is running grows.
                let (_, last) = self.range(Some(job), "first_page", "last_page")?;
                self.stream(sql, params![after, last, job.0, PIECE], duplicates::original, each)
            },
        )
    }

    fn page_urls(&self, job: JobId, url_keys: &[u64]) -> Result<Vec<(u64, String)>> {
        duplicates::page_urls(&self.connection, job, url_keys).map_err(|e| self.error(e))
    }

    fn duplicate_groups(&self, job: JobId, limit: usize, examples: usize) -> Result<Vec<DuplicateGroup>> {
        let range = self.range(Some(job), "first_page", "last_page")?;
        duplicates::groups(&self.connection, job, range, limit, examples).map_err(|e| self.error(e))
    }

    fn check(&self) -> Result<()> {
        let mut complaint = None;
        self.stream("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0), &mut |line| {
            if line != "ok" {
                complaint = Some(line);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match complaint {
            None => Ok(()),
            Some(line) => {
                Err(StoreError::new(ErrorKind::Corrupt, self.path.display().to_string(), damaged(&line)))
            }
        }
    }
}

fn skipped_row(row: &Row<'_>) -> rusqlite::Result<(u64, SkippedRow)> {
    let word: String = row.get(2)?;
    let reason = SkipReason::parse(&word).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(2, Type::Text, format!("unknown reason '{word}'").into())
    })?;
    let skipped = SkippedRow {
        job: JobId(row.get(1)?),
        reason,
        url: row.get(3)?,
        detail: row.get(4)?,
        source: row.get(5)?,
        url_key: row.get::<_, i64>(6)? as u64,
        amount: row.get::<_, i64>(7)? as u64,
    };
    Ok((row.get::<_, i64>(0)? as u64, skipped))
}

fn error_row(row: &Row<'_>) -> rusqlite::Result<ErrorRow> {
    Ok(ErrorRow {
        job: JobId(row.get(0)?),
        round: row.get(1)?,
        attempt: row.get(2)?,
        host: row.get(3)?,
        url: row.get(4)?,
        kind: row.get(5)?,
        message: row.get(6)?,
        status: row.get(7)?,
        at: Millis(row.get::<_, i64>(8)? as u64),
        dead_letter: row.get(9)?,
        url_key: row.get::<_, i64>(10)? as u64,
    })
}
