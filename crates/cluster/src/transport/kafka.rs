//! The log in Kafka: topic `url_scheduled`, a partition for each shard. Kafka counts from zero, so its numbers are one
//! less than ours.

use super::{Log, Offset};
use crate::kafka::{Kafka, Outgoing, Topic, Topics};
use crate::server_error::Result;
use std::time::Duration;

/// One user's way to the log, with connections of its own.
pub struct KafkaLog {
    kafka: Kafka,
    topic: String,
}

impl KafkaLog {
    /// Does not connect. See [`Topics::verify`] for what to look at before.
    pub fn new(brokers: &str, topics: &Topics) -> Result<KafkaLog> {
        Ok(KafkaLog { kafka: Kafka::new(brokers)?, topic: topics.name(Topic::UrlScheduled) })
    }

    /// Waits until one of the shards has a message after its offset, but no longer than `limit`; gives all that have.
    pub fn wait(&mut self, positions: &[(u16, Offset)], limit: Duration) -> Result<Vec<u16>> {
        let positions: Vec<(u16, i64)> =
            positions.iter().map(|(shard, after)| (*shard, theirs(*after))).collect();
        self.kafka.wait(&self.topic, &positions, limit)
    }

    /// Tells Kafka how far the logs are applied: for its monitoring only.
    pub fn note_progress(&mut self, group: &str, applied: &[(u16, Offset)]) -> Result<()> {
        let next: Vec<(u16, i64)> = applied.iter().map(|(shard, offset)| (*shard, theirs(*offset))).collect();
        self.kafka.note_progress(group, &self.topic, &next)
    }
}

impl Log for KafkaLog {
    fn append(&mut self, messages: &[(u16, Vec<u8>)]) -> Result<()> {
        let outgoing = |(shard, message)| Outgoing { partition: shard, key: None, value: message };
        let records: Vec<Outgoing<'_>> =
            messages.iter().map(|(shard, message)| outgoing((*shard, message.as_slice()))).collect();
        self.kafka.write(&self.topic, &records)
    }

    fn read(&mut self, shard: u16, after: Offset, max_bytes: usize) -> Result<Vec<(Offset, Vec<u8>)>> {
        let records = self.kafka.read(&self.topic, shard, theirs(after), max_bytes)?;
        Ok(records.into_iter().map(|(offset, value)| (ours(offset), value)).collect())
    }

    fn ends(&mut self, shards: &[u16]) -> Result<Vec<Offset>> {
        let ranges = self.kafka.ranges(&self.topic, shards)?;
        // Where their next will be is where our last is.
        Ok(ranges.iter().map(|range| u64::try_from(range.end).unwrap_or(0)).collect())
    }
}

/// What comes after our offset, as Kafka numbers it.
fn theirs(after: Offset) -> i64 {
    i64::try_from(after).unwrap_or(i64::MAX)
}

fn ours(offset: i64) -> Offset {
    u64::try_from(offset).unwrap_or(0).saturating_add(1)
}
