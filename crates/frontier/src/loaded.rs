//! Entries loaded from disk: the next ones of a queue, and delayed ones that are due.

use crate::frontier::Frontier;
use crate::queue::Entry;
use crate::ready::HostIndex;
use crate::state::{Change, Delayed};
use argiope_model::{JobId, Millis};

impl Frontier {
    pub fn queue_loaded(
        &mut self,
        index: HostIndex,
        job: JobId,
        entries: Vec<Entry>,
        complete: bool,
        now: Millis,
    ) {
        if self.step_ended(index) {
            return;
        }
        if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(job)) {
            let before = queue.queue.in_memory();
            queue.queue.loaded(entries, complete);
            let after = queue.queue.in_memory();
            self.windows.changed(before, after);
        }
        self.reschedule(index, now);
    }

    pub fn due_loaded(&mut self, delayed: Vec<Delayed>, next: Option<Millis>, now: Millis) {
        self.pending.note_due(next);
        for Delayed { due, at, entry } in delayed {
            if !self.owns(at.host.shard) {
                continue; // gone since it was asked for
            }
            self.pending.push(Change::Undelay { due, at, order: entry.order });
            if let Some(job) = self.jobs.get_mut(&at.job) {
                job.count(at.host.shard, |counts| counts.delayed = counts.delayed.saturating_sub(1));
            }
            if let Some(index) = self.hosts.keyed(at.host) {
                self.enqueue(index, at.job, entry, now, now);
            }
        }
    }
}
