//! Ports that fail on request: a chosen call of a chosen step fails before or after it has done its work.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use argiope_frontier::queue::{Entry, OrderKey};
use argiope_frontier::state::{
    Delayed, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync, StoredRobots,
};
use argiope_model::{JobId, Millis};
use argiope_store::archive::{
    Appended, Appender, Archive, ArchiveRef, Cut, Exchange, OnRecovered, Position, Recovery, StoredExchange,
};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Committed, Job, NewJob};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::links::{LinkBatch, Links, LinksPosition, PageLinks};
use argiope_store::warc::VisitMetadata;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The steps of a batch, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    ArchiveAppend,
    ArchiveSync,
    LinksAppend,
    LinksSync,
    CatalogueCommit,
    Committed,
    StateApply,
    StateSync,
}

impl Step {
    pub(crate) const ALL: [Step; 8] = [
        Step::ArchiveAppend,
        Step::ArchiveSync,
        Step::LinksAppend,
        Step::LinksSync,
        Step::CatalogueCommit,
        Step::Committed,
        Step::StateApply,
        Step::StateSync,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// That call fails; the process continues and may clean up.
    Fails,
    /// That call fails because there is no room.
    DiskFull,
    /// Nothing works from then on, as if the process had been killed.
    Dies,
}

/// The one fault of a run.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) step: Step,
    pub(crate) when: When,
    pub(crate) how: How,
    /// From 1.
    pub(crate) nth: u32,
    calls: AtomicU32,
    happened: AtomicBool,
}

impl Fault {
    pub(crate) fn new(step: Step, when: When, how: How, nth: u32) -> Arc<Fault> {
        let (calls, happened) = (AtomicU32::new(0), AtomicBool::new(false));
        Arc::new(Fault { step, when, how, nth, calls, happened })
    }

    pub(crate) fn has_happened(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }

    fn is_dead(&self) -> bool {
        self.how == How::Dies && self.has_happened()
    }

    /// Whether this call is the one.
    fn strikes(&self, step: Step) -> bool {
        step == self.step && self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.nth
    }

    fn strike<E>(&self, error: impl Fn(How) -> E) -> std::result::Result<(), E> {
        self.happened.store(true, Ordering::SeqCst);
        Err(error(self.how))
    }

    fn around<T, E>(
        &self,
        step: Step,
        error: impl Fn(How) -> E,
        call: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if self.is_dead() {
            return Err(error(How::Dies));
        }
        let strikes = self.strikes(step);
        if strikes && self.when == When::Before {
            self.strike(&error)?;
        }
        let done = call()?;
        if strikes {
            self.strike(&error)?;
        }
        Ok(done)
    }

    fn alive(&self) -> Result<()> {
        if self.is_dead() { Err(store_error(How::Dies)) } else { Ok(()) }
    }
}

fn store_error(how: How) -> StoreError {
    match how {
        How::DiskFull => StoreError::new(ErrorKind::DiskFull, "fault", "no space left"),
        How::Fails | How::Dies => StoreError::new(ErrorKind::Io, "fault", "made to fail"),
    }
}

fn state_error(how: How) -> StateError {
    match how {
        How::DiskFull => {
            StateError::DiskFull(Box::new(std::io::Error::from(std::io::ErrorKind::StorageFull)))
        }
        How::Fails | How::Dies => StateError::Store(Box::new(std::io::Error::other("made to fail"))),
    }
}

pub(crate) struct FaultyArchive {
    pub(crate) inner: Arc<dyn Archive>,
    pub(crate) fault: Arc<Fault>,
}

impl Archive for FaultyArchive {
    fn appender(&self) -> Result<Box<dyn Appender>> {
        Ok(Box::new(FaultyAppender { inner: self.inner.appender()?, fault: Arc::clone(&self.fault) }))
    }

    fn sync(&self) -> Result<Vec<Position>> {
        self.fault.around(Step::ArchiveSync, store_error, || self.inner.sync())
    }

    fn committed(&self, positions: &[Position]) {
        // It cannot fail: the next call of anything does.
        let _ = self.fault.around(Step::Committed, store_error, || {
            self.inner.committed(positions);
            Ok(())
        });
    }

    fn recover(&self, catalogued: &[Position], found: OnRecovered<'_>) -> Result<Recovery> {
        self.fault.alive()?;
        self.inner.recover(catalogued, found)
    }

    fn truncate_to(&self, catalogued: &[Position]) -> Result<Vec<Cut>> {
        self.fault.alive()?;
        self.inner.truncate_to(catalogued)
    }

    fn read(&self, at: &ArchiveRef) -> Result<StoredExchange> {
        self.inner.read(at)
    }

    fn read_metadata(&self, at: &ArchiveRef) -> Result<VisitMetadata> {
        self.inner.read_metadata(at)
    }

    fn build_index(&self, file: &str) -> Result<()> {
        self.fault.alive()?;
        self.inner.build_index(file)
    }

    fn verify(&self, position: &Position) -> Result<u64> {
        self.inner.verify(position)
    }
}

struct FaultyAppender {
    inner: Box<dyn Appender>,
    fault: Arc<Fault>,
}

impl Appender for FaultyAppender {
    fn append_all(&mut self, exchanges: &[Exchange<'_>]) -> Result<Vec<Appended>> {
        let FaultyAppender { inner, fault } = self;
        fault.around(Step::ArchiveAppend, store_error, || inner.append_all(exchanges))
    }

    fn finish(self: Box<Self>) -> Result<Option<Position>> {
        self.fault.alive()?;
        self.inner.finish()
    }
}

pub(crate) struct FaultyLinks {
    pub(crate) inner: Box<dyn Links>,
    pub(crate) fault: Arc<Fault>,
}

impl Links for FaultyLinks {
    fn append(&mut self, batch: &LinkBatch) -> Result<()> {
        let FaultyLinks { inner, fault } = self;
        fault.around(Step::LinksAppend, store_error, || inner.append(batch))
    }

    fn sync(&mut self) -> Result<LinksPosition> {
        let FaultyLinks { inner, fault } = self;
        fault.around(Step::LinksSync, store_error, || inner.sync())
    }

    fn committed(&mut self, reached: LinksPosition) {
        self.inner.committed(reached);
    }

    fn truncate_to(&mut self, valid: LinksPosition) -> Result<u64> {
        self.inner.truncate_to(valid)
    }

    fn read(&self, until: LinksPosition, page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>) -> Result<()> {
        self.inner.read(until, page)
    }
}

pub(crate) struct FaultyCatalogue {
    pub(crate) inner: Box<dyn Catalogue>,
    pub(crate) fault: Arc<Fault>,
}

impl Catalogue for FaultyCatalogue {
    fn commit(&mut self, batch: &Batch) -> Result<Committed> {
        let FaultyCatalogue { inner, fault } = self;
        fault.around(Step::CatalogueCommit, store_error, || inner.commit(batch))
    }

    fn create_job(&mut self, job: &NewJob) -> Result<Job> {
        self.inner.create_job(job)
    }

    fn delete_job(&mut self, job: JobId) -> Result<()> {
        self.inner.delete_job(job)
    }

    fn reader(&self) -> Result<Box<dyn CatalogueReader>> {
        self.inner.reader()
    }
}

pub(crate) struct FaultyState {
    pub(crate) inner: Box<dyn ShardState>,
    pub(crate) fault: Arc<Fault>,
}

impl ShardState for FaultyState {
    fn apply(&mut self, batch: StateBatch) -> std::result::Result<(), StateError> {
        let FaultyState { inner, fault } = self;
        fault.around(Step::StateApply, state_error, || inner.apply(batch))
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(FaultySync { inner: self.inner.syncer(), fault: Arc::clone(&self.fault) })
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> std::result::Result<Vec<Entry>, StateError> {
        self.inner.load_queue(at, after, limit)
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> std::result::Result<(Vec<Delayed>, Option<Millis>), StateError> {
        self.inner.load_due(shards, until, limit)
    }

    fn load_robots(&self, origin: &str) -> std::result::Result<Option<StoredRobots>, StateError> {
        self.inner.load_robots(origin)
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> std::result::Result<(), StateError> {
        self.inner.restore(shards, into, wants_seen)
    }

    fn restore_job(
        &self,
        shards: &Shards,
        job: JobId,
        into: &mut dyn Restore,
    ) -> std::result::Result<(), StateError> {
        self.inner.restore_job(shards, job, into)
    }

    fn marks(&self) -> std::result::Result<Vec<(Box<str>, u64)>, StateError> {
        self.inner.marks()
    }
}

struct FaultySync {
    inner: Box<dyn StateSync>,
    fault: Arc<Fault>,
}

impl StateSync for FaultySync {
    fn sync(&self) -> std::result::Result<(), StateError> {
        self.fault.around(Step::StateSync, state_error, || self.inner.sync())
    }
}
