//! Crawls of the lab web by the program itself, held against what the lab knows to be right and what its access log
//! says was asked for.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

#[path = "../crawls/desk.rs"]
#[allow(dead_code, reason = "shared with the suite beside this one, which uses the rest")]
mod desk;
#[path = "../program/mod.rs"]
#[allow(dead_code, reason = "shared with the suites of the command line, which use the rest")]
mod program;

mod addresses;
mod connections;
mod jobs;
mod mixed;
mod names;
mod network;
mod politeness;
mod presenting;
mod scope;
mod side_by_side;
mod spellings;
mod transport;
mod traps;

/// Nobody is asked in haste, and nothing is waited for longer than a test has time for.
const BRISK: &str = "\
crawl:
  timeout: 1s
politeness:
  default_delay: 20ms
  adaptive: false
  breaker: false
  retries:
    busy: {times: 3, after: 100ms, growth: 1}
    server_error: {times: 1, after: 100ms}
    no_answer: {times: 1, after: 100ms}
    jitter: 0
  robots:
    retry_after: [100ms, 200ms]
    timeout: 1s
";
