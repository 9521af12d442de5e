//! Messages between leased shards: whatever crosses shards goes through the log of the target shard, even if this
//! process owns both, so that ownership makes no difference. [`Frontier::deliver`] receives them.

use crate::admit::{Discovery, Found, Refused};
use crate::frontier::Frontier;
use crate::hash::{FastMap, FastSet};
use crate::host::{RobotsHandle, RobotsRequest};
use crate::message::{MOST_FOUND, Message};
use crate::notice::Notice;
use crate::ready::HostIndex;
use crate::robots_answers::NewRobots;
use crate::state::Change;
use argiope_model::{Fingerprint, Hop, JobId, Millis, Skip, SkipReason, Url, Visit};
use argiope_politeness::RobotsAnswer;
use std::collections::VecDeque;
use std::time::Duration;

/// A robots.txt requested from another owner counts as failed without a reply in this time.
const TOLD_WITHIN: Duration = Duration::from_secs(300);

/// Sent links are remembered, per job, up to twice this number.
const SENT_GENERATION: usize = 1 << 16;

/// Sources in other shards whose rate is limited.
const SOURCES: usize = 10_000;

/// The result of applying a part of a log.
#[derive(Clone, Debug, Default)]
pub struct Delivered {
    pub refused: Vec<Refused>,
    /// The result of a robots.txt request of another owner.
    pub robots: Vec<NewRobots>,
    /// Hosts that are now in the scope of jobs.
    pub scope: Vec<(JobId, Url)>,
    /// A job was submitted or resumed: call [`Frontier::forget_robots_failures`].
    pub begins: bool,
    /// The log stops at a message for this job: it must be opened ([`Frontier::restore_job`]) or ended
    /// ([`Frontier::end_job`]) first.
    pub waits_for: Option<JobId>,
}

#[derive(Debug, Default)]
pub(crate) struct Outbound {
    sent: FastMap<JobId, Sent>,
    /// Sent with batches that may not be durable yet.
    unsettled: VecDeque<Unsettled>,
    batches: u64,
    /// robots.txt requested from other owners, oldest first.
    told_by: VecDeque<(Millis, Url)>,
    sources: FastMap<Box<str>, Rate>,
}

#[derive(Debug)]
struct Unsettled {
    batch: u64,
    from: u16,
    job: JobId,
    fingerprints: Vec<Fingerprint>,
}

/// Links that are durably in the logs of other shards. When it is full, the older half is forgotten.
#[derive(Debug, Default)]
struct Sent {
    young: FastSet<Fingerprint>,
    old: FastSet<Fingerprint>,
}

impl Sent {
    fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.young.contains(&fingerprint) || self.old.contains(&fingerprint)
    }

    fn insert(&mut self, fingerprint: Fingerprint) {
        self.young.insert(fingerprint);
        if self.young.len() >= SENT_GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

/// New URLs that a source may add at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) tokens: f32,
    pub(crate) at: Millis,
}

impl Rate {
    pub(crate) const UNUSED: Rate = Rate { tokens: f32::INFINITY, at: Millis(0) };

    /// When the next new URL may be served: now, or later if the rate is exceeded.
    pub(crate) fn take(&mut self, per_second: u32, burst: u32, now: Millis) -> Millis {
        let rate = per_second.max(1) as f32;
        let elapsed = now.since(self.at).as_secs_f32();
        self.tokens = (self.tokens + elapsed * rate).min(burst.max(1) as f32) - 1.0;
        self.at = now;
        if self.tokens >= 0.0 {
            return now;
        }
        now + Duration::from_secs_f32((-self.tokens / rate).min(86_400.0 * 365.0))
    }
}

impl Outbound {
    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.sent.remove(&job);
        self.unsettled.retain(|sent| sent.job != job);
    }

    /// Messages of this shard that were not durable are discarded. Its last batches may have been refused before the
    /// loss was known, so what is remembered of them may be wrong.
    pub(crate) fn drop_shard(&mut self, shard: u16) {
        self.unsettled.retain(|sent| sent.from != shard);
        self.sent.clear();
    }

    pub(crate) fn batch_taken(&mut self) {
        self.batches += 1;
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.told_by.front().map(|(at, _)| *at)
    }

    pub(crate) fn rate_of(&mut self, source: &str) -> &mut Rate {
        if self.sources.len() >= SOURCES && !self.sources.contains_key(source) {
            self.sources.clear();
        }
        self.sources.entry(source.into()).or_insert(Rate::UNUSED)
    }
}

impl Frontier {
    /// The number of batches taken with [`Frontier::take_changes`] so far.
    pub fn batches_taken(&self) -> u64 {
        self.outbound.batches
    }

    /// Batches up to this number are durable: their links are not sent again.
    pub fn batches_durable(&mut self, batches: u64) {
        while let Some(sent) = self.outbound.unsettled.pop_front_if(|sent| sent.batch < batches) {
            let known = self.outbound.sent.entry(sent.job).or_default();
            sent.fingerprints.into_iter().for_each(|fingerprint| known.insert(fingerprint));
        }
    }

    /// The links of a visit of this shard. Those that belong to the shard are admitted, the others are sent to theirs.
    /// Returns the same as [`Frontier::discover`]; sent links do not count as new yet.
    pub fn discover_in(&mut self, shard: u16, discovery: Discovery, now: Millis) -> (Vec<Refused>, usize) {
        if !self.config.leased {
            return self.discover(discovery, now);
        }
        if !self.owns(shard) {
            return (Vec::new(), 0);
        }
        let Discovery { job, round, depth, source, not_before, found } = discovery;
        let mut own = Vec::with_capacity(found.len());
        let mut others: Vec<(u16, Vec<Found>)> = Vec::new();
        // Most links of a page lead to few hosts, one after the other.
        let mut last: Option<(Box<str>, u16)> = None;
        for one in found {
            let to = match &last {
                Some((host, shard)) if **host == *one.url.host() => *shard,
                _ => {
                    let to = self.shard_of_url(&one.url);
                    last = Some((one.url.host().into(), to));
                    to
                }
            };
            if to == shard {
                own.push(one);
            } else if !self.outbound.sent.get(&job).is_some_and(|sent| sent.contains(one.fingerprint)) {
                match others.iter_mut().find(|(of, _)| *of == to) {
                    Some((_, found)) => found.push(one),
                    None => others.push((to, vec![one])),
                }
            }
        }
        for (to, found) in others {
            self.send_found(
                shard,
                to,
                Discovery { job, round, depth, source: source.clone(), not_before, found },
            );
        }
        self.admit_found(Discovery { job, round, depth, source, not_before, found: own }, Some(shard), now)
    }

    fn send_found(&mut self, from: u16, to: u16, discovery: Discovery) {
        let Discovery { job, round, depth, source, not_before, found } = discovery;
        let fingerprints = found.iter().map(|one| one.fingerprint).collect();
        for found in found.chunks(MOST_FOUND) {
            let found = found.to_vec();
            self.send(
                from,
                to,
                &Message::Found(Discovery { job, round, depth, source: source.clone(), not_before, found }),
            );
        }
        let batch = self.outbound.batches;
        self.outbound.unsettled.push_back(Unsettled { batch, from, job, fingerprints });
    }

    pub(crate) fn send(&mut self, from: u16, to: u16, message: &Message) {
        self.pending.push(Change::Send { from, to, message: message.encode() });
    }

    /// The hosts in a job's scope must be known where they are crawled.
    pub(crate) fn send_scope(&mut self, job: JobId, from: u16, url: &Url) {
        if let Some(to) = self.sent_to(from, url) {
            self.send(from, to, &Message::Scope { job, url: url.clone() });
        }
    }

    /// The request for a robots.txt at this host was redirected.
    pub(crate) fn robots_redirected(&mut self, index: HostIndex, request: RobotsRequest, now: Millis) {
        let Some(from) = self.shard_of_host(index) else { return };
        let Some(to) = self.sent_to(from, &request.url) else {
            let target = self.host_index(request.url.host());
            return self.queue_robots_request(target, request, now);
        };
        let RobotsRequest { url, origin, hops, job } = request;
        if self.sent_to(from, &origin).is_none() {
            self.wait_for_robots_reply(&origin, now);
        }
        self.send(from, to, &Message::RobotsAsk { job, origin, url, hops });
    }

    /// The owner that was asked may have lost the request with its shard.
    fn wait_for_robots_reply(&mut self, origin: &Url, now: Millis) {
        let until = now + TOLD_WITHIN;
        let index = self.host_index(origin.host());
        if let Some(host) = self.host_mut(index) {
            for known in host.reachability.origins.iter_mut().filter(|o| o.scheme == origin.scheme()) {
                known.told_until = Some(until);
            }
        }
        self.outbound.told_by.push_back((until, origin.clone()));
    }

    pub(crate) fn expire_remote_robots(&mut self, now: Millis) {
        while let Some((until, origin)) = self.outbound.told_by.pop_front_if(|(until, _)| *until <= now) {
            let Some(index) = self.hosts.named(origin.host()) else { continue };
            let waits = |host: &crate::host::Host| {
                host.reachability
                    .origins
                    .iter()
                    .any(|o| o.scheme == origin.scheme() && o.told_until == Some(until))
            };
            if self.host(index).is_some_and(waits) {
                self.robots_settled(index, &origin, RobotsAnswer::NoAnswer, Vec::new(), now);
            }
        }
    }

    /// The result of a request at this host is sent to the origin it was for.
    pub(crate) fn robots_ended(
        &mut self,
        index: HostIndex,
        request: &RobotsRequest,
        answer: RobotsAnswer,
        body: Vec<u8>,
        now: Millis,
    ) -> Option<NewRobots> {
        let from = self.shard_of_host(index)?;
        if let Some(to) = self.sent_to(from, &request.origin) {
            let origin = request.origin.clone();
            self.send(from, to, &Message::RobotsTold { origin, answer, body });
            return None;
        }
        let own = self.host_index(request.origin.host());
        self.robots_settled(own, &request.origin, answer, body, now)
    }

    /// Applies messages of a shard's log, each with its offset, in order, and skips those applied before. The new
    /// position is in the same batch ([`Change::Received`]).
    pub fn deliver<M: AsRef<[u8]>>(&mut self, shard: u16, messages: &[(u64, M)], now: Millis) -> Delivered {
        let mut delivered = Delivered::default();
        let before = match self.shards.get(shard) {
            Some(slot) if slot.is_here() && !slot.is_closing() => slot.received,
            _ => return delivered,
        };
        let mut reached = before;
        for (offset, bytes) in
            messages.iter().filter(|(offset, _)| before.is_none_or(|before| *offset > before))
        {
            match Message::decode(bytes.as_ref()) {
                Ok(message) => {
                    let job = message.job();
                    if let Some(job) = job.filter(|job| !self.jobs.contains_key(job)) {
                        if !self.jobs.has_ended(job) {
                            delivered.waits_for = Some(job);
                            break;
                        }
                    } else {
                        self.take_message(shard, message, &mut delivered, now);
                    }
                }
                Err(error) => {
                    let why = error.to_string().into();
                    self.decisions.notice(Notice::DamagedMessage { shard, offset: *offset, why });
                }
            }
            reached = reached.max(Some(*offset));
        }
        if let (Some(offset), Some(slot)) = (reached.filter(|_| reached > before), self.shards.get_mut(shard))
        {
            slot.received = Some(offset);
            self.pending.push(Change::Received { shard, offset });
        }
        delivered
    }

    fn take_message(&mut self, shard: u16, message: Message, delivered: &mut Delivered, now: Millis) {
        match message {
            Message::Found(discovery) => {
                delivered.refused.extend(self.admit_found(discovery, Some(shard), now).0);
            }
            Message::Continue(visit) | Message::Again(visit) if self.shard_of_url(&visit.url) != shard => {
                let skip = Skip::new(SkipReason::NotCrawlable, wrong_shard(shard, &visit.url));
                let (job, url, source) = (visit.job, visit.url, visit.source);
                delivered.refused.push(Refused { job, url, source, skip });
            }
            Message::Continue(visit) => self.go_on(shard, &visit, now),
            Message::Again(visit) => self.ask_again(&visit, now),
            Message::Begin { fresh, .. } => {
                delivered.begins = true;
                if fresh {
                    self.forget_failures_in(shard, now);
                }
            }
            Message::RobotsAsk { job, origin, url, hops } => {
                if self.shard_of_url(&url) == shard {
                    self.accept_robots_request(RobotsRequest { url, origin, hops, job }, now);
                }
            }
            Message::RobotsTold { origin, answer, body } => {
                delivered.robots.extend(self.told_robots(&origin, answer, body, now));
            }
            Message::Scope { job, url } => {
                if let Some(state) = self.jobs.get_mut(&job)
                    && state.add_scope_host(shard, url.as_str())
                {
                    delivered.scope.push((job, url));
                }
            }
        }
    }

    /// A redirect continues here. If it is sent twice, because the sender could not know that it had arrived, it
    /// continues once.
    fn go_on(&mut self, shard: u16, visit: &Visit, now: Millis) {
        let text = format!("{} {} {}", visit.scheduled_url(), visit.hops.len(), visit.url);
        let fingerprint = self.key.of(&text, visit.round).for_kind(visit.kind);
        if self.seen.insert(visit.job, shard, fingerprint) {
            let fingerprints = vec![fingerprint];
            self.pending.push(Change::Seen { job: visit.job, shard, fingerprints });
            self.queue_continuation(visit, now);
        }
    }

    fn accept_robots_request(&mut self, request: RobotsRequest, now: Millis) {
        let index = self.host_index(request.url.host());
        let same = |other: &RobotsRequest| other.url == request.url && other.origin == request.origin;
        if !self.host(index).is_some_and(|host| host.reachability.robots_requests.iter().any(same)) {
            self.queue_robots_request(index, request, now);
        }
    }

    /// Only an origin that still waits for it uses it.
    fn told_robots(
        &mut self,
        origin: &Url,
        answer: RobotsAnswer,
        body: Vec<u8>,
        now: Millis,
    ) -> Option<NewRobots> {
        let index = self.hosts.named(origin.host())?;
        let waits = self.host(index)?.reachability.origins.iter().any(|known| {
            known.scheme == origin.scheme()
                && known.told_until.is_some()
                && matches!(known.robots, RobotsHandle::Asked)
        });
        if !waits {
            return None;
        }
        self.robots_settled(index, origin, answer, body, now)
    }

    /// The visit, one hop further, in the shard of the redirect's target.
    pub(crate) fn send_continuation(&mut self, from: u16, to: u16, visit: Visit) {
        self.send(from, to, &Message::Continue(visit));
    }
}

pub(crate) fn wrong_shard(shard: u16, url: &Url) -> String {
    format!("{} does not belong to shard {shard}, to which it was sent", url.host())
}

/// The same visit after a redirect.
pub(crate) fn hop(mut visit: Visit, to: Url, status: u16) -> Visit {
    let from = std::mem::replace(&mut visit.url, to);
    visit.hops.push(Hop { url: from, status });
    visit
}
