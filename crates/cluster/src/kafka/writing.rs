//! Writes records: acknowledged by all in-sync replicas, or an error. A retried write is stored once.

use super::brokers::{Kafka, no_such_topic, refused};
use super::codecs::Codec;
use super::connection::{ANSWER_LIMIT, Question};
use super::producer::Producer;
use super::{SETTING, batches};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use argiope_store::clock::now;
use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ApiKey, ProduceRequest, ProduceResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

impl Question for ProduceRequest {
    const KEY: ApiKey = ApiKey::Produce;
    type Answer = ProduceResponse;
    /// The first version that accepts zstd.
    const OLDEST: i16 = 7;
    const NEWEST: i16 = 9;
}

/// For the values in a batch; a broker accepts batches of 1 MB by default.
const LONGEST_BATCH: usize = 900_000;
/// For a request, so that the broker's memory is not the limit.
const LONGEST_REQUEST: usize = 8 << 20;
const ALL_IN_SYNC: i16 = -1;
/// How often a write is tried, with a doubling pause: leaders move, and idle connections close.
const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    pub partition: u16,
    pub key: Option<&'a [u8]>,
    pub value: &'a [u8],
}

/// The unacknowledged batches of each partition, in order.
type Unwritten<'a> = BTreeMap<i32, VecDeque<Batch<'a>>>;

#[derive(Debug)]
struct Batch<'a> {
    bytes: Bytes,
    records: Vec<&'a Outgoing<'a>>,
}

/// For each partition that was written: the offset of the last record.
pub type LastOffsets = BTreeMap<u16, i64>;

impl Kafka {
    /// Writes all of them, in order within a partition. After an error some may be stored, and all may be written
    /// again.
    pub fn write(&mut self, topic: &str, records: &[Outgoing<'_>]) -> Result<LastOffsets> {
        if records.is_empty() {
            return Ok(LastOffsets::new());
        }
        // It is put back after all is written: after an error, it is unknown which sequence numbers are used.
        let mut producer = match self.producer.take() {
            Some(producer) => producer,
            None => self.retried(topic, Kafka::new_producer)?,
        };
        let codec = self.codec();
        let mut unwritten = batched(topic, records, &mut producer, codec)?;
        let mut written = LastOffsets::new();
        self.retried(topic, |kafka| {
            let outcome = kafka.write_rounds(topic, &mut unwritten, &mut written);
            if outcome.as_ref().is_err_and(is_out_of_sequence) {
                producer = kafka.new_producer()?;
                pack(topic, &mut unwritten, &mut producer, codec)?;
            }
            outcome
        })?;
        self.producer = Some(producer);
        Ok(written)
    }

    fn retried<T>(&mut self, topic: &str, mut request: impl FnMut(&mut Kafka) -> Result<T>) -> Result<T> {
        let mut pause = FIRST_PAUSE;
        let mut tried = 1;
        loop {
            match request(self) {
                Ok(done) => return Ok(done),
                Err(error) => {
                    self.forget(topic);
                    if !error.is_retryable() || tried == TRIES {
                        return Err(error);
                    }
                    tracing::debug!(%error, topic, "write failed; retrying");
                }
            }
            std::thread::sleep(pause);
            pause *= 2;
            tried += 1;
        }
    }

    /// A request holds at most one batch per partition: repeats requests until nothing is left.
    fn write_rounds(
        &mut self,
        topic: &str,
        unwritten: &mut Unwritten<'_>,
        written: &mut LastOffsets,
    ) -> Result<()> {
        while !unwritten.is_empty() {
            let mut by_leader: BTreeMap<i32, Vec<(i32, Bytes)>> = BTreeMap::new();
            let mut bytes = 0;
            for (partition, batches) in unwritten.iter() {
                let Some(batch) = batches.front().filter(|_| bytes < LONGEST_REQUEST) else {
                    continue;
                };
                bytes += batch.bytes.len();
                by_leader
                    .entry(self.leader(topic, *partition)?)
                    .or_default()
                    .push((*partition, batch.bytes.clone()));
            }
            self.write_round(topic, by_leader, unwritten, written)?;
            unwritten.retain(|_, batches| !batches.is_empty());
        }
        Ok(())
    }

    /// One request to each leader, all at the same time.
    fn write_round(
        &mut self,
        topic: &str,
        by_leader: BTreeMap<i32, Vec<(i32, Bytes)>>,
        unwritten: &mut Unwritten<'_>,
        written: &mut LastOffsets,
    ) -> Result<()> {
        let mut sent = Vec::with_capacity(by_leader.len());
        let mut outcome = Ok(());
        for (leader, batches) in by_leader {
            match self.send(leader, &request(topic, batches), ANSWER_LIMIT * 2) {
                Ok(version) => sent.push((leader, version)),
                Err(error) => outcome = Err(error),
            }
        }
        // Reads all responses, whatever failed before: a connection with an unread one would be out of sync.
        for (leader, version) in sent {
            let acknowledged = self
                .receive::<ProduceRequest>(leader, version)
                .and_then(|answer| take_acknowledged(topic, answer, unwritten, written));
            outcome = outcome.and(acknowledged);
        }
        outcome
    }
}

fn batched<'a>(
    topic: &str,
    records: &'a [Outgoing<'a>],
    producer: &mut Producer,
    codec: Codec,
) -> Result<Unwritten<'a>> {
    let mut by_partition: BTreeMap<i32, Vec<&Outgoing<'_>>> = BTreeMap::new();
    for record in records {
        if record.value.len() > LONGEST_BATCH {
            let message = format!(
                "{topic}: a record of {} bytes; a batch holds at most {LONGEST_BATCH}",
                record.value.len()
            );
            return Err(ServerError::new(ServerErrorKind::Misconfigured, SETTING, message));
        }
        by_partition.entry(i32::from(record.partition)).or_default().push(record);
    }
    let mut unwritten = Unwritten::new();
    for (partition, records) in by_partition {
        let batches = unwritten.entry(partition).or_default();
        let mut rest = &records[..];
        while !rest.is_empty() {
            let (batch, after) = rest.split_at_checked(as_many_as_fit(rest)).unwrap_or((rest, &[]));
            batches.push_back(Batch { bytes: Bytes::new(), records: batch.to_vec() });
            rest = after;
        }
    }
    pack(topic, &mut unwritten, producer, codec)?;
    Ok(unwritten)
}

/// Packs the batches with the next sequence numbers of this producer.
fn pack(topic: &str, unwritten: &mut Unwritten<'_>, producer: &mut Producer, codec: Codec) -> Result<()> {
    let now = i64::try_from(now().0).unwrap_or(i64::MAX);
    for (partition, batches) in unwritten {
        for batch in batches {
            let stamp = producer.stamp(topic, *partition, batch.records.len());
            let pairs = batch.records.iter().map(|record| (record.key, record.value));
            batch.bytes = batches::packed(pairs, stamp, codec, now).map_err(|error| {
                ServerError::new(ServerErrorKind::Misconfigured, SETTING, format!("{topic}: {error}"))
            })?;
        }
    }
    Ok(())
}

/// Whether the broker rejects the sequence numbers of this producer, because it lost its state.
fn is_out_of_sequence(error: &ServerError) -> bool {
    let cause = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ResponseError>());
    cause.is_some_and(is_of_the_sequence)
}

fn is_of_the_sequence(error: &ResponseError) -> bool {
    matches!(
        error,
        ResponseError::OutOfOrderSequenceNumber
            | ResponseError::DuplicateSequenceNumber
            | ResponseError::UnknownProducerId
            | ResponseError::InvalidProducerEpoch
            | ResponseError::InvalidProducerIdMapping
    )
}

/// At least one.
fn as_many_as_fit(records: &[&Outgoing<'_>]) -> usize {
    let mut bytes = 0;
    let fitting = records.iter().take_while(|record| {
        bytes += record.value.len() + record.key.map_or(0, <[u8]>::len) + 16;
        bytes <= LONGEST_BATCH
    });
    fitting.count().max(1)
}

fn request(topic: &str, batches: Vec<(i32, Bytes)>) -> ProduceRequest {
    let partitions = batches.into_iter().map(|(partition, batch)| {
        PartitionProduceData::default().with_index(partition).with_records(Some(batch))
    });
    let data = TopicProduceData::default()
        .with_name(TopicName(StrBytes::from(topic.to_owned())))
        .with_partition_data(partitions.collect());
    ProduceRequest::default()
        .with_acks(ALL_IN_SYNC)
        .with_timeout_ms(i32::try_from(ANSWER_LIMIT.as_millis()).unwrap_or(i32::MAX))
        .with_topic_data(vec![data])
}

/// Acknowledged batches are not written again; the first error is returned.
fn take_acknowledged(
    topic: &str,
    answer: ProduceResponse,
    unwritten: &mut Unwritten<'_>,
    written: &mut LastOffsets,
) -> Result<()> {
    let mut outcome = Ok(());
    for partition in answer.responses.iter().flat_map(|topic| &topic.partition_responses) {
        match ResponseError::try_from_code(partition.error_code) {
            None => {
                let batch = unwritten.get_mut(&partition.index).and_then(VecDeque::pop_front);
                if let (Some(batch), Ok(number)) = (batch, u16::try_from(partition.index)) {
                    let after_first =
                        i64::try_from(batch.records.len()).unwrap_or(i64::MAX).saturating_sub(1);
                    written.insert(number, partition.base_offset.saturating_add(after_first));
                }
            }
            // Not every broker knows a new topic at once.
            Some(ResponseError::UnknownTopicOrPartition) => {
                outcome = Err(ServerError { kind: ServerErrorKind::Unavailable, ..no_such_topic(topic) });
            }
            Some(error) => {
                let mut refusal = refused(&format!("partition {} of {topic}", partition.index), error);
                // A new producer writes it.
                if is_of_the_sequence(&error) {
                    refusal.kind = ServerErrorKind::Unavailable;
                }
                outcome = Err(refusal);
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_batched_by_partition_within_the_limit() {
        let value = vec![7; 400_000];
        let of = |partition| Outgoing { partition, key: None, value: &value };
        let mut producer = Producer::new(1, 0);
        let records = [of(3), of(1), of(3), of(3)];
        let batches = batched("t", &records, &mut producer, Codec::None).unwrap();
        let counts: Vec<(i32, usize)> =
            batches.iter().map(|(partition, batches)| (*partition, batches.len())).collect();
        assert_eq!(counts, [(1, 1), (3, 2)]);
        let long = vec![7; LONGEST_BATCH + 1];
        let records = [Outgoing { partition: 0, key: None, value: &long }];
        let error = batched("t", &records, &mut producer, Codec::None).unwrap_err();
        assert_eq!(error.kind, ServerErrorKind::Misconfigured);
    }
}
