//! How far each stream is published: the table `published`.

use crate::database::{DatabaseError, Session};

/// Pages as they were first stored, by their numbers.
pub(super) const PAGES: &str = "pages";
/// Pages that were overwritten since, by the batches that did it.
pub(super) const OVERWRITTEN_PAGES: &str = "repeated pages";

pub(crate) fn read(session: &mut Session, stream: &str) -> Result<u64, DatabaseError> {
    let row = session.query_opt("SELECT position FROM published WHERE what = $1", &[&stream])?;
    let Some(row) = row else { return Ok(0) };
    let position: i64 = row.try_get(0).map_err(|error| session.error(error))?;
    Ok(u64::try_from(position).unwrap_or(0))
}

/// Moves positions forward. If another member leads by now, it may have published beyond them already: they never move
/// back.
pub(crate) fn advance(session: &mut Session, streams: &[(&str, u64)]) -> Result<(), DatabaseError> {
    let names: Vec<&str> = streams.iter().map(|(name, _)| *name).collect();
    let positions: Vec<i64> =
        streams.iter().map(|(_, position)| i64::try_from(*position).unwrap_or(i64::MAX)).collect();
    let sql = "INSERT INTO published (what, position) SELECT * FROM unnest($1::text[], $2::bigint[])
               ON CONFLICT (what) DO UPDATE SET position = greatest(published.position, excluded.position)";
    session.query(sql, &[&names, &positions])?;
    Ok(())
}

/// How many pages are stored and not published yet.
pub fn unpublished_pages(session: &mut Session) -> Result<u64, DatabaseError> {
    let sql =
        "SELECT greatest(0, next_page - 1 - coalesce((SELECT position FROM published WHERE what = $1), 0))
               FROM catalogue_clock";
    let row = session.query_one(sql, &[&PAGES])?;
    let pages: i64 = row.try_get(0).map_err(|error| session.error(error))?;
    Ok(u64::try_from(pages).unwrap_or(0))
}
