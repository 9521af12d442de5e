//! One worker of a cluster. It works on all running jobs until it is stopped; then its shards are stored and other
//! workers take them. [`Worker`] is what stays the same between memberships, [`Member`] is one membership.

mod event_relay;
mod member;
mod name;
mod vitals;

pub use member::{Departure, Member, Tended};

use crate::bucket::Bucket;
use crate::cluster::{ClusterPlace, database_failure};
use crate::descriptors::{Keeper, Room};
use crate::directory::{Fixed, WorkerDirectory};
use crate::engine_settings::engine_config;
use argiope_cluster::autoscale::Bounds;
use argiope_cluster::members::is_up;
use argiope_cluster::receiving::Addresses;
use argiope_cluster::redis::Redis;
use argiope_config::{
    DiskLimits, Failure, GlobalOptions, LoadedConfig, ProcessSettings, SeedRules, addresses_of, merge_job,
    parse_seed,
};
use argiope_engine::EngineConfig;
use argiope_fetch::AddressPolicy;
use argiope_frontier::admission::DomainPolicy;
use argiope_frontier::ownership;
use argiope_model::{JobSpec, Millis};
use argiope_store::clock::now;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pause before a worker that was declared dead joins again.
const REJOIN_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerRequest {
    /// Without one: the last name on its data directory, or host and process.
    pub name: Option<String>,
    /// Jobs may crawl loopback and private addresses.
    pub allow_private: bool,
}

pub struct Worker {
    pub name: String,
    pub place: ClusterPlace,
    bucket: Option<Bucket>,
    directory: WorkerDirectory,
    engine: EngineConfig,
    addresses: AddressPolicy,
    config_path: Option<PathBuf>,
    bounds: Bounds,
    redis: Option<Redis>,
    started_at: Millis,
    disk: DiskLimits,
}

impl Worker {
    /// Checks whatever can be wrong before it joins. `notice` gets what the user should know.
    pub fn open(
        options: &GlobalOptions,
        config: &LoadedConfig,
        place: ClusterPlace,
        request: &WorkerRequest,
        notice: &dyn Fn(&str),
    ) -> Result<Worker, Failure> {
        let name = request.name.as_deref().map(name::checked_name).transpose()?;
        let mut process = ProcessSettings::new(options, config)?;
        process.concurrency = config.file.workers.concurrency_per_pod;
        let defaults = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
        let allow_private = request.allow_private || defaults.allow_private;
        let addresses = addresses_of(&config.file, allow_private)?;
        let redis = place.redis(&config.file)?;
        place.verify_transport()?;
        let bucket = Bucket::open(&config.file)?;
        let directory = WorkerDirectory::open(&options.data, &place.cluster.id, name, name::own_name)?;
        let room = Room::new(process.concurrency, Keeper::Cluster)?;
        room.warning().iter().for_each(|warning| notice(warning));
        let engine = room.fit(engine_config(&process, &addresses, &place.fixed));
        Ok(Worker {
            name: directory.worker.clone(),
            place,
            bucket,
            directory,
            engine,
            addresses,
            config_path: config.path.clone(),
            redis,
            started_at: now(),
            disk: process.disk,
            bounds: Bounds {
                least: config.file.workers.pod_count_min,
                most: config.file.workers.pod_count_max,
            },
        })
    }

    /// Waits while a worker of this name is up: one that was killed is so until its lease ends, a second one for longer.
    /// `pause` waits for that long, and says whether this worker is stopped meanwhile; then the result is false.
    pub fn has_name_to_itself(
        &self,
        pause: &dyn Fn(Duration) -> bool,
        notice: &dyn Fn(&str),
    ) -> Result<bool, Failure> {
        let failed = |e| database_failure(&e);
        let mut session = self.place.session()?;
        let until = Instant::now() + ownership::LEASE + 2 * ownership::RENEW_EVERY;
        let mut said = false;
        while is_up(&mut session, &self.name).map_err(failed)? {
            if Instant::now() >= until {
                return Err(Failure::failed(format!("a worker named {} is already running", self.name))
                    .hint("a name belongs to a disk: give this worker another --name and its own --data"));
            }
            if !std::mem::replace(&mut said, true) {
                notice(&format!(
                    "a worker named {} was running a moment ago; waiting for its lease to expire",
                    self.name
                ));
            }
            if pause(REJOIN_PAUSE) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn database_answers(&self) -> bool {
        self.place.database.answers()
    }

    /// Before it joins again. False if it is stopped meanwhile, as `pause` says.
    pub fn wait_for_database(&self, pause: &dyn Fn(Duration) -> bool) -> bool {
        while !pause(REJOIN_PAUSE) {
            if self.database_answers() {
                return true;
            }
        }
        false
    }

    /// Becomes a member of the cluster.
    pub fn join(&self) -> Result<Member<'_>, Failure> {
        Member::join(self)
    }

    /// URLs from other programs are parsed like those of a list.
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
}
