//! Workers that share a crawl, in virtual time: they join, leave, die, hang for longer than their leases, lose sight of the
//! database, and lose shards to each other at any moment. Shards have leases with epochs, links travel in the shards' logs,
//! pages are granted from one budget.
//!
//! Checked all along: no URL is lost, none ends twice, no host is asked early as the host sees it, no two workers believe
//! to own one shard, no more pages are stored than the job may have, everything comes to an end, and shards are spread
//! evenly once calm returns. All of it follows from a seed; a failure names it, and `ARGIOPE_CLUSTER_SEED=n` replays it.
//! `ARGIOPE_CLUSTER_SEEDS=n` runs n seeds instead of a few.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "a test"
)]

mod fleet;

use fleet::{Fleet, Plan, Told};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Runs a plan for many seeds, or for the one that is to be looked at.
fn for_seeds(first: u64, usual: u64, plan: impl Fn(u64) -> Plan) -> Vec<Told> {
    if let Some(seed) = number("ARGIOPE_CLUSTER_SEED") {
        return vec![Fleet::run(plan(seed))];
    }
    let count = number("ARGIOPE_CLUSTER_SEEDS").unwrap_or(usual);
    (first..first + count).map(|seed| Fleet::run(plan(seed))).collect()
}

fn sum(all: &[Told], of: impl Fn(&Told) -> u64) -> u64 {
    all.iter().map(of).sum()
}

#[test]
fn a_calm_cluster_fetches_every_url_once() {
    let all = for_seeds(0, 5, Plan::calm);
    assert!(all.iter().all(|told| told.fetched_again == 0 && told.lost == 0), "{all:?}");
    assert!(sum(&all, |told| told.messages) > 0 && sum(&all, |told| told.handovers) > 0, "{all:?}");
    assert!(
        sum(&all, |told| told.robots_in_other_shards) > 0 && sum(&all, |told| told.redirects) > 0,
        "{all:?}"
    );
}

#[test]
fn nothing_goes_wrong_while_workers_come_and_go() {
    let all = for_seeds(1000, 25, Plan::troubled);
    assert!(sum(&all, |told| told.crashes) > 0 && sum(&all, |told| told.pauses) > 0, "{all:?}");
    assert!(sum(&all, |told| told.leaves) > 0 && sum(&all, |told| told.joins) > 0, "{all:?}");
    if all.len() > 10 {
        assert!(sum(&all, |told| told.lost) > 0 && sum(&all, |told| told.lapsed) > 0, "{all:?}");
        assert!(sum(&all, |told| told.unclean) > 0, "{all:?}");
    }
}

/// Messages are acknowledged before the transaction they belong to, and some come twice.
#[test]
fn nothing_goes_wrong_where_messages_are_sent_ahead_of_what_they_belong_to() {
    let all = for_seeds(2000, 25, |seed| Plan { sent_ahead: true, ..Plan::troubled(seed) });
    if all.len() > 10 {
        assert!(sum(&all, |told| told.sent_in_vain) > 0, "{all:?}");
    }
}

/// Requests are made before what led to them is durable.
#[test]
fn nothing_goes_wrong_where_writing_takes_its_time() {
    for_seeds(5000, 25, |seed| Plan { slow_writes: Some(400), ..Plan::troubled(seed) });
    let limited =
        |seed| Plan { slow_writes: Some(400), max_pages: Some(60 + seed % 100), ..Plan::troubled(seed) };
    for_seeds(6000, 25, limited);
}

/// A shard is taken from the dead and goes on to a third before anything is known of it.
#[test]
fn nothing_goes_wrong_where_shards_move_faster_than_they_are_read() {
    let all = for_seeds(7030, 30, |seed| Plan {
        hosts: 150,
        pages: 3,
        workers: 2,
        joins: 14,
        leaves: 0,
        crashes: 12,
        slow_writes: Some(5_000),
        slow_reads: true,
        delay: 40_000,
        trouble_for: 600_000,
        ..Plan::calm(seed)
    });
    assert!(sum(&all, |told| told.clean_after_kill) > 0, "{all:?}");
}

/// The database is away for longer than any lease, again and again, and nobody dies.
#[test]
fn an_outage_of_the_database_repeats_no_request() {
    let plan = |seed| Plan { workers: 3, joins: 0, outages: 3, ..Plan::calm(seed) };
    let all = for_seeds(8000, 25, plan);
    assert!(all.iter().all(|told| told.asked_again == 0 && told.fetched_again == 0), "{all:?}");
    assert!(all.iter().all(|told| told.lost == 0 && told.unclean == 0), "{all:?}");
    assert!(sum(&all, |told| told.lapsed) > 0, "{all:?}");
    let slow = |seed| Plan { slow_writes: Some(400), ..plan(seed) };
    let all = for_seeds(8500, 25, slow);
    assert!(all.iter().all(|told| told.asked_again <= told.at_risk && told.unclean == 0), "{all:?}");
    let ahead = |seed| Plan { sent_ahead: true, max_pages: Some(120), ..plan(seed) };
    let all = for_seeds(8700, 25, ahead);
    assert!(all.iter().all(|told| told.asked_again <= told.at_risk && told.unclean == 0), "{all:?}");
}

/// All machines sleep at once, and wake one after the other.
#[test]
fn workers_stopped_for_longer_than_their_leases_resume_shards_that_nobody_took() {
    let all = for_seeds(9000, 25, |seed| Plan { workers: 3, joins: 0, suspensions: 2, ..Plan::calm(seed) });
    assert!(all.iter().all(|told| told.lost == 0 && told.unclean == 0), "{all:?}");
    assert!(sum(&all, |told| told.lapsed) > 0, "{all:?}");
    // What was under way when they were stopped, and had no answer when they woke, is all that is asked for again.
    assert!(all.iter().all(|told| told.asked_again <= told.at_risk), "{all:?}");
}

/// A worker dies while the database is away: what it had in flight is all that is asked for again.
#[test]
fn a_death_in_an_outage_repeats_what_was_in_flight_and_no_more() {
    let all =
        for_seeds(9500, 25, |seed| Plan { workers: 4, joins: 0, outages: 3, crashes: 2, ..Plan::calm(seed) });
    assert!(sum(&all, |told| told.crashes) > 0 && sum(&all, |told| told.outages) > 0, "{all:?}");
    assert!(sum(&all, |told| told.asked_again) > 0, "{all:?}");
    assert!(all.iter().all(|told| told.asked_again <= told.at_risk), "{all:?}");
}

#[test]
fn no_more_pages_are_stored_than_a_job_may_have() {
    for_seeds(3000, 25, |seed| Plan { max_pages: Some(60 + seed % 100), ..Plan::troubled(seed) });
}

#[test]
fn a_budget_is_used_up_where_nothing_goes_wrong() {
    for told in for_seeds(4000, 5, |seed| Plan { max_pages: Some(100), ..Plan::calm(seed) }) {
        assert_eq!(told.pages, 100, "{told:?}");
    }
}
