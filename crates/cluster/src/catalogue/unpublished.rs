//! Everything published other than pages: failures, disallowed URLs and requests for robots.txt after a position, piece
//! by piece in commit order. Numbers are assigned under the lock of the catalogue, so that no row is committed later
//! with a number below one that was read.

use super::error_log::error_row;
use super::skipped::skipped_row;
use super::streams::rows;
use crate::database::{Cells, Result, Session};
use argiope_model::Millis;
use argiope_store::catalogue::{ErrorRow, SkippedRow};

const PIECE: i64 = 500;
/// How many numbers one query covers if few of the rows match.
const STRETCH: i64 = 20_000;

/// A piece, and the position after it.
pub(crate) struct Piece<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) reached: u64,
}

impl<T> Piece<T> {
    fn none(after: u64) -> Piece<T> {
        Piece { rows: Vec::new(), reached: after }
    }
}

/// Visits that ended with an error, by the numbers of their pages.
pub(crate) fn failures(session: &mut Session, after: u64) -> Result<Piece<ErrorRow>> {
    let reached = stretch(session, "next_page", after)?;
    let sql = include_str!("sql/failures_select.sql").replace("{wanted}", "page.id > $1 AND page.id <= $2");
    let found = rows(session, &sql, &[&signed(after), &signed(reached)], error_row)?;
    Ok(Piece { rows: found.into_iter().map(|(_, row)| row).collect(), reached })
}

/// Failed visits whose pages were overwritten since, one batch at a time.
pub(crate) fn overwritten_failures(session: &mut Session, after: u64) -> Result<Piece<ErrorRow>> {
    let Some(batch) = next_overwriting(session, after)? else { return Ok(Piece::none(after)) };
    let sql =
        include_str!("sql/failures_select.sql").replace("{wanted}", "page.repeated AND page.batch = $1");
    let found = rows(session, &sql, &[&signed(batch)], error_row)?;
    Ok(Piece { rows: found.into_iter().map(|(_, row)| row).collect(), reached: batch })
}

/// URLs that robots.txt disallows, by their numbers.
pub(crate) fn disallowed(session: &mut Session, after: u64) -> Result<Piece<SkippedRow>> {
    let sql = "SELECT id, job, reason, url, detail, source, url_hash, amount FROM skipped
               WHERE id > $1 AND reason = 'robots_disallowed' ORDER BY id LIMIT $2";
    let found = rows(session, sql, &[&signed(after), &PIECE], skipped_row)?;
    let reached = found.last().map_or(after, |(id, _)| *id);
    Ok(Piece { rows: found.into_iter().map(|(_, row)| row).collect(), reached })
}

/// Requests for a robots.txt: the URL, and when the request started.
pub(crate) fn robots_requests(session: &mut Session, after: u64) -> Result<Piece<(String, Millis)>> {
    let reached = stretch(session, "next_fetch", after)?;
    let sql =
        "SELECT url, started FROM fetches WHERE id > $1 AND id <= $2 AND kind = 1 AND hop = 0 ORDER BY id";
    let rows = rows(session, sql, &[&signed(after), &signed(reached)], |row| {
        let mut from = Cells::of(row);
        Ok(Some((from.text()?, from.time()?)))
    })?;
    Ok(Piece { rows, reached })
}

/// The next batch that has overwritten pages.
fn next_overwriting(session: &mut Session, after: u64) -> Result<Option<u64>> {
    let sql = "SELECT min(batch) FROM crawl_metadata WHERE repeated AND batch > $1";
    let next = rows(session, sql, &[&signed(after)], |row| Cells::of(row).optional_number().map(Some))?;
    Ok(next.into_iter().flatten().next())
}

/// The end of a piece whose rows are counted by this column of the clock: at most what is committed.
fn stretch(session: &mut Session, next: &str, after: u64) -> Result<u64> {
    let sql = format!("SELECT least($1::bigint + {STRETCH}, {next} - 1) FROM catalogue_clock");
    let end = rows(session, &sql, &[&signed(after)], |row| Cells::of(row).number().map(Some))?;
    Ok(end.into_iter().next().unwrap_or(after).max(after))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
