//! Links a second through a transport: written in batches as a worker writes them, then read back by shard.
//!
//! ```sh
//! eval "$(scripts/servers env)"
//! cargo run --profile quick -p argiope-cluster --example transport_rate -- [LINKS] [SHARDS] [WRITERS]
//! ```
//!
//! On two cores with a broker beside it, 400,000 links, 64 shards, one writer, built for tests: 0.5 million links a second
//! are written, acknowledged by all in sync, and 2.7 million read.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement for the terminal"
)]

use argiope_cluster::kafka::{Kafka, Topics};
use argiope_cluster::transport::{KafkaLog, Log};
use std::time::Instant;

/// What the links of one page to one shard may look like: a source and a handful of URLs.
const LINKS_PER_MESSAGE: u64 = 10;
/// Messages of one batch of completed pages: 400 pages with links to four shards each.
const MESSAGES_PER_APPEND: u64 = 1600;

fn main() {
    let brokers = std::env::var("ARGIOPE_TEST_KAFKA").expect("ARGIOPE_TEST_KAFKA: see scripts/servers env");
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let links = numbers.next().unwrap_or(2_000_000);
    let shards = u16::try_from(numbers.next().unwrap_or(64)).expect("shards");
    let writers = numbers.next().unwrap_or(1);

    let topics = Topics { prefix: format!("rate-{}-", std::process::id()), shards };
    topics.init(&mut Kafka::new(&brokers).unwrap()).unwrap();
    let messages = links / LINKS_PER_MESSAGE / writers;

    let begun = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let mut log = KafkaLog::new(&brokers, &topics).unwrap();
            scope.spawn(move || {
                let mut written = 0;
                while written < messages {
                    let some = MESSAGES_PER_APPEND.min(messages - written);
                    let batch: Vec<(u16, Vec<u8>)> =
                        (0..some).map(|n| message(writer, written + n, shards)).collect();
                    let batch: Vec<(u16, &[u8])> = batch.iter().map(|(to, text)| (*to, &text[..])).collect();
                    log.append(&batch).unwrap();
                    written += some;
                }
            });
        }
    });
    let total = messages * writers;
    report("written", total, begun);

    let mut log = KafkaLog::new(&brokers, &topics).unwrap();
    let begun = Instant::now();
    let (mut read, mut bytes) = (0, 0);
    for shard in 0..shards {
        let mut after = 0;
        loop {
            let some = log.read(shard, after, 4 << 20).unwrap();
            let Some((last, _)) = some.last() else { break };
            after = *last;
            read += some.len() as u64;
            bytes += some.iter().map(|(_, value)| value.len() as u64).sum::<u64>();
        }
    }
    assert_eq!(read, total);
    report("read", read, begun);
    println!("{} bytes a link, before compression", bytes / (total * LINKS_PER_MESSAGE));
}

fn message(writer: u64, number: u64, shards: u16) -> (u16, Vec<u8>) {
    let host = number % 997;
    let mut text = format!("https://www.site-{host}.example/articles/{number}\n");
    for link in 0..LINKS_PER_MESSAGE {
        let target = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(link * writer) >> 40;
        text.push_str(&format!(
            "https://other-{}.example/topics/{}/page-{target}.html\n",
            target % 5003,
            link % 7
        ));
    }
    (u16::try_from(number % u64::from(shards)).unwrap_or(0), text.into_bytes())
}

fn report(what: &str, messages: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    let links = (messages * LINKS_PER_MESSAGE) as f64;
    println!("{what}: {links:.0} links in {seconds:.2} s, {:.0} a second", links / seconds);
}
