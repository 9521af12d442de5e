//! Requests that have ended: the host is free for the next one after its delay. Aborted requests go back to their
//! queue.

use crate::flights::{EndedRequest, InFlight};
use crate::frontier::Frontier;
use crate::network::{Verdicts, Witness};
use crate::notice::Notice;
use crate::queue::Entry;
use crate::ready::{HostIndex, NO_HOST};
use crate::step::{Step, Token};
use crate::view::requested;
use argiope_model::{FailureKind, Millis, Url};
use argiope_politeness::{AnswerOutcome, AnswerResult, RobotsAnswer};

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub ended: Millis,
    pub outcome: AnswerOutcome,
}

impl Answer {
    /// When the request was made, excluding the time for its body.
    fn asked_at(&self) -> Millis {
        let latency_ms = u64::try_from(self.outcome.latency.as_millis()).unwrap_or(u64::MAX);
        Millis(self.ended.0.saturating_sub(latency_ms))
    }

    /// The host was not reached: because of the host, or of the network.
    fn is_unreachable(&self) -> bool {
        use FailureKind::{Connect, NameUnresolved, Reset, Timeout};
        matches!(self.outcome.result, AnswerResult::Failed(Timeout | Connect | NameUnresolved | Reset))
    }
}

/// What the caller does with the record of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    Record,
    /// Keep it until [`Step::Release`] or [`Step::Forget`] names its token.
    Hold,
}

impl Frontier {
    /// The request has ended, or failed: the host is free for the next one after its delay.
    pub fn answered(&mut self, token: Token, answer: &Answer, now: Millis) -> Disposition {
        if !answer.is_unreachable() && self.network.may_note(now) {
            self.note_witness(token, now);
        }
        let Some(index) = self.free(token, now) else { return Disposition::Record };
        let is_robots = self.flights.get(token).is_some_and(|flight| flight.robots.is_some());
        let is_witness = is_robots && self.network.heard(index);
        let nothing_left = |flight: &InFlight| flight.entry.is_none() && !flight.reserved;
        if !is_robots && self.flights.get(token).is_some_and(nothing_left) {
            self.flights.remove(token);
        }
        if index == NO_HOST {
            return self.answered_without_shard(answer, now);
        }
        let rules = self.rules_of(index);
        let base = self.base_delay_of(index, &rules, now);
        let per_host = self.per_host_of(index, &rules);
        if let Some(host) = self.hosts.get_mut(index as usize) {
            let reaction = host.politeness.answered(answer.ended, &answer.outcome, &rules, base, per_host);
            if let Some(alert) = reaction.alert {
                self.decisions.notice(Notice::Alert { host: host.name.clone(), alert });
            }
            if let Some(parked) = reaction.parked {
                self.decisions.notice(Notice::Parked { host: host.name.clone(), parked });
            }
        }
        self.hosts.mark_dirty(index);
        self.reschedule(index, now);
        if !answer.is_unreachable() {
            let verdicts = self.network.succeeded(answer.asked_at());
            self.decide(verdicts, now);
            return Disposition::Record;
        }
        // robots.txt has its own retries; its failures are not held.
        let verdicts = self.network.failed(index, (!is_robots).then_some(token), is_witness, now);
        self.decide(verdicts, now);
        if is_robots { Disposition::Record } else { Disposition::Hold }
    }

    /// The shard is gone; the result only shows whether the network works.
    fn answered_without_shard(&mut self, answer: &Answer, now: Millis) -> Disposition {
        if !answer.is_unreachable() {
            let verdicts = self.network.succeeded(answer.asked_at());
            self.decide(verdicts, now);
        }
        Disposition::Record
    }

    /// A connection through a proxy says nothing about the network.
    fn note_witness(&mut self, token: Token, now: Millis) {
        let Some(flight) = self.flights.get(token).filter(|flight| flight.address.is_some()) else {
            return;
        };
        let job = flight.robots.as_ref().map(|request| request.job).or(flight.entry.as_ref().map(|e| e.job));
        let origin = requested(flight).and_then(|url| Url::from_stored(&format!("{}/", url.origin())).ok());
        if let (Some(origin), Some(job)) = (origin, job) {
            self.network.note(Witness { origin, job }, now);
        }
    }

    /// Removes a request from those in flight. Returns its host.
    pub(crate) fn free(&mut self, token: Token, now: Millis) -> Option<HostIndex> {
        let EndedRequest { host: index, address, lane } = self.flights.end_request(token)?;
        if let Some(host) = self.host_mut(index) {
            host.in_flight = host.in_flight.saturating_sub(1);
            host.give_lane(lane);
        }
        if let Some(address) = address {
            self.addresses.give_back(address);
            self.pass_on(address, now);
        }
        Some(index)
    }

    pub(crate) fn decide(&mut self, verdicts: Verdicts, now: Millis) {
        if verdicts.is_empty() {
            return;
        }
        for token in verdicts.release {
            self.decisions.push(Step::Release(token));
        }
        for token in verdicts.put_back {
            self.decisions.push(Step::Forget(token));
            self.put_back(token, now);
        }
    }

    /// The visit did not happen: its entry is queued again.
    pub(crate) fn put_back(&mut self, token: Token, now: Millis) {
        self.free(token, now);
        let Some(InFlight { host: index, entry, robots, reserved, orphan_of, .. }) =
            self.flights.remove(token)
        else {
            return;
        };
        if let Some(request) = robots {
            // Its response will never arrive: treated as if the host had not answered.
            self.robots_ended(index, &request, RobotsAnswer::NoAnswer, Vec::new(), now);
        }
        if let Some(id) = orphan_of {
            return self.unreserve(index, id, reserved, now);
        }
        let Some(entry) = entry else { return self.reschedule(index, now) };
        self.unreserve(index, entry.job, reserved, now);
        if let Some(job) = self.jobs.get_mut(&entry.job) {
            job.in_progress = job.in_progress.saturating_sub(1);
            job.evictions.queued(entry.order.rank);
        }
        if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(entry.job)) {
            let before = queue.queue.in_memory();
            queue.queue.put_back(Entry { order: entry.order, value: entry.value });
            let after = queue.queue.in_memory();
            self.windows.changed(before, after);
        }
        self.reschedule(index, now);
    }

    /// Nothing of the visit is stored, and nothing will be. Call it instead of [`Frontier::completed`]. If the shard is
    /// still owned here, the visit is queued again.
    pub fn abandon(&mut self, token: Token, now: Millis) {
        self.put_back(token, now);
    }

    /// A request was not sent, or was aborted, because the lease had expired: its visit is queued again, without
    /// counting against the host. If the request was `sent`, it may have reached the host, which is owed a full delay
    /// from now.
    pub fn take_back(&mut self, token: Token, sent: bool, now: Millis) {
        let Some(flight) = self.flights.get_mut(token) else { return };
        let (index, request) = (flight.host, flight.robots.take());
        if sent {
            let delay = self.delay_of(index, now);
            if let Some(host) = self.host_mut(index) {
                host.politeness.started(now, delay);
                self.hosts.mark_dirty(index);
            }
        }
        self.put_back(token, now);
        if let Some(request) = request.filter(|_| self.shard_of_host(index).is_some()) {
            self.queue_robots_request(index, *request, now);
        }
    }

    /// Whether this token belongs to a shard that is still owned here.
    pub fn is_under_way(&self, token: Token) -> bool {
        self.flights.get(token).is_some_and(|flight| self.shard_of_host(flight.host).is_some())
    }

    /// A late response is expected for this request: it times out as if it had been sent now.
    pub fn expect_later(&mut self, token: Token, now: Millis) {
        self.flights.restart(token, now);
    }
}
