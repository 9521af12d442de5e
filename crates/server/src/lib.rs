//! The HTTP face of [`argiope_service`]: one API. A handler parses, calls the service and renders; it decides nothing.
//!
//! The process that owns a data directory offers all of it on a Unix socket in that directory ([`SocketServer`]):
//! anyone who can open the socket can use it. A worker of a cluster offers health and metrics on a TCP port
//! ([`HealthServer`]).

mod api;
mod error;
mod health;
mod listener;
mod metrics;
mod server;

pub use health::VitalsSource;
pub use server::{HealthServer, SocketServer};
