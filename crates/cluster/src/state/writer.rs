//! Commits applied batches in order, on a thread of its own; waiting batches share one transaction. A shard's part is
//! written only if the shard still has the epoch it was applied under, whatever happens to the other shards. Messages that
//! go through Kafka are acknowledged there first. While the database or Kafka is unreachable the batches wait, and so does
//! whoever applies too many more.

use super::Applied;
use super::progress::Shared;
use super::rows::Rows;
use crate::database::{BATCH_LIMIT, Database, Session};
use crate::members::{MessageSender, SentPositions, Writing, append};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Between two attempts while the database or Kafka is unreachable.
const PAUSE: Duration = Duration::from_millis(300);
/// Batches in one transaction, at most.
const TOGETHER: usize = 64;

pub(super) fn run(
    database: &Database,
    worker: &str,
    mut sender: MessageSender,
    from: &Receiver<Applied>,
    shared: &Arc<Shared>,
) {
    let mut session: Option<Session> = None;
    let mut is_unreachable = false;
    while let Ok(first) = from.recv() {
        let mut batches = vec![first];
        while batches.len() < TOGETHER
            && let Ok(next) = from.try_recv()
        {
            batches.push(next);
        }
        let last = batches.last().map_or(0, |batch| batch.number);
        let rows = Rows::of(&batches);
        let Some(positions) = send_ahead(&mut sender, &rows, shared) else { return };
        loop {
            match write(database, &mut session, worker, &rows, positions.as_ref()) {
                Ok(()) => break,
                // Repeated on a new connection: writing the same rows again changes nothing.
                Err(error) if error.is_retryable() => {
                    shared.epochs.set_failing(Writing::Frontier, true);
                    if !std::mem::replace(&mut is_unreachable, true) {
                        tracing::warn!(%error, "cannot write the frontier; retrying");
                    }
                    session = None;
                    if shared.is_abandoned() {
                        return;
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(error) => {
                    shared.failed(error);
                    return;
                }
            }
        }
        is_unreachable = false;
        shared.epochs.set_failing(Writing::Frontier, false);
        shared.committed(last);
        // Kafka wakes its readers itself.
        if positions.is_none() {
            shared.notify(rows.sent_to());
        }
    }
}

/// Retries until Kafka has acknowledged the messages, where they go through Kafka. None if nobody waits any more.
fn send_ahead(sender: &mut MessageSender, rows: &Rows<'_>, shared: &Shared) -> Option<Option<SentPositions>> {
    let sent = rows.sent();
    loop {
        match sender.send_ahead(&sent) {
            Ok(positions) => return Some(positions),
            Err(_) if shared.is_abandoned() => return None,
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn write(
    database: &Database,
    session: &mut Option<Session>,
    worker: &str,
    rows: &Rows<'_>,
    positions: Option<&SentPositions>,
) -> crate::database::Result<()> {
    let session = match session {
        Some(session) => session,
        None => session.insert(database.connect(BATCH_LIMIT)?),
    };
    session.transaction(async |client| {
        let shards: Vec<i32> = rows.epochs.keys().map(|shard| i32::from(*shard)).collect();
        let sql = "SELECT shard, epoch FROM shards WHERE shard = ANY($1) ORDER BY shard FOR NO KEY UPDATE";
        let mut ours = BTreeMap::new();
        for row in client.query(sql, &[&shards]).await? {
            let (shard, epoch): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
            let shard = u16::try_from(shard).unwrap_or(u16::MAX);
            ours.insert(shard, rows.epochs.get(&shard) == Some(&epoch));
        }
        let is_ours = |shard: u16| ours.get(&shard).copied().unwrap_or(false);
        rows.write(client, &is_ours).await?;
        match positions {
            Some(positions) => positions.write(client).await?,
            None => {
                let outgoing = rows.outgoing(&is_ours);
                if !outgoing.is_empty() {
                    append(client, &outgoing).await?;
                }
            }
        }
        rows.write_marks(client, worker).await
    })
}
