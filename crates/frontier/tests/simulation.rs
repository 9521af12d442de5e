//! Weeks of crawling in under a minute: the frontier against a world that answers, fails, redirects, goes away and
//! comes back, with a clock that jumps from event to event and a process that is killed again and again.
//!
//! Checked continuously: no URL is lost, none is completed twice, no host is requested too early, no host and no job
//! starves, priorities are kept. The world is generated from a seed, which a failure prints.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "a test"
)]

mod world;

use std::sync::Mutex;
use world::{Plan, Simulation};

/// Small and quick, with every kind of trouble: many seeds.
#[test]
fn nothing_goes_wrong_in_many_small_worlds() {
    for seed in 0..30 {
        let plan = Plan { hosts: 60, pages_per_host: 40, crashes: 12, ..Plan::small(seed) };
        let told = Simulation::run(&plan);
        assert!(told.crashes == 12, "seed {seed}: {told:?}");
        assert!(told.refused > 0 && told.retries > 0 && told.redirects > 0, "seed {seed}: {told:?}");
    }
}

#[test]
fn a_network_that_goes_away_fails_no_url() {
    for seed in 100..110 {
        let plan = Plan {
            hosts: 300,
            longest_delay: 5,
            concurrency: 300,
            network_outages: 3,
            failing_hosts: false,
            crashes: 2,
            ..Plan::small(seed)
        };
        let told = Simulation::run(&plan);
        assert!(told.put_back > 0, "seed {seed}: {told:?}");
        assert_eq!(told.failed, 0, "seed {seed}: {told:?}");
    }
}

/// The long haul: 10 million fetches over 100,000 hosts and several weeks. Hosts are divided among owners as shards are:
/// each has a frontier and a state of its own, so that all cores of the machine take part.
#[test]
fn ten_million_fetches_over_several_weeks() {
    const OWNERS: u32 = 16;
    let seeds: Mutex<Vec<u64>> = Mutex::new((7..7 + u64::from(OWNERS)).collect());
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(OWNERS as usize);
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = seeds.lock().unwrap().pop();
                    let Some(seed) = seed else { return };
                    let told = Simulation::run(&Plan::long_haul(seed, OWNERS));
                    all.lock().unwrap().push(told);
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    let fetches: u64 = all.iter().map(|told| told.fetches).sum();
    assert_eq!(all.len(), OWNERS as usize);
    assert!(fetches >= 10_000_000, "{all:?}");
    assert!(all.iter().all(|told| told.days >= 21.0 && told.crashes == 6), "{all:?}");
    println!("{fetches} fetches: {all:?}");
}
