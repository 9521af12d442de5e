//! Reads queues, due entries and robots.txt from the database, overlaid with what is not committed yet.

use super::PostgresState;
use super::rows::number;
use crate::database::Cells;
use argiope_frontier::queue::{Entry, OrderKey};
use argiope_frontier::state::{Delayed, HostKey, QueueAt, Shards, StateError, StoredRobots};
use argiope_model::{JobId, Millis};
use std::collections::BTreeMap;
use tokio_postgres::Row;

impl PostgresState {
    pub(super) fn queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        // Before the query: changes committed meanwhile are in its result.
        let over = self.shared.overlay().queue(at);
        let gone = over.values().filter(|value| value.is_none()).count();
        let most = i64::try_from(limit + gone).unwrap_or(i64::MAX);
        let from = after.map(|order| (i16::from(order.rank), i16::from(order.depth), order.sequence as i64));
        let (rank, depth, sequence) = from.unwrap_or((-1, -1, -1));
        let (job, shard, host) = (number(at.job), i32::from(at.host.shard), i64::from(at.host.number));
        let rows = self.ask(async |client| {
            client
                .query(
                    "SELECT rank, depth, sequence, visit FROM urls
                     WHERE job = $1 AND shard = $2 AND host = $3 AND due = 0 AND (rank, depth, sequence) > ($4, $5, $6)
                     ORDER BY rank, depth, sequence LIMIT $7",
                    &[&job, &shard, &host, &rank, &depth, &sequence, &most],
                )
                .await
        })?;
        let is_all = rows.len() < limit + gone;
        let mut entries = BTreeMap::new();
        for row in &rows {
            let mut cells = Cells::of(row);
            let read = order_of(&mut cells).and_then(|order| Ok((order, cells.take::<Vec<u8>>()?)));
            let (order, visit) = read.map_err(unreadable)?;
            entries.insert(order, visit.into_boxed_slice());
        }
        // There may be more rows after those that were read: overlaid entries there belong to a later load.
        let end = if is_all { None } else { entries.keys().next_back().copied() };
        for (order, value) in over {
            if after.is_some_and(|after| order <= after) || end.is_some_and(|end| order > end) {
                continue;
            }
            match value {
                Some(value) => entries.insert(order, value),
                None => entries.remove(&order),
            };
        }
        Ok(entries.into_iter().take(limit).map(|(order, value)| Entry { order, value }).collect())
    }

    pub(super) fn due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        let over = self.shared.overlay().delayed();
        let gone = over.values().filter(|value| value.is_none()).count();
        let most = i64::try_from(limit + gone + 1).unwrap_or(i64::MAX);
        let of = wanted(shards);
        let rows = self.ask(async |client| {
            client
                .query(
                    "SELECT due, job, shard, host, rank, depth, sequence, visit FROM urls
                     WHERE due > 0 AND ($1::int4[] IS NULL OR shard = ANY($1))
                     ORDER BY due, job, shard, host, rank, depth, sequence LIMIT $2",
                    &[&of, &most],
                )
                .await
        })?;
        let is_all = rows.len() < limit + gone + 1;
        let mut entries = BTreeMap::new();
        for row in &rows {
            let (key, visit) = delayed_of(row).map_err(unreadable)?;
            entries.insert(key, visit);
        }
        let end = if is_all { None } else { entries.keys().next_back().copied() };
        for (key, value) in over {
            if !shards.contains(key.1.host.shard) || end.is_some_and(|end| key > end) {
                continue;
            }
            match value {
                Some(value) => entries.insert(key, value),
                None => entries.remove(&key),
            };
        }
        let mut due = Vec::new();
        for ((at_time, at, order), value) in entries {
            if at_time > until || due.len() == limit {
                return Ok((due, Some(at_time)));
            }
            due.push(Delayed { due: at_time, at, entry: Entry { order, value } });
        }
        Ok((due, None))
    }

    pub(super) fn robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        if let Some(stored) = self.shared.overlay().robots(origin) {
            return Ok(Some(stored));
        }
        let row = self.ask(async |client| {
            let sql = "SELECT fetched_at, expires, status, body FROM frontier_robots WHERE origin = $1";
            client.query_opt(sql, &[&origin]).await
        })?;
        let Some(row) = row else {
            return Ok(self.robots_cache.as_ref().and_then(|cache| cache.find(origin)));
        };
        let read = || -> Result<StoredRobots, tokio_postgres::Error> {
            let mut cells = Cells::of(&row);
            Ok(StoredRobots {
                fetched_at: Millis(cells.number()?),
                expires: Millis(cells.number()?),
                status: u16::try_from(cells.take::<i32>()?).unwrap_or(0),
                body: cells.take::<Vec<u8>>()?.into_boxed_slice(),
            })
        };
        read().map(Some).map_err(unreadable)
    }
}

/// Shards as a query parameter; `None` means all.
pub(super) fn wanted(shards: &Shards) -> Option<Vec<i32>> {
    match shards {
        Shards::All => None,
        Shards::Only(some) => Some(some.iter().map(|shard| i32::from(*shard)).collect()),
    }
}

pub(super) fn shard_number(number: i32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn order_of(cells: &mut Cells<'_>) -> Result<OrderKey, tokio_postgres::Error> {
    Ok(OrderKey {
        rank: u8::try_from(cells.take::<i16>()?).unwrap_or(u8::MAX),
        depth: u8::try_from(cells.take::<i16>()?).unwrap_or(u8::MAX),
        sequence: cells.number()?,
    })
}

type DelayedRow = ((Millis, QueueAt, OrderKey), Box<[u8]>);

fn delayed_of(row: &Row) -> Result<DelayedRow, tokio_postgres::Error> {
    let mut cells = Cells::of(row);
    let due = Millis(cells.number()?);
    let job = JobId(u32::try_from(cells.take::<i32>()?).unwrap_or(0));
    let shard = shard_number(cells.take()?);
    let host = HostKey { shard, number: u32::try_from(cells.take::<i64>()?).unwrap_or(u32::MAX) };
    let order = order_of(&mut cells)?;
    Ok(((due, QueueAt { job, host }, order), cells.take::<Vec<u8>>()?.into_boxed_slice()))
}

pub(super) fn unreadable(error: tokio_postgres::Error) -> StateError {
    StateError::Corrupt(format!("cannot decode a frontier row: {error}"))
}
