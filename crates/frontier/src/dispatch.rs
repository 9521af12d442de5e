//! Serves a host that is ready: determines what it needs (its address, its robots.txt, entries from disk) and hands out
//! the visit at the head of the next queue.

use crate::codec::decode_visit;
use crate::flights::{InFlight, TakenEntry};
use crate::frontier::Frontier;
use crate::host::{Address, RobotsRequest};
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use crate::resolution::AddressNeed;
use crate::robots_check::RobotsSays;
use crate::state::{Change, Delayed, QueueAt};
use crate::step::{Dispatch, Step, Ticket, Token};
use argiope_model::{JobId, Millis, RequestKind, Skip, SkipReason, Url, Visit};
use argiope_politeness::HostRules;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

impl Frontier {
    /// Serves one host that is ready. None if there is nothing to do for it now.
    pub(crate) fn serve(&mut self, index: HostIndex, now: Millis) -> Option<Step> {
        let rules = self.rules_of(index);
        let host = self.host_mut(index)?;
        if !host.reachability.robots_requests.is_empty() {
            return self.serve_robots_request(index, &rules, now);
        }
        let host = self.host(index)?;
        let Some(turn) = host.queue_in_turn(&self.jobs) else {
            self.reschedule(index, now);
            return None;
        };
        let key = host.key;
        let queue = &host.queues.get(turn)?.queue;
        let job = queue.job;
        let at = QueueAt { job, host: key };
        if let Some(after) = queue.needs_load() {
            let limit = self.windows.room().max(2);
            self.step_asked(index);
            return Some(Step::LoadQueue { host: index, at, after, limit });
        }
        let head = queue.head()?;
        let order = head.order;
        let visit = match decode_visit(job, order.rank.saturating_sub(1), &head.value) {
            Ok(visit) => visit,
            Err(error) => return self.drop_unreadable(index, job, order, &error.to_string(), now),
        };
        self.serve_visit(index, turn, order, visit, &rules, now)
    }

    /// A stored entry that cannot be read is skipped under a URL with the name of the host, so that it is not lost
    /// silently.
    fn drop_unreadable(
        &mut self,
        index: HostIndex,
        job: JobId,
        order: OrderKey,
        error: &str,
        now: Millis,
    ) -> Option<Step> {
        let name = self.host(index)?.name.clone();
        let url = Url::from_stored(&format!("http://{name}/")).ok()?;
        let visit = Visit {
            job,
            kind: RequestKind::Page,
            url,
            round: 0,
            attempt: 0,
            depth: 0,
            priority: 0,
            scheduled_at: now,
            hops: Vec::new(),
            source: None,
            previous: None,
        };
        let skip = Skip::new(SkipReason::NotCrawlable, format!("damaged queue entry {order:?}: {error}"));
        self.refuse(index, visit, skip, now)
    }

    fn serve_visit(
        &mut self,
        index: HostIndex,
        turn: usize,
        order: OrderKey,
        visit: Visit,
        rules: &Arc<HostRules>,
        now: Millis,
    ) -> Option<Step> {
        let job = self.jobs.get_mut(&visit.job)?;
        if job.limits.queue_cap.is_some() && visit.hops.is_empty() && job.evictions.take_evicted(order.rank) {
            // For `refuse` it must not count as evicted.
            job.evictions.queued(order.rank);
            let skip = Skip::new(SkipReason::QueueFull, "evicted from the full queue for a better URL");
            return self.refuse(index, visit, skip, now);
        }
        let counts = visit.kind == RequestKind::Page;
        let host = self.hosts.get(index as usize)?;
        let root = host.root();
        if counts && visit.hops.is_empty() && !job.domain_has_budget(host.key.shard, root) {
            let skip =
                Skip::new(SkipReason::OverBudget, format!("max_pages_per_domain is reached for {root}"));
            return self.refuse(index, visit, skip, now);
        }
        let (robots_hold, proxied) =
            (job.limits.respect_robots && rules.respect_robots(), self.is_proxied(visit.job, &visit.url));
        match self.find_address(index, proxied, now) {
            AddressNeed::Known => {}
            AddressNeed::Missing => return self.fail_unresolved(index, visit, now),
            AddressNeed::First(step) => return Some(step),
        }
        let mut rule = None;
        if robots_hold {
            match self.robots_verdict(index, visit.job, &visit.url, now) {
                RobotsSays::Allowed(by) => rule = by,
                RobotsSays::Disallowed(detail) => {
                    return self.refuse(index, visit, Skip::new(SkipReason::RobotsDisallowed, detail), now);
                }
                RobotsSays::First(step) => return step,
                RobotsSays::Later(until) => return self.postpone(index, &visit, until, now),
            }
        }
        let delay = self.delay_now(index, now)?;
        let per_host = self.per_host_of(index, rules);
        let (addresses, address) = self.address_for(index, per_host, now)?;
        let reserved = counts && self.reserve(visit.job, index, order.rank);
        let host = self.host_mut(index)?;
        let entry = host.queues.get_mut(turn)?.queue.pop()?;
        host.turn = (turn + 1) % host.queues.len().max(1);
        let at = QueueAt { job: visit.job, host: host.key };
        let ticket = Ticket { at, order: entry.order };
        self.windows.changed(1, 0);
        let taken = TakenEntry { job: visit.job, order: entry.order, value: entry.value };
        let (token, lane) = self.begin(index, Some(taken), None, address, reserved, now, delay);
        Some(Step::Fetch(Box::new(Dispatch {
            token,
            visit,
            host: index,
            lane,
            addresses,
            rule,
            delay,
            per_host,
            rules: Arc::clone(rules),
            ticket,
        })))
    }

    /// Registers a request as in flight.
    #[allow(clippy::too_many_arguments, reason = "the parameters of one request, used in two places")]
    pub(crate) fn begin(
        &mut self,
        index: HostIndex,
        entry: Option<TakenEntry>,
        request: Option<Box<RobotsRequest>>,
        address: Option<IpAddr>,
        reserved: bool,
        now: Millis,
        delay: Duration,
    ) -> (Token, u32) {
        if let Some(address) = address {
            self.addresses.take(address);
        }
        if let Some(entry) = &entry
            && let Some(job) = self.jobs.get_mut(&entry.job)
        {
            job.in_progress += 1;
            job.evictions.served(entry.order.rank);
        }
        let mut lane = 0;
        if let Some(host) = self.host_mut(index) {
            lane = host.take_lane();
            host.in_flight += 1;
            host.prepared = entry.is_none();
            host.politeness.started(now, delay);
        }
        let mut flight = InFlight::requesting(index, lane, address, now);
        flight.entry = entry;
        flight.robots = request;
        flight.reserved = reserved;
        let token = self.flights.insert(flight);
        self.reschedule(index, now);
        (token, lane)
    }

    /// Removes the head and records it as skipped.
    fn refuse(&mut self, index: HostIndex, visit: Visit, skip: Skip, now: Millis) -> Option<Step> {
        // A redirect that ends here already has a response; that is its page.
        let keeps_page = visit.kind == RequestKind::Page && !visit.hops.is_empty();
        let (token, ticket) = self.take_unasked(index, visit.job, keeps_page, now)?;
        Some(Step::Refuse { token, visit: Box::new(visit), ticket, skip })
    }

    fn fail_unresolved(&mut self, index: HostIndex, visit: Visit, now: Millis) -> Option<Step> {
        let error: Box<str> = match &self.host(index)?.reachability.address {
            Address::Missing { why, .. } => why.clone(),
            _ => "dns: no address".into(),
        };
        let (token, ticket) = self.take_unasked(index, visit.job, false, now)?;
        Some(Step::Fail { token, visit: Box::new(visit), ticket, error })
    }

    /// Removes the head of a job's queue without a request.
    fn take_unasked(
        &mut self,
        index: HostIndex,
        job: JobId,
        keeps_page: bool,
        now: Millis,
    ) -> Option<(Token, Ticket)> {
        let host = self.host_mut(index)?;
        let at = QueueAt { job, host: host.key };
        let entry = host.queue_mut(job)?.queue.pop()?;
        self.windows.changed(1, 0);
        let ticket = Ticket { at, order: entry.order };
        let taken = TakenEntry { job, order: entry.order, value: entry.value };
        if let Some(job) = self.jobs.get_mut(&job) {
            job.in_progress += 1;
            job.evictions.served(ticket.order.rank);
            if keeps_page && !job.take_promise(ticket.at.host.shard, ticket.order.rank) {
                job.reserved += 1;
            }
        }
        if !keeps_page {
            self.release_promise(ticket.at, ticket.order.rank, now);
        }
        let token = self.flights.insert(InFlight::without_request(index, taken, keeps_page, now));
        self.reschedule(index, now);
        Some((token, ticket))
    }

    /// The entry cannot be served before `until`; it waits on disk.
    fn postpone(&mut self, index: HostIndex, visit: &Visit, until: Millis, now: Millis) -> Option<Step> {
        let host = self.host_mut(index)?;
        let at = QueueAt { job: visit.job, host: host.key };
        let queue = &mut host.queue_mut(visit.job)?.queue;
        let head = queue.pop()?;
        queue.done(head.order);
        self.windows.changed(1, 0);
        if let Some(job) = self.jobs.get_mut(&visit.job) {
            job.count(at.host.shard, |counts| {
                counts.queued = counts.queued.saturating_sub(1);
                counts.delayed += 1;
            });
        }
        // Others need not hold back their page for this one.
        self.release_promise(at, head.order.rank, now);
        self.pending.push(Change::Unqueue { at, order: head.order });
        self.pending.delay(Delayed { due: until, at, entry: head });
        self.reschedule(index, now);
        None
    }
}
