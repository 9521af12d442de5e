//! What all workers share: leases, the state of the shards with their logs, the catalogue, the budget. Every transaction of
//! a worker is fenced.

use argiope_frontier::memory::MemoryState;
use argiope_frontier::ownership::{LEASE, Leases, Observation, Seat};
use argiope_frontier::read_job_counts;
use argiope_frontier::state::{Change, HostKey, Restore, ShardState, Shards, StateBatch, StateError};
use argiope_frontier::{LastStop, QueueCounts};
use argiope_model::{Fingerprint, JobId, Millis};
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Clone, Debug, Default)]
struct Row {
    owner: Option<String>,
    epoch: u64,
    until: u64,
    /// Its last owner gave it back.
    clean: bool,
    /// When it was taken last from one that had not.
    taken_uncleanly: Option<u64>,
}

#[derive(Clone, Debug)]
struct Member {
    until: u64,
    draining: bool,
}

/// Pages of the limited job that a worker was given, and those it has stored.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    pages: u64,
    stored: u64,
}

pub(crate) struct Database {
    rows: Vec<Row>,
    members: BTreeMap<String, Member>,
    pub(crate) state: MemoryState,
    /// The URLs that have ended, by job; true if they count as a page.
    pub(crate) catalogue: HashMap<(u32, String), bool>,
    pub(crate) jobs: BTreeSet<u32>,
    pool: u64,
    given: BTreeMap<String, Given>,
    sent_ahead: bool,
    pub(crate) messages: u64,
    pub(crate) sent_in_vain: u64,
    pub(crate) stored_again: u64,
    seed: u64,
}

/// The worker is not a member any more: all that it was given is void.
#[derive(Debug)]
pub(crate) struct Expelled;

#[derive(Debug)]
pub(crate) enum Refusal {
    Lost(u16),
    Expelled,
}

fn millis(duration: std::time::Duration) -> u64 {
    duration.as_millis() as u64
}

impl Database {
    pub(crate) fn new(seed: u64, shards: u16, max_pages: Option<u64>, sent_ahead: bool) -> Database {
        Database {
            rows: vec![Row::default(); usize::from(shards)],
            members: BTreeMap::new(),
            state: MemoryState::new(),
            catalogue: HashMap::new(),
            jobs: BTreeSet::new(),
            pool: max_pages.unwrap_or(0),
            given: BTreeMap::new(),
            sent_ahead,
            messages: 0,
            sent_in_vain: 0,
            stored_again: 0,
            seed,
        }
    }

    pub(crate) fn join(&mut self, name: &str, now: u64) {
        let member = Member { until: now + millis(LEASE), draining: false };
        self.members.insert(name.to_owned(), member);
        self.given.insert(name.to_owned(), Given::default());
    }

    /// A worker that has given everything back goes.
    pub(crate) fn leave(&mut self, name: &str) {
        self.members.remove(name);
        if let Some(given) = self.given.remove(name) {
            self.pool += given.pages - given.stored;
        }
    }

    pub(crate) fn drain(&mut self, name: &str) {
        if let Some(member) = self.members.get_mut(name) {
            member.draining = true;
        }
    }

    /// Renews the membership of a worker and what it owns: the shards whose lease it still has.
    pub(crate) fn renew(
        &mut self,
        name: &str,
        held: &[(u16, u64)],
        now: u64,
        observation: &Observation,
    ) -> Result<Vec<(u16, u64)>, Expelled> {
        if observation.has_lasted(2 * LEASE) {
            self.expel_the_dead(now);
        }
        let until = now + millis(LEASE);
        self.members.get_mut(name).ok_or(Expelled)?.until = until;
        let mut renewed = Vec::new();
        for (shard, epoch) in held {
            let row = &mut self.rows[usize::from(*shard)];
            if row.owner.as_deref() == Some(name) && row.epoch == *epoch {
                row.until = until;
                renewed.push((*shard, *epoch));
            }
        }
        Ok(renewed)
    }

    /// What a dead worker was given is for others. From here on nothing it does counts.
    fn expel_the_dead(&mut self, now: u64) {
        let is_dead = |member: &Member| member.until + millis(LEASE) <= now;
        let dead: Vec<String> =
            self.members.iter().filter(|(_, m)| is_dead(m)).map(|(name, _)| name.clone()).collect();
        for name in dead {
            self.leave(&name);
        }
    }

    /// Those that live and stay.
    pub(crate) fn workers(&self, now: u64) -> Vec<String> {
        let stays = |member: &Member| member.until > now && !member.draining;
        self.members.iter().filter(|(_, member)| stays(member)).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn seats(&self, now: u64) -> Vec<Seat<'_>> {
        self.rows
            .iter()
            .map(|row| match &row.owner {
                Some(owner) if row.until > now => Seat::Owned(owner),
                Some(_) => Seat::Lapsed,
                None => Seat::Free,
            })
            .collect()
    }

    /// The epoch under which the shard is owned from now on, and how its last owner ended.
    pub(crate) fn take(&mut self, name: &str, shard: u16, now: u64) -> Option<(u64, LastStop)> {
        let row = &mut self.rows[usize::from(shard)];
        if row.owner.is_some() && row.until > now {
            return None;
        }
        let clean = row.clean || row.epoch == 0;
        let last_stop = match row.taken_uncleanly {
            _ if !clean => LastStop::Unclean,
            Some(at) => LastStop::CleanAfterKill(Millis(at)),
            None => LastStop::Clean,
        };
        *row = Row {
            owner: Some(name.to_owned()),
            epoch: row.epoch + 1,
            until: now + millis(LEASE),
            clean: false,
            taken_uncleanly: if clean { row.taken_uncleanly } else { Some(now) },
        };
        Some((row.epoch, last_stop))
    }

    pub(crate) fn release(&mut self, name: &str, shard: u16, epoch: u64) {
        let row = &mut self.rows[usize::from(shard)];
        if row.owner.as_deref() == Some(name) && row.epoch == epoch {
            row.owner = None;
            row.clean = true;
        }
    }

    pub(crate) fn is_owner(&self, name: &str, shard: u16, leases: &Leases) -> bool {
        self.owns(name, shard, leases.epoch(shard))
    }

    fn owns(&self, name: &str, shard: u16, epoch: Option<u64>) -> bool {
        let row = &self.rows[usize::from(shard)];
        row.owner.as_deref() == Some(name) && Some(row.epoch) == epoch
    }

    pub(crate) fn apply(
        &mut self,
        name: &str,
        leases: &Leases,
        batch: &StateBatch,
    ) -> Result<(), StateError> {
        let shards: BTreeSet<u16> = batch.changes.iter().filter_map(Change::shard).collect();
        let lost = shards.iter().find(|shard| !self.owns(name, **shard, leases.epoch(**shard)));
        let sends = || batch.changes.iter().filter(|change| matches!(change, Change::Send { .. }));
        let count = sends().count() as u64;
        if let Some(shard) = lost {
            self.send_ahead(batch);
            return Err(StateError::Lost(*shard));
        }
        self.messages += count;
        self.state.apply(batch.clone())?;
        if self.sent_ahead && count > 0 && super::web::mix(self.seed ^ self.messages).is_multiple_of(10) {
            // An acknowledgement was lost, and the message repeated.
            let again = StateBatch { changes: sends().take(1).cloned().collect(), marks: Vec::new() };
            self.state.apply(again)?;
        }
        Ok(())
    }

    /// Where messages go ahead, those of a transaction that fails are there all the same.
    pub(crate) fn send_ahead(&mut self, batch: &StateBatch) {
        if self.sent_ahead {
            let sends = batch.changes.iter().filter(|change| matches!(change, Change::Send { .. }));
            let ahead = StateBatch { changes: sends.cloned().collect(), marks: Vec::new() };
            self.sent_in_vain += ahead.changes.len() as u64;
            self.state.apply(ahead).unwrap();
        }
    }

    /// By somebody who submits.
    pub(crate) fn append(&mut self, to: u16, message: &[u8]) {
        let change = Change::Send { from: to, to, message: message.to_vec() };
        self.state.apply(StateBatch { changes: vec![change], marks: Vec::new() }).unwrap();
    }

    /// A visit's records. `counted` if it is a page of the job with a budget.
    pub(crate) fn store(
        &mut self,
        name: &str,
        (shard, epoch): (u16, Option<u64>),
        (job, url): (JobId, &str),
        (page, counted): (bool, bool),
    ) -> Result<(), Refusal> {
        if !self.owns(name, shard, epoch) {
            return Err(Refusal::Lost(shard));
        }
        let seed = self.seed;
        let given = self.given.get_mut(name).ok_or(Refusal::Expelled)?;
        let new = !self.catalogue.contains_key(&(job.0, url.to_owned()));
        if counted && new {
            given.stored += 1;
            assert!(given.stored <= given.pages, "seed {seed}: {name} stores more than it was given");
        }
        self.stored_again += u64::from(!new);
        self.catalogue.insert((job.0, url.to_owned()), page);
        Ok(())
    }

    pub(crate) fn grant(&mut self, name: &str) -> u64 {
        let Some(given) = self.given.get_mut(name) else { return 0 };
        let pages = (self.pool / 8).clamp(1, 10).min(self.pool);
        self.pool -= pages;
        given.pages += pages;
        pages
    }

    pub(crate) fn take_back(&mut self, name: &str, pages: u64) {
        if let Some(given) = self.given.get_mut(name) {
            given.pages -= pages;
            self.pool += pages;
        }
    }

    pub(crate) fn pool(&self) -> u64 {
        self.pool
    }

    pub(crate) fn pages(&self, job: u32) -> u64 {
        self.catalogue.iter().filter(|((of, _), page)| *of == job && **page).count() as u64
    }

    /// What the records of all shards say, and whether their logs are applied to the end.
    pub(crate) fn progress(&self) -> (BTreeMap<u32, QueueCounts>, bool) {
        let mut records = Records::default();
        self.state.restore(&Shards::All, &mut records, &|_| false).unwrap();
        let applied = (0..self.rows.len() as u16).all(|shard| {
            self.state.log(shard, records.received.get(&shard).copied().unwrap_or(0)).next().is_none()
        });
        (records.jobs, applied)
    }

    /// Owned shards by worker.
    pub(crate) fn spread(&self, now: u64) -> BTreeMap<String, usize> {
        let mut spread: BTreeMap<String, usize> =
            self.workers(now).into_iter().map(|name| (name, 0)).collect();
        for row in self.rows.iter().filter(|row| row.until > now) {
            if let Some(owner) = &row.owner {
                *spread.entry(owner.clone()).or_default() += 1;
            }
        }
        spread
    }
}

#[derive(Default)]
struct Records {
    jobs: BTreeMap<u32, QueueCounts>,
    received: HashMap<u16, u64>,
}

impl Restore for Records {
    fn job(&mut self, job: JobId, _: u16, record: &[u8]) -> Result<(), StateError> {
        self.jobs.entry(job.0).or_default().add(&read_job_counts(record)?);
        Ok(())
    }

    fn host(&mut self, _: HostKey, _: &[u8]) -> Result<(), StateError> {
        Ok(())
    }

    fn seen(&mut self, _: JobId, _: u16, _: &mut dyn Iterator<Item = Fingerprint>) {}

    fn received(&mut self, shard: u16, offset: u64) {
        self.received.insert(shard, offset);
    }

    fn next_due(&mut self, _: Option<Millis>) {}
}
