//! The door for other programs: URLs that they write to the topic `url_ingest` are sent to the shards as those of `ingest`
//! are. The member that leads reads it, from positions that are stored with what was sent: a record is taken in at least
//! once, and a URL that comes twice is known to its shard. A record that makes no sense is counted and passed over.

mod progress;
mod record;

pub use progress::{Example, ReceivedUrls, begin};

use crate::background::{Background, StopSignal};
use crate::database::{Database, DatabaseError, Session};
use crate::kafka::{Kafka, RecordRun, Topic, Topics};
use crate::members::{Addressing, MessageSender, OpenJob, leads, open_jobs, recently_fetched};
use crate::server_error::{Result as Answered, ServerError, ServerErrorKind};
use crate::transport::Transport;
use argiope_frontier::admission::{DomainPolicy, JobRules};
use argiope_model::{FingerprintKey, JobId, JobSpec, PublicSuffixes, Url};
use argiope_store::catalogue::url_key;
use argiope_store::clock::now;
use progress::Reached;
use record::{JobName, Wish};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);
/// Between two looks at who leads, and after a failure.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long Kafka may take to find something new.
const WAIT: Duration = Duration::from_millis(500);
/// Of a partition's records that are taken in at once.
const PIECE_BYTES: usize = 1 << 20;
/// An operator may give the topic more partitions.
const COUNT_EVERY: Duration = Duration::from_secs(60);
/// Of those that nothing came of, in one go.
const MOST_EXAMPLES: usize = 20;
/// Of what is said of each, in characters.
const LONGEST_REASON: usize = 300;
const NAME: &str = "the reader of url_ingest";

/// What somebody wrote for a URL -> one that the job may crawl, or why not.
pub type ReadUrl = Box<dyn Fn(&JobSpec, &str) -> Result<Url, String> + Send>;

/// What URLs are sent with, for as long as the worker works.
pub struct Addresses {
    pub suffixes: Arc<PublicSuffixes>,
    pub key: FingerprintKey,
    pub shards: u16,
    /// The filters of single domains, as they were when the worker started.
    pub policy: Arc<DomainPolicy>,
    pub read_url: ReadUrl,
}

/// The thread of one worker.
pub struct IngestConsumer {
    _thread: Background,
}

impl IngestConsumer {
    /// None where the cluster has no Kafka. `owner` reads while it leads.
    pub fn start(
        database: &Database,
        transport: &Transport,
        addresses: Addresses,
        owner: &str,
    ) -> Answered<Option<IngestConsumer>> {
        let Some((kafka, topics)) = transport.client()? else { return Ok(None) };
        let mut receiving = Receiving {
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
            while !stop.stopped_within(LOOK_EVERY) {
                receiving.look(&mut session, &stop);
            }
        })?;
        Ok(Some(IngestConsumer { _thread: thread }))
    }
}

#[derive(Debug, thiserror::Error)]
enum NotReceived {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Kafka(#[from] ServerError),
}

struct Receiving {
    database: Database,
    transport: Transport,
    kafka: Kafka,
    topic: String,
    sender: MessageSender,
    addresses: Addresses,
    owner: String,
    /// How many there were, and when.
    partitions: Option<(Instant, u16)>,
}

/// A URL for a job.
struct Found {
    job: JobId,
    url: Url,
    priority: u8,
    partition: u16,
    skip_recent_days: Option<u32>,
}

/// What a piece of the topic comes to.
#[derive(Default)]
struct Piece {
    reached: BTreeMap<u16, Reached>,
    found: Vec<Found>,
    examples: Vec<Example>,
}

/// A record that nothing comes of.
enum Passed {
    Bad(String),
    LeftOut(String),
}

impl Receiving {
    /// All there is and comes while this member leads.
    fn look(&mut self, session: &mut Option<Session>, stop: &StopSignal) {
        match self.receive(session, stop) {
            Ok(()) => self.transport.note(NAME, None),
            Err(NotReceived::Kafka(error)) => self.transport.note(NAME, Some(&error)),
            Err(NotReceived::Database(error)) => {
                tracing::debug!(%error, "what was read of url_ingest cannot be noted");
                *session = None;
            }
        }
    }

    fn receive(&mut self, session: &mut Option<Session>, stop: &StopSignal) -> Result<(), NotReceived> {
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

    fn receive_piece(&mut self, session: &mut Session) -> Result<(), NotReceived> {
        let positions = progress::positions(session, self.partitions()?)?;
        let read = match self.kafka.read_runs(&self.topic, &positions, PIECE_BYTES, WAIT) {
            Err(error) if error.kind == ServerErrorKind::DataLost => {
                return self.pass_over_lost(session, &positions);
            }
            read => read?,
        };
        if read.is_empty() {
            return Ok(());
        }
        let mut piece = self.judged(session, &positions, &read)?;
        leave_out_recent(session, &mut piece)?;
        let Piece { reached, found, examples } = piece;
        let mut by_job: BTreeMap<JobId, Vec<(Url, u8)>> = BTreeMap::new();
        for one in found {
            by_job.entry(one.job).or_default().push((one.url, one.priority));
        }
        let jobs: Vec<i32> = by_job.keys().map(|job| i32::try_from(job.0).unwrap_or(0)).collect();
        let addressing = self.addressing();
        let outgoing = by_job.into_iter().flat_map(|(job, urls)| addressing.messages(job, urls)).collect();
        let prepared = self.sender.prepare(outgoing)?;
        // If a job has ended meanwhile, or another leads, it is read again, and judged as things are then.
        if progress::advance(session, &reached, &examples, &jobs, Some(&prepared))? {
            say(&self.topic, &reached, &examples);
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
        let number = count(&mut self.kafka, &self.topic)?;
        self.partitions = Some((Instant::now(), number));
        Ok(number)
    }

    /// They were deleted before anybody read them: that is said, and what is left is read.
    fn pass_over_lost(&mut self, session: &mut Session, positions: &[(u16, i64)]) -> Result<(), NotReceived> {
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

    fn judged(
        &self,
        session: &mut Session,
        positions: &[(u16, i64)],
        read: &[(u16, RecordRun)],
    ) -> Result<Piece, NotReceived> {
        let positions: HashMap<u16, i64> = positions.iter().copied().collect();
        let wishes: Vec<(u16, i64, Result<Wish, String>)> = read
            .iter()
            .flat_map(|(partition, run)| run.records.iter().map(move |record| (*partition, record)))
            .map(|(partition, (offset, value))| (partition, *offset, Wish::read(value)))
            .collect();
        let jobs = self.jobs(session, wishes.iter().filter_map(|(_, _, wish)| wish.as_ref().ok()))?;
        let mut piece = Piece::default();
        for (partition, run) in read {
            let before = positions.get(partition).copied().unwrap_or(0);
            let one = Reached { before, next: run.next, ..Reached::default() };
            piece.reached.insert(*partition, one);
            if let Some(why) = &run.unreadable {
                piece.pass(*partition, run.next - 1, Passed::Bad(why.clone()));
            }
        }
        for (partition, offset, wish) in wishes {
            match wish.map_err(Passed::Bad).and_then(|wish| self.found(&jobs, partition, wish)) {
                Ok(found) => {
                    piece.reached.entry(partition).or_default().taken += 1;
                    piece.found.push(found);
                }
                Err(passed) => piece.pass(partition, offset, passed),
            }
        }
        Ok(piece)
    }

    fn found(&self, jobs: &Jobs, partition: u16, wish: Wish) -> Result<Found, Passed> {
        let Some(job) = jobs.named(&wish.job) else {
            return Err(Passed::Bad(match wish.job {
                JobName::Number(number) => format!("job {number} is unknown or has ended"),
                JobName::Name(name) => format!("job '{name}' is unknown or has ended"),
            }));
        };
        let url = (self.addresses.read_url)(&job.spec, &wish.url).map_err(Passed::Bad)?;
        job.rules.judge(&url, 0).map_err(|skip| {
            Passed::LeftOut(format!("'{}' is {}: {}", url, skip.reason.as_str(), skip.detail))
        })?;
        let Wish { priority, skip_recent_days, .. } = wish;
        Ok(Found { job: job.id, url, priority, partition, skip_recent_days })
    }

    /// Those that are meant and have not ended.
    fn jobs<'w>(
        &self,
        session: &mut Session,
        wishes: impl Iterator<Item = &'w Wish>,
    ) -> Result<Jobs, DatabaseError> {
        let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
        for wish in wishes {
            match &wish.job {
                JobName::Number(number) => numbers.extend(i32::try_from(*number)),
                JobName::Name(name) => {
                    names.insert(name.clone());
                }
            }
        }
        let (numbers, names): (Vec<i32>, Vec<String>) =
            (numbers.into_iter().collect(), names.into_iter().collect());
        let mut jobs = Jobs::default();
        if numbers.is_empty() && names.is_empty() {
            return Ok(jobs);
        }
        for OpenJob { name, job } in open_jobs(session, &numbers, &names)? {
            match JobRules::compile(&job.spec, &job.seeds, &self.addresses.suffixes, now()) {
                Ok(rules) => {
                    let rules = rules.with_domain_policy(Arc::clone(&self.addresses.policy));
                    jobs.by_name.extend(name.map(|name| (name, job.id)));
                    jobs.open.insert(job.id, Job { id: job.id, spec: job.spec, rules });
                }
                Err(error) => tracing::warn!(job = %job.id, %error, "the rules of a job cannot be used"),
            }
        }
        Ok(jobs)
    }
}

struct Job {
    id: JobId,
    spec: JobSpec,
    rules: JobRules,
}

#[derive(Default)]
struct Jobs {
    open: BTreeMap<JobId, Job>,
    /// The latest of each name.
    by_name: HashMap<String, JobId>,
}

impl Jobs {
    fn named(&self, name: &JobName) -> Option<&Job> {
        let id = match name {
            JobName::Number(number) => JobId(*number),
            JobName::Name(name) => *self.by_name.get(name)?,
        };
        self.open.get(&id)
    }
}

impl Piece {
    fn pass(&mut self, partition: u16, offset: i64, passed: Passed) {
        let reached = self.reached.entry(partition).or_default();
        let why = match passed {
            Passed::Bad(why) => {
                reached.bad += 1;
                why
            }
            Passed::LeftOut(why) => {
                reached.left_out += 1;
                why
            }
        };
        if self.examples.len() < MOST_EXAMPLES {
            // Others decide how long it is.
            let why = why.chars().take(LONGEST_REASON).collect();
            self.examples.push(Example { partition, offset, why });
        }
    }
}

/// What was fetched within as many days as its record says.
fn leave_out_recent(session: &mut Session, piece: &mut Piece) -> Result<(), DatabaseError> {
    let key = |found: &Found| format!("{:016x}", url_key(found.url.normal()));
    let mut by_days: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for found in &piece.found {
        if let Some(days) = found.skip_recent_days {
            by_days.entry(days).or_default().push(key(found));
        }
    }
    let mut recent = HashSet::new();
    for (days, keys) in by_days {
        let fetched = recently_fetched(session, &keys, days)?;
        recent.extend(fetched.into_iter().map(|key| (days, key)));
    }
    let Piece { reached, found, .. } = piece;
    found.retain(|one| {
        let is_recent = one.skip_recent_days.is_some_and(|days| recent.contains(&(days, key(one))));
        if is_recent {
            let of = reached.entry(one.partition).or_default();
            (of.taken, of.left_out) = (of.taken - 1, of.left_out + 1);
        }
        !is_recent
    });
    Ok(())
}

fn say(topic: &str, reached: &BTreeMap<u16, Reached>, examples: &[Example]) {
    let bad: i64 = reached.values().map(|one| one.bad).sum();
    if let Some(first) = examples.first().filter(|_| bad > 0) {
        let Example { partition, offset, why } = first;
        tracing::warn!(topic, bad, partition, offset, why, "records that cannot be used, the first of them");
    }
}

fn count(kafka: &mut Kafka, topic: &str) -> Answered<u16> {
    let number = kafka.partitions(topic)?.ok_or_else(|| crate::kafka::no_such_topic(topic))?;
    Ok(u16::try_from(number).unwrap_or(u16::MAX))
}

/// Where the topic ends, by partition.
pub fn ends(kafka: &mut Kafka, topics: &Topics) -> Answered<Vec<u64>> {
    let topic = topics.name(Topic::UrlIngest);
    let partitions: Vec<u16> = (0..count(kafka, &topic)?).collect();
    let ranges = kafka.ranges(&topic, &partitions)?;
    Ok(ranges.iter().map(|range| u64::try_from(range.end).unwrap_or(0)).collect())
}

/// What has come through the door, as far as the database knows, and how much waits before it, given where it ends.
pub fn received_urls(session: &mut Session, ends: Option<&[u64]>) -> Result<ReceivedUrls, DatabaseError> {
    let mut received = progress::received(session)?;
    if let Some(ends) = ends {
        let positions = progress::positions(session, u16::try_from(ends.len()).unwrap_or(u16::MAX))?;
        let next = positions.iter().map(|(_, next)| u64::try_from(*next).unwrap_or(0));
        received.waiting = Some(ends.iter().zip(next).map(|(end, next)| end.saturating_sub(next)).sum());
    }
    Ok(received)
}
