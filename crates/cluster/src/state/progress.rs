//! The progress of the writer: shared by the writer, by callers that apply batches, and by those that wait for a
//! commit.

use super::held::Held;
use super::overlay::Overlay;
use crate::database::DatabaseError;
use crate::members::Epochs;
use crate::redis::ShardNotifier;
use argiope_frontier::state::{StateBatch, StateError, StateSync};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Shared {
    overlay: Mutex<Overlay>,
    progress: Mutex<Progress>,
    moved: Condvar,
    /// The number of the last batch that was applied.
    applied: AtomicU64,
    abandoned: AtomicBool,
    notifier: Option<Arc<ShardNotifier>>,
    pub(super) epochs: Arc<Epochs>,
}

#[derive(Default)]
struct Progress {
    committed: u64,
    held: Held,
    failure: Option<Arc<DatabaseError>>,
}

impl Shared {
    pub(super) fn new(epochs: Arc<Epochs>, notifier: Option<Arc<ShardNotifier>>) -> Shared {
        Shared {
            overlay: Mutex::default(),
            progress: Mutex::default(),
            moved: Condvar::new(),
            applied: AtomicU64::new(0),
            abandoned: AtomicBool::new(false),
            notifier,
            epochs,
        }
    }

    pub(super) fn overlay(&self) -> MutexGuard<'_, Overlay> {
        self.overlay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a batch that ends this many visits visible to loads, and returns its number.
    pub(super) fn applied(&self, batch: &Arc<StateBatch>, ended: usize) -> u64 {
        let number = self.applied.fetch_add(1, Ordering::AcqRel) + 1;
        self.overlay().apply(number, batch);
        self.progress().held.hold(number, batch.changes.len(), ended);
        number
    }

    pub(super) fn committed(&self, number: u64) {
        self.overlay().committed(number);
        {
            let mut progress = self.progress();
            progress.committed = number;
            progress.held.committed(number);
        }
        self.moved.notify_all();
    }

    /// Waits while too much is not committed.
    pub(super) fn wait_for_room(&self) {
        let mut progress = self.progress();
        while progress.failure.is_none() && progress.held.is_too_much() {
            progress = self.moved.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the database has all batches up to this one.
    pub(super) fn wait_for(&self, number: u64) -> Result<(), StateError> {
        let mut progress = self.progress();
        while progress.committed < number {
            if let Some(error) = &progress.failure {
                return Err(StateError::Store(Box::new(Arc::clone(error))));
            }
            progress = self.moved.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Waits until the database has everything that was applied so far.
    pub(super) fn wait_for_all(&self) -> Result<(), StateError> {
        self.wait_for(self.applied.load(Ordering::Acquire))
    }

    /// The writer cannot continue.
    pub(super) fn failed(&self, error: DatabaseError) {
        self.progress().failure = Some(Arc::new(error));
        self.moved.notify_all();
    }

    /// Why the writer has ended.
    pub(super) fn failure(&self) -> StateError {
        match &self.progress().failure {
            Some(error) => StateError::Store(Box::new(Arc::clone(error))),
            None => StateError::Corrupt("the frontier writer has ended".to_owned()),
        }
    }

    pub(super) fn notify(&self, shards: impl Iterator<Item = u16>) {
        if let Some(notifier) = &self.notifier {
            shards.for_each(|shard| notifier.notify(shard));
        }
    }

    /// Nobody waits for the writer any more: it stops retrying.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}

pub(super) struct Syncer {
    pub(super) shared: Arc<Shared>,
}

impl StateSync for Syncer {
    fn sync(&self) -> Result<(), StateError> {
        self.shared.wait_for_all()
    }
}
