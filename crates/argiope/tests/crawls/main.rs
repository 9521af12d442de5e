//! The program itself, crawling a lab web that runs inside the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod answers;
mod audit;
mod certificates;
mod cuts;
mod demo;
mod descriptors;
mod desk;
mod going_on;
mod graph;
mod handing_in;
mod limits;
mod log;
mod looking;
mod manners;
mod network;
mod reruns;
mod resources;
mod results;
mod retries;
mod running;
mod site;
mod sitemaps;
mod spellings;
mod unreachable;
mod waits;
mod why;
