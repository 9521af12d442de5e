//! Converts a page row to and from the columns of `pages`, in the order of `sql/page_insert.sql`.

use super::cells::{content_hash, instant, json_cell, json_value, list_cell, simhash};
use argiope_model::{FetchTimings, JobId, Millis, Page};
use argiope_store::catalogue::{OpenGraph, PageRow, StoredPage};
use rusqlite::types::Value;
use rusqlite::{Row, Statement, ToSql};

pub(super) const INSERT: &str = include_str!("sql/page_insert.sql");
pub(super) const UPDATE: &str = include_str!("sql/page_update.sql");

/// Fields that the writer adds to a row.
pub(super) struct Place {
    pub(super) seq: u64,
    pub(super) batch: u64,
    pub(super) host: i64,
    pub(super) repeated: bool,
}

/// Binds one parameter after the other.
pub(super) struct Binder<'b, 'c> {
    statement: &'b mut Statement<'c>,
    next: usize,
}

impl<'b, 'c> Binder<'b, 'c> {
    pub(super) fn new(statement: &'b mut Statement<'c>) -> Binder<'b, 'c> {
        Binder { statement, next: 1 }
    }

    pub(super) fn bind(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.statement.raw_bind_parameter(self.next, value)?;
        self.next += 1;
        Ok(())
    }

    /// SQLite's integers are signed; keys and counts keep their bits.
    pub(super) fn number(&mut self, value: u64) -> rusqlite::Result<()> {
        self.bind(value as i64)
    }

    pub(super) fn text(&mut self, value: &Option<String>) -> rusqlite::Result<()> {
        self.bind(value.as_deref())
    }
}

pub(super) fn bind(statement: &mut Statement<'_>, row: &PageRow, place: &Place) -> rusqlite::Result<()> {
    let page = &row.page;
    let mut to = Binder::new(statement);
    to.number(place.seq)?;
    to.number(row.url_key)?;
    to.bind(row.job.0)?;
    to.bind(row.round)?;
    to.number(place.batch)?;
    to.bind(place.repeated)?;
    to.bind(row.noindex)?;
    to.bind(row.nofollow)?;
    to.bind(place.host)?;
    to.bind(page.status)?;
    to.bind(page.fetch_ms)?;
    to.bind(page.bytes.map(|bytes| bytes as i64))?;
    to.bind(page.depth)?;
    to.bind(page.url.as_str())?;
    to.text(&page.final_url)?;
    to.text(&page.error)?;
    to.text(&page.duplicate_of)?;
    to.text(&row.source)?;
    to.text(&page.title)?;
    to.text(&page.description)?;
    to.text(&page.keywords)?;
    to.text(&page.author)?;
    to.text(&page.language)?;
    to.text(&page.canonical)?;
    to.text(&page.content_type)?;
    to.bind(page.content_hash.as_ref().map(|hash| hash.0.as_slice()))?;
    to.bind(page.simhash.map(|hash| hash.0 as i64))?;
    to.bind(page.word_count)?;
    // An empty list of topics is not the same as an unknown one.
    to.bind(page.topics.as_ref().map_or(Ok(Value::Null), json_cell)?)?;
    to.bind(page.links)?;
    to.bind(page.crawled_at.map(|at| at.0 as i64))?;
    to.text(&page.archive)?;
    to.bind(list_cell(&row.redirects)?)?;
    to.bind(row.retry_count)?;
    to.bind(row.priority)?;
    to.number(row.scheduled_at.0)?;
    to.bind(row.next_crawl_at.map(|at| at.0 as i64))?;
    to.bind(row.crawl_count)?;
    to.bind(row.error_count)?;
    bind_timings(&mut to, &row.timings)?;
    to.text(&row.open_graph.title)?;
    to.text(&row.open_graph.description)?;
    to.text(&row.open_graph.image)?;
    to.text(&row.open_graph.kind)?;
    to.bind(list_cell(&row.headings)?)?;
    to.text(&row.etag)?;
    to.text(&row.last_modified)?;
    to.text(&row.worker_id)
}

fn bind_timings(to: &mut Binder<'_, '_>, timings: &FetchTimings) -> rusqlite::Result<()> {
    to.number(timings.started.0)?;
    to.bind(timings.ended.0.wrapping_sub(timings.started.0) as i64)?;
    to.bind(timings.dns_us)?;
    to.bind(timings.connect_us)?;
    to.bind(timings.tls_us)?;
    to.bind(timings.first_byte_us)?;
    to.bind(timings.download_us)
}

/// Reads one column after the other.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Columns<'r, 's> {
    pub(super) fn new(row: &'r Row<'s>) -> Columns<'r, 's> {
        Columns { row, next: 0 }
    }

    pub(super) fn take<T: rusqlite::types::FromSql>(&mut self) -> rusqlite::Result<T> {
        let value = self.row.get(self.next)?;
        self.next += 1;
        Ok(value)
    }

    pub(super) fn number(&mut self) -> rusqlite::Result<u64> {
        self.take::<i64>().map(|number| number as u64)
    }

    pub(super) fn optional_number(&mut self) -> rusqlite::Result<Option<u64>> {
        Ok(self.take::<Option<i64>>()?.map(|number| number as u64))
    }

    pub(super) fn instant(&mut self) -> rusqlite::Result<Millis> {
        self.number().map(Millis)
    }

    fn decoded<T>(
        &mut self,
        decode: impl FnOnce(rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<T>,
    ) -> rusqlite::Result<T> {
        let cell = self.row.get_ref(self.next)?;
        let value = decode(cell).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(self.next, cell.data_type(), Box::new(error))
        })?;
        self.next += 1;
        Ok(value)
    }
}

pub(super) fn stored_page(row: &Row<'_>) -> rusqlite::Result<StoredPage> {
    let mut from = Columns::new(row);
    let mut page = Page::default();
    let seq = from.number()?;
    let url_key = from.number()?;
    let job = JobId(from.take()?);
    let round = from.take()?;
    let _batch: i64 = from.take()?;
    let _repeated: bool = from.take()?;
    let noindex = from.take()?;
    let nofollow = from.take()?;
    let host: String = from.take()?;
    page.status = from.take()?;
    page.fetch_ms = from.take()?;
    page.bytes = from.optional_number()?;
    page.depth = from.take()?;
    page.url = from.take()?;
    page.final_url = from.take()?;
    page.error = from.take()?;
    page.duplicate_of = from.take()?;
    let source = from.take()?;
    page.title = from.take()?;
    page.description = from.take()?;
    page.keywords = from.take()?;
    page.author = from.take()?;
    page.language = from.take()?;
    page.canonical = from.take()?;
    page.content_type = from.take()?;
    page.content_hash = from.decoded(content_hash)?;
    page.simhash = from.decoded(simhash)?;
    page.word_count = from.take()?;
    page.topics = from.decoded(json_value)?;
    page.links = from.take()?;
    page.crawled_at = from.decoded(instant)?;
    page.archive = from.take()?;
    let row = PageRow {
        job,
        url_key,
        round,
        noindex,
        nofollow,
        host,
        page,
        source,
        redirects: from.decoded(json_value)?.unwrap_or_default(),
        retry_count: from.take()?,
        priority: from.take()?,
        scheduled_at: from.instant()?,
        next_crawl_at: from.optional_number()?.map(Millis),
        crawl_count: from.take()?,
        error_count: from.take()?,
        timings: timings(&mut from)?,
        open_graph: OpenGraph {
            title: from.take()?,
            description: from.take()?,
            image: from.take()?,
            kind: from.take()?,
        },
        headings: from.decoded(json_value)?.unwrap_or_default(),
        etag: from.take()?,
        last_modified: from.take()?,
        worker_id: from.take()?,
    };
    Ok(StoredPage { seq, row })
}

fn timings(from: &mut Columns<'_, '_>) -> rusqlite::Result<FetchTimings> {
    let started = from.instant()?;
    Ok(FetchTimings {
        started,
        ended: Millis(started.0.wrapping_add(from.number()?)),
        dns_us: from.take()?,
        connect_us: from.take()?,
        tls_us: from.take()?,
        first_byte_us: from.take()?,
        download_us: from.take()?,
    })
}
