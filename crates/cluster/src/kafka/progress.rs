//! Reports to Kafka how far a log is applied: for its monitoring, and to delete records that nobody will read again.
//! The authoritative position is stored with what was applied.

use super::SETTING;
use super::brokers::{Kafka, refused};
use super::connection::{ANSWER_LIMIT, Question};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponsePartition;
use kafka_protocol::messages::{
    ApiKey, DeleteRecordsRequest, DeleteRecordsResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    GroupId, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;

impl Question for DeleteRecordsRequest {
    const KEY: ApiKey = ApiKey::DeleteRecords;
    type Answer = DeleteRecordsResponse;
    const OLDEST: i16 = 0;
    const NEWEST: i16 = 2;
}

impl Question for FindCoordinatorRequest {
    const KEY: ApiKey = ApiKey::FindCoordinator;
    type Answer = FindCoordinatorResponse;
    const OLDEST: i16 = 1;
    const NEWEST: i16 = 3;
}

impl Question for OffsetCommitRequest {
    const KEY: ApiKey = ApiKey::OffsetCommit;
    type Answer = OffsetCommitResponse;
    const OLDEST: i16 = 2;
    const NEWEST: i16 = 7;
}

impl Question for OffsetFetchRequest {
    const KEY: ApiKey = ApiKey::OffsetFetch;
    type Answer = OffsetFetchResponse;
    const OLDEST: i16 = 1;
    const NEWEST: i16 = 5;
}

impl Kafka {
    /// Commits, for a group without members, the offset of the next record of each partition, which Kafka's own tools
    /// show as lag. Includes the name of the committer.
    pub fn note_progress(&mut self, group: &str, topic: &str, next: &[(u16, i64)], who: &str) -> Result<()> {
        let coordinator = self.coordinator(group)?;
        let partitions = next.iter().map(|(partition, offset)| {
            OffsetCommitRequestPartition::default()
                .with_partition_index(i32::from(*partition))
                .with_committed_offset(*offset)
                .with_committed_metadata(Some(StrBytes::from(who.to_owned())))
        });
        let of_topic = OffsetCommitRequestTopic::default()
            .with_name(TopicName(StrBytes::from(topic.to_owned())))
            .with_partitions(partitions.collect());
        let request = OffsetCommitRequest::default()
            .with_group_id(GroupId(StrBytes::from(group.to_owned())))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(vec![of_topic]);
        let answer = self.ask(coordinator, &request, ANSWER_LIMIT)?;
        let mut codes = answer.topics.iter().flat_map(|topic| &topic.partitions).map(|told| told.error_code);
        match codes.find_map(ResponseError::try_from_code) {
            None => Ok(()),
            Some(error) => Err(refused(&format!("progress of group {group}"), error)),
        }
    }

    /// Who last committed the progress of a group in the first partition of a topic; None if nobody has for a week.
    pub fn progress_noted_by(&mut self, group: &str, topic: &str) -> Result<Option<String>> {
        let noted = self.progress(group, topic, vec![0])?;
        let who = noted.into_iter().find_map(|partition| partition.metadata);
        Ok(who.map(|who| who.to_string()).filter(|who| !who.is_empty()))
    }

    fn progress(
        &mut self,
        group: &str,
        topic: &str,
        partitions: Vec<i32>,
    ) -> Result<Vec<OffsetFetchResponsePartition>> {
        let coordinator = self.coordinator(group)?;
        let of_topic = OffsetFetchRequestTopic::default()
            .with_name(TopicName(StrBytes::from(topic.to_owned())))
            .with_partition_indexes(partitions);
        let request = OffsetFetchRequest::default()
            .with_group_id(GroupId(StrBytes::from(group.to_owned())))
            .with_topics(Some(vec![of_topic]));
        let answer = self.ask(coordinator, &request, ANSWER_LIMIT)?;
        match ResponseError::try_from_code(answer.error_code) {
            None => Ok(answer.topics.into_iter().flat_map(|topic| topic.partitions).collect()),
            Some(error) => Err(refused(&format!("progress of group {group}"), error)),
        }
    }

    /// Deletes the records of a partition before this offset.
    pub fn delete_before(&mut self, topic: &str, partition: u16, offset: i64) -> Result<()> {
        let number = i32::from(partition);
        let leader = self.leader(topic, number)?;
        let of_partition = DeleteRecordsPartition::default().with_partition_index(number).with_offset(offset);
        let of_topic = DeleteRecordsTopic::default()
            .with_name(TopicName(StrBytes::from(topic.to_owned())))
            .with_partitions(vec![of_partition]);
        let request = DeleteRecordsRequest::default()
            .with_topics(vec![of_topic])
            .with_timeout_ms(i32::try_from(ANSWER_LIMIT.as_millis()).unwrap_or(i32::MAX));
        let answer = self.ask(leader, &request, ANSWER_LIMIT * 2)?;
        let mut codes = answer.topics.iter().flat_map(|topic| &topic.partitions).map(|told| told.error_code);
        match codes.find_map(ResponseError::try_from_code) {
            None => Ok(()),
            Some(error) => {
                self.forget(topic);
                Err(refused(&format!("partition {partition} of {topic}"), error))
            }
        }
    }

    fn coordinator(&mut self, group: &str) -> Result<i32> {
        let request = FindCoordinatorRequest::default().with_key(StrBytes::from(group.to_owned()));
        let answer = self.ask_any(&request, ANSWER_LIMIT)?;
        if let Some(error) = ResponseError::try_from_code(answer.error_code) {
            return Err(refused(&format!("coordinator of group {group}"), error));
        }
        let number = answer.node_id.0;
        if number < 0 {
            let message = format!("group {group} has no coordinator at the moment");
            return Err(ServerError::new(ServerErrorKind::Unavailable, SETTING, message));
        }
        self.learn(number, format!("{}:{}", &*answer.host, answer.port));
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_there_for_monitoring_on_kafka() {
        let Some(address) = argiope_lab::TestServer::Kafka.address() else { return };
        let mut kafka = Kafka::new(&address).unwrap();
        let prefix = format!("progress-{}-", std::process::id());
        let topics = super::super::Topics { prefix, shards: 2 };
        topics.init(&mut kafka).unwrap();
        let topic = topics.name(super::super::Topic::UrlScheduled);
        let group = topics.name(super::super::Topic::UrlScheduled);
        // The topic with the offsets of groups is created when the first one arrives.
        let mut tries = 0;
        while let Err(error) = kafka.note_progress(&group, &topic, &[(0, 7), (1, 9)], "me") {
            tries += 1;
            assert!(error.is_retryable() && tries < 300, "{error}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let noted = kafka.progress(&group, &topic, vec![0, 1]).unwrap();
        let offsets: Vec<i64> = noted.iter().map(|told| told.committed_offset).collect();
        assert_eq!(offsets, [7, 9]);
        assert_eq!(kafka.progress_noted_by(&group, &topic).unwrap().as_deref(), Some("me"));
    }
}
