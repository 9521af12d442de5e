//! Transactions that happen exactly once, even if the connection breaks in the middle and nobody knows how it ended.
//!
//! The data first goes into temporary tables, which others do not see. Then one message takes locks, stores and
//! commits. The server runs it to its end whatever happens to this process, so a stopped process holds no lock for
//! longer than that.
//!
//! A writer numbers its transactions, and each records its number in the writer's row. A repeated one finds its number
//! there, or waits for the earlier attempt to end; one that comes too late finds the number changed and does nothing.

use super::connection::Connection;
use super::error::{DatabaseError, DatabaseErrorKind, Result};
use super::session::Session;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio_postgres::SimpleQueryMessage;

/// The error of a transaction that was executed already.
const DONE: &str = "AR001";

/// One copy into a temporary table: the statement, and its rows.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) sql: String,
    pub(crate) rows: Bytes,
}

/// The contents of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    pub(crate) copies: Vec<Copy>,
    /// Statements without parameters. They return results as text in the table `staged_answer`.
    pub(crate) script: String,
}

#[derive(Debug)]
pub(crate) struct Writer {
    name: String,
    /// The last transaction known to be committed.
    number: i64,
}

impl Writer {
    /// `setup` creates the temporary tables of a connection.
    pub(crate) fn register(session: &mut Session, setup: &str) -> Result<Writer> {
        session.set_up(&format!(
            "{setup}; CREATE TEMP TABLE staged_answer (answer TEXT NOT NULL) ON COMMIT DELETE ROWS;"
        ))?;
        let row = session.query_one(
            "WITH old AS (DELETE FROM writers WHERE at < now() - interval '7 days')
             INSERT INTO writers (writer) VALUES (gen_random_uuid()::text) RETURNING writer",
            &[],
        )?;
        let name = row.try_get(0).map_err(|error| session.error(error))?;
        Ok(Writer { name, number: 0 })
    }

    /// Executes the transaction, unless it has been already, and returns its result. After a retryable error it may be
    /// called again, with the same or another transaction.
    pub(crate) fn write(&mut self, session: &mut Session, staged: &Staged) -> Result<String> {
        if session.is_broken() {
            session.reconnect()?;
        }
        let digest = digest(staged);
        loop {
            let script = self.wrapped(staged, &digest);
            let done = session.run(async |connection| {
                let outcome = stage_and_run(connection, staged, &script).await;
                if outcome.is_err() && !connection.is_closed() {
                    connection.script("ROLLBACK").await?;
                }
                outcome
            });
            match done {
                Ok(answers) => {
                    self.number += 1;
                    return last_text(&answers).ok_or_else(|| strange(session));
                }
                Err(error) if error.code() == Some(DONE) => {
                    let earlier = self.earlier(session)?;
                    self.number = earlier.number;
                    if earlier.digest == digest {
                        return Ok(earlier.answer);
                    }
                    // The committed transaction was an earlier one that was given up. This one has the next number.
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn wrapped(&self, staged: &Staged, digest: &str) -> String {
        let Writer { name, number } = self;
        let next = number + 1;
        format!(
            "DO $$ BEGIN
                 UPDATE writers SET number = {next}, digest = '{digest}', at = now()
                 WHERE writer = '{name}' AND number = {number};
                 IF NOT FOUND THEN RAISE EXCEPTION 'carried out already' USING ERRCODE = '{DONE}'; END IF;
             END $$;
             {}
             UPDATE writers SET answer = coalesce((SELECT answer FROM staged_answer LIMIT 1), '')
             WHERE writer = '{name}' RETURNING answer;
             COMMIT;",
            staged.script
        )
    }

    fn earlier(&self, session: &mut Session) -> Result<Earlier> {
        let sql = "SELECT number, digest, answer FROM writers WHERE writer = $1";
        let row = session.query_opt(sql, &[&self.name])?.ok_or_else(|| {
            let message = "this process was suspended for too long; start it again";
            session.database().error(DatabaseErrorKind::Fenced, message)
        })?;
        let read =
            || Ok(Earlier { number: row.try_get(0)?, digest: row.try_get(1)?, answer: row.try_get(2)? });
        read().map_err(|error| session.error(error))
    }
}

struct Earlier {
    number: i64,
    digest: String,
    answer: String,
}

async fn stage_and_run(
    connection: &Connection,
    staged: &Staged,
    script: &str,
) -> super::connection::Answer<Vec<SimpleQueryMessage>> {
    connection.script("BEGIN").await?;
    for copy in &staged.copies {
        connection.copy(&copy.sql, copy.rows.clone()).await?;
    }
    connection.script(script).await
}

fn digest(staged: &Staged) -> String {
    let mut hash = Sha256::new();
    for copy in &staged.copies {
        hash.update(copy.sql.as_bytes());
        hash.update(&copy.rows);
    }
    hash.update(staged.script.as_bytes());
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn last_text(answers: &[SimpleQueryMessage]) -> Option<String> {
    answers.iter().rev().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    })
}

fn strange(session: &Session) -> DatabaseError {
    session.database().error(DatabaseErrorKind::Failed, "a committed transaction returned no result")
}
