//! Records for topics, each in the partition of its root domain.

use crate::kafka::{Kafka, Outgoing, Topic, Topics};
use crate::server_error::Result;
use argiope_model::{PublicSuffixes, Url, shard_of};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

pub struct TopicWriter {
    kafka: Kafka,
    topics: Topics,
    suffixes: Arc<PublicSuffixes>,
    /// How many each topic has. The operator may have given a topic more than it was made with.
    partitions: HashMap<Topic, u16>,
}

pub(super) struct Record {
    /// The root domain of its URL.
    key: String,
    value: Vec<u8>,
}

impl TopicWriter {
    pub fn new(kafka: Kafka, topics: Topics, suffixes: Arc<PublicSuffixes>) -> TopicWriter {
        TopicWriter { kafka, topics, suffixes, partitions: HashMap::new() }
    }

    /// None for a URL that could not have been stored.
    pub(super) fn record(&self, url: &str, message: &impl Serialize) -> Option<Record> {
        let url = Url::from_stored(url).ok()?;
        let key = self.suffixes.root_domain(url.host()).to_owned();
        let value = serde_json::to_vec(message).ok()?;
        Some(Record { key, value })
    }

    /// Returns when Kafka has acknowledged all of them.
    pub(super) fn write(&mut self, topic: Topic, records: &[Record]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let partitions = self.partitions(topic)?;
        let outgoing: Vec<Outgoing<'_>> = records
            .iter()
            .map(|record| Outgoing {
                partition: shard_of(&record.key, partitions),
                key: Some(record.key.as_bytes()),
                value: &record.value,
            })
            .collect();
        self.kafka.write(&self.topics.name(topic), &outgoing)?;
        Ok(())
    }

    fn partitions(&mut self, topic: Topic) -> Result<u16> {
        if let Some(known) = self.partitions.get(&topic) {
            return Ok(*known);
        }
        let name = self.topics.name(topic);
        let number = self.kafka.partitions(&name)?.and_then(|number| u16::try_from(number).ok());
        let number = number.unwrap_or_else(|| topic.partitions(self.topics.shards));
        self.partitions.insert(topic, number);
        Ok(number)
    }
}
