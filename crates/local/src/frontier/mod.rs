//! The frontier's state in fjall: all shards of a machine in one database with one journal, so that a crash loses the
//! last batches, never one in the middle.
//!
//! Keys are big-endian, so that they sort in queue order (see [`keys`]). fjall reads slowly over removed entries, so
//! every load starts at the position that the frontier remembers for that queue.

mod keys;

use argiope_frontier::queue::{Entry, OrderKey};
use argiope_frontier::state::{
    Change, Delayed, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync, StoredRobots,
};
use argiope_model::{Fingerprint, JobId, Millis};
use fjall::config::{BlockSizePolicy, CompressionPolicy, FilterPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The prefix of a mark's name.
const MARK: &[u8] = b"mark/";
/// The prefix of a shard's number: how far its log is applied.
const RECEIVED: &[u8] = b"received/";
const SEEN_SEQUENCE: &[u8] = b"seen_sequence";

/// Entries removed at once when a job is forgotten.
const FORGET_BATCH: usize = 10_000;

/// fjall panics with fewer.
const LEAST_FILES: usize = 10;
/// Its default on Linux.
const MOST_FILES: usize = 900;

pub struct FjallState {
    database: Database,
    queue: Keyspace,
    delayed: Keyspace,
    hosts: Keyspace,
    jobs: Keyspace,
    robots: Keyspace,
    seen: Keyspace,
    meta: Keyspace,
    seen_sequence: u64,
}

impl FjallState {
    pub fn open(directory: &Path) -> Result<FjallState, StateError> {
        FjallState::open_with_files(directory, MOST_FILES)
    }

    /// Keeps at most `files` table files open in addition to those being read or written.
    pub fn open_with_files(directory: &Path, files: usize) -> Result<FjallState, StateError> {
        let builder = Database::builder(directory)
            .cache_size(64 << 20)
            .max_cached_files(Some(files.clamp(LEAST_FILES, MOST_FILES)))
            .manual_journal_persist(true)
            // All of it is read when the database opens after a kill.
            .max_journaling_size(256 << 20)
            // With several threads, one spins while another compacts, and takes a core from the crawl.
            .worker_threads(1);
        // Garbage in its journal makes the store panic instead of returning an error.
        let database = catch_unwind(AssertUnwindSafe(|| builder.open()))
            .map_err(|_| StateError::Corrupt(String::from("its journal cannot be read")))?
            .map_err(unopened)?;
        let plain = || KeyspaceCreateOptions::default().max_memtable_size(16 << 20);
        // Read in ranges only, so filters for single keys would be useless.
        let ranges = || plain().filter_policy(FilterPolicy::disabled());
        // Most writes go here. With more than four full tables in memory fjall blocks the writer; at a hundred thousand
        // new URLs a second another one fills in two seconds.
        let queues = || ranges().max_memtable_size(32 << 20);
        let log = || {
            // Read once, at start, from end to end; fingerprints do not compress.
            ranges()
                .data_block_size_policy(BlockSizePolicy::all(64 << 10))
                .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
        };
        let open = |name: &str| database.keyspace(name, plain).map_err(unopened);
        let queue = database.keyspace("queue", queues).map_err(unopened)?;
        let delayed = database.keyspace("delayed", ranges).map_err(unopened)?;
        let hosts = database.keyspace("hosts", ranges).map_err(unopened)?;
        let jobs = open("jobs")?;
        let robots = open("robots")?;
        let seen = database.keyspace("seen", log).map_err(unopened)?;
        let meta = open("meta")?;
        let seen_sequence = read_number(&meta, SEEN_SEQUENCE)?;
        Ok(FjallState { queue, delayed, hosts, jobs, robots, seen, meta, seen_sequence, database })
    }

    fn change(&self, batch: &mut OwnedWriteBatch, change: &Change) {
        match change {
            Change::Queue { at, entry } => {
                batch.insert(&self.queue, keys::queue(*at, entry.order).as_slice(), &*entry.value);
            }
            Change::Unqueue { at, order } => batch.remove(&self.queue, keys::queue(*at, *order).as_slice()),
            Change::Delay(Delayed { due, at, entry }) => {
                batch.insert(&self.delayed, keys::delayed(*due, *at, entry.order).as_slice(), &*entry.value);
            }
            Change::Undelay { due, at, order } => {
                batch.remove(&self.delayed, keys::delayed(*due, *at, *order).as_slice());
            }
            Change::Host { key, record } => {
                batch.insert(&self.hosts, keys::host(*key).as_slice(), record.as_slice());
            }
            Change::Job { job, shard, record } => {
                batch.insert(&self.jobs, keys::job(*job, *shard).as_slice(), record.as_slice());
            }
            Change::Received { shard, offset } => {
                let key = [RECEIVED, &shard.to_be_bytes()].concat();
                batch.insert(&self.meta, key, offset.to_be_bytes().as_slice());
            }
            Change::Robots { origin, stored, .. } => {
                batch.insert(&self.robots, origin.as_bytes(), keys::encode_robots(stored));
            }
            Change::Seen { .. } | Change::ForgetJob(_) | Change::Send { .. } | Change::Blocked { .. } => {}
        }
    }

    /// The fingerprints of a batch, as one entry per job and shard.
    fn log_seen(&mut self, batch: &mut OwnedWriteBatch, changes: &[Change]) {
        let mut logs: BTreeMap<(JobId, u16), Vec<u8>> = BTreeMap::new();
        for change in changes {
            if let Change::Seen { job, shard, fingerprints } = change {
                let log = logs.entry((*job, *shard)).or_default();
                log.extend(fingerprints.iter().flat_map(|fingerprint| fingerprint.0.to_le_bytes()));
            }
        }
        if logs.is_empty() {
            return;
        }
        for ((job, shard), log) in logs {
            batch.insert(&self.seen, keys::seen(job, shard, self.seen_sequence).as_slice(), log);
            self.seen_sequence += 1;
        }
        batch.insert(&self.meta, SEEN_SEQUENCE, self.seen_sequence.to_be_bytes().as_slice());
    }

    fn tell_seen(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError> {
        for found in self.seen.prefix(job.0.to_be_bytes()) {
            let (key, value) = found.into_inner().map_err(failed)?;
            let shard = keys::shard_of_seen(&key).ok_or_else(|| corrupt("seen", &key))?;
            if shards.contains(shard) {
                let (words, _) = value.as_chunks::<8>();
                into.seen(job, shard, &mut words.iter().map(|word| Fingerprint(u64::from_le_bytes(*word))));
            }
        }
        Ok(())
    }

    /// Not atomic, because there may be millions: the job's records are removed last, so that a crash leaves the job to
    /// be removed again.
    fn forget(&self, job: JobId) -> Result<(), StateError> {
        for keyspace in [&self.queue, &self.seen] {
            self.remove_where(keyspace, Some(job.0.to_be_bytes()), |_| true)?;
        }
        self.remove_where(&self.delayed, None, |key| keys::job_of_delayed(key) == Some(job))?;
        self.remove_where(&self.jobs, Some(job.0.to_be_bytes()), |_| true)
    }

    fn remove_where(
        &self,
        keyspace: &Keyspace,
        prefix: Option<[u8; 4]>,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<(), StateError> {
        let all = match prefix {
            Some(prefix) => keyspace.prefix(prefix),
            None => keyspace.iter(),
        };
        let mut batch = self.database.batch();
        for found in all {
            let key = found.key().map_err(failed)?;
            if wanted(&key) {
                batch.remove(keyspace, key);
            }
            if batch.len() >= FORGET_BATCH {
                std::mem::replace(&mut batch, self.database.batch()).commit().map_err(failed)?;
            }
        }
        batch.commit().map_err(failed)
    }
}

/// Makes applied batches durable.
struct FjallSync {
    database: Database,
}

impl StateSync for FjallSync {
    fn sync(&self) -> Result<(), StateError> {
        self.database.persist(PersistMode::SyncData).map_err(failed)
    }
}

impl ShardState for FjallState {
    fn apply(&mut self, changes: StateBatch) -> Result<(), StateError> {
        if changes.changes.iter().any(|change| matches!(change, Change::Send { .. })) {
            let why = "a message to another shard's owner, but one machine owns all shards";
            return Err(StateError::Store(why.into()));
        }
        // Written to the kernel at once: URLs queued here may be fetched and archived before the next sync, and after a
        // kill the next process must find their entries.
        let mut batch = OwnedWriteBatch::with_capacity(self.database.clone(), changes.changes.len() + 2)
            .durability(Some(PersistMode::Buffer));
        for change in &changes.changes {
            self.change(&mut batch, change);
        }
        self.log_seen(&mut batch, &changes.changes);
        for (name, number) in &changes.marks {
            batch.insert(&self.meta, [MARK, name.as_bytes()].concat(), number.to_be_bytes().as_slice());
        }
        batch.commit().map_err(failed)?;
        for change in &changes.changes {
            if let Change::ForgetJob(job) = change {
                self.forget(*job)?;
            }
        }
        Ok(())
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(FjallSync { database: self.database.clone() })
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        let from = match after {
            Some(order) => Bound::Excluded(keys::queue(at, order)),
            None => Bound::Included(keys::queue(at, OrderKey { rank: 0, depth: 0, sequence: 0 })),
        };
        let last = OrderKey { rank: u8::MAX, depth: u8::MAX, sequence: u64::MAX };
        let to = Bound::Included(keys::queue(at, last));
        let mut entries = Vec::with_capacity(limit);
        for found in self.queue.range((from, to)).take(limit) {
            let (key, value) = found.into_inner().map_err(failed)?;
            let order = keys::order_of(&key).ok_or_else(|| corrupt("queue", &key))?;
            entries.push(Entry { order, value: value.to_vec().into_boxed_slice() });
        }
        Ok(entries)
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        let mut entries = Vec::new();
        for found in self.delayed.iter() {
            let (key, value) = found.into_inner().map_err(failed)?;
            let (due, at, order) = keys::split_delayed(&key).ok_or_else(|| corrupt("delayed", &key))?;
            if !shards.contains(at.host.shard) {
                continue;
            }
            if due > until || entries.len() == limit {
                return Ok((entries, Some(due)));
            }
            let entry = Entry { order, value: value.to_vec().into_boxed_slice() };
            entries.push(Delayed { due, at, entry });
        }
        Ok((entries, None))
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        match self.robots.get(origin.as_bytes()).map_err(failed)? {
            Some(value) => {
                keys::decode_robots(&value).map(Some).ok_or_else(|| corrupt("robots", origin.as_bytes()))
            }
            None => Ok(None),
        }
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        let mut jobs = BTreeSet::new();
        for found in self.jobs.iter() {
            let (key, value) = found.into_inner().map_err(failed)?;
            let (job, shard) = keys::split_job(&key).ok_or_else(|| corrupt("jobs", &key))?;
            if shards.contains(shard) {
                into.job(job, shard, &value)?;
                jobs.insert(job);
            }
        }
        for found in self.hosts.iter() {
            let (key, value) = found.into_inner().map_err(failed)?;
            let host = keys::split_host(&key).ok_or_else(|| corrupt("hosts", &key))?;
            if shards.contains(host.shard) {
                into.host(host, &value)?;
            }
        }
        for job in jobs.into_iter().filter(|job| wants_seen(*job)) {
            self.tell_seen(shards, job, into)?;
        }
        for found in self.meta.prefix(RECEIVED) {
            let (key, value) = found.into_inner().map_err(failed)?;
            let shard = key.get(RECEIVED.len()..).and_then(|shard| <[u8; 2]>::try_from(shard).ok());
            let offset = <[u8; 8]>::try_from(&*value).ok().map(u64::from_be_bytes);
            match (shard.map(u16::from_be_bytes), offset) {
                (Some(shard), Some(offset)) if shards.contains(shard) => into.received(shard, offset),
                (Some(_), Some(_)) => {}
                _ => return Err(corrupt("meta", &key)),
            }
        }
        into.next_due(self.load_due(shards, Millis(0), 0)?.1);
        Ok(())
    }

    fn restore_job(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError> {
        for found in self.jobs.prefix(job.0.to_be_bytes()) {
            let (key, value) = found.into_inner().map_err(failed)?;
            let (job, shard) = keys::split_job(&key).ok_or_else(|| corrupt("jobs", &key))?;
            if shards.contains(shard) {
                into.job(job, shard, &value)?;
            }
        }
        self.tell_seen(shards, job, into)
    }

    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        let mut marks = Vec::new();
        for found in self.meta.prefix(MARK) {
            let (key, value) = found.into_inner().map_err(failed)?;
            let name = key.get(MARK.len()..).and_then(|name| std::str::from_utf8(name).ok());
            let number = <[u8; 8]>::try_from(&*value).ok().map(u64::from_be_bytes);
            match (name, number) {
                (Some(name), Some(number)) => marks.push((name.into(), number)),
                _ => return Err(corrupt("meta", &key)),
            }
        }
        Ok(marks)
    }
}

fn read_number(meta: &Keyspace, key: &[u8]) -> Result<u64, StateError> {
    match meta.get(key).map_err(failed)? {
        Some(value) => match <[u8; 8]>::try_from(&*value) {
            Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
            Err(_) => Err(corrupt("meta", key)),
        },
        None => Ok(0),
    }
}

fn corrupt(keyspace: &str, key: &[u8]) -> StateError {
    let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
    StateError::Corrupt(format!("entry {hex} of '{keyspace}' cannot be read"))
}

/// A database usually fails to open because a file is missing or damaged.
fn unopened(error: fjall::Error) -> StateError {
    use std::io::ErrorKind::{AlreadyExists, InvalidData, NotFound, UnexpectedEof};
    let damage =
        |io: &std::io::Error| matches!(io.kind(), AlreadyExists | InvalidData | NotFound | UnexpectedEof);
    let text = match &error {
        fjall::Error::Io(io) | fjall::Error::Storage(fjall::LsmError::Io(io)) if damage(io) => {
            format!("a file of it cannot be read: {io}")
        }
        fjall::Error::Storage(fjall::LsmError::Io(_)) => return failed(error),
        fjall::Error::Storage(fjall::LsmError::ChecksumMismatch { .. }) => {
            String::from("the checksum of a file is wrong")
        }
        fjall::Error::Storage(_) => String::from("a file of it is missing or cut off"),
        _ => return failed(error),
    };
    StateError::Corrupt(text)
}

fn failed(error: fjall::Error) -> StateError {
    let full = |io: &std::io::Error| io.kind() == std::io::ErrorKind::StorageFull;
    match &error {
        fjall::Error::Io(io) if full(io) => StateError::DiskFull(Box::new(error)),
        fjall::Error::Storage(fjall::LsmError::Io(io)) if full(io) => StateError::DiskFull(Box::new(error)),
        fjall::Error::JournalRecovery(_)
        | fjall::Error::InvalidVersion(_)
        | fjall::Error::Decompress(_)
        | fjall::Error::InvalidTrailer
        | fjall::Error::InvalidTag(_)
        | fjall::Error::Unrecoverable => StateError::Corrupt(error.to_string()),
        _ => StateError::Store(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_frontier::contract;

    #[test]
    fn fulfils_the_contract_of_shard_state() {
        let directory = tempfile::tempdir().unwrap();
        let mut serial = 0;
        contract::shard_state(&mut || {
            serial += 1;
            FjallState::open(&directory.path().join(serial.to_string())).unwrap()
        });
    }

    #[test]
    fn what_was_synced_is_there_after_a_reopen() {
        let directory = tempfile::tempdir().unwrap();
        contract::survives_reopening(&mut || FjallState::open(directory.path()).unwrap());
    }
}
