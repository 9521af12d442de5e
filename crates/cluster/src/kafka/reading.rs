//! Reads records from an offset, and reports where a partition begins and ends.

use super::SETTING;
use super::batches::{self, RecordRun};
use super::brokers::{Kafka, refused};
use super::connection::{ANSWER_LIMIT, Question};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    ApiKey, BrokerId, FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use std::time::Duration;

impl Question for FetchRequest {
    const KEY: ApiKey = ApiKey::Fetch;
    type Answer = FetchResponse;
    /// The first version that returns zstd.
    const OLDEST: i16 = 10;
    const NEWEST: i16 = 12;
}

impl Question for ListOffsetsRequest {
    const KEY: ApiKey = ApiKey::ListOffsets;
    type Answer = ListOffsetsResponse;
    const OLDEST: i16 = 1;
    const NEWEST: i16 = 6;
}

/// Special offsets of the protocol: the beginning of a partition, and its next record.
const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
/// We are not a replica.
const NO_REPLICA: BrokerId = BrokerId(-1);
/// For a response with all its partitions; the first batch comes whole in any case.
const LONGEST_ANSWER: i32 = 16 << 20;
/// A second attempt, after looking up the leaders again.
const TRIES: u32 = 2;

/// The records of a partition: from `begin` on, `end` will be the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub begin: i64,
    pub end: i64,
}

/// Values of a partition, each with its offset.
pub type Records = Vec<(i64, Vec<u8>)>;

impl Kafka {
    /// Records of a partition from `from` on, with their offsets, until `max_bytes` of values are there; one at least
    /// if there is one. Does not wait for more. Offsets may have gaps.
    ///
    /// If `from` is before the first remaining record, or beyond the end, [`ServerErrorKind::DataLost`] says what is
    /// gone.
    pub fn read(&mut self, topic: &str, partition: u16, from: i64, max_bytes: usize) -> Result<Records> {
        let wanted = [(partition, from)];
        let fetched = self.again(topic, |kafka| kafka.fetch(topic, &wanted, max_bytes, Duration::ZERO))?;
        match fetched.into_iter().next() {
            Some(data) => whole(topic, partition, run_of(topic, partition, from, data, max_bytes)?),
            None => Ok(Vec::new()),
        }
    }

    /// Waits until one of the partitions has a record at its offset or later, but no longer than `limit`; returns those
    /// of all that have, like [`Kafka::read`].
    pub fn poll(
        &mut self,
        topic: &str,
        positions: &[(u16, i64)],
        max_bytes: usize,
        limit: Duration,
    ) -> Result<Vec<(u16, Records)>> {
        let mut read = Vec::new();
        for (partition, run) in self.read_runs(topic, positions, max_bytes, limit)? {
            let records = whole(topic, partition, run)?;
            if !records.is_empty() {
                read.push((partition, records));
            }
        }
        Ok(read)
    }

    /// The same for records of other programs: unreadable batches are reported, and do not block the others.
    pub fn read_runs(
        &mut self,
        topic: &str,
        positions: &[(u16, i64)],
        max_bytes: usize,
        limit: Duration,
    ) -> Result<Vec<(u16, RecordRun)>> {
        let fetched = self.again(topic, |kafka| kafka.fetch(topic, positions, max_bytes, limit))?;
        let mut read = Vec::new();
        for data in fetched {
            let asked = positions.iter().find(|(partition, _)| i32::from(*partition) == data.partition_index);
            let Some((partition, from)) = asked.copied() else { continue };
            let run = run_of(topic, partition, from, data, max_bytes)?;
            if run.next > from {
                read.push((partition, run));
            }
        }
        Ok(read)
    }

    /// Where these partitions begin and end.
    pub fn ranges(&mut self, topic: &str, partitions: &[u16]) -> Result<Vec<Range>> {
        let begins = self.again(topic, |kafka| kafka.offsets(topic, partitions, EARLIEST))?;
        let ends = self.again(topic, |kafka| kafka.offsets(topic, partitions, LATEST))?;
        let of = |offsets: &BTreeMap<i32, i64>, partition: u16| offsets.get(&i32::from(partition)).copied();
        let range = |partition: &u16| match (of(&begins, *partition), of(&ends, *partition)) {
            (Some(begin), Some(end)) => Ok(Range { begin, end }),
            _ => {
                let message = format!("no result for partition {partition} of {topic}");
                Err(ServerError::new(ServerErrorKind::InvalidResponse, SETTING, message))
            }
        };
        partitions.iter().map(range).collect()
    }

    fn again<T>(&mut self, topic: &str, mut ask: impl FnMut(&mut Kafka) -> Result<T>) -> Result<T> {
        for _ in 1..TRIES {
            match ask(self) {
                Err(error) if error.is_retryable() => self.forget(topic),
                answered => return answered,
            }
        }
        ask(self).inspect_err(|_| self.forget(topic))
    }

    fn by_leader<T: Copy>(
        &mut self,
        topic: &str,
        wanted: &[(u16, T)],
    ) -> Result<BTreeMap<i32, Vec<(i32, T)>>> {
        let mut leaders: BTreeMap<i32, Vec<(i32, T)>> = BTreeMap::new();
        for (partition, what) in wanted {
            let partition = i32::from(*partition);
            leaders.entry(self.leader(topic, partition)?).or_default().push((partition, *what));
        }
        Ok(leaders)
    }

    fn fetch(
        &mut self,
        topic: &str,
        wanted: &[(u16, i64)],
        max_bytes: usize,
        wait: Duration,
    ) -> Result<Vec<PartitionData>> {
        let leaders = self.by_leader(topic, wanted)?;
        let mut sent = Vec::with_capacity(leaders.len());
        for (leader, partitions) in leaders {
            let request = fetch_request(topic, partitions, max_bytes, wait);
            match self.send(leader, &request, ANSWER_LIMIT + wait) {
                Ok(version) => sent.push((leader, version)),
                Err(error) => {
                    sent.iter().for_each(|(leader, _)| self.disconnect(*leader));
                    return Err(error);
                }
            }
        }
        let mut fetched = Vec::new();
        let mut outcome = Ok(());
        for (leader, version) in sent {
            match self.receive::<FetchRequest>(leader, version) {
                Ok(answer) => {
                    outcome = outcome.and(checked(&format!("topic {topic}"), answer.error_code));
                    fetched.extend(answer.responses.into_iter().flat_map(|topic| topic.partitions));
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome?;
        for data in &fetched {
            if ResponseError::try_from_code(data.error_code) == Some(ResponseError::OffsetOutOfRange) {
                return Err(self.out_of_range(topic, data.partition_index, wanted));
            }
            checked(&format!("partition {} of {topic}", data.partition_index), data.error_code)?;
        }
        Ok(fetched)
    }

    /// Reports what is gone, or that the partition is not the one that was read before.
    fn out_of_range(&mut self, topic: &str, partition: i32, wanted: &[(u16, i64)]) -> ServerError {
        let asked = wanted.iter().find(|(number, _)| i32::from(*number) == partition);
        let Some((number, from)) = asked.copied() else {
            return refused(topic, ResponseError::OffsetOutOfRange);
        };
        let range = match self.ranges(topic, &[number]).map(|ranges| ranges.into_iter().next()) {
            Ok(Some(range)) => range,
            Ok(None) => return refused(topic, ResponseError::OffsetOutOfRange),
            Err(error) => return error,
        };
        let Range { begin, end } = range;
        if from < begin {
            let message = format!(
                "records {from} to {} of partition {partition} of {topic} are gone: it begins at {begin}. They were \
                 deleted before they were read; the topic's retention is shorter than the time nobody read it",
                begin - 1
            );
            return ServerError::new(ServerErrorKind::DataLost, SETTING, message);
        }
        let message = format!(
            "partition {partition} of {topic} ends at {end}, before record {from}, which was to be read next: \
             acknowledged records are gone"
        );
        ServerError::new(ServerErrorKind::DataLost, SETTING, message)
    }

    fn offsets(&mut self, topic: &str, partitions: &[u16], which: i64) -> Result<BTreeMap<i32, i64>> {
        let wanted: Vec<(u16, i64)> = partitions.iter().map(|partition| (*partition, which)).collect();
        let mut offsets = BTreeMap::new();
        for (leader, partitions) in self.by_leader(topic, &wanted)? {
            let asked = partitions.into_iter().map(|(partition, which)| {
                ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(which)
            });
            let of_topic =
                ListOffsetsTopic::default().with_name(name(topic)).with_partitions(asked.collect());
            let request =
                ListOffsetsRequest::default().with_replica_id(NO_REPLICA).with_topics(vec![of_topic]);
            let answer = self.ask(leader, &request, ANSWER_LIMIT)?;
            for told in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                checked(&format!("partition {} of {topic}", told.partition_index), told.error_code)?;
                offsets.insert(told.partition_index, told.offset);
            }
        }
        Ok(offsets)
    }
}

fn run_of(
    topic: &str,
    partition: u16,
    from: i64,
    data: PartitionData,
    max_bytes: usize,
) -> Result<RecordRun> {
    let unpacked = batches::unpacked(data.records.unwrap_or_default(), from, max_bytes);
    unpacked.map_err(|why| garbled(topic, partition, from, &why))
}

/// For a log in which everything can be read.
fn whole(topic: &str, partition: u16, run: RecordRun) -> Result<Records> {
    match run.unreadable {
        None => Ok(run.records),
        Some(why) => Err(garbled(topic, partition, run.next - 1, &why)),
    }
}

fn garbled(topic: &str, partition: u16, at: i64, why: &str) -> ServerError {
    let message = format!("partition {partition} of {topic} cannot be read at {at}: {why}");
    ServerError::new(ServerErrorKind::InvalidResponse, SETTING, message)
}

fn fetch_request(topic: &str, partitions: Vec<(i32, i64)>, max_bytes: usize, wait: Duration) -> FetchRequest {
    let max_bytes = i32::try_from(max_bytes).unwrap_or(i32::MAX);
    let wanted = partitions.into_iter().map(|(partition, from)| {
        FetchPartition::default()
            .with_partition(partition)
            .with_fetch_offset(from)
            .with_partition_max_bytes(max_bytes)
    });
    let of_topic = FetchTopic::default().with_topic(name(topic)).with_partitions(wanted.collect());
    FetchRequest::default()
        .with_replica_id(NO_REPLICA)
        .with_max_wait_ms(i32::try_from(wait.as_millis()).unwrap_or(i32::MAX))
        .with_min_bytes(1)
        .with_max_bytes(LONGEST_ANSWER)
        .with_topics(vec![of_topic])
}

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from(topic.to_owned()))
}

fn checked(subject: &str, code: i16) -> Result<()> {
    match ResponseError::try_from_code(code) {
        None => Ok(()),
        Some(error) => Err(refused(subject, error)),
    }
}
