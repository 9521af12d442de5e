//! Reads messages to the shards of this member from their inboxes and delivers them. One piece per shard is in progress
//! at a time: the next is read when it has been applied. Reading never waits for fetching.

use super::EventSink;
use super::jobs::KnownJobs;
use super::shared::Shared;
use crate::database::{Database, LIMIT, Result, Session};
use argiope_frontier::member::MemberEvent;
use argiope_model::JobId;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Messages of one shard that are delivered at once.
const PIECE: i64 = 200;
/// Without a notifier, inboxes are checked this often.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// With one, in case a notification was lost.
const LOOK_SELDOM: Duration = Duration::from_secs(2);
/// After a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// How far a shard's log has been read and applied.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) delivered: u64,
    pub(super) applied: u64,
    /// It is being handed over: its next owner continues.
    pub(super) is_closing: bool,
    /// Its log has losses: it is not read.
    pub(super) loss: Option<Arc<str>>,
}

impl Reading {
    pub(super) fn is_ready(&self) -> bool {
        self.delivered == self.applied && !self.is_closing && self.loss.is_none()
    }
}

/// The piece read of one shard.
pub(super) struct Piece {
    pub(super) shard: u16,
    pub(super) messages: Vec<(u64, Vec<u8>)>,
    /// The offset of the messages, or 0.
    pub(super) jobs: Vec<u32>,
}

pub(super) fn run(database: &Database, shared: &Arc<Shared>, events: &EventSink) {
    let mut session = None;
    let mut trouble = Trouble::default();
    while !shared.is_closed() {
        let done = read_once(database, &mut session, shared, events);
        trouble.note(&done);
        match done {
            Ok(true) => {}
            Ok(false) if shared.is_notified.load(Ordering::Acquire) => shared.wait_for_wake(LOOK_SELDOM),
            Ok(false) => shared.wait_for_wake(LOOK_EVERY),
            Err(_) => shared.wait_for_wake(PAUSE),
        }
    }
}

/// Whether inboxes can be read; changes are logged.
#[derive(Default)]
struct Trouble {
    is_there: bool,
}

impl Trouble {
    /// True if a change was logged.
    fn note<T>(&mut self, done: &Result<T>) -> bool {
        let was_there = std::mem::replace(&mut self.is_there, done.is_err());
        match done {
            Err(error) if !was_there => tracing::warn!(%error, "inboxes cannot be read"),
            Ok(_) if was_there => tracing::warn!("inboxes can be read again"),
            _ => return false,
        }
        true
    }
}

/// True if there was something.
fn read_once(
    database: &Database,
    session: &mut Option<Session>,
    shared: &Arc<Shared>,
    events: &EventSink,
) -> Result<bool> {
    let ready: BTreeMap<u16, u64> = shared
        .readings()
        .iter()
        .filter(|(_, reading)| reading.is_ready())
        .map(|(shard, reading)| (*shard, reading.delivered))
        .collect();
    if ready.is_empty() {
        return Ok(false);
    }
    let pieces = read(connected(database, session)?, &ready)?;
    let any = !pieces.is_empty();
    deliver_pieces(database, session, shared, events, pieces)?;
    Ok(any)
}

pub(super) fn connected<'s>(
    database: &Database,
    session: &'s mut Option<Session>,
) -> Result<&'s mut Session> {
    match session {
        Some(session) => Ok(session),
        None => Ok(session.insert(database.connect(LIMIT)?)),
    }
}

/// Each preceded by the jobs it is for.
pub(super) fn deliver_pieces(
    database: &Database,
    session: &mut Option<Session>,
    shared: &Shared,
    events: &EventSink,
    pieces: Vec<Piece>,
) -> Result<()> {
    for piece in &pieces {
        announce_jobs(database, session, shared, events, &piece.jobs)?;
    }
    for Piece { shard, messages, .. } in pieces {
        let Some(last) = messages.last().map(|(offset, _)| *offset) else { continue };
        // Lost meanwhile: then another member reads it.
        if let Some(reading) = shared.readings().get_mut(&shard) {
            reading.delivered = last;
            events(vec![MemberEvent::Delivery { shard, messages }]);
        }
    }
    Ok(())
}

fn read(session: &mut Session, ready: &BTreeMap<u16, u64>) -> Result<Vec<Piece>> {
    let shards: Vec<i32> = ready.keys().map(|shard| i32::from(*shard)).collect();
    let after: Vec<i64> = ready.values().map(|offset| *offset as i64).collect();
    let rows = session.query(
        "SELECT i.shard, i.seq, i.job, i.message
         FROM unnest($1::integer[], $2::bigint[]) AS mine(shard, after)
         CROSS JOIN LATERAL (
             SELECT shard, seq, job, message FROM inbox
             WHERE inbox.shard = mine.shard AND inbox.seq > mine.after ORDER BY inbox.seq LIMIT $3
         ) i ORDER BY i.shard, i.seq",
        &[&shards, &after, &PIECE],
    )?;
    let mut pieces: Vec<Piece> = Vec::new();
    for row in rows {
        let cells = || -> std::result::Result<_, tokio_postgres::Error> {
            let (shard, seq): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
            Ok((shard, seq, row.try_get::<_, i32>(2)?, row.try_get::<_, Vec<u8>>(3)?))
        };
        let (shard, seq, job, message) = cells().map_err(|error| session.error(error))?;
        let shard = u16::try_from(shard).unwrap_or(u16::MAX);
        if pieces.last().is_none_or(|piece| piece.shard != shard) {
            pieces.push(Piece { shard, messages: Vec::new(), jobs: Vec::new() });
        }
        if let Some(piece) = pieces.last_mut() {
            piece.messages.push((seq as u64, message));
            piece.jobs.push(u32::try_from(job).unwrap_or(0));
        }
    }
    Ok(pieces)
}

/// A job is announced before its messages.
fn announce_jobs(
    database: &Database,
    session: &mut Option<Session>,
    shared: &Shared,
    events: &EventSink,
    jobs: &[u32],
) -> Result<()> {
    let mut known = shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = |known: &KnownJobs| jobs.iter().any(|job| *job != 0 && !known.contains(*job));
    if is_new(&known) {
        let changed = known.refresh(connected(database, session)?)?;
        if !changed.is_empty() {
            events(changed);
        }
        // Messages for a job that has ended are dropped.
        let ended = jobs.iter().filter(|job| **job != 0 && !known.contains(**job));
        let closed: Vec<MemberEvent> = ended.map(|job| MemberEvent::JobClosed(JobId(*job))).collect();
        if !closed.is_empty() {
            events(closed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{DatabaseError, DatabaseErrorKind};

    #[test]
    fn an_outage_is_told_when_it_begins_and_when_it_ends() {
        let mut trouble = Trouble::default();
        let failed =
            || -> Result<bool> { Err(DatabaseError::new(DatabaseErrorKind::Unreachable, "a@db/a", "gone")) };
        let said: Vec<bool> = [Ok(true), failed(), failed(), failed(), Ok(false), Ok(true)]
            .iter()
            .map(|d| trouble.note(d))
            .collect();
        assert_eq!(said, [false, true, false, false, true, false]);
    }
}
