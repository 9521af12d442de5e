//! What a power cut leaves: a state without the batches that were not synced, and files whose ends may be gone or not.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use argiope_frontier::memory::MemoryState;
use argiope_frontier::queue::{Entry, OrderKey};
use argiope_frontier::state::{
    Delayed, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync, StoredRobots,
};
use argiope_local::disk::{Disk, DiskFile, LocalDisk};
use argiope_model::{JobId, Millis};
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A state that syncs slowly; what was not synced is forgotten.
#[derive(Clone, Default)]
pub(crate) struct ForgetfulState {
    now: Arc<Mutex<MemoryState>>,
    durable: Arc<Mutex<MemoryState>>,
}

impl ForgetfulState {
    /// What is left after a power cut.
    pub(crate) fn after_power_cut(&self) -> ForgetfulState {
        let durable = self.durable.lock().unwrap().clone();
        ForgetfulState { now: Arc::new(Mutex::new(durable.clone())), durable: Arc::new(Mutex::new(durable)) }
    }
}

struct SlowSync(ForgetfulState);

impl StateSync for SlowSync {
    fn sync(&self) -> Result<(), StateError> {
        let reached = self.0.now.lock().unwrap().clone();
        thread::sleep(Duration::from_millis(400));
        *self.0.durable.lock().unwrap() = reached;
        Ok(())
    }
}

impl ShardState for ForgetfulState {
    fn apply(&mut self, batch: StateBatch) -> Result<(), StateError> {
        self.now.lock().unwrap().apply(batch)
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(SlowSync(self.clone()))
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        self.now.lock().unwrap().load_queue(at, after, limit)
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        self.now.lock().unwrap().load_due(shards, until, limit)
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        self.now.lock().unwrap().load_robots(origin)
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        self.now.lock().unwrap().restore(shards, into, wants_seen)
    }

    fn restore_job(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError> {
        self.now.lock().unwrap().restore_job(shards, job, into)
    }

    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        self.now.lock().unwrap().marks()
    }
}

/// A disk that knows how much of each file is safe.
#[derive(Clone, Default)]
pub(crate) struct PowerDisk {
    synced: Arc<Mutex<HashMap<PathBuf, Arc<AtomicU64>>>>,
}

impl PowerDisk {
    /// Of unsynced data each file keeps the share `kept`, in percent.
    pub(crate) fn cut_power(&self, mut kept: impl FnMut() -> u64) {
        for (path, synced) in self.synced.lock().unwrap().iter() {
            let Ok(file) = OpenOptions::new().write(true).open(path) else { continue };
            let synced = synced.load(Ordering::SeqCst);
            let length = file.metadata().unwrap().len();
            file.set_len(synced + length.saturating_sub(synced) * kept() / 100).unwrap();
        }
    }

    fn watched(&self, path: &Path, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        let synced = Arc::clone(self.synced.lock().unwrap().entry(path.to_owned()).or_default());
        Box::new(PowerFile { file, synced, reached: AtomicU64::new(0) })
    }
}

impl Disk for PowerDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.watched(path, LocalDisk.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = self.watched(path, LocalDisk.open(path)?);
        // It was cut to its safe length before.
        if let Some(synced) = self.synced.lock().unwrap().get(path) {
            synced.fetch_max(std::fs::metadata(path)?.len(), Ordering::SeqCst);
        }
        Ok(file)
    }
}

struct PowerFile {
    file: Box<dyn DiskFile>,
    synced: Arc<AtomicU64>,
    reached: AtomicU64,
}

impl DiskFile for PowerFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let written = self.file.write_at(bytes, offset)?;
        self.reached.fetch_max(offset + written as u64, Ordering::SeqCst);
        Ok(written)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        let reached = self.reached.load(Ordering::SeqCst);
        self.file.sync_data()?;
        self.synced.fetch_max(reached, Ordering::SeqCst);
        Ok(())
    }
}
