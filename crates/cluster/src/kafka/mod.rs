//! Apache Kafka: the five topics, written with an explicit partition and read from an explicit offset.
//!
//! | topic | partitions | kept | what |
//! |---|---|---|---|
//! | `url_ingest` | shards | 7 days | URLs that other programs have for jobs: [`crate::receiving`] |
//! | `url_scheduled` | shards | 7 days | discovered links on their way to the owner of their shard: [`crate::transport`] |
//! | `crawl_results` | 8 | 30 days | every page, as JSON: [`messages`] |
//! | `crawl_failures` | 4 | 30 days | what failed for good or was forbidden by robots.txt, with its reason, as JSON |
//! | `robots_cache_miss` | 1 | 7 days | notices: a robots.txt was not known |
//!
//! There is no consumer group: partitions are assigned by lease, and offsets are stored with what was applied. Every
//! write waits for all in-sync replicas and is idempotent: a retried write is stored once. An unreachable broker is a
//! [`ServerErrorKind::Unavailable`], and the next call tries again: connections, leaders and brokers are looked up again
//! automatically.
//!
//! The messages of the protocol come from `kafka_protocol`, generated from Kafka's own definitions; this module decides
//! which broker to ask and what an error means.
//!
//! [`ServerErrorKind::Unavailable`]: crate::server_error::ServerErrorKind::Unavailable

mod access;
mod batches;
mod brokers;
mod codecs;
mod connection;
mod login;
pub mod messages;
mod producer;
mod progress;
mod reading;
mod scram;
mod topics;
mod writing;

pub use access::Access;
pub use batches::RecordRun;
pub use brokers::Kafka;
pub(crate) use brokers::no_such_topic;
pub use codecs::Codec;
pub use login::{Login, Mechanism};
pub use reading::{Range, Records};
pub use topics::{Topic, Topics};
pub use writing::{LastOffsets, Outgoing};

/// The setting with the addresses.
pub(crate) const SETTING: &str = "cluster.kafka_brokers";
