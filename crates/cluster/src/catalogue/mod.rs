//! The catalogue in PostgreSQL. Many workers write at once, each through its own [`PostgresCatalogue`]. Numbers of
//! batches and pages are assigned under one lock that is held from the first row to the commit, so a reader that has
//! read up to a number has missed none below it.
//!
//! SQL longer than a line is in `sql/`.

mod counts;
mod duplicates;
mod error_log;
mod fetch;
mod file_locations;
mod host;
mod jobs;
mod lost;
mod page;
mod positions;
mod reader;
mod resource;
mod skipped;
mod staging;
mod streams;
pub(crate) mod unpublished;

pub use file_locations::{ExpectedFile, FileCheck, FileLocations};
pub use lost::{LostMarks, mark_all};
pub use positions::LinkSegment;
pub use reader::PostgresReader;

use crate::database::{
    BATCH_LIMIT, Cluster, Database, DatabaseError, DatabaseErrorKind, Expected, Partitions,
    Result as Answered, Session, Writer,
};
use crate::members::{Epochs, Writing};
use argiope_model::JobId;
use argiope_store::catalogue::{
    Batch, Catalogue, CatalogueReader, Committed, Job, NewJob, PlacedPage, SKIPPED_PER_JOB,
};
use argiope_store::error::Result;
use staging::StagedBatch;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a commit is retried at once, and after which pause. Then the caller decides.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(400)];

/// Of a worker during an outage of the database.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// The error of a commit whose member is gone.
const DECLARED_DEAD: &str = "AR002";

/// The writer of one worker.
pub struct PostgresCatalogue {
    worker: String,
    session: Session,
    writer: Writer,
    partitions: Partitions,
    skipped_limit: u64,
    /// The member in whose name it writes; it must not write without it.
    owner: Option<String>,
    /// Notified when commits fail.
    epochs: Arc<Epochs>,
}

impl PostgresCatalogue {
    /// For a member of the cluster: its commits wait during an outage of the database, which `epochs` is told, and fail
    /// for good, with nothing written, once the member was declared dead.
    pub fn open_for_worker(
        database: &Database,
        worker: &str,
        owner: &str,
        epochs: Arc<Epochs>,
    ) -> Result<PostgresCatalogue> {
        let catalogue = PostgresCatalogue::open(database, worker)?;
        Ok(PostgresCatalogue { owner: Some(owner.to_owned()), epochs, ..catalogue })
    }

    /// `worker` owns the files and outputs of the positions.
    pub fn open(database: &Database, worker: &str) -> Result<PostgresCatalogue> {
        Cluster::open(database, &Expected::default())?;
        let mut session = database.connect(BATCH_LIMIT)?;
        let writer = Writer::register(&mut session, &staging::setup())?;
        let mut partitions = Partitions::default();
        partitions.prepare_present(&mut session)?;
        let worker = worker.to_owned();
        Ok(PostgresCatalogue {
            worker,
            session,
            writer,
            partitions,
            skipped_limit: SKIPPED_PER_JOB,
            owner: None,
            epochs: Arc::default(),
        })
    }

    /// How many skipped URLs are stored per job.
    pub fn limit_skipped(&mut self, per_job: u64) {
        self.skipped_limit = per_job;
    }

    fn fenced(&self) -> DatabaseError {
        let message = "this worker was declared dead and others have its shards; nothing was written";
        self.session.database().error(DatabaseErrorKind::Fenced, message)
    }

    fn store(&mut self, batch: &StagedBatch) -> Answered<Committed> {
        self.session.database().may_be_asked()?;
        if self.session.is_broken() {
            self.session.reconnect()?;
        }
        self.partitions.prepare(&mut self.session, batch.months.iter().map(String::as_str))?;
        let answer = self.writer.write(&mut self.session, &batch.staged)?;
        committed(batch, &answer).ok_or_else(|| {
            self.session.database().error(DatabaseErrorKind::Failed, format!("a commit returned '{answer}'"))
        })
    }
}

/// From the number of the batch, that of its first new page, and `PLACE:NUMBER` of those that existed before.
fn committed(batch: &StagedBatch, answer: &str) -> Option<Committed> {
    let mut words = answer.split(' ');
    let number = words.next()?.parse().ok()?;
    let mut next: u64 = words.next()?.parse().ok()?;
    let known: HashMap<u32, u64> = words
        .map(|pair| {
            let (place, seq) = pair.split_once(':')?;
            Some((place.parse().ok()?, seq.parse().ok()?))
        })
        .collect::<Option<_>>()?;
    // New ones are numbered in the order of their places.
    let mut stored: Vec<u32> = batch.places.iter().map(|(place, _)| *place).collect();
    stored.sort_unstable();
    stored.dedup();
    let mut seqs = HashMap::with_capacity(stored.len());
    for place in stored {
        let seq = known.get(&place).copied().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        seqs.insert(place, seq);
    }
    let placed = |(place, repeats): &(u32, bool)| {
        let repeated = *repeats || known.contains_key(place);
        Some(PlacedPage { seq: *seqs.get(place)?, repeated })
    };
    Some(Committed { batch: number, pages: batch.places.iter().map(placed).collect::<Option<_>>()? })
}

impl Catalogue for PostgresCatalogue {
    fn commit(&mut self, batch: &Batch) -> Result<Committed> {
        let mut staged = StagedBatch::of(batch, &self.worker, self.skipped_limit);
        if let Some(owner) = &self.owner {
            staged.staged.script.insert_str(0, &fence(owner));
        }
        let mut tries = 0;
        loop {
            let error = match self.store(&staged) {
                Ok(committed) => {
                    self.epochs.set_failing(Writing::Catalogue, false);
                    return Ok(committed);
                }
                Err(error) if error.code() == Some(DECLARED_DEAD) => return Err(self.fenced().into()),
                Err(error) => error,
            };
            let pause = PAUSES.get(tries).copied().or(self.owner.as_ref().map(|_| LONG_PAUSE));
            match pause {
                Some(pause) if error.is_retryable() || is_without_partition(&error) => {
                    self.epochs.set_failing(Writing::Catalogue, true);
                    tries += 1;
                    if tries == PAUSES.len() {
                        tracing::warn!(%error, "cannot write the catalogue; retrying");
                    }
                    self.partitions.forget();
                    std::thread::sleep(pause);
                }
                _ => return Err(error.into()),
            }
        }
    }

    fn create_job(&mut self, job: &NewJob) -> Result<Job> {
        Ok(jobs::create(&mut self.session, job)?)
    }

    fn delete_job(&mut self, job: JobId) -> Result<()> {
        Ok(jobs::delete(&mut self.session, job)?)
    }

    fn reader(&self) -> Result<Box<dyn CatalogueReader>> {
        Ok(Box::new(PostgresReader::of_worker(self.session.database(), &self.worker)?))
    }
}

/// The member's row is locked until the commit: a leader that declares it dead waits, and then nothing more comes.
fn fence(owner: &str) -> String {
    format!(
        "DO $$ BEGIN
             PERFORM 1 FROM members WHERE owner = '{}' FOR KEY SHARE;
             IF NOT FOUND THEN RAISE EXCEPTION 'declared dead' USING ERRCODE = '{DECLARED_DEAD}'; END IF;
         END $$;\n",
        owner.replace('\'', "''")
    )
}

/// Somebody has removed the partition of a row; it is created again.
fn is_without_partition(error: &DatabaseError) -> bool {
    error.kind == DatabaseErrorKind::Failed && error.message.starts_with("no partition of relation")
}
