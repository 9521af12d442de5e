//! Long reads in pieces: each piece is a short statement, so that a slow reader holds nothing on the server.

use crate::database::{Answer, DatabaseErrorKind, Parameters, Result, Session};
use argiope_store::catalogue::Each;
use argiope_store::error::Result as Stored;
use std::cell::RefCell;
use std::ops::ControlFlow;
use tokio_postgres::Row;

/// Rows read at once.
pub(super) const PIECE: i64 = 1000;

/// What a row says; `None` where it says nothing that makes sense.
pub(super) type Decode<T> = fn(&Row) -> Answer<Option<T>>;

pub(super) fn rows<T>(
    session: &mut Session,
    sql: &str,
    parameters: Parameters<'_>,
    decode: Decode<T>,
) -> Result<Vec<T>> {
    let rows = session.query(sql, parameters)?;
    rows.iter().map(|row| decoded(session, row, decode)).collect()
}

fn decoded<T>(session: &Session, row: &Row, decode: Decode<T>) -> Result<T> {
    decode(row).map_err(|error| session.error(error))?.ok_or_else(|| {
        let message = "a stored code stands for nothing that is known; restore the database from a backup";
        session.database().error(DatabaseErrorKind::Damaged, message)
    })
}

/// Streams rows that carry a growing number. `read` gives the piece after a number. False if it was ended early.
pub(super) fn in_pieces<T>(
    session: &RefCell<Session>,
    mut after: u64,
    number: impl Fn(&T) -> u64,
    each: Each<'_, T>,
    read: impl Fn(&mut Session, i64) -> Result<Vec<T>>,
) -> Stored<bool> {
    loop {
        let from = i64::try_from(after).unwrap_or(i64::MAX);
        // Given back before a row is handed out: whoever gets it may ask for more.
        let piece = read(&mut session.borrow_mut(), from)?;
        let last = piece.len() < PIECE as usize;
        for row in piece {
            after = number(&row);
            if each(row)?.is_break() {
                return Ok(false);
            }
        }
        if last {
            return Ok(true);
        }
    }
}

/// Streams what one statement answers, sorted by the server. Takes a connection of its own, and a snapshot for as long
/// as it takes. The statement has no parameters.
pub(super) fn sorted<T>(
    session: &mut Session,
    sql: &str,
    decode: Decode<T>,
    each: Each<'_, T>,
) -> Stored<()> {
    session.batch("SET idle_in_transaction_session_timeout = 0")?;
    session.batch(&format!("BEGIN; DECLARE stream NO SCROLL CURSOR FOR {sql}"))?;
    let fetch = format!("FETCH {PIECE} FROM stream");
    loop {
        let rows = session.run(async |connection| connection.query(&fetch, &[]).await)?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            if each(decoded(session, row, decode)?)? == ControlFlow::Break(()) {
                return Ok(());
            }
        }
    }
}
