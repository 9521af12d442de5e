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
    /// For hosts without another delay.
    #[serde(with = "human_optional_duration", skip_serializing_if = "Option::is_none")]
    pub default_crawl_delay: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u8>,
    /// Networks that may be crawled although they are not public.
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
    /// Concurrent requests on one machine.
    pub concurrency: u32,
    /// Concurrent requests of a cluster worker.
    pub concurrency_per_pod: u32,
    pub pod_count_min: u32,
    pub pod_count_max: u32,
}

impl Default for WorkersSection {
    fn default() -> WorkersSection {
        WorkersSection { concurrency: 100, concurrency_per_pod: 50, pod_count_min: 10, pod_count_max: 200 }
    }
}

/// The layout of the archive of raw pages.
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
    /// Size at which an archive file is closed, in bytes.
    pub archive_file_size: Option<u64>,
    /// Age at which an archive file that will be uploaded is closed.
    #[serde(with = "human_duration")]
    pub archive_file_age: Duration,
    /// Requests pause while fewer bytes are free on the disk.
    pub disk_reserve: Option<u64>,
    /// Requests pause while more bytes wait for upload.
    pub upload_backlog: Option<u64>,
}

impl StorageSection {
    /// Smaller if files are uploaded, since a lost disk loses what is not uploaded yet.
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
    /// Fewest and most words of a term.
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
    /// Tried in this order; empty: those of the system.
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
    /// Address on which a worker serves HTTP; `--listen` overrides it.
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

/// `security.protocol` of Kafka clients.
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

/// `sasl.mechanism` of Kafka clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SaslMechanism {
    #[default]
    #[serde(rename = "PLAIN")]
    Plain,
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
}

/// `compression.type` of Kafka clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KafkaCompression {
    None,
    Gzip,
    Snappy,
    Lz4,
    #[default]
    Zstd,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterSection {
    /// Fixed when the cluster is created; a database of another cluster is refused.
    pub name: Option<String>,
    pub transport: Transport,
    pub kafka_brokers: Option<String>,
    /// Prefix of the topic names, if several clusters share one Kafka.
    pub kafka_topic_prefix: Option<String>,
    pub kafka_security_protocol: SecurityProtocol,
    /// A PEM file with the certificate authorities of the brokers; without it, those of the system.
    pub kafka_ssl_ca: Option<PathBuf>,
    pub kafka_sasl_mechanism: SaslMechanism,
    pub kafka_sasl_username: Option<String>,
    pub kafka_sasl_password: Option<String>,
    /// Of the batches that are written. Batches of all codecs are read.
    pub kafka_compression: KafkaCompression,
    /// Fixed when a data directory or cluster is created.
    pub shards: u16,
    /// How long a running `crawl` or `ingest` waits while PostgreSQL is unavailable; 0 is not at all, `None` no limit.
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
            kafka_sasl_mechanism: SaslMechanism::Plain,
            kafka_sasl_username: None,
            kafka_sasl_password: None,
            kafka_compression: KafkaCompression::Zstd,
            shards: 64,
            wait_for_database: Some(Duration::from_secs(3600)),
        }
    }
}

/// Has no keys yet: everything is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSection {}
