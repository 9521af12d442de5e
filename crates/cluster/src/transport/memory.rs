//! The log in memory: for simulations, and as the reference of the contract.

use super::{Log, Messages, Offset};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones share one log.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    shards: Arc<Mutex<BTreeMap<u16, Shard>>>,
}

#[derive(Debug, Default)]
struct Shard {
    /// The number of forgotten messages.
    forgotten: u64,
    messages: VecDeque<Vec<u8>>,
}

impl MemoryLog {
    /// Forgets messages before this offset.
    pub fn forget_before(&self, shard: u16, offset: Offset) {
        let mut shards = self.lock();
        let shard = shards.entry(shard).or_default();
        while shard.forgotten + 1 < offset && shard.messages.pop_front().is_some() {
            shard.forgotten += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u16, Shard>> {
        // Messages are pushed whole.
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn append(&mut self, messages: &[(u16, &[u8])]) -> Result<BTreeMap<u16, Offset>> {
        let mut shards = self.lock();
        let mut last = BTreeMap::new();
        for (shard, message) in messages {
            let log = shards.entry(*shard).or_default();
            log.messages.push_back(message.to_vec());
            last.insert(*shard, log.forgotten + log.messages.len() as u64);
        }
        Ok(last)
    }

    fn read(&mut self, shard: u16, after: Offset, max_bytes: usize) -> Result<Messages> {
        let shards = self.lock();
        let empty = Shard::default();
        let log = shards.get(&shard).unwrap_or(&empty);
        let Some(skipped) = after.checked_sub(log.forgotten) else {
            let message = format!("messages {} to {} of shard {shard} are gone", after + 1, log.forgotten);
            return Err(ServerError::new(ServerErrorKind::DataLost, "memory", message));
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let first = (after + 1..).zip(log.messages.iter().skip(skipped)).take_while(|(offset, message)| {
            bytes += message.len();
            bytes <= max_bytes || *offset == after + 1
        });
        Ok(first.map(|(offset, message)| (offset, message.clone())).collect())
    }

    fn ends(&mut self, shards: &[u16]) -> Result<Vec<Offset>> {
        let logs = self.lock();
        let end = |shard| logs.get(shard).map_or(0, |log| log.forgotten + log.messages.len() as u64);
        Ok(shards.iter().map(end).collect())
    }
}
