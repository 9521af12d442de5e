//! Adapters of the ports for many machines: what `local` stores on a disk is stored on servers that all workers share.
//!
//! [`database`] connects to PostgreSQL, which stores everything that must last. [`redis`] stores what may be lost at
//! any moment. [`kafka`] carries links and results if it is used. [`objects`] stores the archive, [`search`] connects to
//! Elasticsearch or OpenSearch. No adapter exposes the types of its client.

pub mod autoscale;
pub mod background;
mod breaker;
pub mod catalogue;
pub mod database;
mod http;
pub mod kafka;
pub mod members;
pub mod objects;
pub mod publishing;
pub mod receiving;
pub mod redis;
pub mod search;
pub mod server_error;
pub mod state;
mod tls;
pub mod transport;
