//! Passes on what the catalogue has: pages, failures and notices, to Kafka, where others read them ([`crate::kafka::messages`]).
//! The member that leads does it, from the position that is stored, and notes the new one when Kafka has acknowledged.
//! So everything comes in the order of its commits, at least once, and while Kafka is away it stays in the catalogue and
//! the crawl does not wait for it.

use crate::background::Background;
use crate::catalogue::unpublished::{self, Piece};
use crate::database::{Database, DatabaseError, LIMIT, Session};
use crate::kafka::messages::{CrawlFailure, CrawlResult, RobotsCacheMiss};
use crate::kafka::{Kafka, Outgoing, Topic, Topics};
use crate::members::leads;
use crate::server_error::{Result as Answered, ServerError};
use crate::transport::Transport;
use argiope_model::{PublicSuffixes, Url, shard_of};
use argiope_store::catalogue::{ErrorRow, StoredPage};
use argiope_store::clock::now;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at the catalogue when all is published, and after a failure.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What may be taken for the rest when the worker ends.
const LAST_LOOK: Duration = Duration::from_secs(10);
const NAME: &str = "the publisher";

/// What is published, each kind from a position of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Pages,
    RepeatedPages,
    Failures,
    RepeatedFailures,
    Disallowed,
    RobotsRequests,
}

impl What {
    const ALL: [What; 6] = [
        What::Pages,
        What::RepeatedPages,
        What::Failures,
        What::RepeatedFailures,
        What::Disallowed,
        What::RobotsRequests,
    ];

    fn name(self) -> &'static str {
        match self {
            What::Pages => "pages",
            What::RepeatedPages => "repeated pages",
            What::Failures => "failures",
            What::RepeatedFailures => "repeated failures",
            What::Disallowed => "disallowed",
            What::RobotsRequests => "robots requests",
        }
    }

    fn topic(self) -> Topic {
        match self {
            What::Pages | What::RepeatedPages => Topic::CrawlResults,
            What::Failures | What::RepeatedFailures | What::Disallowed => Topic::CrawlFailures,
            What::RobotsRequests => Topic::RobotsCacheMiss,
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Unpublished {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Kafka(#[from] ServerError),
}

/// The thread of one worker. When this is dropped, what was stored last is published first, if that is done in a moment.
pub struct Publisher {
    _thread: Background,
}

impl Publisher {
    /// None where the cluster has no Kafka. `owner` publishes while it leads.
    pub fn start(
        database: &Database,
        transport: &Transport,
        suffixes: Arc<PublicSuffixes>,
        owner: &str,
    ) -> Answered<Option<Publisher>> {
        let Some((kafka, topics)) = transport.client()? else { return Ok(None) };
        let mut publishing = Publishing {
            database: database.clone(),
            transport: transport.clone(),
            kafka,
            topics,
            suffixes,
            owner: owner.to_owned(),
            partitions: HashMap::new(),
        };
        let thread = Background::start("publisher", move |stop| {
            let mut session = None;
            while !stop.stopped_within(LOOK_EVERY) {
                publishing.look(&mut session, &|| stop.is_stopped());
            }
            let end = Instant::now() + LAST_LOOK;
            publishing.look(&mut session, &|| Instant::now() >= end);
        })?;
        Ok(Some(Publisher { _thread: thread }))
    }
}

struct Publishing {
    database: Database,
    transport: Transport,
    kafka: Kafka,
    topics: Topics,
    suffixes: Arc<PublicSuffixes>,
    owner: String,
    /// How many each topic has.
    partitions: HashMap<Topic, u16>,
}

/// A record with its key.
struct Record {
    key: String,
    value: Vec<u8>,
}

impl Publishing {
    /// All there is while this member leads, unless it is to stop.
    fn look(&mut self, session: &mut Option<Session>, stops: &dyn Fn() -> bool) {
        let done = self.publish(session, stops);
        match &done {
            Ok(()) => self.transport.note(NAME, None),
            Err(Unpublished::Kafka(error)) => self.transport.note(NAME, Some(error)),
            Err(Unpublished::Database(error)) => {
                tracing::debug!(%error, "what is to be published cannot be read");
                *session = None;
            }
        }
    }

    fn publish(
        &mut self,
        session: &mut Option<Session>,
        stops: &dyn Fn() -> bool,
    ) -> Result<(), Unpublished> {
        let session = match session {
            Some(session) => session,
            None => session.insert(self.database.connect(LIMIT)?),
        };
        for what in What::ALL {
            while !stops() && leads(session, &self.owner)? && self.publish_piece(session, what)? {}
        }
        Ok(())
    }

    /// False if there was nothing more.
    fn publish_piece(&mut self, session: &mut Session, what: What) -> Result<bool, Unpublished> {
        let before = position(session, what)?;
        let (records, reached) = self.read(session, what, before)?;
        if reached == before {
            return Ok(false);
        }
        let partitions = self.partitions(what.topic())?;
        let outgoing: Vec<Outgoing<'_>> = records
            .iter()
            .map(|record| Outgoing {
                partition: shard_of(&record.key, partitions),
                key: Some(record.key.as_bytes()),
                value: &record.value,
            })
            .collect();
        self.kafka.write(&self.topics.name(what.topic()), &outgoing)?;
        // Should another lead by now, it may have gone on from here already.
        let sql = "INSERT INTO published (what, position) VALUES ($1, $2)
                   ON CONFLICT (what) DO UPDATE SET position = greatest(published.position, $2)";
        session.query(sql, &[&what.name(), &i64::try_from(reached).unwrap_or(i64::MAX)])?;
        Ok(true)
    }

    fn read(
        &self,
        session: &mut Session,
        what: What,
        after: u64,
    ) -> Result<(Vec<Record>, u64), DatabaseError> {
        let of_page =
            |stored: &StoredPage| self.record(&stored.row.page.url, &CrawlResult::from(&stored.row));
        let of_failure = |row: &ErrorRow| self.record(&row.url, &CrawlFailure::of_error(row));
        Ok(match what {
            What::Pages => records(unpublished::pages(session, after)?, of_page),
            What::RepeatedPages => records(unpublished::repeated_pages(session, after)?, of_page),
            What::Failures => records(unpublished::failures(session, after)?, of_failure),
            What::RepeatedFailures => records(unpublished::repeated_failures(session, after)?, of_failure),
            What::Disallowed => {
                let now = now();
                records(unpublished::disallowed(session, after)?, |row| {
                    self.record(&row.url, &CrawlFailure::of_refusal(row, now))
                })
            }
            What::RobotsRequests => records(unpublished::robots_requests(session, after)?, |(url, at)| {
                let url = Url::from_stored(url).ok()?;
                self.record(url.as_str(), &RobotsCacheMiss { origin: url.origin(), at: *at })
            }),
        })
    }

    /// None for what could not have been stored.
    fn record(&self, url: &str, message: &impl Serialize) -> Option<Record> {
        let url = Url::from_stored(url).ok()?;
        let key = self.suffixes.root_domain(url.host()).to_owned();
        let value = serde_json::to_vec(message).ok()?;
        Some(Record { key, value })
    }

    /// The operator may have given a topic more of them.
    fn partitions(&mut self, topic: Topic) -> Answered<u16> {
        if let Some(known) = self.partitions.get(&topic) {
            return Ok(*known);
        }
        let name = self.topics.name(topic);
        let number = self.kafka.partitions(&name)?.and_then(|number| u16::try_from(number).ok());
        let number = number.unwrap_or_else(|| topic.partitions(self.topics.shards));
        self.partitions.insert(topic, number);
        Ok(number)
    }
}

fn records<T>(piece: Piece<T>, record: impl Fn(&T) -> Option<Record>) -> (Vec<Record>, u64) {
    (piece.rows.iter().filter_map(record).collect(), piece.reached)
}

fn position(session: &mut Session, what: What) -> Result<u64, DatabaseError> {
    let row = session.query_opt("SELECT position FROM published WHERE what = $1", &[&what.name()])?;
    let Some(row) = row else { return Ok(0) };
    let position: i64 = row.try_get(0).map_err(|error| session.error(error))?;
    Ok(u64::try_from(position).unwrap_or(0))
}

/// How many pages are stored and not published yet.
pub fn unpublished_pages(session: &mut Session) -> Result<u64, DatabaseError> {
    let sql =
        "SELECT greatest(0, next_page - 1 - coalesce((SELECT position FROM published WHERE what = $1), 0))
               FROM catalogue_clock";
    let row = session.query_one(sql, &[&What::Pages.name()])?;
    let pages: i64 = row.try_get(0).map_err(|error| session.error(error))?;
    Ok(u64::try_from(pages).unwrap_or(0))
}
