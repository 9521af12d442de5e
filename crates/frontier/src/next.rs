//! The next step: makes due hosts ready and serves the best one.

use crate::config::FrontierConfig;
use crate::frontier::Frontier;
use crate::host::Place;
use crate::network::Gate;
use crate::ready::HostIndex;
use crate::robots_check::robots_request_for;
use crate::step::Step;
use argiope_model::Millis;
use std::time::Duration;

/// A host that may not be requested for longer than this is not used as a witness.
const WITNESS_PATIENCE: Duration = Duration::from_secs(10);

/// Delayed entries that are loaded at once.
const DUE_BATCH: usize = 1000;

impl Frontier {
    /// The next thing to do at `now`. Call it again until it returns [`Step::Wait`].
    pub fn next(&mut self, now: Millis) -> Step {
        self.expire(now);
        if let Some(step) = self.decisions.next() {
            return step;
        }
        if self.pending.take_due(now) {
            return Step::LoadDue { until: now, limit: DUE_BATCH };
        }
        self.call_witness(now);
        if let Some(step) = self.decisions.next() {
            return step;
        }
        self.wake(now);
        loop {
            let gate = self.gate(now);
            if gate == Gate::Nobody {
                return self.wait(now);
            }
            let Some(index) = self.next_ready(gate) else {
                if self.wake_for_spare_budget(now) {
                    continue;
                }
                return self.wait(now);
            };
            if let Some(host) = self.host_mut(index) {
                // It has left the ready set; the result puts it back somewhere.
                host.place = Place::Busy;
            }
            if let Some(step) = self.serve(index, now) {
                let is_request = matches!(step, Step::Fetch(_) | Step::FetchRobots(_));
                self.network.served(index, is_request, now);
                return step;
            }
            if let Some(host) = self.host_mut(index)
                && host.place == Place::Busy
                && let Some(address) = host.reachability.take_address_turn()
            {
                self.pass_on(address, now);
            }
        }
    }

    /// If many hosts have failed, one that responded recently is asked for its robots.txt once more.
    fn call_witness(&mut self, now: Millis) {
        let candidates = self.network.wanted_witnesses(now);
        for witness in &candidates {
            let index = self.host_index(witness.origin.host());
            let rules = self.rules_of(index);
            let Some(host) = self.host(index).filter(|host| !host.closed) else { continue };
            let wait = host.politeness.wait(now, &rules).map(|wait| wait.until);
            if wait.is_some_and(|until| until > now + WITNESS_PATIENCE) {
                continue;
            }
            let Some(request) = robots_request_for(witness.origin.origin(), witness.job) else { continue };
            self.network.called(witness, index, now);
            return self.queue_robots_request(index, request, now);
        }
        if !candidates.is_empty() {
            let verdicts = self.network.no_witness(now);
            self.decide(verdicts, now);
        }
    }

    /// The best host that is ready; during an outage, the one that is to show whether the network is back.
    fn next_ready(&mut self, gate: Gate) -> Option<HostIndex> {
        let wanted = match gate {
            Gate::Only(witness) => Some(witness),
            Gate::Everybody | Gate::One | Gate::Nobody => self.network.take_probe(),
        };
        let wanted = wanted.filter(|index| self.host(*index).is_some_and(|h| h.place == Place::Ready));
        if wanted.is_some() || matches!(gate, Gate::Only(_)) {
            return wanted;
        }
        self.schedule.next_ready(&self.hosts)
    }

    /// Nothing is ready.
    pub(crate) fn wait(&mut self, now: Millis) -> Step {
        self.release_if_too_few_can_fail(now);
        self.decisions.next().unwrap_or_else(|| Step::Wait(self.wake_time(now)))
    }

    /// Hosts that are due become ready.
    fn wake(&mut self, now: Millis) {
        while let Some(index) = self.schedule.pop_due(now, &self.hosts) {
            self.reschedule(index, now);
        }
    }

    /// When to look again if nothing happens.
    pub fn wake_time(&mut self, now: Millis) -> Option<Millis> {
        let timer = self.schedule.next_due(&self.hosts);
        let stale = self.flights.first_start().map(|at| at + self.config.stale_after);
        // While a probe is in flight, wait for its response, not for the next probe.
        let idle = self.has_room() && self.flights.requests() + self.resolving == 0;
        let probe = self.network.wake_at(idle, now);
        let told = self.outbound.next_deadline();
        let times = [timer, self.pending.next_due(), self.network.next_expiry(), stale, probe, told];
        times.into_iter().flatten().min().map(|at| at.max(now))
    }

    fn has_room(&self) -> bool {
        let FrontierConfig { concurrency, ahead, max_outstanding, .. } = self.config;
        self.flights.requests() + self.resolving < concurrency + ahead && self.flights.len() < max_outstanding
    }

    pub(crate) fn gate(&self, now: Millis) -> Gate {
        match self.has_room() {
            true => self.network.gate(self.flights.requests() + self.resolving == 0, now),
            false => Gate::Nobody,
        }
    }
}
