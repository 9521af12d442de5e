//! Links a second through a transport: sent in batches as workers send them, then read by a member that owns all shards.
//!
//! ```sh
//! eval "$(scripts/servers env)"
//! cargo run --profile quick -p argiope-cluster --example transport_rate -- postgres|kafka [LINKS] [SHARDS] [WRITERS]
//! ```

#![allow(clippy::print_stdout, reason = "a measurement for the terminal")]

mod scratch;

use argiope_cluster::database::Database;
use argiope_cluster::kafka::{Kafka, Topics};
use argiope_cluster::members::{Epochs, MemberOptions, Members, MessageSender, Outgoing, send};
use argiope_cluster::transport::Transport;
use argiope_frontier::member::MemberEvent;
use scratch::Failure;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What the links of one page to one shard may look like: a source and a handful of URLs.
const LINKS_PER_MESSAGE: u64 = 10;
/// Messages of one batch of completed pages: 400 pages with links to four shards each.
const MESSAGES_PER_BATCH: u64 = 1600;
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let mut numbers = words.map(|word| word.parse::<u64>());
    let mut number = |default: u64| numbers.next().unwrap_or(Ok(default));
    let (links, shards, writers) = (number(2_000_000)?, u16::try_from(number(64)?)?, number(1)?);
    let transport = match name.as_str() {
        "postgres" => Transport::Inbox,
        "kafka" => {
            let brokers = std::env::var("ARGIOPE_TEST_KAFKA")?;
            let topics = Topics { prefix: format!("rate-{}-", std::process::id()), shards };
            topics.init(&mut Kafka::new(&brokers)?)?;
            Transport::kafka(&brokers, topics)
        }
        _ => return Err("which transport? postgres or kafka".into()),
    };
    scratch::with_cluster("argiope_transport_rate", shards, |database| {
        let messages = links / LINKS_PER_MESSAGE / writers * writers;
        println!("{name}, {shards} shards, {writers} writers");
        write(database, &transport, shards, writers, messages / writers)?;
        read(database, transport, messages)
    })
}

/// So many messages of each writer.
fn write(
    database: &Database,
    transport: &Transport,
    shards: u16,
    writers: u64,
    each: u64,
) -> Result<(), Failure> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..writers)
            .map(|writer| {
                scope.spawn(move || -> Result<(), Failure> {
                    let mut session = database.connect(LIMIT)?;
                    let mut sender = MessageSender::new(transport, &format!("writer-{writer}"), "rate")?;
                    for begin in (0..each).step_by(usize::try_from(MESSAGES_PER_BATCH)?) {
                        let some = begin..(begin + MESSAGES_PER_BATCH).min(each);
                        let batch = some.map(|number| outgoing(writer * each + number, shards)).collect();
                        send(&mut session, &sender.prepare(batch)?)?;
                    }
                    Ok(())
                })
            })
            .collect();
        all.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a writer panicked")?)
    })?;
    report("written", each * writers, begun);
    Ok(())
}

fn read(database: &Database, transport: Transport, messages: u64) -> Result<(), Failure> {
    let (on_events, received) = channel();
    let on_events = Arc::new(move |events| {
        let _ = on_events.send(events);
    });
    let options = MemberOptions {
        worker: "reader".into(),
        owner: "reader#1".into(),
        lease: Duration::from_secs(15),
        renew_every: Duration::from_secs(5),
        notifier: None,
        transport,
    };
    let begun = Instant::now();
    let (_members, mut membership) =
        Members::join(database, options, Arc::new(Epochs::default()), on_events)?;
    let mut read = 0;
    while read < messages {
        for events in received.recv_timeout(LIMIT)? {
            if let MemberEvent::Delivery { shard, messages } = events
                && let Some((last, _)) = messages.last()
            {
                read += messages.len() as u64;
                membership.member.delivered(shard, *last);
            }
        }
    }
    report("read", read, begun);
    Ok(())
}

fn outgoing(number: u64, shards: u16) -> Outgoing {
    let mut text = format!("https://www.site-{}.example/articles/{number}\n", number % 997);
    for link in 0..LINKS_PER_MESSAGE {
        let target = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(link) >> 40;
        text.push_str(&format!(
            "https://other-{}.example/topics/{}/page-{target}.html\n",
            target % 5003,
            link % 7
        ));
    }
    let shard = u16::try_from(number % u64::from(shards)).unwrap_or(0);
    Outgoing { shard, job: 0, message: text.into_bytes() }
}

fn report(what: &str, messages: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    let links = (messages * LINKS_PER_MESSAGE) as f64;
    println!("{what}: {links:.0} links in {seconds:.2} s, {:.0} a second", links / seconds);
}
