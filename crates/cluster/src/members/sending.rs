//! Sends messages to the shards. Messages to an inbox are written in the transaction they belong to. Messages through Kafka
//! are written before it: the transaction records how far each log must be applied to include them, and the job does not
//! end before that. If the transaction never commits, nobody waits for those messages, and the pages they came from are
//! still queued: the messages are sent again, and shards ignore duplicates.

use super::submitting::{Outgoing, OutgoingRef, append};
use crate::database::{Connection, Result, Session};
use crate::server_error;
use crate::transport::{KafkaLog, Log, Transport};
use std::collections::BTreeMap;

type Done = std::result::Result<(), tokio_postgres::Error>;

/// Sends one thread's messages to the logs of the shards.
pub struct MessageSender {
    transport: Transport,
    log: Option<KafkaLog>,
    sender_id: String,
    name: &'static str,
}

impl MessageSender {
    /// `sender_id` names the sender in `log_sent`; threads that share one wait for each other's rows. `name` is shown when
    /// sending fails.
    pub fn new(
        transport: &Transport,
        sender_id: &str,
        name: &'static str,
    ) -> server_error::Result<MessageSender> {
        Ok(MessageSender {
            transport: transport.clone(),
            log: transport.log()?,
            sender_id: sender_id.to_owned(),
            name,
        })
    }

    /// To be called before the transaction that the messages belong to. `None` where they are written in it.
    pub(crate) fn send_ahead(
        &mut self,
        outgoing: &[OutgoingRef<'_>],
    ) -> server_error::Result<Option<SentPositions>> {
        let Some(log) = &mut self.log else { return Ok(None) };
        let mut reached = BTreeMap::new();
        if !outgoing.is_empty() {
            let messages: Vec<(u16, &[u8])> = outgoing.iter().map(|one| (one.shard, one.message)).collect();
            let appended = log.append(&messages);
            self.transport.note(self.name, appended.as_ref().err());
            let last = appended?;
            for one in outgoing.iter().filter(|one| one.job != 0) {
                if let Some(offset) = last.get(&one.shard) {
                    reached.insert((one.job, one.shard), *offset);
                }
            }
        }
        Ok(Some(SentPositions { sender_id: self.sender_id.clone(), reached }))
    }

    /// For a transaction that has only messages: see [`send`].
    pub fn prepare(&mut self, outgoing: Vec<Outgoing>) -> server_error::Result<PreparedMessages> {
        let borrowed: Vec<OutgoingRef<'_>> = outgoing.iter().map(Outgoing::as_ref).collect();
        let positions = self.send_ahead(&borrowed)?;
        Ok(PreparedMessages { outgoing, positions })
    }
}

/// How far the log of each shard must be applied to include what was sent, by job.
pub(crate) struct SentPositions {
    sender_id: String,
    reached: BTreeMap<(u32, u16), u64>,
}

impl SentPositions {
    /// Within the transaction that the messages belong to.
    pub(crate) async fn write(&self, client: &Connection) -> Done {
        if self.reached.is_empty() {
            return Ok(());
        }
        let (mut jobs, mut shards, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        for ((job, shard), offset) in &self.reached {
            jobs.push(i32::try_from(*job).unwrap_or(0));
            shards.push(i32::from(*shard));
            offsets.push(*offset as i64);
        }
        let sql = "INSERT INTO log_sent (job, sender, shard, reached)
                   SELECT job, $1, shard, reached
                   FROM unnest($2::int4[], $3::int4[], $4::int8[]) AS n(job, shard, reached) ORDER BY job, shard
                   ON CONFLICT (job, sender, shard) DO UPDATE
                   SET reached = greatest(log_sent.reached, excluded.reached)";
        client.execute(sql, &[&self.sender_id, &jobs, &shards, &offsets]).await?;
        Ok(())
    }
}

/// Messages that are sent already, or will be with the transaction they are recorded in.
pub struct PreparedMessages {
    outgoing: Vec<Outgoing>,
    positions: Option<SentPositions>,
}

impl PreparedMessages {
    pub(crate) async fn record(&self, client: &Connection) -> Done {
        match &self.positions {
            Some(positions) => positions.write(client).await,
            None if self.outgoing.is_empty() => Ok(()),
            None => {
                let borrowed: Vec<OutgoingRef<'_>> = self.outgoing.iter().map(Outgoing::as_ref).collect();
                append(client, &borrowed).await
            }
        }
    }
}

/// Sends messages in a transaction of their own.
pub fn send(session: &mut Session, prepared: &PreparedMessages) -> Result<()> {
    session.transaction(async |client| prepared.record(client).await)
}

/// Sets where the logs begin, in a cluster that never had a job: messages that are in them by now are not for it. Records the
/// identity of the topic as that of the cluster.
pub fn begin_logs(session: &mut Session, ends: &[u64], identity: Option<&str>) -> Result<()> {
    let (shards, ends): (Vec<i32>, Vec<i64>) = (0..).zip(ends.iter().map(|end| *end as i64)).unzip();
    session.query(
        "UPDATE shards SET applied = begins.at FROM unnest($1::int4[], $2::int8[]) AS begins(shard, at)
         WHERE shards.shard = begins.shard AND NOT EXISTS (SELECT 1 FROM jobs)",
        &[&shards, &ends],
    )?;
    session.query(
        "UPDATE argiope_cluster SET log_identity = $1
         WHERE log_identity IS NULL OR NOT EXISTS (SELECT 1 FROM jobs)",
        &[&identity],
    )?;
    Ok(())
}

/// How many messages of the logs are not applied, given where the logs end.
pub fn log_lag(session: &mut Session, ends: &[u64]) -> Result<u64> {
    let mut lag = 0;
    for row in session.query("SELECT shard, applied FROM shards ORDER BY shard", &[])? {
        let read = || -> std::result::Result<(i32, i64), tokio_postgres::Error> {
            Ok((row.try_get(0)?, row.try_get(1)?))
        };
        let (shard, applied) = read().map_err(|error| session.error(error))?;
        let end = usize::try_from(shard).ok().and_then(|shard| ends.get(shard)).copied().unwrap_or(0);
        lag += end.saturating_sub(u64::try_from(applied).unwrap_or(0));
    }
    Ok(lag)
}
