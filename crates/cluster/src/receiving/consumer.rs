//! The thread that consumes `url_ingest` while its worker is the leader.

use super::judging::{JudgedRecords, leave_out_recent};
use super::progress::{self, Example, Reached};
use super::{Addresses, partition_count};
use crate::background::{Background, StopSignal};
use crate::database::{Database, DatabaseError, Session};
use crate::kafka::{Kafka, Topic};
use crate::members::{Addressing, MessageSender, leads};
use crate::server_error::{Result as Answered, ServerError, ServerErrorKind};
use crate::transport::Transport;
use argiope_model::{JobId, Url};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);
/// Between two checks who the leader is, and after a failure.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long Kafka may wait for new records.
const WAIT: Duration = Duration::from_millis(500);
/// Of the records of a partition that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// An operator may add partitions to the topic.
const COUNT_EVERY: Duration = Duration::from_secs(60);
const NAME: &str = "url_ingest consumer";

/// The consumer of one worker. Dropping it ends its thread.
pub struct IngestConsumer {
    _thread: Background,
}

impl IngestConsumer {
    /// None where the cluster has no Kafka. `owner` reads while it is the leader.
    pub fn start(
        database: &Database,
        transport: &Transport,
        addresses: Addresses,
        owner: &str,
    ) -> Answered<Option<IngestConsumer>> {
        let Some((kafka, topics)) = transport.client()? else { return Ok(None) };
        let mut consumer = Consumer {
            database: database.clone(),
            sender: MessageSender::new(transport, Topic::UrlIngest.name(), NAME)?,
            transport: transport.clone(),
            topic: topics.name(Topic::UrlIngest),
            kafka,
            addresses,
            owner: owner.to_owned(),
            partitions: None,
        };
        let thread = Background::start("url_ingest", move |stop| {
            let mut session = None;
            while !stop.stopped_within(CHECK_EVERY) {
                consumer.consume(&mut session, &stop);
            }
        })?;
        Ok(Some(IngestConsumer { _thread: thread }))
    }
}

#[derive(Debug, thiserror::Error)]
enum IngestError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Kafka(#[from] ServerError),
}

struct Consumer {
    database: Database,
    transport: Transport,
    kafka: Kafka,
    topic: String,
    sender: MessageSender,
    addresses: Addresses,
    owner: String,
    /// When they were counted, and how many there were.
    partitions: Option<(Instant, u16)>,
}

impl Consumer {
    /// Consumes records while this member is the leader.
    fn consume(&mut self, session: &mut Option<Session>, stop: &StopSignal) {
        match self.receive(session, stop) {
            Ok(()) => self.transport.note(NAME, None),
            Err(IngestError::Kafka(error)) => self.transport.note(NAME, Some(&error)),
            Err(IngestError::Database(error)) => {
                tracing::debug!(%error, "cannot store the position in url_ingest; retrying");
                *session = None;
            }
        }
    }

    fn receive(&mut self, session: &mut Option<Session>, stop: &StopSignal) -> Result<(), IngestError> {
        let session = match session {
            Some(session) => session,
            None => session.insert(self.database.connect(LIMIT)?),
        };
        while !stop.is_stopped() && leads(session, &self.owner)? {
            self.receive_piece(session)?;
            self.transport.note(NAME, None);
        }
        Ok(())
    }

    fn receive_piece(&mut self, session: &mut Session) -> Result<(), IngestError> {
        let positions = progress::positions(session, self.partitions()?)?;
        let read = match self.kafka.read_runs(&self.topic, &positions, PIECE_BYTES, WAIT) {
            Err(error) if error.kind == ServerErrorKind::DataLost => {
                return self.skip_lost(session, &positions);
            }
            read => read?,
        };
        if read.is_empty() {
            return Ok(());
        }
        let mut judged = self.addresses.judge(session, &positions, &read)?;
        leave_out_recent(session, &mut judged)?;
        let JudgedRecords { reached, accepted, examples } = judged;
        let mut by_job: BTreeMap<JobId, Vec<(Url, u8)>> = BTreeMap::new();
        for one in accepted {
            by_job.entry(one.job).or_default().push((one.url, one.priority));
        }
        let jobs: Vec<i32> = by_job.keys().map(|job| i32::try_from(job.0).unwrap_or(0)).collect();
        let addressing = self.addressing();
        let outgoing = by_job.into_iter().flat_map(|(job, urls)| addressing.messages(job, urls)).collect();
        let prepared = self.sender.prepare(outgoing)?;
        // If a job has ended or the leader has changed meanwhile, the records are read and judged again.
        if progress::advance(session, &reached, &examples, &jobs, Some(&prepared))? {
            log_unusable(&self.topic, &reached, &examples);
        }
        Ok(())
    }

    fn addressing(&self) -> Addressing<'_> {
        let Addresses { suffixes, key, shards, .. } = &self.addresses;
        Addressing { suffixes, key, shards: *shards }
    }

    fn partitions(&mut self) -> Answered<u16> {
        if let Some((at, known)) = self.partitions
            && at.elapsed() < COUNT_EVERY
        {
            return Ok(known);
        }
        let number = partition_count(&mut self.kafka, &self.topic)?;
        self.partitions = Some((Instant::now(), number));
        Ok(number)
    }

    /// Records were deleted before they were read: counts and logs them, and continues after them.
    fn skip_lost(&mut self, session: &mut Session, positions: &[(u16, i64)]) -> Result<(), IngestError> {
        let numbers: Vec<u16> = positions.iter().map(|(partition, _)| *partition).collect();
        let ranges = self.kafka.ranges(&self.topic, &numbers)?;
        let mut reached = BTreeMap::new();
        for ((partition, before), range) in positions.iter().zip(ranges) {
            if *before < range.begin {
                let (next, lost) = (range.begin, range.begin - before);
                tracing::error!(partition, lost, "records of url_ingest were deleted before they were read");
                let one = Reached { before: *before, next, lost, ..Reached::default() };
                reached.insert(*partition, one);
            }
        }
        progress::advance(session, &reached, &[], &[], None)?;
        Ok(())
    }
}

fn log_unusable(topic: &str, reached: &BTreeMap<u16, Reached>, examples: &[Example]) {
    let bad: i64 = reached.values().map(|one| one.bad).sum();
    if let Some(first) = examples.first().filter(|_| bad > 0) {
        let Example { partition, offset, why } = first;
        tracing::warn!(topic, bad, partition, offset, why, "unusable records; this is the first");
    }
}
