//! What is due: `next` moves due hosts over, takes the best one, and finds out what it needs: its address, its
//! robots.txt, entries from disk, or the visit at the head of the queue whose turn it is.

use crate::codec::decode_visit;
use crate::frontier::{
    Dispatch, Frontier, FrontierConfig, InFlight, RobotsDispatch, Rule, Step, TakenEntry, Ticket, Token,
};
use crate::host::{Address, Place, RobotsHandle, RobotsRequest};
use crate::network::Gate;
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use crate::state::{Change, Delayed, QueueAt};
use argiope_model::{JobId, Millis, RequestKind, Skip, SkipReason, Url, Visit};
use argiope_politeness::{HostRules, RuleRef};

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// A host that may not be asked for longer than this is no witness.
const WITNESS_PATIENCE: Duration = Duration::from_secs(10);
/// Delayed entries that are taken over at once.
const DUE_BATCH: usize = 1000;

impl Frontier {
    /// The next thing to do at `now`. Ask again until it says [`Step::Wait`].
    pub fn next(&mut self, now: Millis) -> Step {
        self.expire(now);
        if let Some(step) = self.decided.pop_front() {
            return step;
        }
        if self.next_due.is_some_and(|due| due <= now) {
            self.next_due = None;
            return Step::LoadDue { until: now, limit: DUE_BATCH };
        }
        self.call_witness(now);
        if let Some(step) = self.decided.pop_front() {
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
                // It has left the ready set; whatever comes of it puts it somewhere.
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

    /// Where many hosts have failed, one that has answered lately is asked for its robots.txt once more.
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

    /// The best host that is ready; while the network is down, the one that is to tell whether it is back.
    fn next_ready(&mut self, gate: Gate) -> Option<HostIndex> {
        let wanted = match gate {
            Gate::Only(witness) => Some(witness),
            Gate::Everybody | Gate::One | Gate::Nobody => self.network.take_probe(),
        };
        let wanted = wanted.filter(|index| self.host(*index).is_some_and(|h| h.place == Place::Ready));
        if wanted.is_some() || matches!(gate, Gate::Only(_)) {
            return wanted;
        }
        let hosts = &self.hosts;
        let live = |host, stamp| Frontier::is_live(hosts, host, stamp, |p| p == Place::Ready);
        self.ready.pop(live)
    }

    /// Nothing is ready.
    fn wait(&mut self, now: Millis) -> Step {
        self.release_if_too_few_can_fail(now);
        self.decided.pop_front().unwrap_or_else(|| Step::Wait(self.wake_time(now)))
    }

    /// Hosts whose time has come become ready.
    fn wake(&mut self, now: Millis) {
        loop {
            let hosts = &self.hosts;
            let live =
                |host, stamp| Frontier::is_live(hosts, host, stamp, |p| matches!(p, Place::Waiting(..)));
            match self.timers.pop_due(now, live) {
                Some(index) => self.reschedule(index, now),
                None => return,
            }
        }
    }

    /// When to look again although nothing has happened.
    pub fn wake_time(&mut self, now: Millis) -> Option<Millis> {
        let hosts = &self.hosts;
        let live = |host, stamp| Frontier::is_live(hosts, host, stamp, |p| matches!(p, Place::Waiting(..)));
        let timer = self.timers.next_due(live);
        self.drop_ended_starts();
        let stale = self.started_order.front().map(|(at, _)| *at + self.config.stale_after);
        // While a probe is under way its answer is waited for, not the time of the next one.
        let idle = self.has_room() && self.asking + self.resolving == 0;
        let probe = self.network.wake_at(idle, now);
        let told = self.outbound.next_deadline();
        let times = [timer, self.next_due, self.network.next_expiry(), stale, probe, told];
        times.into_iter().flatten().min().map(|at| at.max(now))
    }

    fn has_room(&self) -> bool {
        let FrontierConfig { concurrency, ahead, max_outstanding, .. } = self.config;
        self.asking + self.resolving < concurrency + ahead && self.in_flight.len() < max_outstanding
    }

    fn gate(&self, now: Millis) -> Gate {
        match self.has_room() {
            true => self.network.gate(self.asking + self.resolving == 0, now),
            false => Gate::Nobody,
        }
    }

    /// One host that is ready. None if it turned out to have nothing to do now.
    fn serve(&mut self, index: HostIndex, now: Millis) -> Option<Step> {
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
            let limit = self.room().max(2);
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

    /// A stored entry that cannot be read is refused under a URL that names the host, so that it is not lost silently.
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
            // `refuse` takes it for one that was not evicted.
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
        self.in_memory = self.in_memory.saturating_sub(1);
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

    /// The delay that this request keeps. None if it has grown during the wait for it: the host waits on.
    fn delay_now(&mut self, index: HostIndex, now: Millis) -> Option<Duration> {
        let delay = self.delay_of(index, now);
        let host = self.host_mut(index)?;
        if !host.politeness.keeps(delay, now) {
            self.mark_dirty(index);
            self.reschedule(index, now);
            return None;
        }
        Some(delay)
    }

    fn reserve(&mut self, job: JobId, index: HostIndex, rank: u8) -> bool {
        let (Some(job), Some(host)) = (self.jobs.get_mut(&job), self.hosts.get(index as usize)) else {
            return false;
        };
        if !job.take_promise(host.key.shard, rank) {
            job.reserved += 1;
        }
        if job.limits.max_pages_per_domain.is_some() {
            *job.shard_mut(host.key.shard).domain_pages.entry(host.root().into()).or_default() += 1;
        }
        true
    }

    /// Books a request as under way.
    #[allow(clippy::too_many_arguments, reason = "the facts of one request, used in two places")]
    fn begin(
        &mut self,
        index: HostIndex,
        entry: Option<TakenEntry>,
        request: Option<Box<RobotsRequest>>,
        address: Option<IpAddr>,
        reserved: bool,
        now: Millis,
        delay: Duration,
    ) -> (Token, u32) {
        let token = self.new_token();
        if let Some(address) = address {
            self.addresses.take(address);
        }
        if let Some(entry) = &entry
            && let Some(job) = self.jobs.get_mut(&entry.job)
        {
            job.in_progress += 1;
            job.evictions.served(entry.order.rank);
        }
        self.asking += 1;
        let mut lane = 0;
        if let Some(host) = self.host_mut(index) {
            lane = host.take_lane();
            host.in_flight += 1;
            host.prepared = entry.is_none();
            host.politeness.started(now, delay);
        }
        self.note_start(now, token);
        self.in_flight.insert(
            token,
            InFlight {
                host: index,
                entry,
                request,
                address,
                reserved,
                asking: true,
                lane,
                since: now,
                orphan_of: None,
            },
        );
        self.reschedule(index, now);
        (token, lane)
    }

    /// Takes the head out and has it recorded as refused.
    fn refuse(&mut self, index: HostIndex, visit: Visit, skip: Skip, now: Millis) -> Option<Step> {
        // A redirect that ends here has had its answer, and that is its page.
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

    /// Takes the head of a job's queue out without a request.
    fn take_unasked(
        &mut self,
        index: HostIndex,
        job: JobId,
        keeps_page: bool,
        now: Millis,
    ) -> Option<(Token, Ticket)> {
        let token = self.new_token();
        let host = self.host_mut(index)?;
        let at = QueueAt { job, host: host.key };
        let entry = host.queue_mut(job)?.queue.pop()?;
        self.in_memory = self.in_memory.saturating_sub(1);
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
        self.in_flight.insert(
            token,
            InFlight {
                host: index,
                entry: Some(taken),
                request: None,
                address: None,
                reserved: keeps_page,
                asking: false,
                lane: 0,
                since: now,
                orphan_of: None,
            },
        );
        self.reschedule(index, now);
        Some((token, ticket))
    }

    /// The entry cannot be served before `until`: it waits on disk.
    fn postpone(&mut self, index: HostIndex, visit: &Visit, until: Millis, now: Millis) -> Option<Step> {
        let host = self.host_mut(index)?;
        let at = QueueAt { job: visit.job, host: host.key };
        let queue = &mut host.queue_mut(visit.job)?.queue;
        let head = queue.pop()?;
        queue.done(head.order);
        self.in_memory = self.in_memory.saturating_sub(1);
        if let Some(job) = self.jobs.get_mut(&visit.job) {
            job.count(at.host.shard, |counts| {
                counts.queued = counts.queued.saturating_sub(1);
                counts.delayed += 1;
            });
        }
        // Others need not wait with their page for this one.
        self.release_promise(at, head.order.rank, now);
        self.changes.changes.push(Change::Unqueue { at, order: head.order });
        self.delay_entry(Delayed { due: until, at, entry: head });
        self.reschedule(index, now);
        None
    }

    pub(crate) fn delay_entry(&mut self, delayed: Delayed) {
        self.next_due = Some(self.next_due.map_or(delayed.due, |due| due.min(delayed.due)));
        self.changes.changes.push(Change::Delay(delayed));
    }

    /// Whether the job asks for `url` by way of a proxy, which looks its name up. An address is looked at all the same:
    /// it may be one that nobody may ask.
    fn is_proxied(&self, job: JobId, url: &Url) -> bool {
        let name = url.host_name();
        if name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok() {
            return false;
        }
        let own = self.jobs.get(&job).and_then(|job| job.limits.proxied);
        own.unwrap_or_else(|| self.usual_proxies.covers(url))
    }

    fn find_address(&mut self, index: HostIndex, proxied: bool, now: Millis) -> AddressNeed {
        let Some(host) = self.hosts.get_mut(index as usize) else { return AddressNeed::Missing };
        if proxied {
            return AddressNeed::Known;
        }
        match &host.reachability.address {
            Address::Known { expires, .. } if *expires > now => AddressNeed::Known,
            Address::Missing { until, .. } if *until > now => AddressNeed::Missing,
            _ => {
                let name: Box<str> = name_without_port(&host.name).into();
                host.reachability.address = Address::Asking;
                host.step_began();
                self.resolving += 1;
                self.reschedule(index, now);
                AddressNeed::First(Step::Resolve { host: index, name })
            }
        }
    }

    /// The host's addresses, if the first of them may have another request now; otherwise the host waits for it.
    fn address_for(
        &mut self,
        index: HostIndex,
        per_host: NonZeroU32,
        now: Millis,
    ) -> Option<(Arc<[IpAddr]>, Option<IpAddr>)> {
        let limit = self.per_address_of(per_host);
        let host = self.hosts.get_mut(index as usize)?;
        let turn = host.reachability.take_address_turn();
        let (addresses, first) = match &host.reachability.address {
            Address::Known { addresses, .. } => (Arc::clone(addresses), addresses.first().copied()),
            _ => (Arc::from([]), None),
        };
        let full = first.filter(|address| self.addresses.in_flight(*address) >= limit);
        if let Some(address) = full {
            host.stamp = host.stamp.wrapping_add(1);
            host.place = Place::AtAddress;
            self.addresses.wait(address, index, host.stamp);
        }
        if let Some(other) = turn.filter(|turn| Some(*turn) != first) {
            // The name has moved since it was in line there.
            self.pass_on(other, now);
        }
        if full.is_some() { None } else { Some((addresses, first)) }
    }

    fn serve_robots_request(
        &mut self,
        index: HostIndex,
        rules: &Arc<HostRules>,
        now: Millis,
    ) -> Option<Step> {
        let host = self.host(index)?;
        let proxied = host.reachability.robots_requests.front().is_some_and(|request| {
            self.is_proxied(request.job, &request.url)
                || host.queues.iter().any(|queue| self.is_proxied(queue.queue.job, &request.url))
        });
        match self.find_address(index, proxied, now) {
            AddressNeed::Known => {}
            AddressNeed::First(step) => return Some(step),
            AddressNeed::Missing => {
                let request = self.host_mut(index)?.reachability.robots_requests.pop_front()?;
                self.robots_without_address(index, &request, now);
                self.reschedule(index, now);
                return None;
            }
        }
        let delay = self.delay_now(index, now)?;
        let per_host = self.per_host_of(index, rules);
        let (addresses, address) = self.address_for(index, per_host, now)?;
        let request = self.host_mut(index)?.reachability.robots_requests.pop_front()?;
        let job = self.job_of_robots_request(&request);
        let (token, lane) =
            self.begin(index, None, Some(Box::new(request.clone())), address, false, now, delay);
        Some(Step::FetchRobots(Box::new(RobotsDispatch {
            token,
            job,
            request,
            host: index,
            lane,
            addresses,
            delay,
            per_host,
            rules: Arc::clone(rules),
        })))
    }

    /// The job that wanted it, or another one of the same host if that is no more.
    fn job_of_robots_request(&self, request: &RobotsRequest) -> JobId {
        if self.jobs.contains_key(&request.job) {
            return request.job;
        }
        let asking = self.hosts.named(request.origin.host()).and_then(|index| self.host(index));
        asking.and_then(|host| host.queues.first()).map_or(JobId(0), |q| q.queue.job)
    }

    /// May this URL be asked for, as far as its origin's robots.txt goes?
    fn robots_verdict(&mut self, index: HostIndex, job: JobId, url: &Url, now: Millis) -> RobotsSays {
        let scheme = url.scheme();
        let id = job;
        let (Some(job), Some(host)) = (self.jobs.get(&id), self.hosts.get_mut(index as usize)) else {
            return RobotsSays::First(None);
        };
        let agent = &*job.limits.agent;
        // One request answers for all user agents.
        let asked = host
            .reachability
            .origins
            .iter()
            .any(|o| o.scheme == scheme && matches!(o.robots, RobotsHandle::Asked));
        let origin = host.origin_mut(scheme, agent);
        match &origin.robots {
            RobotsHandle::Known { robots, expires } if *expires > now => {
                let verdict = robots.check(url.path_and_query());
                return match verdict.allowed {
                    true => RobotsSays::Allowed(verdict.rule.map(owned)),
                    false => RobotsSays::Disallowed(forbidden_by(verdict.rule)),
                };
            }
            RobotsHandle::Unreachable { until } if *until > now => return RobotsSays::Later(*until),
            RobotsHandle::Unknown => {
                let (agent, origin) = (agent.into(), url.origin().into());
                host.step_began();
                return RobotsSays::First(Some(Step::LoadRobots { host: index, scheme, agent, origin }));
            }
            // The request is under way, maybe on another host: the host is busy until it is answered.
            RobotsHandle::Asked => return RobotsSays::First(None),
            RobotsHandle::Missing | RobotsHandle::Known { .. } | RobotsHandle::Unreachable { .. } => {
                origin.robots = RobotsHandle::Asked;
                if !asked && let Some(request) = robots_request_for(url.origin(), id) {
                    host.reachability.robots_requests.push_back(request);
                }
            }
        }
        self.reschedule(index, now);
        RobotsSays::First(None)
    }
}

enum AddressNeed {
    Known,
    Missing,
    First(Step),
}

enum RobotsSays {
    Allowed(Option<Rule>),
    /// And by which rule.
    Disallowed(String),
    /// Something else has to happen first.
    First(Option<Step>),
    /// Its robots.txt cannot be had until then.
    Later(Millis),
}

/// How a refusal by robots.txt is told.
pub(crate) fn forbidden_by(rule: Option<RuleRef<'_>>) -> String {
    match rule.map(owned) {
        Some(Rule { text, line: Some(line) }) => format!("line {line}: {text}"),
        Some(Rule { text, line: None }) => text.into(),
        None => String::from("robots.txt disallows everything"),
    }
}

fn owned(rule: RuleRef<'_>) -> Rule {
    Rule { text: rule.text().into(), line: rule.line() }
}

fn robots_request_for(origin: &str, job: JobId) -> Option<RobotsRequest> {
    let url = Url::from_stored(&format!("{origin}/robots.txt")).ok()?;
    let origin = Url::from_stored(&format!("{origin}/")).ok()?;
    Some(RobotsRequest { url, origin, hops: 0, job })
}

/// The address that a host name spells out.
/// `example.com:8080` -> `example.com`.
fn name_without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(at) if !host.ends_with(']') => host.get(..at).unwrap_or(host),
        _ => host,
    }
}
