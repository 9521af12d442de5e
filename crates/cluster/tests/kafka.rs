//! Kafka: topics made and checked, records written and read, and the errors when a broker is unreachable.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod private_set;

use argiope_cluster::kafka::{Kafka, Outgoing, Range, Topic, Topics};
use argiope_cluster::server_error::ServerErrorKind;
use argiope_lab::TestServer;
use private_set::{PrivateSet, eventually, unique};
use std::time::Duration;

const SERVER: TestServer = TestServer::Kafka;
const NONE: [u16; 0] = [];

fn shared(name: &str, shards: u16) -> Option<(Kafka, Topics)> {
    let kafka = Kafka::new(&SERVER.address()?).unwrap();
    Some((kafka, Topics { prefix: format!("{}-", unique(name)), shards }))
}

fn initialized(name: &str, shards: u16) -> Option<(Kafka, Topics)> {
    let (mut kafka, topics) = shared(name, shards)?;
    topics.init(&mut kafka).unwrap();
    Some((kafka, topics))
}

fn to(partition: u16, value: &[u8]) -> Outgoing<'_> {
    Outgoing { partition, key: None, value }
}

fn texts(records: &[(i64, Vec<u8>)]) -> Vec<(i64, &str)> {
    records.iter().map(|(offset, value)| (*offset, std::str::from_utf8(value).unwrap())).collect()
}

#[test]
fn the_five_topics_are_made_once_on_kafka() {
    let Some((mut kafka, topics)) = shared("five", 3) else { return };
    let error = topics.verify(&mut kafka).unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::Misconfigured);
    assert!(error.to_string().contains("argiope cluster init"), "{error}");
    topics.init(&mut kafka).unwrap();
    topics.verify(&mut kafka).unwrap();
    let count = |kafka: &mut Kafka, topic| kafka.partitions(&topics.name(topic)).unwrap();
    let counts = Topic::ALL.map(|topic| count(&mut kafka, topic));
    assert_eq!(counts, [Some(3), Some(3), Some(8), Some(4), Some(1)]);
    kafka.write(&topics.name(Topic::UrlScheduled), &[to(2, b"kept")]).unwrap();
    topics.init(&mut kafka).unwrap();
    let read = kafka.read(&topics.name(Topic::UrlScheduled), 2, 0, 100).unwrap();
    assert_eq!(texts(&read), [(0, "kept")], "a second init changes nothing");
}

#[test]
fn many_may_make_the_topics_at_once_on_kafka() {
    let Some((_, topics)) = shared("many", 2) else { return };
    let brokers = SERVER.address().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| topics.init(&mut Kafka::new(&brokers).unwrap()).unwrap());
        }
    });
}

#[test]
fn a_wrong_number_of_partitions_is_named_and_nothing_is_made_on_kafka() {
    let Some((mut kafka, topics)) = initialized("wrong", 4) else { return };
    let other = Topics { shards: 8, ..topics.clone() };
    for error in [other.verify(&mut kafka).unwrap_err(), other.init(&mut kafka).unwrap_err()] {
        assert_eq!(error.kind, ServerErrorKind::Misconfigured);
        let text = error.to_string();
        for word in ["cluster.kafka_brokers", "url_scheduled", "4 partitions", "cluster.shards is 8"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    topics.verify(&mut kafka).unwrap();
}

#[test]
fn records_are_read_where_they_were_written_on_kafka() {
    let Some((mut kafka, topics)) = initialized("records", 3) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    let key = Some(&b"example.com"[..]);
    kafka.write(&topic, &[to(0, b"a"), Outgoing { key, ..to(2, b"b") }, to(0, b"c")]).unwrap();
    kafka.write(&topic, &[to(0, b"d")]).unwrap();
    kafka.write(&topic, &[]).unwrap();
    assert_eq!(texts(&kafka.read(&topic, 0, 0, 1000).unwrap()), [(0, "a"), (1, "c"), (2, "d")]);
    assert_eq!(texts(&kafka.read(&topic, 0, 1, 1000).unwrap()), [(1, "c"), (2, "d")]);
    assert_eq!(texts(&kafka.read(&topic, 0, 0, 1).unwrap()), [(0, "a")], "one at least");
    assert_eq!(texts(&kafka.read(&topic, 2, 0, 1000).unwrap()), [(0, "b")]);
    assert_eq!(texts(&kafka.read(&topic, 1, 0, 1000).unwrap()), []);
    assert_eq!(texts(&kafka.read(&topic, 0, 3, 1000).unwrap()), [], "the next one is not there yet");
    let range = |begin, end| Range { begin, end };
    assert_eq!(kafka.ranges(&topic, &[2, 0, 1]).unwrap(), [range(0, 1), range(0, 3), range(0, 0)]);
}

#[test]
fn more_than_a_batch_holds_is_written_in_order_on_kafka() {
    let Some((mut kafka, topics)) = initialized("large", 2) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    // What does not compress: 6 MB in two partitions.
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let values: Vec<Vec<u8>> = (0..60).map(|_| (0..100_000).map(|_| noise()).collect()).collect();
    let records: Vec<Outgoing<'_>> = (0..).zip(&values).map(|(n, value)| to(n % 2, value)).collect();
    kafka.write(&topic, &records).unwrap();
    for partition in 0..2 {
        let mut read = Vec::new();
        loop {
            let next = kafka.read(&topic, partition, read.len() as i64, 250_000).unwrap();
            assert!(next.iter().map(|(_, value)| value.len()).sum::<usize>() <= 250_000);
            if next.is_empty() {
                break;
            }
            read.extend(next);
        }
        let expected = values.iter().skip(usize::from(partition)).step_by(2);
        assert!(read.iter().map(|(_, value)| value).eq(expected));
        assert!(read.iter().map(|(offset, _)| *offset).eq(0..30));
    }
}

/// The partitions that have something.
fn woken(kafka: &mut Kafka, topic: &str, positions: &[(u16, i64)], limit: Duration) -> Vec<u16> {
    let read = kafka.poll(topic, positions, 100, limit).unwrap();
    read.into_iter().map(|(partition, _)| partition).collect()
}

#[test]
fn a_reader_is_woken_by_what_comes_on_kafka() {
    let Some((mut kafka, topics)) = initialized("wait", 3) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    let positions = [(0, 0), (1, 0), (2, 0)];
    assert_eq!(woken(&mut kafka, &topic, &positions, Duration::from_millis(1)), NONE);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut reader = Kafka::new(&SERVER.address().unwrap()).unwrap();
            woken(&mut reader, &topic, &positions, Duration::from_secs(300))
        });
        kafka.write(&topic, &[to(1, b"x")]).unwrap();
        assert_eq!(waiting.join().unwrap(), [1]);
    });
    kafka.write(&topic, &[to(2, b"y")]).unwrap();
    assert_eq!(woken(&mut kafka, &topic, &positions, Duration::from_secs(300)), [1, 2]);
    assert_eq!(woken(&mut kafka, &topic, &[(0, 0), (1, 1)], Duration::from_millis(1)), NONE);
}

#[test]
fn an_offset_beyond_the_end_is_an_error_on_kafka() {
    let Some((mut kafka, topics)) = initialized("beyond", 1) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    kafka.write(&topic, &[to(0, b"x")]).unwrap();
    let error = kafka.read(&topic, 0, 7, 100).unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::DataLost);
    let text = error.to_string();
    assert!(text.contains("ends at 1") && text.contains("record 7"), "{text}");
}

#[test]
fn a_topic_that_is_made_anew_is_another_one_on_kafka() {
    let Some((mut kafka, topics)) = initialized("remade", 2) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    let first = kafka.identity(&topic).unwrap().unwrap();
    kafka.write(&topic, &[to(0, b"x")]).unwrap();
    assert_eq!(kafka.identity(&topic).unwrap(), Some(first.clone()));
    assert_ne!(kafka.identity(&topics.name(Topic::UrlIngest)).unwrap(), Some(first.clone()));
    kafka.delete(&topic).unwrap();
    eventually("it is gone", || kafka.identity(&topic).is_err().then_some(()));
    topics.init(&mut kafka).unwrap();
    assert_ne!(kafka.identity(&topic).unwrap(), Some(first));
}

#[test]
fn what_was_deleted_before_it_was_read_is_named_on_kafka() {
    let Some((mut kafka, topics)) = initialized("lost", 2) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    let values: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let records: Vec<Outgoing<'_>> = values.iter().map(|value| to(1, value.as_bytes())).collect();
    kafka.write(&topic, &records).unwrap();
    kafka.delete_before(&topic, 1, 6).unwrap();
    let error = kafka.read(&topic, 1, 2, 100).unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::DataLost);
    let text = error.to_string();
    assert!(text.contains("records 2 to 5 of partition 1 of"), "{text}");
    assert!(text.contains("begins at 6") && text.contains(&topic), "{text}");
    assert_eq!(kafka.ranges(&topic, &[1]).unwrap(), [Range { begin: 6, end: 10 }]);
    assert_eq!(texts(&kafka.read(&topic, 1, 6, 1).unwrap()), [(6, "6")]);
    let error = kafka.poll(&topic, &[(0, 0), (1, 2)], 100, Duration::from_millis(1)).unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::DataLost);
}

#[test]
fn a_partition_or_topic_that_is_not_there_is_an_error_on_kafka() {
    let Some((mut kafka, topics)) = initialized("nowhere", 2) else { return };
    let error = kafka.write(&topics.name(Topic::UrlScheduled), &[to(2, b"x")]).unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::Misconfigured);
    assert!(error.to_string().contains("has 2 partitions, and no number 2"), "{error}");
    let error = kafka.read("no-such-topic", 0, 0, 100).unwrap_err();
    assert!(error.to_string().contains("no topic no-such-topic; 'argiope cluster init'"), "{error}");
}

#[test]
fn brokers_that_are_not_there_are_named_with_the_setting() {
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let brokers = format!("127.0.0.1:{},127.0.0.1:{}", free(), free());
    let error =
        Topics { prefix: String::new(), shards: 1 }.verify(&mut Kafka::new(&brokers).unwrap()).unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.starts_with("cluster.kafka_brokers: Kafka is unreachable"), "{text}");
    assert!(brokers.split(',').all(|broker| text.contains(broker)), "{text}");
}

#[test]
fn what_is_no_kafka_is_told_from_one() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 100]);
        stream.write_all(&[0, 0, 0, 8, 0, 0, 0, 9, 1, 2, 3, 4]).unwrap();
    });
    let error = Kafka::new(&address).unwrap().partitions("x").unwrap_err();
    assert_eq!(error.kind, ServerErrorKind::InvalidResponse, "{error}");
    server.join().unwrap();
}

#[test]
fn a_broker_that_was_away_is_found_again_on_kafka() {
    let Some(set) = PrivateSet::start(SERVER) else { return };
    let mut kafka = Kafka::new(set.address(SERVER)).unwrap();
    let mut reader = Kafka::new(set.address(SERVER)).unwrap();
    let topics = Topics { prefix: String::new(), shards: 2 };
    topics.init(&mut kafka).unwrap();
    let topic = topics.name(Topic::UrlScheduled);
    kafka.write(&topic, &[to(0, b"before")]).unwrap();
    assert_eq!(reader.read(&topic, 0, 0, 10_000).unwrap().len(), 1);
    set.script(&["kill", "kafka"]);
    assert_eq!(kafka.write(&topic, &[to(0, b"lost")]).unwrap_err().kind, ServerErrorKind::Unavailable);
    assert_eq!(reader.read(&topic, 0, 0, 10_000).unwrap_err().kind, ServerErrorKind::Unavailable);
    set.script(&["start", "kafka"]);
    eventually("it can be written", || kafka.write(&topic, &[to(0, b"after")]).ok());
    let read =
        eventually("it can be read", || reader.read(&topic, 0, 0, 10_000).ok().filter(|read| read.len() > 1));
    assert_eq!((&read[0].1[..], &read.last().unwrap().1[..]), (&b"before"[..], &b"after"[..]));
    topics.verify(&mut kafka).unwrap();
    // A broker that hangs is away too, and what it owes is not taken for the answer to another question.
    set.script(&["pause", "kafka"]);
    assert_eq!(reader.read(&topic, 0, 0, 10_000).unwrap_err().kind, ServerErrorKind::Unavailable);
    set.script(&["resume", "kafka"]);
    let again = eventually("it can be read again", || reader.read(&topic, 0, 0, 10_000).ok());
    assert_eq!(again, read);
}

#[test]
fn a_batch_whose_answer_is_lost_is_stored_once_on_kafka() {
    let Some((mut direct, topics)) = initialized("once", 2) else { return };
    let topic = topics.name(Topic::UrlScheduled);
    let relay = Relay::new(SERVER.address().unwrap());
    let mut kafka = Kafka::new(&relay.address).unwrap();
    kafka.write(&topic, &[to(0, b"a"), to(1, b"b")]).unwrap();
    for value in [&b"c"[..], b"d"] {
        relay.swallows.store(true, std::sync::atomic::Ordering::SeqCst);
        let written = kafka.write(&topic, &[to(0, value), to(0, b"+")]).unwrap();
        assert!(!relay.swallows.load(std::sync::atomic::Ordering::SeqCst), "an answer was lost");
        assert_eq!(written[&0], direct.ranges(&topic, &[0]).unwrap()[0].end - 1);
    }
    kafka.write(&topic, &[to(0, b"e")]).unwrap();
    let read = direct.read(&topic, 0, 0, 1000).unwrap();
    assert_eq!(texts(&read), [(0, "a"), (1, "c"), (2, "+"), (3, "d"), (4, "+"), (5, "e")]);
    assert_eq!(texts(&direct.read(&topic, 1, 0, 1000).unwrap()), [(0, "b")]);
}

/// Passes connections on to a broker, in whose place it is named, and may swallow the next answer to a write.
struct Relay {
    address: String,
    swallows: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

/// The number of the request that writes.
const PRODUCE: [u8; 2] = [0, 0];

impl Relay {
    fn new(broker: String) -> Relay {
        use std::sync::atomic::{AtomicBool, Ordering};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let port = |address: &str| -> u32 { address.rsplit_once(':').unwrap().1.parse().unwrap() };
        let named = |address: &str| [&b"127.0.0.1"[..], &port(address).to_be_bytes()].concat();
        let (theirs, ours) = (named(&broker), named(&address));
        let swallows = std::sync::Arc::new(AtomicBool::new(false));
        let flag = std::sync::Arc::clone(&swallows);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut server = std::net::TcpStream::connect(&broker).unwrap();
                let flag = std::sync::Arc::clone(&flag);
                let (theirs, ours) = (theirs.clone(), ours.clone());
                std::thread::spawn(move || {
                    while let Some(request) = message(&mut client) {
                        send(&mut server, &request);
                        let Some(mut answer) = message(&mut server) else { return };
                        if let Some(at) = answer.windows(theirs.len()).position(|bytes| bytes == theirs) {
                            answer[at..at + ours.len()].copy_from_slice(&ours);
                        }
                        if request.starts_with(&PRODUCE) && flag.swap(false, Ordering::SeqCst) {
                            // The broker has stored the batch; the client does not learn it.
                            return;
                        }
                        send(&mut client, &answer);
                    }
                });
            }
        });
        Relay { address, swallows }
    }
}

fn message(stream: &mut std::net::TcpStream) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

fn send(stream: &mut std::net::TcpStream, message: &[u8]) {
    use std::io::Write;
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let _ = stream.write_all(&[&length, message].concat());
}
