//! The idempotent producer: Kafka stores a batch once, however often it is sent.
//!
//! Each client gets a producer id from the cluster, and numbers the records of each partition. A broker that receives a batch
//! again returns the response of the first time. A sequence number must not be used for other records: after a failed
//! write it is unknown which batches are stored, so the next write uses a new producer id.

use super::brokers::{Kafka, refused};
use super::connection::{ANSWER_LIMIT, Question};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiKey, InitProducerIdRequest, InitProducerIdResponse, ProducerId};
use std::collections::HashMap;

impl Question for InitProducerIdRequest {
    const KEY: ApiKey = ApiKey::InitProducerId;
    const OLDEST: i16 = 0;
    const NEWEST: i16 = 2;
    type Answer = InitProducerIdResponse;
}

/// The producer of a batch, and the sequence number of its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
    pub(super) sequence: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Producer {
    id: i64,
    epoch: i16,
    /// The next sequence number of each partition, by topic.
    next: HashMap<String, HashMap<i32, i32>>,
}

impl Producer {
    pub(super) fn new(id: i64, epoch: i16) -> Producer {
        Producer { id, epoch, next: HashMap::new() }
    }

    /// For the next batch of the partition.
    pub(super) fn stamp(&mut self, topic: &str, partition: i32, records: usize) -> Stamp {
        if !self.next.contains_key(topic) {
            self.next.insert(topic.to_owned(), HashMap::new());
        }
        let next = self.next.get_mut(topic).map(|partitions| partitions.entry(partition).or_default());
        let sequence = next.as_ref().map_or(0, |next| **next);
        if let Some(next) = next {
            *next = after(sequence, records);
        }
        Stamp { producer_id: self.id, epoch: self.epoch, sequence }
    }
}

/// After the greatest number comes 0.
fn after(sequence: i32, records: usize) -> i32 {
    let records = i64::try_from(records).unwrap_or(i64::MAX);
    let next = i64::from(sequence).saturating_add(records) % (i64::from(i32::MAX) + 1);
    i32::try_from(next).unwrap_or(0)
}

impl Kafka {
    /// A new producer id, from any broker.
    pub(super) fn new_producer(&mut self) -> Result<Producer> {
        let timeout = i32::try_from(ANSWER_LIMIT.as_millis()).unwrap_or(i32::MAX);
        // No transaction, and no earlier producer id to continue.
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(timeout)
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
        let answer = self.ask_any(&request, ANSWER_LIMIT)?;
        match ResponseError::try_from_code(answer.error_code) {
            None => Ok(Producer::new(answer.producer_id.0, answer.producer_epoch)),
            Some(error @ ResponseError::ClusterAuthorizationFailed) => {
                let message =
                    format!("{error}: the user needs IdempotentWrite on the cluster, or Write on a topic");
                let setting = "cluster.kafka_sasl_username";
                Err(ServerError::new(ServerErrorKind::AccessDenied, setting, message))
            }
            Some(error) => Err(refused("an idempotent producer", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_numbered_by_partition() {
        let mut producer = Producer::new(7, 1);
        let mut sequence = |topic: &str, partition, records| {
            let stamp = producer.stamp(topic, partition, records);
            assert_eq!((stamp.producer_id, stamp.epoch), (7, 1));
            stamp.sequence
        };
        assert_eq!([sequence("a", 0, 3), sequence("a", 0, 2), sequence("a", 0, 1)], [0, 3, 5]);
        assert_eq!([sequence("a", 1, 1), sequence("b", 0, 1), sequence("a", 0, 1)], [0, 0, 6]);
    }

    #[test]
    fn numbers_begin_again_after_the_greatest() {
        assert_eq!(after(i32::MAX, 1), 0);
        assert_eq!(after(i32::MAX - 1, 1), i32::MAX);
        assert_eq!(after(i32::MAX - 1, 5), 3);
        assert_eq!(after(5, 0), 5);
    }
}
