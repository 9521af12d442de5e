//! Converts a history row to and from the columns of `fetches`.

use super::page::{encode_timings, timings, url_hash};
use crate::database::{Answer, Cells, Rows, month_of};
use argiope_model::{JobId, RequestKind};
use argiope_store::catalogue::{FetchOutcome, FetchRow, RobotsRule};
use tokio_postgres::Row;

/// In the order of [`encode`] and [`fetch_row`]. The writer adds `id`.
pub(super) const COLUMNS: &str = "\
    job, year_month, url_hash, host, started, duration_ms, dns_us, connect_us, tls_us, first_byte_us, download_us, \
    kind, round, attempt, hop, outcome, status, error, bytes, url, scheduled_url, address, rule, rule_line, \
    required_delay_ms, per_host, worker_id";

const COUNT: usize = 27;

const KINDS: [RequestKind; 4] =
    [RequestKind::Page, RequestKind::Robots, RequestKind::Sitemap, RequestKind::Resource];

fn kind_code(kind: RequestKind) -> u16 {
    match kind {
        RequestKind::Page => 0,
        RequestKind::Robots => 1,
        RequestKind::Sitemap => 2,
        RequestKind::Resource => 3,
    }
}

pub(super) fn encode(to: &mut Rows, place: u32, row: &FetchRow) {
    to.row(COUNT + 1);
    to.small(place);
    to.small(row.job.0);
    to.text(&month_of(row.timings.started));
    to.text(&url_hash(row.url_key));
    to.text(&row.host);
    encode_timings(to, &row.timings);
    to.short(kind_code(row.kind));
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
    let code = from.short()?;
    let kind = KINDS.into_iter().find(|kind| kind_code(*kind) == code);
    let round = from.small()?;
    let attempt = from.byte()?;
    let hop = from.byte()?;
    let outcome = FetchOutcome::from_code(from.byte()?);
    let status = from.optional_short()?;
    let error = from.optional_text()?;
    let bytes = from.number()?;
    let url = from.text()?;
    let scheduled_url = from.optional_text()?;
    let address = from.optional_text()?;
    let text = from.optional_text()?;
    let line = from.optional_small()?;
    let required_delay_ms = from.number()?;
    let per_host = from.small()?;
    let worker_id = from.optional_text()?;
    let (Some(kind), Some(outcome)) = (kind, outcome) else { return Ok(None) };
    let row = FetchRow {
        job,
        host,
        url,
        scheduled_url,
        url_key,
        kind,
        round,
        attempt,
        hop,
        outcome,
        timings,
        status,
        error,
        bytes,
        address,
        rule: text.zip(line).map(|(text, line)| RobotsRule { text, line }),
        required_delay_ms,
        per_host,
        worker_id,
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
