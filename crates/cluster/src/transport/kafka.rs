//! The log in Kafka: topic `url_scheduled`, a partition for each shard. Kafka's offsets begin at zero, so they are one
//! less than ours.

use super::{Log, Messages, Offset};
use crate::kafka::{Access, Kafka, Outgoing, Records, Topic, Topics};
use crate::server_error::Result;
use std::collections::BTreeMap;
use std::time::Duration;

/// One user's access to the log, with its own connections.
pub struct KafkaLog {
    kafka: Kafka,
    topic: String,
    /// The id of the cluster.
    cluster: String,
}

impl KafkaLog {
    /// Does not connect. Call [`Topics::verify`] before.
    pub fn new(access: impl Into<Access>, topics: &Topics) -> Result<KafkaLog> {
        let topic = topics.name(Topic::UrlScheduled);
        Ok(KafkaLog { kafka: Kafka::new(access)?, topic, cluster: String::new() })
    }

    #[must_use]
    pub fn of_cluster(self, id: &str) -> KafkaLog {
        KafkaLog { cluster: id.to_owned(), ..self }
    }

    /// Waits until one of the shards has messages after its offset, but no longer than `limit`; returns those of all
    /// that have, up to `max_bytes` each.
    pub fn poll(
        &mut self,
        positions: &[(u16, Offset)],
        max_bytes: usize,
        limit: Duration,
    ) -> Result<Vec<(u16, Messages)>> {
        let positions: Vec<(u16, i64)> =
            positions.iter().map(|(shard, after)| (*shard, theirs(*after))).collect();
        let read = self.kafka.poll(&self.topic, &positions, max_bytes, limit)?;
        Ok(read.into_iter().map(|(shard, records)| (shard, numbered(records))).collect())
    }

    /// See [`Kafka::identity`].
    pub fn identity(&mut self) -> Result<Option<String>> {
        self.kafka.identity(&self.topic)
    }

    /// Where each of these logs begins and ends: the offset before the first remaining message, and that of the last.
    pub fn ranges(&mut self, shards: &[u16]) -> Result<Vec<(Offset, Offset)>> {
        let ranges = self.kafka.ranges(&self.topic, shards)?;
        // Kafka's end offset is our last one.
        let ours = |offset: i64| u64::try_from(offset).unwrap_or(0);
        Ok(ranges.iter().map(|range| (ours(range.begin), ours(range.end))).collect())
    }

    /// Reports to Kafka how far the logs are applied: for its monitoring, and so that no other cluster takes the
    /// topics. The group is named after the topic.
    pub fn note_progress(&mut self, applied: &[(u16, Offset)]) -> Result<()> {
        let next: Vec<(u16, i64)> = applied.iter().map(|(shard, offset)| (*shard, theirs(*offset))).collect();
        self.kafka.note_progress(&self.topic, &self.topic, &next, &self.cluster)
    }
}

impl Log for KafkaLog {
    fn append(&mut self, messages: &[(u16, &[u8])]) -> Result<BTreeMap<u16, Offset>> {
        let records = messages.iter().copied();
        let records: Vec<Outgoing<'_>> =
            records.map(|(partition, value)| Outgoing { partition, key: None, value }).collect();
        let last = self.kafka.write(&self.topic, &records)?;
        Ok(last.into_iter().map(|(shard, offset)| (shard, ours(offset))).collect())
    }

    fn read(&mut self, shard: u16, after: Offset, max_bytes: usize) -> Result<Messages> {
        Ok(numbered(self.kafka.read(&self.topic, shard, theirs(after), max_bytes)?))
    }

    fn ends(&mut self, shards: &[u16]) -> Result<Vec<Offset>> {
        Ok(self.ranges(shards)?.into_iter().map(|(_, end)| end).collect())
    }
}

fn numbered(records: Records) -> Messages {
    records.into_iter().map(|(offset, value)| (ours(offset), value)).collect()
}

/// Our offset plus one, in Kafka's numbering.
fn theirs(after: Offset) -> i64 {
    i64::try_from(after).unwrap_or(i64::MAX)
}

fn ours(offset: i64) -> Offset {
    u64::try_from(offset).unwrap_or(0).saturating_add(1)
}
