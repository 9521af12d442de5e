//! The fleet: workers with a frontier each, what happens to them, and who watches.

mod database;
mod web;
mod worker;

use argiope_frontier::{Discovery, HostIndex, QueueCounts, Token, message::Message};
use argiope_model::{FingerprintKey, JobId, Millis, PublicSuffixes, Visit, shard_of};
use argiope_politeness::{HumanDuration, PolitenessRules, PolitenessSettings};
use database::Database;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;
use web::{Web, Witness};
use worker::Worker;

const START: u64 = 1_800_000_000_000;
pub(crate) const SHARDS: u16 = 16;
pub(crate) const FIRST: JobId = JobId(1);
pub(crate) const SECOND: JobId = JobId(2);
/// After the last trouble shards have so long to find their places.
const SETTLING: u64 = 240_000;
/// Whatever runs for longer hangs.
const LONGEST: u64 = 4 * 3_600_000;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) hosts: u32,
    pub(crate) pages: u32,
    pub(crate) workers: u32,
    pub(crate) joins: u32,
    pub(crate) leaves: u32,
    pub(crate) crashes: u32,
    pub(crate) pauses: u32,
    pub(crate) cut_offs: u32,
    /// The database is away for all, mostly for longer than a lease.
    pub(crate) outages: u32,
    /// All stop at once, as machines do that are suspended, for longer than a lease.
    pub(crate) suspensions: u32,
    /// Shards that are handed over are not always waited for.
    pub(crate) hasty: bool,
    /// Of the first job, over all workers.
    pub(crate) max_pages: Option<u64>,
    /// Messages are durable before the transaction they belong to, and even if that fails.
    pub(crate) sent_ahead: bool,
    /// What is applied is durable so many milliseconds later at most, and what does not come through is not missed at once.
    /// Without it, at once.
    pub(crate) slow_writes: Option<u64>,
    /// A shard that was taken from the dead is not read at once: it may go again before anything of its log is applied.
    pub(crate) slow_reads: bool,
    /// The least delay of every host, in milliseconds.
    pub(crate) delay: u64,
    /// From the beginning, in milliseconds: when there is most to spoil.
    pub(crate) trouble_for: u64,
}

impl Plan {
    /// A worker joins, and that is all.
    pub(crate) fn calm(seed: u64) -> Plan {
        Plan {
            seed,
            hosts: 24,
            pages: 12,
            workers: 2,
            joins: 1,
            leaves: 0,
            crashes: 0,
            pauses: 0,
            cut_offs: 0,
            outages: 0,
            suspensions: 0,
            hasty: false,
            max_pages: None,
            sent_ahead: false,
            slow_writes: None,
            slow_reads: false,
            delay: 1_000,
            trouble_for: 120_000,
        }
    }

    pub(crate) fn troubled(seed: u64) -> Plan {
        let chance = web::mix(seed);
        let upto = |most: u64, at: u32| (chance >> (8 * at) & 0xff) as u32 % (most as u32 + 1);
        Plan {
            workers: 1 + upto(3, 0),
            joins: 1 + upto(3, 1),
            leaves: upto(2, 2),
            crashes: upto(3, 3),
            pauses: upto(4, 4),
            cut_offs: upto(2, 5),
            outages: upto(2, 6),
            suspensions: upto(1, 7),
            hasty: true,
            ..Plan::calm(seed)
        }
    }
}

/// What happened, for the assertions of the tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    pub(crate) requests: u64,
    pub(crate) pages: u64,
    pub(crate) fetched_again: u64,
    /// Requests that had been made before: the same try of the same visit.
    pub(crate) asked_again: u64,
    /// Requests that the database does not know to have ended when a worker died or lost a shard: as many may be
    /// repeated.
    pub(crate) at_risk: u64,
    pub(crate) outages: u64,
    pub(crate) redirects: u64,
    pub(crate) robots_in_other_shards: u64,
    pub(crate) messages: u64,
    pub(crate) sent_in_vain: u64,
    pub(crate) handovers: u64,
    /// Takeovers of shards that were not handed over.
    pub(crate) unclean: u64,
    /// Takeovers of shards that were handed over by one that had them from the dead.
    pub(crate) clean_after_kill: u64,
    /// Shards that a worker found out it had lost, by the database and by its own clock.
    pub(crate) lost: u64,
    pub(crate) lapsed: u64,
    pub(crate) joins: u64,
    pub(crate) leaves: u64,
    pub(crate) crashes: u64,
    pub(crate) pauses: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// To a worker.
    Tick,
    Renewed {
        sent_at: u64,
        shards: Vec<(u16, u64)>,
    },
    Answer(Token),
    Stored(Token),
    Ended(Token),
    Resolved(HostIndex),
    Wake,
    /// What was applied is committed.
    Write,
    /// There is something new in a log.
    Doorbell,
    /// To the fleet.
    Join,
    Leave,
    Crash,
    Pause,
    CutOff,
    Outage,
    Suspend,
    SecondJob,
    Check,
}

/// What all share that is not a database.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now: u64,
    pub(crate) web: Web,
    pub(crate) database: Database,
    pub(crate) witnesses: BTreeMap<u32, Witness>,
    pub(crate) last_request: u64,
    /// Until then the database does not respond.
    pub(crate) away_until: u64,
    /// Every attempt of every visit that was ever requested.
    asked: BTreeSet<(u32, String, u8, usize)>,
    pub(crate) told: Told,
    pub(crate) key: FingerprintKey,
    pub(crate) suffixes: Arc<PublicSuffixes>,
    pub(crate) rules: Arc<PolitenessRules>,
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    order: u64,
    random: u64,
    calm_from: u64,
    /// Workers that notify each other.
    count: usize,
}

impl World {
    pub(crate) fn chance(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        web::mix(self.random) % below
    }

    pub(crate) fn millis(&self) -> Millis {
        Millis(self.now)
    }

    pub(crate) fn push(&mut self, worker: usize, at: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at.max(self.now), self.order, worker, event)));
    }

    pub(crate) fn soon(&mut self, worker: usize, within: u64, event: Event) {
        let at = self.now + self.chance(within);
        self.push(worker, at, event);
    }

    /// Some hear of it sooner, some later, some not before they look by themselves.
    pub(crate) fn ring_all(&mut self) {
        for worker in 0..self.count {
            if self.chance(4) > 0 {
                self.soon(worker, 500, Event::Doorbell);
            }
        }
    }

    pub(crate) fn begin_request(&mut self, by: &str, host: u32, is_page: bool) {
        let seed = self.plan.seed;
        let least = self.plan.delay;
        let delay = if is_page { self.web.crawl_delay(host).max(least) } else { least };
        let now = self.now;
        let witness = self.witnesses.entry(host).or_default();
        if let Some(other) = &witness.asked_by {
            panic!("seed {seed}: host {host} is asked by {by} and {other} at once");
        }
        assert!(
            witness.last_end == 0 || now >= witness.last_end + delay,
            "seed {seed}: host {host} is asked by {by} {} ms after its last answer, not {delay} ms",
            now - witness.last_end
        );
        witness.asked_by = Some(by.to_owned());
        self.told.requests += 1;
        self.last_request = now;
    }

    /// An attempt of a visit is in flight: returns whether it is the first time.
    pub(crate) fn note_visit(&mut self, visit: &Visit) {
        let key = (visit.job.0, visit.scheduled_url().to_string(), visit.attempt, visit.hops.len());
        self.told.asked_again += u64::from(!self.asked.insert(key));
    }

    pub(crate) fn end_request(&mut self, host: u32) {
        let witness = self.witnesses.entry(host).or_default();
        witness.asked_by = None;
        witness.last_end = self.now;
    }
}

pub(crate) struct Fleet {
    world: World,
    workers: Vec<Option<Worker>>,
}

impl Fleet {
    pub(crate) fn run(plan: Plan) -> Told {
        let mut fleet = Fleet::new(plan);
        fleet.begin();
        while let Some(Reverse((at, _, worker, event))) = fleet.world.events.pop() {
            fleet.world.now = fleet.world.now.max(at);
            if fleet.happen(worker, event) {
                break;
            }
        }
        fleet.judge()
    }

    fn new(plan: Plan) -> Fleet {
        let default_delay = HumanDuration(Duration::from_millis(plan.delay));
        let settings = PolitenessSettings { default_delay, ..PolitenessSettings::default() };
        let rules = PolitenessRules::compile(&settings).unwrap();
        let world = World {
            now: START,
            web: Web { seed: plan.seed, hosts: plan.hosts, pages: plan.pages },
            database: Database::new(plan.seed, SHARDS, plan.max_pages, plan.sent_ahead),
            witnesses: BTreeMap::new(),
            last_request: START,
            away_until: START,
            asked: BTreeSet::new(),
            told: Told::default(),
            key: FingerprintKey::new([4; 16]),
            suffixes: Arc::new(PublicSuffixes::bundled()),
            rules: Arc::new(rules),
            events: BinaryHeap::new(),
            order: 0,
            random: web::mix(plan.seed) << 16,
            calm_from: START,
            count: 0,
            plan,
        };
        Fleet { world, workers: Vec::new() }
    }

    fn begin(&mut self) {
        self.submit(FIRST);
        for _ in 0..self.world.plan.workers {
            self.join();
        }
        let Plan { joins, leaves, crashes, pauses, cut_offs, outages, suspensions, .. } = self.world.plan;
        self.trouble(joins, &Event::Join);
        self.trouble(leaves, &Event::Leave);
        self.trouble(crashes, &Event::Crash);
        self.trouble(pauses, &Event::Pause);
        self.trouble(cut_offs, &Event::CutOff);
        self.trouble(outages, &Event::Outage);
        self.trouble(suspensions, &Event::Suspend);
        self.trouble(1, &Event::SecondJob);
        self.world.push(usize::MAX, START, Event::Check);
    }

    /// So many times while there is trouble.
    fn trouble(&mut self, times: u32, event: &Event) {
        for _ in 0..times {
            let within = self.world.plan.trouble_for;
            let at = START + 2_000 + self.world.chance(within);
            self.world.calm_from = self.world.calm_from.max(at);
            self.world.push(usize::MAX, at, event.clone());
        }
    }

    /// Seeds are messages like any other.
    fn submit(&mut self, job: JobId) {
        let World { web, key, suffixes, database, .. } = &mut self.world;
        database.jobs.insert(job.0);
        let seed = web.found(key, 0, 0);
        let to = shard_of(suffixes.root_domain(seed.url.host()), SHARDS);
        let message = Message::Found(Discovery {
            job,
            round: 0,
            depth: 0,
            source: None,
            found: vec![seed],
            not_before: None,
        });
        database.append(to, &message.encode());
        self.world.ring_all();
    }

    fn join(&mut self) {
        let index = self.workers.len();
        let worker = Worker::new(&self.world, index);
        self.world.database.join(&worker.name, self.world.now);
        self.workers.push(Some(worker));
        self.world.count = self.workers.len();
        self.world.soon(index, 1_000, Event::Tick);
    }

    /// A worker that lives, if another one stays.
    fn choose(&mut self, leave_one: bool) -> Option<usize> {
        let living: Vec<usize> = (0..self.workers.len()).filter(|at| self.workers[*at].is_some()).collect();
        if living.len() < 1 + usize::from(leave_one) {
            return None;
        }
        Some(living[self.world.chance(living.len() as u64) as usize])
    }

    /// True once all is over.
    fn happen(&mut self, worker: usize, event: Event) -> bool {
        match event {
            Event::Join => {
                self.world.told.joins += 1;
                self.join();
            }
            Event::Leave => {
                if self.workers.iter().flatten().filter(|worker| worker.stays()).count() > 1
                    && let Some(at) = self.choose(true)
                    && let Some(worker) = self.workers[at].as_mut().filter(|worker| worker.stays())
                {
                    worker.draining = true;
                    self.world.database.drain(&worker.name);
                    self.world.told.leaves += 1;
                }
            }
            Event::Crash => {
                let others_stay = |at: usize, workers: &[Option<Worker>]| {
                    workers.iter().enumerate().any(|(n, w)| n != at && w.as_ref().is_some_and(Worker::stays))
                };
                let at_once = self.world.chance(2) == 0;
                if let Some(at) = self.choose(true)
                    && others_stay(at, &self.workers)
                    && let Some(worker) = &mut self.workers[at]
                {
                    self.world.told.crashes += 1;
                    worker.doomed = true;
                    if at_once {
                        worker.die(&mut self.world);
                        self.workers[at] = None;
                    }
                }
            }
            Event::Pause => {
                let until = self.world.now + 1_000 + self.world.chance(45_000);
                if let Some(at) = self.choose(false)
                    && let Some(worker) = &mut self.workers[at]
                {
                    worker.paused_until = worker.paused_until.max(until);
                    self.world.calm_from = self.world.calm_from.max(until);
                    self.world.told.pauses += 1;
                }
            }
            Event::CutOff => {
                let until = self.world.now + 1_000 + self.world.chance(30_000);
                if let Some(at) = self.choose(false)
                    && let Some(worker) = &mut self.workers[at]
                {
                    worker.cut_off_until = worker.cut_off_until.max(until);
                    self.world.calm_from = self.world.calm_from.max(until);
                }
            }
            Event::Outage => {
                let until = self.world.now + 5_000 + self.world.chance(90_000);
                self.world.away_until = self.world.away_until.max(until);
                self.world.calm_from = self.world.calm_from.max(until);
                self.world.told.outages += 1;
            }
            Event::Suspend => {
                let until = self.world.now + 16_000 + self.world.chance(60_000);
                self.world.calm_from = self.world.calm_from.max(until);
                for worker in self.workers.iter_mut().flatten() {
                    worker.paused_until = worker.paused_until.max(until);
                }
            }
            Event::SecondJob => self.submit(SECOND),
            Event::Check => {
                if self.is_over() {
                    return true;
                }
                let at = self.world.now + 10_000;
                self.world.push(usize::MAX, at, Event::Check);
            }
            event => self.tell(worker, event),
        }
        false
    }

    fn tell(&mut self, at: usize, event: Event) {
        let Some(Some(worker)) = self.workers.get_mut(at) else { return };
        worker.take(&mut self.world, event);
        let gone = worker.has_left || worker.is_dead;
        let believes = worker.requests_of.drain(..).collect::<Vec<u16>>();
        let name = worker.name.clone();
        for shard in believes {
            let now = self.world.millis();
            for other in self.workers.iter().flatten().filter(|other| other.name != name) {
                assert!(
                    !other.leases.holds(shard, now),
                    "seed {}: {name} and {} both believe to own shard {shard}",
                    self.world.plan.seed,
                    other.name
                );
            }
        }
        if gone {
            self.workers[at] = None;
        }
    }

    fn is_over(&mut self) -> bool {
        let World { now, last_request, calm_from, ref plan, ref database, .. } = self.world;
        let seed = plan.seed;
        assert!(now < START + LONGEST, "seed {seed}: it does not end: {:?}", database.progress());
        if now < calm_from + SETTLING || self.workers.iter().flatten().any(|worker| worker.is_busy()) {
            return false;
        }
        let (counts, applied) = database.progress();
        let spent = plan.max_pages.is_some() && database.pool() == 0 && now > last_request + 600_000;
        let is_over = |(job, counts): (&u32, &QueueCounts)| {
            counts.queued + counts.delayed == 0 || spent && *job == FIRST.0
        };
        applied && counts.iter().all(is_over)
    }

    fn judge(mut self) -> Told {
        let World { ref plan, ref database, ref web, now, .. } = self.world;
        let seed = plan.seed;
        let (counts, _) = database.progress();
        let expected = u64::from(plan.hosts) * u64::from(plan.pages);
        let limited = |job: JobId| job == FIRST && plan.max_pages.is_some();
        for job in [FIRST, SECOND] {
            let rows = database.catalogue.keys().filter(|(of, _)| *of == job.0).count() as u64;
            let done = counts[&job.0].done;
            assert!(rows <= expected && done <= rows, "seed {seed}: job {job}: {done} of {rows} rows");
            if !limited(job) {
                let missing = (0..web.hosts)
                    .flat_map(|host| (0..web.pages).map(move |page| Web::url(host, page)))
                    .find(|url| !database.catalogue.contains_key(&(job.0, url.to_string())));
                assert_eq!(missing, None, "seed {seed}: job {job} lost a URL");
                assert_eq!(done, expected, "seed {seed}: job {job}: something ended twice");
            }
        }
        if let Some(max) = plan.max_pages {
            let pages = database.pages(FIRST.0);
            assert!(pages <= max, "seed {seed}: {pages} pages of {max}");
        }
        let spread = database.spread(now);
        let share = usize::from(SHARDS) / spread.len();
        assert!(spread.values().all(|has| *has == share || *has == share + 1), "seed {seed}: {spread:?}");
        let told = &mut self.world.told;
        told.seed = seed;
        told.seconds = (now - START) / 1000;
        told.pages = database.pages(FIRST.0);
        told.messages = database.messages;
        told.sent_in_vain = database.sent_in_vain;
        told.fetched_again = database.stored_again;
        self.world.told
    }
}
