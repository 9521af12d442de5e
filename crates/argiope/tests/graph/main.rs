//! The graph of hosts, crawled by the program itself from a small web of made-up hosts.

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

mod atlas;
mod failing;
mod limits;
mod recording;
mod resuming;
mod settings;
mod web;
