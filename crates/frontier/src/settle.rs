//! What became of things that were handed out: an answer frees the host, a completion ends the visit.

use crate::admission::SeenPage;
use crate::codec::decode_visit;
use crate::frontier::{Frontier, InFlight, Step, TakenEntry, Ticket, Token};
use crate::host::{Address, Place, RobotsHandle, RobotsRequest};
use crate::job::Job;
use crate::network::{Verdicts, Witness};
use crate::queue::{Entry, OrderKey};
use crate::ready::{HostIndex, NOWHERE};
use crate::state::{Change, Delayed, QueueAt, StoredRobots};
use crate::view::requested;
use argiope_model::{FailureKind, JobId, Millis, Scheme, Url, Visit};
use argiope_politeness::{
    Alert, AnswerOutcome, AnswerResult, Parked, Robots, RobotsAnswer, RobotsNext, RobotsPolicy, RobotsUse,
};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// How a visit ended, once its records are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// For good. `counted` if it is a page with a final response.
    Done { counted: bool },
    /// It is tried again.
    Retry { due: Millis },
    /// It goes on elsewhere.
    Redirect { to: Url, status: u16 },
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub ended: Millis,
    pub outcome: AnswerOutcome,
}

impl Answer {
    /// When the request was made, but for the time its body took.
    fn asked_at(&self) -> Millis {
        let latency_ms = u64::try_from(self.outcome.latency.as_millis()).unwrap_or(u64::MAX);
        Millis(self.ended.0.saturating_sub(latency_ms))
    }

    /// Nobody was reached: the host's fault, or the network's.
    fn is_unreachable(&self) -> bool {
        use FailureKind::{Connect, NameUnresolved, Reset, Timeout};
        matches!(self.outcome.result, AnswerResult::Failed(Timeout | Connect | NameUnresolved | Reset))
    }
}

/// Something an operator wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Alert {
        host: Box<str>,
        alert: Alert,
    },
    Parked {
        host: Box<str>,
        parked: Parked,
    },
    RobotsUnreachable {
        host: Box<str>,
        until: Millis,
    },
    /// A message in the log of a shard cannot be read, and was passed over.
    DamagedMessage {
        shard: u16,
        offset: u64,
        why: Box<str>,
    },
}

/// What the caller does with an answer's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    Record,
    /// Keep it until [`Step::Release`] or [`Step::Forget`] names its token.
    Hold,
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// There is no such name, or it has no address that may be connected to, until then.
    NoSuchHost { until: Millis, why: Box<str> },
    /// No resolver gave an answer.
    NoAnswer { why: Box<str> },
}

const TOO_MANY_REQUESTS: u16 = 429;

/// Tries at resolving a name when no resolver answers, before it is the host's failure.
const DNS_TRIES: u8 = 3;

impl Frontier {
    /// The request has ended, or failed: the host is free for the next one after its delay.
    pub fn answered(&mut self, token: Token, answer: &Answer, now: Millis) -> Disposition {
        if !answer.is_unreachable() && self.network.may_note(now) {
            self.note_witness(token, now);
        }
        let Some(index) = self.free(token, now) else { return Disposition::Record };
        let is_robots = self.in_flight.get(&token).is_some_and(|flight| flight.request.is_some());
        let is_witness = is_robots && self.network.heard(index);
        let nothing_left = |flight: &InFlight| flight.entry.is_none() && !flight.reserved;
        if !is_robots && self.in_flight.get(&token).is_some_and(nothing_left) {
            self.in_flight.remove(&token);
        }
        if index == NOWHERE {
            return self.answered_for_nobody(answer, now);
        }
        let rules = self.rules_of(index);
        let base = self.base_delay_of(index, &rules, now);
        let per_host = self.per_host_of(index, &rules);
        if let Some(host) = self.hosts.get_mut(index as usize) {
            let reaction = host.politeness.answered(answer.ended, &answer.outcome, &rules, base, per_host);
            if let Some(alert) = reaction.alert {
                self.notices.push_back(Notice::Alert { host: host.name.clone(), alert });
            }
            if let Some(parked) = reaction.parked {
                self.notices.push_back(Notice::Parked { host: host.name.clone(), parked });
            }
        }
        self.mark_dirty(index);
        self.reschedule(index, now);
        if !answer.is_unreachable() {
            let verdicts = self.network.succeeded(answer.asked_at());
            self.decide(verdicts, now);
            return Disposition::Record;
        }
        // robots.txt has retries of its own: nothing of it is held.
        let verdicts = self.network.failed(index, (!is_robots).then_some(token), is_witness, now);
        self.decide(verdicts, now);
        if is_robots { Disposition::Record } else { Disposition::Hold }
    }

    /// Whoever is reached by way of a proxy says nothing of the network.
    fn note_witness(&mut self, token: Token, now: Millis) {
        let Some(flight) = self.in_flight.get(&token).filter(|flight| flight.address.is_some()) else {
            return;
        };
        let job = flight.request.as_ref().map(|request| request.job).or(flight.entry.as_ref().map(|e| e.job));
        let origin = requested(flight).and_then(|url| Url::from_stored(&format!("{}/", url.origin())).ok());
        if let (Some(origin), Some(job)) = (origin, job) {
            self.network.note(Witness { origin, job }, now);
        }
    }

    /// The shard has gone: all that counts is whether the network is there.
    fn answered_for_nobody(&mut self, answer: &Answer, now: Millis) -> Disposition {
        if !answer.is_unreachable() {
            let verdicts = self.network.succeeded(answer.asked_at());
            self.decide(verdicts, now);
        }
        Disposition::Record
    }

    /// Takes a request out of those under way. The host it was for.
    fn free(&mut self, token: Token, now: Millis) -> Option<HostIndex> {
        let flight = self.in_flight.get_mut(&token)?;
        if !std::mem::take(&mut flight.asking) {
            return None;
        }
        let (index, address, lane) = (flight.host, flight.address.take(), flight.lane);
        self.asking = self.asking.saturating_sub(1);
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

    /// There is a place at this address for the first in line.
    pub(crate) fn pass_on(&mut self, address: IpAddr, now: Millis) {
        if let Some(next) = self.wake_at(address) {
            self.reschedule(next, now);
        }
    }

    pub(crate) fn decide(&mut self, verdicts: Verdicts, now: Millis) {
        if verdicts.is_empty() {
            return;
        }
        self.decided.extend(verdicts.release.into_iter().map(Step::Release));
        for token in verdicts.put_back {
            self.decided.push_back(Step::Forget(token));
            self.put_back(token, now);
        }
    }

    /// The visit did not happen: its entry is served again.
    pub(crate) fn put_back(&mut self, token: Token, now: Millis) {
        self.free(token, now);
        let Some(InFlight { host: index, entry, request, reserved, orphan_of, .. }) =
            self.in_flight.remove(&token)
        else {
            return;
        };
        if let Some(request) = request {
            // Nobody will answer it: as if the host had not.
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
            self.in_memory += after - before;
        }
        self.reschedule(index, now);
    }

    /// A page that was promised to a visit is free again, or goes with its redirect.
    fn unreserve(&mut self, index: HostIndex, id: JobId, reserved: bool, now: Millis) {
        if !reserved {
            return;
        }
        self.leave_domain(index, id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.reserved = job.reserved.saturating_sub(1);
        }
        self.wake_for_budget(id, now);
    }

    pub(crate) fn leave_domain(&mut self, index: HostIndex, id: JobId) {
        if let (Some(job), Some(host)) = (self.jobs.get_mut(&id), self.hosts.get(index as usize))
            && job.limits.max_pages_per_domain.is_some()
            && let Some(pages) = job.shard_mut(host.key.shard).domain_pages.get_mut(host.root())
        {
            *pages = pages.saturating_sub(1);
        }
    }

    /// A queued redirect ends unasked, or waits for long: the page it holds is free.
    pub(crate) fn release_promise(&mut self, at: QueueAt, rank: u8, now: Millis) {
        if let Some(job) = self.jobs.get_mut(&at.job)
            && job.take_promise(at.host.shard, rank)
        {
            job.reserved = job.reserved.saturating_sub(1);
            self.wake_for_budget(at.job, now);
        }
    }

    /// As many hosts as there are pages left are told to go on.
    pub(crate) fn wake_for_budget(&mut self, id: JobId, now: Millis) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let count = usize::try_from(job.pages_left()).unwrap_or(usize::MAX).min(job.wait_for_budget.len());
        let woken: Vec<HostIndex> = job.wait_for_budget.drain(..count).collect();
        for index in woken {
            if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(id)) {
                queue.waits_for_budget = false;
            }
            self.reschedule(index, now);
        }
    }

    /// Whoever was told to go on may have had nothing to spend a page on. True if another one may have.
    pub(crate) fn wake_for_spare_budget(&mut self, now: Millis) -> bool {
        let spare = |job: &&Job| job.has_budget() && !job.wait_for_budget.is_empty();
        let Some(id) = self.jobs.values().find(spare).map(|job| job.id) else { return false };
        self.wake_for_budget(id, now);
        true
    }

    /// The visit's records are stored and its links have been offered: it leaves the queue.
    pub fn completed(&mut self, token: Token, completion: Completion, now: Millis) {
        let Some(flight) = self.in_flight.get_mut(&token) else { return };
        let (index, entry, reserved) =
            (flight.host, flight.entry.take(), std::mem::take(&mut flight.reserved));
        let orphan_of = flight.orphan_of;
        if !flight.asking {
            // Otherwise its records were quicker than the news of its answer, which is still to come.
            self.in_flight.remove(&token);
        }
        if let Some(id) = orphan_of {
            return self.completed_for_nobody(id, &completion, reserved, now);
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
            // The owner of where a redirect goes has a budget of its own.
            _ => self.unreserve(index, entry.job, reserved, now),
        }
        self.settle(index, entry, completion, now);
    }

    /// What the visit of a shard that has gone was given is lost, but it may have stored its page.
    fn completed_for_nobody(&mut self, id: JobId, completion: &Completion, reserved: bool, now: Millis) {
        match (completion, self.jobs.get_mut(&id)) {
            (Completion::Done { counted: true }, Some(job)) if reserved => job.spend(),
            _ => self.unreserve(NOWHERE, id, reserved, now),
        }
    }

    /// Nothing of the visit is stored, and nothing will be: instead of [`Frontier::completed`]. If its shard is still here
    /// it is served again.
    pub fn abandon(&mut self, token: Token, now: Millis) {
        self.put_back(token, now);
    }

    /// A request was not made, or was given up, because the lease did not hold: what was asked for is served again, with
    /// nothing held against its host. One that was `sent` may have reached it: the host is owed a full delay from now.
    pub fn take_back(&mut self, token: Token, sent: bool, now: Millis) {
        let Some(flight) = self.in_flight.get_mut(&token) else { return };
        let (index, request) = (flight.host, flight.request.take());
        if sent {
            let delay = self.delay_of(index, now);
            if let Some(host) = self.host_mut(index) {
                host.politeness.started(now, delay);
                self.mark_dirty(index);
            }
        }
        self.put_back(token, now);
        if let Some(request) = request.filter(|_| self.shard_of_host(index).is_some()) {
            self.queue_robots_request(index, *request, now);
        }
    }

    /// Is what was handed out under this token still for a shard that is here?
    pub fn is_under_way(&self, token: Token) -> bool {
        self.in_flight.get(&token).is_some_and(|flight| self.shard_of_host(flight.host).is_some())
    }

    /// An answer that came late will be told: it is not missed before it might be if it had been asked for now.
    pub fn expect_later(&mut self, token: Token, now: Millis) {
        if let Some(flight) = self.in_flight.get_mut(&token) {
            flight.since = now;
            self.note_start(now, token);
        }
    }

    /// A redirect's page goes with it, so that no other visit takes it meanwhile.
    fn promise(&mut self, id: JobId, to: &Url) {
        let target = self.host_index(to.host());
        if let (Some(job), Some(host)) = (self.jobs.get_mut(&id), self.hosts.get(target as usize)) {
            job.promise(host.key.shard);
        }
    }

    /// A visit that a former process had stored but not ended. `value` is not in memory: the visit is given.
    pub fn complete_recovered(&mut self, ticket: Ticket, visit: &Visit, completion: Completion, now: Millis) {
        let Some(index) = self.hosts.keyed(ticket.at.host) else { return };
        let value = crate::codec::encode_visit(visit);
        if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(ticket.at.job)) {
            queue.queue.claim(ticket.order);
        }
        let entry = TakenEntry { job: ticket.at.job, order: ticket.order, value };
        self.settle(index, entry, completion, now);
    }

    fn settle(&mut self, index: HostIndex, entry: TakenEntry, completion: Completion, now: Millis) {
        let TakenEntry { job, order, value } = entry;
        let Some(host) = self.host_mut(index) else { return };
        let at = QueueAt { job, host: host.key };
        let Some(queue) = host.queue_mut(job) else { return };
        if !queue.queue.done(order) {
            return; // ended before
        }
        let drained = queue.queue.is_finished();
        self.changes.changes.push(Change::Unqueue { at, order });
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
            self.mark_dirty(index);
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
        let order = OrderKey { sequence: self.new_sequence(), ..order };
        if let Some(state) = self.jobs.get_mut(&at.job) {
            state.count(at.host.shard, |counts| counts.delayed += 1);
            state.evictions.queued(order.rank);
        }
        let entry = Entry { order, value: crate::codec::encode_visit(&visit) };
        self.delay_entry(Delayed { due, at, entry });
    }

    /// A host that has nothing more to do lets go of what it holds.
    fn reschedule_if_idle(&mut self, index: HostIndex, now: Millis) {
        if self.host(index).is_some_and(|host| host.place == Place::Idle) {
            self.reschedule(index, now);
        }
    }

    /// Tells a host's pages apart from a trap's: called for each page with final content.
    pub fn page_seen(&mut self, job: JobId, url: &Url, page: SeenPage) {
        let Some(index) = self.hosts.named(url.host()) else { return };
        if let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(job)) {
            queue.patterns.page_seen(url, page);
        }
    }

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
            self.in_memory = self.in_memory + after - before;
        }
        self.reschedule(index, now);
    }

    pub fn due_loaded(&mut self, delayed: Vec<Delayed>, next: Option<Millis>, now: Millis) {
        self.next_due = match (self.next_due, next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for Delayed { due, at, entry } in delayed {
            if !self.owns(at.host.shard) {
                continue; // gone since it was asked for
            }
            self.changes.changes.push(Change::Undelay { due, at, order: entry.order });
            if let Some(job) = self.jobs.get_mut(&at.job) {
                job.count(at.host.shard, |counts| counts.delayed = counts.delayed.saturating_sub(1));
            }
            if let Some(index) = self.hosts.keyed(at.host) {
                self.enqueue(index, at.job, entry, now, now);
            }
        }
    }

    pub fn resolved(
        &mut self,
        index: HostIndex,
        result: Result<(Arc<[IpAddr]>, Millis), Unresolved>,
        now: Millis,
    ) {
        self.resolving = self.resolving.saturating_sub(1);
        if self.step_ended(index) {
            return;
        }
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        match result {
            Ok((addresses, expires)) => {
                host.reachability.dns_tries = 0;
                host.reachability.dns_retry_at = Millis(0);
                host.reachability.address = Address::Known { addresses, expires };
            }
            Err(Unresolved::NoSuchHost { until, why }) => {
                host.reachability.address = Address::Missing { until, why }
            }
            Err(Unresolved::NoAnswer { why }) => {
                host.reachability.dns_tries += 1;
                if host.reachability.dns_tries < DNS_TRIES {
                    host.reachability.dns_retry_at =
                        now + Duration::from_secs(2 << host.reachability.dns_tries);
                    host.reachability.address = Address::Unknown;
                } else {
                    host.reachability.dns_tries = 0;
                    host.reachability.address =
                        Address::Missing { until: now + Duration::from_secs(60), why };
                }
                let is_witness = self.network.heard(index);
                let verdicts = self.network.failed(index, None, is_witness, now);
                self.decide(verdicts, now);
            }
        }
        self.reschedule(index, now);
    }

    /// What the state has of a robots.txt. Gives back what it says, if it still holds: its sitemaps may be news to a job.
    pub fn robots_loaded(
        &mut self,
        index: HostIndex,
        scheme: Scheme,
        agent: &str,
        stored: Option<StoredRobots>,
        now: Millis,
    ) -> Option<Arc<Robots>> {
        if self.step_ended(index) {
            return None;
        }
        let policy = self.politeness.robots().clone();
        // Earlier versions took a 429 for the lack of rules: such a robots.txt is asked for again.
        let stored = stored.filter(|stored| stored.status != TOO_MANY_REQUESTS);
        let stored = stored.filter(|stored| !self.is_forgotten(stored));
        let host = self.host_mut(index)?;
        let mut known = None;
        // The settings of today decide how long an answer holds, not those it was stored under.
        let next = stored.as_ref().map(|stored| policy.next(stored.answer(), u8::MAX, stored.fetched_at));
        let handle = match (stored, next) {
            (Some(_), Some(RobotsNext::UnreachableUntil(until))) if until > now => {
                RobotsHandle::Unreachable { until }
            }
            (Some(stored), Some(RobotsNext::Use { expires, .. })) if expires > now => {
                let robots = Arc::new(parse_robots(&stored, agent, &policy));
                host.politeness.raise_crawl_delay(robots.crawl_delay());
                known = Some(Arc::clone(&robots));
                RobotsHandle::Known { robots, expires }
            }
            _ => RobotsHandle::Missing,
        };
        host.origin_mut(scheme, agent).robots = handle;
        self.reschedule(index, now);
        known
    }

    /// The answer to a request for robots.txt (after [`Frontier::answered`] freed the host). The sitemaps it names are
    /// returned with its URL's origin.
    pub fn robots_answered(
        &mut self,
        token: Token,
        outcome: RobotsAnswered,
        now: Millis,
    ) -> Option<RobotsNews> {
        self.free(token, now);
        let flight = self.in_flight.remove(&token)?;
        let request = *flight.request?;
        match outcome {
            RobotsAnswered::Redirect(to) if request.hops < 5 => {
                let request = RobotsRequest { url: to, hops: request.hops + 1, ..request };
                self.robots_redirected(flight.host, request, now);
                None
            }
            // Too many hops are no robots.txt at all (RFC 9309, 2.3.1.2).
            RobotsAnswered::Redirect(_) => {
                self.robots_ended(flight.host, &request, RobotsAnswer::TooManyRedirects, Vec::new(), now)
            }
            RobotsAnswered::Final { answer, body } => {
                self.robots_ended(flight.host, &request, answer, body, now)
            }
        }
    }

    /// An request that waits for this host's turn.
    pub(crate) fn queue_robots_request(&mut self, index: HostIndex, request: RobotsRequest, now: Millis) {
        // The host may be one that a former owner has asked, too, and that the state does not know.
        self.wait_after_unclean_stop(index, now);
        if let Some(host) = self.hosts.get_mut(index as usize) {
            host.reachability.robots_requests.push_back(request);
            if host.dirty {
                // Nothing is asked of a host that the state does not know.
                self.changes.changes.push(Change::Host { key: host.key, record: host.encode() });
            }
        }
        self.reschedule(index, now);
    }

    pub(crate) fn robots_settled(
        &mut self,
        index: HostIndex,
        asked_for: &Url,
        answer: RobotsAnswer,
        body: Vec<u8>,
        now: Millis,
    ) -> Option<RobotsNews> {
        let policy = self.politeness.robots().clone();
        let scheme = asked_for.scheme();
        let host = self.hosts.get_mut(index as usize)?;
        let tries = host
            .reachability
            .origins
            .iter()
            .filter(|o| o.scheme == scheme)
            .map(|o| o.tries)
            .max()
            .unwrap_or(0)
            + 1;
        let mut news = None;
        let next = match (answer, self.network.down_since()) {
            // It was the network's fault, not the host's: no try is counted.
            (RobotsAnswer::NoAnswer, Some(_)) => RobotsNext::RetryAt(self.network.next_probe()),
            _ => policy.next(answer, tries, now),
        };
        let counts = self.network.down_since().is_none();
        match next {
            RobotsNext::Use { expires, .. } => {
                let status = status_of(answer);
                let stored = StoredRobots { fetched_at: now, expires, status, body: body.into_boxed_slice() };
                for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                    let robots = Arc::new(parse_robots(&stored, &origin.agent, &policy));
                    host.politeness.raise_crawl_delay(robots.crawl_delay());
                    news = Some(RobotsNews { origin: asked_for.clone(), robots: Arc::clone(&robots) });
                    origin.robots = RobotsHandle::Known { robots, expires };
                    origin.tries = 0;
                    origin.retry_at = Millis(0);
                    origin.told_until = None;
                }
                let (shard, origin) = (host.key.shard, asked_for.origin().into());
                self.changes.changes.push(Change::Robots { shard, origin, stored });
            }
            RobotsNext::RetryAt(at) => {
                for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                    origin.tries = origin.tries.saturating_add(u8::from(counts));
                    origin.retry_at = at;
                    origin.told_until = None;
                    origin.robots = RobotsHandle::Missing;
                }
            }
            RobotsNext::UnreachableUntil(until) => {
                for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                    origin.tries = 0;
                    origin.retry_at = Millis(0);
                    origin.told_until = None;
                    origin.robots = RobotsHandle::Unreachable { until };
                }
                self.notices.push_back(Notice::RobotsUnreachable { host: host.name.clone(), until });
                let body = Box::default();
                let stored =
                    StoredRobots { fetched_at: now, expires: until, status: StoredRobots::NO_ANSWER, body };
                let (shard, origin) = (host.key.shard, asked_for.origin().into());
                self.changes.changes.push(Change::Robots { shard, origin, stored });
            }
        }
        // A Crawl-delay holds from the answer that told it, whose end was rounded up where `now` was cut off.
        let told = Millis(now.0.saturating_add(1));
        let rules = self.rules_of(index);
        let delay = self.base_delay_of(index, &rules, now);
        if let Some(host) = self.host_mut(index) {
            host.politeness.started(told, delay);
        }
        self.mark_dirty(index);
        self.reschedule(index, now);
        news
    }

    /// A host without an address has no robots.txt: the visits behind it fail by themselves.
    pub(crate) fn robots_without_address(&mut self, index: HostIndex, request: &RobotsRequest, now: Millis) {
        if self.host(index).is_some_and(|host| *host.name != *request.origin.host()) {
            // A redirect to a host that does not exist is an unreachable robots.txt.
            self.robots_ended(index, request, RobotsAnswer::NoAnswer, Vec::new(), now);
            return;
        }
        let scheme = request.origin.scheme();
        if let Some(host) = self.host_mut(index) {
            for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                origin.robots = RobotsHandle::Missing;
            }
        }
    }

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

/// What came of asking for robots.txt.
#[derive(Clone, Debug)]
pub enum RobotsAnswered {
    Redirect(Url),
    Final { answer: RobotsAnswer, body: Vec<u8> },
}

/// A robots.txt that has just been read.
#[derive(Clone, Debug)]
pub struct RobotsNews {
    pub origin: Url,
    pub robots: Arc<Robots>,
}

/// What is stored of a robots.txt answers as it did when it was new.
pub(crate) fn parse_robots(stored: &StoredRobots, agent: &str, policy: &RobotsPolicy) -> Robots {
    let answer = stored.answer();
    let why = match answer {
        RobotsAnswer::Status(status) => format!("robots.txt answered {status}"),
        _ => String::from("robots.txt could not be had"),
    };
    match policy.next(answer, u8::MAX, stored.fetched_at) {
        RobotsNext::Use { rules: RobotsUse::Body, .. } => Robots::parse(&stored.body, agent),
        RobotsNext::Use { rules: RobotsUse::AllowAll, .. } => Robots::allow_all(&why),
        RobotsNext::Use { rules: RobotsUse::DisallowAll, .. }
        | RobotsNext::RetryAt(_)
        | RobotsNext::UnreachableUntil(_) => Robots::disallow_all(&why),
    }
}

fn status_of(answer: RobotsAnswer) -> u16 {
    match answer {
        RobotsAnswer::Status(status) => status,
        RobotsAnswer::TooManyRedirects => 310,
        RobotsAnswer::NoAnswer => 0,
    }
}

/// What a display or the end of a job wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    pub queued: u64,
    pub delayed: u64,
    pub in_progress: u64,
    pub pages: u64,
    pub done: u64,
    pub budget_spent: bool,
}

impl JobProgress {
    /// Pending and in progress are zero.
    pub fn is_finished(&self) -> bool {
        self.queued == 0 && self.delayed == 0 && self.in_progress == 0
    }
}

impl Frontier {
    pub fn progress(&self, job: JobId) -> Option<JobProgress> {
        let job: &Job = self.jobs.get(&job)?;
        Some(JobProgress {
            queued: job.counts.queued,
            delayed: job.counts.delayed,
            in_progress: job.in_progress,
            pages: job.counts.pages,
            done: job.counts.done,
            budget_spent: job.limits.max_pages.is_some_and(|max| job.counts.pages >= max),
        })
    }
}
