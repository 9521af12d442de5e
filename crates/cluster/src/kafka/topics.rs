//! The five topics: created once, and checked at every start.

use super::SETTING;
use super::brokers::{Kafka, refused};
use super::connection::{ANSWER_LIMIT, Question};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::{
    ApiKey, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use std::time::Duration;

impl Question for CreateTopicsRequest {
    const KEY: ApiKey = ApiKey::CreateTopics;
    type Answer = CreateTopicsResponse;
    /// The first version that lets the broker choose the number of replicas.
    const OLDEST: i16 = 4;
    const NEWEST: i16 = 5;
}

impl Question for DeleteTopicsRequest {
    const KEY: ApiKey = ApiKey::DeleteTopics;
    type Answer = DeleteTopicsResponse;
    const OLDEST: i16 = 1;
    const NEWEST: i16 = 5;
}

const DAY: Duration = Duration::from_secs(24 * 3600);
const MAKE_LIMIT: Duration = Duration::from_secs(30);
/// How often to look for a new topic, at intervals of a tenth of a second.
const LOOKS: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    UrlIngest,
    UrlScheduled,
    CrawlResults,
    CrawlFailures,
    RobotsCacheMiss,
}

impl Topic {
    pub const ALL: [Topic; 5] = [
        Topic::UrlIngest,
        Topic::UrlScheduled,
        Topic::CrawlResults,
        Topic::CrawlFailures,
        Topic::RobotsCacheMiss,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Topic::UrlIngest => "url_ingest",
            Topic::UrlScheduled => "url_scheduled",
            Topic::CrawlResults => "crawl_results",
            Topic::CrawlFailures => "crawl_failures",
            Topic::RobotsCacheMiss => "robots_cache_miss",
        }
    }

    pub fn retention(self) -> Duration {
        match self {
            Topic::UrlIngest | Topic::UrlScheduled | Topic::RobotsCacheMiss => 7 * DAY,
            Topic::CrawlResults | Topic::CrawlFailures => 30 * DAY,
        }
    }

    /// The number of partitions at creation.
    pub fn partitions(self, shards: u16) -> u16 {
        match self {
            Topic::UrlIngest | Topic::UrlScheduled => shards,
            Topic::CrawlResults => 8,
            Topic::CrawlFailures => 4,
            Topic::RobotsCacheMiss => 1,
        }
    }

    /// A partition is a shard: the number must match. The operator may add partitions to the others.
    fn is_sharded(self) -> bool {
        self == Topic::UrlScheduled
    }

    /// Other programs may compress in any format; Kafka converts to the one that is read here.
    fn compression(self) -> Option<&'static str> {
        (self == Topic::UrlIngest).then_some("zstd")
    }
}

/// The topics of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    /// The prefix of every name; empty if Kafka serves only one cluster.
    pub prefix: String,
    /// `cluster.shards`
    pub shards: u16,
}

impl Topics {
    pub fn name(&self, topic: Topic) -> String {
        format!("{}{}", self.prefix, topic.name())
    }

    /// Creates the missing ones. If an existing one does not match, none is created. May be called concurrently.
    pub fn init(&self, kafka: &mut Kafka) -> Result<()> {
        let mut missing = Vec::new();
        for topic in Topic::ALL {
            match kafka.partitions(&self.name(topic))? {
                Some(partitions) => self.check(topic, partitions)?,
                None => missing.push(topic),
            }
        }
        self.make(kafka, &missing)?;
        self.appear(kafka)
    }

    /// All exist and match.
    pub fn verify(&self, kafka: &mut Kafka) -> Result<()> {
        for topic in Topic::ALL {
            let name = self.name(topic);
            let partitions = kafka.partitions(&name)?.ok_or_else(|| super::brokers::no_such_topic(&name))?;
            self.check(topic, partitions)?;
        }
        Ok(())
    }

    /// The cluster that uses them, by its id. It is stored with the progress of the links, which the workers commit all
    /// the time.
    pub fn user(&self, kafka: &mut Kafka) -> Result<Option<String>> {
        let name = self.name(Topic::UrlScheduled);
        patiently(|| kafka.progress_noted_by(&name, &name))
    }

    /// Claims them for this cluster; fails if another one has them.
    pub fn claim(&self, kafka: &mut Kafka, cluster: &str) -> Result<()> {
        let name = self.name(Topic::UrlScheduled);
        match self.user(kafka)? {
            Some(user) if user == cluster => Ok(()),
            Some(user) => Err(self.used_by(&user)),
            None => patiently(|| kafka.note_progress(&name, &name, &[(0, 0)], cluster)),
        }
    }

    /// The message to another cluster.
    pub fn used_by(&self, user: &str) -> ServerError {
        let message = format!(
            "the topics here belong to another cluster ({user}, topic {}); set cluster.kafka_topic_prefix to a \
             unique prefix, or delete them if that cluster does not exist any more",
            self.name(Topic::UrlScheduled)
        );
        ServerError::new(ServerErrorKind::Misconfigured, SETTING, message)
    }

    fn check(&self, topic: Topic, partitions: usize) -> Result<()> {
        if !topic.is_sharded() || partitions == usize::from(self.shards) {
            return Ok(());
        }
        let message = format!(
            "topic {} has {partitions} partitions, and cluster.shards is {}: a partition is a shard. Set cluster.shards to \
             {partitions}, or name another Kafka, or delete the topic if no cluster uses it any more",
            self.name(topic),
            self.shards
        );
        Err(ServerError::new(ServerErrorKind::Misconfigured, SETTING, message))
    }

    fn make(&self, kafka: &mut Kafka, topics: &[Topic]) -> Result<()> {
        if topics.is_empty() {
            return Ok(());
        }
        let wanted = topics.iter().map(|topic| {
            let retention = setting("retention.ms", topic.retention().as_millis().to_string());
            let compression = topic.compression().map(|word| setting("compression.type", word.to_owned()));
            CreatableTopic::default()
                .with_name(TopicName(StrBytes::from(self.name(*topic))))
                .with_num_partitions(i32::from(topic.partitions(self.shards)))
                // As many as the brokers' default.
                .with_replication_factor(-1)
                .with_configs(std::iter::once(retention).chain(compression).collect())
        });
        let request = CreateTopicsRequest::default()
            .with_topics(wanted.collect())
            .with_timeout_ms(i32::try_from(MAKE_LIMIT.as_millis()).unwrap_or(i32::MAX));
        for made in kafka.ask_any(&request, MAKE_LIMIT + ANSWER_LIMIT)?.topics {
            match ResponseError::try_from_code(made.error_code) {
                // Another process creates them too.
                None | Some(ResponseError::TopicAlreadyExists) => {}
                Some(error) => {
                    let detail = made.error_message.as_ref().map(|text| format!(" ({})", &**text));
                    let mut failed = refused(&format!("topic {}", &*made.name.0), error);
                    failed.message.push_str(&detail.unwrap_or_default());
                    return Err(failed);
                }
            }
        }
        Ok(())
    }

    /// Waits until the brokers know the new topics, and their leaders are ready.
    fn appear(&self, kafka: &mut Kafka) -> Result<()> {
        for topic in Topic::ALL {
            let name = self.name(topic);
            for look in 1.. {
                match leads(kafka, &name) {
                    Ok(partitions) => {
                        self.check(topic, partitions)?;
                        break;
                    }
                    Err(error) if look == LOOKS => return Err(error),
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        }
        Ok(())
    }
}

fn setting(name: &'static str, value: String) -> CreatableTopicConfig {
    CreatableTopicConfig::default()
        .with_name(StrBytes::from_static_str(name))
        .with_value(Some(StrBytes::from(value)))
}

impl Kafka {
    /// Deletes a topic with all that is in it.
    pub fn delete(&mut self, topic: &str) -> Result<()> {
        let request = DeleteTopicsRequest::default()
            .with_topic_names(vec![TopicName(StrBytes::from(topic.to_owned()))])
            .with_timeout_ms(i32::try_from(MAKE_LIMIT.as_millis()).unwrap_or(i32::MAX));
        let answer = self.ask_any(&request, MAKE_LIMIT + ANSWER_LIMIT)?;
        self.forget(topic);
        match answer.responses.iter().find_map(|told| ResponseError::try_from_code(told.error_code)) {
            None => Ok(()),
            Some(error) => Err(refused(topic, error)),
        }
    }
}

/// The topic with the progress of groups is created when the first one arrives.
fn patiently<T>(mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    let mut looks = 1;
    loop {
        match ask() {
            Err(error) if error.is_retryable() && looks < LOOKS => {
                looks += 1;
                std::thread::sleep(Duration::from_millis(100));
            }
            answer => return answer,
        }
    }
}

/// Only a leader that is ready reports where its partitions begin and end.
fn leads(kafka: &mut Kafka, name: &str) -> Result<usize> {
    let partitions = kafka.partitions(name)?.ok_or_else(|| super::brokers::no_such_topic(name))?;
    let numbers: Vec<u16> = (0..u16::try_from(partitions).unwrap_or(u16::MAX)).collect();
    kafka.ranges(name, &numbers)?;
    Ok(partitions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
    use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

    impl Question for DescribeConfigsRequest {
        const KEY: ApiKey = ApiKey::DescribeConfigs;
        type Answer = DescribeConfigsResponse;
        const OLDEST: i16 = 1;
        const NEWEST: i16 = 3;
    }

    /// Resource types, as the protocol numbers them.
    const OF_TOPIC: i8 = 2;

    #[test]
    fn topics_are_kept_for_their_days_on_kafka() {
        let Some(address) = argiope_lab::TestServer::Kafka.address() else { return };
        let mut kafka = Kafka::new(&address).unwrap();
        let topics = Topics { prefix: format!("kept-{}-", std::process::id()), shards: 1 };
        topics.init(&mut kafka).unwrap();
        let mut days = Vec::new();
        for topic in Topic::ALL {
            let resource = DescribeConfigsResource::default()
                .with_resource_type(OF_TOPIC)
                .with_resource_name(StrBytes::from(topics.name(topic)))
                .with_configuration_keys(Some(vec![StrBytes::from_static_str("retention.ms")]));
            let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
            let leader = kafka.leader(&topics.name(topic), 0).unwrap();
            let answer = kafka.ask(leader, &request, ANSWER_LIMIT).unwrap();
            let value = answer.results.first().unwrap().configs.first().unwrap().value.clone().unwrap();
            days.push(value.parse::<u64>().unwrap() / 86_400_000);
        }
        assert_eq!(days, [7, 7, 30, 30, 7]);
    }
}
