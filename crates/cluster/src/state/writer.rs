//! Commits what was applied, in order, on a thread of its own: all that waits goes with one transaction. Each shard's part
//! is written only if its epoch is still the one it was applied under; then nothing of the others' is touched. While the
//! database is away the batches wait, and whoever applies more waits with them.

use super::rows::Rows;
use super::{Applied, Shared};
use crate::database::{Database, Session};
use crate::members::append;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(15);
/// Between two tries while the database is away.
const PAUSE: Duration = Duration::from_millis(300);
/// Batches that go with one transaction.
const TOGETHER: usize = 64;

pub(super) fn run(database: &Database, worker: &str, from: &Receiver<Applied>, shared: &Arc<Shared>) {
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
        loop {
            match write(database, &mut session, worker, &rows) {
                Ok(()) => break,
                // The connection is tried anew: what is repeated is the same.
                Err(error) if error.is_retryable() => {
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
        shared.committed(last);
        shared.ring(rows.sent_to());
    }
}

fn write(
    database: &Database,
    session: &mut Option<Session>,
    worker: &str,
    rows: &Rows,
) -> crate::database::Result<()> {
    let session = match session {
        Some(session) => session,
        None => session.insert(database.connect(LIMIT)?),
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
        let outgoing = rows.outgoing(&is_ours);
        if !outgoing.is_empty() {
            append(client, &outgoing).await?;
        }
        rows.write_marks(client, worker).await
    })
}
