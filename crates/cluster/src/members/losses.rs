//! Logs in Kafka that have lost acknowledged messages that were not applied. Losses are stored, because once the log
//! has grown again its offsets would not show them. Such a log is not read by any owner, and no job ends, until an
//! operator accepts the loss. Then everything that remains in the log is read; duplicates are ignored.

use crate::database::{Cells, Result, Session};
use crate::transport::Offset;
use serde::Serialize;

/// What the log of a shard has lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLoss {
    pub shard: u64,
    pub what: String,
    pub at: String,
}

pub fn log_losses(session: &mut Session) -> Result<Vec<LogLoss>> {
    let rows = session.query("SELECT shard::bigint, what, at FROM log_losses ORDER BY shard", &[])?;
    let read = |row| -> std::result::Result<LogLoss, tokio_postgres::Error> {
        let mut cells = Cells::of(row);
        Ok(LogLoss { shard: cells.number()?, what: cells.text()?, at: cells.time()?.rfc3339() })
    };
    rows.iter().map(|row| read(row).map_err(|error| session.error(error))).collect()
}

/// The identity of the topic of the logs; see [`crate::kafka::Kafka::identity`].
pub fn log_identity(session: &mut Session) -> Result<Option<String>> {
    let row = session.query_one("SELECT log_identity FROM argiope_cluster", &[])?;
    row.try_get(0).map_err(|error| session.error(error))
}

pub fn another_topic(known: &str, found: &str) -> String {
    format!(
        "the topic of the links is {found}, but this cluster has used {known}: it was recreated, or this is \
         another Kafka. Undelivered links are lost"
    )
}

/// For shards that are still owned under these epochs.
pub(super) fn record(session: &mut Session, losses: &[(u16, i64, &str)]) -> Result<()> {
    let shards: Vec<i32> = losses.iter().map(|(shard, _, _)| i32::from(*shard)).collect();
    let epochs: Vec<i64> = losses.iter().map(|(_, epoch, _)| *epoch).collect();
    let whats: Vec<&str> = losses.iter().map(|(_, _, what)| *what).collect();
    session.query(
        "INSERT INTO log_losses (shard, what)
         SELECT shard, lost.what FROM unnest($1::int4[], $2::int8[], $3::text[]) AS lost(shard, epoch, what)
         JOIN shards USING (shard, epoch) ON CONFLICT DO NOTHING",
        &[&shards, &epochs, &whats],
    )?;
    Ok(())
}

/// Accepts losses: affected logs are continued where they begin now. `ranges` are those of all logs, `identity` that of
/// their topic; if it is another one, all are affected. The owners of their shards must take them again. Returns which
/// they are.
pub fn accept_losses(
    session: &mut Session,
    ranges: &[(Offset, Offset)],
    identity: Option<&str>,
) -> Result<Vec<u16>> {
    let begins: Vec<i64> = ranges.iter().map(|(begin, _)| *begin as i64).collect();
    let ends: Vec<i64> = ranges.iter().map(|(_, end)| *end as i64).collect();
    session.transaction(async |client| {
        let rows = client
            .query(
                "WITH ranges AS (
                     SELECT (place - 1)::int4 AS shard, log_begin, log_end
                     FROM unnest($1::int8[], $2::int8[]) WITH ORDINALITY AS r(log_begin, log_end, place)
                 ), lost AS (
                     SELECT ranges.* FROM ranges, argiope_cluster
                     WHERE log_identity <> $3 OR shard IN (SELECT shard FROM log_losses)
                 ), sent AS (
                     UPDATE log_sent SET reached = least(reached, log_end) FROM lost
                     WHERE lost.shard = log_sent.shard
                 )
                 UPDATE shards SET applied = log_begin, owner = NULL, lease_until = NULL, clean = false,
                     epoch = epoch + 1
                 FROM lost WHERE lost.shard = shards.shard RETURNING shards.shard",
                &[&begins, &ends, &identity],
            )
            .await?;
        client.execute("DELETE FROM log_losses", &[]).await?;
        client.execute("UPDATE argiope_cluster SET log_identity = $1", &[&identity]).await?;
        let shard =
            |row: &tokio_postgres::Row| Ok(u16::try_from(row.try_get::<_, i32>(0)?).unwrap_or(u16::MAX));
        rows.iter().map(shard).collect()
    })
}
