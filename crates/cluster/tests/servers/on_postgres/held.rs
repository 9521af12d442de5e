//! What a worker holds in memory while Kafka is away.

use super::scratch::Scratch;
use argiope_cluster::kafka::{Kafka, Topics};
use argiope_cluster::members::{Epochs, MessageSender};
use argiope_cluster::state::PostgresState;
use argiope_cluster::transport::Transport;
use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{Change, HostKey, QueueAt, ShardState, StateBatch};
use argiope_lab::TestServer;
use argiope_model::JobId;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The end of so many visits, and a link of theirs.
fn ends(first: u64, visits: u64) -> StateBatch {
    let at = QueueAt { job: JobId(1), host: HostKey { shard: 0, number: 0 } };
    let order = |sequence| OrderKey { rank: 1, depth: 0, sequence };
    let link = Change::Send { from: 0, to: 1, message: b"a link".to_vec() };
    let ended = (first..first + visits).map(|sequence| Change::Unqueue { at, order: order(sequence) });
    StateBatch { changes: std::iter::once(link).chain(ended).collect(), marks: Vec::new() }
}

/// From now on connections reach Kafka.
fn open(listener: TcpListener, kafka: String) {
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(&kafka).unwrap();
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
}

#[test]
fn ten_thousand_ended_visits_are_held_while_kafka_does_not_answer_and_then_fetching_waits_on_kafka() {
    let (Some(kafka), Some(scratch)) = (TestServer::Kafka.address(), Scratch::with_cluster()) else {
        return;
    };
    let topics = Topics { prefix: format!("held-{}-", std::process::id()), shards: 8 };
    topics.init(&mut Kafka::new(&kafka).unwrap()).unwrap();
    // It accepts connections, without a server behind it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let transport = Transport::kafka(&listener.local_addr().unwrap().to_string(), topics);
    let sender = MessageSender::new(&transport, "one", "test").unwrap();
    let epochs = Epochs::default();
    epochs.insert(0, 0);
    let mut state = PostgresState::open(&scratch.database(), "one", Arc::new(epochs), sender, None).unwrap();
    // In however many batches.
    for batch in 0..1_000 {
        state.apply(ends(10 * batch, 10)).unwrap();
    }
    let (says, said) = channel();
    let applying = std::thread::spawn(move || {
        state.apply(ends(10_000, 1)).unwrap();
        says.send(()).unwrap();
        state.sync().unwrap();
    });
    // A thread that is held back says nothing, and nothing else happens here that could be waited for. What is not held back
    // says so within the second.
    assert!(said.recv_timeout(Duration::from_secs(1)).is_err(), "one more was not waited for");
    open(listener, kafka);
    applying.join().unwrap();
    assert_eq!(scratch.number("SELECT count(*) FROM log_sent"), 0, "links of no job are not waited for");
}
