//! Skipped URLs from the columns of `skipped`.

use crate::database::{Answer, Cells};
use argiope_model::{JobId, SkipReason};
use argiope_store::catalogue::SkippedRow;
use tokio_postgres::Row;

pub(super) fn skipped_row(row: &Row) -> Answer<Option<(u64, SkippedRow)>> {
    let mut from = Cells::of(row);
    let id = from.number()?;
    let job = JobId(from.small()?);
    let reason: &str = from.take()?;
    let Some(reason) = SkipReason::parse(reason) else { return Ok(None) };
    let (url, detail, source) = (from.text()?, from.text()?, from.optional_text()?);
    let url_key = from.hash()?;
    Ok(Some((id, SkippedRow { job, url_key, url, reason, detail, source, amount: from.number()? })))
}
