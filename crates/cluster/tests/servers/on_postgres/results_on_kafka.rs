//! Pages for Kafka, by the contract of sinks.

use super::scratch::{LIMIT, Scratch};
use argiope_cluster::database::Session;
use argiope_cluster::kafka::{Kafka, Topic, Topics};
use argiope_cluster::publishing::{ResultsSink, TopicWriter};
use argiope_lab::TestServer;
use argiope_model::{JobId, PublicSuffixes};
use argiope_store::error::Result;
use argiope_store::follower::contract::SinkFixture;
use argiope_store::follower::{CommittedPages, PageSink, Position};
use std::sync::Arc;

struct Results {
    scratch: Scratch,
    brokers: String,
    topics: Topics,
}

/// A sink with what it borrows.
struct OwnSink {
    session: Session,
    writer: TopicWriter,
}

impl PageSink for OwnSink {
    fn position(&mut self) -> Result<Position> {
        ResultsSink::new(&mut self.session, &mut self.writer).position()
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        ResultsSink::new(&mut self.session, &mut self.writer).store(batch)
    }
}

impl SinkFixture for Results {
    fn open(&mut self) -> Box<dyn PageSink> {
        let kafka = Kafka::new(&self.brokers).unwrap();
        let suffixes = Arc::new(PublicSuffixes::bundled());
        let session = self.scratch.database().connect(LIMIT).unwrap();
        Box::new(OwnSink { session, writer: TopicWriter::new(kafka, self.topics.clone(), suffixes) })
    }

    fn taken(&mut self) -> Vec<String> {
        let mut kafka = Kafka::new(&self.brokers).unwrap();
        let name = self.topics.name(Topic::CrawlResults);
        let partitions = u16::try_from(kafka.partitions(&name).unwrap().unwrap()).unwrap();
        let mut urls = Vec::new();
        for partition in 0..partitions {
            let mut next = 0;
            loop {
                let records = kafka.read(&name, partition, next, 1 << 20).unwrap();
                let Some((last, _)) = records.last() else { break };
                next = last + 1;
                urls.extend(records.iter().map(|(_, value)| {
                    let result: serde_json::Value = serde_json::from_slice(value).unwrap();
                    result["page"]["url"].as_str().unwrap().to_owned()
                }));
            }
        }
        urls
    }

    fn job(&self) -> JobId {
        JobId(1)
    }
}

fn open() -> Option<Box<dyn SinkFixture>> {
    let brokers = TestServer::Kafka.address()?;
    let scratch = Scratch::with_cluster()?;
    let unique = scratch.value("SELECT current_database()");
    let topics = Topics { prefix: format!("{unique}-"), shards: 8 };
    topics.init(&mut Kafka::new(&brokers).unwrap()).unwrap();
    Some(Box::new(Results { scratch, brokers, topics }))
}

argiope_store::page_sink_contract!(open);
