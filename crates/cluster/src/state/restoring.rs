//! Restores the in-memory state of the frontier for shards that this process takes over.

use super::PostgresState;
use super::loading::{shard_number, unreadable, wanted};
use super::rows::number;
use crate::database::Cells;
use argiope_frontier::state::{HostKey, Restore, Shards, StateError};
use argiope_model::{Fingerprint, JobId, Millis};
use tokio_postgres::Row;

/// Rows of fingerprints that are read at once.
const PIECES: i64 = 1_000;

impl PostgresState {
    pub(super) fn restore_shards(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        self.shared.wait_for_all()?;
        let of = wanted(shards);
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, job::bigint, record FROM frontier_jobs
                       WHERE $1::int4[] IS NULL OR shard = ANY($1) ORDER BY job, shard";
            client.query(sql, &[&of]).await
        })?;
        for row in &rows {
            let (shard, job, record) = record_of(row).map_err(unreadable)?;
            let job = JobId(u32::try_from(job).unwrap_or(0));
            into.job(job, shard, &record)?;
        }
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, number, record FROM frontier_hosts
                       WHERE $1::int4[] IS NULL OR shard = ANY($1) ORDER BY shard, number";
            client.query(sql, &[&of]).await
        })?;
        for row in &rows {
            let (shard, number, record) = record_of(row).map_err(unreadable)?;
            into.host(HostKey { shard, number: u32::try_from(number).unwrap_or(u32::MAX) }, &record)?;
        }
        self.restore_seen(&of, into, wants_seen)?;
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, applied FROM shards
                       WHERE applied > 0 AND ($1::int4[] IS NULL OR shard = ANY($1)) ORDER BY shard";
            client.query(sql, &[&of]).await
        })?;
        for row in &rows {
            let mut cells = Cells::of(row);
            let read = cells.take::<i32>().and_then(|shard| Ok((shard, cells.number()?)));
            let (shard, offset) = read.map_err(unreadable)?;
            into.received(shard_number(shard), offset);
        }
        let (_, next) = self.due(shards, Millis(0), 1)?;
        into.next_due(next);
        Ok(())
    }

    pub(super) fn restore_one_job(
        &self,
        shards: &Shards,
        job: JobId,
        into: &mut dyn Restore,
    ) -> Result<(), StateError> {
        self.shared.wait_for_all()?;
        let (of, id) = (wanted(shards), number(job));
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, job::bigint, record FROM frontier_jobs
                       WHERE job = $2 AND ($1::int4[] IS NULL OR shard = ANY($1)) ORDER BY shard";
            client.query(sql, &[&of, &id]).await
        })?;
        for row in &rows {
            let (shard, _, record) = record_of(row).map_err(unreadable)?;
            into.job(job, shard, &record)?;
        }
        self.restore_seen(&of, into, &|of| of == job)
    }

    pub(super) fn stored_marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        self.shared.wait_for_all()?;
        let rows = self.ask(async |client| {
            let sql = "SELECT name, number FROM frontier_marks WHERE worker = $1 ORDER BY name";
            client.query(sql, &[&self.worker]).await
        })?;
        let read = |row: &Row| -> Result<(Box<str>, u64), tokio_postgres::Error> {
            let mut cells = Cells::of(row);
            Ok((cells.text()?.into(), cells.number()?))
        };
        rows.iter().map(|row| read(row).map_err(unreadable)).collect()
    }

    fn restore_seen(
        &self,
        of: &Option<Vec<i32>>,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        let pairs = self.ask(async |client| {
            let sql = "SELECT DISTINCT shard, job FROM seen
                       WHERE $1::int4[] IS NULL OR shard = ANY($1) ORDER BY shard, job";
            client.query(sql, &[of]).await
        })?;
        for pair in &pairs {
            let mut cells = Cells::of(pair);
            let read = cells.take::<i32>().and_then(|shard| Ok((shard, cells.take::<i32>()?)));
            let (shard, id) = read.map_err(unreadable)?;
            let job = JobId(u32::try_from(id).unwrap_or(0));
            if !wants_seen(job) {
                continue;
            }
            let mut after = -1i64;
            loop {
                let rows = self.ask(async |client| {
                    let sql = "SELECT piece, fingerprints FROM seen
                               WHERE shard = $1 AND job = $2 AND piece > $3 ORDER BY piece LIMIT $4";
                    client.query(sql, &[&shard, &id, &after, &PIECES]).await
                })?;
                for row in &rows {
                    let mut cells = Cells::of(row);
                    let read = cells.take::<i64>().and_then(|piece| Ok((piece, cells.take::<&[u8]>()?)));
                    let (piece, bytes) = read.map_err(unreadable)?;
                    after = piece;
                    into.seen(job, shard_number(shard), &mut prints(bytes));
                }
                if rows.len() < usize::try_from(PIECES).unwrap_or(usize::MAX) {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn prints(bytes: &[u8]) -> impl Iterator<Item = Fingerprint> {
    bytes.chunks_exact(8).map(|print| Fingerprint(u64::from_le_bytes(print.try_into().unwrap_or_default())))
}

fn record_of(row: &Row) -> Result<(u16, i64, Vec<u8>), tokio_postgres::Error> {
    Ok((shard_number(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?))
}
