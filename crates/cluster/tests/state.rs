//! The frontier's state in PostgreSQL keeps the contract of its port.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use argiope_cluster::database::{Cluster, Database, Expected, NewCluster, Transport};
use argiope_cluster::members::Epochs;
use argiope_cluster::state::PostgresState;
use argiope_frontier::contract;
use std::process::Command;
use std::sync::Arc;

/// A database of its own; None where this run has no server.
struct Scratch {
    server: String,
    name: String,
    database: Database,
    url: String,
}

impl Scratch {
    fn new(name: &str) -> Option<Scratch> {
        let Ok(server) = std::env::var("ARGIOPE_TEST_POSTGRES") else {
            eprintln!("ARGIOPE_TEST_POSTGRES is not set: nothing is tested");
            return None;
        };
        let name = format!("argiope_{name}_{}", std::process::id());
        psql(&server, &format!("CREATE DATABASE {name}"));
        let url = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
        let database = Database::at(&url).unwrap();
        let new = NewCluster {
            name: "test".into(),
            shards: 64,
            transport: Transport::Postgres,
            fingerprint_key: [7; 16],
            public_suffixes: "com\n".into(),
        };
        Cluster::init(&database, &Expected::default(), &new).unwrap();
        Some(Scratch { server, name, database, url })
    }

    fn clear(&self) {
        let tables = "urls, seen, frontier_hosts, frontier_jobs, frontier_robots, frontier_marks, inbox";
        psql(
            &self.url,
            &format!("TRUNCATE {tables}; UPDATE shards SET applied = 0; UPDATE inbox_counters SET sent = 0"),
        );
    }

    fn state(&self) -> PostgresState {
        let epochs = Epochs::default();
        (0..64).for_each(|shard| epochs.insert(shard, 0));
        PostgresState::open(&self.database, "one", Arc::new(epochs), None).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        psql(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

fn psql(address: &str, text: &str) {
    let output = Command::new("psql").args(["-X", "-q", "-d", address, "-c", text]).output().expect("psql");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_state_keeps_the_contract_on_postgres() {
    let Some(scratch) = Scratch::new("state") else { return };
    contract::shard_state(&mut || {
        scratch.clear();
        scratch.state()
    });
}

#[test]
fn the_state_survives_reopening_on_postgres() {
    let Some(scratch) = Scratch::new("reopening") else { return };
    contract::survives_reopening(&mut || scratch.state());
}
