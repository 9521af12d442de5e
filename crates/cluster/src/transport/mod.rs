//! The transport of discovered links: a durable log for each shard. Whoever found links for a shard appends to its log,
//! and only the shard's owner applies it.
//!
//! # Contract
//!
//! * What [`Log::append`] has returned from is there for every reader, and outlives every process. It tells where: once the
//!   log of a shard is applied that far, all of it is. After an error some of it may be there: it is appended again, and the
//!   reader takes no harm from what comes twice.
//! * Messages of a shard are read in one order, by everyone and every time, which is that of the appends of one writer.
//!   Offsets rise within a shard, the first is 1 at least, and there may be gaps.
//! * What is read is not removed: how far a log is applied is stored with what was applied.
//! * A log may forget what is old. Asked for what it has forgotten, it gives [`ServerErrorKind::DataLost`], never what comes after.
//! * Nothing waits for a server that is away longer than it takes to know it: that is [`ServerErrorKind::Unavailable`], and the next
//!   call tries again.
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

/// Where a message is in the log of its shard. Zero is before the first.
pub type Offset = u64;

/// Messages of a shard, each with its offset.
pub type Messages = Vec<(Offset, Vec<u8>)>;

/// Each thread has its own.
pub trait Log: Send {
    /// Messages for shards, all of them or an error. Gives the offset of the last one of each shard.
    fn append(&mut self, messages: &[(u16, &[u8])]) -> Result<BTreeMap<u16, Offset>>;

    /// The messages after this offset, until there are `max_bytes` of them; one at least, if there is one. None if there
    /// is nothing yet.
    fn read(&mut self, shard: u16, after: Offset, max_bytes: usize) -> Result<Messages>;

    /// The offset of the last message of each shard, in the order asked; zero where there never was one.
    fn ends(&mut self, shards: &[u16]) -> Result<Vec<Offset>>;
}
