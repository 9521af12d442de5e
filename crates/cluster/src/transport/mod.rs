//! The transport of discovered links: a durable log for each shard. Anyone who finds links for a shard appends to its
//! log, and only the shard's owner applies it.
//!
//! # Contract
//!
//! * When [`Log::append`] has returned, the messages are visible to every reader and survive every process. It returns
//!   their position: once the log of a shard is applied that far, all of them are. After an error some of them may be
//!   stored: they are appended again, and duplicates are harmless.
//! * Messages of a shard are read in the same order by everyone, every time, which is that of the appends of one
//!   writer. Offsets rise within a shard, the first is at least 1, and there may be gaps.
//! * Reading does not remove messages: the applied position of a log is stored with what was applied.
//! * A log may forget old messages. Reading forgotten ones returns [`ServerErrorKind::DataLost`], never the messages
//!   after them.
//! * No call waits for an unavailable server longer than it takes to detect it: that is
//!   [`ServerErrorKind::Unavailable`], and the next call tries again.
//!
//! [`ServerErrorKind::DataLost`]: crate::server_error::ServerErrorKind::DataLost
//! [`ServerErrorKind::Unavailable`]: crate::server_error::ServerErrorKind::Unavailable

mod configured;
mod kafka;
mod memory;

pub use configured::{Problems, Transport};
pub use kafka::KafkaLog;
pub use memory::MemoryLog;

use crate::server_error::Result;
use std::collections::BTreeMap;

/// The position of a message in the log of its shard. Zero is before the first.
pub type Offset = u64;

/// Messages of a shard, each with its offset.
pub type Messages = Vec<(Offset, Vec<u8>)>;

/// Each thread has its own.
pub trait Log: Send {
    /// Appends messages for shards, all of them or an error. Returns the offset of the last one for each shard.
    fn append(&mut self, messages: &[(u16, &[u8])]) -> Result<BTreeMap<u16, Offset>>;

    /// The messages after this offset, up to `max_bytes`; at least one, if there is one. None if there is nothing yet.
    fn read(&mut self, shard: u16, after: Offset, max_bytes: usize) -> Result<Messages>;

    /// The offset of the last message of each shard, in the order of the argument; zero if there never was one.
    fn ends(&mut self, shards: &[u16]) -> Result<Vec<Offset>>;
}
