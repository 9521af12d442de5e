//! The cluster that a configuration names: how to reach it, and what was fixed when it was made.

use crate::config::ConfigFile;
use crate::config::file::Transport as Chosen;
use crate::data::Fixed;
use crate::exit::Failure;
use argiope_cluster::database::{
    Cluster, Database, DatabaseError, Expected, NewCluster, SETTING, Session, Transport, Trouble,
};
use argiope_cluster::members::Addressing;
use argiope_cluster::redis::Redis;
use argiope_model::{FingerprintKey, PublicSuffixes};
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// For a single request of a command.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Who those are to the catalogue that only bring jobs: files and outputs are known by whose they are.
pub(crate) const CLIENT: &str = "client";

/// A cluster that was found to be there, and to be the one that is meant.
pub(crate) struct ClusterPlace {
    pub(crate) database: Database,
    pub(crate) cluster: Cluster,
    pub(crate) fixed: Fixed,
}

/// Whether the configuration is that of a cluster.
pub(crate) fn is_cluster(file: &ConfigFile) -> bool {
    file.storage.metadata_db_url.is_some()
}

fn database_of(file: &ConfigFile) -> Result<Database, Failure> {
    let Some(url) = &file.storage.metadata_db_url else {
        return Err(Failure::usage(format!("the configuration names no cluster: {SETTING} is missing"))
            .hint("--config cluster.yaml names the file that has it; see docs/operations.md"));
    };
    Database::at(url).map_err(|error| database_failure(&error))
}

fn expected(file: &ConfigFile) -> Expected {
    Expected {
        name: None,
        shards: Some(file.cluster.shards),
        transport: Some(transport(file.cluster.transport)),
    }
}

fn transport(chosen: Chosen) -> Transport {
    match chosen {
        Chosen::Postgres => Transport::Postgres,
        Chosen::Kafka => Transport::Kafka,
    }
}

impl ClusterPlace {
    pub(crate) fn open(file: &ConfigFile) -> Result<ClusterPlace, Failure> {
        refuse_unbuilt(file)?;
        let database = database_of(file)?;
        let cluster = Cluster::open(&database, &expected(file)).map_err(|e| database_failure(&e))?;
        ClusterPlace::with(database, cluster)
    }

    /// Makes the cluster where there is none, and brings its schema up to date where there is one.
    pub(crate) fn init(file: &ConfigFile) -> Result<ClusterPlace, Failure> {
        refuse_unbuilt(file)?;
        let database = database_of(file)?;
        let mut key = [0u8; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut key))
            .map_err(|e| Failure::failed(format!("no random numbers can be had: {e}")))?;
        let new = NewCluster {
            name: String::from("argiope"),
            shards: file.cluster.shards,
            transport: transport(file.cluster.transport),
            fingerprint_key: key,
            public_suffixes: PublicSuffixes::BUNDLED.to_owned(),
        };
        let cluster = Cluster::init(&database, &expected(file), &new).map_err(|e| database_failure(&e))?;
        ClusterPlace::with(database, cluster)
    }

    fn with(database: Database, cluster: Cluster) -> Result<ClusterPlace, Failure> {
        let suffixes = PublicSuffixes::parse(&cluster.public_suffixes)
            .map_err(|e| Failure::failed(format!("{SETTING}: the cluster's list of suffixes: {e}")))?;
        let fixed = Fixed {
            shards: cluster.shards,
            fingerprint_key: FingerprintKey::new(cluster.fingerprint_key),
            suffixes: Arc::new(suffixes),
        };
        Ok(ClusterPlace { database, cluster, fixed })
    }

    /// The doorbell's server, where the configuration names one. It must answer now; later it may come and go.
    pub(crate) fn redis(&self, file: &ConfigFile) -> Result<Option<Redis>, Failure> {
        let Some(url) = &file.storage.cache_url else { return Ok(None) };
        let redis = Redis::new(url, &self.cluster.id).and_then(|redis| redis.ping().map(|()| redis));
        redis.map(Some).map_err(|e| {
            Failure::failed(crate::exit::chain(&e))
                .hint("is the server up? leave storage.cache_url out to go without it")
        })
    }

    /// What URLs are sent with.
    pub(crate) fn addressing(&self) -> Addressing<'_> {
        Addressing {
            suffixes: &self.fixed.suffixes,
            key: &self.fixed.fingerprint_key,
            shards: self.fixed.shards,
        }
    }

    pub(crate) fn session(&self) -> Result<Session, Failure> {
        self.database.connect(LIMIT).map_err(|e| database_failure(&e))
    }
}

/// What the program has adapters for and does not use yet is refused rather than passed over.
fn refuse_unbuilt(file: &ConfigFile) -> Result<(), Failure> {
    if file.cluster.transport == Chosen::Kafka {
        return Err(Failure::failed("cluster.transport: 'kafka' is not available yet").hint("say 'postgres'"));
    }
    if file.storage.html_bucket.is_some() || file.storage.html_endpoint.is_some() {
        let text = "storage.html_bucket: an archive in an object store is not available yet";
        return Err(Failure::failed(text).hint("leave it out: WARC files stay on the workers' disks"));
    }
    Ok(())
}

/// The message names the setting; the hint what to do about it.
pub(crate) fn database_failure(error: &DatabaseError) -> Failure {
    let failure = Failure::failed(crate::exit::chain(error));
    match error.trouble {
        Trouble::Unreachable => {
            failure.hint("is the server up, and may this machine reach it? nothing was changed")
        }
        Trouble::NoCluster | Trouble::TooOld => {
            failure.hint("run 'argiope cluster init' with this configuration")
        }
        _ => failure,
    }
}
