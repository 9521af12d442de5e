//! `worker`: one member of a cluster. It works on whatever jobs there are until it is told to stop; then its shards are
//! stored and others go on with them.

use crate::cli::{GlobalOptions, WorkerArgs};
use crate::cluster::{ClusterPlace, database_failure};
use crate::commands::crawl::{engine_config, failure_of, now};
use crate::data::{self, WorkerDirectory};
use crate::exit::Failure;
use crate::health::domains::Counts;
use crate::health::figures::Figures as Exposed;
use crate::health::{Dependency, HealthServer, State, Vitals};
use crate::progress::Display;
use crate::progress::numbers::{bytes, count, counted};
use crate::settings::{
    LoadedConfig, ProcessSettings, addresses_of, load_config, merge_job, reload_politeness,
};
use crate::signals::{Signal, Signals};
use argiope_cluster::autoscale::{Bounds, Load, workers_desired};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::members::{Epochs, Figures, MemberOptions, Members, Tell};
use argiope_cluster::redis::{Doorbell, Heard, Redis};
use argiope_cluster::state::PostgresState;
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
    let name = match &args.name {
        Some(name) => checked_name(name)?,
        None => own_name(),
    };
    let worker = Worker::new(global, args, &config, place, name)?;
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
    directory: WorkerDirectory,
    engine: EngineConfig,
    config_path: Option<std::path::PathBuf>,
    listen: Option<SocketAddr>,
    bounds: Bounds,
    redis: Option<Redis>,
}

/// News that come before there is an engine wait for it.
#[derive(Default)]
struct Ears {
    heard: Mutex<(Option<EngineHandle>, Vec<News>)>,
    members: Mutex<Weak<Members>>,
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
        *self.members.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(members);
    }

    fn rung(&self, heard: &Heard) {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(members) = members {
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
        name: String,
    ) -> Result<Worker, Failure> {
        let mut process = ProcessSettings::new(global, config)?;
        process.concurrency = config.file.workers.concurrency_per_pod;
        let defaults = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
        let allow_private = args.allow_private || defaults.allow_private;
        let addresses = addresses_of(&config.file, allow_private)?;
        let redis = place.redis(&config.file)?;
        let directory = WorkerDirectory::open(&global.data, &place.cluster.id)?;
        let engine = engine_config(&process, &addresses, &place.fixed);
        Ok(Worker {
            name,
            place,
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
        let store = |e| data::store_failure(&e);
        let ports = Ports {
            state: Box::new(
                PostgresState::open(database, &self.name, Arc::clone(&epochs), doorbell.clone())
                    .map_err(|e| database_failure(&e))?,
            ),
            catalogue: Box::new(
                PostgresCatalogue::open_for_worker(database, &self.name, &owner).map_err(store)?,
            ),
            archive: Some(Arc::new(self.directory.archive(&self.name)?)),
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
        };
        let (members, membership) =
            Members::join(database, options, epochs, tell).map_err(|e| database_failure(&e))?;
        let config = EngineConfig { name: owner, ..self.engine.clone() };
        let engine = Engine::join_cluster(config, ports, membership).map_err(|e| failure_of(&e))?;
        ears.listen(engine.handle());
        let members = Arc::new(members);
        ears.follow(&members);
        let health = self.listen.map(|address| self.health(address, &engine, &members)).transpose()?;
        let stopped = self.watch(&engine, &members, signals, display);
        let ended = engine.join();
        drop(health);
        match ended {
            Ok(_) if stopped => {
                members.leave();
                Ok(End::Left)
            }
            Ok(_) | Err(EngineError::Fenced(_)) => Ok(End::Dead),
            Err(error) => Err(failure_of(&error)),
        }
    }

    /// True if a person or the system stopped it.
    fn watch(&self, engine: &Engine, members: &Members, signals: &Signals, display: &Display) -> bool {
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
                members.set_figures(figures(&engine.handle().snapshot()));
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

    fn health(
        &self,
        address: SocketAddr,
        engine: &Engine,
        members: &Arc<Members>,
    ) -> Result<HealthServer, Failure> {
        let (handle, members, bounds) = (engine.handle().clone(), Arc::clone(members), self.bounds);
        let shards = u32::from(self.place.fixed.shards);
        HealthServer::start(address, move || vitals(&handle.snapshot(), &members, bounds, shards)).map_err(
            |e| Failure::failed(format!("cannot listen on {address}: {e}")).hint("--listen names another"),
        )
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
        dependencies: vec![Dependency { name: "postgresql", up, detail: None }],
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
