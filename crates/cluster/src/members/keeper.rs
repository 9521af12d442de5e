//! Keeps the leases of this member: renews them, takes and hands over shards, and runs the commands of the frontier's owner.

use super::EventSink;
use super::budget;
use super::clock::since_boot;
use super::epochs::Writing;
use super::handle::MemberCommand;
use super::leader::Leader;
use super::leases::{self, Leases, Renewed};
use super::load::LoadMeter;
use super::reader::Reading;
use super::shared::Shared;
use crate::database::{Result, Session};
use argiope_frontier::member::MemberEvent;
use argiope_frontier::ownership::{self, Observation, Seat};
use argiope_model::{JobId, Millis};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How often the table of leases is read.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// After a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Runs on a thread of its own.
pub(super) struct LeaseKeeper {
    leases: Leases,
    leader: Leader,
    session: Session,
    renew_every: Duration,
    shared: Arc<Shared>,
    events: EventSink,
    handing_over: Option<u16>,
    /// Lost shards that the owner of the frontier has not dropped yet. They must not be taken again: results from before
    /// would be written under the new epoch.
    losing: BTreeSet<u16>,
    observation: Observation,
    /// Pages of each job's budget that were granted and not returned, including those that are stored.
    held: BTreeMap<JobId, u64>,
    renewed_at: Option<Instant>,
    leaving: bool,
    meter: LoadMeter,
}

impl LeaseKeeper {
    pub(super) fn new(
        leases: Leases,
        session: Session,
        renew_every: Duration,
        shared: Arc<Shared>,
        events: EventSink,
    ) -> LeaseKeeper {
        LeaseKeeper {
            leader: Leader::new(&leases.owner, leases.length),
            leases,
            session,
            renew_every,
            shared,
            events,
            handing_over: None,
            losing: BTreeSet::new(),
            observation: Observation::default(),
            held: BTreeMap::new(),
            renewed_at: None,
            leaving: false,
            meter: LoadMeter::default(),
        }
    }

    pub(super) fn run(&mut self, received: &Receiver<MemberCommand>) {
        let mut next_check = Instant::now();
        let mut pending = Vec::new();
        while !self.shared.is_closed() {
            let wait = next_check.saturating_duration_since(Instant::now());
            match received.recv_timeout(wait) {
                Ok(MemberCommand::Wake) => next_check = Instant::now(),
                Ok(command) => pending.push(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let done = self.run_commands(&mut pending).and_then(|()| {
                if Instant::now() < next_check {
                    return Ok(());
                }
                next_check = Instant::now() + CHECK_EVERY;
                self.check()
            });
            self.note(done);
        }
    }

    fn note(&mut self, done: Result<()>) {
        match done {
            Ok(()) => {
                self.shared.epochs.set_failing(Writing::Leases, false);
                self.shared.database_responded();
            }
            Err(error) => {
                self.shared.epochs.set_failing(Writing::Leases, true);
                self.shared.database_failed(&error);
                std::thread::sleep(RETRY_PAUSE);
            }
        }
    }

    /// A command that fails stays in the queue and is retried.
    fn run_commands(&mut self, commands: &mut Vec<MemberCommand>) -> Result<()> {
        while let Some(command) = commands.first() {
            match command {
                MemberCommand::HandedOver(shard) => {
                    let shard = *shard;
                    self.leases.release(&mut self.session, shard, true)?;
                    self.forget(shard);
                }
                MemberCommand::Dropped(shard) => {
                    self.losing.remove(shard);
                }
                MemberCommand::RequestPages(job) => {
                    let held = self.held.entry(*job).or_default();
                    let pages = budget::take(&mut self.session, *job, &self.leases.owner, *held)?;
                    *held += pages;
                    // Also if there are none: others may return some, and the frontier asks again.
                    (self.events)(vec![MemberEvent::Granted { job: *job, pages }]);
                }
                MemberCommand::ReturnPages(job, pages) => {
                    let held = self.held.entry(*job).or_default();
                    let kept = held.saturating_sub(*pages);
                    budget::give_back(&mut self.session, *job, &self.leases.owner, kept)?;
                    *held = kept;
                }
                MemberCommand::AnnounceLeave => {
                    self.leaving = true;
                    self.leases.announce_leave(&mut self.session)?;
                }
                MemberCommand::Leave(done) => {
                    let released = self.leases.release_all(&mut self.session, true)?;
                    if released < self.shared.readings().len() {
                        self.shared.lost_shards.store(true, Ordering::Release);
                    }
                    self.leases.leave(&mut self.session)?;
                    self.shared.epochs.clear();
                    let _ = done.send(());
                    self.shared.close();
                }
                MemberCommand::Wake => {}
            }
            commands.remove(0);
        }
        Ok(())
    }

    /// This member does not own the shard any more.
    fn forget(&mut self, shard: u16) {
        self.shared.epochs.remove(shard);
        self.shared.readings().remove(&shard);
        self.shared.update_notifier();
        if self.handing_over == Some(shard) {
            self.handing_over = None;
        }
    }

    /// Renews the lease, whether it still holds or has expired. An expired lease holds again for the shards that nobody took
    /// meanwhile: nobody else has sent requests to their hosts, so work for them is still valid. None if this member was
    /// declared dead.
    fn renew(&mut self) -> Result<Option<Renewed>> {
        let figures = self.shared.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // The lease, and the time until the next renewal, run from when this one was sent.
        let (sent, sent_at) = (since_boot(), Instant::now());
        let Some(found) = self.leases.renew(&mut self.session, &figures)? else {
            self.die();
            return Ok(None);
        };
        // Before the lease holds: no request may be sent for a shard that another worker has.
        let before = self.shared.readings().len();
        self.lose_others(&found);
        if let Some(term) = self.shared.lease.renewed(sent, self.leases.length) {
            if self.renewed_at.is_some() {
                match (before, self.shared.readings().len()) {
                    (1.., 0) => tracing::warn!("the lease expired; other workers took all shards"),
                    (_, kept) => {
                        tracing::warn!(
                            kept,
                            lost = before.saturating_sub(kept),
                            "the lease expired and is renewed"
                        )
                    }
                }
            }
            (self.events)(vec![MemberEvent::Resumed { term }]);
        }
        self.renewed_at = Some(sent_at);
        let load = self.meter.measure(&mut self.session)?;
        *self.shared.load.lock().unwrap_or_else(PoisonError::into_inner) = load;
        Ok(Some(found))
    }

    /// Reads the table of leases, and renews the lease if that is due.
    fn read_table(&mut self) -> Result<Option<Renewed>> {
        let is_due = self.renewed_at.is_none_or(|at| at.elapsed() >= self.renew_every);
        if is_due || self.shared.lease.left().is_zero() {
            return self.renew();
        }
        let found = self.leases.look_now(&mut self.session)?;
        let is_ours = |row: &leases::Row| row.owner.as_deref() == Some(&*self.leases.owner);
        if found.shards.iter().any(|row| is_ours(row) && !row.holds) {
            // The database's clock was changed: our lease has expired by it, though not by ours.
            self.shared.lease.end();
            return self.renew();
        }
        self.lose_others(&found);
        Ok(Some(found))
    }

    /// Takes, keeps and hands over shards, and leads if this member is the leader.
    fn check(&mut self) -> Result<()> {
        let Some(found) = self.read_table()? else { return Ok(()) };
        self.observation.seen(Millis(u64::try_from(since_boot().as_millis()).unwrap_or(u64::MAX)));
        self.release_unknown(&found)?;
        self.refresh_jobs()?;
        if !self.leaving {
            let seats: Vec<Seat<'_>> = found.shards.iter().map(leases::Row::seat).collect();
            let handing_over = usize::from(self.handing_over.is_some());
            let (me, lease) = (&self.leases.owner, self.leases.length);
            let moves = ownership::moves(me, &found.working, &seats, handing_over, &self.observation, lease);
            let free: Vec<u16> =
                moves.take.into_iter().filter(|shard| !self.losing.contains(shard)).collect();
            self.take(&free)?;
            if let Some(shard) = moves.hand_over.first().copied() {
                self.handing_over = Some(shard);
                if let Some(reading) = self.shared.readings().get_mut(&shard) {
                    reading.is_closing = true;
                }
                (self.events)(vec![MemberEvent::HandOver { shard }]);
            }
        }
        self.leader.work(&mut self.session, &self.observation)
    }

    /// Drops shards that another worker has or had meanwhile.
    fn lose_others(&mut self, found: &Renewed) {
        for shard in self.shared.owned() {
            let row = found.shards.get(usize::from(shard));
            let is_ours = row.is_some_and(|row| {
                row.owner.as_deref() == Some(&*self.leases.owner)
                    && self.shared.epochs.get(shard) == Some(row.epoch)
            });
            if !is_ours {
                tracing::warn!(shard, "another worker took a shard of ours");
                self.shared.lost_shards.store(true, Ordering::Release);
                self.losing.insert(shard);
                self.forget(shard);
                (self.events)(vec![MemberEvent::Lost { shard }]);
            }
        }
    }

    /// Releases shards that were taken for us by a request whose response never arrived: nobody works on them.
    fn release_unknown(&mut self, found: &Renewed) -> Result<()> {
        for (shard, row) in (0..).zip(&found.shards) {
            let is_known = self.shared.readings().contains_key(&shard);
            if row.owner.as_deref() == Some(&*self.leases.owner) && !is_known {
                self.leases.release(&mut self.session, shard, false)?;
            }
        }
        Ok(())
    }

    fn refresh_jobs(&mut self) -> Result<()> {
        let mut known = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = known.refresh(&mut self.session)?;
        if !changed.is_empty() {
            (self.events)(changed);
        }
        Ok(())
    }

    fn take(&mut self, shards: &[u16]) -> Result<()> {
        if shards.is_empty() {
            return Ok(());
        }
        let taken = self.leases.take(&mut self.session, shards)?;
        // The last owner may have admitted URLs of jobs that are new to us: announce them first.
        self.refresh_jobs()?;
        if !taken.is_empty() {
            self.shared.lost_shards.store(false, Ordering::Release);
        }
        for taken in taken {
            self.shared.epochs.insert(taken.shard, taken.epoch);
            // Before its log is read: the frontier ignores deliveries to shards it does not have.
            (self.events)(vec![MemberEvent::Taken { shard: taken.shard, last_stop: taken.last_stop }]);
            let loss = taken.loss.map(Into::into);
            let reading =
                Reading { delivered: taken.applied, applied: taken.applied, is_closing: false, loss };
            self.shared.readings().insert(taken.shard, reading);
        }
        self.shared.update_notifier();
        Ok(())
    }

    /// This member was declared dead.
    fn die(&mut self) {
        self.shared.lease.end();
        self.shared.dead.store(true, Ordering::Release);
        for shard in self.shared.owned() {
            self.forget(shard);
            (self.events)(vec![MemberEvent::Lost { shard }]);
        }
        self.shared.close();
    }
}
