//! Resources of pages, in their own table.

use super::counts::Changes;
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{ResourceRow, is_broken};
use rusqlite::{Connection, OptionalExtension, Row, params};

pub(super) const SELECT: &str = include_str!("sql/resources_select.sql");
pub(super) const BY_URL: &str = include_str!("sql/resource_by_url.sql");

/// A stored one is overwritten, and counted once.
pub(super) fn store(
    connection: &Connection,
    rows: &[ResourceRow],
    changes: &mut Changes,
) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut find = connection
        .prepare_cached("SELECT status FROM resources WHERE url_key = ?1 AND job = ?2 AND round = ?3")?;
    let mut insert = connection.prepare_cached(include_str!("sql/resource_insert.sql"))?;
    for row in rows {
        let key = row.url_key as i64;
        let known = find
            .query_row(params![key, row.job.0, row.round], |found| found.get::<_, Option<u16>>(0))
            .optional()?;
        let was_broken = known.map(is_broken);
        insert.execute(params![
            key,
            row.job.0,
            row.round,
            row.status,
            row.fetched_at.0 as i64,
            row.fetch_ms,
            row.bytes.map(|bytes| bytes as i64),
            row.url,
            row.final_url,
            row.error,
            row.content_type,
            row.source,
            row.archive
        ])?;
        changes.resource(row.job, row.is_broken(), was_broken);
    }
    Ok(())
}

/// With its number.
pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<(u64, ResourceRow)> {
    let resource = ResourceRow {
        job: JobId(row.get(1)?),
        url_key: row.get::<_, i64>(13)? as u64,
        round: row.get(2)?,
        status: row.get(3)?,
        fetched_at: Millis(row.get::<_, i64>(4)? as u64),
        fetch_ms: row.get(5)?,
        bytes: row.get::<_, Option<i64>>(6)?.map(|bytes| bytes as u64),
        url: row.get(7)?,
        final_url: row.get(8)?,
        error: row.get(9)?,
        content_type: row.get(10)?,
        source: row.get(11)?,
        archive: row.get(12)?,
    };
    Ok((row.get::<_, i64>(0)? as u64, resource))
}
