//! Converts a history row to and from the columns of `fetches`.

use super::page::{encode_timings, timings, url_hash};
use crate::database::{Answer, Cells, Rows, month_of};
use argiope_model::JobId;
use argiope_store::catalogue::{FetchOutcome, FetchRow, RobotsRule, kind_code, kind_of_code};
use tokio_postgres::Row;

/// In the order of [`encode`] and [`fetch_row`]. The writer adds `id`.
pub(super) const COLUMNS: &str = "\
    job, year_month, url_hash, host, started, duration_ms, dns_us, connect_us, tls_us, first_byte_us, download_us, \
    kind, round, attempt, hop, outcome, status, error, bytes, url, scheduled_url, address, rule, rule_line, \
    required_delay_ms, per_host, worker_id";

const COUNT: usize = 27;

pub(super) fn encode(to: &mut Rows, place: u32, row: &FetchRow) {
    to.row(COUNT + 1);
    to.small(place);
    to.small(row.job.0);
    to.text(&month_of(row.timings.started));
    to.text(&url_hash(row.url_key));
    to.text(&row.host);
    encode_timings(to, &row.timings);
    to.short(kind_code(row.kind).into());
    to.small(row.round);
    to.short(row.attempt.into());
    to.short(row.hop.into());
    to.short(row.outcome.code().into());
    to.optional(row.status, Rows::short);
    to.optional_text(row.error.as_deref());
    to.number(row.bytes);
    to.text(&row.url);
    to.optional_text(row.scheduled_url.as_deref());
    to.optional_text(row.address.as_deref());
    to.optional_text(row.rule.as_ref().map(|rule| rule.text.as_str()));
    to.optional(row.rule.as_ref().map(|rule| rule.line), Rows::small);
    to.number(row.required_delay_ms);
    to.small(row.per_host);
    to.optional_text(row.worker_id.as_deref());
}

/// From a row of `id` and [`COLUMNS`]: its number, and the request. None if a code in it is unknown.
pub(super) fn fetch_row(row: &Row) -> Answer<Option<(u64, FetchRow)>> {
    let mut from = Cells::of(row);
    let id = from.number()?;
    let job = JobId(from.small()?);
    from.skip();
    let url_key = from.hash()?;
    let host = from.text()?;
    let timings = timings(&mut from)?;
    let kind = u8::try_from(from.short()?).ok().and_then(kind_of_code);
    let round = from.small()?;
    let attempt = from.byte()?;
    let hop = from.byte()?;
    let outcome = FetchOutcome::from_code(from.byte()?);
    let (Some(kind), Some(outcome)) = (kind, outcome) else { return Ok(None) };
    // In the order of the columns.
    let row = FetchRow {
        job,
        url_key,
        host,
        timings,
        kind,
        round,
        attempt,
        hop,
        outcome,
        status: from.optional_short()?,
        error: from.optional_text()?,
        bytes: from.number()?,
        url: from.text()?,
        scheduled_url: from.optional_text()?,
        address: from.optional_text()?,
        rule: RobotsRule::of_columns(from.optional_text()?, from.optional_small()?),
        required_delay_ms: from.number()?,
        per_host: from.small()?,
        worker_id: from.optional_text()?,
    };
    Ok(Some((id, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_counted() {
        assert_eq!(COLUMNS.split(',').count(), COUNT);
    }
}
