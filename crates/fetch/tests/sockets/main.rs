//! The fetcher and the resolver against real sockets on 127.0.0.1, with servers written by hand so that they can
//! misbehave. One test binary, to be linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

mod connections;
mod dns;
mod failures;
mod heads;
mod limits;
mod proxy;
mod server;
mod tls;
