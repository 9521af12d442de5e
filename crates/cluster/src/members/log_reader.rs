//! Reads the logs of this member's shards if they are in Kafka, each from its applied position. Kafka responds as soon
//! as there is something for any of them.

use super::EventSink;
use super::losses::{another_topic, log_identity, record};
use super::reader::{Piece, connected, deliver_pieces};
use super::shared::Shared;
use crate::database::{Database, Session};
use crate::kafka;
use crate::server_error::{ServerError, ServerErrorKind};
use crate::transport::{KafkaLog, Log, Messages, Offset, Transport};
use argiope_frontier::message::Message;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For the messages of one shard that are delivered at once.
const PIECE_BYTES: usize = 1 << 20;
/// How long Kafka may wait for something new.
const WAIT: Duration = Duration::from_millis(500);
/// While messages are on their way to the frontier: when they are applied, continue with their shard.
const SHORT_WAIT: Duration = Duration::from_millis(20);
/// After a failure, and before an unreadable log is tried again.
const PAUSE: Duration = Duration::from_secs(1);
const LONG_PAUSE: Duration = Duration::from_secs(10);
/// How often to verify the topic and to report to Kafka how far the logs are applied.
const LOOK_EVERY: Duration = Duration::from_secs(10);

const NAME: &str = "the reader of the logs";
/// The source name of two problems: that logs have lost messages, and that their topic is unreachable.
const LOGS: &str = "the logs";
const TOPIC: &str = "the topic of the logs";

pub(super) struct LogReader {
    pub(super) database: Database,
    pub(super) transport: Transport,
    pub(super) log: KafkaLog,
    pub(super) shared: Arc<Shared>,
    pub(super) events: EventSink,
    /// Logs that cannot be read at their position, and when to try again.
    pub(super) stuck: BTreeMap<u16, Instant>,
}

impl LogReader {
    pub(super) fn run(mut self) {
        let mut session = None;
        let mut next_look = Instant::now();
        while !self.shared.is_closed() {
            if Instant::now() >= next_look {
                let is_there = self.look(&mut session);
                next_look = Instant::now() + if is_there { LOOK_EVERY } else { PAUSE };
            }
            self.say_losses();
            let (ready, is_under_way) = self.ready();
            if ready.is_empty() {
                self.shared.wait_for_wake(WAIT);
                continue;
            }
            let wait = if is_under_way { SHORT_WAIT } else { WAIT };
            let read = self.read(&mut session, &ready, wait);
            if self.deliver(&mut session, read).is_err() {
                // It may be available again, and be another one.
                next_look = Instant::now();
                self.shared.wait_for_wake(PAUSE);
            }
        }
    }

    /// Another topic of the same name has other records, and the applied positions mean nothing there. False if no
    /// topic is available.
    fn look(&mut self, session: &mut Option<Session>) -> bool {
        let identity = self.log.identity();
        self.transport.note(TOPIC, identity.as_ref().err());
        let is_there = identity.is_ok();
        if let Ok(Some(found)) = identity {
            let known = connected(&self.database, session).and_then(log_identity).ok().flatten();
            if let Some(known) = known.filter(|known| *known != found) {
                let shards: Vec<u16> = self.shared.readings().keys().copied().collect();
                shards.into_iter().for_each(|shard| self.lose(shard, &another_topic(&known, &found)));
            }
        }
        self.record_losses(session);
        if is_there {
            self.say_progress();
        }
        is_there
    }

    fn lose(&self, shard: u16, what: &str) {
        if let Some(reading) = self.shared.readings().get_mut(&shard)
            && reading.loss.is_none()
        {
            tracing::error!(
                shard,
                after = reading.delivered,
                what,
                "the log of a shard has lost messages that were not applied"
            );
            reading.loss = Some(what.into());
        }
    }

    /// If they cannot be stored now, then with the next check.
    fn record_losses(&self, session: &mut Option<Session>) {
        let lost: Vec<_> = self
            .shared
            .readings()
            .iter()
            .filter_map(|(shard, of)| Some((*shard, of.loss.clone()?)))
            .collect();
        let epoch = |shard| self.shared.epochs.get(shard);
        let losses: Vec<_> =
            lost.iter().filter_map(|(shard, what)| Some((*shard, epoch(*shard)?, &**what))).collect();
        if losses.is_empty() {
            return;
        }
        let recorded = connected(&self.database, session).and_then(|session| record(session, &losses));
        if let Err(error) = recorded {
            tracing::warn!(%error, "the losses of the logs are not recorded yet");
        }
    }

    fn say_losses(&self) {
        let loss = self.shared.readings().values().find_map(|reading| reading.loss.clone());
        let error = loss.map(|what| ServerError::new(ServerErrorKind::DataLost, kafka::SETTING, &*what));
        self.transport.note(LOGS, error.as_ref());
    }

    /// Where to continue each log, and whether messages are being applied.
    fn ready(&mut self) -> (Vec<(u16, Offset)>, bool) {
        let now = Instant::now();
        self.stuck.retain(|_, until| *until > now);
        let readings = self.shared.readings();
        let is_under_way = readings.values().any(|reading| reading.delivered != reading.applied);
        let ready = readings
            .iter()
            .filter(|(shard, reading)| reading.is_ready() && !self.stuck.contains_key(shard))
            .map(|(shard, reading)| (*shard, reading.delivered))
            .collect();
        (ready, is_under_way)
    }

    fn read(
        &mut self,
        session: &mut Option<Session>,
        ready: &[(u16, Offset)],
        wait: Duration,
    ) -> Result<Vec<Piece>, ()> {
        let polled = self.log.poll(ready, PIECE_BYTES, wait);
        let read = match polled {
            Ok(read) => {
                if self.stuck.is_empty() {
                    self.transport.note(NAME, None);
                }
                read
            }
            Err(error) if error.is_retryable() => {
                self.transport.note(NAME, Some(&error));
                return Err(());
            }
            // One of them is the cause: the others are read.
            Err(_) => {
                let read = self.read_each(ready);
                self.record_losses(session);
                read
            }
        };
        Ok(read.into_iter().map(|(shard, messages)| piece(shard, messages)).collect())
    }

    fn read_each(&mut self, ready: &[(u16, Offset)]) -> Vec<(u16, Messages)> {
        let mut read = Vec::new();
        for (shard, after) in ready {
            match self.log.read(*shard, *after, PIECE_BYTES) {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => read.push((*shard, messages)),
                Err(error) if error.kind == ServerErrorKind::DataLost => self.lose(*shard, &error.message),
                Err(error) => {
                    tracing::error!(%error, shard, after, "the log of a shard cannot be read");
                    self.transport.note(NAME, Some(&error));
                    self.stuck.insert(*shard, Instant::now() + LONG_PAUSE);
                }
            }
        }
        read
    }

    fn deliver(&self, session: &mut Option<Session>, read: Result<Vec<Piece>, ()>) -> Result<(), ()> {
        let pieces = read?;
        if pieces.is_empty() {
            return Ok(());
        }
        deliver_pieces(&self.database, session, &self.shared, &self.events, pieces).map_err(|error| {
            tracing::warn!(%error, "cannot deliver messages: unknown jobs");
        })
    }

    /// For those who monitor Kafka; nobody here reads it.
    fn say_progress(&mut self) {
        let applied: Vec<(u16, Offset)> =
            self.shared.readings().iter().map(|(shard, reading)| (*shard, reading.applied)).collect();
        if let Err(error) = self.log.note_progress(&applied) {
            tracing::debug!(%error, "could not report to Kafka how far the logs are applied");
        }
    }
}

fn piece(shard: u16, messages: Messages) -> Piece {
    let jobs = messages.iter().map(|(_, bytes)| Message::job_of(bytes).map_or(0, |job| job.0)).collect();
    Piece { shard, messages, jobs }
}
