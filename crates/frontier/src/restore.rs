//! The frontier after a restart: hosts and jobs come from their records, seen-sets from their log; queues stay on disk
//! until a host's turn comes.

use crate::admission::pattern::PatternTable;
use crate::frontier::Frontier;
use crate::host::{Host, HostQueue, decode_host};
use crate::job::{Job, JobLimits, QueueCounts, decode_job};
use crate::queue::JobQueue;
use crate::ready::HostIndex;
use crate::state::{HostKey, Restore, ShardState, Shards, StateError};
use argiope_model::{Fingerprint, JobId, Millis};
use argiope_politeness::HostState;
use std::collections::HashMap;

/// How the last process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastStop {
    /// Its hosts' next allowed times are stored.
    Clean,
    /// The same, but an earlier process was killed, at this time at the latest. Hosts that it requested may be missing
    /// in the state, so a host without state waits its full delay from then on.
    CleanAfterKill(Millis),
    /// Killed: nobody knows when hosts were last requested, so each waits its full delay from now on.
    Unclean,
}

impl LastStop {
    /// Until when hosts without state may have been requested, for a process that starts at `now`.
    pub fn unknown_until(self, now: Millis) -> Option<Millis> {
        match self {
            LastStop::Clean => None,
            LastStop::CleanAfterKill(at) => Some(at),
            LastStop::Unclean => Some(now),
        }
    }
}

impl Frontier {
    /// Reads everything that is not loaded on demand, of all shards. `opens` names the jobs to resume, with their
    /// limits; the rest stays on disk.
    pub fn restore(
        &mut self,
        state: &dyn ShardState,
        opens: &HashMap<JobId, JobLimits>,
        last_stop: LastStop,
        now: Millis,
    ) -> Result<(), StateError> {
        self.read(state, &Shards::All, opens)?;
        for shard in 0..self.shards.count() {
            self.begin_shard(shard, last_stop, now);
        }
        for index in 0..self.hosts.len() {
            self.begin_host(index as HostIndex, last_stop, now);
        }
        Ok(())
    }

    /// Takes a shard over, as [`Frontier::restore`] takes all of them. `last_stop` is how its last owner ended.
    pub fn restore_shard(
        &mut self,
        state: &dyn ShardState,
        shard: u16,
        opens: &HashMap<JobId, JobLimits>,
        last_stop: LastStop,
        now: Millis,
    ) -> Result<(), StateError> {
        self.drop_shard(shard, now);
        // From here on its hosts have a place.
        self.begin_shard(shard, last_stop, now);
        let read = self.read(state, &Shards::one(shard), opens);
        if read.is_err() {
            self.drop_shard(shard, now);
        }
        for index in read? {
            self.begin_host(index, last_stop, now);
        }
        Ok(())
    }

    /// Opens a job that came, or was opened, after the shards: reads what they have of it.
    pub fn restore_job(
        &mut self,
        state: &dyn ShardState,
        id: JobId,
        limits: JobLimits,
        now: Millis,
    ) -> Result<(), StateError> {
        if !self.jobs.contains_key(&id) {
            // It may have been open before, and ended while its hosts waited for budget.
            for queue in self.hosts.iter_mut().filter_map(|host| host.queue_mut(id)) {
                queue.waits_for_budget = false;
            }
            let opens = HashMap::from([(id, limits.clone())]);
            let owned = self.shards.owned();
            let mut reader = Reader { frontier: self, opens: &opens, hosts: Vec::new() };
            state.restore_job(&owned, id, &mut reader)?;
        }
        self.open_job(id, limits);
        for index in 0..self.hosts.len() {
            let Some(host) = self.hosts.get_mut(index) else { continue };
            if host.closed_jobs.remove(id) {
                self.open_queue(index as HostIndex, id);
                self.reschedule(index as HostIndex, now);
            }
        }
        Ok(())
    }

    /// The hosts that were read.
    fn read(
        &mut self,
        state: &dyn ShardState,
        shards: &Shards,
        opens: &HashMap<JobId, JobLimits>,
    ) -> Result<Vec<HostIndex>, StateError> {
        let mut reader = Reader { frontier: self, opens, hosts: Vec::new() };
        state.restore(shards, &mut reader, &|job| opens.contains_key(&job))?;
        Ok(reader.hosts)
    }

    fn begin_shard(&mut self, shard: u16, last_stop: LastStop, now: Millis) {
        self.shards.serve(shard);
        if let Some(slot) = self.shards.get_mut(shard) {
            slot.unclean_start = last_stop.unknown_until(now);
        }
    }

    fn begin_host(&mut self, index: HostIndex, last_stop: LastStop, now: Millis) {
        if last_stop == LastStop::Unclean {
            let delay = self.delay_of(index, now);
            if let Some(host) = self.host_mut(index) {
                host.politeness.after_unclean_stop(now, delay);
            }
        }
        self.renew_delay(index, now);
        if let Some(host) = self.host_mut(index) {
            // Repeated kills must not favour the same job each time.
            host.turn = (now.0 % host.queues.len().max(1) as u64) as usize;
        }
        self.reschedule(index, now);
    }

    /// A job has entries queued on a host, on disk.
    fn open_queue(&mut self, index: HostIndex, id: JobId) {
        let (Some(job), Some(host)) = (self.jobs.get_mut(&id), self.hosts.get_mut(index as usize)) else {
            return;
        };
        if host.queue(id).is_none() {
            let patterns = PatternTable::new(&job.limits.traps.of_host(&host.name));
            host.queues.push(HostQueue::new(JobQueue::stored(id), patterns));
        }
        if job.limits.max_subdomains_per_root.is_some() {
            job.subdomains.insert(host.root(), index);
        }
    }
}

struct Reader<'f> {
    frontier: &'f mut Frontier,
    opens: &'f HashMap<JobId, JobLimits>,
    hosts: Vec<HostIndex>,
}

impl Restore for Reader<'_> {
    fn job(&mut self, job: JobId, shard: u16, record: &[u8]) -> Result<(), StateError> {
        let Some(limits) = self.opens.get(&job) else { return Ok(()) };
        let stored = decode_job(record).map_err(|e| StateError::Corrupt(e.to_string()))?;
        // No two entries of one queue have the same position, even if the clocks of their creators differ.
        self.frontier.pending.skip_sequences(stored.sequence);
        let leased = self.frontier.config.leased;
        let restored = self.frontier.jobs.open(job, || Job::new(job, limits.clone(), leased));
        restored.restore_shard(shard, stored);
        Ok(())
    }

    fn host(&mut self, key: HostKey, record: &[u8]) -> Result<(), StateError> {
        let corrupt = |why: String| StateError::Corrupt(format!("host {key:?}: {why}"));
        let stored = decode_host(record).map_err(|e| corrupt(e.to_string()))?;
        let root = self.frontier.suffixes.root_domain(stored.name);
        let mut host = Host::new(stored.name, root, key);
        host.dirty = false;
        host.politeness = HostState::decode(stored.politeness).map_err(|e| corrupt(e.to_string()))?.into();
        let closed = stored.jobs.iter().filter(|id| !self.frontier.jobs.contains_key(id));
        // They stay in its record: their queued entries are found when they are opened again.
        closed.for_each(|id| host.closed_jobs.push(*id));
        let Some(slot) = self.frontier.shards.get_mut(key.shard) else {
            return Err(corrupt(String::from("there is no such shard")));
        };
        slot.next_number = slot.next_number.max(key.number.saturating_add(1));
        let index = self.frontier.hosts.insert(host);
        for id in stored.jobs {
            self.frontier.open_queue(index, id);
        }
        self.hosts.push(index);
        Ok(())
    }

    fn seen(&mut self, job: JobId, shard: u16, fingerprints: &mut dyn Iterator<Item = Fingerprint>) {
        let table = self.frontier.seen.table(job, shard);
        for fingerprint in fingerprints {
            table.insert(fingerprint);
        }
    }

    fn received(&mut self, shard: u16, offset: u64) {
        if let Some(slot) = self.frontier.shards.get_mut(shard) {
            slot.received = Some(offset);
        }
    }

    fn next_due(&mut self, due: Option<Millis>) {
        self.frontier.pending.note_due(due);
    }
}

/// The counts of a job in all shards, if it has any state.
pub fn stored_job_counts(state: &dyn ShardState, job: JobId) -> Result<Option<QueueCounts>, StateError> {
    let mut record = JobRecord(None);
    state.restore_job(&Shards::All, job, &mut record)?;
    Ok(record.0)
}

/// The records of one job, added up.
struct JobRecord(Option<QueueCounts>);

impl Restore for JobRecord {
    fn job(&mut self, _: JobId, _: u16, record: &[u8]) -> Result<(), StateError> {
        self.0.get_or_insert_default().add(&read_job_counts(record)?);
        Ok(())
    }

    fn host(&mut self, _: HostKey, _: &[u8]) -> Result<(), StateError> {
        Ok(())
    }

    fn seen(&mut self, _: JobId, _: u16, _: &mut dyn Iterator<Item = Fingerprint>) {}

    fn received(&mut self, _: u16, _: u64) {}

    fn next_due(&mut self, _: Option<Millis>) {}
}

/// The counts of a job in one shard as stored in its record, for read-only use.
pub fn read_job_counts(record: &[u8]) -> Result<QueueCounts, StateError> {
    decode_job(record).map(|stored| stored.counts).map_err(|e| StateError::Corrupt(e.to_string()))
}
