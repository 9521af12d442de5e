//! `worker`: one member of a cluster. It works on whatever jobs there are until it is told to stop; then its shards are
//! stored and others go on with them.

use crate::bucket::{Bucket, Uploads, WorkerArchive};
use crate::cli::{GlobalOptions, WorkerArgs};
use crate::cluster::{ClusterPlace, database_failure, kafka_failure};
use crate::commands::crawl::{engine_config, failure_of, now};
use crate::data::{self, WorkerDirectory};
use crate::exit::Failure;
use crate::health::domains::Counts;
use crate::health::figures::Figures as Exposed;
use crate::health::{Dependency, HealthServer, State, Vitals};
use crate::heartbeat::{Heartbeat, Own};
use crate::progress::Display;
use crate::progress::numbers::{bytes, count, counted};
use crate::settings::{
    LoadedConfig, ProcessSettings, addresses_of, load_config, merge_job, reload_politeness,
};
use crate::signals::{Signal, Signals};
use argiope_cluster::autoscale::{Bounds, Load, workers_desired};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::members::{Epochs, Figures, MemberOptions, Members, Post, Tell};
use argiope_cluster::objects::UploadStatus;
use argiope_cluster::publishing::Publisher;
use argiope_cluster::redis::{Doorbell, Heard, Redis, RobotsCache};
use argiope_cluster::state::PostgresState;
use argiope_cluster::transport::Carrier;
use argiope_engine::{Engine, EngineConfig, EngineError, EngineHandle, Paused, Ports, Snapshot, Stop};
use argiope_frontier::member::News;
use argiope_frontier::ownership;
use argiope_model::{JobSpec, SkipReason};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const FIGURES_EVERY: Duration = Duration::from_secs(1);
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Before a worker that was declared dead joins again.
const REJOIN_PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn run(global: &GlobalOptions, args: &WorkerArgs, display: &Display) -> Result<(), Failure> {
    let config = load_config(global)?;
    let place = ClusterPlace::open(&config.file)?;
    let worker = Worker::new(global, args, &config, place)?;
    let signals =
        Signals::listen().map_err(|e| Failure::failed(format!("cannot listen for signals: {e}")))?;
    display.message(&format!("worker {} joins {}", worker.name, worker.place.database.place()));
    loop {
        match worker.work(&signals, display)? {
            End::Left => {
                display.message("all is stored, the shards are free for others");
                return Ok(());
            }
            End::Dead => {
                display.message("it was silent for so long that others have its shards; it joins again");
                std::thread::sleep(REJOIN_PAUSE);
            }
        }
    }
}

enum End {
    Left,
    Dead,
}

struct Worker {
    name: String,
    place: ClusterPlace,
    bucket: Option<Bucket>,
    directory: WorkerDirectory,
    engine: EngineConfig,
    config_path: Option<std::path::PathBuf>,
    listen: Option<SocketAddr>,
    bounds: Bounds,
    redis: Option<Redis>,
}

/// News that come before there is an engine wait for it; so does whether the doorbell is heard, for those it is rung for.
#[derive(Default)]
struct Ears {
    heard: Mutex<(Option<EngineHandle>, Vec<News>)>,
    members: Mutex<(Weak<Members>, bool)>,
}

impl Ears {
    fn tell(&self, news: Vec<News>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match &heard.0 {
            Some(engine) => engine.tell(news),
            None => heard.1.extend(news),
        }
    }

    fn follow(&self, members: &Arc<Members>) {
        let mut following = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        following.0 = Arc::downgrade(members);
        // The doorbell may have been heard before there was anybody to tell.
        if following.1 {
            members.heard(&Heard::Back);
        }
    }

    fn rung(&self, heard: &Heard) {
        let mut following = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        following.1 = !matches!(heard, Heard::Away);
        if let Some(members) = following.0.upgrade() {
            members.heard(heard);
        }
    }

    fn listen(&self, engine: &EngineHandle) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        engine.tell(std::mem::take(&mut heard.1));
        heard.0 = Some(engine.clone());
    }
}

impl Worker {
    fn new(
        global: &GlobalOptions,
        args: &WorkerArgs,
        config: &LoadedConfig,
        place: ClusterPlace,
    ) -> Result<Worker, Failure> {
        let name = args.name.as_deref().map(checked_name).transpose()?;
        let mut process = ProcessSettings::new(global, config)?;
        process.concurrency = config.file.workers.concurrency_per_pod;
        let defaults = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
        let allow_private = args.allow_private || defaults.allow_private;
        let addresses = addresses_of(&config.file, allow_private)?;
        let redis = place.redis(&config.file)?;
        place.carrier.verify().map_err(|e| kafka_failure(&e))?;
        let bucket = Bucket::open(&config.file)?;
        let directory = WorkerDirectory::open(&global.data, &place.cluster.id, name, own_name)?;
        let engine = engine_config(&process, &addresses, &place.fixed);
        Ok(Worker {
            name: directory.worker.clone(),
            place,
            bucket,
            directory,
            engine,
            config_path: config.path.clone(),
            listen: args.listen,
            redis,
            bounds: Bounds {
                least: config.file.workers.pod_count_min,
                most: config.file.workers.pod_count_max,
            },
        })
    }

    /// Until it is stopped or declared dead.
    fn work(&self, signals: &Signals, display: &Display) -> Result<End, Failure> {
        let owner = format!("{}#{:x}", self.name, unique());
        let database = &self.place.database;
        let epochs = Arc::new(Epochs::default());
        let ears = Arc::new(Ears::default());
        let doorbell = self.doorbell(&ears)?;
        let carrier = &self.place.carrier;
        let post = Post::new(carrier, &self.name, "the writer of the frontier");
        let post = post.map_err(|e| kafka_failure(&e))?;
        let store = |e| data::store_failure(&e);
        let archive = WorkerArchive::open(&self.directory, self.bucket.as_ref(), database)?;
        let uploads = archive.uploads();
        let ports = Ports {
            state: Box::new(
                PostgresState::open(database, &self.name, Arc::clone(&epochs), post, doorbell.clone())
                    .map_err(|e| database_failure(&e))?
                    .with_robots_cache(self.robots_cache()?),
            ),
            catalogue: Box::new(
                PostgresCatalogue::open_for_worker(database, &self.name, &owner).map_err(store)?,
            ),
            archive: Some(archive.port()),
            links: Box::new(self.directory.links()?),
        };
        let heard = Arc::clone(&ears);
        let tell: Tell = Arc::new(move |news| heard.tell(news));
        let options = MemberOptions {
            worker: self.name.clone(),
            owner: owner.clone(),
            lease: ownership::LEASE,
            renew_every: ownership::RENEW_EVERY,
            doorbell,
            carrier: carrier.clone(),
        };
        let (members, membership) =
            Members::join(database, options, epochs, tell).map_err(|e| database_failure(&e))?;
        let publisher = Publisher::start(database, carrier, Arc::clone(&self.place.fixed.suffixes), &owner);
        let publisher = publisher.map_err(|e| kafka_failure(&e))?;
        let config = EngineConfig { name: owner, ..self.engine.clone() };
        let engine = Engine::join_cluster(config, ports, membership).map_err(|e| failure_of(&e))?;
        ears.listen(engine.handle());
        let members = Arc::new(members);
        ears.follow(&members);
        let health =
            self.listen.map(|address| self.health(address, &engine, &members, &uploads)).transpose()?;
        let heartbeat = self.heartbeat(&engine, &members)?;
        let stopped = self.watch(&engine, &members, &uploads, signals, display);
        let ended = engine.join();
        // While it still leads: what it has stored last is published before it goes.
        drop((publisher, heartbeat));
        match ended {
            Ok(_) if stopped => {
                members.leave();
                finish_uploads(&uploads, signals, display);
                drop(health);
                Ok(End::Left)
            }
            Ok(_) | Err(EngineError::Fenced(_)) => Ok(End::Dead),
            Err(error) => Err(failure_of(&error)),
        }
    }

    /// True if a person or the system stopped it.
    fn watch(
        &self,
        engine: &Engine,
        members: &Members,
        uploads: &Uploads,
        signals: &Signals,
        display: &Display,
    ) -> bool {
        let mut stops = 0;
        let mut next_figures = Instant::now();
        let mut next_line = Instant::now() + LINE_EVERY;
        while !engine.has_ended() {
            match signals.wait(LOOK_EVERY) {
                Some(Signal::Stop) => {
                    stops += 1;
                    if stops > 1 {
                        std::process::exit(130);
                    }
                    display.message("stopping: requests under way may end, then the shards go to others; once more stops at once");
                    members.say_leaving();
                    engine.handle().stop(Stop::Clean);
                }
                Some(Signal::Reload) => self.reload(engine, display),
                None => {}
            }
            if members.is_dead() {
                engine.handle().stop(Stop::Now);
            }
            let at = Instant::now();
            if at >= next_figures {
                next_figures = at + FIGURES_EVERY;
                let note =
                    self.place.carrier.trouble().or_else(|| uploads.trouble()).or_else(|| note(members));
                members.set_figures(Figures { note, ..figures(&engine.handle().snapshot()) });
            }
            if at >= next_line {
                next_line = at + LINE_EVERY;
                display.message(&line(&engine.handle().snapshot(), members.owned()));
            }
        }
        stops > 0
    }

    fn doorbell(&self, ears: &Arc<Ears>) -> Result<Option<Arc<Doorbell>>, Failure> {
        let Some(redis) = &self.redis else { return Ok(None) };
        let ears = Arc::clone(ears);
        let doorbell = Doorbell::start(redis, Box::new(move |heard| ears.rung(&heard)))
            .map_err(|e| Failure::failed(format!("no thread can be started: {e}")))?;
        Ok(Some(Arc::new(doorbell)))
    }

    fn robots_cache(&self) -> Result<Option<RobotsCache>, Failure> {
        let Some(redis) = &self.redis else { return Ok(None) };
        let cache = RobotsCache::start(redis.apart())
            .map_err(|e| Failure::failed(format!("no thread can be started: {e}")))?;
        Ok(Some(cache))
    }

    fn heartbeat(&self, engine: &Engine, members: &Arc<Members>) -> Result<Option<Heartbeat>, Failure> {
        let Some(redis) = self.redis.clone() else { return Ok(None) };
        let (handle, members) = (engine.handle().clone(), Arc::clone(members));
        let own = move || own_figures(&handle.snapshot(), &members);
        let heartbeat = Heartbeat::start(redis, self.name.clone(), now, own)
            .map_err(|e| Failure::failed(format!("no thread can be started: {e}")))?;
        Ok(Some(heartbeat))
    }

    fn health(
        &self,
        address: SocketAddr,
        engine: &Engine,
        members: &Arc<Members>,
        uploads: &Uploads,
    ) -> Result<HealthServer, Failure> {
        let (handle, members, bounds) = (engine.handle().clone(), Arc::clone(members), self.bounds);
        let shards = u32::from(self.place.fixed.shards);
        let (carrier, uploads) = (self.place.carrier.clone(), uploads.clone());
        let tell = move || {
            let mut vitals = vitals(&handle.snapshot(), &members, bounds, shards);
            vitals.dependencies.extend(kafka(&carrier));
            with_uploads(vitals, uploads.status())
        };
        HealthServer::start(address, tell).map_err(|e| {
            Failure::failed(format!("cannot listen on {address}: {e}")).hint("--listen names another")
        })
    }

    fn reload(&self, engine: &Engine, display: &Display) {
        let Some(path) = &self.config_path else { return };
        match reload_politeness(path) {
            Ok(rules) => {
                engine.handle().set_politeness(Arc::new(rules));
                display.message(&format!("{} is reloaded", path.display()));
            }
            Err(failure) => {
                display.message(&format!(
                    "not reloaded, the old settings hold: {}",
                    failure.messages.join("; ")
                ));
            }
        }
    }
}

/// What an operator should know of a worker that works all the same.
fn note(members: &Members) -> Option<String> {
    (members.doorbell_answers() == Some(false))
        .then(|| String::from("redis does not answer: links are looked for by the clock"))
}

fn vitals(snapshot: &Snapshot, members: &Members, bounds: Bounds, shards: u32) -> Vitals {
    let totals = &snapshot.totals;
    let up = members.database_answers();
    let (load, own) = (members.load(), figures(snapshot));
    let load =
        Load { queued: load.queued, pages_per_second: load.pages_per_second, workers: load.workers, shards };
    let skipped: u64 = totals.skipped.values().sum();
    let counts =
        Counts { success: totals.pages.saturating_sub(totals.failed), failed: totals.failed, skipped };
    Vitals {
        state: match (&snapshot.paused, up, members.owned()) {
            (Some(Paused::Stopping), _, _) => State::Draining,
            (_, true, 1..) => State::Member,
            _ => State::Joining,
        },
        dependencies: dependencies(members),
        figures: Exposed {
            processed: vec![(None, counts)],
            robots_blocked: totals.skipped.get(&SkipReason::RobotsDisallowed).copied().unwrap_or(0),
            bytes: totals.bytes,
            active_fetches: u64::from(own.active),
            queued: own.queued,
            shards_owned: members.owned() as u64,
            workers_desired: Some(u64::from(workers_desired(&load, bounds))),
            ..Exposed::default()
        },
    }
}

/// The object store is away while files cannot be uploaded.
fn with_uploads(mut vitals: Vitals, uploads: Option<UploadStatus>) -> Vitals {
    if let Some(status) = &uploads {
        let detail = status.trouble.clone();
        vitals.dependencies.push(Dependency { name: "object_store", up: detail.is_none(), detail });
    }
    vitals.figures.uploads = uploads;
    vitals
}

/// A second stop ends it at once: the next start on this disk goes on.
fn finish_uploads(uploads: &Uploads, signals: &Signals, display: &Display) {
    let left = uploads.finish(|| {
        if signals.wait(LOOK_EVERY) == Some(Signal::Stop) {
            std::process::exit(130);
        }
    });
    if let Some(left) = left {
        display.message(&left);
    }
}

fn kafka(carrier: &Carrier) -> Option<Dependency> {
    match carrier {
        Carrier::Inbox => None,
        Carrier::Kafka { .. } => {
            let detail = carrier.trouble();
            Some(Dependency { name: "kafka", up: detail.is_none(), detail })
        }
    }
}

fn own_figures(snapshot: &Snapshot, members: &Members) -> Own {
    Own {
        state: match (&snapshot.paused, members.database_answers(), snapshot.overview.in_flight) {
            (Some(Paused::Stopping), _, _) => "draining",
            (Some(_), _, _) | (_, false, _) => "waiting",
            (None, true, 0) => "idle",
            (None, true, _) => "active",
        },
        shards: u32::try_from(members.owned()).unwrap_or(u32::MAX),
        pages: snapshot.totals.pages,
        failures: snapshot.totals.failed,
        bytes: snapshot.totals.bytes,
    }
}

fn dependencies(members: &Members) -> Vec<Dependency> {
    let postgres = Dependency { name: "postgresql", up: members.database_answers(), detail: None };
    let redis = members.doorbell_answers().map(|up| Dependency { name: "redis", up, detail: note(members) });
    std::iter::once(postgres).chain(redis).collect()
}

fn figures(snapshot: &Snapshot) -> Figures {
    Figures {
        pages: snapshot.totals.pages,
        active: u32::try_from(snapshot.overview.in_flight).unwrap_or(u32::MAX),
        queued: snapshot.jobs.iter().map(|(_, progress)| progress.queued + progress.delayed).sum(),
        hosts: snapshot.overview.hosts as u64,
        note: None,
    }
}

fn line(snapshot: &Snapshot, shards: usize) -> String {
    let figures = figures(snapshot);
    format!(
        "{} of {}, {} failed, {} queued, {} under way, {}",
        counted(figures.pages, "page", "pages"),
        bytes(snapshot.totals.bytes),
        count(snapshot.totals.failed),
        count(figures.queued),
        count(u64::from(figures.active)),
        counted(shards as u64, "shard", "shards"),
    )
}

/// Names go into file names and are shown in tables.
fn checked_name(name: &str) -> Result<String, Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 100 || !name.chars().all(fits) {
        return Err(Failure::usage(format!("'{}' cannot be the name of a worker", name.escape_debug()))
            .hint("letters, digits, '-', '_' and '.', up to 100"));
    }
    Ok(name.to_owned())
}

fn own_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String =
        host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(60).collect();
    let host = if host.is_empty() { String::from("worker") } else { host };
    format!("{host}-{}", std::process::id())
}

fn unique() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now().0)
}
