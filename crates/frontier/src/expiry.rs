//! Decisions by time alone: held failures, and requests without a response.

use crate::frontier::Frontier;
use crate::host::Place;
use crate::ready::HostIndex;
use crate::step::Step;
use argiope_model::Millis;

impl Frontier {
    /// Handles what only depends on time.
    pub(crate) fn expire(&mut self, now: Millis) {
        let verdicts = self.network.expire(now);
        self.decide(verdicts, now);
        self.expire_remote_robots(now);
        while let Some(token) = self.flights.take_stale(now, self.config.stale_after) {
            self.decisions.push(Step::Forget(token));
            self.put_back(token, now);
        }
    }

    /// Held failures need not wait for their window if too few hosts could fail within it to indicate a network outage.
    /// New hosts come only from pages, so only held visits may be in progress; any later response releases them anyway.
    pub(crate) fn release_if_too_few_can_fail(&mut self, now: Millis) {
        let Some(end) = self.network.window_end() else { return };
        // Failures of robots.txt are not held, but their window would keep a job from ending.
        if self.flights.len() > self.network.held() {
            return;
        }
        let may_fail = |place: Place| match place {
            Place::Idle => false,
            Place::Waiting(at, _) => at < end,
            Place::Ready | Place::AtAddress | Place::Busy => true,
        };
        let others = self.hosts.iter().enumerate().filter(|(_, host)| may_fail(host.place));
        // Delayed entries are on disk; each may be of another host.
        let delayed = match self.pending.next_due() {
            Some(due) if due < end => self.jobs.values().map(|job| job.counts.delayed).sum::<u64>(),
            _ => 0,
        };
        let delayed = usize::try_from(delayed).unwrap_or(usize::MAX);
        if !self.network.can_be_called_down(others.map(|(index, _)| index as HostIndex), delayed) {
            let verdicts = self.network.release();
            self.decide(verdicts, now);
        }
    }

    /// Call it instead of [`Frontier::next`] when the process ends: settles held failures. Requests in flight may still
    /// show a network outage. Afterwards nothing can, so the remaining held failures count against their hosts.
    pub fn next_verdict(&mut self, now: Millis) -> Option<Step> {
        self.expire(now);
        if self.flights.requests() == 0 {
            let verdicts = self.network.release();
            self.decide(verdicts, now);
        }
        self.decisions.next()
    }
}
