//! The end of a process that had time to end well.

use crate::frontier::Frontier;
use crate::ready::HostIndex;
use crate::state::QueueAt;
use argiope_model::{JobId, Millis};

impl Frontier {
    /// Where the URLs of a job on a host are queued or wait for their time, if there are any, for those who list them.
    pub fn queue_at(&self, job: JobId, host: &str) -> Option<QueueAt> {
        let host = self.by_name.get(host).and_then(|index| self.host(*index))?;
        Some(QueueAt { job, host: host.key })
    }

    /// Requests that are under way are given up: their visits stay queued, and their hosts are owed a full delay from now.
    pub fn give_up(&mut self, now: Millis) {
        let hosts: Vec<HostIndex> = self.in_flight.values().filter(|f| f.asking).map(|f| f.host).collect();
        for index in hosts {
            let delay = self.delay_of(index, now);
            if let Some(host) = self.host_mut(index) {
                host.politeness.started(now, delay);
            }
            self.mark_dirty(index);
        }
    }
}
