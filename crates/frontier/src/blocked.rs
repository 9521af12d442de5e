//! Jobs whose remaining URLs are all on hosts that are paused for long. A process that owns all shards sees that by
//! itself. Members of a cluster report it for each of their shards, and the leader combines the reports.

use crate::frontier::Frontier;
use crate::host::{Host, Place};
use crate::state::Change;
use argiope_model::{JobId, Millis};
use std::collections::{BTreeMap, BTreeSet};

impl Frontier {
    /// The shards here in which all URLs of a job wait until `until` or later, each with the first time at which one is
    /// due. None while anything of the job is in progress.
    pub fn blocked_shards(&self, job: JobId, until: Millis) -> BTreeMap<u16, Millis> {
        let mut blocked = BTreeMap::new();
        let Some(state) = self.jobs.get(&job).filter(|state| state.in_progress == 0) else { return blocked };
        if state.counts.delayed > 0 {
            let Some(due) = self.pending.next_due().filter(|due| *due >= until) else { return blocked };
            blocked.extend(state.delayed_in().map(|shard| (shard, due)));
        }
        let mut busy = BTreeSet::new();
        let queued = |host: &&Host| host.queue(job).is_some_and(|q| !q.queue.is_drained());
        for host in self.hosts.iter().filter(|host| !host.gone).filter(queued) {
            match host.place {
                Place::Waiting(at, reason) if at >= until && reason.blocks() => {
                    let first = blocked.entry(host.key.shard).or_insert(at);
                    *first = at.min(*first);
                }
                _ => {
                    busy.insert(host.key.shard);
                }
            }
        }
        blocked.retain(|shard, _| !busy.contains(shard));
        blocked
    }

    /// Reports this, or withdraws the report, with the next batch. It holds for the log as far as it is applied now.
    pub fn note_blocked(&mut self, job: JobId, shard: u16, until: Option<Millis>) {
        if self.owns(shard) {
            let applied = self.received(shard).unwrap_or(0);
            self.pending.push(Change::Blocked { job, shard, applied, until });
        }
    }
}
