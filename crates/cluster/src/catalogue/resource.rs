//! Resources of pages to and from the columns of `resources`.

use super::page::url_hash;
use crate::database::{Answer, Cells, Rows};
use argiope_model::JobId;
use argiope_store::catalogue::ResourceRow;
use tokio_postgres::Row;

/// In the order of [`encode`] and [`row`]. The table adds `id`.
pub(super) const COLUMNS: &str = "job, url_hash, round, status, fetched_at, fetch_ms, bytes, url, final_url, error, \
    content_type, source, archive";

const COUNT: usize = 13;

pub(super) fn encode(to: &mut Rows, place: u32, row: &ResourceRow) {
    to.row(COUNT + 1);
    to.small(place);
    to.small(row.job.0);
    to.text(&url_hash(row.url_key));
    to.small(row.round);
    to.optional(row.status, Rows::short);
    to.time(row.fetched_at);
    to.small(row.fetch_ms);
    to.optional(row.bytes, Rows::number);
    to.text(&row.url);
    to.optional_text(row.final_url.as_deref());
    to.optional_text(row.error.as_deref());
    to.optional_text(row.content_type.as_deref());
    to.optional_text(row.source.as_deref());
    to.optional_text(row.archive.as_deref());
}

/// From a row of `id` and [`COLUMNS`]: its number, and the resource.
pub(super) fn row(row: &Row) -> Answer<Option<(u64, ResourceRow)>> {
    let mut from = Cells::of(row);
    let id = from.number()?;
    let job = JobId(from.small()?);
    let url_key = from.hash()?;
    let resource = ResourceRow {
        job,
        url_key,
        round: from.small()?,
        status: from.optional_short()?,
        fetched_at: from.time()?,
        fetch_ms: from.small()?,
        bytes: from.optional_number()?,
        url: from.text()?,
        final_url: from.optional_text()?,
        error: from.optional_text()?,
        content_type: from.optional_text()?,
        source: from.optional_text()?,
        archive: from.optional_text()?,
    };
    Ok(Some((id, resource)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_counted() {
        assert_eq!(COLUMNS.split(',').count(), COUNT);
    }
}
