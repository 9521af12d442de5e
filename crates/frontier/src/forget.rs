//! A user who restarts a crawl or changes settings takes precedence over remembered failures, which are temporary
//! anyway. This shortens no delay and no pause that a host asked for.

use crate::codec::decode_visit;
use crate::frontier::Frontier;
use crate::host::{Host, RobotsHandle};
use crate::ready::HostIndex;
use crate::state::{Delayed, ShardState, StateError, StoredRobots};
use argiope_model::Millis;
use std::collections::HashMap;

/// The number of delayed entries that are searched for those waiting for a robots.txt, earliest first.
const LOOKED_THROUGH: usize = 100_000;

impl Frontier {
    /// Every robots.txt that is unreachable so far is fetched again, as soon as its host may be requested. Everything
    /// in [`Frontier::take_changes`] must have been applied before.
    pub fn forget_robots_failures(&mut self, state: &dyn ShardState, now: Millis) -> Result<(), StateError> {
        self.rules.forget_robots_failures(now);
        for index in 0..self.hosts.len() {
            let Some(host) = self.hosts.get_mut(index) else { continue };
            let mut changed = false;
            for origin in &mut host.reachability.origins {
                if matches!(origin.robots, RobotsHandle::Unreachable { .. }) {
                    origin.robots = RobotsHandle::Missing;
                    changed = true;
                }
            }
            if changed {
                self.reschedule(index as HostIndex, now);
            }
        }
        self.recheck_put_off(state, now)
    }

    /// Forgets the failures of all hosts: breakers close and suspensions end. Every robots.txt is fetched again,
    /// because its rules may have been wrong.
    pub fn forget_failures(&mut self, now: Millis) {
        self.rules.forget_robots(now);
        self.forget_failures_where(now, |_| true);
    }

    /// The same for the hosts of one shard that are in memory. A stored robots.txt that was reachable stays in use,
    /// because a cluster has other jobs, too.
    pub(crate) fn forget_failures_in(&mut self, shard: u16, now: Millis) {
        self.forget_failures_where(now, |host| host.key.shard == shard);
    }

    fn forget_failures_where(&mut self, now: Millis, is_meant: impl Fn(&Host) -> bool) {
        for index in 0..self.hosts.len() {
            let Some(host) = self.hosts.get_mut(index).filter(|host| is_meant(host)) else { continue };
            for origin in &mut host.reachability.origins {
                if matches!(origin.robots, RobotsHandle::Known { .. }) {
                    origin.robots = RobotsHandle::Missing;
                }
            }
            if host.politeness.is_known() && host.politeness.forget_failures() {
                self.hosts.mark_dirty(index as HostIndex);
                self.reschedule(index as HostIndex, now);
            }
        }
    }

    /// The robots.txt settings have changed: stored files are read again and evaluated with the new settings.
    pub(crate) fn reload_robots(&mut self) {
        for origin in self.hosts.iter_mut().flat_map(|host| &mut host.reachability.origins) {
            if matches!(origin.robots, RobotsHandle::Known { .. } | RobotsHandle::Unreachable { .. }) {
                origin.robots = RobotsHandle::Unknown;
            }
        }
    }

    /// Entries that wait for a robots.txt are due now if they need not wait for it any more. Retries and other delayed
    /// entries stay.
    pub fn recheck_put_off(&mut self, state: &dyn ShardState, now: Millis) -> Result<(), StateError> {
        if self.jobs.values().all(|job| job.counts.delayed == 0) {
            return Ok(());
        }
        let (delayed, _) = state.load_due(self.shards.served(), Millis::NEVER, LOOKED_THROUGH)?;
        let mut robots: HashMap<Box<str>, Option<StoredRobots>> = HashMap::new();
        let mut due_now: Vec<Delayed> = Vec::new();
        for delayed in delayed.into_iter().filter(|delayed| delayed.due > now) {
            let rank = delayed.entry.order.rank.saturating_sub(1);
            let Ok(visit) = decode_visit(delayed.at.job, rank, &delayed.entry.value) else { continue };
            let origin = visit.url.origin();
            let stored = match robots.get(origin) {
                Some(stored) => stored,
                None => {
                    let stored = state.load_robots(origin)?;
                    robots.entry(origin.into()).or_insert(stored)
                }
            };
            let waits_no_longer =
                |stored: &StoredRobots| stored.expires == delayed.due && !self.rules.blocks(stored, now);
            if stored.as_ref().is_some_and(waits_no_longer) {
                due_now.push(delayed);
            }
        }
        self.due_loaded(due_now, None, now);
        Ok(())
    }
}
