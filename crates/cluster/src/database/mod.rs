//! PostgreSQL: its address, its connections, its contents.
//!
//! A [`Database`] is an address; a [`Session`] is one connection to it, used by one thread. For another connection, or
//! a new one after a failure, ask the address. [`Cluster`] is what was fixed when the schema was created.

mod address;
mod cells;
mod cluster;
mod connection;
mod copy;
mod encryption;
mod error;
mod migrations;
mod once;
mod partitions;
mod session;

pub use address::Database;
pub use cluster::{Cluster, Expected, NewCluster, TransportKind};
pub use error::{DatabaseError, DatabaseErrorKind, Result};
pub use session::Session;

pub(crate) use cells::{Cells, Time, storable};
pub(crate) use connection::{Answer, Connection, Parameters};
pub(crate) use copy::Rows;
pub(crate) use once::{Copy, Staged, Writer};
pub(crate) use partitions::{Partitions, month_of};

/// For a request of a worker, and each of its attempts.
pub const LIMIT: std::time::Duration = std::time::Duration::from_secs(5);
/// For operations on thousands of rows, which may wait for others: a batch, taking over a shard.
pub const BATCH_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);

/// The setting that every database error names.
pub const SETTING: &str = "storage.metadata_db_url";
