//! The frontier state of a shard's owner in PostgreSQL: queues, fingerprints, hosts, robots.txt, counts.
//!
//! A caller that applies a batch does not wait for the server: a thread commits what has been applied ([`writer`]), and
//! loads see it at once ([`overlay`]). Each shard's part of a batch is written under the epoch at which the shard was
//! owned when the batch was applied; it is left out if the shard has another owner by then.

mod held;
mod loading;
mod overlay;
mod progress;
mod restoring;
mod rows;
mod writer;

use crate::database::{BATCH_LIMIT, Connection, Database, DatabaseErrorKind, Session};
use crate::members::{Epochs, MessageSender};
use crate::redis::{RobotsCache, ShardNotifier};
use argiope_frontier::queue::{Entry, OrderKey};
use argiope_frontier::state::{
    Change, Delayed, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync, StoredRobots,
};
use argiope_model::{JobId, Millis};
use progress::{Shared, Syncer};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two attempts while the database is unreachable.
const PAUSE: Duration = Duration::from_millis(300);

/// A batch on its way to the database, and the epochs of its shards when it was applied.
struct Applied {
    number: u64,
    epochs: BTreeMap<u16, i64>,
    batch: Arc<StateBatch>,
}

pub struct PostgresState {
    database: Database,
    worker: String,
    shared: Arc<Shared>,
    /// Bounded: [`Shared::wait_for_room`] blocks a caller that applies too much.
    to_writer: Option<Sender<Applied>>,
    writer: Option<JoinHandle<()>>,
    session: RefCell<Option<Session>>,
    robots_cache: Option<RobotsCache>,
}

impl PostgresState {
    /// `epochs` says which shards may be written. `sender` sends messages to other shards; `notifier` then notifies the
    /// owners of those.
    pub fn open(
        database: &Database,
        worker: &str,
        epochs: Arc<Epochs>,
        sender: MessageSender,
        notifier: Option<Arc<ShardNotifier>>,
    ) -> crate::database::Result<PostgresState> {
        let session = database.connect(BATCH_LIMIT)?;
        let shared = Arc::new(Shared::new(epochs, notifier));
        let (to_writer, from) = channel();
        let (place, name, state) = (database.clone(), worker.to_owned(), Arc::clone(&shared));
        let writer = std::thread::Builder::new()
            .name("frontier".to_owned())
            .spawn(move || writer::run(&place, &name, sender, &from, &state))
            .map_err(|error| {
                database.error(DatabaseErrorKind::Failed, format!("cannot start a thread: {error}"))
            })?;
        Ok(PostgresState {
            database: database.clone(),
            worker: worker.to_owned(),
            shared,
            to_writer: Some(to_writer),
            writer: Some(writer),
            session: RefCell::new(Some(session)),
            robots_cache: None,
        })
    }

    /// Looks up a robots.txt in the cache if the database does not have it.
    pub fn with_robots_cache(self, robots_cache: Option<RobotsCache>) -> PostgresState {
        let mut state = self;
        state.robots_cache = robots_cache;
        state
    }

    /// Retries until there is a response: while the database is unreachable everything waits.
    fn ask<T>(
        &self,
        mut work: impl AsyncFnMut(&Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StateError> {
        let mut is_unreachable = false;
        loop {
            let mut session = self.session.borrow_mut();
            let opened = match session.take() {
                Some(session) => Ok(session),
                None => self.database.connect(BATCH_LIMIT),
            };
            let error = match opened {
                Ok(mut opened) => match opened.repeat(&mut work) {
                    Ok(value) => {
                        *session = Some(opened);
                        return Ok(value);
                    }
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if !error.is_retryable() {
                return Err(StateError::Store(Box::new(error)));
            }
            if !std::mem::replace(&mut is_unreachable, true) {
                tracing::warn!(%error, "cannot read the frontier; retrying");
            }
            drop(session);
            std::thread::sleep(PAUSE);
        }
    }

    fn epochs_of(&self, batch: &StateBatch) -> BTreeMap<u16, i64> {
        let mut epochs = BTreeMap::new();
        for shard in batch.changes.iter().filter_map(Change::shard) {
            if !epochs.contains_key(&shard)
                && let Some(epoch) = self.shared.epochs.get(shard)
            {
                epochs.insert(shard, epoch);
            }
        }
        epochs
    }
}

impl Drop for PostgresState {
    fn drop(&mut self) {
        self.shared.abandon();
        self.to_writer = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl ShardState for PostgresState {
    fn apply(&mut self, batch: StateBatch) -> Result<(), StateError> {
        let (mut ended, mut forgets_job) = (0, false);
        for change in &batch.changes {
            match change {
                Change::Robots { origin, stored, .. } => {
                    if let Some(cache) = &self.robots_cache {
                        cache.keep(origin, stored);
                    }
                }
                Change::Unqueue { .. } => ended += 1,
                Change::ForgetJob(_) => forgets_job = true,
                _ => {}
            }
        }
        let epochs = self.epochs_of(&batch);
        let batch = Arc::new(batch);
        let number = self.shared.applied(&batch, ended);
        let sent =
            self.to_writer.as_ref().is_some_and(|to| to.send(Applied { number, epochs, batch }).is_ok());
        if !sent {
            return Err(self.shared.failure());
        }
        self.shared.wait_for_room();
        // Rare, and it affects all keys of the job: loads must not see it half done.
        if forgets_job {
            self.shared.wait_for(number)?;
        }
        Ok(())
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(Syncer { shared: Arc::clone(&self.shared) })
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        self.queue(at, after, limit)
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        self.due(shards, until, limit)
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        self.robots(origin)
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        self.restore_shards(shards, into, wants_seen)
    }

    fn restore_job(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError> {
        self.restore_one_job(shards, job, into)
    }

    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        self.stored_marks()
    }
}
