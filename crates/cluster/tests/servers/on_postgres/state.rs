//! The frontier's state keeps the contract of its port.

use super::scratch::{Scratch, new_cluster};
use argiope_cluster::database::{Cluster, Expected};
use argiope_cluster::members::{Epochs, MessageSender};
use argiope_cluster::redis::{Redis, RobotsCache};
use argiope_cluster::state::PostgresState;
use argiope_cluster::transport::Transport;
use argiope_frontier::contract;
use argiope_frontier::state::{Change, ShardState, StateBatch, StoredRobots};
use argiope_lab::TestServer;
use argiope_model::Millis;
use std::sync::Arc;

fn with_all_shards() -> Option<Scratch> {
    let scratch = Scratch::new()?;
    Cluster::init(&scratch.database(), &Expected::default(), &new_cluster(64)).unwrap();
    Some(scratch)
}

fn clear(scratch: &Scratch) {
    let tables = "urls, seen, frontier_hosts, frontier_jobs, frontier_robots, frontier_marks, inbox";
    scratch.ask(&format!(
        "TRUNCATE {tables}; UPDATE shards SET applied = 0; UPDATE inbox_counters SET sent = 0"
    ));
}

fn state(scratch: &Scratch) -> PostgresState {
    let epochs = Epochs::default();
    (0..64).for_each(|shard| epochs.insert(shard, 0));
    let sender = MessageSender::new(&Transport::Inbox, "one", "test").unwrap();
    PostgresState::open(&scratch.database(), "one", Arc::new(epochs), sender, None).unwrap()
}

#[test]
fn the_state_keeps_the_contract() {
    let Some(scratch) = with_all_shards() else { return };
    contract::shard_state(&mut || {
        clear(&scratch);
        state(&scratch)
    });
}

#[test]
fn the_state_survives_reopening() {
    let Some(scratch) = with_all_shards() else { return };
    contract::survives_reopening(&mut || state(&scratch));
}

#[test]
fn a_robots_txt_that_the_database_lost_is_found_and_the_database_is_believed_first_on_redis() {
    let (Some(url), Some(scratch)) = (TestServer::Redis.address(), with_all_shards()) else { return };
    let redis = Redis::new(&url, &scratch.url()).unwrap();
    let cached =
        || state(&scratch).with_robots_cache(Some(RobotsCache::start(redis.with_own_connection()).unwrap()));
    let robots = |body: &str| StoredRobots {
        fetched_at: Millis(1_000),
        expires: Millis(61_000),
        status: 200,
        body: body.as_bytes().into(),
    };
    let origin = "https://a.test";
    {
        let mut state = cached();
        let change = Change::Robots { shard: 1, origin: origin.into(), stored: robots("kept") };
        state.apply(StateBatch { changes: vec![change], marks: Vec::new() }).unwrap();
        state.sync().unwrap();
    }
    // With the state its cache has ended, and with that what was to be kept is.
    assert_eq!(redis.robots(origin).unwrap(), Some(robots("kept")));
    redis.put_robots(origin, &robots("of others"), Millis(1_000)).unwrap();
    assert_eq!(cached().load_robots(origin).unwrap(), Some(robots("kept")));
    scratch.ask("TRUNCATE frontier_robots");
    assert_eq!(cached().load_robots(origin).unwrap(), Some(robots("of others")));
    assert_eq!(state(&scratch).load_robots(origin).unwrap(), None);
    assert_eq!(cached().load_robots("https://b.test").unwrap(), None);
    // Nobody is there: a cache that misses.
    let nobody = Redis::new("redis://127.0.0.1:9/0", "x").unwrap();
    let lonely = state(&scratch).with_robots_cache(Some(RobotsCache::start(nobody).unwrap()));
    assert_eq!(lonely.load_robots(origin).unwrap(), None);
}
