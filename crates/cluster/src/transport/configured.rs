//! What carries messages to the shards, as the cluster was made with: every thread opens its own way from it.

use super::KafkaLog;
use crate::kafka::{Access, Kafka, Topics};
use crate::server_error::{Result, ServerError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug)]
pub enum Transport {
    /// A table of the database: what is sent goes with the transaction that it belongs to.
    Inbox,
    /// Acknowledged before the transaction that it belongs to, which notes where it is.
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

    /// None where there is no log beside the database. Does not connect.
    pub fn log(&self) -> Result<Option<KafkaLog>> {
        match self {
            Transport::Inbox => Ok(None),
            Transport::Kafka { access, topics, cluster, .. } => {
                KafkaLog::new(access.clone(), topics).map(|log| Some(log.of_cluster(cluster)))
            }
        }
    }

    /// A client of the same servers, for what is published there.
    pub fn client(&self) -> Result<Option<(Kafka, Topics)>> {
        match self {
            Transport::Inbox => Ok(None),
            Transport::Kafka { access, topics, .. } => {
                Ok(Some((Kafka::new(access.clone())?, topics.clone())))
            }
        }
    }

    /// Whether the servers are there, with the topics as they have to be and for no other cluster.
    pub fn verify(&self) -> Result<()> {
        let Transport::Kafka { access, topics, cluster, .. } = self else { return Ok(()) };
        let mut kafka = Kafka::new(access.clone())?;
        topics.verify(&mut kafka)?;
        topics.claim(&mut kafka, cluster)
    }

    /// What is wrong now, in words; None where all is well.
    pub fn problem(&self) -> Option<String> {
        match self {
            Transport::Inbox => None,
            Transport::Kafka { problems, .. } => problems.first(),
        }
    }

    /// A thread that uses it has succeeded or failed. Said once, and once more when it is over.
    pub(crate) fn note(&self, who: &'static str, failure: Option<&ServerError>) {
        if let Transport::Kafka { problems, .. } = self {
            problems.note(who, failure);
        }
    }
}

/// What is wrong, by who has found it.
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
                    tracing::warn!(%error, who, "kafka does not take or give what it should; it is tried again until it does");
                }
            }
            None => {
                if known.remove(who).is_some() {
                    tracing::warn!(who, "kafka answers again");
                }
            }
        }
    }
}
