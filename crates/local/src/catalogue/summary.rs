//! The figures of a report, computed by SQLite in one pass over a job's pages each.

use argiope_model::JobId;
use argiope_store::catalogue::{BriefKind, HostFigures, HostOrder, PageBrief};
use rusqlite::{Connection, params};

pub(super) fn host_figures(
    connection: &Connection,
    job: JobId,
    (first, last): (i64, i64),
    order: HostOrder,
    limit: usize,
) -> rusqlite::Result<Vec<HostFigures>> {
    let order = match order {
        HostOrder::MostPages => 0,
        HostOrder::Slowest => 1,
        HostOrder::MostFailures => 2,
    };
    let number = |number: i64| number as u64;
    connection
        .prepare_cached(include_str!("sql/host_figures.sql"))?
        .query_map(params![job.0, first, last, order, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
            Ok(HostFigures {
                host: row.get(0)?,
                pages: row.get(1).map(number)?,
                failed: row.get(2).map(number)?,
                bytes: row.get(3).map(number)?,
                mean_fetch_ms: row.get(4).map(number)?,
                max_fetch_ms: row.get(5).map(number)?,
            })
        })?
        .collect()
}

pub(super) fn host_delays(
    connection: &Connection,
    job: JobId,
    (first, last): (i64, i64),
) -> rusqlite::Result<Vec<(String, u64)>> {
    connection
        .prepare_cached(include_str!("sql/host_delays.sql"))?
        .query_map([i64::from(job.0), first, last], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?
        .collect()
}

pub(super) fn host_count(
    connection: &Connection,
    job: JobId,
    (first, last): (i64, i64),
) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(DISTINCT host) FROM pages WHERE seq BETWEEN ?2 AND ?3 AND job = ?1")?
        .query_row([i64::from(job.0), first, last], |row| row.get::<_, i64>(0))
        .map(|count| count as u64)
}

pub(super) fn briefs(
    connection: &Connection,
    job: JobId,
    (first, last): (i64, i64),
    kind: BriefKind,
    limit: usize,
) -> rusqlite::Result<Vec<PageBrief>> {
    let sql = match kind {
        BriefKind::Slow => include_str!("sql/briefs_slow.sql"),
        BriefKind::Broken => include_str!("sql/briefs_broken.sql"),
        BriefKind::Redirected => include_str!("sql/briefs_redirected.sql"),
        BriefKind::Duplicate => include_str!("sql/briefs_duplicate.sql"),
    };
    connection
        .prepare_cached(sql)?
        .query_map(params![job.0, first, last, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
            Ok(PageBrief {
                url: row.get(0)?,
                final_url: row.get(1)?,
                status: row.get(2)?,
                fetch_ms: row.get(3)?,
                error: row.get(4)?,
                duplicate_of: row.get(5)?,
                source: row.get(6)?,
            })
        })?
        .collect()
}
