//! Visits whose records are stored: they leave the queue for good, to be retried later, or to continue at the target of
//! their redirect.

use crate::admission::SeenPage;
use crate::codec::decode_visit;
use crate::flights::TakenEntry;
use crate::frontier::Frontier;
use crate::queue::{Entry, OrderKey};
use crate::ready::{HostIndex, NO_HOST};
use crate::state::{Change, Delayed, QueueAt};
use crate::step::{Ticket, Token};
use argiope_model::{JobId, Millis, Url, Visit};

/// How a visit ended, after its records were stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Final. `counted` if it is a page with a final response.
    Done { counted: bool },
    /// It will be retried.
    Retry { due: Millis },
    /// It continues at another URL.
    Redirect { to: Url, status: u16 },
}

impl Frontier {
    /// The visit's records are stored and its links admitted: it leaves the queue.
    pub fn completed(&mut self, token: Token, completion: Completion, now: Millis) {
        let Some(flight) = self.flights.get_mut(token) else { return };
        let (index, entry, reserved) =
            (flight.host, flight.entry.take(), std::mem::take(&mut flight.reserved));
        let orphan_of = flight.orphan_of;
        if !flight.is_requesting() {
            // Otherwise the records were stored before the response was reported, which is still to come.
            self.flights.remove(token);
        }
        if let Some(id) = orphan_of {
            return self.completed_without_shard(id, &completion, reserved, now);
        }
        let Some(entry) = entry else { return };
        if let Some(job) = self.jobs.get_mut(&entry.job) {
            job.in_progress = job.in_progress.saturating_sub(1);
        }
        let goes_away = match &completion {
            Completion::Redirect { to, .. } => {
                self.shard_of_host(index).is_some_and(|from| self.sent_to(from, to).is_some())
            }
            _ => false,
        };
        match (&completion, self.jobs.get_mut(&entry.job)) {
            (Completion::Done { counted: true }, Some(job)) if reserved => job.spend(),
            (Completion::Redirect { to, .. }, Some(_)) if reserved && !goes_away => {
                self.leave_domain(index, entry.job);
                self.promise(entry.job, to);
            }
            // The shard of the redirect's target has its own budget.
            _ => self.unreserve(index, entry.job, reserved, now),
        }
        self.settle(index, entry, completion, now);
    }

    /// The visit's shard is gone and its grant with it, but it may have stored its page.
    fn completed_without_shard(&mut self, id: JobId, completion: &Completion, reserved: bool, now: Millis) {
        match (completion, self.jobs.get_mut(&id)) {
            (Completion::Done { counted: true }, Some(job)) if reserved => job.spend(),
            _ => self.unreserve(NO_HOST, id, reserved, now),
        }
    }

    /// Completes a visit that an earlier process had stored. `value` is not in memory, so the visit is passed in.
    pub fn complete_recovered(&mut self, ticket: Ticket, visit: &Visit, completion: Completion, now: Millis) {
        let Some(index) = self.hosts.keyed(ticket.at.host) else { return };
        let value = crate::codec::encode_visit(visit);
        if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(ticket.at.job)) {
            queue.queue.claim(ticket.order);
        }
        let entry = TakenEntry { job: ticket.at.job, order: ticket.order, value };
        self.settle(index, entry, completion, now);
    }

    pub(crate) fn settle(
        &mut self,
        index: HostIndex,
        entry: TakenEntry,
        completion: Completion,
        now: Millis,
    ) {
        let TakenEntry { job, order, value } = entry;
        let Some(host) = self.host_mut(index) else { return };
        let at = QueueAt { job, host: host.key };
        let Some(queue) = host.queue_mut(job) else { return };
        if !queue.queue.done(order) {
            return; // ended before
        }
        let drained = queue.queue.is_finished();
        self.pending.push(Change::Unqueue { at, order });
        if let Some(state) = self.jobs.get_mut(&job) {
            state.count(at.host.shard, |counts| counts.queued = counts.queued.saturating_sub(1));
        }
        match completion {
            Completion::Done { counted } => self.count_done(at, counted),
            Completion::Retry { due } => self.retry(at, order, &value, due),
            Completion::Redirect { to, status } => {
                if let Ok(visit) = decode_visit(job, order.rank.saturating_sub(1), &value) {
                    self.continue_at(at.host.shard, visit, to, status, now);
                }
            }
        }
        if drained {
            self.hosts.mark_dirty(index);
        }
        self.reschedule_if_idle(index, now);
    }

    pub(crate) fn count_done(&mut self, at: QueueAt, counted: bool) {
        if let Some(state) = self.jobs.get_mut(&at.job) {
            state.count(at.host.shard, |counts| {
                counts.done += 1;
                counts.pages += u64::from(counted);
            });
        }
    }

    pub(crate) fn retry(&mut self, at: QueueAt, order: OrderKey, value: &[u8], due: Millis) {
        let Ok(mut visit) = decode_visit(at.job, order.rank.saturating_sub(1), value) else { return };
        visit.attempt = visit.attempt.saturating_add(1);
        let order = OrderKey { sequence: self.pending.new_sequence(), ..order };
        if let Some(state) = self.jobs.get_mut(&at.job) {
            state.count(at.host.shard, |counts| counts.delayed += 1);
            state.evictions.queued(order.rank);
        }
        let entry = Entry { order, value: crate::codec::encode_visit(&visit) };
        self.pending.delay(Delayed { due, at, entry });
    }

    /// Distinguishes a host's pages from a trap's. Called for each page with final content.
    pub fn page_seen(&mut self, job: JobId, url: &Url, page: SeenPage) {
        let Some(index) = self.hosts.named(url.host()) else { return };
        if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(job)) {
            queue.patterns.page_seen(url, page);
        }
    }
}
