//! Publishes what the catalogue has to Kafka, where other programs read it ([`crate::kafka::messages`]): pages, failures,
//! URLs that robots.txt disallows, and requests for robots.txt.
//!
//! The leader of the cluster does it, as a follower ([`argiope_store::follower`]). Each stream has a position in the
//! table `published`, which moves when Kafka has acknowledged: everything is published in commit order, at least once.
//! While Kafka is unreachable, it stays in the catalogue, and the crawl does not wait for it.

mod notices;
pub(crate) mod positions;
mod results;
mod topic_writer;

pub use positions::unpublished_pages;
pub use results::ResultsSink;
pub use topic_writer::TopicWriter;

use crate::catalogue::PostgresReader;
use crate::database::{Database, DatabaseError, LIMIT, Session};
use crate::members::leads;
use crate::server_error::{Result as Answered, ServerError, ServerErrorKind};
use crate::transport::Transport;
use argiope_model::PublicSuffixes;
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::{
    CatalogueSource, Follow, Follower, FollowerOptions, LagUnit, PagesFollower, Step, Turn,
};
use notices::Notices;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Other workers commit too, and the leader may change: it looks this often even if nothing wakes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a worker that stops may take to publish what was stored last.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
const NAME: &str = "the publisher";

#[derive(Debug, thiserror::Error)]
enum PublishError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Kafka(#[from] ServerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PublishError {
    fn of_kafka(&self) -> Option<&ServerError> {
        match self {
            PublishError::Kafka(error) => Some(error),
            PublishError::Store(error) => error.source.as_ref()?.downcast_ref(),
            PublishError::Database(_) => None,
        }
    }
}

/// The publisher of one worker. When it is dropped it publishes what was stored last, if that is quickly done.
pub struct Publisher {
    follower: Follower,
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
        let behind: Arc<AtomicU64> = Arc::default();
        let publishing = Publishing {
            database: database.clone(),
            transport: transport.clone(),
            writer: TopicWriter::new(kafka, topics, suffixes),
            owner: owner.to_owned(),
            connected: None,
            behind: Arc::clone(&behind),
        };
        let options = FollowerOptions {
            first_pause: LOOK_EVERY,
            longest_pause: LOOK_EVERY,
            ..FollowerOptions::new(
                "Kafka results",
                LagUnit::Pages,
                Box::new(move || behind.load(Ordering::Acquire)),
            )
        };
        let follower = Follower::start(options, publishing).map_err(|error| {
            ServerError::new(ServerErrorKind::Misconfigured, "the system", error.to_string())
        })?;
        Ok(Some(Publisher { follower }))
    }

    pub fn follower(&self) -> &Follower {
        &self.follower
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.follower.drain(Some(DRAIN_LIMIT));
    }
}

/// Of the database; pages have a connection of their own while this member leads.
struct Connected {
    session: Session,
    pages: Option<CatalogueSource>,
}

struct Publishing {
    database: Database,
    transport: Transport,
    writer: TopicWriter,
    owner: String,
    /// None before the first look and after a failure.
    connected: Option<Connected>,
    /// Pages that are stored and not published. Others than the leader do not know, and show none.
    behind: Arc<AtomicU64>,
}

impl Publishing {
    fn connect(&mut self) -> std::result::Result<&mut Connected, DatabaseError> {
        Ok(match &mut self.connected {
            Some(connected) => connected,
            unconnected => {
                unconnected.insert(Connected { session: self.database.connect(LIMIT)?, pages: None })
            }
        })
    }

    /// Everything there is, while this member leads.
    fn publish(&mut self, turn: &Turn<'_>) -> std::result::Result<(), PublishError> {
        let owner = self.owner.clone();
        let Connected { session, .. } = self.connect()?;
        if !leads(session, &owner)? {
            self.behind.store(0, Ordering::Release);
            if let Some(connected) = &mut self.connected {
                connected.pages = None;
            }
            return Ok(());
        }
        let behind = unpublished_pages(session)?;
        self.behind.store(behind, Ordering::Release);
        while !turn.is_over() && self.publish_pages()? {}
        for notices in Notices::ALL {
            while !turn.is_over() && self.publish_notices(notices)? {}
        }
        Ok(())
    }

    /// Publishes one batch. False if there was nothing new, or another member leads.
    fn publish_pages(&mut self) -> std::result::Result<bool, PublishError> {
        let Publishing { database, writer, owner, connected, behind, .. } = self;
        let Some(Connected { session, pages }) = connected else { return Ok(false) };
        if !leads(session, owner)? {
            return Ok(false);
        }
        let pages = match pages {
            Some(pages) => pages,
            unopened => {
                let reader = PostgresReader::open(database)?;
                unopened.insert(CatalogueSource::new(Box::new(reader), None))
            }
        };
        // Created for each batch: the position is read from the database, where another leader may have moved it.
        let mut sink = ResultsSink::new(session, writer);
        let is_new = PagesFollower::new(pages, &mut sink).advance()?;
        let left = behind.load(Ordering::Acquire).saturating_sub(sink.published());
        behind.store(left, Ordering::Release);
        Ok(is_new)
    }

    fn publish_notices(&mut self, notices: Notices) -> std::result::Result<bool, PublishError> {
        let Publishing { writer, owner, connected, .. } = self;
        let Some(Connected { session, .. }) = connected else { return Ok(false) };
        if !leads(session, owner)? {
            return Ok(false);
        }
        let before = positions::read(session, notices.name())?;
        let (records, reached) = notices.read(session, writer, before)?;
        if reached == before {
            return Ok(false);
        }
        writer.write(notices.topic(), &records)?;
        positions::advance(session, &[(notices.name(), reached)])?;
        Ok(true)
    }

    /// Every error is retried: what is wrong with a server is for its operator to solve, and the crawl continues.
    fn failed(&mut self, error: &PublishError) -> StoreError {
        match error.of_kafka() {
            Some(error) => self.transport.note(NAME, Some(error)),
            None => self.connected = None,
        }
        StoreError::new(ErrorKind::Unreachable, "publishing", error.to_string())
    }
}

impl Follow for Publishing {
    fn step(&mut self, turn: &Turn<'_>) -> Result<Step> {
        match self.publish(turn) {
            Ok(()) => self.transport.note(NAME, None),
            Err(error) => {
                let error = self.failed(&error);
                // A worker that stops does not wait for Kafka: the next leader continues.
                if !turn.is_draining() {
                    return Err(error);
                }
            }
        }
        Ok(Step::CaughtUp { look_within: Some(LOOK_EVERY) })
    }
}
