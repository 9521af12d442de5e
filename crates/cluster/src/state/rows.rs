//! Converts batches to rows of tables: the latest change of each key. Values are borrowed from the batches.

use super::Applied;
use crate::database::Connection;
use crate::members::OutgoingRef;
use argiope_frontier::message::Message;
use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{Change, Delayed, HostKey, QueueAt, StoredRobots};
use argiope_model::{JobId, Millis};
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

type Done = Result<(), Error>;

/// An entry's row: its due time is 0 in the queue.
type UrlKey = (QueueAt, u64, OrderKey);

/// The latest report on a job in a shard.
struct Blocked {
    applied: u64,
    until: Option<Millis>,
}

#[derive(Default)]
pub(super) struct Rows<'b> {
    /// The epoch under which each shard was owned.
    pub(super) epochs: BTreeMap<u16, i64>,
    urls: BTreeMap<UrlKey, Option<&'b [u8]>>,
    hosts: BTreeMap<HostKey, &'b [u8]>,
    jobs: BTreeMap<(u16, JobId), &'b [u8]>,
    robots: BTreeMap<&'b str, (u16, &'b StoredRobots)>,
    seen: BTreeMap<(u16, JobId), Vec<u8>>,
    received: BTreeMap<u16, u64>,
    blocked: BTreeMap<(u16, JobId), Blocked>,
    /// Messages to other shards, each with the shard it is from.
    sent: Vec<(u16, OutgoingRef<'b>)>,
    forgotten: Vec<JobId>,
    marks: BTreeMap<&'b str, u64>,
}

impl<'b> Rows<'b> {
    pub(super) fn of(batches: &'b [Applied]) -> Rows<'b> {
        let mut rows = Rows::default();
        for applied in batches {
            for (shard, epoch) in &applied.epochs {
                // The shard was lost and taken again in between: earlier changes must not be written.
                if rows.epochs.insert(*shard, *epoch).is_some_and(|before| before != *epoch) {
                    rows.drop_shard(*shard);
                }
            }
            for change in &applied.batch.changes {
                let is_ours = change.shard().is_none_or(|shard| applied.epochs.contains_key(&shard));
                if is_ours {
                    rows.take(change);
                }
            }
            rows.marks.extend(applied.batch.marks.iter().map(|(name, number)| (&**name, *number)));
        }
        rows
    }

    fn drop_shard(&mut self, shard: u16) {
        self.urls.retain(|(at, _, _), _| at.host.shard != shard);
        self.hosts.retain(|key, _| key.shard != shard);
        self.jobs.retain(|(of, _), _| *of != shard);
        self.robots.retain(|_, (of, _)| *of != shard);
        self.seen.retain(|(of, _), _| *of != shard);
        self.received.remove(&shard);
        self.blocked.retain(|(of, _), _| *of != shard);
        self.sent.retain(|(from, _)| *from != shard);
    }

    fn take(&mut self, change: &'b Change) {
        match change {
            Change::Queue { at, entry } => {
                self.urls.insert((*at, 0, entry.order), Some(&entry.value));
            }
            Change::Unqueue { at, order } => {
                self.urls.insert((*at, 0, *order), None);
            }
            Change::Delay(Delayed { due, at, entry }) => {
                self.urls.insert((*at, due.0.max(1), entry.order), Some(&entry.value));
            }
            Change::Undelay { due, at, order } => {
                self.urls.insert((*at, due.0.max(1), *order), None);
            }
            Change::Host { key, record } => {
                self.hosts.insert(*key, record);
            }
            Change::Job { job, shard, record } => {
                self.jobs.insert((*shard, *job), record);
            }
            Change::ForgetJob(job) => {
                self.urls.retain(|(at, _, _), _| at.job != *job);
                self.jobs.retain(|(_, of), _| of != job);
                self.seen.retain(|(_, of), _| of != job);
                self.forgotten.push(*job);
            }
            Change::Robots { shard, origin, stored } => {
                self.robots.insert(origin, (*shard, stored));
            }
            Change::Seen { job, shard, fingerprints } => {
                let bytes = self.seen.entry((*shard, *job)).or_default();
                fingerprints.iter().for_each(|print| bytes.extend_from_slice(&print.0.to_le_bytes()));
            }
            Change::Send { from, to, message } => {
                let job = Message::job_of(message).map_or(0, |job| job.0);
                self.sent.push((*from, OutgoingRef { shard: *to, job, message }));
            }
            Change::Received { shard, offset } => {
                self.received.insert(*shard, *offset);
            }
            Change::Blocked { job, shard, applied, until } => {
                self.blocked.insert((*shard, *job), Blocked { applied: *applied, until: *until });
            }
        }
    }

    /// The shards that messages are sent to.
    pub(super) fn sent_to(&self) -> impl Iterator<Item = u16> {
        let shards: BTreeSet<u16> = self.sent.iter().map(|(_, one)| one.shard).collect();
        shards.into_iter()
    }

    pub(super) fn sent(&self) -> Vec<OutgoingRef<'b>> {
        self.sent.iter().map(|(_, one)| *one).collect()
    }

    /// Messages from shards that are still ours.
    pub(super) fn outgoing(&self, is_ours: &dyn Fn(u16) -> bool) -> Vec<OutgoingRef<'b>> {
        self.sent.iter().filter(|(from, _)| is_ours(*from)).map(|(_, one)| *one).collect()
    }

    pub(super) async fn write(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        self.forget_jobs(client).await?;
        self.delete_urls(client, is_ours).await?;
        self.insert_urls(client, is_ours).await?;
        self.write_seen(client, is_ours).await?;
        self.write_hosts(client, is_ours).await?;
        self.write_jobs(client, is_ours).await?;
        self.write_robots(client, is_ours).await?;
        self.write_received(client, is_ours).await?;
        self.write_blocked(client, is_ours).await
    }

    async fn forget_jobs(&self, client: &Connection) -> Done {
        if self.forgotten.is_empty() {
            return Ok(());
        }
        let jobs: Vec<i32> = self.forgotten.iter().map(|job| number(*job)).collect();
        for table in ["urls", "seen", "frontier_jobs", "frontier_blocked"] {
            client.execute(&format!("DELETE FROM {table} WHERE job = ANY($1)"), &[&jobs]).await?;
        }
        Ok(())
    }

    async fn delete_urls(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        let mut columns = UrlColumns::default();
        for (key, value) in &self.urls {
            if value.is_none() && is_ours(key.0.host.shard) {
                columns.push(key);
            }
        }
        if columns.jobs.is_empty() {
            return Ok(());
        }
        let sql = "DELETE FROM urls USING unnest($1::int4[], $2::int4[], $3::int8[], $4::int8[], $5::int2[],
                       $6::int2[], $7::int8[]) AS d(job, shard, host, due, rank, depth, sequence)
                   WHERE urls.job = d.job AND urls.shard = d.shard AND urls.host = d.host AND urls.due = d.due
                       AND urls.rank = d.rank AND urls.depth = d.depth AND urls.sequence = d.sequence";
        client.execute(sql, &columns.parameters()).await?;
        Ok(())
    }

    async fn insert_urls(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        let mut columns = UrlColumns::default();
        let mut visits: Vec<&[u8]> = Vec::new();
        for (key, value) in &self.urls {
            if let Some(value) = value
                && is_ours(key.0.host.shard)
            {
                columns.push(key);
                visits.push(value);
            }
        }
        if visits.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO urls (job, shard, host, due, rank, depth, sequence, visit)
                   SELECT * FROM unnest($1::int4[], $2::int4[], $3::int8[], $4::int8[], $5::int2[], $6::int2[],
                       $7::int8[], $8::bytea[])
                   ON CONFLICT (job, shard, host, due, rank, depth, sequence) DO UPDATE SET visit = excluded.visit";
        let mut parameters = columns.parameters().to_vec();
        parameters.push(&visits);
        client.execute(sql, &parameters).await?;
        Ok(())
    }

    async fn write_seen(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        let rows = self.seen.iter().map(|((shard, job), prints)| (*shard, i64::from(job.0), &prints[..]));
        let sql = "INSERT INTO seen (shard, job, fingerprints)
                   SELECT * FROM unnest($1::int4[], $2::int8[], $3::bytea[])";
        write_records(client, sql, rows.filter(|(shard, _, _)| is_ours(*shard))).await
    }

    async fn write_hosts(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        let rows = self.hosts.iter().map(|(key, record)| (key.shard, i64::from(key.number), *record));
        let sql = "INSERT INTO frontier_hosts (shard, number, record)
                   SELECT * FROM unnest($1::int4[], $2::int8[], $3::bytea[])
                   ON CONFLICT (shard, number) DO UPDATE SET record = excluded.record";
        write_records(client, sql, rows.filter(|(shard, _, _)| is_ours(*shard))).await
    }

    async fn write_jobs(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        let rows = self.jobs.iter().map(|((shard, job), record)| (*shard, i64::from(job.0), *record));
        let sql = "INSERT INTO frontier_jobs (shard, job, record)
                   SELECT * FROM unnest($1::int4[], $2::int8[], $3::bytea[])
                   ON CONFLICT (shard, job) DO UPDATE SET record = excluded.record";
        write_records(client, sql, rows.filter(|(shard, _, _)| is_ours(*shard))).await
    }

    async fn write_robots(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        for (origin, (shard, stored)) in self.robots.iter().filter(|(_, (shard, _))| is_ours(*shard)) {
            let sql = "INSERT INTO frontier_robots (origin, shard, fetched_at, expires, status, body)
                       VALUES ($1, $2, $3, $4, $5, $6)
                       ON CONFLICT (origin) DO UPDATE SET shard = $2, fetched_at = $3, expires = $4, status = $5,
                           body = $6";
            let (fetched_at, expires) = (millis(stored.fetched_at), millis(stored.expires));
            client
                .execute(
                    sql,
                    &[
                        origin,
                        &i32::from(*shard),
                        &fetched_at,
                        &expires,
                        &i32::from(stored.status),
                        &&*stored.body,
                    ],
                )
                .await?;
        }
        Ok(())
    }

    async fn write_received(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        for (shard, offset) in self.received.iter().filter(|(shard, _)| is_ours(**shard)) {
            let sql = "UPDATE shards SET applied = greatest(applied, $2) WHERE shard = $1";
            client.execute(sql, &[&i32::from(*shard), &(*offset as i64)]).await?;
        }
        Ok(())
    }

    async fn write_blocked(&self, client: &Connection, is_ours: &dyn Fn(u16) -> bool) -> Done {
        for ((shard, job), Blocked { applied, until }) in
            self.blocked.iter().filter(|((of, _), _)| is_ours(*of))
        {
            let (shard, job, applied) = (i32::from(*shard), number(*job), *applied as i64);
            let Some(until) = until else {
                let sql = "DELETE FROM frontier_blocked WHERE job = $1 AND shard = $2";
                client.execute(sql, &[&job, &shard]).await?;
                continue;
            };
            let sql = "INSERT INTO frontier_blocked (job, shard, epoch, applied, blocked_until)
                       SELECT $1, shard, epoch, $3, $4 FROM shards WHERE shard = $2
                       ON CONFLICT (job, shard) DO UPDATE
                       SET epoch = excluded.epoch, applied = $3, blocked_until = $4";
            client.execute(sql, &[&job, &shard, &applied, &(until.0 as i64)]).await?;
        }
        Ok(())
    }

    pub(super) async fn write_marks(&self, client: &Connection, worker: &str) -> Done {
        for (name, number) in &self.marks {
            let sql = "INSERT INTO frontier_marks (worker, name, number) VALUES ($1, $2, $3)
                       ON CONFLICT (worker, name) DO UPDATE SET number = $3";
            client.execute(sql, &[&worker, name, &(*number as i64)]).await?;
        }
        Ok(())
    }
}

/// Rows of a shard, a number within it and bytes, as columns; `sql` takes these three.
async fn write_records<'r>(
    client: &Connection,
    sql: &str,
    rows: impl Iterator<Item = (u16, i64, &'r [u8])>,
) -> Done {
    let (mut shards, mut numbers, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for (shard, number, record) in rows {
        shards.push(i32::from(shard));
        numbers.push(number);
        records.push(record);
    }
    if !records.is_empty() {
        client.execute(sql, &[&shards, &numbers, &records]).await?;
    }
    Ok(())
}

#[derive(Default)]
struct UrlColumns {
    jobs: Vec<i32>,
    shards: Vec<i32>,
    hosts: Vec<i64>,
    dues: Vec<i64>,
    ranks: Vec<i16>,
    depths: Vec<i16>,
    sequences: Vec<i64>,
}

impl UrlColumns {
    fn parameters(&self) -> [&(dyn ToSql + Sync); 7] {
        [&self.jobs, &self.shards, &self.hosts, &self.dues, &self.ranks, &self.depths, &self.sequences]
    }

    fn push(&mut self, (at, due, order): &UrlKey) {
        self.jobs.push(number(at.job));
        self.shards.push(i32::from(at.host.shard));
        self.hosts.push(i64::from(at.host.number));
        self.dues.push(i64::try_from(*due).unwrap_or(i64::MAX));
        self.ranks.push(i16::from(order.rank));
        self.depths.push(i16::from(order.depth));
        self.sequences.push(order.sequence as i64);
    }
}

pub(super) fn number(job: JobId) -> i32 {
    i32::try_from(job.0).unwrap_or(i32::MAX)
}

fn millis(at: Millis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}
