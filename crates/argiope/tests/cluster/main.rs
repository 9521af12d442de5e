//! The cluster with real servers and real processes.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod listening;
mod on_postgres;
mod scenarios;
mod site;
mod store;
