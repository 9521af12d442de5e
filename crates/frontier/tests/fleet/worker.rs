//! One worker: what the engine does around a frontier, in small.

use super::database::Refusal;
use super::web::{Says, Web};
use super::{Event, FIRST, SECOND, SHARDS, World};
use argiope_frontier::memory::MemoryState;
use argiope_frontier::ownership::{LEASE, Leases, Observation, RENEW_EVERY, moves};
use argiope_frontier::state::{Change, ShardState, StateBatch, StateError};
use argiope_frontier::{
    Answer, Completion, Discovery, Disposition, Frontier, FrontierConfig, JobLimits, LastStop,
    RobotsAnswered, Step, Ticket, Token,
};
use argiope_model::{FailureKind, JobId, JobSpec, Millis, NewUrlRate, RequestKind, Visit};
use argiope_politeness::{AnswerOutcome, AnswerResult, RobotsAnswer};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A shard that is handed over is waited for this long at most.
const GRACE: u64 = 3_000;
/// As an engine does that waits until all of it is stored.
const PATIENT: u64 = 3_600_000;

struct Flight {
    shard: u16,
    host: u32,
    visit: Option<(Visit, Ticket)>,
    says: Says,
    /// As the host sees it.
    over: bool,
    /// Given up by the worker.
    aborted: bool,
}

/// A visit on its way into the catalogue and the frontier.
struct Record {
    visit: Visit,
    shard: u16,
    completion: Completion,
}

/// A batch, and the leases under which it was made.
struct Applied {
    batch: StateBatch,
    leases: Leases,
    taken: u64,
    /// When it is committed at the latest.
    due: u64,
}

pub(crate) struct Worker {
    index: usize,
    pub(crate) name: String,
    frontier: Frontier,
    pub(crate) leases: Leases,
    observation: Observation,
    /// The last renewal failed: no new requests until one succeeds.
    unrenewed: bool,
    /// Shards with expired leases; the next renewal shows whether they are still its own.
    lapsed: BTreeSet<u16>,
    /// Answers that came for those.
    late: Vec<Token>,
    flights: BTreeMap<Token, Flight>,
    records: BTreeMap<Token, Record>,
    /// Applied and not committed, where that takes its time.
    unwritten: VecDeque<Applied>,
    /// Shards that were taken, with the time from which their logs are read.
    unread_until: BTreeMap<u16, u64>,
    /// Shards that are handed over, with the time at which they go anyway.
    closing: BTreeMap<u16, u64>,
    pub(crate) draining: bool,
    pub(crate) has_left: bool,
    pub(crate) paused_until: u64,
    pub(crate) cut_off_until: u64,
    /// It is killed in the middle of its next transaction.
    pub(crate) doomed: bool,
    pub(crate) is_dead: bool,
    wake_at: Option<u64>,
    /// Shards that requests were made for since anybody looked.
    pub(crate) requests_of: Vec<u16>,
}

/// Visits of some shards that end by these changes.
fn ended_by(batch: &StateBatch, is_of: impl Fn(u16) -> bool) -> usize {
    let ends =
        |change: &&Change| matches!(change, Change::Unqueue { .. }) && change.shard().is_some_and(&is_of);
    batch.changes.iter().filter(ends).count()
}

fn limits(world: &World, job: JobId) -> JobLimits {
    let max_pages = world.plan.max_pages.filter(|_| job == FIRST);
    let new_urls_per_source = NewUrlRate { per_second: 1_000_000, burst: 1_000_000 };
    JobLimits::of(&JobSpec { max_pages, new_urls_per_source, ..JobSpec::default() }, "SimBot")
}

fn opens(world: &World) -> HashMap<JobId, JobLimits> {
    world.database.jobs.iter().map(|job| (JobId(*job), limits(world, JobId(*job)))).collect()
}

impl Worker {
    pub(crate) fn new(world: &World, index: usize) -> Worker {
        let config = FrontierConfig {
            shards: SHARDS,
            leased: true,
            concurrency: 8,
            window: 4,
            windows_in_all: 100,
            ..FrontierConfig::default()
        };
        let frontier = Frontier::new(
            config,
            Arc::clone(&world.suffixes),
            world.key.clone(),
            Arc::clone(&world.rules),
            world.millis(),
        );
        Worker {
            index,
            name: format!("worker-{index}"),
            frontier,
            leases: Leases::default(),
            observation: Observation::default(),
            unrenewed: false,
            lapsed: BTreeSet::new(),
            late: Vec::new(),
            flights: BTreeMap::new(),
            records: BTreeMap::new(),
            unwritten: VecDeque::new(),
            unread_until: BTreeMap::new(),
            closing: BTreeMap::new(),
            draining: false,
            has_left: false,
            paused_until: 0,
            cut_off_until: 0,
            doomed: false,
            is_dead: false,
            wake_at: None,
            requests_of: Vec::new(),
        }
    }

    pub(crate) fn stays(&self) -> bool {
        !self.draining && !self.doomed
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.flights.is_empty() || !self.records.is_empty() || !self.unwritten.is_empty() || self.draining
    }

    /// Requested visits that the database does not know to have ended; of all shards, or of one.
    fn at_risk(&self, of: Option<u16>) -> u64 {
        let is_of = |shard: u16| of.is_none_or(|of| of == shard);
        let flights = self.flights.values().filter(|flight| is_of(flight.shard)).count();
        let records = self.records.values().filter(|record| is_of(record.shard)).count();
        let unwritten = self.unwritten.iter().map(|applied| ended_by(&applied.batch, is_of)).sum::<usize>();
        (flights + records + unwritten) as u64
    }

    /// kill -9.
    pub(crate) fn die(&mut self, world: &mut World) {
        let unapplied = ended_by(&self.frontier.take_changes(), |_| true) as u64;
        world.told.at_risk += unapplied + self.at_risk(None);
        for flight in self.flights.values().filter(|flight| !flight.over) {
            world.end_request(flight.host);
        }
        self.is_dead = true;
    }

    pub(crate) fn take(&mut self, world: &mut World, event: Event) {
        // Hosts answer whether or not anybody listens.
        if let Event::Answer(token) = &event
            && let Some(flight) = self.flights.get_mut(token)
            && !std::mem::replace(&mut flight.over, true)
        {
            world.end_request(flight.host);
        }
        if world.now < self.paused_until {
            return world.push(self.index, self.paused_until, event);
        }
        // Whichever comes first after it resumes: its own clock, or the event.
        if world.chance(2) == 0 {
            self.look_at_the_clock(world);
        }
        self.handle(world, event);
        self.work(world);
    }

    fn is_cut_off(&self, world: &World) -> bool {
        world.now < self.back_at(world)
    }

    /// When it sees the database again.
    fn back_at(&self, world: &World) -> u64 {
        self.cut_off_until.max(world.away_until)
    }

    fn handle(&mut self, world: &mut World, event: Event) {
        let needs_database =
            matches!(event, Event::Renewed { .. } | Event::Stored(_) | Event::Ended(_) | Event::Write);
        if needs_database && self.is_cut_off(world) {
            let back_at = self.back_at(world);
            return world.push(self.index, back_at, event);
        }
        match event {
            Event::Tick => self.tick(world),
            Event::Renewed { sent_at, shards } => self.renewed(world, sent_at, &shards),
            Event::Answer(token) => self.answered(world, token),
            Event::Stored(token) => self.stored(world, token),
            Event::Ended(token) => self.ended(world, token),
            Event::Resolved(host) => {
                let address = IpAddr::from(host.to_be_bytes());
                let found = Ok((Arc::from([address]), Millis::NEVER));
                self.frontier.resolved(host, found, world.millis());
            }
            Event::Wake => self.wake_at = None,
            Event::Write => self.write_until(world, world.now),
            _ => {}
        }
    }

    fn tick(&mut self, world: &mut World) {
        let next = world.now + RENEW_EVERY.as_millis() as u64;
        world.push(self.index, next, Event::Tick);
        if self.is_cut_off(world) {
            self.unrenewed = true;
            return;
        }
        self.observation.seen(world.millis());
        let held: Vec<(u16, u64)> = self.leases.all().collect();
        match world.database.renew(&self.name, &held, world.now, &self.observation) {
            Ok(shards) => {
                let sent_at = world.now;
                world.soon(self.index, 200, Event::Renewed { sent_at, shards });
            }
            Err(_) => self.begin_anew(world),
        }
    }

    /// It was taken for dead: what it was given is others'.
    fn begin_anew(&mut self, world: &mut World) {
        let held: Vec<u16> = self.leases.all().map(|(shard, _)| shard).collect();
        held.into_iter().for_each(|shard| self.lose(world, shard));
        let tokens: BTreeSet<Token> = self.flights.keys().chain(self.records.keys()).copied().collect();
        for token in tokens {
            self.abandon(world, token);
        }
        self.frontier.return_pages(FIRST);
        match self.draining {
            true => self.has_left = true,
            false => world.database.join(&self.name, world.now),
        }
    }

    fn renewed(&mut self, world: &mut World, sent_at: u64, shards: &[(u16, u64)]) {
        self.unrenewed = false;
        for (shard, epoch) in shards {
            self.leases.renewed(*shard, *epoch, Millis(sent_at));
        }
        let (database, leases) = (&world.database, &self.leases);
        let is_lost = |shard: &u16| !database.is_owner(&self.name, *shard, leases);
        let lost: Vec<u16> = leases.all().map(|(shard, _)| shard).filter(is_lost).collect();
        for shard in lost {
            world.told.lost += 1;
            self.lose(world, shard);
        }
        let lapsed = self.leases.lapsed(world.millis());
        self.lapsed.retain(|shard| lapsed.contains(shard));
        for token in std::mem::take(&mut self.late) {
            self.answered(world, token);
        }
        self.open_jobs(world);
        let workers = world.database.workers(world.now);
        let seats = world.database.seats(world.now);
        let moves = moves(&self.name, &workers, &seats, self.closing.len(), &self.observation, LEASE);
        for shard in moves.take {
            self.take_over(world, shard);
        }
        for shard in moves.hand_over.into_iter().filter(|shard| self.leases.epoch(*shard).is_some()) {
            let grace = if world.plan.hasty { world.chance(GRACE) } else { PATIENT };
            let give_up_at = world.now + grace;
            if self.closing.insert(shard, give_up_at).is_none() {
                self.frontier.hand_over(shard, world.millis());
            }
        }
        if world.chance(4) == 0 {
            let unused = self.frontier.return_pages(FIRST);
            world.database.take_back(&self.name, unused);
        }
    }

    fn open_jobs(&mut self, world: &mut World) {
        for job in [FIRST, SECOND] {
            if world.database.jobs.contains(&job.0) && self.frontier.progress(job).is_none() {
                self.write(world);
                let (state, limits) = (&world.database.state, limits(world, job));
                self.frontier.restore_job(state, job, limits, world.millis()).unwrap();
            }
        }
    }

    fn take_over(&mut self, world: &mut World, shard: u16) {
        let Some((epoch, last_stop)) = world.database.take(&self.name, shard, world.now) else { return };
        world.told.unclean += u64::from(last_stop == LastStop::Unclean);
        world.told.clean_after_kill += u64::from(matches!(last_stop, LastStop::CleanAfterKill(_)));
        // What was written under a former epoch must not lie over what is read now.
        self.write(world);
        self.leases.taken(shard, epoch, world.millis());
        let is_late = world.plan.slow_reads && last_stop != LastStop::Clean;
        let unread_until = world.now + if is_late { world.chance(30_000) } else { 0 };
        self.unread_until.insert(shard, unread_until);
        let opens = opens(world);
        let state = &world.database.state;
        self.frontier.restore_shard(state, shard, &opens, last_stop, world.millis()).unwrap();
    }

    /// Requests of shards with expired leases are aborted, and their hosts get none until the lease is renewed.
    /// Responses that have arrived are held: they are valid if nobody took the shard.
    fn look_at_the_clock(&mut self, world: &mut World) {
        for shard in self.leases.lapsed(world.millis()) {
            if !self.lapsed.insert(shard) {
                continue;
            }
            world.told.lapsed += 1;
            let waiting = self.flights.iter().filter(|(_, flight)| flight.shard == shard && !flight.over);
            for token in waiting.map(|(token, _)| *token).collect::<Vec<_>>() {
                let flight = self.flights.remove(&token).unwrap();
                world.end_request(flight.host);
                world.told.at_risk += 1;
                self.frontier.take_back(token, true, world.millis());
            }
        }
    }

    fn lose(&mut self, world: &mut World, shard: u16) {
        world.told.at_risk += self.at_risk(Some(shard));
        self.lapsed.remove(&shard);
        self.leases.gone(shard);
        self.closing.remove(&shard);
        self.frontier.drop_shard(shard, world.millis());
        self.abort_requests(world, shard);
    }

    /// Requests of a shard end. The frontier hears of some of them at once, of others later.
    fn abort_requests(&mut self, world: &mut World, shard: u16) {
        let open = self.flights.iter_mut().filter(|(_, flight)| flight.shard == shard && !flight.aborted);
        let mut tokens = Vec::new();
        for (token, flight) in open {
            if !std::mem::replace(&mut flight.over, true) {
                world.end_request(flight.host);
            }
            flight.aborted = true;
            if world.chance(2) == 0 {
                tokens.push(*token);
            }
        }
        for token in tokens {
            self.abandon(world, token);
        }
    }

    fn abandon(&mut self, world: &mut World, token: Token) {
        if let Some(flight) = self.flights.remove(&token)
            && !flight.over
        {
            world.end_request(flight.host);
        }
        self.records.remove(&token);
        self.frontier.abandon(token, world.millis());
    }

    fn work(&mut self, world: &mut World) {
        if world.chance(2) == 0 && !self.is_cut_off(world) {
            self.apply(world);
        }
        self.look_at_the_clock(world);
        if self.is_dead || self.has_left {
            return;
        }
        if self.is_cut_off(world) {
            // No request is sent whose result could not be stored.
            let at = self.back_at(world);
            return self.wake_by(world, at);
        }
        self.apply(world);
        self.read_logs(world);
        self.finish_handovers(world);
        if self.draining && self.leases.all().next().is_none() && self.records.is_empty() {
            let left: Vec<Token> = self.flights.keys().copied().collect();
            left.into_iter().for_each(|token| self.abandon(world, token));
            self.write(world);
            world.database.leave(&self.name);
            self.has_left = true;
            return;
        }
        // A process has one lease for all its shards.
        if !self.is_dead && self.lapsed.is_empty() && !self.unrenewed {
            self.dispatch(world);
            self.apply(world);
        }
    }

    fn apply(&mut self, world: &mut World) {
        let mut batch = self.frontier.take_changes();
        let sends = batch.changes.iter().any(|change| matches!(change, Change::Send { .. }));
        let taken = self.frontier.batches_taken();
        if self.doomed && !batch.is_empty() && !self.is_dead {
            world.database.send_ahead(&batch);
            world.told.at_risk += ended_by(&batch, |_| true) as u64;
            self.die(world);
        }
        if self.is_dead {
            return;
        }
        if let Some(within) = world.plan.slow_writes {
            if !batch.is_empty() {
                let due = world.now + world.chance(within);
                self.unwritten.push_back(Applied { batch, leases: self.leases.clone(), taken, due });
                world.push(self.index, due, Event::Write);
            }
            return;
        }
        while !batch.is_empty() {
            match world.database.apply(&self.name, &self.leases, &batch) {
                Ok(()) => break,
                Err(StateError::Lost(shard)) => {
                    world.told.lost += 1;
                    batch.drop_shard(shard);
                    self.lose(world, shard);
                }
                Err(error) => panic!("seed {}: {error}", world.plan.seed),
            }
        }
        self.frontier.batches_durable(taken);
        if sends {
            world.ring_all();
        }
    }

    fn write(&mut self, world: &mut World) {
        self.write_until(world, u64::MAX);
    }

    /// Commits applied changes that are due. Changes of a shard that another worker owns by now are left out silently.
    fn write_until(&mut self, world: &mut World, now: u64) {
        let mut sends = false;
        while self.unwritten.front().is_some_and(|applied| applied.due <= now)
            && let Some(Applied { mut batch, leases, taken, .. }) = self.unwritten.pop_front()
        {
            sends |= batch.changes.iter().any(|change| matches!(change, Change::Send { .. }));
            while let Err(StateError::Lost(shard)) = world.database.apply(&self.name, &leases, &batch) {
                batch.drop_shard(shard);
            }
            self.frontier.batches_durable(taken);
        }
        if sends {
            world.ring_all();
        }
    }

    /// The state as this worker sees it: what it has applied lies over what is committed.
    fn view(&self, world: &World) -> MemoryState {
        let mut state = world.database.state.clone();
        for applied in &self.unwritten {
            state.apply(applied.batch.clone()).unwrap();
        }
        state
    }

    fn read_logs(&mut self, world: &mut World) {
        let shards: Vec<u16> = self.leases.all().map(|(shard, _)| shard).collect();
        for shard in shards {
            if self.unread_until.get(&shard).is_some_and(|until| world.now < *until) {
                continue;
            }
            let after = self.frontier.received(shard).unwrap_or(0);
            let messages: Vec<(u64, Vec<u8>)> =
                world.database.state.log(shard, after).map(|(at, m)| (at, m.to_vec())).collect();
            if messages.is_empty() {
                continue;
            }
            let delivered = self.frontier.deliver(shard, &messages, world.millis());
            assert!(delivered.refused.is_empty(), "seed {}: {:?}", world.plan.seed, delivered.refused);
            if delivered.waits_for.is_some() {
                self.open_jobs(world);
                let rest = self.frontier.deliver(shard, &messages, world.millis());
                assert_eq!(rest.waits_for, None);
            }
        }
        self.apply(world);
    }

    fn finish_handovers(&mut self, world: &mut World) {
        let due: Vec<u16> = self
            .closing
            .iter()
            .filter(|(shard, give_up)| self.frontier.is_quiet(**shard) || world.now >= **give_up)
            .map(|(shard, _)| *shard)
            .collect();
        for shard in due {
            self.frontier.give_up_shard(shard, world.millis());
            self.apply(world);
            self.write(world);
            let Some(epoch) = self.leases.epoch(shard).filter(|_| !self.is_dead) else { continue };
            self.lose(world, shard);
            world.database.release(&self.name, shard, epoch);
            world.told.handovers += 1;
        }
        if let Some(at) = self.closing.values().min().copied() {
            self.wake_by(world, at);
        }
    }

    fn wake_by(&mut self, world: &mut World, at: u64) {
        let at = at.max(world.now + 1);
        if self.wake_at.is_none_or(|set| at < set) {
            self.wake_at = Some(at);
            world.push(self.index, at, Event::Wake);
        }
    }

    /// Takes steps until the frontier waits.
    fn dispatch(&mut self, world: &mut World) {
        if self.frontier.wants_pages(FIRST) {
            let pages = world.database.grant(&self.name);
            self.frontier.grant(FIRST, pages, world.millis());
        }
        while !self.is_dead {
            let now = world.millis();
            match self.frontier.next(now) {
                Step::Wait(at) => {
                    let lapses = self.leases.next_deadline();
                    if let Some(at) = at.into_iter().chain(lapses).min() {
                        self.wake_by(world, at.0);
                    }
                    return;
                }
                Step::LoadQueue { host, at, after, limit } => {
                    self.apply(world);
                    let entries = self.view(world).load_queue(at, after.0, limit).unwrap();
                    let complete = entries.len() < limit;
                    self.frontier.queue_loaded(host, at.job, entries, complete, now);
                }
                Step::LoadRobots { host, scheme, agent, origin } => {
                    let stored = self.view(world).load_robots(&origin).unwrap();
                    self.frontier.robots_loaded(host, scheme, &agent, stored, now);
                }
                Step::LoadDue { until, limit } => {
                    self.apply(world);
                    let state = self.view(world);
                    let (due, next) = state.load_due(self.frontier.served(), until, limit).unwrap();
                    self.frontier.due_loaded(due, next, now);
                    self.apply(world);
                }
                Step::Resolve { host, .. } => world.soon(self.index, 100, Event::Resolved(host)),
                Step::Fetch(dispatch) => {
                    let says = world.web.says(
                        &dispatch.visit.url,
                        dispatch.visit.attempt,
                        !dispatch.visit.hops.is_empty(),
                    );
                    let shard = dispatch.ticket.at.host.shard;
                    let (host, _) = Web::place(&dispatch.visit.url);
                    world.note_visit(&dispatch.visit);
                    let visit = Some((dispatch.visit, dispatch.ticket));
                    self.ask(
                        world,
                        dispatch.token,
                        Flight { shard, host, visit, says, over: false, aborted: false },
                    );
                }
                Step::FetchRobots(robots) => {
                    let url = &robots.request.url;
                    world.told.robots_in_other_shards +=
                        u64::from(url.host() != robots.request.origin.host());
                    let (shard, (host, _)) = (self.frontier.shard_of(url), Web::place(url));
                    let says = world.web.robots_says(url);
                    let flight = Flight { shard, host, visit: None, says, over: false, aborted: false };
                    self.ask(world, robots.token, flight);
                }
                Step::Refuse { token, visit, ticket, .. } => {
                    self.record(world, token, *visit, ticket, Completion::Done { counted: false });
                }
                Step::Fail { visit, error, .. } => panic!("seed {}: {visit:?}: {error}", world.plan.seed),
                Step::Release(token) => self.settle(world, token),
                Step::Forget(token) => {
                    self.flights.remove(&token);
                }
            }
        }
    }

    fn ask(&mut self, world: &mut World, token: Token, flight: Flight) {
        assert!(self.leases.holds(flight.shard, world.millis()), "seed {}", world.plan.seed);
        self.requests_of.push(flight.shard);
        world.begin_request(&self.name, flight.host, flight.visit.is_some());
        self.flights.insert(token, flight);
        let at = world.now + 20 + world.chance(1_500);
        world.push(self.index, at, Event::Answer(token));
    }

    fn answered(&mut self, world: &mut World, token: Token) {
        let Some(flight) = self.flights.get(&token) else { return };
        let now = world.millis();
        let is_leased = self.leases.epoch(flight.shard).is_some();
        if !flight.aborted && is_leased && !self.leases.holds(flight.shard, now) {
            return self.late.push(token);
        }
        let result = match &flight.says {
            _ if flight.aborted => AnswerResult::Failed(FailureKind::Reset),
            Says::Failure(FailureKind::Status(status)) => AnswerResult::Status(*status),
            Says::Failure(kind) => AnswerResult::Failed(*kind),
            Says::Redirect(_) => AnswerResult::Status(302),
            Says::Page | Says::Robots(_) => AnswerResult::Status(200),
        };
        let request = if flight.visit.is_some() { RequestKind::Page } else { RequestKind::Robots };
        let latency = Duration::from_millis(100);
        let outcome = AnswerOutcome { request, latency, result, retry_after: None };
        let disposition = self.frontier.answered(token, &Answer { ended: now, outcome }, now);
        if flight.aborted {
            return self.abandon(world, token);
        }
        if flight.visit.is_some() {
            if disposition == Disposition::Record {
                self.settle(world, token);
            }
            return;
        }
        let answered = match &flight.says {
            Says::Redirect(to) => RobotsAnswered::Redirect(to.clone()),
            Says::Robots(body) => {
                RobotsAnswered::Final { answer: RobotsAnswer::Status(200), body: body.clone().into_bytes() }
            }
            other => panic!("{other:?} for robots.txt"),
        };
        self.flights.remove(&token);
        self.frontier.robots_answered(token, answered, now);
    }

    /// A visit's answer is to be stored.
    fn settle(&mut self, world: &mut World, token: Token) {
        let Some(Flight { visit: Some((visit, ticket)), says, aborted: false, .. }) =
            self.flights.remove(&token)
        else {
            return self.abandon(world, token);
        };
        let retry = |after: u64| Completion::Retry { due: Millis(world.now + after) };
        let completion = match says {
            Says::Redirect(to) => {
                world.told.redirects += 1;
                Completion::Redirect { to, status: 302 }
            }
            Says::Failure(FailureKind::Status(503)) => retry(10_000),
            Says::Failure(FailureKind::Timeout) => retry(15_000),
            Says::Page | Says::Robots(_) | Says::Failure(_) => Completion::Done { counted: true },
        };
        self.record(world, token, visit, ticket, completion);
    }

    fn record(
        &mut self,
        world: &mut World,
        token: Token,
        visit: Visit,
        ticket: Ticket,
        completion: Completion,
    ) {
        let shard = ticket.at.host.shard;
        self.records.insert(token, Record { visit, shard, completion });
        world.soon(self.index, 400, Event::Stored(token));
    }

    /// The catalogue is next.
    fn stored(&mut self, world: &mut World, token: Token) {
        let Some(Record { visit, shard, completion }) = self.records.get(&token) else { return };
        if let Completion::Done { counted } = completion {
            let counts = *counted && visit.job == FIRST && world.plan.max_pages.is_some();
            let (shard, url) = (*shard, visit.scheduled_url().to_string());
            let place = (shard, self.leases.epoch(shard));
            match world.database.store(&self.name, place, (visit.job, &url), (*counted, counts)) {
                Ok(()) => {}
                Err(Refusal::Lost(shard)) => {
                    world.told.lost += 1;
                    self.abandon(world, token);
                    return self.lose(world, shard);
                }
                Err(Refusal::Expelled) => return self.abandon(world, token),
            }
        }
        world.soon(self.index, 100, Event::Ended(token));
    }

    /// The catalogue has it: links are offered, then the visit ends.
    fn ended(&mut self, world: &mut World, token: Token) {
        let Some(Record { visit, shard, completion }) = self.records.remove(&token) else { return };
        let now = world.millis();
        if matches!(completion, Completion::Done { .. }) {
            let (host, page) = Web::place(visit.scheduled_url());
            let found = world.web.links(&world.key, host, page);
            let source = Some(visit.scheduled_url().clone());
            let discovery = Discovery {
                job: visit.job,
                round: visit.round,
                depth: visit.depth + 1,
                source,
                found,
                not_before: None,
            };
            let (refused, _) = self.frontier.discover_in(shard, discovery, now);
            assert!(refused.is_empty(), "seed {}: {refused:?}", world.plan.seed);
        }
        self.frontier.completed(token, completion, now);
    }
}
