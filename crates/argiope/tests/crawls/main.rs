//! The program itself, crawling a lab web that runs inside the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod audit;
mod certificates;
mod cuts;
mod demo;
mod descriptors;
mod desk;
mod duplicates;
mod export_files;
mod graph;
mod handover;
mod job_changes;
mod limits;
mod log;
mod network;
mod refusals;
mod reruns;
mod resources;
mod responses;
mod result_views;
mod results;
mod resuming;
mod retries;
mod running;
mod site;
mod sitemaps;
mod spellings;
mod unreachable;
mod waits;
mod why;
