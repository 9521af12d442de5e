//! PostgreSQL: where it is, how it is spoken to, what is in it.
//!
//! A [`Database`] is a place; a [`Session`] is one connection to it, used by one thread. Whoever needs another one, or one
//! again after it broke, asks the place. [`Cluster`] is what was fixed when the schema was made.

mod address;
mod cells;
mod channel_binding;
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

/// Of a request of a worker, and of each of its tries.
pub const LIMIT: std::time::Duration = std::time::Duration::from_secs(5);
/// Of what moves thousands of rows at once, and may wait for others that do: a batch, a shard that is taken over.
pub const BATCH_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);

/// The setting that every error about the database names.
pub const SETTING: &str = "storage.metadata_db_url";
