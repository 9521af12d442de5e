//! A membership in the cluster: from joining until the worker leaves, or is declared dead.

use super::Worker;
use super::event_relay::EventRelay;
use super::vitals::{disk, figures, held, kafka, redis_trouble, vitals, with_uploads, worker_status};
use crate::bucket::{Uploads, WorkerFiles};
use crate::cluster::{database_failure, kafka_failure};
use crate::directory;
use crate::disk_guard::DiskGuard;
use crate::engine_settings::failure_of;
use crate::health::Vitals;
use crate::heartbeat::Heartbeat;
use crate::local_crawl::reload;
use argiope_cluster::catalogue::{LostMarks, PostgresCatalogue};
use argiope_cluster::members::{Epochs, EventSink, Figures, MemberOptions, Members, MessageSender};
use argiope_cluster::publishing::Publisher;
use argiope_cluster::receiving::IngestConsumer;
use argiope_cluster::redis::{RobotsCache, ShardNotifier};
use argiope_cluster::state::PostgresState;
use argiope_config::Failure;
use argiope_engine::{Engine, EngineConfig, EngineError, Ports, Status, Stop};
use argiope_frontier::ownership;
use argiope_store::clock::now;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FIGURES_EVERY: Duration = Duration::from_secs(1);

/// How a membership has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    Stopped {
        /// Its shards were not its own any more.
        cut_off: bool,
        /// For the user: the files that are still on this disk.
        files_left: Option<String>,
    },
    /// It was declared dead. It may join again.
    Dead,
}

/// Whether a member continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tended {
    GoesOn,
    /// It is to stop, and its lease is over. All threads wait for the database, and what they hold it would not take any
    /// more. It is on this disk: the process can end.
    CutOff,
}

/// A running member. Those that read come before what they read.
pub struct Member<'w> {
    worker: &'w Worker,
    heartbeat: Option<Heartbeat>,
    members: Arc<Members>,
    engine: Engine,
    receiver: Option<IngestConsumer>,
    publisher: Option<Publisher>,
    uploads: Uploads,
    marks: LostMarks,
    guard: DiskGuard,
    next_figures: Instant,
    is_stopping: bool,
}

impl<'w> Member<'w> {
    pub(super) fn join(worker: &'w Worker) -> Result<Member<'w>, Failure> {
        let owner = format!("{}#{:x}", worker.name, unique());
        let database = &worker.place.database;
        let epochs = Arc::new(Epochs::default());
        let relay = Arc::new(EventRelay::default());
        let notifier = notifier(worker, &relay)?;
        let transport = &worker.place.transport;
        let sender = MessageSender::new(transport, &worker.name, "the writer of the frontier");
        let sender = sender.map_err(|e| kafka_failure(&e))?;
        let store = |e| directory::store_failure(&e);
        let files = WorkerFiles::open(&worker.directory, worker.bucket.as_ref(), database, &owner)?;
        let WorkerFiles { archive, links, uploads, marks } = files;
        let ports = Ports {
            state: Box::new(
                PostgresState::open(database, &worker.name, Arc::clone(&epochs), sender, notifier.clone())
                    .map_err(|e| database_failure(&e))?
                    .with_robots_cache(robots_cache(worker)?),
            ),
            catalogue: Box::new(
                PostgresCatalogue::open_for_worker(database, &worker.name, &owner, Arc::clone(&epochs))
                    .map_err(store)?,
            ),
            archive: Some(archive),
            links,
        };
        let forwarding = Arc::clone(&relay);
        let events: EventSink = Arc::new(move |events| forwarding.forward(events));
        let options = MemberOptions {
            worker: worker.name.clone(),
            owner: owner.clone(),
            lease: ownership::LEASE,
            renew_every: ownership::RENEW_EVERY,
            notifier,
            transport: transport.clone(),
        };
        let (members, membership) =
            Members::join(database, options, epochs, events).map_err(|e| database_failure(&e))?;
        let publisher =
            Publisher::start(database, transport, Arc::clone(&worker.place.fixed.suffixes), &owner);
        let publisher = publisher.map_err(|e| kafka_failure(&e))?;
        let receiver = IngestConsumer::start(database, transport, worker.addresses()?, &owner);
        let receiver = receiver.map_err(|e| kafka_failure(&e))?;
        let config = EngineConfig { name: owner, ..worker.engine.clone() };
        let engine = Engine::join_cluster(config, ports, membership).map_err(|e| failure_of(&e))?;
        let followers = publisher.iter().map(Publisher::follower).chain(uploads.follower());
        followers.for_each(|follower| engine.handle().followers().add(follower));
        relay.connect(engine.handle());
        let members = Arc::new(members);
        relay.follow(&members);
        let heartbeat = heartbeat(worker, &engine, &members)?;
        let guard = DiskGuard::new(worker.disk, &worker.directory.path);
        let next_figures = Instant::now();
        Ok(Member {
            worker,
            heartbeat,
            members,
            engine,
            receiver,
            publisher,
            uploads,
            marks,
            guard,
            next_figures,
            is_stopping: false,
        })
    }

    /// Calls `wake` when it has ended by itself.
    pub fn when_ended(&self, wake: impl FnOnce() + Send + 'static) {
        self.engine.when_ended(wake);
    }

    pub fn has_ended(&self) -> bool {
        self.engine.has_ended()
    }

    pub fn status(&self) -> Status {
        self.engine.handle().status()
    }

    pub fn shards(&self) -> usize {
        self.members.owned()
    }

    /// Requests in flight finish, then the shards go to other workers.
    pub fn stop(&mut self) {
        self.is_stopping = true;
        self.members.announce_leave();
        self.engine.handle().stop(Stop::Clean);
    }

    /// Reads the politeness settings again. Returns what the user should know.
    pub fn reload(&self) -> Option<String> {
        self.worker.config_path.as_ref().map(|path| reload(&self.engine, path))
    }

    /// Call it several times a second while it runs: watches lease and disk, and reports the member's state to the
    /// others.
    pub fn tend(&mut self) -> Tended {
        let members = &self.members;
        members.check_lease();
        if members.is_dead() {
            self.engine.handle().stop(Stop::Now);
        } else if self.is_stopping && members.is_cut_off() {
            return Tended::CutOff;
        }
        self.guard.keep(self.engine.handle(), || self.uploads.waiting_bytes());
        let at = Instant::now();
        if at >= self.next_figures {
            self.next_figures = at + FIGURES_EVERY;
            let status = self.status();
            members.set_figures(Figures { note: self.note(&status), ..figures(&status) });
        }
        Tended::GoesOn
    }

    /// What is wrong, for the table of workers.
    fn note(&self, status: &Status) -> Option<String> {
        let held = held(status).map(|why| format!("no new requests: {why}"));
        let transport = self.worker.place.transport.problem();
        let notes = [held, transport, self.uploads.trouble(), redis_trouble(&self.members)];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// How it is, for probes and metrics.
    pub fn vitals(&self) -> impl Fn() -> Vitals + Send + Sync + 'static {
        let (handle, members) = (self.engine.handle().clone(), Arc::clone(&self.members));
        let (bounds, shards) = (self.worker.bounds, u32::from(self.worker.place.fixed.shards));
        let (transport, uploads) = (self.worker.place.transport.clone(), self.uploads.clone());
        move || {
            let mut vitals = vitals(handle.status(), &members, bounds, shards);
            vitals.dependencies.extend(kafka(&transport));
            vitals.dependencies.push(disk(&vitals.status));
            with_uploads(vitals, uploads.status())
        }
    }

    /// When the engine has ended: gives back what it has. `wait` is called while files are uploaded.
    pub fn leave(self, wait: impl FnMut()) -> Result<Departure, Failure> {
        let Member { engine, members, receiver, publisher, heartbeat, uploads, marks, .. } = self;
        let ended = engine.join();
        // While it is still the leader: publishes the last stored pages before it leaves.
        drop((receiver, publisher, heartbeat));
        let departure = match ended {
            Ok(_) | Err(EngineError::Fenced(_)) if self.is_stopping => {
                members.leave();
                let cut_off = members.is_dead() || members.has_lost_shards();
                Departure::Stopped { cut_off, files_left: uploads.finish(wait) }
            }
            Ok(_) | Err(EngineError::Fenced(_)) => Departure::Dead,
            Err(error) => return Err(failure_of(&error)),
        };
        drop(marks);
        Ok(departure)
    }
}

fn notifier(worker: &Worker, relay: &Arc<EventRelay>) -> Result<Option<Arc<ShardNotifier>>, Failure> {
    let Some(redis) = &worker.redis else { return Ok(None) };
    let relay = Arc::clone(relay);
    let notifier = ShardNotifier::start(redis, Box::new(move |event| relay.on_notifier_event(&event)))
        .map_err(|e| Failure::failed(format!("cannot start a thread: {e}")))?;
    Ok(Some(Arc::new(notifier)))
}

fn robots_cache(worker: &Worker) -> Result<Option<RobotsCache>, Failure> {
    let Some(redis) = &worker.redis else { return Ok(None) };
    let cache = RobotsCache::start(redis.with_own_connection())
        .map_err(|e| Failure::failed(format!("cannot start a thread: {e}")))?;
    Ok(Some(cache))
}

fn heartbeat(worker: &Worker, engine: &Engine, members: &Arc<Members>) -> Result<Option<Heartbeat>, Failure> {
    let Some(redis) = worker.redis.clone() else { return Ok(None) };
    let (handle, members) = (engine.handle().clone(), Arc::clone(members));
    let own = move || worker_status(handle.status(), &members);
    let heartbeat = Heartbeat::start(redis, worker.name.clone(), worker.started_at, now, own)
        .map_err(|e| Failure::failed(e.to_string()))?;
    Ok(Some(heartbeat))
}

/// Tells this start from every other one of the same name.
fn unique() -> u64 {
    RandomState::new().hash_one(now().0)
}
