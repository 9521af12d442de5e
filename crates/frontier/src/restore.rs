//! The frontier after a restart: hosts and jobs from their records, seen-sets from their log; queues stay on disk until
//! a host's turn comes.

use crate::admission::pattern::PatternTable;
use crate::frontier::Frontier;
use crate::host::{Host, HostQueue, decode_host};
use crate::job::{Job, JobCounts, JobLimits, decode_job};
use crate::queue::JobQueue;
use crate::ready::HostIndex;
use crate::state::{HostKey, Restore, ShardState, StateError};
use argiope_model::{Fingerprint, JobId, Millis};
use argiope_politeness::HostState;
use std::collections::HashMap;

/// How the last process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastStop {
    /// Its hosts' next allowed times are stored.
    Clean,
    /// Killed: nobody knows when a host was asked last, so each waits its full delay from now on.
    Unclean,
}

impl Frontier {
    /// Reads everything that is not loaded on demand. `opens` names the jobs that are to go on, with their limits; the rest
    /// stays on disk.
    pub fn restore(
        &mut self,
        state: &dyn ShardState,
        opens: &HashMap<JobId, JobLimits>,
        last_stop: LastStop,
        now: Millis,
    ) -> Result<(), StateError> {
        self.unclean_start = (last_stop == LastStop::Unclean).then_some(now);
        let mut reader = Reader { frontier: self, opens };
        state.restore(&mut reader, &|job| opens.contains_key(&job))?;
        for index in 0..self.hosts.len() {
            let index = index as HostIndex;
            if last_stop == LastStop::Unclean {
                let delay = self.delay_of(index, now);
                if let Some(host) = self.host_mut(index) {
                    host.politeness.after_unclean_stop(now, delay);
                }
            }
            if let Some(host) = self.host_mut(index) {
                // Whoever is killed again and again does not serve the same job first again and again.
                host.turn = (now.0 % host.queues.len().max(1) as u64) as usize;
            }
            self.reschedule(index, now);
        }
        Ok(())
    }
}

struct Reader<'f> {
    frontier: &'f mut Frontier,
    opens: &'f HashMap<JobId, JobLimits>,
}

impl Restore for Reader<'_> {
    fn job(&mut self, job: JobId, record: &[u8]) -> Result<(), StateError> {
        let Some(limits) = self.opens.get(&job) else { return Ok(()) };
        let stored = decode_job(record).map_err(|e| StateError::Corrupt(e.to_string()))?;
        let mut restored = Job::new(job, limits.clone(), stored.counts);
        restored.domain_pages = stored.domain_pages;
        restored.scope_hosts = stored.scope_hosts;
        restored.dirty = false;
        self.frontier.jobs.insert(job, restored);
        Ok(())
    }

    fn host(&mut self, key: HostKey, record: &[u8]) -> Result<(), StateError> {
        let corrupt = |why: String| StateError::Corrupt(format!("host {key:?}: {why}"));
        let stored = decode_host(record).map_err(|e| corrupt(e.to_string()))?;
        let root = self.frontier.suffixes.root_domain(stored.name);
        let mut host = Host::new(stored.name, root, key);
        host.dirty = false;
        host.politeness = HostState::decode(stored.politeness).map_err(|e| corrupt(e.to_string()))?.into();
        let index = self.frontier.hosts.len() as HostIndex;
        for id in stored.jobs {
            if let Some(job) = self.frontier.jobs.get_mut(&id) {
                let patterns = PatternTable::new(&job.limits.traps);
                host.queues.push(HostQueue::new(JobQueue::stored(id), patterns));
                if job.limits.max_subdomains_per_root.is_some() {
                    job.subdomains.insert(host.root(), index);
                }
            }
        }
        let next = self.frontier.next_number.entry(key.shard).or_insert(0);
        *next = (*next).max(key.number + 1);
        self.frontier.insert_host(host);
        Ok(())
    }

    fn seen(&mut self, job: JobId, shard: u16, fingerprints: &mut dyn Iterator<Item = Fingerprint>) {
        let table = self.frontier.seen.entry((job, shard)).or_default();
        for fingerprint in fingerprints {
            table.insert(fingerprint);
        }
    }

    fn next_due(&mut self, due: Option<Millis>) {
        self.frontier.next_due = due;
    }
}

/// The counts of a job as its record tells them, for those who only look.
pub fn read_job_counts(record: &[u8]) -> Result<JobCounts, StateError> {
    decode_job(record).map(|stored| stored.counts).map_err(|e| StateError::Corrupt(e.to_string()))
}
