//! URLs from other programs: records that they write to the topic `url_ingest` are sent to the shards like the lines of
//! `argiope ingest`. The leader consumes the topic from positions that are stored with what was sent: every record is
//! processed at least once, and a shard ignores a URL that it has seen. Records that cannot be used are counted and skipped.

mod consumer;
mod jobs;
mod judging;
mod progress;
mod record;

pub use consumer::IngestConsumer;
pub use progress::{Example, ReceivedUrls, begin};

use crate::database::{DatabaseError, Session};
use crate::kafka::{Kafka, Topic, Topics};
use crate::server_error::Result as Answered;
use argiope_frontier::admission::DomainPolicy;
use argiope_model::{FingerprintKey, JobSpec, PublicSuffixes, Url};
use std::sync::Arc;

/// The text of a URL -> a URL that the job may crawl, or why not.
pub type ReadUrl = Box<dyn Fn(&JobSpec, &str) -> Result<Url, String> + Send>;

/// What it takes to read URLs and to address them to shards.
pub struct Addresses {
    pub suffixes: Arc<PublicSuffixes>,
    pub key: FingerprintKey,
    pub shards: u16,
    /// The filters of single domains, as they were when the worker started.
    pub policy: Arc<DomainPolicy>,
    pub read_url: ReadUrl,
}

fn partition_count(kafka: &mut Kafka, topic: &str) -> Answered<u16> {
    let number = kafka.partitions(topic)?.ok_or_else(|| crate::kafka::no_such_topic(topic))?;
    Ok(u16::try_from(number).unwrap_or(u16::MAX))
}

/// The end offset of each partition of the topic.
pub fn ends(kafka: &mut Kafka, topics: &Topics) -> Answered<Vec<u64>> {
    let topic = topics.name(Topic::UrlIngest);
    let partitions: Vec<u16> = (0..partition_count(kafka, &topic)?).collect();
    let ranges = kafka.ranges(&topic, &partitions)?;
    Ok(ranges.iter().map(|range| u64::try_from(range.end).unwrap_or(0)).collect())
}

/// What was received so far, and how many records wait if `ends` of the topic are given.
pub fn received_urls(session: &mut Session, ends: Option<&[u64]>) -> Result<ReceivedUrls, DatabaseError> {
    let mut received = progress::received(session)?;
    if let Some(ends) = ends {
        let positions = progress::positions(session, u16::try_from(ends.len()).unwrap_or(u16::MAX))?;
        let next = positions.iter().map(|(_, next)| u64::try_from(*next).unwrap_or(0));
        received.waiting = Some(ends.iter().zip(next).map(|(end, next)| end.saturating_sub(next)).sum());
    }
    Ok(received)
}
