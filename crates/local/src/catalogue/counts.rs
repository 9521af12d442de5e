//! Counters of jobs: collected over a batch in memory, added to the stored ones in its transaction.

use argiope_model::{JobId, SkipReason};
use argiope_store::catalogue::{FetchRow, JobCounts, PageRow, SkippedRow, error_kind};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// The changes of one batch. Signed: a page that is recorded again first subtracts its earlier counts.
#[derive(Default)]
struct Change {
    pages: i64,
    failed: i64,
    bytes: i64,
    requests: i64,
    received: i64,
    noindex: i64,
    duplicates: i64,
    redirected: i64,
    resources: i64,
    broken_resources: i64,
    by_status: BTreeMap<u16, i64>,
    by_error: BTreeMap<String, i64>,
    by_skip: BTreeMap<SkipReason, i64>,
    /// First and last number of new rows.
    pages_range: Option<(u64, u64)>,
    fetches_range: Option<(u64, u64)>,
}

/// The counted properties of a page.
pub(super) struct Counted<'p> {
    pub(super) status: Option<u16>,
    pub(super) error: Option<&'p str>,
    pub(super) bytes: u64,
    pub(super) noindex: bool,
    pub(super) duplicate: bool,
    pub(super) redirected: bool,
}

impl<'p> Counted<'p> {
    pub(super) fn of(row: &'p PageRow) -> Counted<'p> {
        Counted {
            status: row.page.status,
            error: row.page.error.as_deref(),
            bytes: row.page.bytes.unwrap_or(0),
            noindex: row.noindex,
            duplicate: row.page.duplicate_of.is_some(),
            redirected: !row.redirects.is_empty(),
        }
    }
}

#[derive(Default)]
pub(super) struct Changes {
    jobs: BTreeMap<JobId, Change>,
}

impl Changes {
    fn of(&mut self, job: JobId) -> &mut Change {
        self.jobs.entry(job).or_default()
    }

    pub(super) fn new_page(&mut self, row: &PageRow, seq: u64) {
        let change = self.of(row.job);
        extend(&mut change.pages_range, seq);
        change.page(&Counted::of(row), 1);
    }

    pub(super) fn repeated_page(&mut self, job: JobId, before: &Counted<'_>, after: &Counted<'_>) {
        let change = self.of(job);
        change.page(before, -1);
        change.page(after, 1);
    }

    pub(super) fn forgotten_page(&mut self, job: JobId, before: &Counted<'_>) {
        self.of(job).page(before, -1);
    }

    pub(super) fn fetch(&mut self, row: &FetchRow, id: u64) {
        let change = self.of(row.job);
        extend(&mut change.fetches_range, id);
        change.requests += 1;
        change.received = change.received.saturating_add(row.bytes as i64);
    }

    /// `before` is whether it was broken when it was stored last, if it was.
    pub(super) fn resource(&mut self, job: JobId, is_broken: bool, before: Option<bool>) {
        let change = self.of(job);
        change.resources += i64::from(before.is_none());
        change.broken_resources += i64::from(is_broken) - i64::from(before.unwrap_or(false));
    }

    pub(super) fn skip(&mut self, row: &SkippedRow) {
        let count = self.of(row.job).by_skip.entry(row.reason).or_default();
        *count = count.saturating_add_unsigned(row.counted());
    }

    pub(super) fn forget_skip(&mut self, job: JobId, reason: SkipReason) {
        *self.of(job).by_skip.entry(reason).or_default() -= 1;
    }

    pub(super) fn store(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut add = connection.prepare_cached(include_str!("sql/count_add.sql"))?;
        let mut range = connection.prepare_cached(include_str!("sql/job_ranges.sql"))?;
        for (job, change) in &self.jobs {
            let totals = [
                ("pages", change.pages),
                ("failed", change.failed),
                ("bytes", change.bytes),
                ("requests", change.requests),
                ("received", change.received),
                ("noindex", change.noindex),
                ("duplicates", change.duplicates),
                ("redirected", change.redirected),
                ("resources", change.resources),
                ("broken_resources", change.broken_resources),
            ];
            for (word, count) in totals.into_iter().filter(|(_, count)| *count != 0) {
                add.execute(params![job.0, "total", word, count])?;
            }
            for (status, count) in change.by_status.iter().filter(|(_, count)| **count != 0) {
                add.execute(params![job.0, "status", status.to_string(), count])?;
            }
            for (kind, count) in change.by_error.iter().filter(|(_, count)| **count != 0) {
                add.execute(params![job.0, "error", kind, count])?;
            }
            for (reason, count) in change.by_skip.iter().filter(|(_, count)| **count != 0) {
                add.execute(params![job.0, "skip", reason.as_str(), count])?;
            }
            let first = |range: Option<(u64, u64)>| range.map(|(first, _)| first as i64);
            let last = |range: Option<(u64, u64)>| range.map(|(_, last)| last as i64);
            let (pages, fetches) = (change.pages_range, change.fetches_range);
            if pages.is_some() || fetches.is_some() {
                range.execute(params![job.0, first(pages), last(pages), first(fetches), last(fetches)])?;
            }
        }
        Ok(())
    }
}

impl Change {
    fn page(&mut self, page: &Counted<'_>, by: i64) {
        self.pages += by;
        // Cannot panic on overflow, whatever the rows claim.
        self.bytes = self.bytes.saturating_add((page.bytes as i64).saturating_mul(by));
        match page.status {
            Some(status) => *self.by_status.entry(status).or_default() += by,
            None => self.failed += by,
        }
        if let Some(error) = page.error {
            let kind = error_kind(error);
            match self.by_error.get_mut(kind) {
                Some(count) => *count += by,
                None => self.by_error.extend([(kind.to_owned(), by)]),
            }
        }
        self.noindex += i64::from(page.noindex) * by;
        self.duplicates += i64::from(page.duplicate) * by;
        self.redirected += i64::from(page.redirected) * by;
    }
}

fn extend(range: &mut Option<(u64, u64)>, number: u64) {
    *range = Some(range.map_or((number, number), |(first, last)| (first.min(number), last.max(number))));
}

pub(super) fn load(connection: &Connection, job: JobId) -> rusqlite::Result<JobCounts> {
    let mut counts = JobCounts::default();
    let mut statement = connection
        .prepare_cached("SELECT class, word, count FROM job_counts WHERE job = ?1 AND count <> 0")?;
    let mut rows = statement.query([job.0])?;
    while let Some(row) = rows.next()? {
        let (class, word) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        let count = row.get::<_, i64>(2)? as u64;
        counts.take(class, word, count);
    }
    Ok(counts)
}
