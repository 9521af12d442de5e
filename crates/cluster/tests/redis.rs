//! Redis: notifications, the robots.txt cache and live figures; and that outages are detected, short and harmless.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod private_set;

use argiope_cluster::redis::{NotifierEvent, Redis, ShardNotifier, WorkerFigures};
use argiope_cluster::server_error::ServerErrorKind;
use argiope_frontier::state::StoredRobots;
use argiope_lab::TestServer;
use argiope_model::Millis;
use private_set::{PrivateSet, eventually, unique};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SERVER: TestServer = TestServer::Redis;

fn shared(name: &str) -> Option<Redis> {
    Some(Redis::new(&SERVER.address()?, &unique(name)).unwrap())
}

/// Of a private set.
fn on(set: &PrivateSet) -> Redis {
    Redis::new(set.address(SERVER), "crawler").unwrap()
}

fn listening_notifier(redis: &Redis) -> (ShardNotifier, Receiver<NotifierEvent>) {
    let (sender, events) = channel();
    let notifier = ShardNotifier::start(redis, Box::new(move |what| drop(sender.send(what)))).unwrap();
    (notifier, events)
}

/// Waits until these have been rung, whatever else is sender.
fn expect_notified(events: &Receiver<NotifierEvent>, shards: &[u16]) {
    let mut missing: BTreeSet<u16> = shards.iter().copied().collect();
    while !missing.is_empty() {
        match events.recv_timeout(Duration::from_secs(60)) {
            Ok(NotifierEvent::Notified(rung)) => missing.retain(|shard| !rung.contains(shard)),
            Ok(_) => {}
            Err(error) => panic!("{missing:?} not rung: {error}"),
        }
    }
}

fn expect_event(events: &Receiver<NotifierEvent>, wanted: &NotifierEvent) {
    while events.recv_timeout(Duration::from_secs(60)).unwrap() != *wanted {}
}

fn robots(text: &str) -> StoredRobots {
    StoredRobots {
        fetched_at: Millis(1000),
        expires: Millis(61_000),
        status: 200,
        body: text.as_bytes().into(),
    }
}

#[test]
fn a_ring_is_heard_by_the_owner_of_the_shard_on_redis() {
    let Some(redis) = shared("ring") else { return };
    let (one, first) = listening_notifier(&redis);
    let (two, second) = listening_notifier(&redis);
    one.listen_to([1, 2]);
    two.listen_to([3]);
    expect_notified(&first, &[1, 2]);
    expect_notified(&second, &[3]);
    // Each was rung once when it was taken over; from here on rings come from the others.
    two.notify(2);
    two.notify(1);
    expect_notified(&first, &[1, 2]);
    one.notify(3);
    expect_notified(&second, &[3]);
    assert!(first.try_recv().is_err());
    one.listen_to([2, 3]);
    two.listen_to([1]);
    expect_notified(&first, &[3]);
    expect_notified(&second, &[1]);
    two.notify(3);
    expect_notified(&first, &[3]);
}

#[test]
fn a_worker_does_not_hear_other_shards_on_redis() {
    let Some(redis) = shared("others") else { return };
    let (notifier, events) = listening_notifier(&redis);
    notifier.listen_to([7]);
    expect_notified(&events, &[7]);
    for shard in 0..64 {
        notifier.notify(shard);
    }
    assert_eq!(events.recv_timeout(Duration::from_secs(60)).unwrap(), NotifierEvent::Notified(vec![7]));
    notifier.notify(7);
    assert_eq!(events.recv_timeout(Duration::from_secs(60)).unwrap(), NotifierEvent::Notified(vec![7]));
}

#[test]
fn clusters_with_prefixes_of_their_own_do_not_meet_on_redis() {
    let (Some(ours), Some(theirs)) = (shared("ours"), shared("theirs")) else { return };
    ours.put_robots("https://example.com", &robots("a"), Millis(1000)).unwrap();
    assert_eq!(theirs.robots("https://example.com").unwrap(), None);
    ours.report(&WorkerFigures { name: String::from("w"), ..WorkerFigures::default() }).unwrap();
    assert_eq!(theirs.workers(Millis(0)).unwrap(), []);
}

#[test]
fn robots_are_kept_until_they_expire_on_redis() {
    let Some(redis) = shared("robots") else { return };
    let origin = "https://example.com:8443";
    assert_eq!(redis.robots(origin).unwrap(), None);
    redis.put_robots(origin, &robots("Disallow: /"), Millis(1000)).unwrap();
    assert_eq!(redis.robots(origin).unwrap(), Some(robots("Disallow: /")));
    redis.put_robots(origin, &robots(""), Millis(1000)).unwrap();
    assert_eq!(redis.robots(origin).unwrap(), Some(robots("")));
    redis.put_robots("http://late", &robots("x"), Millis(61_000)).unwrap();
    assert_eq!(redis.robots("http://late").unwrap(), None, "expired when it came");
    redis.put_robots("http://soon", &robots("x"), Millis(60_900)).unwrap();
    eventually("it expires", || redis.robots("http://soon").unwrap().is_none().then_some(()));
}

#[test]
fn workers_are_shown_while_they_report_on_redis() {
    let Some(redis) = shared("workers") else { return };
    let figures = |name: &str, at: u64| WorkerFigures {
        name: name.into(),
        state: String::from("active"),
        current_url: Some(String::from("https://example.com/")),
        shards: 3,
        pages: 12,
        pages_per_second: 1.5,
        reported_at: Millis(at),
        ..WorkerFigures::default()
    };
    let minute = 60_000;
    redis.report(&figures("b", 10 * minute)).unwrap();
    redis.report(&figures("a", 11 * minute)).unwrap();
    assert_eq!(
        redis.workers(Millis(11 * minute)).unwrap(),
        [figures("a", 11 * minute), figures("b", 10 * minute)]
    );
    redis.report(&figures("a", 13 * minute)).unwrap();
    assert_eq!(redis.workers(Millis(13 * minute)).unwrap(), [figures("a", 13 * minute)], "b is silent");
    redis.remove_worker("a").unwrap();
    assert_eq!(redis.workers(Millis(13 * minute)).unwrap(), []);
}

#[test]
fn an_address_that_is_none_names_the_setting() {
    for url in ["", "127.0.0.1:6379", "http://127.0.0.1/"] {
        let error = Redis::new(url, "crawler").err().unwrap();
        assert_eq!(error.kind, ServerErrorKind::Misconfigured, "{url}");
        assert!(error.to_string().starts_with("storage.cache_url: "), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_left_alone_after_a_few_tries() {
    // Bound and closed again: no listener.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let redis = Redis::new(&format!("redis://127.0.0.1:{port}/0"), "crawler").unwrap();
    let first = redis.ping().unwrap_err();
    assert_eq!(first.kind, ServerErrorKind::Unavailable);
    assert!(first.to_string().starts_with("storage.cache_url: Redis is unreachable"), "{first}");
    let texts: Vec<String> = (0..3).map(|_| redis.ping().unwrap_err().to_string()).collect();
    assert!(texts.last().unwrap().contains("pausing before the next attempt"), "{texts:?}");
}

#[test]
fn an_operation_is_tried_four_times_and_after_five_failures_none_is() {
    // It takes connections and ends them.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (counts, counted) = channel();
    std::thread::spawn(move || listener.incoming().for_each(|stream| counts.send(stream.is_ok()).unwrap()));
    let redis = Redis::new(&format!("redis://127.0.0.1:{port}/0"), "crawler").unwrap();
    let tries = || {
        assert_eq!(redis.ping().unwrap_err().kind, ServerErrorKind::Unavailable);
        counted.try_iter().count()
    };
    assert_eq!([tries(), tries(), tries()], [4, 1, 0]);
}

#[test]
fn a_wrong_password_is_told_from_a_server_that_is_away_on_redis() {
    let Some(url) = SERVER.address() else { return };
    let place = url.rsplit('@').next().unwrap();
    for url in [format!("redis://default:wrong@{place}"), format!("redis://{place}")] {
        let error = Redis::new(&url, "crawler").unwrap().ping().unwrap_err();
        assert_eq!(error.kind, ServerErrorKind::AccessDenied, "{error}");
        assert!(error.to_string().contains("password"), "{error}");
    }
}

#[test]
fn an_outage_is_told_and_ends_by_itself_on_redis() {
    let Some(set) = PrivateSet::start(SERVER) else { return };
    let redis = on(&set);
    let (notifier, events) = listening_notifier(&redis);
    notifier.listen_to([1, 2]);
    expect_notified(&events, &[1, 2]);
    set.script(&["stop", "redis"]);
    expect_event(&events, &NotifierEvent::Disconnected);
    assert_eq!(redis.robots("http://a").unwrap_err().kind, ServerErrorKind::Unavailable);
    notifier.notify(1);
    set.script(&["start", "redis"]);
    expect_event(&events, &NotifierEvent::Connected);
    // Rings may have been lost: all that is owned is rung.
    assert_eq!(events.recv_timeout(Duration::from_secs(60)).unwrap(), NotifierEvent::Notified(vec![1, 2]));
    eventually("the link is back", || redis.put_robots("http://a", &robots("x"), Millis(1000)).ok());
    notifier.notify(2);
    expect_notified(&events, &[2]);
}

#[test]
fn a_hanging_server_does_not_block_callers_on_redis() {
    let Some(set) = PrivateSet::start(SERVER) else { return };
    let redis = on(&set);
    let (notifier, events) = listening_notifier(&redis);
    notifier.listen_to([1]);
    expect_notified(&events, &[1]);
    set.script(&["pause", "redis"]);
    let mut answered = 0;
    let begun = Instant::now();
    // Were each of them to wait for its own limit, this would take hours.
    for _ in 0..100_000 {
        answered += usize::from(redis.robots("http://a").is_ok());
        notifier.notify(1);
    }
    eprintln!("100,000 operations on a hanging server took {:?}", begun.elapsed());
    assert_eq!(answered, 0);
    expect_event(&events, &NotifierEvent::Disconnected);
    set.script(&["resume", "redis"]);
    expect_event(&events, &NotifierEvent::Connected);
    expect_notified(&events, &[1]);
    eventually("the link is back", || redis.robots("http://a").ok());
}

#[test]
fn a_wiped_server_is_a_cache_that_misses_on_redis() {
    let Some(set) = PrivateSet::start(SERVER) else { return };
    let redis = on(&set);
    let (notifier, events) = listening_notifier(&redis);
    notifier.listen_to([5]);
    expect_notified(&events, &[5]);
    redis.put_robots("http://a", &robots("x"), Millis(1000)).unwrap();
    let figures = WorkerFigures { name: String::from("w"), ..WorkerFigures::default() };
    redis.report(&figures).unwrap();
    set.script(&["wipe", "redis"]);
    assert_eq!(redis.robots("http://a").unwrap(), None);
    assert_eq!(redis.workers(Millis(0)).unwrap(), []);
    redis.report(&figures).unwrap();
    assert_eq!(redis.workers(Millis(0)).unwrap(), [figures]);
    notifier.notify(5);
    expect_notified(&events, &[5]);
}

#[test]
fn a_notifier_without_a_server_ends_when_it_is_dropped() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let redis = Redis::new(&format!("redis://127.0.0.1:{port}/0"), "crawler").unwrap();
    let (notifier, events) = listening_notifier(&redis);
    notifier.listen_to([1]);
    notifier.notify(1);
    expect_event(&events, &NotifierEvent::Disconnected);
    drop(notifier);
    assert!(events.recv().is_err(), "both threads are gone");
}
