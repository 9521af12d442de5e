//! Long reads in pieces: each piece is a short statement, so that a slow reader holds no locks on the server.

use crate::database::{Answer, DatabaseErrorKind, Parameters, Result, Session};
use argiope_store::catalogue::Each;
use argiope_store::error::Result as Stored;
use std::cell::RefCell;
use std::ops::ControlFlow;
use tokio_postgres::Row;

/// Rows read at once.
const PIECE: i64 = 1000;

/// Decodes a row; `None` if it has a value that is not valid.
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
        let message = "a row has an unknown code; restore the database from a backup";
        session.database().error(DatabaseErrorKind::Damaged, message)
    })
}

/// Streams rows that carry a growing number, which `decode` returns with them. `sql` selects those after the number $1, in
/// order, $2 of them at most; `parameters` are $3 and following. False if `each` ended it early.
pub(super) fn in_pieces<T>(
    session: &RefCell<Session>,
    sql: &str,
    mut after: u64,
    parameters: Parameters<'_>,
    decode: Decode<(u64, T)>,
    each: Each<'_, T>,
) -> Stored<bool> {
    loop {
        let from = i64::try_from(after).unwrap_or(i64::MAX);
        let all: Vec<_> = [&from as _, &PIECE as _].into_iter().chain(parameters.iter().copied()).collect();
        // The session is released before a row is handed out: `each` may use it.
        let piece = rows(&mut session.borrow_mut(), sql, &all, decode)?;
        let is_last = piece.len() < PIECE as usize;
        for (number, row) in piece {
            after = number;
            if each(row)?.is_break() {
                return Ok(false);
            }
        }
        if is_last {
            return Ok(true);
        }
    }
}

/// Streams the result of one statement, sorted by the server. Needs a connection of its own, and holds a snapshot until it is
/// done. The statement has no parameters.
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
