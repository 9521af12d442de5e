//! The client's view of the cluster: brokers, leaders of partitions, and one connection to each broker in use. Outdated
//! information is dropped and fetched again.

use super::SETTING;
use super::access::Access;
use super::connection::{ANSWER_LIMIT, Connection, Question};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{ApiKey, MetadataRequest, MetadataResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use std::collections::HashMap;
use std::time::Duration;

impl Question for MetadataRequest {
    const KEY: ApiKey = ApiKey::Metadata;
    type Answer = MetadataResponse;
    const OLDEST: i16 = 5;
    /// From version 10 on the response has the topic's id.
    const NEWEST: i16 = 12;
}

/// A client of one Kafka cluster. Each thread has its own: a waiting reader must not block a writer.
pub struct Kafka {
    access: Access,
    /// As configured: where to begin.
    addresses: Vec<String>,
    /// By broker id.
    brokers: HashMap<i32, String>,
    connections: HashMap<i32, Connection>,
    /// The leader of each partition, by topic.
    leaders: HashMap<String, Vec<i32>>,
}

impl Kafka {
    /// Does not connect. From `cluster.kafka_brokers`: addresses separated by commas.
    pub fn new(access: impl Into<Access>) -> Result<Kafka> {
        let access = access.into();
        Ok(Kafka {
            addresses: access.addresses()?,
            access,
            brokers: HashMap::new(),
            connections: HashMap::new(),
            leaders: HashMap::new(),
        })
    }

    /// How many partitions a topic has; `None` if there is no such topic.
    pub fn partitions(&mut self, topic: &str) -> Result<Option<usize>> {
        self.look_up(topic)?;
        Ok(self.leaders.get(topic).map(Vec::len))
    }

    /// The id of a topic, which differs from that of a deleted topic with the same name. `None` if the brokers do not
    /// report it (before Kafka 2.8).
    pub fn identity(&mut self, topic: &str) -> Result<Option<String>> {
        let found = self.look_up(topic)?.ok_or_else(|| no_such_topic(topic))?;
        Ok((!found.topic_id.is_nil()).then(|| found.topic_id.to_string()))
    }

    /// The leader of a partition.
    pub(super) fn leader(&mut self, topic: &str, partition: i32) -> Result<i32> {
        if !self.leaders.contains_key(topic) {
            self.look_up(topic)?;
        }
        let leaders = self.leaders.get(topic).ok_or_else(|| no_such_topic(topic))?;
        let leader = usize::try_from(partition).ok().and_then(|at| leaders.get(at));
        match leader {
            Some(-1) => {
                self.leaders.remove(topic);
                let message = format!("partition {partition} of topic {topic} has no leader at the moment");
                Err(ServerError::new(ServerErrorKind::Unavailable, SETTING, message))
            }
            Some(leader) => Ok(*leader),
            None => {
                let message =
                    format!("topic {topic} has {} partitions, and no number {partition}", leaders.len());
                Err(ServerError::new(ServerErrorKind::Misconfigured, SETTING, message))
            }
        }
    }

    /// A broker that another one named.
    pub(super) fn learn(&mut self, broker: i32, address: String) {
        self.brokers.insert(broker, address);
    }

    /// Forgets the leaders, after an error that may come from outdated information.
    pub(super) fn forget(&mut self, topic: &str) {
        self.leaders.remove(topic);
    }

    /// The brokers' description of a topic, if it exists.
    fn look_up(&mut self, topic: &str) -> Result<Option<MetadataResponseTopic>> {
        let name =
            MetadataRequestTopic::default().with_name(Some(TopicName(StrBytes::from(topic.to_owned()))));
        let request =
            MetadataRequest::default().with_topics(Some(vec![name])).with_allow_auto_topic_creation(false);
        let answer = self.ask_any(&request, ANSWER_LIMIT)?;
        self.remember_brokers(&answer);
        self.leaders.remove(topic);
        let Some(found) = answer.topics.into_iter().next() else {
            return Ok(None);
        };
        match ResponseError::try_from_code(found.error_code) {
            Some(ResponseError::UnknownTopicOrPartition) => Ok(None),
            // It is being created: some of its partitions have no leader yet.
            None | Some(ResponseError::LeaderNotAvailable) => {
                self.leaders.insert(topic.to_owned(), leaders_of(&found));
                Ok(Some(found))
            }
            Some(error) => Err(refused(topic, error)),
        }
    }

    fn remember_brokers(&mut self, answer: &MetadataResponse) {
        let told = answer.brokers.iter();
        self.brokers =
            told.map(|broker| (broker.node_id.0, format!("{}:{}", &*broker.host, broker.port))).collect();
        let brokers = &self.brokers;
        self.connections.retain(|number, _| brokers.contains_key(number));
    }

    /// Uses the first broker that responds: a known one, or one of those configured.
    pub(super) fn ask_any<R: Question>(&mut self, request: &R, limit: Duration) -> Result<R::Answer> {
        let known: Vec<i32> = self.connections.keys().copied().collect();
        for number in known {
            match self.ask(number, request, limit) {
                Err(error) if error.is_retryable() => {}
                answered => return answered,
            }
        }
        let mut reasons = Vec::new();
        let others = self.brokers.values().filter(|address| !self.addresses.contains(address));
        for address in self.addresses.iter().chain(others) {
            match Connection::open(address, &self.access).and_then(|mut broker| broker.call(request, limit)) {
                Err(error) if error.is_retryable() => reasons.push(error),
                answered => return answered,
            }
        }
        let texts: Vec<&str> = reasons.iter().map(|error| error.message.as_str()).collect();
        let message = format!("Kafka is unreachable: {}", texts.join("; "));
        Err(ServerError { message, ..reasons.pop().unwrap_or_else(no_broker) })
    }

    pub(super) fn ask<R: Question>(
        &mut self,
        broker: i32,
        request: &R,
        limit: Duration,
    ) -> Result<R::Answer> {
        let answered = self.connection(broker)?.call(request, limit);
        self.dropping(broker, answered)
    }

    pub(super) fn send<R: Question>(&mut self, broker: i32, request: &R, limit: Duration) -> Result<i16> {
        let sent = self.connection(broker)?.send(request, limit);
        self.dropping(broker, sent)
    }

    pub(super) fn receive<R: Question>(&mut self, broker: i32, version: i16) -> Result<R::Answer> {
        let connection = self.connections.get_mut(&broker).ok_or_else(no_broker)?;
        let received = connection.receive::<R>(version);
        self.dropping(broker, received)
    }

    /// A connection that failed is out of sync: the next request opens another.
    fn dropping<T>(&mut self, broker: i32, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.connections.remove(&broker);
        }
        outcome
    }

    /// A response that nobody waits for must not be taken for the next one.
    pub(super) fn disconnect(&mut self, broker: i32) {
        self.connections.remove(&broker);
    }

    fn connection(&mut self, broker: i32) -> Result<&mut Connection> {
        use std::collections::hash_map::Entry;
        match self.connections.entry(broker) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) => {
                let address = self.brokers.get(&broker).ok_or_else(no_broker)?;
                Ok(free.insert(Connection::open(address, &self.access)?))
            }
        }
    }
}

fn leaders_of(topic: &MetadataResponseTopic) -> Vec<i32> {
    let mut partitions: Vec<(i32, i32)> =
        topic.partitions.iter().map(|partition| (partition.partition_index, partition.leader_id.0)).collect();
    partitions.sort_unstable();
    partitions.into_iter().map(|(_, leader)| leader).collect()
}

fn no_broker() -> ServerError {
    ServerError::new(ServerErrorKind::Unavailable, SETTING, "the leading broker is not known at the moment")
}

pub(crate) fn no_such_topic(topic: &str) -> ServerError {
    let message = format!("there is no topic {topic}; 'argiope cluster init' creates it");
    ServerError::new(ServerErrorKind::Misconfigured, SETTING, message)
}

/// What an error code of a broker means for the caller.
pub(super) fn refused(subject: &str, error: ResponseError) -> ServerError {
    use ResponseError as E;
    let kind = match error {
        E::TopicAuthorizationFailed | E::GroupAuthorizationFailed | E::ClusterAuthorizationFailed => {
            ServerErrorKind::AccessDenied
        }
        E::UnknownTopicOrPartition => return no_such_topic(subject),
        E::CorruptMessage => ServerErrorKind::InvalidResponse,
        E::UnknownServerError | E::BrokerNotAvailable | E::KafkaStorageError => ServerErrorKind::Unavailable,
        error if error.is_retriable() => ServerErrorKind::Unavailable,
        _ => ServerErrorKind::Misconfigured,
    };
    ServerError::new(kind, SETTING, format!("{subject}: {error}")).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_what_is_none_is_named() {
        let kafka = Kafka::new("a:1, b.example:9092,[::1]:9093").unwrap();
        assert_eq!(kafka.addresses, ["a:1", "b.example:9092", "[::1]:9093"]);
        for (brokers, named) in [("", "''"), ("a:1,b", "'b'"), (":9092", "':9092'"), ("a:x", "'a:x'")] {
            let error = Kafka::new(brokers).err().unwrap();
            assert_eq!(error.kind, ServerErrorKind::Misconfigured);
            assert!(error.to_string().starts_with(&format!("cluster.kafka_brokers: {named}")), "{error}");
        }
    }

    #[test]
    fn errors_say_whether_to_wait() {
        assert!(refused("x", ResponseError::NotEnoughReplicas).is_retryable());
        assert!(refused("x", ResponseError::NotLeaderOrFollower).is_retryable());
        assert_eq!(refused("x", ResponseError::TopicAuthorizationFailed).kind, ServerErrorKind::AccessDenied);
        assert_eq!(refused("x", ResponseError::MessageTooLarge).kind, ServerErrorKind::Misconfigured);
    }
}
