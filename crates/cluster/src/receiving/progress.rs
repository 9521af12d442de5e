//! How far the topic `url_ingest` is consumed, by partition, and with which results: stored in the database, in the
//! transaction that records what was sent to the shards.

use crate::database::{Cells, Result, Session, storable};
use crate::members::{HOLD_JOBS, OPEN_JOB, PreparedMessages};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many of the latest rejected records are kept as examples.
const EXAMPLES: i64 = 20;

/// The results of a partition's records from `before` to `next`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) before: i64,
    pub(super) next: i64,
    pub(super) taken: i64,
    pub(super) left_out: i64,
    pub(super) bad: i64,
    /// Gone from Kafka before they were read.
    pub(super) lost: i64,
}

/// A record that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    pub partition: u16,
    pub offset: i64,
    pub why: String,
}

/// The topic as an operator sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReceivedUrls {
    /// Sent to their shards.
    pub taken: u64,
    /// Fetched recently, or refused by the rules of their job.
    pub left_out: u64,
    /// Records that could not be used.
    pub bad: u64,
    pub lost: u64,
    /// Records that are not read yet. None if Kafka is unreachable.
    pub waiting: Option<u64>,
    /// The latest records that were not used.
    pub examples: Vec<Example>,
}

/// The offset from which to read each partition. A partition that was added later is read from its first record.
pub(super) fn positions(session: &mut Session, partitions: u16) -> Result<Vec<(u16, i64)>> {
    let mut next: BTreeMap<i32, i64> = BTreeMap::new();
    for row in session.query("SELECT partition, next FROM ingest_topic", &[])? {
        let read = || Ok((row.try_get(0)?, row.try_get(1)?));
        let (partition, at) = read().map_err(|error| session.error(error))?;
        next.insert(partition, at);
    }
    let at = |partition: u16| next.get(&i32::from(partition)).copied().unwrap_or(0);
    Ok((0..partitions).map(|partition| (partition, at(partition))).collect())
}

/// Sets the positions of a new cluster: records that are in the topic by now are not for it.
pub fn begin(session: &mut Session, ends: &[u64]) -> Result<()> {
    let (partitions, ends): (Vec<i32>, Vec<i64>) = (0..).zip(ends.iter().map(|end| *end as i64)).unzip();
    session.query(
        "INSERT INTO ingest_topic (partition, next)
         SELECT * FROM unnest($1::int4[], $2::int8[]) WHERE NOT EXISTS (SELECT 1 FROM ingest_topic)
         ON CONFLICT DO NOTHING",
        &[&partitions, &ends],
    )?;
    Ok(())
}

/// Stores the new positions and results, and sends `prepared`, in one transaction. Does nothing and returns false if another
/// worker has moved the positions or one of `jobs` has ended. No job ends during the transaction.
pub(super) fn advance(
    session: &mut Session,
    reached: &BTreeMap<u16, Reached>,
    examples: &[Example],
    jobs: &[i32],
    prepared: Option<&PreparedMessages>,
) -> Result<bool> {
    let column = |of: fn(&Reached) -> i64| reached.values().map(of).collect::<Vec<i64>>();
    let partitions: Vec<i32> = reached.keys().map(|partition| i32::from(*partition)).collect();
    let (before, next) = (column(|one| one.before), column(|one| one.next));
    let (taken, left_out) = (column(|one| one.taken), column(|one| one.left_out));
    let (bad, lost) = (column(|one| one.bad), column(|one| one.lost));
    let of: Vec<i32> = examples.iter().map(|example| i32::from(example.partition)).collect();
    let offsets: Vec<i64> = examples.iter().map(|example| example.offset).collect();
    let why: Vec<_> = examples.iter().map(|example| storable(&example.why).into_owned()).collect();
    session.transaction(async |client| {
        client.execute(HOLD_JOBS, &[]).await?;
        let open = client
            .query(&format!("SELECT 1 FROM jobs WHERE id = ANY($1) AND {OPEN_JOB}"), &[&jobs])
            .await?;
        let moved = client
            .query(
                "SELECT 1 FROM unnest($1::int4[], $2::int8[]) AS r(partition, before)
                     LEFT JOIN ingest_topic t USING (partition)
                 WHERE coalesce(t.next, 0) <> r.before",
                &[&partitions, &before],
            )
            .await?;
        if open.len() != jobs.len() || !moved.is_empty() {
            return Ok(false);
        }
        if let Some(prepared) = prepared {
            prepared.record(client).await?;
        }
        client
            .execute(
                "INSERT INTO ingest_topic AS t (partition, next, taken, left_out, bad, lost)
                 SELECT * FROM unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[])
                 ON CONFLICT (partition) DO UPDATE
                 SET next = excluded.next, taken = t.taken + excluded.taken, left_out = t.left_out + excluded.left_out,
                     bad = t.bad + excluded.bad, lost = t.lost + excluded.lost",
                &[&partitions, &next, &taken, &left_out, &bad, &lost],
            )
            .await?;
        if !of.is_empty() {
            client
                .execute(
                    "INSERT INTO ingest_examples (partition, record, why)
                     SELECT * FROM unnest($1::int4[], $2::int8[], $3::text[])",
                    &[&of, &offsets, &why],
                )
                .await?;
            client
                .execute(
                    "DELETE FROM ingest_examples
                     WHERE id NOT IN (SELECT id FROM ingest_examples ORDER BY id DESC LIMIT $1)",
                    &[&EXAMPLES],
                )
                .await?;
        }
        Ok(true)
    })
}

pub(super) fn received(session: &mut Session) -> Result<ReceivedUrls> {
    let row = session.query_one(
        "SELECT coalesce(sum(taken), 0)::int8, coalesce(sum(left_out), 0)::int8, coalesce(sum(bad), 0)::int8,
             coalesce(sum(lost), 0)::int8
         FROM ingest_topic",
        &[],
    )?;
    let rows = session.query("SELECT partition, record, why FROM ingest_examples ORDER BY id DESC", &[])?;
    let read = || -> std::result::Result<ReceivedUrls, tokio_postgres::Error> {
        let mut cells = Cells::of(&row);
        let mut received = ReceivedUrls {
            taken: cells.number()?,
            left_out: cells.number()?,
            bad: cells.number()?,
            lost: cells.number()?,
            ..ReceivedUrls::default()
        };
        for row in &rows {
            received.examples.push(Example {
                partition: u16::try_from(row.try_get::<_, i32>(0)?).unwrap_or(u16::MAX),
                offset: row.try_get(1)?,
                why: row.try_get(2)?,
            });
        }
        Ok(received)
    };
    read().map_err(|error| session.error(error))
}
