//! URL lists being loaded into a job: sends a chunk and stores the position in the list in one transaction.

use super::budget::id;
use super::leases::signed;
use super::sending::PreparedMessages;
use crate::database::{Result, Session};
use argiope_model::JobId;
use std::collections::HashSet;

/// The position in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestProgress {
    pub lines: u64,
    pub sent: u64,
    pub skipped: u64,
    pub finished: bool,
}

pub fn ingest_progress(session: &mut Session, job: JobId, source: &str) -> Result<IngestProgress> {
    let row = session.query_opt(
        "SELECT lines, sent, skipped, finished FROM ingests WHERE job = $1 AND source = $2",
        &[&id(job), &source],
    )?;
    let Some(row) = row else { return Ok(IngestProgress::default()) };
    let read = || -> std::result::Result<IngestProgress, tokio_postgres::Error> {
        let number = |at: usize| row.try_get::<_, i64>(at).map(|number| number as u64);
        Ok(IngestProgress {
            lines: number(0)?,
            sent: number(1)?,
            skipped: number(2)?,
            finished: row.try_get(3)?,
        })
    };
    read().map_err(|error| session.error(error))
}

/// Sends a chunk and stores the new position. Calling it twice has no further effect: duplicates in a log are ignored.
pub fn ingest_chunk(
    session: &mut Session,
    job: JobId,
    source: &str,
    before: IngestProgress,
    reached: IngestProgress,
    prepared: &PreparedMessages,
) -> Result<()> {
    session.transaction(async |client| {
        let noted = client
            .execute(
                "INSERT INTO ingests (job, source, lines, sent, skipped, finished) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (job, source) DO UPDATE
                 SET lines = $3, sent = $4, skipped = $5, finished = $6 WHERE ingests.lines = $7",
                &[
                    &id(job),
                    &source,
                    &signed(reached.lines),
                    &signed(reached.sent),
                    &signed(reached.skipped),
                    &reached.finished,
                    &signed(before.lines),
                ],
            )
            .await?;
        if noted > 0 { prepared.record(client).await } else { Ok(()) }
    })
}

/// Which of these URLs, by their short keys, any job has fetched within this many days.
pub fn recently_fetched(session: &mut Session, keys: &[String], days: u32) -> Result<HashSet<String>> {
    let rows = session.query(
        "SELECT DISTINCT url_hash::text FROM crawl_metadata
         WHERE url_hash = ANY($1) AND status_code IS NOT NULL
             AND crawled_at > clock_timestamp() - make_interval(days => $2)",
        &[&keys, &i32::try_from(days).unwrap_or(i32::MAX)],
    )?;
    rows.iter().map(|row| row.try_get(0).map_err(|error| session.error(error))).collect()
}
