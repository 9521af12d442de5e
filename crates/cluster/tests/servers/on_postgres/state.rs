//! The frontier's state keeps the contract of its port.

use super::scratch::{Scratch, new_cluster};
use argiope_cluster::database::{Cluster, Expected};
use argiope_cluster::members::Epochs;
use argiope_cluster::state::PostgresState;
use argiope_frontier::contract;
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
    PostgresState::open(&scratch.database(), "one", Arc::new(epochs), None).unwrap()
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
