//! What time alone decides: failures that were held, and requests that nothing was heard of.

use crate::flights::InFlight;
use crate::frontier::Frontier;
use crate::host::Place;
use crate::ready::HostIndex;
use crate::step::{Step, Token};
use argiope_model::Millis;

impl Frontier {
    /// Things that time alone decides.
    pub(crate) fn expire(&mut self, now: Millis) {
        let verdicts = self.network.expire(now);
        self.decide(verdicts, now);
        self.expire_remote_robots(now);
        while let Some((at, token)) = self.started_order.front().copied() {
            if now < at + self.config.stale_after {
                return;
            }
            self.started_order.pop_front();
            let is_stale = |flight: &InFlight| flight.asking && now >= flight.since + self.config.stale_after;
            if self.in_flight.get(&token).is_some_and(is_stale) {
                self.decided.push_back(Step::Forget(token));
                self.put_back(token, now);
            }
        }
    }

    /// Held failures need not wait for their window if too few hosts could fail within it to call the network down. New
    /// hosts come with pages, so nothing but held visits may be handed out; whatever is asked from here on and answered
    /// releases them anyway.
    pub(crate) fn release_if_too_few_can_fail(&mut self, now: Millis) {
        let Some(end) = self.network.window_end() else { return };
        // Failures of robots.txt are not held, but a job would be kept from its end by their window.
        if self.in_flight.len() > self.network.held() {
            return;
        }
        let may_fail = |place: Place| match place {
            Place::Idle => false,
            Place::Waiting(at, _) => at < end,
            Place::Ready | Place::AtAddress | Place::Busy => true,
        };
        let others = self.hosts.iter().enumerate().filter(|(_, host)| may_fail(host.place));
        // Delayed entries are on disk: each may be of another host.
        let delayed = match self.next_due {
            Some(due) if due < end => self.jobs.values().map(|job| job.counts.delayed).sum::<u64>(),
            _ => 0,
        };
        let delayed = usize::try_from(delayed).unwrap_or(usize::MAX);
        if !self.network.can_be_called_down(others.map(|(index, _)| index as HostIndex), delayed) {
            let verdicts = self.network.release();
            self.decide(verdicts, now);
        }
    }

    /// Instead of [`Frontier::next`] when the process ends: what becomes of held failures. Requests that are under way
    /// may still tell that the network is down; after them nothing will, and what was held is the hosts' own.
    pub fn next_verdict(&mut self, now: Millis) -> Option<Step> {
        self.expire(now);
        if self.asking == 0 {
            let verdicts = self.network.release();
            self.decide(verdicts, now);
        }
        self.decided.pop_front()
    }

    /// Remembers when a request began, for those that are never heard of again.
    pub(crate) fn note_start(&mut self, now: Millis, token: Token) {
        if self.started_order.len() > 1024 + 2 * self.asking {
            let in_flight = &self.in_flight;
            self.started_order.retain(|(_, token)| in_flight.get(token).is_some_and(|f| f.asking));
        }
        self.started_order.push_back((now, token));
    }

    /// The first request in the order of starts is one that is under way.
    pub(crate) fn drop_ended_starts(&mut self) {
        while let Some((_, token)) = self.started_order.front() {
            if self.in_flight.get(token).is_some_and(|f| f.asking) {
                return;
            }
            self.started_order.pop_front();
        }
    }
}
