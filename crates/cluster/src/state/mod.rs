//! The frontier of a shard's owner in PostgreSQL: queues, fingerprints, hosts, robots.txt, counts.
//!
//! Whoever applies a batch does not wait for the server: a thread commits what has been applied ([`writer`]), and loads see
//! it at once ([`overlay`]). Every part of a batch is written under the epoch at which its shard was owned when it was
//! applied; what is not owned any more is left out.

mod held;
mod overlay;
mod rows;
mod writer;

use crate::database::{BATCH_LIMIT, Cells, Connection, Database, DatabaseError, Session};
use crate::members::{Epochs, MessageSender};
use crate::redis::{RobotsCache, ShardNotifier};
use argiope_frontier::queue::{Entry, OrderKey};
use argiope_frontier::state::{
    Change, Delayed, HostKey, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StateSync,
    StoredRobots,
};
use argiope_model::{Fingerprint, JobId, Millis};
use held::Held;
use overlay::Overlay;
use rows::number;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio_postgres::Row;

/// Between two tries while the database is away.
const PAUSE: Duration = Duration::from_millis(300);
/// Rows of fingerprints that are read at once.
const PIECES: i64 = 1_000;

/// A batch on its way to the database, and the epochs of its shards when it was applied.
struct Applied {
    number: u64,
    epochs: BTreeMap<u16, i64>,
    batch: StateBatch,
}

/// What the writer and the others share.
struct Shared {
    overlay: Mutex<Overlay>,
    progress: Mutex<Progress>,
    moved: Condvar,
    given_up: AtomicBool,
    notifier: Option<Arc<ShardNotifier>>,
    epochs: Arc<Epochs>,
}

#[derive(Default)]
struct Progress {
    committed: u64,
    held: Held,
    failure: Option<Arc<DatabaseError>>,
}

impl Shared {
    fn overlay(&self) -> MutexGuard<'_, Overlay> {
        self.overlay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn committed(&self, number: u64) {
        self.overlay().committed(number);
        {
            let mut progress = self.progress();
            progress.committed = number;
            progress.held.committed(number);
        }
        self.moved.notify_all();
    }

    /// While there is too much that is not committed.
    fn wait_for_room(&self) {
        let mut progress = self.progress();
        while progress.failure.is_none() && progress.held.is_too_much() {
            progress = self.moved.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn failed(&self, error: DatabaseError) {
        self.progress().failure = Some(Arc::new(error));
        self.moved.notify_all();
    }

    fn notify(&self, shards: impl Iterator<Item = u16>) {
        if let Some(notifier) = &self.notifier {
            shards.for_each(|shard| notifier.notify(shard));
        }
    }

    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// Until the database has all batches up to this one.
    fn wait_for(&self, number: u64) -> Result<(), StateError> {
        let mut progress = self.progress();
        while progress.committed < number {
            if let Some(error) = &progress.failure {
                return Err(StateError::Store(Box::new(Arc::clone(error))));
            }
            progress = self.moved.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

pub struct PostgresState {
    database: Database,
    worker: String,
    epochs: Arc<Epochs>,
    shared: Arc<Shared>,
    /// Bounded by what is held.
    to_writer: Option<Sender<Applied>>,
    writer: Option<JoinHandle<()>>,
    applied: Arc<Mutex<u64>>,
    session: RefCell<Option<Session>>,
    robots: Option<RobotsCache>,
}

impl PostgresState {
    /// `epochs` says which shards may be written; `sender` carries what is sent to others, and the notifier of those is rung
    /// to which something was.
    pub fn open(
        database: &Database,
        worker: &str,
        epochs: Arc<Epochs>,
        sender: MessageSender,
        notifier: Option<Arc<ShardNotifier>>,
    ) -> crate::database::Result<PostgresState> {
        let session = database.connect(BATCH_LIMIT)?;
        let shared = Arc::new(Shared {
            overlay: Mutex::default(),
            progress: Mutex::default(),
            moved: Condvar::new(),
            given_up: AtomicBool::new(false),
            notifier,
            epochs: Arc::clone(&epochs),
        });
        let (to_writer, from) = channel();
        let (place, name, state) = (database.clone(), worker.to_owned(), Arc::clone(&shared));
        let writer = std::thread::Builder::new()
            .name("frontier".to_owned())
            .spawn(move || writer::run(&place, &name, sender, &from, &state))
            .map_err(|error| {
                database.error(
                    crate::database::DatabaseErrorKind::Failed,
                    format!("no thread can be started: {error}"),
                )
            })?;
        Ok(PostgresState {
            database: database.clone(),
            worker: worker.to_owned(),
            epochs,
            shared,
            to_writer: Some(to_writer),
            writer: Some(writer),
            applied: Arc::default(),
            session: RefCell::new(Some(session)),
            robots: None,
        })
    }

    /// Of a robots.txt that the database does not know, the cache is asked.
    pub fn with_robots_cache(self, robots: Option<RobotsCache>) -> PostgresState {
        let mut state = self;
        state.robots = robots;
        state
    }

    /// Asks until there is an answer: while the database is away everything waits.
    fn ask<T>(
        &self,
        mut work: impl AsyncFnMut(&Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StateError> {
        let mut is_away = false;
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
            if !std::mem::replace(&mut is_away, true) {
                tracing::warn!(%error, "the frontier cannot be read; it waits");
            }
            drop(session);
            std::thread::sleep(PAUSE);
        }
    }

    fn last_applied(&self) -> u64 {
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PostgresState {
    fn drop(&mut self) {
        self.shared.given_up.store(true, Ordering::Release);
        self.to_writer = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Shards as a parameter; none means all.
fn wanted(shards: &Shards) -> Option<Vec<i32>> {
    match shards {
        Shards::All => None,
        Shards::Only(some) => Some(some.iter().map(|shard| i32::from(*shard)).collect()),
    }
}

fn shard_number(number: i32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn prints(bytes: &[u8]) -> impl Iterator<Item = Fingerprint> {
    bytes.chunks_exact(8).map(|print| Fingerprint(u64::from_le_bytes(print.try_into().unwrap_or_default())))
}

fn order_of(cells: &mut Cells<'_>) -> Result<OrderKey, tokio_postgres::Error> {
    Ok(OrderKey {
        rank: u8::try_from(cells.take::<i16>()?).unwrap_or(u8::MAX),
        depth: u8::try_from(cells.take::<i16>()?).unwrap_or(u8::MAX),
        sequence: cells.number()?,
    })
}

impl ShardState for PostgresState {
    fn apply(&mut self, batch: &StateBatch) -> Result<(), StateError> {
        if let Some(cache) = &self.robots {
            for change in &batch.changes {
                if let Change::Robots { origin, stored, .. } = change {
                    cache.keep(origin, stored);
                }
            }
        }
        let mut epochs = BTreeMap::new();
        for shard in batch.changes.iter().filter_map(|change| change.shard()) {
            if let Some(epoch) = self.epochs.get(shard) {
                epochs.insert(shard, epoch);
            }
        }
        let number = {
            let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
            *applied += 1;
            *applied
        };
        self.shared.overlay().apply(number, batch);
        let ended = batch.changes.iter().filter(|change| matches!(change, Change::Unqueue { .. })).count();
        self.shared.progress().held.hold(number, batch.changes.len(), ended);
        let applied = Applied { number, epochs, batch: batch.clone() };
        let gone = || {
            let progress = self.shared.progress();
            match &progress.failure {
                Some(error) => StateError::Store(Box::new(Arc::clone(error))),
                None => StateError::Corrupt("the writer of the frontier has ended".to_owned()),
            }
        };
        match &self.to_writer {
            Some(to) => to.send(applied).map_err(|_| gone())?,
            None => return Err(gone()),
        }
        self.shared.wait_for_room();
        // Seldom, and of all keys at once: loads wait for it here.
        if batch.changes.iter().any(|change| matches!(change, Change::ForgetJob(_))) {
            self.shared.wait_for(number)?;
        }
        Ok(())
    }

    fn syncer(&self) -> Box<dyn StateSync> {
        Box::new(Syncer { shared: Arc::clone(&self.shared), applied: Arc::clone(&self.applied) })
    }

    fn load_queue(
        &self,
        at: QueueAt,
        after: Option<OrderKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, StateError> {
        // Before the database is asked: what is committed meanwhile is in its answer then.
        let over = self.shared.overlay().queue(at);
        let gone = over.values().filter(|value| value.is_none()).count();
        let most = i64::try_from(limit + gone).unwrap_or(i64::MAX);
        let from = after.map(|order| (i16::from(order.rank), i16::from(order.depth), order.sequence as i64));
        let (rank, depth, sequence) = from.unwrap_or((-1, -1, -1));
        let (job, shard, host) = (number(at.job), i32::from(at.host.shard), i64::from(at.host.number));
        let rows = self.ask(async |client| {
            client
                .query(
                    "SELECT rank, depth, sequence, visit FROM urls
                     WHERE job = $1 AND shard = $2 AND host = $3 AND due = 0 AND (rank, depth, sequence) > ($4, $5, $6)
                     ORDER BY rank, depth, sequence LIMIT $7",
                    &[&job, &shard, &host, &rank, &depth, &sequence, &most],
                )
                .await
        })?;
        let is_all = rows.len() < limit + gone;
        let mut entries = BTreeMap::new();
        for row in &rows {
            let mut cells = Cells::of(row);
            let read = order_of(&mut cells).and_then(|order| Ok((order, cells.take::<Vec<u8>>()?)));
            let (order, visit) = read.map_err(unreadable)?;
            entries.insert(order, visit.into_boxed_slice());
        }
        // Beyond what was read there may be more: what is over it there is for a later load.
        let end = if is_all { None } else { entries.keys().next_back().copied() };
        for (order, value) in over {
            if after.is_some_and(|after| order <= after) || end.is_some_and(|end| order > end) {
                continue;
            }
            match value {
                Some(value) => entries.insert(order, value),
                None => entries.remove(&order),
            };
        }
        Ok(entries.into_iter().take(limit).map(|(order, value)| Entry { order, value }).collect())
    }

    fn load_due(
        &self,
        shards: &Shards,
        until: Millis,
        limit: usize,
    ) -> Result<(Vec<Delayed>, Option<Millis>), StateError> {
        let over = self.shared.overlay().delayed();
        let gone = over.values().filter(|value| value.is_none()).count();
        let most = i64::try_from(limit + gone + 1).unwrap_or(i64::MAX);
        let of = wanted(shards);
        let rows = self.ask(async |client| {
            client
                .query(
                    "SELECT due, job, shard, host, rank, depth, sequence, visit FROM urls
                     WHERE due > 0 AND ($1::int4[] IS NULL OR shard = ANY($1))
                     ORDER BY due, job, shard, host, rank, depth, sequence LIMIT $2",
                    &[&of, &most],
                )
                .await
        })?;
        let is_all = rows.len() < limit + gone + 1;
        let mut entries = BTreeMap::new();
        for row in &rows {
            let (key, visit) = delayed_of(row).map_err(unreadable)?;
            entries.insert(key, visit);
        }
        let end = if is_all { None } else { entries.keys().next_back().copied() };
        for (key, value) in over {
            if !shards.contains(key.1.host.shard) || end.is_some_and(|end| key > end) {
                continue;
            }
            match value {
                Some(value) => entries.insert(key, value),
                None => entries.remove(&key),
            };
        }
        let mut due = Vec::new();
        for ((at_time, at, order), value) in entries {
            if at_time > until || due.len() == limit {
                return Ok((due, Some(at_time)));
            }
            due.push(Delayed { due: at_time, at, entry: Entry { order, value } });
        }
        Ok((due, None))
    }

    fn load_robots(&self, origin: &str) -> Result<Option<StoredRobots>, StateError> {
        if let Some(stored) = self.shared.overlay().robots(origin) {
            return Ok(Some(stored));
        }
        let row = self.ask(async |client| {
            let sql = "SELECT fetched_at, expires, status, body FROM frontier_robots WHERE origin = $1";
            client.query_opt(sql, &[&origin]).await
        })?;
        let Some(row) = row else {
            return Ok(self.robots.as_ref().and_then(|cache| cache.find(origin)));
        };
        let read = || -> Result<StoredRobots, tokio_postgres::Error> {
            let mut cells = Cells::of(&row);
            Ok(StoredRobots {
                fetched_at: Millis(cells.number()?),
                expires: Millis(cells.number()?),
                status: u16::try_from(cells.take::<i32>()?).unwrap_or(0),
                body: cells.take::<Vec<u8>>()?.into_boxed_slice(),
            })
        };
        read().map(Some).map_err(unreadable)
    }

    fn restore(
        &self,
        shards: &Shards,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        self.shared.wait_for(self.last_applied())?;
        let of = wanted(shards);
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, job::bigint, record FROM frontier_jobs
                       WHERE $1::int4[] IS NULL OR shard = ANY($1) ORDER BY job, shard";
            client.query(sql, &[&of]).await
        })?;
        let mut jobs = Vec::new();
        for row in &rows {
            let (shard, job, record) = record_of(row).map_err(unreadable)?;
            let job = JobId(u32::try_from(job).unwrap_or(0));
            into.job(job, shard, &record)?;
            jobs.push((shard, job));
        }
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, number, record FROM frontier_hosts
                       WHERE $1::int4[] IS NULL OR shard = ANY($1) ORDER BY shard, number";
            client.query(sql, &[&of]).await
        })?;
        for row in &rows {
            let (shard, number, record) = record_of(row).map_err(unreadable)?;
            into.host(HostKey { shard, number: u32::try_from(number).unwrap_or(u32::MAX) }, &record)?;
        }
        self.tell_seen(&of, into, wants_seen)?;
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, applied FROM shards
                       WHERE applied > 0 AND ($1::int4[] IS NULL OR shard = ANY($1)) ORDER BY shard";
            client.query(sql, &[&of]).await
        })?;
        for row in &rows {
            let mut cells = Cells::of(row);
            let read = cells.take::<i32>().and_then(|shard| Ok((shard, cells.number()?)));
            let (shard, offset) = read.map_err(unreadable)?;
            into.received(shard_number(shard), offset);
        }
        let (_, next) = self.load_due(shards, Millis(0), 1)?;
        into.next_due(next);
        Ok(())
    }

    fn restore_job(&self, shards: &Shards, job: JobId, into: &mut dyn Restore) -> Result<(), StateError> {
        self.shared.wait_for(self.last_applied())?;
        let (of, id) = (wanted(shards), number(job));
        let rows = self.ask(async |client| {
            let sql = "SELECT shard, job::bigint, record FROM frontier_jobs
                       WHERE job = $2 AND ($1::int4[] IS NULL OR shard = ANY($1)) ORDER BY shard";
            client.query(sql, &[&of, &id]).await
        })?;
        for row in &rows {
            let (shard, _, record) = record_of(row).map_err(unreadable)?;
            into.job(job, shard, &record)?;
        }
        self.tell_seen(&of, into, &|of| of == job)
    }

    fn marks(&self) -> Result<Vec<(Box<str>, u64)>, StateError> {
        self.shared.wait_for(self.last_applied())?;
        let rows = self.ask(async |client| {
            let sql = "SELECT name, number FROM frontier_marks WHERE worker = $1 ORDER BY name";
            client.query(sql, &[&self.worker]).await
        })?;
        let read = |row: &Row| -> Result<(Box<str>, u64), tokio_postgres::Error> {
            let mut cells = Cells::of(row);
            Ok((cells.text()?.into(), cells.number()?))
        };
        rows.iter().map(|row| read(row).map_err(unreadable)).collect()
    }
}

impl PostgresState {
    fn tell_seen(
        &self,
        of: &Option<Vec<i32>>,
        into: &mut dyn Restore,
        wants_seen: &dyn Fn(JobId) -> bool,
    ) -> Result<(), StateError> {
        let pairs = self.ask(async |client| {
            let sql = "SELECT DISTINCT shard, job FROM seen
                       WHERE $1::int4[] IS NULL OR shard = ANY($1) ORDER BY shard, job";
            client.query(sql, &[of]).await
        })?;
        for pair in &pairs {
            let mut cells = Cells::of(pair);
            let read = cells.take::<i32>().and_then(|shard| Ok((shard, cells.take::<i32>()?)));
            let (shard, id) = read.map_err(unreadable)?;
            let job = JobId(u32::try_from(id).unwrap_or(0));
            if !wants_seen(job) {
                continue;
            }
            let mut after = -1i64;
            loop {
                let rows = self.ask(async |client| {
                    let sql = "SELECT piece, fingerprints FROM seen
                               WHERE shard = $1 AND job = $2 AND piece > $3 ORDER BY piece LIMIT $4";
                    client.query(sql, &[&shard, &id, &after, &PIECES]).await
                })?;
                for row in &rows {
                    let mut cells = Cells::of(row);
                    let read = cells.take::<i64>().and_then(|piece| Ok((piece, cells.take::<&[u8]>()?)));
                    let (piece, bytes) = read.map_err(unreadable)?;
                    after = piece;
                    into.seen(job, shard_number(shard), &mut prints(bytes));
                }
                if rows.len() < usize::try_from(PIECES).unwrap_or(usize::MAX) {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn record_of(row: &Row) -> Result<(u16, i64, Vec<u8>), tokio_postgres::Error> {
    Ok((shard_number(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?))
}

type DelayedRow = ((Millis, QueueAt, OrderKey), Box<[u8]>);

fn delayed_of(row: &Row) -> Result<DelayedRow, tokio_postgres::Error> {
    let mut cells = Cells::of(row);
    let due = Millis(cells.number()?);
    let job = JobId(u32::try_from(cells.take::<i32>()?).unwrap_or(0));
    let shard = shard_number(cells.take()?);
    let host = HostKey { shard, number: u32::try_from(cells.take::<i64>()?).unwrap_or(u32::MAX) };
    let order = order_of(&mut cells)?;
    Ok(((due, QueueAt { job, host }, order), cells.take::<Vec<u8>>()?.into_boxed_slice()))
}

fn unreadable(error: tokio_postgres::Error) -> StateError {
    StateError::Corrupt(format!("a row of the frontier cannot be read: {error}"))
}

struct Syncer {
    shared: Arc<Shared>,
    applied: Arc<Mutex<u64>>,
}

impl StateSync for Syncer {
    fn sync(&self) -> Result<(), StateError> {
        let last = *self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.wait_for(last)
    }
}
