//! Commits what was applied, in order, on a thread of its own: all that waits goes with one transaction. Each shard's part
//! is written only if its epoch is still the one it was applied under; then nothing of the others' is touched. What is sent
//! through Kafka is acknowledged there before. While the database or Kafka is away the batches wait, and whoever applies
//! more waits with them.

use super::rows::Rows;
use super::{Applied, Shared};
use crate::database::{BATCH_LIMIT, Database, Session};
use crate::members::{MessageSender, SentPositions, Writing, append};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Between two tries while the database or Kafka is away.
const PAUSE: Duration = Duration::from_millis(300);
/// Batches that go with one transaction.
const TOGETHER: usize = 64;

pub(super) fn run(
    database: &Database,
    worker: &str,
    mut sender: MessageSender,
    from: &Receiver<Applied>,
    shared: &Arc<Shared>,
) {
    let mut session: Option<Session> = None;
    let mut is_away = false;
    while let Ok(first) = from.recv() {
        let mut batches = vec![first];
        while batches.len() < TOGETHER
            && let Ok(next) = from.try_recv()
        {
            batches.push(next);
        }
        let last = batches.last().map_or(0, |batch| batch.number);
        let rows = Rows::of(&batches);
        let Some(noted) = send_ahead(&mut sender, &rows, shared) else { return };
        loop {
            match write(database, &mut session, worker, &rows, noted.as_ref()) {
                Ok(()) => break,
                // The connection is tried anew: what is repeated is the same.
                Err(error) if error.is_retryable() => {
                    shared.epochs.set_failing(Writing::Frontier, true);
                    if !std::mem::replace(&mut is_away, true) {
                        tracing::warn!(%error, "the frontier cannot be written; it waits");
                    }
                    session = None;
                    if shared.is_given_up() {
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
        is_away = false;
        shared.epochs.set_failing(Writing::Frontier, false);
        shared.committed(last);
        // Kafka wakes its readers itself.
        if noted.is_none() {
            shared.notify(rows.sent_to());
        }
    }
}

/// Until Kafka has it, where it carries what is sent. None if nobody waits for it any more.
fn send_ahead(sender: &mut MessageSender, rows: &Rows, shared: &Shared) -> Option<Option<SentPositions>> {
    loop {
        match sender.send_ahead(rows.sent()) {
            Ok(noted) => return Some(noted),
            Err(_) if shared.is_given_up() => return None,
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn write(
    database: &Database,
    session: &mut Option<Session>,
    worker: &str,
    rows: &Rows,
    noted: Option<&SentPositions>,
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
        match noted {
            Some(noted) => noted.write(client).await?,
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
