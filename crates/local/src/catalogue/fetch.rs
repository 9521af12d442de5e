//! Converts a history row to and from the columns of `fetches`, in the order of `sql/fetch_insert.sql`.

use super::page::{Binder, Columns};
use argiope_model::{FetchTimings, JobId, Millis};
use argiope_store::catalogue::{FetchOutcome, FetchRow, RobotsRule, kind_code, kind_of_code};
use rusqlite::types::Type;
use rusqlite::{Row, Statement};

pub(super) const INSERT: &str = include_str!("sql/fetch_insert.sql");

/// The identity of a request: the start is part of it, because robots.txt is requested repeatedly.
pub(super) type RequestKey = (u64, u64, u8, u8);

pub(super) fn request_key(row: &FetchRow) -> RequestKey {
    (row.url_key, row.timings.started.0, row.attempt, row.hop)
}

pub(super) fn bind(
    statement: &mut Statement<'_>,
    row: &FetchRow,
    id: u64,
    host: i64,
) -> rusqlite::Result<()> {
    let timings = &row.timings;
    let mut to = Binder::new(statement);
    to.number(id)?;
    to.number(row.url_key)?;
    to.bind(row.job.0)?;
    to.bind(host)?;
    to.number(timings.started.0)?;
    to.bind(timings.ended.0.wrapping_sub(timings.started.0) as i64)?;
    to.bind(kind_code(row.kind))?;
    to.bind(row.round)?;
    to.bind(row.attempt)?;
    to.bind(row.hop)?;
    to.bind(row.outcome.code())?;
    to.bind(row.status)?;
    to.text(&row.error)?;
    to.number(row.bytes)?;
    to.bind(row.url.as_str())?;
    to.text(&row.scheduled_url)?;
    to.text(&row.address)?;
    to.bind(row.rule.as_ref().map(|rule| rule.text.as_str()))?;
    to.bind(row.rule.as_ref().map(|rule| rule.line))?;
    to.number(row.required_delay_ms)?;
    to.bind(row.per_host)?;
    to.bind(timings.dns_us)?;
    to.bind(timings.connect_us)?;
    to.bind(timings.tls_us)?;
    to.bind(timings.first_byte_us)?;
    to.bind(timings.download_us)?;
    to.text(&row.worker_id)
}

/// The row and its number.
pub(super) fn fetch_row(row: &Row<'_>) -> rusqlite::Result<(u64, FetchRow)> {
    let mut from = Columns::new(row);
    let id = from.number()?;
    let url_key = from.number()?;
    let job = JobId(from.take()?);
    let host = from.take()?;
    let started = from.instant()?;
    let ended = Millis(started.0.wrapping_add(from.number()?));
    // In the order of the columns.
    let row = FetchRow {
        job,
        url_key,
        host,
        kind: coded(from.take()?, kind_of_code)?,
        round: from.take()?,
        attempt: from.take()?,
        hop: from.take()?,
        outcome: coded(from.take()?, FetchOutcome::from_code)?,
        status: from.take()?,
        error: from.take()?,
        bytes: from.number()?,
        url: from.take()?,
        scheduled_url: from.take()?,
        address: from.take()?,
        rule: RobotsRule::of_columns(from.take()?, from.take()?),
        required_delay_ms: from.number()?,
        per_host: from.take()?,
        timings: FetchTimings {
            started,
            ended,
            dns_us: from.take()?,
            connect_us: from.take()?,
            tls_us: from.take()?,
            first_byte_us: from.take()?,
            download_us: from.take()?,
        },
        worker_id: from.take()?,
    };
    Ok((id, row))
}

/// An unknown code is damage.
fn coded<T>(code: i64, known: impl FnOnce(u8) -> Option<T>) -> rusqlite::Result<T> {
    u8::try_from(code).ok().and_then(known).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(0, Type::Integer, format!("unknown code {code}").into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::RequestKind;

    #[test]
    fn an_unknown_code_is_damage() {
        assert!(coded(7, kind_of_code).is_err());
        assert_eq!(coded(1, kind_of_code).unwrap(), RequestKind::Robots);
    }
}
