//! The cluster in a configuration: how to connect, and what was fixed at its creation.

use crate::bucket::Bucket;
use crate::directory::Fixed;
use argiope_cluster::database::{
    Cluster, Database, DatabaseError, DatabaseErrorKind, Expected, NewCluster, SETTING, Session,
    TransportKind,
};
use argiope_cluster::kafka::{Access, Login, Topics};
use argiope_cluster::members::{Addressing, MessageSender, another_topic, begin_logs, log_identity};
use argiope_cluster::receiving;
use argiope_cluster::redis::{Redis, WorkerFigures};
use argiope_cluster::server_error::ServerError;
use argiope_cluster::transport::{Log, Transport};
use argiope_config::{ClusterSection, ConfigFile, Failure, LoadedConfig, Transport as Chosen};
use argiope_model::{FingerprintKey, Millis, PublicSuffixes};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// For a single request of a command.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The writer name of processes that only submit jobs: files and outputs are identified by their writer.
pub const CLIENT: &str = "client";

/// A cluster that is reachable and is the expected one.
pub struct ClusterPlace {
    pub database: Database,
    pub cluster: Cluster,
    pub fixed: Fixed,
    /// How links travel between shards.
    pub transport: Transport,
    /// How long a running command waits for the database; None: no limit.
    pub wait_for_database: Option<Duration>,
}

/// Whether the configuration is that of a cluster.
pub fn is_cluster(file: &ConfigFile) -> bool {
    file.storage.metadata_db_url.is_some()
}

/// What is needed to read from a cluster. Nothing is sent, so no login to Kafka is needed.
const NEEDED: [&str; 7] = [
    "storage.metadata_db_url",
    "cluster.name",
    "cluster.shards",
    "cluster.transport",
    "cluster.kafka_brokers",
    "cluster.kafka_topic_prefix",
    "cluster.kafka_ssl_ca",
];

fn database_of(file: &ConfigFile) -> Result<Database, Failure> {
    let Some(url) = &file.storage.metadata_db_url else {
        return Err(Failure::usage(format!("the configuration names no cluster: {SETTING} is missing"))
            .hint("--config cluster.yaml names the file that has it; see docs/operations.md"));
    };
    Database::at(url).map_err(|error| database_failure(&error))
}

fn expected(file: &ConfigFile) -> Expected {
    Expected {
        name: file.cluster.name.clone(),
        shards: Some(file.cluster.shards),
        transport: Some(transport_kind(file.cluster.transport)),
    }
}

fn transport_kind(chosen: Chosen) -> TransportKind {
    match chosen {
        Chosen::Postgres => TransportKind::Postgres,
        Chosen::Kafka => TransportKind::Kafka,
    }
}

fn transport(file: &ConfigFile) -> Result<Transport, Failure> {
    let cluster = &file.cluster;
    match (cluster.transport, &cluster.kafka_brokers) {
        (Chosen::Postgres, _) => Ok(Transport::Inbox),
        (Chosen::Kafka, Some(brokers)) => {
            let prefix = cluster.kafka_topic_prefix.clone().unwrap_or_default();
            Ok(Transport::kafka(access(cluster, brokers)?, Topics { prefix, shards: cluster.shards }))
        }
        (Chosen::Kafka, None) => Err(Failure::usage("cluster.kafka_brokers is missing")),
    }
}

fn access(cluster: &ClusterSection, brokers: &str) -> Result<Access, Failure> {
    let access = Access::from(brokers);
    let login = cluster.kafka_sasl_username.clone().zip(cluster.kafka_sasl_password.clone());
    let access = access.with_login(login.map(|(username, password)| Login { username, password }));
    if cluster.kafka_security_protocol.is_encrypted() {
        return access.encrypted(cluster.kafka_ssl_ca.as_deref()).map_err(|e| kafka_failure(&e));
    }
    Ok(access)
}

/// Where the log of each shard ends, the identity of their topic, and where each partition of `url_ingest` ends.
struct Logs {
    ends: Vec<u64>,
    identity: Option<String>,
    url_ingest: Vec<u64>,
}

/// Creates the topics, if the database is reachable and consistent with them.
fn init_logs(
    database: &Database,
    expected: &Expected,
    transport: &Transport,
) -> Result<Option<Logs>, Failure> {
    let failed = |e: ServerError| kafka_failure(&e);
    let Some((mut kafka, topics)) = transport.client().map_err(failed)? else { return Ok(None) };
    match Cluster::open(database, expected) {
        Err(error) if error.kind == DatabaseErrorKind::NoCluster => {
            if let Some(user) = topics.user(&mut kafka).map_err(failed)? {
                return Err(failed(topics.used_by(&user)));
            }
        }
        Err(error) if error.kind != DatabaseErrorKind::TooOld => return Err(database_failure(&error)),
        _ => {}
    }
    topics.init(&mut kafka).map_err(failed)?;
    let shards: Vec<u16> = (0..topics.shards).collect();
    let Some(mut log) = transport.log().map_err(failed)? else { return Ok(None) };
    Ok(Some(Logs {
        ends: log.ends(&shards).map_err(failed)?,
        identity: log.identity().map_err(failed)?,
        url_ingest: receiving::ends(&mut kafka, &topics).map_err(failed)?,
    }))
}

/// The server, if the configuration names one. Connects at once.
fn redis_for(file: &ConfigFile, cluster: &str, may_be_away: bool) -> Result<Option<Redis>, Failure> {
    let Some(url) = &file.storage.cache_url else { return Ok(None) };
    let answers = |redis: Redis| match redis.ping() {
        // The connection has reported that it is down.
        Err(error) if error.is_retryable() && may_be_away => Ok(redis),
        answered => answered.map(|()| redis),
    };
    Redis::new(url, cluster).and_then(answers).map(Some).map_err(|e| {
        Failure::failed(argiope_config::chain(&e))
            .hint("is the server running? remove storage.cache_url to do without it")
    })
}

impl ClusterPlace {
    /// For a command that reads from it.
    pub fn needs(config: &LoadedConfig) -> Result<(), Failure> {
        NEEDED.iter().try_for_each(|key| config.needs(key))
    }

    pub fn open(file: &ConfigFile) -> Result<ClusterPlace, Failure> {
        let database = database_of(file)?;
        let cluster = Cluster::open(&database, &expected(file)).map_err(|e| database_failure(&e))?;
        ClusterPlace::with(database, cluster, transport(file)?, &file.cluster)
    }

    /// Creates the cluster if there is none, or upgrades its schema.
    pub fn init(file: &ConfigFile) -> Result<ClusterPlace, Failure> {
        let database = database_of(file)?;
        let mut key = [0u8; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut key))
            .map_err(|e| Failure::failed(format!("no random numbers available: {e}")))?;
        let new = NewCluster {
            name: file.cluster.name.clone().unwrap_or_else(|| String::from("argiope")),
            shards: file.cluster.shards,
            transport: transport_kind(file.cluster.transport),
            fingerprint_key: key,
            public_suffixes: PublicSuffixes::BUNDLED.to_owned(),
        };
        // Reports anything that workers would refuse before anything is created.
        Bucket::open(file)?;
        redis_for(file, "", false)?;
        let transport = transport(file)?;
        let logs = init_logs(&database, &expected(file), &transport)?;
        let cluster = Cluster::init(&database, &expected(file), &new).map_err(|e| database_failure(&e))?;
        let place = ClusterPlace::with(database, cluster, transport, &file.cluster)?;
        if let Some(logs) = logs {
            place.transport.verify().map_err(|e| kafka_failure(&e))?;
            let mut session = place.session()?;
            let begun = begin_logs(&mut session, &logs.ends, logs.identity.as_deref())
                .and_then(|()| receiving::begin(&mut session, &logs.url_ingest));
            begun.map_err(|e| database_failure(&e))?;
        }
        Ok(place)
    }

    fn with(
        database: Database,
        cluster: Cluster,
        transport: Transport,
        section: &ClusterSection,
    ) -> Result<ClusterPlace, Failure> {
        let suffixes = PublicSuffixes::parse(&cluster.public_suffixes)
            .map_err(|e| Failure::failed(format!("{SETTING}: the cluster's Public Suffix List: {e}")))?;
        let fixed = Fixed {
            shards: cluster.shards,
            fingerprint_key: FingerprintKey::new(cluster.fingerprint_key),
            suffixes: Arc::new(suffixes),
        };
        let transport = transport.of_cluster(&cluster.id);
        let wait_for_database = section.wait_for_database;
        Ok(ClusterPlace { database, cluster, fixed, transport, wait_for_database })
    }

    /// The notifier's server, if the configuration names one. It may be down now or later; if it is up, it must match
    /// the setting.
    pub fn redis(&self, file: &ConfigFile) -> Result<Option<Redis>, Failure> {
        redis_for(file, &self.cluster.id, true)
    }

    /// Checks that the servers that carry links are up, with the expected, unchanged topics.
    pub fn verify_transport(&self) -> Result<(), Failure> {
        let failed = |e: ServerError| kafka_failure(&e);
        self.transport.verify().map_err(failed)?;
        let Some(mut log) = self.transport.log().map_err(failed)? else { return Ok(()) };
        let found = log.identity().map_err(failed)?;
        match (log_identity(&mut self.session()?).map_err(|e| database_failure(&e))?, found) {
            (Some(known), Some(found)) if known != found => {
                let failure =
                    Failure::failed(format!("cluster.kafka_brokers: {}", another_topic(&known, &found)));
                Err(failure
                    .hint("is it the right Kafka? 'argiope cluster accept-loss' continues with this one"))
            }
            _ => Ok(()),
        }
    }

    /// A connection to the shards for senders, under a name that others see. The servers must respond now.
    pub fn sender(&self, sender: &str) -> Result<MessageSender, Failure> {
        self.verify_transport()?;
        MessageSender::new(&self.transport, sender, "a sender").map_err(|e| kafka_failure(&e))
    }

    /// The last reports of the workers, by name. Empty if Redis is not used or does not respond, as it is only
    /// displayed.
    pub fn live_figures(&self, file: &ConfigFile, now: Millis) -> BTreeMap<String, WorkerFigures> {
        let url = file.storage.cache_url.as_ref();
        let redis = url.and_then(|url| Redis::new(url, &self.cluster.id).ok());
        let workers = redis.and_then(|redis| redis.workers(now).ok()).unwrap_or_default();
        workers.into_iter().map(|figures| (figures.name.clone(), figures)).collect()
    }

    /// What is needed to send URLs.
    pub fn addressing(&self) -> Addressing<'_> {
        Addressing {
            suffixes: &self.fixed.suffixes,
            key: &self.fixed.fingerprint_key,
            shards: self.fixed.shards,
        }
    }

    pub fn session(&self) -> Result<Session, Failure> {
        self.database.connect(LIMIT).map_err(|e| database_failure(&e))
    }
}

pub fn kafka_failure(error: &ServerError) -> Failure {
    let failure = Failure::failed(argiope_config::chain(error));
    if error.is_retryable() {
        failure.hint("is Kafka running, and can this machine reach it? you can run the same command again")
    } else {
        failure
    }
}

/// The message names the setting; the hint what to do about it.
pub fn database_failure(error: &DatabaseError) -> Failure {
    let failure = Failure::failed(argiope_config::chain(error)).passing(error.is_retryable());
    match error.kind {
        DatabaseErrorKind::Unreachable => {
            failure.hint("is the server running, and can this machine reach it? nothing was changed")
        }
        DatabaseErrorKind::NoCluster | DatabaseErrorKind::TooOld => {
            failure.hint("run 'argiope cluster init' with this configuration")
        }
        _ => failure,
    }
}
