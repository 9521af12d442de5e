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
mod demo;
mod desk;
mod going_on;
mod graph;
mod limits;
mod log;
mod manners;
mod results;
mod running;
mod site;
mod sitemaps;
mod waits;
mod why;
