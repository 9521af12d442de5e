//! The frontier of all shards this process owns: it takes what was discovered, says what is due, and is told what
//! became of it. It does no I/O and reads no clock: loads are steps it asks for, changes are a batch it hands out.

use crate::address::AddressBook;
use crate::codec::{CodecError, decode_visit};
use crate::hash::{FastMap, FastSet};
use crate::host::{Address, Host, Place, RobotsHandle, RobotsRequest};
use crate::host_table::HostTable;
use crate::job::{Activity, Job, JobLimits};
use crate::network::NetworkWatch;
use crate::outbound::Outbound;
use crate::queue::{Entry, LoadAfter, OrderKey};
use crate::ready::{HostIndex, NOWHERE, ReadySet, Stamp, Timers};
use crate::seen::SeenTable;
use crate::settle::{Answer, Notice};
use crate::shards::ShardSlot;
use crate::state::{Change, HostKey, QueueAt, Shards, StateBatch};
use argiope_model::{
    Fingerprint, FingerprintKey, JobId, Millis, ProxyReach, PublicSuffixes, Scheme, Skip, Url, Visit,
    WaitReason, shard_of,
};
use argiope_politeness::{Gate, HostRules, PolitenessRules};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// A host whose delay is over within this time has nothing but new links to wait for.
const STARVES_WITHIN: Duration = Duration::from_millis(100);

/// Names something that was handed out until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

#[derive(Clone, Debug)]
pub struct FrontierConfig {
    pub shards: u16,
    /// Shards come and go: none is owned before it is restored, and whatever leads from one to another is sent through the
    /// log of the other. Otherwise all are owned for good.
    pub leased: bool,
    /// Requests in flight in all.
    pub concurrency: usize,
    /// Requests that are handed out beside those: each waits until one of them has ended, and begins without being asked for.
    pub ahead: usize,
    /// Requests in flight per address.
    pub per_address: u32,
    /// Visits handed out and not yet completed: what the rooms behind may hold at most.
    pub max_outstanding: usize,
    /// Entries of a queue that are kept in memory: none where most hosts have a single one ...
    pub window: usize,
    /// ... while there are fewer than this in all; beyond it a few per queue.
    pub windows_in_all: usize,
    /// A visit handed out and not heard of for so long goes back to its queue.
    pub stale_after: Duration,
}

impl Default for FrontierConfig {
    fn default() -> FrontierConfig {
        FrontierConfig {
            shards: 64,
            leased: false,
            concurrency: 100,
            ahead: 0,
            per_address: 8,
            max_outstanding: 10_000,
            window: 32,
            windows_in_all: 400_000,
            stale_after: Duration::from_secs(300),
        }
    }
}

/// A request that is due now.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub token: Token,
    pub visit: Visit,
    pub host: HostIndex,
    /// Which of the host's connections this is: the same lane keeps to the same connection.
    pub lane: u32,
    pub addresses: Arc<[IpAddr]>,
    /// The rule of robots.txt that let it pass, if one did.
    pub rule: Option<Rule>,
    /// The delay that was kept before it.
    pub delay: Duration,
    pub per_host: NonZeroU32,
    pub rules: Arc<HostRules>,
    /// Where the entry is queued: what recovery removes.
    pub ticket: Ticket,
}

/// A rule of robots.txt as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `Disallow: /private`, or why there are no rules.
    pub text: Box<str>,
    pub line: Option<u32>,
}

/// robots.txt of an origin, due now.
#[derive(Clone, Debug)]
pub struct RobotsDispatch {
    pub token: Token,
    /// The job it is asked for; others that need it use the same answer.
    pub job: JobId,
    pub request: RobotsRequest,
    pub host: HostIndex,
    pub lane: u32,
    pub addresses: Arc<[IpAddr]>,
    pub delay: Duration,
    pub per_host: NonZeroU32,
    pub rules: Arc<HostRules>,
}

/// An entry's place on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub at: QueueAt,
    pub order: OrderKey,
}

impl fmt::Display for Ticket {
    /// Job, shard, host, rank, depth, sequence: `1.17.3.51.2.889`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueueAt { job, host } = self.at;
        let OrderKey { rank, depth, sequence } = self.order;
        write!(f, "{job}.{}.{}.{rank}.{depth}.{sequence}", host.shard, host.number)
    }
}

impl FromStr for Ticket {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Ticket, CodecError> {
        let error = || CodecError { what: "ticket", why: "not of the form 1.17.3.51.2.889" };
        let mut numbers = text.split('.').map(|part| part.parse::<u64>().ok());
        let mut next = || numbers.next().flatten().ok_or_else(error);
        let job = JobId(u32::try_from(next()?).map_err(|_| error())?);
        let shard = u16::try_from(next()?).map_err(|_| error())?;
        let number = u32::try_from(next()?).map_err(|_| error())?;
        let rank = u8::try_from(next()?).map_err(|_| error())?;
        let depth = u8::try_from(next()?).map_err(|_| error())?;
        let order = OrderKey { rank, depth, sequence: next()? };
        Ok(Ticket { at: QueueAt { job, host: HostKey { shard, number } }, order })
    }
}

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    Fetch(Box<Dispatch>),
    FetchRobots(Box<RobotsDispatch>),
    /// Find the addresses of a host: then [`Frontier::resolved`].
    Resolve {
        host: HostIndex,
        name: Box<str>,
    },
    /// Not to be fetched: record the reason, then [`Frontier::completed`].
    Refuse {
        token: Token,
        visit: Box<Visit>,
        ticket: Ticket,
        skip: Skip,
    },
    /// Cannot be fetched: record the error, then [`Frontier::completed`].
    Fail {
        token: Token,
        visit: Box<Visit>,
        ticket: Ticket,
        error: Box<str>,
    },
    /// Then [`Frontier::queue_loaded`]. Everything in [`Frontier::take_changes`] must have been applied before.
    LoadQueue {
        host: HostIndex,
        at: QueueAt,
        after: LoadAfter,
        limit: usize,
    },
    /// Then [`Frontier::robots_loaded`].
    LoadRobots {
        host: HostIndex,
        scheme: Scheme,
        agent: Box<str>,
        origin: Box<str>,
    },
    /// Of the shards that are [`Frontier::served`]; then [`Frontier::due_loaded`].
    LoadDue {
        until: Millis,
        limit: usize,
    },
    /// A held failure was the host's own: record it, then [`Frontier::completed`].
    Release(Token),
    /// A held failure was the network's: forget it, the visit is queued again.
    Forget(Token),
    /// Nothing before this time, unless something is settled or discovered.
    Wait(Option<Millis>),
}

/// What became of a token that was handed out.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) host: HostIndex,
    /// None for a request of robots.txt.
    pub(crate) entry: Option<TakenEntry>,
    pub(crate) request: Option<Box<RobotsRequest>>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) reserved: bool,
    pub(crate) asking: bool,
    pub(crate) lane: u32,
    /// When it was handed out.
    pub(crate) since: Millis,
    /// The shard it was for has gone. The page that it may have stored is of this job.
    pub(crate) orphan_of: Option<JobId>,
}

#[derive(Clone, Debug)]
pub(crate) struct TakenEntry {
    pub(crate) job: JobId,
    pub(crate) order: OrderKey,
    pub(crate) value: Box<[u8]>,
}

pub struct Frontier {
    pub(crate) config: FrontierConfig,
    /// What goes through a proxy where a job says nothing of one.
    pub(crate) usual_proxies: ProxyReach,
    pub(crate) suffixes: Arc<PublicSuffixes>,
    pub(crate) key: FingerprintKey,
    pub(crate) politeness: Arc<PolitenessRules>,
    /// What holds for hosts that no entry of the settings names: nearly all of them.
    pub(crate) common_rules: Arc<HostRules>,
    /// By number of the shard.
    pub(crate) slots: Vec<ShardSlot>,
    /// The shards that hosts are asked from.
    pub(crate) served: Shards,
    pub(crate) hosts: HostTable,
    /// Places in `hosts` that nothing refers to any more ...
    pub(crate) vacant: Vec<HostIndex>,
    /// ... among those whose shard has gone.
    pub(crate) gone_hosts: usize,
    pub(crate) jobs: FastMap<JobId, Job>,
    /// Messages for these are let go.
    pub(crate) ended_jobs: FastSet<JobId>,
    pub(crate) seen: FastMap<(JobId, u16), SeenTable>,
    pub(crate) ready: ReadySet,
    pub(crate) timers: Timers,
    pub(crate) addresses: AddressBook,
    pub(crate) network: NetworkWatch,
    pub(crate) in_flight: FastMap<Token, InFlight>,
    pub(crate) started_order: VecDeque<(Millis, Token)>,
    /// Requests under way.
    pub(crate) asking: usize,
    /// Hosts that could be asked now, had their pages been stored.
    pub(crate) starved: usize,
    pub(crate) resolving: usize,
    pub(crate) next_token: u64,
    pub(crate) next_sequence: u64,
    pub(crate) next_due: Option<Millis>,
    pub(crate) in_memory: usize,
    pub(crate) changes: StateBatch,
    pub(crate) dirty_hosts: Vec<HostIndex>,
    /// Steps decided outside [`Frontier::next`].
    pub(crate) decided: VecDeque<Step>,
    pub(crate) notices: VecDeque<Notice>,
    /// What is between this owner and others.
    pub(crate) outbound: Outbound,
    /// A robots.txt that was unreachable before this time is asked for again.
    pub(crate) robots_failures_since: Millis,
    /// Whatever a robots.txt said before this time is asked for again.
    pub(crate) robots_since: Millis,
}

impl Frontier {
    /// `started_at` is the time of this start of the process: sequence numbers begin with it, so that they grow through
    /// restarts without being stored.
    pub fn new(
        config: FrontierConfig,
        suffixes: Arc<PublicSuffixes>,
        key: FingerprintKey,
        politeness: Arc<PolitenessRules>,
        started_at: Millis,
    ) -> Frontier {
        let slots = (0..config.shards.max(1)).map(|_| ShardSlot::new(config.leased)).collect();
        let served = if config.leased { Shards::Only(BTreeSet::new()) } else { Shards::All };
        Frontier {
            config,
            usual_proxies: ProxyReach::default(),
            suffixes,
            key,
            common_rules: Arc::new(politeness.for_host("")),
            politeness,
            slots,
            served,
            hosts: HostTable::default(),
            vacant: Vec::new(),
            gone_hosts: 0,
            jobs: FastMap::default(),
            ended_jobs: FastSet::default(),
            seen: FastMap::default(),
            ready: ReadySet::default(),
            timers: Timers::default(),
            addresses: AddressBook::default(),
            network: NetworkWatch::default(),
            in_flight: FastMap::default(),
            started_order: VecDeque::new(),
            asking: 0,
            starved: 0,
            resolving: 0,
            next_token: 1,
            next_sequence: started_at.0 << 20,
            next_due: None,
            in_memory: 0,
            changes: StateBatch::default(),
            dirty_hosts: Vec::new(),
            decided: VecDeque::new(),
            notices: VecDeque::new(),
            outbound: Outbound::default(),
            robots_failures_since: Millis(0),
            robots_since: Millis(0),
        }
    }

    /// Where a URL belongs.
    pub fn shard_of(&self, url: &Url) -> u16 {
        shard_of(self.suffixes.root_domain(url.host()), self.config.shards)
    }

    /// The shards that hosts are asked from, and whose entries may be loaded.
    pub fn served(&self) -> &Shards {
        &self.served
    }

    pub fn fingerprint(&self, url: &Url, round: u32) -> Fingerprint {
        self.key.of(url.normal(), round)
    }

    /// Starts a job, or goes on with one that was restored. Its limits may differ from the last time.
    pub fn open_job(&mut self, id: JobId, limits: JobLimits) {
        self.ended_jobs.remove(&id);
        match self.jobs.get_mut(&id) {
            Some(job) => {
                job.normal = limits.normal_form.compile();
                job.limits = limits;
                job.activity = Activity::Running;
            }
            None => {
                self.jobs.insert(id, Job::new(id, limits, self.config.leased));
            }
        }
        self.reschedule_all();
    }

    /// A seed of a host in this shard redirected to this URL; kept with the job.
    pub fn add_scope_host(&mut self, id: JobId, shard: u16, url: &Url) {
        if self.owns(shard)
            && let Some(job) = self.jobs.get_mut(&id)
            && job.add_scope_host(shard, url.as_str())
        {
            self.send_scope(id, shard, url);
        }
    }

    /// None for a job that is not open.
    pub fn activity(&self, id: JobId) -> Option<Activity> {
        self.jobs.get(&id).map(|job| job.activity)
    }

    pub fn set_activity(&mut self, id: JobId, activity: Activity) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.activity = activity;
        }
        self.reschedule_all();
    }

    /// New limits of an open job hold from the next request on, and its delay for waits in progress.
    pub fn set_limits(&mut self, id: JobId, limits: JobLimits, now: Millis) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.normal = limits.normal_form.compile();
        job.limits = limits;
        for index in 0..self.hosts.len() {
            let index = index as HostIndex;
            self.renew_delay(index, now);
            self.reschedule(index, now);
        }
    }

    /// Takes everything of a job out: memory now, disk with the next batch.
    pub fn forget_job(&mut self, id: JobId) {
        self.end_job(id);
        self.seen.retain(|(job, _), _| *job != id);
        for host in self.hosts.iter_mut() {
            let before: usize = host.queues.iter().map(|q| q.queue.in_memory()).sum();
            host.queues.retain(|q| q.queue.job != id);
            host.closed_jobs.retain(|closed| *closed != id);
            let after: usize = host.queues.iter().map(|q| q.queue.in_memory()).sum();
            self.in_memory = self.in_memory.saturating_sub(before - after);
            host.turn = 0;
        }
        self.changes.changes.push(Change::ForgetJob(id));
        self.reschedule_all();
    }

    /// Nothing more is done for a job. What the state has of it stays there.
    pub fn end_job(&mut self, id: JobId) {
        self.jobs.remove(&id);
        self.outbound.forget_job(id);
        self.ended_jobs.insert(id);
    }

    /// New politeness settings hold from the next request on, and for the waits that are under way.
    pub fn set_politeness(&mut self, politeness: Arc<PolitenessRules>, now: Millis) {
        self.common_rules = Arc::new(politeness.for_host(""));
        let old = std::mem::replace(&mut self.politeness, politeness);
        if old.robots() != self.politeness.robots() {
            self.reload_robots();
        }
        for host in self.hosts.iter_mut() {
            host.rules = None;
        }
        for index in 0..self.hosts.len() {
            let index = index as HostIndex;
            self.renew_delay(index, now);
            self.reschedule(index, now);
        }
    }

    /// The delay that holds now is that of the wait under way, too. A host that no open job has anything on waits for
    /// none: a job that comes to it has a delay of its own, which is kept when it is asked.
    pub(crate) fn renew_delay(&mut self, index: HostIndex, now: Millis) {
        let Some(host) = self.host(index) else { return };
        if host.politeness.is_known() {
            let delay = if host.queues.is_empty() { Duration::ZERO } else { self.delay_of(index, now) };
            if let Some(host) = self.host_mut(index) {
                host.politeness.change_delay(delay);
            }
        }
    }

    fn reschedule_all(&mut self) {
        for index in 0..self.hosts.len() {
            // Time zero: whoever has work becomes ready or waits for its time; `next` looks at the clock.
            self.reschedule(index as HostIndex, Millis(0));
        }
    }

    /// What must be written, and written before anything is loaded.
    pub fn take_changes(&mut self) -> StateBatch {
        for index in std::mem::take(&mut self.dirty_hosts) {
            if let Some(host) = self.hosts.get_mut(index as usize)
                && host.dirty
            {
                host.dirty = false;
                self.changes.changes.push(Change::Host { key: host.key, record: host.encode() });
            }
        }
        for job in self.jobs.values_mut() {
            let id = job.id;
            let records = job.take_records(self.next_sequence);
            self.changes.changes.extend(records.map(|(shard, record)| Change::Job {
                job: id,
                shard,
                record,
            }));
        }
        self.outbound.batch_taken();
        // The next batch will be about as large.
        let room = Vec::with_capacity(self.changes.changes.len().clamp(8, 4096));
        std::mem::replace(&mut self.changes, StateBatch { changes: room, marks: Vec::new() })
    }

    /// What has happened that an operator wants to know.
    pub fn take_notices(&mut self) -> VecDeque<Notice> {
        std::mem::take(&mut self.notices)
    }

    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(crate) fn mark_dirty(&mut self, index: HostIndex) {
        if let Some(host) = self.hosts.get_mut(index as usize)
            && !host.dirty
        {
            host.dirty = true;
            self.dirty_hosts.push(index);
        }
    }

    /// The host of that name, made if it is new; nowhere if its shard is not here.
    pub(crate) fn host_index(&mut self, name: &str) -> HostIndex {
        if let Some(index) = self.hosts.named(name) {
            return index;
        }
        let root: Box<str> = self.suffixes.root_domain(name).into();
        let shard = shard_of(&root, self.config.shards);
        let Some(slot) = self.slots.get_mut(usize::from(shard)).filter(|slot| slot.is_here()) else {
            return NOWHERE;
        };
        let key = HostKey { shard, number: slot.next_number };
        slot.next_number += 1;
        let closed = slot.is_closing();
        let mut host = Host::new(name, &root, key);
        host.closed = closed;
        self.insert_host(host)
    }

    pub(crate) fn insert_host(&mut self, mut host: Host) -> HostIndex {
        let vacant = self.vacant.pop();
        let dirty = host.dirty;
        if let Some(before) = vacant.and_then(|index| self.host(index)) {
            // What the ready set and the timers still hold of the one before it stays dead.
            host.stamp = before.stamp;
            self.gone_hosts = self.gone_hosts.saturating_sub(1);
        }
        let index = self.hosts.insert(host, vacant);
        if dirty {
            self.dirty_hosts.push(index);
        }
        index
    }

    pub(crate) fn host(&self, index: HostIndex) -> Option<&Host> {
        self.hosts.get(index as usize)
    }

    pub(crate) fn host_mut(&mut self, index: HostIndex) -> Option<&mut Host> {
        self.hosts.get_mut(index as usize)
    }

    pub(crate) fn rules_of(&mut self, index: HostIndex) -> Arc<HostRules> {
        self.find_rules(index);
        match self.host(index).and_then(|host| host.rules.as_ref()) {
            Some(rules) => Arc::clone(rules),
            None => Arc::clone(&self.common_rules),
        }
    }

    /// Hosts that no entry names share one set of rules.
    fn find_rules(&mut self, index: HostIndex) {
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        if host.rules.is_none() {
            let rules = self.politeness.for_host(&host.name);
            let common = rules.domain().is_none() && rules.class().is_none();
            host.rules = Some(if common { Arc::clone(&self.common_rules) } else { Arc::new(rules) });
        }
    }

    /// The delay that holds for a host now, adaptive lengthening included.
    pub(crate) fn delay_of(&mut self, index: HostIndex, now: Millis) -> Duration {
        let rules = self.rules_of(index);
        let base = self.base_delay_of(index, &rules, now);
        self.host(index).map_or(base, |host| host.politeness.delay(base))
    }

    /// What goes through a proxy where a job says nothing of one.
    pub fn set_usual_proxies(&mut self, reach: ProxyReach) {
        self.usual_proxies = reach;
    }

    /// When a host may be asked next, by what is known of it.
    pub fn free_at(&mut self, host: &str, now: Millis) -> Millis {
        let index = self.host_index(host);
        self.wait_after_unclean_stop(index, now);
        let rules = self.rules_of(index);
        self.host(index).map_or(now, |host| host.politeness.ready_at(now, &rules))
    }

    /// A request of a job that was not handed out has ended: its host is left alone for its delay as after any other.
    pub fn asked_beside(&mut self, job: JobId, host: &str, answer: &Answer, now: Millis) {
        let index = self.host_index(host);
        let rules = self.rules_of(index);
        let own = self.jobs.get(&job).and_then(|job| job.limits.delay);
        let (crawl_delay, per_host) = (
            self.host(index).and_then(|host| host.politeness.crawl_delay()),
            self.per_host_of(index, &rules),
        );
        let delay = rules.base_delay(std::iter::once(own), crawl_delay, now);
        if let Some(host) = self.host_mut(index) {
            host.politeness.started(answer.ended, delay);
            host.politeness.answered(answer.ended, &answer.outcome, &rules, delay, per_host);
        }
        self.mark_dirty(index);
    }

    pub(crate) fn base_delay_of(&self, index: HostIndex, rules: &HostRules, now: Millis) -> Duration {
        let Some(host) = self.host(index) else { return Duration::ZERO };
        let jobs = host.queues.iter().filter(|q| !q.queue.is_finished());
        let delays = jobs.filter_map(|q| self.jobs.get(&q.queue.job)).map(|job| job.limits.delay);
        rules.base_delay(delays, host.politeness.crawl_delay(), now)
    }

    pub(crate) fn per_host_of(&self, index: HostIndex, rules: &HostRules) -> NonZeroU32 {
        let Some(host) = self.host(index) else { return NonZeroU32::MIN };
        host.per_host(rules, &self.jobs)
    }

    /// Who asks for more on one host than an address may have means that address.
    pub(crate) fn per_address_of(&self, per_host: NonZeroU32) -> u32 {
        self.config.per_address.max(per_host.get())
    }

    pub(crate) fn is_live(
        hosts: &HostTable,
        index: HostIndex,
        stamp: Stamp,
        place: fn(Place) -> bool,
    ) -> bool {
        hosts.get(index as usize).is_some_and(|host| host.stamp == stamp && place(host.place))
    }

    /// Puts a host where it belongs now. If it was woken for a place at its address and does not take it, the next one
    /// in that line is woken instead.
    pub(crate) fn reschedule(&mut self, index: HostIndex, now: Millis) {
        let mut unused = self.place_host(index, now);
        while let Some(address) = unused {
            unused = self.wake_at(address).and_then(|next| self.place_host(next, now));
        }
    }

    /// The first host that waits for this address leaves the line; it has a place there now.
    pub(crate) fn wake_at(&mut self, address: IpAddr) -> Option<HostIndex> {
        let hosts = &self.hosts;
        let live = |host, stamp| Frontier::is_live(hosts, host, stamp, |p| p == Place::AtAddress);
        let next = self.addresses.next_waiting(address, live)?;
        let host = self.hosts.get_mut(next as usize)?;
        host.place = Place::Busy;
        host.reachability.address_turn = Some(address);
        Some(next)
    }

    /// Returns the address at which the host had a place that it does not take.
    fn place_host(&mut self, index: HostIndex, now: Millis) -> Option<IpAddr> {
        self.find_rules(index);
        let host = self.hosts.get(index as usize)?;
        let (place, rank) = host.place_now(host.rules.as_deref()?, &self.jobs, now);
        let host = self.hosts.get_mut(index as usize)?;
        let starved = place == Place::Idle
            && host.in_flight == 0
            && host.politeness.next_allowed() <= now + STARVES_WITHIN
            && host.has_outstanding();
        if starved != host.starved {
            host.starved = starved;
            self.starved = if starved { self.starved + 1 } else { self.starved.saturating_sub(1) };
        }
        if place == Place::Idle {
            if !host.closed {
                host.wait_for_budget(index, &mut self.jobs);
            }
            if host.in_flight == 0 {
                host.rest();
            }
        }
        let stays = match (host.place, place) {
            (Place::Ready, Place::Ready) => host.rank == rank,
            // Only the end of a request to its address makes it ready.
            (Place::AtAddress, Place::Ready) => true,
            (before, after) => before == after,
        };
        if !stays {
            host.stamp = host.stamp.wrapping_add(1);
            host.place = place;
            host.rank = rank;
            let stamp = host.stamp;
            match place {
                Place::Waiting(at, _) => {
                    self.timers.insert(at, index, stamp);
                    self.compact_timers();
                }
                Place::Ready => {
                    self.ready.insert(index, stamp, rank, host.prepared);
                    self.compact_ready();
                }
                Place::Idle | Place::Busy | Place::AtAddress => {}
            }
        }
        if place == Place::Ready {
            None
        } else {
            self.hosts.get_mut(index as usize)?.reachability.take_address_turn()
        }
    }

    fn compact_timers(&mut self) {
        let hosts = &self.hosts;
        self.timers.compact(|host, stamp| {
            Frontier::is_live(hosts, host, stamp, |p| matches!(p, Place::Waiting(..)))
        });
    }

    fn compact_ready(&mut self) {
        let hosts = &self.hosts;
        self.ready.compact(|host, stamp| Frontier::is_live(hosts, host, stamp, |p| p == Place::Ready));
    }

    pub(crate) fn new_token(&mut self) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        token
    }

    pub(crate) fn new_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }

    /// How many entries a queue may keep in memory now.
    pub(crate) fn room(&self) -> usize {
        if self.in_memory < self.config.windows_in_all {
            self.config.window
        } else {
            self.config.window.min(2)
        }
    }
}

impl Host {
    pub(crate) fn per_host(&self, rules: &HostRules, jobs: &FastMap<JobId, Job>) -> NonZeroU32 {
        rules.per_host(
            self.queues.iter().filter_map(|q| jobs.get(&q.queue.job)).map(|job| job.limits.per_host),
        )
    }

    /// Where the host belongs, and the rank of what it would serve next.
    fn place_now(&self, rules: &HostRules, jobs: &FastMap<JobId, Job>, now: Millis) -> (Place, u8) {
        if self.closed {
            return (Place::Idle, 0);
        }
        let Some(rank) = self.head_rank(jobs) else { return (Place::Idle, 0) };
        if matches!(self.reachability.address, Address::Asking) {
            return (Place::Busy, 0);
        }
        if self.in_flight > 0 {
            // A host that has been failing is probed by one request alone.
            let probing = matches!(self.politeness.gate(now), Gate::Probe);
            if probing || self.in_flight >= self.per_host(rules, jobs).get() {
                return (Place::Busy, 0);
            }
        }
        let (at, reason) = self.due(rules, now);
        if at > now { (Place::Waiting(at, reason), rank) } else { (Place::Ready, rank) }
    }

    /// The rank of what the host would serve next; None if there is nothing.
    fn head_rank(&self, jobs: &FastMap<JobId, Job>) -> Option<u8> {
        if !self.reachability.robots_requests.is_empty() {
            return Some(0);
        }
        let queue = self.queues.get(self.queue_in_turn(jobs)?)?;
        // What is not loaded yet is taken for ordinary until it is.
        Some(queue.queue.head().map_or(OrderKey::rank_of(50), |entry| entry.order.rank))
    }

    /// The first queue from the host's turn on that has something its job may do now.
    pub(crate) fn queue_in_turn(&self, jobs: &FastMap<JobId, Job>) -> Option<usize> {
        let count = self.queues.len();
        (0..count).map(|n| (self.turn + n) % count).find(|at| {
            self.queues.get(*at).is_some_and(|q| {
                !q.queue.is_drained()
                    && jobs.get(&q.queue.job).is_some_and(|job| {
                        job.activity == Activity::Running
                            && job.may_take(self.key.shard, q.queue.head().map(|e| e.order.rank))
                    })
            })
        })
    }

    /// Whoever has work for which there is no budget is told when some is given back.
    fn wait_for_budget(&mut self, index: HostIndex, jobs: &mut FastMap<JobId, Job>) {
        for queue in &mut self.queues {
            if !queue.waits_for_budget
                && !queue.queue.is_drained()
                && let Some(job) = jobs.get_mut(&queue.queue.job)
                && !job.has_budget()
            {
                queue.waits_for_budget = true;
                job.wait_for_budget.push_back(index);
            }
        }
    }

    /// Whether a host that waits for the robots.txt of one origin has something to do again: for the other one.
    pub(crate) fn is_freed_by(&self, job: JobId, entry: &Entry) -> bool {
        if !matches!(self.place, Place::Waiting(_, WaitReason::RobotsUnreachable)) {
            return false;
        }
        let Ok(visit) = decode_visit(job, entry.order.rank.saturating_sub(1), &entry.value) else {
            return false;
        };
        let scheme = visit.url.scheme();
        !self.reachability.origins.iter().any(|origin| {
            origin.scheme == scheme && matches!(origin.robots, RobotsHandle::Unreachable { .. })
        })
    }

    /// Whether everything in memory that waits for this host is of one scheme: then the robots.txt of that origin is all that
    /// matters. Asked only where that one is unreachable.
    fn needs_only(&self, scheme: Scheme) -> bool {
        let is_other = |job: JobId, entry: &Entry| {
            decode_visit(job, entry.order.rank.saturating_sub(1), &entry.value)
                .is_ok_and(|visit| visit.url.scheme() != scheme)
        };
        !self.queues.iter().any(|q| q.queue.window().any(|entry| is_other(q.queue.job, entry)))
    }

    /// When the host may be asked, as far as politeness, robots.txt and DNS go, and what holds it until then.
    pub(crate) fn due(&self, rules: &HostRules, now: Millis) -> (Millis, WaitReason) {
        let (mut at, mut reason) = match self.politeness.wait(now, rules) {
            Some(wait) => (wait.until, wait.reason),
            None => (now, WaitReason::CrawlDelay),
        };
        let mut later = |other: Millis, why: WaitReason| {
            if other > at {
                at = other;
                reason = why;
            }
        };
        if self.reachability.robots_requests.is_empty() {
            for origin in &self.reachability.origins {
                match &origin.robots {
                    RobotsHandle::Unreachable { until } if self.needs_only(origin.scheme) => {
                        later(*until, WaitReason::RobotsUnreachable);
                    }
                    _ => later(origin.retry_at, WaitReason::RobotsRetry),
                }
            }
        }
        later(self.reachability.dns_retry_at, WaitReason::DnsRetry);
        (at, reason)
    }
}
