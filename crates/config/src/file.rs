//! `argiope.yaml` with types: what the file says, over the defaults. Sections that belong to a cluster or a server are
//! read and checked like the others, so that one file serves every command.

use argiope_model::human_duration;
use argiope_model::human_optional_duration;
use argiope_politeness::PolitenessSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigFile {
    pub crawl: CrawlSection,
    pub politeness: PolitenessSettings,
    pub workers: WorkersSection,
    pub storage: StorageSection,
    pub topics: TopicsSection,
    pub dns: DnsSection,
    pub server: ServerSection,
    pub cluster: ClusterSection,
    pub retention: RetentionSection,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlSection {
    /// For hosts of which nothing else is known.
    #[serde(with = "human_optional_duration", skip_serializing_if = "Option::is_none")]
    pub default_crawl_delay: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u8>,
    /// Networks that may be crawled although no public host can be in them.
    pub allow_addresses: Vec<String>,
    /// PEM files with certificate authorities to trust beside the system's.
    pub extra_authorities: Vec<PathBuf>,
    /// Keys of a job, as defaults of all jobs.
    #[serde(flatten)]
    pub job: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkersSection {
    /// Connections of one machine.
    pub concurrency: u32,
    /// Connections of a cluster worker.
    pub concurrency_per_pod: u32,
    pub pod_count_min: u32,
    pub pod_count_max: u32,
}

impl Default for WorkersSection {
    fn default() -> WorkersSection {
        WorkersSection { concurrency: 100, concurrency_per_pod: 50, pod_count_min: 10, pod_count_max: 200 }
    }
}

/// How raw pages are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArchiveLayout {
    #[default]
    Warc,
    Objects,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StorageSection {
    pub metadata_db_url: Option<String>,
    pub cache_url: Option<String>,
    #[serde(with = "human_duration")]
    pub cache_ttl: Duration,
    pub html_bucket: Option<String>,
    pub html_bucket_region: Option<String>,
    pub html_endpoint: Option<String>,
    pub archive_layout: ArchiveLayout,
    /// A file of the archive is ended when it is so long,
    pub archive_file_size: Option<u64>,
    /// or so old, if it is to leave its worker's disk.
    #[serde(with = "human_duration")]
    pub archive_file_age: Duration,
    /// Nothing new is asked for while less than this is free on the disk,
    pub disk_reserve: Option<u64>,
    /// or more than this waits there to be uploaded.
    pub upload_backlog: Option<u64>,
}

impl StorageSection {
    /// Smaller where files are uploaded: what is not there yet goes with a lost disk.
    pub fn archive_file_size(&self) -> u64 {
        let usual = if self.html_bucket.is_some() { 256_000_000 } else { 1_000_000_000 };
        self.archive_file_size.unwrap_or(usual)
    }
}

impl Default for StorageSection {
    fn default() -> StorageSection {
        StorageSection {
            metadata_db_url: None,
            cache_url: None,
            cache_ttl: Duration::from_secs(3600),
            html_bucket: None,
            html_bucket_region: None,
            html_endpoint: None,
            archive_layout: ArchiveLayout::Warc,
            archive_file_size: None,
            archive_file_age: Duration::from_secs(300),
            disk_reserve: None,
            upload_backlog: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicsSection {
    pub top_n: u32,
    /// Words of a term, least and most.
    pub ngram_range: [u8; 2],
}

impl Default for TopicsSection {
    fn default() -> TopicsSection {
        TopicsSection { top_n: 15, ngram_range: [1, 2] }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DnsSection {
    /// Asked in this order; empty: those of the system.
    pub resolvers: Vec<String>,
    pub overrides: BTreeMap<String, Vec<IpAddr>>,
    #[serde(with = "human_duration")]
    pub timeout: Duration,
    pub attempts: u8,
    #[serde(with = "human_duration")]
    pub min_ttl: Duration,
    #[serde(with = "human_duration")]
    pub max_ttl: Duration,
    #[serde(with = "human_duration")]
    pub negative_ttl: Duration,
    pub cache_size: usize,
}

impl Default for DnsSection {
    fn default() -> DnsSection {
        let defaults = argiope_fetch::ResolverOptions::default();
        DnsSection {
            resolvers: Vec::new(),
            overrides: BTreeMap::new(),
            timeout: defaults.timeout,
            attempts: u8::try_from(defaults.attempts).unwrap_or(u8::MAX),
            min_ttl: defaults.ttl.shortest,
            max_ttl: defaults.ttl.longest,
            negative_ttl: defaults.ttl.negative_default,
            cache_size: defaults.capacity,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSection {
    /// Where a worker serves HTTP, unless its own option says it.
    pub listen: Option<SocketAddr>,
}

/// How discovered URLs reach the owner of their shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    #[default]
    Postgres,
    Kafka,
}

/// Kafka's own words for how its clients speak to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SecurityProtocol {
    #[default]
    Plaintext,
    Ssl,
    SaslPlaintext,
    SaslSsl,
}

impl SecurityProtocol {
    pub fn is_encrypted(self) -> bool {
        matches!(self, SecurityProtocol::Ssl | SecurityProtocol::SaslSsl)
    }

    pub fn has_login(self) -> bool {
        matches!(self, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterSection {
    /// Fixed when the cluster is created; where it is given, a database with another one is refused.
    pub name: Option<String>,
    pub transport: Transport,
    pub kafka_brokers: Option<String>,
    /// Begins the names of the topics, where several clusters share one Kafka.
    pub kafka_topic_prefix: Option<String>,
    pub kafka_security_protocol: SecurityProtocol,
    /// A PEM file with the authorities that brokers' certificates are from; without it, the system's.
    pub kafka_ssl_ca: Option<PathBuf>,
    pub kafka_sasl_username: Option<String>,
    pub kafka_sasl_password: Option<String>,
    /// Fixed when a data directory or cluster is created.
    pub shards: u16,
    /// How long `crawl` and `ingest` wait for PostgreSQL once they have begun; 0 for not at all, null for as long as it
    /// takes.
    #[serde(with = "human_optional_duration")]
    pub wait_for_database: Option<Duration>,
}

impl Default for ClusterSection {
    fn default() -> ClusterSection {
        ClusterSection {
            name: None,
            transport: Transport::Postgres,
            kafka_brokers: None,
            kafka_topic_prefix: None,
            kafka_security_protocol: SecurityProtocol::Plaintext,
            kafka_ssl_ca: None,
            kafka_sasl_username: None,
            kafka_sasl_password: None,
            shards: 64,
            wait_for_database: Some(Duration::from_secs(3600)),
        }
    }
}

/// On one machine everything is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSection {}
