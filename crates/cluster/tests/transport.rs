//! The logs that carry links to the owners of their shards, by the contract of the port.

#![allow(clippy::unwrap_used, reason = "tests")]

mod log_contract;
mod private_set;

use argiope_cluster::kafka::{Kafka, Topic, Topics};
use argiope_cluster::transport::{KafkaLog, Log, MemoryLog};
use argiope_lab::TestServer;
use log_contract::{Fresh, SUITE};
use private_set::unique;
use std::time::Duration;

#[test]
fn the_contract_holds_in_memory() {
    for test in SUITE {
        let log = MemoryLog::default();
        let forget = |shard, offset| log.forget_before(shard, offset);
        test(&Fresh { log: &|| Box::new(log.clone()), forget: &forget });
    }
}

#[test]
fn the_contract_holds_on_kafka() {
    let Some(brokers) = TestServer::Kafka.address() else { return };
    for test in SUITE {
        let topics = Topics { prefix: format!("{}-", unique("log")), shards: 8 };
        let mut kafka = Kafka::new(&brokers).unwrap();
        topics.init(&mut kafka).unwrap();
        let topic = topics.name(Topic::UrlScheduled);
        let forget = |shard, offset: u64| {
            // Its numbers are one less.
            Kafka::new(&brokers).unwrap().delete_before(&topic, shard, offset as i64 - 1).unwrap();
        };
        test(&Fresh { log: &|| Box::new(KafkaLog::new(&brokers, &topics).unwrap()), forget: &forget });
    }
}

#[test]
fn a_reader_waits_for_messages_after_its_offsets_on_kafka() {
    let Some(brokers) = TestServer::Kafka.address() else { return };
    let topics = Topics { prefix: format!("{}-", unique("waits")), shards: 2 };
    topics.init(&mut Kafka::new(&brokers).unwrap()).unwrap();
    let mut log = KafkaLog::new(&brokers, &topics).unwrap();
    log.append(&[(0, b"a"), (1, b"b")]).unwrap();
    let long = Duration::from_secs(300);
    let (a, b) = ((0, vec![(1, b"a".to_vec())]), (1, vec![(1, b"b".to_vec())]));
    let both = [a, b];
    assert_eq!(log.poll(&[(0, 0), (1, 1)], 1000, long).unwrap(), both[..1]);
    assert_eq!(log.poll(&[(0, 0), (1, 0)], 1000, long).unwrap(), both);
    assert!(log.poll(&[(0, 1), (1, 1)], 1000, Duration::from_millis(1)).unwrap().is_empty());
}
