//! Reads failed requests from the columns of `errors`.

use crate::database::{Answer, Cells};
use argiope_model::JobId;
use argiope_store::catalogue::ErrorRow;
use tokio_postgres::Row;

pub(super) fn error_row(row: &Row) -> Answer<Option<(u64, ErrorRow)>> {
    let mut from = Cells::of(row);
    let id = from.number()?;
    let row = ErrorRow {
        job: JobId(from.small()?),
        round: from.small()?,
        attempt: from.byte()?,
        host: from.text()?,
        url: from.text()?,
        kind: from.text()?,
        message: from.text()?,
        status: from.optional_short()?,
        at: from.time()?,
        dead_letter: from.take()?,
        url_key: from.hash()?,
    };
    Ok(Some((id, row)))
}
