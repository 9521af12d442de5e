//! The adapters on real servers. Tests of a server are in a module of its name (see CONTRIBUTING.md).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod on_postgres;
