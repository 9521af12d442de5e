//! `worker`: one member of a cluster. It works on whatever jobs there are until it is told to stop; then its shards are
//! stored and others go on with them.

use crate::cli::WorkerArgs;
use crate::progress::Display;
use crate::signals::{Signal, Signals};
use argiope_cluster::autoscale::{Bounds, Load, workers_desired};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::members::{Epochs, EventSink, Figures, MemberOptions, Members, MessageSender, is_up};
use argiope_cluster::objects::UploadStatus;
use argiope_cluster::publishing::Publisher;
use argiope_cluster::receiving::{Addresses, IngestConsumer};
use argiope_cluster::redis::{NotifierEvent, Redis, RobotsCache, ShardNotifier};
use argiope_cluster::state::PostgresState;
use argiope_cluster::transport::Transport;
use argiope_config::{
    DiskLimits, Failure, GlobalOptions, LoadedConfig, ProcessSettings, SeedRules, addresses_of, load_config,
    merge_job, parse_seed,
};
use argiope_engine::{Engine, EngineConfig, EngineError, EngineHandle, Phase, Ports, Status, Stop};
use argiope_fetch::AddressPolicy;
use argiope_frontier::admission::DomainPolicy;
use argiope_frontier::member::MemberEvent;
use argiope_frontier::ownership;
use argiope_model::display::{bytes, count, counted};
use argiope_model::{JobSpec, Millis};
use argiope_server::HealthServer;
use argiope_service::bucket::{Bucket, Uploads, WorkerFiles};
use argiope_service::cluster::{ClusterPlace, database_failure, kafka_failure};
use argiope_service::descriptors::{Keeper, Room};
use argiope_service::directory::{self, Fixed, WorkerDirectory};
use argiope_service::disk_guard::DiskGuard;
use argiope_service::engine_settings::{engine_config, failure_of};
use argiope_service::health::{Dependency, Lifecycle, Vitals, WorkerVitals};
use argiope_service::heartbeat::{Heartbeat, WorkerStatus};
use argiope_service::local_crawl::reload;
use argiope_store::clock::now;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const FIGURES_EVERY: Duration = Duration::from_secs(1);
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Before a worker that was declared dead joins again.
const REJOIN_PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn run(global: &GlobalOptions, args: &WorkerArgs, display: &Display) -> Result<(), Failure> {
    let config = load_config(global)?;
    config.warnings().for_each(|warning| display.message(&warning));
    let place = ClusterPlace::open(&config.file)?;
    let worker = Worker::new(global, args, &config, place, display)?;
    let signals = Signals::listen()?;
    display.message(&format!("worker {} joins {}", worker.name, worker.place.database.place()));
    let mut was_member = false;
    loop {
        match worker.work(&signals, display) {
            Ok(End::Left) => {
                display.message("all is stored, the shards are free for others");
                return Ok(());
            }
            Ok(End::CutOff) => {
                display.message(CUT_OFF);
                return Ok(());
            }
            Ok(End::Dead) => {
                display.message("it was silent for so long that others have its shards; it joins again");
            }
            // The database is away once more: that has not ended it before.
            Err(_) if was_member && !worker.place.database.answers() => {}
            Err(failure) => return Err(failure),
        }
        was_member = true;
        if !worker.wait_for_database(&signals) {
            return Ok(());
        }
    }
}

/// What is left to say when others have the shards, or take them.
const CUT_OFF: &str = "its lease is over: others take the shards, and what is not stored is fetched again";

enum End {
    /// It was stopped, and all is stored.
    Left,
    /// It was stopped when its shards were not its own any more.
    CutOff,
    Dead,
}

struct Worker {
    name: String,
    place: ClusterPlace,
    bucket: Option<Bucket>,
    directory: WorkerDirectory,
    engine: EngineConfig,
    addresses: AddressPolicy,
    config_path: Option<std::path::PathBuf>,
    listen: Option<SocketAddr>,
    bounds: Bounds,
    redis: Option<Redis>,
    started_at: Millis,
    disk: DiskLimits,
}

/// Forwards events to the engine and to the members. Events that arrive before these exist are kept for them.
#[derive(Default)]
struct EventRelay {
    events: Mutex<(Option<EngineHandle>, Vec<MemberEvent>)>,
    members: Mutex<(Weak<Members>, bool)>,
}

impl EventRelay {
    fn forward(&self, events: Vec<MemberEvent>) {
        let mut waiting = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        match &waiting.0 {
            Some(engine) => engine.send_member_events(events),
            None => waiting.1.extend(events),
        }
    }

    fn follow(&self, members: &Arc<Members>) {
        let mut following = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        following.0 = Arc::downgrade(members);
        // The notifier may have connected before the members existed.
        if following.1 {
            members.on_notifier_event(&NotifierEvent::Connected);
        }
    }

    fn on_notifier_event(&self, event: &NotifierEvent) {
        let mut following = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        following.1 = !matches!(event, NotifierEvent::Disconnected);
        if let Some(members) = following.0.upgrade() {
            members.on_notifier_event(event);
        }
    }

    fn connect(&self, engine: &EngineHandle) {
        let mut waiting = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        engine.send_member_events(std::mem::take(&mut waiting.1));
        waiting.0 = Some(engine.clone());
    }
}

impl Worker {
    fn new(
        global: &GlobalOptions,
        args: &WorkerArgs,
        config: &LoadedConfig,
        place: ClusterPlace,
        display: &Display,
    ) -> Result<Worker, Failure> {
        let name = args.name.as_deref().map(checked_name).transpose()?;
        let mut process = ProcessSettings::new(global, config)?;
        process.concurrency = config.file.workers.concurrency_per_pod;
        let defaults = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
        let allow_private = args.allow_private || defaults.allow_private;
        let addresses = addresses_of(&config.file, allow_private)?;
        let redis = place.redis(&config.file)?;
        place.verify_transport()?;
        let bucket = Bucket::open(&config.file)?;
        // Bound when it is a member; what speaks against it is said before.
        let listen = args.listen.or(config.file.server.listen);
        if let Some(address) = listen {
            TcpListener::bind(address).map_err(|e| cannot_listen(address, &e))?;
        }
        let directory = WorkerDirectory::open(&global.data, &place.cluster.id, name, own_name)?;
        let room = Room::new(process.concurrency, Keeper::Cluster)?;
        room.warning().iter().for_each(|warning| display.message(warning));
        let engine = room.fit(engine_config(&process, &addresses, &place.fixed));
        Ok(Worker {
            name: directory.worker.clone(),
            place,
            bucket,
            directory,
            engine,
            addresses,
            config_path: config.path.clone(),
            listen,
            redis,
            started_at: now(),
            disk: process.disk,
            bounds: Bounds {
                least: config.file.workers.pod_count_min,
                most: config.file.workers.pod_count_max,
            },
        })
    }

    /// Waits while a worker of this name is up: one that was killed is so until its lease ends, a second one for longer. False
    /// if this one is stopped meanwhile.
    fn has_name_to_itself(&self, signals: &Signals, display: &Display) -> Result<bool, Failure> {
        let failed = |e| database_failure(&e);
        let mut session = self.place.session()?;
        let until = Instant::now() + ownership::LEASE + 2 * ownership::RENEW_EVERY;
        let mut said = false;
        while is_up(&mut session, &self.name).map_err(failed)? {
            if Instant::now() >= until {
                return Err(Failure::failed(format!("a worker named {} is up already", self.name)).hint(
                    "names belong to disks: give this one another with --name, and a --data of its own",
                ));
            }
            if !std::mem::replace(&mut said, true) {
                display.message(&format!(
                    "a worker named {} was up a moment ago; waiting for its lease to end",
                    self.name
                ));
            }
            if signals.wait(REJOIN_PAUSE) == Some(Signal::Stop) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Until it is stopped or declared dead.
    fn work(&self, signals: &Signals, display: &Display) -> Result<End, Failure> {
        if !self.has_name_to_itself(signals, display)? {
            return Ok(End::Left);
        }
        let owner = format!("{}#{:x}", self.name, unique());
        let database = &self.place.database;
        let epochs = Arc::new(Epochs::default());
        let relay = Arc::new(EventRelay::default());
        let notifier = self.notifier(&relay)?;
        let transport = &self.place.transport;
        let sender = MessageSender::new(transport, &self.name, "the writer of the frontier");
        let sender = sender.map_err(|e| kafka_failure(&e))?;
        let store = |e| directory::store_failure(&e);
        let files = WorkerFiles::open(&self.directory, self.bucket.as_ref(), database, &owner)?;
        let WorkerFiles { archive, links, uploads, marks: _marks } = files;
        let ports = Ports {
            state: Box::new(
                PostgresState::open(database, &self.name, Arc::clone(&epochs), sender, notifier.clone())
                    .map_err(|e| database_failure(&e))?
                    .with_robots_cache(self.robots_cache()?),
            ),
            catalogue: Box::new(
                PostgresCatalogue::open_for_worker(database, &self.name, &owner, Arc::clone(&epochs))
                    .map_err(store)?,
            ),
            archive: Some(archive),
            links,
        };
        let forwarding = Arc::clone(&relay);
        let events: EventSink = Arc::new(move |events| forwarding.forward(events));
        let options = MemberOptions {
            worker: self.name.clone(),
            owner: owner.clone(),
            lease: ownership::LEASE,
            renew_every: ownership::RENEW_EVERY,
            notifier,
            transport: transport.clone(),
        };
        let (members, membership) =
            Members::join(database, options, epochs, events).map_err(|e| database_failure(&e))?;
        let publisher = Publisher::start(database, transport, Arc::clone(&self.place.fixed.suffixes), &owner);
        let publisher = publisher.map_err(|e| kafka_failure(&e))?;
        let receiver = IngestConsumer::start(database, transport, self.addresses()?, &owner);
        let receiver = receiver.map_err(|e| kafka_failure(&e))?;
        let config = EngineConfig { name: owner, ..self.engine.clone() };
        let engine = Engine::join_cluster(config, ports, membership).map_err(|e| failure_of(&e))?;
        let followers = publisher.iter().map(Publisher::follower).chain(uploads.follower());
        followers.for_each(|follower| engine.handle().followers().add(follower));
        relay.connect(engine.handle());
        let members = Arc::new(members);
        relay.follow(&members);
        let health =
            self.listen.map(|address| self.health(address, &engine, &members, &uploads)).transpose()?;
        let heartbeat = self.heartbeat(&engine, &members)?;
        let stopped = self.watch(&engine, &members, &uploads, signals, display);
        let ended = engine.join();
        // While it still leads: what it has stored last is published before it goes.
        drop((receiver, publisher, heartbeat));
        match ended {
            Ok(_) | Err(EngineError::Fenced(_)) if stopped => {
                members.leave();
                let end =
                    if members.is_dead() || members.has_lost_shards() { End::CutOff } else { End::Left };
                finish_uploads(&uploads, signals, display);
                drop(health);
                Ok(end)
            }
            Ok(_) | Err(EngineError::Fenced(_)) => Ok(End::Dead),
            Err(error) => Err(failure_of(&error)),
        }
    }

    /// Before it joins again. False if it is stopped meanwhile.
    fn wait_for_database(&self, signals: &Signals) -> bool {
        while signals.wait(REJOIN_PAUSE) != Some(Signal::Stop) {
            if self.place.database.answers() {
                return true;
            }
        }
        false
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
        engine.when_ended(signals.waker());
        let mut brake = DiskGuard::new(self.disk, &self.directory.path);
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
                    members.announce_leave();
                    engine.handle().stop(Stop::Clean);
                }
                Some(Signal::Reload) => {
                    self.config_path.iter().for_each(|path| display.message(&reload(engine, path)));
                }
                Some(Signal::Wake) | None => {}
            }
            members.check_lease();
            if members.is_dead() {
                engine.handle().stop(Stop::Now);
            } else if stops > 0 && members.is_cut_off() {
                // All threads wait for the database, and what they hold it would not take any more. It is on this disk.
                display.message(CUT_OFF);
                std::process::exit(0);
            }
            brake.keep(engine.handle(), || uploads.waiting_bytes());
            let at = Instant::now();
            if at >= next_figures {
                next_figures = at + FIGURES_EVERY;
                let status = engine.handle().status();
                let held = held(&status).map(|why| format!("nothing new is asked for: {why}"));
                let notes = [held, self.place.transport.problem(), uploads.trouble(), redis_trouble(members)];
                let notes: Vec<String> = notes.into_iter().flatten().collect();
                let note = (!notes.is_empty()).then(|| notes.join("; "));
                members.set_figures(Figures { note, ..figures(&status) });
            }
            if at >= next_line {
                next_line = at + LINE_EVERY;
                display.message(&line(&engine.handle().status(), members.owned()));
            }
        }
        stops > 0
    }

    /// URLs from other programs are read as those of a list are.
    fn addresses(&self) -> Result<Addresses, Failure> {
        let Fixed { shards, fingerprint_key, suffixes } = &self.place.fixed;
        let own = self.addresses.clone();
        let policy = DomainPolicy::compile(&self.engine.politeness).map_err(Failure::usage)?;
        Ok(Addresses {
            suffixes: Arc::clone(suffixes),
            key: fingerprint_key.clone(),
            shards: *shards,
            policy: Arc::new(policy),
            read_url: Box::new(move |spec, text| {
                let addresses = AddressPolicy { allow_private: spec.allow_private, ..own.clone() };
                let rules = SeedRules::of(spec, addresses).map_err(|error| error.to_string())?;
                parse_seed(text, &rules).map_err(|problem| problem.message().to_owned())
            }),
        })
    }

    fn notifier(&self, relay: &Arc<EventRelay>) -> Result<Option<Arc<ShardNotifier>>, Failure> {
        let Some(redis) = &self.redis else { return Ok(None) };
        let relay = Arc::clone(relay);
        let notifier = ShardNotifier::start(redis, Box::new(move |event| relay.on_notifier_event(&event)))
            .map_err(|e| Failure::failed(format!("no thread can be started: {e}")))?;
        Ok(Some(Arc::new(notifier)))
    }

    fn robots_cache(&self) -> Result<Option<RobotsCache>, Failure> {
        let Some(redis) = &self.redis else { return Ok(None) };
        let cache = RobotsCache::start(redis.with_own_connection())
            .map_err(|e| Failure::failed(format!("no thread can be started: {e}")))?;
        Ok(Some(cache))
    }

    fn heartbeat(&self, engine: &Engine, members: &Arc<Members>) -> Result<Option<Heartbeat>, Failure> {
        let Some(redis) = self.redis.clone() else { return Ok(None) };
        let (handle, members) = (engine.handle().clone(), Arc::clone(members));
        let own = move || worker_status(handle.status(), &members);
        let heartbeat = Heartbeat::start(redis, self.name.clone(), self.started_at, now, own)
            .map_err(|e| Failure::failed(e.to_string()))?;
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
        let (transport, uploads) = (self.place.transport.clone(), uploads.clone());
        let tell = move || {
            let mut vitals = vitals(handle.status(), &members, bounds, shards);
            vitals.dependencies.extend(kafka(&transport));
            vitals.dependencies.push(disk(&vitals.status));
            with_uploads(vitals, uploads.status())
        };
        HealthServer::start(address, Arc::new(tell)).map_err(|e| cannot_listen(address, &e))
    }
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot listen on {address}: {error}"))
        .hint("give another address with --listen, or as server.listen")
}

fn redis_trouble(members: &Members) -> Option<String> {
    (members.is_notified() == Some(false))
        .then(|| String::from("redis does not answer: links are looked for by the clock"))
}

fn vitals(status: Status, members: &Members, bounds: Bounds, shards: u32) -> Vitals {
    let up = members.is_database_reachable();
    let load = members.load();
    let load =
        Load { queued: load.queued, pages_per_second: load.pages_per_second, workers: load.workers, shards };
    Vitals {
        lifecycle: match (&status.phase, up, members.owned()) {
            (Phase::Stopping, _, _) => Lifecycle::Draining,
            (_, true, 1..) => Lifecycle::Member,
            _ => Lifecycle::Joining,
        },
        dependencies: dependencies(members),
        status,
        worker: Some(WorkerVitals {
            shards_owned: members.owned() as u64,
            workers_desired: u64::from(workers_desired(&load, bounds)),
            uploads: None,
        }),
    }
}

/// The object store is unavailable while files cannot be uploaded.
fn with_uploads(mut vitals: Vitals, uploads: Option<UploadStatus>) -> Vitals {
    if let Some(status) = &uploads {
        let detail = status.trouble.clone().filter(|_| status.store_fails);
        vitals.dependencies.push(Dependency { name: "object_store", up: detail.is_none(), detail });
    }
    if let Some(worker) = &mut vitals.worker {
        worker.uploads = uploads;
    }
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

/// Its own, which is no server, and can be too full for the worker to go on.
fn disk(status: &Status) -> Dependency {
    let detail = held(status).map(str::to_owned);
    Dependency { name: "disk", up: detail.is_none(), detail }
}

fn held(status: &Status) -> Option<&str> {
    match &status.phase {
        Phase::Held { reason } => Some(reason),
        _ => None,
    }
}

fn kafka(transport: &Transport) -> Option<Dependency> {
    match transport {
        Transport::Inbox => None,
        Transport::Kafka { .. } => {
            let detail = transport.problem();
            Some(Dependency { name: "kafka", up: detail.is_none(), detail })
        }
    }
}

fn worker_status(status: Status, members: &Members) -> WorkerStatus {
    WorkerStatus {
        state: match (&status.phase, members.is_database_reachable(), status.requests.in_flight) {
            (Phase::Stopping, _, _) => "draining",
            (Phase::Running, true, 0) => "idle",
            (Phase::Running, true, _) => "active",
            _ => "waiting",
        },
        shards: u32::try_from(members.owned()).unwrap_or(u32::MAX),
        status,
    }
}

fn dependencies(members: &Members) -> Vec<Dependency> {
    let up = members.is_database_reachable();
    let detail = (!up).then(|| String::from("it does not answer: nothing new is asked for until it does"));
    let postgres = Dependency { name: "postgresql", up, detail };
    let redis = members.is_notified();
    let redis = redis.map(|up| Dependency { name: "redis", up, detail: redis_trouble(members) });
    std::iter::once(postgres).chain(redis).collect()
}

fn figures(status: &Status) -> Figures {
    Figures {
        pages: status.totals.pages,
        active: u32::try_from(status.requests.in_flight).unwrap_or(u32::MAX),
        queued: status.queued(),
        hosts: status.hosts.known,
        note: None,
    }
}

fn line(status: &Status, shards: usize) -> String {
    let figures = figures(status);
    format!(
        "{} of {}, {} failed, {} queued, {} under way, {}",
        counted(figures.pages, "page", "pages"),
        bytes(status.totals.bytes),
        count(status.totals.failed),
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
