//! Reads the catalogue while workers write to it, from any process.

use super::error_log::error_row;
use super::fetch::{self, fetch_row};
use super::page::{self, stored_page, url_hash};
use super::skipped::skipped_row;
use super::streams::{in_pieces, rows, sorted};
use super::{counts, host, jobs, resource};
use crate::database::{Answer, Cells, Database, Parameters, Session};
use argiope_model::{JobId, Millis, SkipReason};
use argiope_store::catalogue::{
    BriefKind, CatalogueReader, DuplicateGroup, Each, ErrorRow, FetchRow, FilePosition, HostFigures,
    HostOrder, HostRow, Job, JobCounts, JobStats, OutputPosition, PageBrief, PageQuery, ResourceRow,
    RobotsRow, SkippedRow, StoredOriginal, StoredPage, UncleanStop, note_key, url_key,
};
use argiope_store::error::Result;
use argiope_store::links::LinksPosition;
use std::cell::RefCell;
use std::time::Duration;
use tokio_postgres::Row;

/// Aggregates over millions of pages take minutes.
const LIMIT: Duration = Duration::from_secs(600);

/// Tables that `check` reads completely.
const TABLES: [&str; 13] = [
    "crawl_metadata",
    "fetches",
    "resources",
    "skipped",
    "errors",
    "hosts",
    "robots",
    "robots_bodies",
    "jobs",
    "job_counts",
    "job_stats",
    "positions",
    "outputs",
];

pub struct PostgresReader {
    pub(super) session: RefCell<Session>,
    /// Whose positions are returned; `None` for those of all workers.
    pub(super) worker: Option<String>,
}

impl PostgresReader {
    /// A reader that returns the positions of all workers.
    pub fn open(database: &Database) -> Result<PostgresReader> {
        Ok(PostgresReader { session: RefCell::new(database.connect(LIMIT)?), worker: None })
    }

    pub(super) fn of_worker(database: &Database, worker: &str) -> Result<PostgresReader> {
        Ok(PostgresReader { worker: Some(worker.to_owned()), ..PostgresReader::open(database)? })
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
        decode: fn(&Row) -> Answer<Option<T>>,
    ) -> Result<Vec<T>> {
        Ok(rows(&mut self.session.borrow_mut(), sql, parameters, decode)?)
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
        decode: fn(&Row) -> Answer<Option<T>>,
    ) -> Result<Option<T>> {
        Ok(self.rows(sql, parameters, decode)?.into_iter().next())
    }

    /// Pages in the order of their numbers that meet the condition `wanted`, whose parameters are $3 and following.
    fn pages_where(
        &self,
        wanted: &str,
        after: u64,
        parameters: Parameters<'_>,
        each: Each<'_, StoredPage>,
    ) -> Result<bool> {
        let sql = format!(
            "SELECT id, {} FROM crawl_metadata WHERE id > $1 {wanted} ORDER BY id LIMIT $2",
            page::shown_columns()
        );
        in_pieces(&self.session, &sql, after, parameters, page_found, each)
    }

    /// The first number of a column of `batches` that lies after `batch`.
    fn first_after(&self, column: &str, batch: u64) -> Result<u64> {
        let sql = format!("SELECT coalesce(max({column}), 1) FROM batches WHERE batch <= $1");
        let batch = i64::try_from(batch).unwrap_or(i64::MAX);
        let found = self.one(&sql, &[&batch], |row| Cells::of(row).number().map(Some))?;
        Ok(found.unwrap_or(1))
    }
}

fn page_found(row: &Row) -> Answer<Option<(u64, StoredPage)>> {
    let stored = stored_page(row)?;
    Ok(Some((stored.seq, stored)))
}

fn number_of(job: Option<JobId>) -> Option<i32> {
    job.map(|job| job.0 as i32)
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl CatalogueReader for PostgresReader {
    fn last_batch(&self) -> Result<u64> {
        let found = self.one("SELECT coalesce(max(batch), 0) FROM batches", &[], |row| {
            Cells::of(row).number().map(Some)
        })?;
        Ok(found.unwrap_or(0))
    }

    fn last_page(&self) -> Result<u64> {
        let found = self
            .one("SELECT next_page - 1 FROM catalogue_clock", &[], |row| Cells::of(row).number().map(Some))?;
        Ok(found.unwrap_or(0))
    }

    fn archive_positions(&self) -> Result<Vec<FilePosition>> {
        self.archive_ends()
    }

    fn links_position(&self) -> Result<Option<LinksPosition>> {
        self.links_end()
    }

    fn output_position(&self, job: JobId, path: &str) -> Result<Option<OutputPosition>> {
        self.output_end(job, path)
    }

    fn pages_after_batch(&self, batch: u64, each: Each<'_, StoredPage>) -> Result<()> {
        let last = self.first_after("next_page", batch)?.saturating_sub(1);
        let (before, batch) = (last as i64, i64::try_from(batch).unwrap_or(i64::MAX));
        let repeated = "AND repeated AND batch > $3 AND id <= $4";
        if self.pages_where(repeated, 0, &[&batch, &before], each)? {
            self.pages_where("", last, &[], each)?;
        }
        Ok(())
    }

    fn overwritten_after(&self, batch: u64) -> Result<Option<(u64, Vec<StoredPage>)>> {
        let after = i64::try_from(batch).unwrap_or(i64::MAX);
        let sql = "SELECT min(batch) FROM crawl_metadata WHERE repeated AND batch > $1";
        let next = self.one(sql, &[&after], |row| Cells::of(row).optional_number().map(Some))?.flatten();
        let Some(next) = next else { return Ok(None) };
        let sql = format!(
            "SELECT id, {} FROM crawl_metadata WHERE repeated AND batch = $1 ORDER BY id",
            page::shown_columns()
        );
        let pages = self.rows(&sql, &[&(next as i64)], page_found)?;
        Ok(Some((next, pages.into_iter().map(|(_, page)| page).collect())))
    }

    fn fetches_after_batch(&self, batch: u64, each: Each<'_, FetchRow>) -> Result<()> {
        let first = self.first_after("next_fetch", batch)?;
        let sql = format!("SELECT id, {} FROM fetches WHERE id > $1 ORDER BY id LIMIT $2", fetch::COLUMNS);
        in_pieces(&self.session, &sql, first.saturating_sub(1), &[], fetch_row, each)?;
        Ok(())
    }

    fn jobs(&self) -> Result<Vec<Job>> {
        Ok(jobs::all(&mut self.session.borrow_mut())?)
    }

    fn job(&self, id: JobId) -> Result<Option<Job>> {
        Ok(jobs::by_id(&mut self.session.borrow_mut(), id)?)
    }

    fn find_job(&self, name_or_hash: &str) -> Result<Option<Job>> {
        Ok(jobs::find(&mut self.session.borrow_mut(), name_or_hash)?)
    }

    fn latest_job(&self) -> Result<Option<Job>> {
        Ok(jobs::latest(&mut self.session.borrow_mut())?)
    }

    fn counts(&self, job: JobId) -> Result<JobCounts> {
        let session = &mut self.session.borrow_mut();
        let sql = "SELECT class, word, count FROM job_counts WHERE job = $1 AND count <> 0
                   UNION ALL
                   SELECT 'total', 'content_lost', count(*) FROM crawl_metadata WHERE job = $1 AND archive_lost";
        let rows = session.query(sql, &[&(job.0 as i32)])?;
        Ok(counts::job_counts(&rows).map_err(|error| session.error(error))?)
    }

    fn stats(&self, job: JobId, since: Millis) -> Result<Vec<JobStats>> {
        Ok(jobs::stats(&mut self.session.borrow_mut(), job, since)?)
    }

    fn pages(&self, query: &PageQuery, each: Each<'_, StoredPage>) -> Result<()> {
        let shown = if query.include_noindex { "" } else { "AND NOT noindex" };
        match query.job {
            Some(job) => {
                let wanted = format!("AND job = $3 {shown}");
                self.pages_where(&wanted, query.after_seq, &[&(job.0 as i32)], each)?;
            }
            None => {
                self.pages_where(shown, query.after_seq, &[], each)?;
            }
        }
        Ok(())
    }

    fn page(&self, job: Option<JobId>, normal: &str) -> Result<Option<StoredPage>> {
        let sql = include_str!("sql/page_by_url.sql").replace("{columns}", &page::shown_columns());
        let found = self.one(&sql, &[&url_hash(url_key(normal)), &number_of(job)], page_found)?;
        Ok(found.map(|(_, page)| page))
    }

    fn skipped_after(&self, job: Option<JobId>, after: u64, each: Each<'_, (u64, SkippedRow)>) -> Result<()> {
        let sql = include_str!("sql/skipped_select.sql");
        let numbered = |row: &Row| Ok(skipped_row(row)?.map(|(id, row)| (id, (id, row))));
        in_pieces(&self.session, sql, after, &[&number_of(job)], numbered, each)?;
        Ok(())
    }

    fn skipped_url(&self, job: Option<JobId>, normal: &str) -> Result<Option<SkippedRow>> {
        let sql = include_str!("sql/skipped_by_url.sql");
        let found = self.one(sql, &[&url_hash(url_key(normal)), &number_of(job)], skipped_row)?;
        Ok(found.map(|(_, row)| row))
    }

    fn notes(&self, job: JobId, normal: &str) -> Result<Vec<SkippedRow>> {
        let sql = include_str!("sql/skipped_by_url.sql");
        let mut notes = Vec::new();
        for reason in SkipReason::ABOUT_PAGES {
            let key = url_hash(note_key(reason, url_key(normal)));
            let parameters: Parameters<'_> = &[&key, &number_of(Some(job))];
            notes.extend(self.one(sql, parameters, skipped_row)?.map(|(_, row)| row));
        }
        Ok(notes)
    }

    fn cuts(&self, job: JobId, each: Each<'_, SkippedRow>) -> Result<()> {
        let sql = include_str!("sql/skipped_cuts.sql");
        in_pieces(&self.session, sql, 0, &[&number_of(Some(job))], skipped_row, each)?;
        Ok(())
    }

    fn resources(&self, job: Option<JobId>, each: Each<'_, ResourceRow>) -> Result<()> {
        let sql = format!(
            "SELECT id, {} FROM resources WHERE id > $1 AND ($3::integer IS NULL OR job = $3) ORDER BY id LIMIT $2",
            resource::COLUMNS
        );
        in_pieces(&self.session, &sql, 0, &[&number_of(job)], resource::row, each)?;
        Ok(())
    }

    fn resource(&self, job: Option<JobId>, normal: &str) -> Result<Option<ResourceRow>> {
        let sql = format!(
            "SELECT id, {} FROM resources WHERE url_hash = $1 AND ($2::integer IS NULL OR job = $2)
             ORDER BY job DESC, round DESC LIMIT 1",
            resource::COLUMNS
        );
        let found = self.one(&sql, &[&url_hash(url_key(normal)), &number_of(job)], resource::row)?;
        Ok(found.map(|(_, row)| row))
    }

    fn fetches(&self, job: Option<JobId>, each: Each<'_, FetchRow>) -> Result<()> {
        let wanted = job.map_or(String::new(), |job| format!("WHERE job = {}", job.0 as i32));
        let sql = format!(
            "SELECT id, {} FROM fetches {wanted} ORDER BY host COLLATE \"C\", started, duration_ms, id",
            fetch::COLUMNS
        );
        let database = self.session.borrow().database().clone();
        sorted(&mut database.connect(LIMIT)?, &sql, fetch_row, &mut |(_, row)| each(row))
    }

    fn fetches_of(&self, job: Option<JobId>, normal: &str, limit: usize) -> Result<Vec<FetchRow>> {
        let sql = format!(
            "SELECT id, {} FROM fetches WHERE url_hash = $1 AND ($2::integer IS NULL OR job = $2)
             ORDER BY started, id LIMIT $3",
            fetch::COLUMNS
        );
        let parameters: Parameters<'_> = &[&url_hash(url_key(normal)), &number_of(job), &limit_of(limit)];
        Ok(self.rows(&sql, parameters, fetch_row)?.into_iter().map(|(_, row)| row).collect())
    }

    fn hops_to(&self, job: JobId, url: &str, limit: usize) -> Result<Vec<FetchRow>> {
        let sql = format!(
            "SELECT id, {} FROM fetches WHERE url = $1 AND scheduled_url IS NOT NULL AND job = $2
             ORDER BY started, id LIMIT $3",
            fetch::COLUMNS
        );
        let parameters: Parameters<'_> = &[&url, &number_of(Some(job)), &limit_of(limit)];
        Ok(self.rows(&sql, parameters, fetch_row)?.into_iter().map(|(_, row)| row).collect())
    }

    fn errors(&self, job: JobId, dead_letters_only: bool, each: Each<'_, ErrorRow>) -> Result<()> {
        let sql = include_str!("sql/errors_select.sql");
        in_pieces(&self.session, sql, 0, &[&(job.0 as i32), &dead_letters_only], error_row, each)?;
        Ok(())
    }

    /// None is ever stored: see the port.
    fn unclean_stops(&self, _job: Option<JobId>) -> Result<Vec<UncleanStop>> {
        Ok(Vec::new())
    }

    fn host(&self, host: &str) -> Result<Option<HostRow>> {
        self.one(include_str!("sql/host_select.sql"), &[&host], host::host_row)
    }

    fn robots(&self, origin: &str) -> Result<Vec<RobotsRow>> {
        self.rows(include_str!("sql/robots_select.sql"), &[&origin], host::robots_row)
    }

    fn host_delays(&self, job: JobId) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT host, max(required_delay_ms) FROM fetches WHERE job = $1 GROUP BY host";
        self.rows(sql, &[&(job.0 as i32)], |row| {
            let mut from = Cells::of(row);
            Ok(Some((from.text()?, from.number()?)))
        })
    }

    fn host_figures(&self, job: JobId, order: HostOrder, limit: usize) -> Result<Vec<HostFigures>> {
        let order: i32 = match order {
            HostOrder::MostPages => 0,
            HostOrder::Slowest => 1,
            HostOrder::MostFailures => 2,
        };
        let parameters: Parameters<'_> = &[&(job.0 as i32), &order, &limit_of(limit)];
        self.rows(include_str!("sql/host_figures.sql"), parameters, host::figures_row)
    }

    fn host_count(&self, job: JobId) -> Result<u64> {
        let sql = "SELECT count(DISTINCT domain) FROM crawl_metadata WHERE job = $1";
        let found = self.one(sql, &[&(job.0 as i32)], |row| Cells::of(row).number().map(Some))?;
        Ok(found.unwrap_or(0))
    }

    fn briefs(&self, job: JobId, kind: BriefKind, limit: usize) -> Result<Vec<PageBrief>> {
        let (wanted, order) = match kind {
            BriefKind::Slow => {
                ("fetch_ms IS NOT NULL AND (status_code IS NOT NULL OR fetch_ms > 0)", "fetch_ms DESC, id")
            }
            BriefKind::Broken => {
                ("(status_code IS NULL OR (status_code >= 300 AND status_code <> 304))", "id")
            }
            BriefKind::Redirected => ("redirects IS NOT NULL", "id"),
            BriefKind::Duplicate => ("duplicate_of IS NOT NULL", "id"),
        };
        let sql = include_str!("sql/briefs.sql").replace("{wanted}", wanted).replace("{order}", order);
        self.rows(&sql, &[&(job.0 as i32), &limit_of(limit)], |row| {
            let mut from = Cells::of(row);
            Ok(Some(PageBrief {
                url: from.text()?,
                final_url: from.optional_text()?,
                status: from.optional_short()?,
                fetch_ms: from.optional_small()?,
                error: from.optional_text()?,
                duplicate_of: from.optional_text()?,
                source: from.optional_text()?,
            }))
        })
    }

    fn originals(&self, job: JobId, after: u64, each: Each<'_, StoredOriginal>) -> Result<()> {
        self.read_originals(job, after, each)
    }

    fn page_urls(&self, job: JobId, url_keys: &[u64]) -> Result<Vec<(u64, String)>> {
        self.read_page_urls(job, url_keys)
    }

    fn duplicate_groups(&self, job: JobId, limit: usize, examples: usize) -> Result<Vec<DuplicateGroup>> {
        self.read_duplicate_groups(job, limit, examples)
    }

    fn check(&self) -> Result<()> {
        for table in TABLES {
            let sql = format!("SELECT coalesce(sum(length({table}::text)), 0)::bigint FROM {table}");
            self.one(&sql, &[], |row| Cells::of(row).number().map(Some))?;
        }
        Ok(())
    }
}
