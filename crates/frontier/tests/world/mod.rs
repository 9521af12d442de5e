//! The simulated world and the frontier's owner in it. All of it follows from the plan's seed.

use argiope_frontier::memory::MemoryState;
use argiope_frontier::state::{ShardState, StateBatch};
use argiope_frontier::{
    Answer, Completion, Discovery, Dispatch, Disposition, Found, Frontier, FrontierConfig, JobLimits,
    LastStop, RobotsAnswered, Step, Ticket, Token,
};
use argiope_model::{
    FailureKind, FingerprintKey, JobId, JobSpec, Millis, PublicSuffixes, RequestKind, Url, Visit,
};
use argiope_politeness::{AnswerOutcome, AnswerResult, PolitenessRules, PolitenessSettings, RobotsAnswer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) hosts: u32,
    pub(crate) pages_per_host: u32,
    /// Job 2 wants the first so many hosts too.
    pub(crate) shared_hosts: u32,
    pub(crate) concurrency: usize,
    /// Crawl-delay of a host: up to so many seconds, a few far longer.
    pub(crate) longest_delay: u64,
    pub(crate) crashes: u32,
    pub(crate) network_outages: u32,
    pub(crate) failing_hosts: bool,
    /// Priorities are checked on so many hosts: it takes memory.
    pub(crate) watched_hosts: u32,
}

impl Plan {
    pub(crate) fn small(seed: u64) -> Plan {
        Plan {
            seed,
            hosts: 60,
            pages_per_host: 40,
            shared_hosts: 20,
            concurrency: 40,
            longest_delay: 60,
            crashes: 5,
            network_outages: 0,
            failing_hosts: true,
            watched_hosts: 60,
        }
    }

    /// The part of one owner of a crawl of 100,000 hosts.
    pub(crate) fn long_haul(seed: u64, owners: u32) -> Plan {
        Plan {
            seed,
            hosts: 100_000 / owners,
            pages_per_host: 93,
            shared_hosts: 5_000 / owners,
            concurrency: 3_000 / owners as usize,
            longest_delay: 20_000,
            crashes: 6,
            network_outages: 2,
            failing_hosts: true,
            watched_hosts: 100,
        }
    }
}

/// What happened, for the assertions of the tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) fetches: u64,
    pub(crate) days: f64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) retries: u64,
    pub(crate) redirects: u64,
    pub(crate) put_back: u64,
    pub(crate) crashes: u32,
    pub(crate) recovered: u64,
}

const START: u64 = 1_800_000_000_000;
const AGENT: &str = "SimBot";

/// Requests in flight until their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Answer(Token),
    Stored(Token),
    OutageBegins,
    OutageEnds,
    Crash,
}

struct Flight {
    host: u32,
    dispatch: Option<Box<Dispatch>>,
    result: Answered,
}

#[derive(Clone, Debug)]
enum Answered {
    Page,
    Redirect(Url),
    Failure(FailureKind),
    Robots,
    NoRobots,
}

/// What a host and its two jobs have been through, judged from outside the frontier.
#[derive(Clone, Default)]
struct Witness {
    last_end: u64,
    in_flight: u32,
    /// A bit per page and job.
    done: [u128; 2],
    /// The job served last, and how often in a row while the other one waited.
    streak: (u32, u32),
}

pub(crate) struct Simulation {
    plan: Plan,
    now: u64,
    frontier: Frontier,
    state: MemoryState,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    flights: FastMap<Token, Flight>,
    /// Stored by the catalogue, and not yet ended in the frontier.
    stored: FastMap<Token, (Ticket, Visit, Completion)>,
    held: FastMap<Token, Answered>,
    witnesses: Vec<Witness>,
    outage: bool,
    told: Told,
    random: u64,
    key: FingerprintKey,
    suffixes: Arc<PublicSuffixes>,
    rules: Arc<PolitenessRules>,
    /// Priorities of what is queued on watched hosts.
    queued: FastMap<(u32, u32), BTreeMap<u8, u32>>,
    expected: [u64; 2],
}

impl Simulation {
    pub(crate) fn run(plan: &Plan) -> Told {
        let mut simulation = Simulation::new(plan.clone());
        simulation.seed();
        simulation.go();
        simulation.judge_the_end();
        simulation.told
    }

    fn new(plan: Plan) -> Simulation {
        let key = FingerprintKey::new([9; 16]);
        let suffixes = Arc::new(PublicSuffixes::bundled());
        let rules = Arc::new(PolitenessRules::compile(&PolitenessSettings::default()).unwrap());
        let frontier = new_frontier(&plan, &suffixes, &key, &rules, START);
        assert!(plan.pages_per_host <= 128, "a bit per page");
        Simulation {
            now: START,
            frontier,
            state: MemoryState::new(),
            events: BinaryHeap::new(),
            flights: FastMap::default(),
            stored: FastMap::default(),
            held: FastMap::default(),
            witnesses: vec![Witness::default(); plan.hosts as usize],
            outage: false,
            told: Told::default(),
            random: plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            key,
            suffixes,
            rules,
            queued: FastMap::default(),
            expected: [
                u64::from(plan.hosts) * u64::from(plan.pages_per_host),
                u64::from(plan.shared_hosts) * u64::from(plan.pages_per_host),
            ],
            plan,
        }
    }

    fn chance(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn millis(&self) -> Millis {
        Millis(self.now)
    }

    fn seed(&mut self) {
        let limits = |spec: &JobSpec| JobLimits::of(spec, AGENT);
        let spec = JobSpec { new_urls_per_source: unlimited(), ..JobSpec::default() };
        self.frontier.open_job(JobId(1), limits(&spec));
        self.frontier.open_job(JobId(2), limits(&spec));
        for (job, hosts) in [(1, self.plan.hosts), (2, self.plan.shared_hosts)] {
            for first in (0..hosts).step_by(1000) {
                let found = (first..hosts.min(first + 1000)).map(|h| self.found(h, 0)).collect();
                self.discover(JobId(job), 0, None, found);
                self.apply();
            }
        }
        // Troubles are spread over the first days, when there is most to spoil.
        let span = 1000 * self.plan.longest_delay * u64::from(self.plan.pages_per_host) / 4;
        for _ in 0..self.plan.crashes {
            let at = self.now + self.chance() % span;
            self.events.push(Reverse((at, Event::Crash)));
        }
        for _ in 0..self.plan.network_outages {
            let at = self.now + self.chance() % span;
            self.events.push(Reverse((at, Event::OutageBegins)));
            self.events.push(Reverse((at + 600_000, Event::OutageEnds)));
        }
    }

    fn found(&self, host: u32, page: u32) -> Found {
        let url = url_of(host, page);
        Found {
            fingerprint: self.key.of(url.as_str(), 0),
            url,
            priority: priority_of(host, page),
            kind: RequestKind::Page,
            previous: None,
        }
    }

    fn discover(&mut self, job: JobId, depth: u32, source: Option<Url>, found: Vec<Found>) {
        // But for seeds, all of them are on one host.
        let unwatched = source.is_some() && place_of(&found[0].url).0 >= self.plan.watched_hosts;
        for one in found.iter().filter(|_| !unwatched) {
            let (host, page) = place_of(&one.url);
            // Each page is linked from one other only, but may be offered again after a crash.
            let new = !self.is_done(job, host, page);
            if host < self.plan.watched_hosts && new && self.frontier_has_not(job, one) {
                *self.queued.entry((job.0, host)).or_default().entry(one.priority).or_default() += 1;
            }
        }
        let now = self.millis();
        let (refused, _) =
            self.frontier.discover(Discovery { job, round: 0, depth, source, found, not_before: None }, now);
        assert!(refused.is_empty(), "seed {}: {refused:?}", self.plan.seed);
    }

    fn frontier_has_not(&self, job: JobId, one: &Found) -> bool {
        use argiope_frontier::QueueView;
        self.frontier.queue_view(job, &one.url, one.fingerprint) == QueueView::Unseen
    }

    fn apply(&mut self) {
        let batch: StateBatch = self.frontier.take_changes();
        if !batch.is_empty() {
            self.state.apply(batch).unwrap();
        }
    }

    /// Until nothing is left to do.
    fn go(&mut self) {
        loop {
            let wake = self.drain();
            let next_event = self.events.peek().map(|Reverse((at, _))| *at);
            let Some(at) = [wake, next_event].into_iter().flatten().min() else { return };
            let busy = !self.flights.is_empty() || !self.stored.is_empty() || wake.is_some();
            if !busy && next_event.is_some() {
                // Only faults are left, and no worker to apply them to.
                return;
            }
            self.now = self.now.max(at);
            while self.events.peek().is_some_and(|Reverse((at, _))| *at <= self.now) {
                if let Some(Reverse((_, event))) = self.events.pop() {
                    self.happen(event);
                }
            }
        }
    }

    /// Takes steps until the frontier waits; when it wants to be woken.
    fn drain(&mut self) -> Option<u64> {
        loop {
            let now = self.millis();
            match self.frontier.next(now) {
                Step::Wait(at) => return at.map(|at| at.0.max(self.now + 1)),
                Step::LoadQueue { host, at, after, limit } => {
                    self.apply();
                    let entries = self.state.load_queue(at, after.0, limit).unwrap();
                    let complete = entries.len() < limit;
                    self.frontier.queue_loaded(host, at.job, entries, complete, now);
                }
                Step::LoadRobots { host, scheme, agent, origin } => {
                    let stored = self.state.load_robots(&origin).unwrap();
                    self.frontier.robots_loaded(host, scheme, &agent, stored, now);
                }
                Step::LoadDue { until, limit } => {
                    self.apply();
                    let (entries, next) = self.state.load_due(self.frontier.served(), until, limit).unwrap();
                    self.frontier.due_loaded(entries, next, now);
                    self.apply();
                }
                Step::Resolve { host, .. } => {
                    let address = std::net::IpAddr::from(host.to_be_bytes());
                    self.frontier.resolved(host, Ok((Arc::from([address]), Millis::NEVER)), now);
                }
                Step::Fetch(dispatch) => self.fetch(dispatch),
                Step::FetchRobots(robots) => {
                    let (host, _) = place_of(&robots.request.url);
                    self.begin_request(host, None);
                    let result = if self.outage { Answered::NoRobots } else { Answered::Robots };
                    let flight = Flight { host, dispatch: None, result };
                    self.take_off(robots.token, flight);
                }
                Step::Refuse { token, visit, ticket, .. } => {
                    self.told.refused += 1;
                    if visit.hops.is_empty() && visit.attempt == 0 {
                        let (host, _) = place_of(&visit.url);
                        self.check_priority(&visit, host);
                    }
                    self.finish_page(&visit);
                    self.store(token, ticket, *visit, Completion::Done { counted: false });
                }
                Step::Fail { visit, error, .. } => panic!("seed {}: {visit:?}: {error}", self.plan.seed),
                Step::Release(token) => {
                    let result = self.held.remove(&token).expect("released what was held");
                    self.record(token, result);
                }
                Step::Forget(token) => {
                    self.told.put_back += 1;
                    assert!(self.held.remove(&token).is_some(), "forgot what was held");
                    if let Some(flight) = self.flights.remove(&token)
                        && let Some(dispatch) = flight.dispatch
                    {
                        self.watch_back(&dispatch.visit);
                    }
                }
            }
        }
    }

    fn begin_request(&mut self, host: u32, visit: Option<&Visit>) {
        self.told.fetches += 1;
        let delay = 1000 * crawl_delay(&self.plan, host);
        let seed = self.plan.seed;
        let now = self.now;
        let witness = &mut self.witnesses[host as usize];
        assert_eq!(witness.in_flight, 0, "seed {seed}: two requests at once to host {host}");
        // The delay is known once robots.txt has been read, which any page's request comes after.
        if visit.is_some() && witness.last_end > 0 {
            assert!(
                now >= witness.last_end + delay,
                "seed {seed}: host {host} early: {now} {}",
                witness.last_end
            );
        }
        witness.in_flight = 1;
    }

    fn fetch(&mut self, dispatch: Box<Dispatch>) {
        let visit = &dispatch.visit;
        let (host, page) = place_of(&visit.url);
        self.begin_request(host, Some(visit));
        let (origin_host, origin_page) =
            if visit.hops.is_empty() { (host, page) } else { place_of(visit.scheduled_url()) };
        assert!(
            !self.is_done(visit.job, origin_host, origin_page),
            "seed {}: {visit:?} again",
            self.plan.seed
        );
        if visit.hops.is_empty() && visit.attempt == 0 {
            self.check_priority(visit, host);
        }
        self.check_turns(visit, host);
        let result = self.world_says(visit, host, page);
        self.take_off(dispatch.token, Flight { host, result, dispatch: Some(dispatch) });
    }

    /// The best priority that is queued on this host for this job goes first.
    fn check_priority(&mut self, visit: &Visit, host: u32) {
        if host >= self.plan.watched_hosts {
            return;
        }
        let queued = self.queued.entry((visit.job.0, host)).or_default();
        let best = queued.keys().next().copied();
        assert_eq!(best, Some(visit.priority), "seed {}: {visit:?} {queued:?}", self.plan.seed);
        if let Some(count) = queued.get_mut(&visit.priority) {
            *count -= 1;
            if *count == 0 {
                queued.remove(&visit.priority);
            }
        }
    }

    fn watch_back(&mut self, visit: &Visit) {
        let (host, _) = place_of(&visit.url);
        if host < self.plan.watched_hosts && visit.hops.is_empty() && visit.attempt == 0 {
            *self.queued.entry((visit.job.0, host)).or_default().entry(visit.priority).or_default() += 1;
        }
    }

    /// Two jobs on one host take turns while both have something to do.
    fn check_turns(&mut self, visit: &Visit, host: u32) {
        if host >= self.plan.shared_hosts || host >= self.plan.watched_hosts {
            return;
        }
        let other = 3 - visit.job.0;
        let other_waits = self.queued.get(&(other, host)).is_some_and(|queued| !queued.is_empty());
        let streak = &mut self.witnesses[host as usize].streak;
        *streak = match *streak {
            (job, length) if job == visit.job.0 && other_waits => (job, length + 1),
            _ => (visit.job.0, 1),
        };
        // A restart may give a job a second turn.
        assert!(streak.1 <= 3, "seed {}: host {host}: job {other} starves", self.plan.seed);
    }

    fn world_says(&mut self, visit: &Visit, host: u32, page: u32) -> Answered {
        if self.outage {
            return Answered::Failure(FailureKind::Connect);
        }
        let fate = mix(u64::from(host) << 32 | u64::from(page)) % 1000;
        match fate {
            0..20 if visit.hops.is_empty() => {
                // Redirects lead to a page of another host that has no other links.
                Answered::Redirect(url_of((host + 1) % self.plan.hosts, self.plan.pages_per_host + 7))
            }
            20..40 if self.plan.failing_hosts && visit.attempt == 0 => {
                Answered::Failure(FailureKind::Timeout)
            }
            40..50 if self.plan.failing_hosts => Answered::Failure(FailureKind::Status(404)),
            50..60 if self.plan.failing_hosts && visit.attempt < 2 => {
                Answered::Failure(FailureKind::Status(503))
            }
            _ => Answered::Page,
        }
    }

    fn take_off(&mut self, token: Token, flight: Flight) {
        let takes = 20 + self.chance() % 400;
        self.events.push(Reverse((self.now + takes, Event::Answer(token))));
        self.flights.insert(token, flight);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Answer(token) => self.answer(token),
            Event::Stored(token) => self.end(token),
            Event::OutageBegins => self.outage = true,
            Event::OutageEnds => self.outage = false,
            Event::Crash => self.crash(),
        }
    }

    fn answer(&mut self, token: Token) {
        let Some(flight) = self.flights.get(&token) else { return };
        let host = flight.host;
        let witness = &mut self.witnesses[host as usize];
        witness.in_flight = 0;
        witness.last_end = self.now;
        let now = self.millis();
        let latency = Duration::from_millis(100);
        let result = match &flight.result {
            Answered::Failure(FailureKind::Status(status)) => AnswerResult::Status(*status),
            Answered::Failure(kind) => AnswerResult::Failed(*kind),
            Answered::Redirect(_) => AnswerResult::Status(302),
            Answered::Page | Answered::Robots => AnswerResult::Status(200),
            Answered::NoRobots => AnswerResult::Failed(FailureKind::Connect),
        };
        let request = RequestKind::Page;
        let outcome = AnswerOutcome { request, latency, result, retry_after: None };
        let answer = Answer { ended: now, outcome };
        if let Answered::NoRobots = flight.result {
            self.flights.remove(&token);
            self.frontier.answered(token, &answer, now);
            let nothing = RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() };
            self.frontier.robots_answered(token, nothing, now);
            return;
        }
        if let Answered::Robots = flight.result {
            self.flights.remove(&token);
            let delay = crawl_delay(&self.plan, host);
            let body = format!("User-agent: *\nDisallow: /p3\nCrawl-delay: {delay}\n");
            self.frontier.answered(token, &answer, now);
            let outcome =
                RobotsAnswered::Final { answer: RobotsAnswer::Status(200), body: body.into_bytes() };
            self.frontier.robots_answered(token, outcome, now);
            return;
        }
        let result = flight.result.clone();
        match self.frontier.answered(token, &answer, now) {
            Disposition::Hold => {
                self.held.insert(token, result);
            }
            Disposition::Record => self.record(token, result),
        }
    }

    /// The records of a visit are on their way to archive and catalogue.
    fn record(&mut self, token: Token, result: Answered) {
        let Some(flight) = self.flights.remove(&token) else { return };
        let Some(dispatch) = flight.dispatch else { return };
        let visit = dispatch.visit;
        let retry = |sim: &mut Simulation, after: u64| {
            sim.told.retries += 1;
            Completion::Retry { due: Millis(sim.now + after) }
        };
        let completion = match result {
            Answered::Page | Answered::Robots | Answered::NoRobots => Completion::Done { counted: true },
            Answered::Redirect(to) => {
                self.told.redirects += 1;
                Completion::Redirect { to, status: 302 }
            }
            Answered::Failure(FailureKind::Status(404)) => Completion::Done { counted: true },
            Answered::Failure(FailureKind::Status(503)) if visit.attempt < 3 => retry(self, 30_000),
            Answered::Failure(FailureKind::Timeout | FailureKind::Connect) if visit.attempt < 1 => {
                retry(self, 15_000)
            }
            Answered::Failure(_) => {
                self.told.failed += 1;
                Completion::Done { counted: false }
            }
        };
        if matches!(completion, Completion::Done { .. }) {
            self.finish_page(&visit);
        }
        self.store(token, dispatch.ticket, visit, completion);
    }

    fn finish_page(&mut self, visit: &Visit) {
        let (host, page) = place_of(visit.scheduled_url());
        let job = visit.job.0 as usize - 1;
        let done = &mut self.witnesses[host as usize].done[job];
        assert_eq!(*done >> page & 1, 0, "seed {}: {visit:?} completed twice", self.plan.seed);
        *done |= 1 << page;
        self.told.completed += 1;
    }

    fn is_done(&self, job: JobId, host: u32, page: u32) -> bool {
        self.witnesses[host as usize].done[job.0 as usize - 1] >> page & 1 == 1
    }

    fn store(&mut self, token: Token, ticket: Ticket, visit: Visit, completion: Completion) {
        self.stored.insert(token, (ticket, visit, completion));
        let takes = self.chance() % 300;
        self.events.push(Reverse((self.now + takes, Event::Stored(token))));
    }

    /// The catalogue has it: links are offered, then the visit ends.
    fn end(&mut self, token: Token) {
        let Some((_, visit, completion)) = self.stored.remove(&token) else { return };
        self.offer_links(&visit, &completion);
        let now = self.millis();
        self.frontier.completed(token, completion, now);
        self.apply();
    }

    /// Pages of a host form a binary tree.
    fn offer_links(&mut self, visit: &Visit, completion: &Completion) {
        if !matches!(completion, Completion::Done { .. }) {
            return;
        }
        let (host, page) = place_of(visit.scheduled_url());
        let children = [2 * page + 1, 2 * page + 2];
        let found: Vec<Found> = children
            .into_iter()
            .filter(|p| *p < self.plan.pages_per_host)
            .map(|p| self.found(host, p))
            .collect();
        if !found.is_empty() {
            self.discover(visit.job, visit.depth + 1, Some(visit.scheduled_url().clone()), found);
        }
    }

    /// kill -9: memory is gone, with it what was in flight. What the catalogue had and the frontier had not is completed
    /// from its records.
    fn crash(&mut self) {
        self.told.crashes += 1;
        let _lost = self.frontier.take_changes();
        self.flights.clear();
        self.held.clear();
        for witness in &mut self.witnesses {
            witness.streak = (0, 0);
            if witness.in_flight > 0 {
                // The request was sent; its response was lost.
                witness.in_flight = 0;
                witness.last_end = self.now;
            }
        }
        self.now += 2_000;
        self.frontier = new_frontier(&self.plan, &self.suffixes, &self.key, &self.rules, self.now);
        let spec = JobSpec { new_urls_per_source: unlimited(), ..JobSpec::default() };
        let opens = [1, 2].map(|job| (JobId(job), JobLimits::of(&spec, AGENT)));
        let now = self.millis();
        self.frontier.restore(&self.state, &HashMap::from(opens), LastStop::Unclean, now).unwrap();
        self.recount_priorities();
        for (_, (ticket, visit, completion)) in std::mem::take(&mut self.stored) {
            self.told.recovered += 1;
            self.offer_links(&visit, &completion);
            let now = self.millis();
            self.frontier.complete_recovered(ticket, &visit, completion, now);
        }
        self.apply();
        self.recount_priorities();
    }

    /// What the disk has queued on watched hosts, after a crash.
    fn recount_priorities(&mut self) {
        self.apply();
        self.queued.clear();
        for (at, entries) in self.state.queues() {
            let is_watched = |value: &[u8]| {
                let visit = argiope_frontier::codec::decode_visit(at.job, 0, value).unwrap();
                place_of(&visit.url).0 < self.plan.watched_hosts
            };
            if !entries.values().next().is_some_and(|value| is_watched(value)) {
                continue;
            }
            for (order, value) in entries {
                let priority = order.rank.saturating_sub(1);
                let visit = argiope_frontier::codec::decode_visit(at.job, priority, value).unwrap();
                let (host, _) = place_of(&visit.url);
                if host < self.plan.watched_hosts && visit.hops.is_empty() && visit.attempt == 0 {
                    *self.queued.entry((at.job.0, host)).or_default().entry(priority).or_default() += 1;
                }
            }
        }
    }

    fn judge_the_end(&mut self) {
        let seed = self.plan.seed;
        self.told.days = (self.now - START) as f64 / 86_400_000.0;
        assert!(self.flights.is_empty() && self.stored.is_empty(), "seed {seed}: something hangs");
        for job in [1, 2] {
            let progress = self.frontier.progress(JobId(job)).unwrap();
            assert!(progress.is_finished(), "seed {seed}: job {job} {progress:?} {:?}", self.told);
            let done: u64 =
                self.witnesses.iter().map(|w| u64::from(w.done[job as usize - 1].count_ones())).sum();
            assert_eq!(
                done,
                self.expected[job as usize - 1],
                "seed {seed}: job {job} lost URLs: {:?}",
                self.told
            );
        }
    }
}

fn new_frontier(
    plan: &Plan,
    suffixes: &Arc<PublicSuffixes>,
    key: &FingerprintKey,
    rules: &Arc<PolitenessRules>,
    now: u64,
) -> Frontier {
    let config = FrontierConfig {
        concurrency: plan.concurrency,
        window: 8,
        windows_in_all: 200_000,
        ..FrontierConfig::default()
    };
    Frontier::new(config, Arc::clone(suffixes), key.clone(), Arc::clone(rules), Millis(now))
}

fn unlimited() -> argiope_model::NewUrlRate {
    argiope_model::NewUrlRate { per_second: 1_000_000, burst: 1_000_000 }
}

fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn crawl_delay(plan: &Plan, host: u32) -> u64 {
    // Squared, so that most hosts are quick and a few take weeks.
    let unit = (mix(u64::from(host)) % 1000) as f64 / 1000.0;
    (unit * unit * plan.longest_delay as f64) as u64
}

fn priority_of(host: u32, page: u32) -> u8 {
    // 0 and 1 have the same place in a queue.
    (mix(u64::from(host) * 31 + u64::from(page)) % 90) as u8 + 1
}

/// `http://h12.test/p3` is page 3 of host 12; robots.txt is none.
fn url_of(host: u32, page: u32) -> Url {
    let mut text = String::with_capacity(32);
    text.push_str("http://h");
    push_number(&mut text, host);
    text.push_str(".test/p");
    push_number(&mut text, page);
    Url::from_stored(&text).unwrap()
}

fn push_number(text: &mut String, number: u32) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

fn place_of(url: &Url) -> (u32, u32) {
    (number_in(url.host()), number_in(url.path()))
}

/// The number after the first letter: `h12.test` is 12, `/p3` is 3, `/robots.txt` is 0.
fn number_in(text: &str) -> u32 {
    let digits = text.bytes().skip_while(|b| !b.is_ascii_digit()).take_while(u8::is_ascii_digit);
    digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}
