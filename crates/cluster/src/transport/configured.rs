//! The transport of messages to the shards, as fixed when the cluster was created; every thread opens its own
//! connection.

use super::KafkaLog;
use crate::kafka::{Access, Kafka, Topics};
use crate::server_error::{Result, ServerError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug)]
pub enum Transport {
    /// A table of the database: messages are written in the transaction they belong to.
    Inbox,
    /// Acknowledged before the transaction they belong to, which records their position.
    Kafka { access: Access, topics: Topics, cluster: String, problems: Arc<Problems> },
}

impl Transport {
    pub fn kafka(access: impl Into<Access>, topics: Topics) -> Transport {
        Transport::Kafka { access: access.into(), topics, cluster: String::new(), problems: Arc::default() }
    }

    /// For the cluster of that id.
    #[must_use]
    pub fn of_cluster(mut self, id: &str) -> Transport {
        if let Transport::Kafka { cluster, .. } = &mut self {
            id.clone_into(cluster);
        }
        self
    }

    /// None without a log outside the database. Does not connect.
    pub fn log(&self) -> Result<Option<KafkaLog>> {
        match self {
            Transport::Inbox => Ok(None),
            Transport::Kafka { access, topics, cluster, .. } => {
                KafkaLog::new(access.clone(), topics).map(|log| Some(log.of_cluster(cluster)))
            }
        }
    }

    /// A client of the same servers, for publishing.
    pub fn client(&self) -> Result<Option<(Kafka, Topics)>> {
        match self {
            Transport::Inbox => Ok(None),
            Transport::Kafka { access, topics, .. } => {
                Ok(Some((Kafka::new(access.clone())?, topics.clone())))
            }
        }
    }

    /// Checks that the servers are reachable, and that the topics match and belong to this cluster.
    pub fn verify(&self) -> Result<()> {
        let Transport::Kafka { access, topics, cluster, .. } = self else { return Ok(()) };
        let mut kafka = Kafka::new(access.clone())?;
        topics.verify(&mut kafka)?;
        topics.claim(&mut kafka, cluster)
    }

    /// The current problem; None if there is none.
    pub fn problem(&self) -> Option<String> {
        match self {
            Transport::Inbox => None,
            Transport::Kafka { problems, .. } => problems.first(),
        }
    }

    /// A thread has succeeded or failed. Logs a problem once, and its end.
    pub(crate) fn note(&self, who: &'static str, failure: Option<&ServerError>) {
        if let Transport::Kafka { problems, .. } = self {
            problems.note(who, failure);
        }
    }
}

/// The problem, by the thread that found it.
#[derive(Debug, Default)]
pub struct Problems {
    known: Mutex<BTreeMap<&'static str, String>>,
}

impl Problems {
    fn known(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first(&self) -> Option<String> {
        self.known().values().next().cloned()
    }

    fn note(&self, who: &'static str, failure: Option<&ServerError>) {
        let mut known = self.known();
        match failure {
            Some(error) => {
                if known.insert(who, error.to_string()).is_none() {
                    tracing::warn!(%error, who, "Kafka request failed; retrying");
                }
            }
            None => {
                if known.remove(who).is_some() {
                    tracing::warn!(who, "Kafka is reachable again");
                }
            }
        }
    }
}
