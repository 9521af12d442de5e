//! The keys of `argiope.yaml`, `job.yaml` and the graph's `config.json`, as people may write them. One table per section; the names are those of
//! the typed structures, so that a test can hold them against each other.

use super::forms;
use super::politeness_keys::POLITENESS;
use super::schema::{Key, Kind, Unit};
use argiope_model::Url;

const AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: u64::MAX };
const U32: Kind = Kind::Whole { least: 0, most: u32::MAX as u64 };
const U32_AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: u32::MAX as u64 };
const U16: Kind = Kind::Whole { least: 0, most: u16::MAX as u64 };
const PERCENT: Kind = Kind::Whole { least: 0, most: 100 };
const SCOPES: [&str; 4] = ["host", "domain", "subdomains", "any"];

const NEW_URLS: &[Key] = &[Key::new("per_second", U32_AT_LEAST_ONE), Key::new("burst", U32_AT_LEAST_ONE)];

const NORMAL_FORM: &[Key] = &[
    Key::new("strip_trailing_slash", Kind::Flag),
    Key::new("tracking_parameters", Kind::List(&Kind::Text)),
    Key::new("session_parameters", Kind::List(&Kind::Text)),
];

const TRAPS: &[Key] = &[
    Key::new("enabled", Kind::Flag),
    Key::new("urls_per_pattern", U32),
    Key::new("pages_before_judgement", U32),
    Key::new("worthless_percent", PERCENT),
    Key::new("max_repeated_segments", U32),
    Key::new("earliest_year", U16),
    Key::new("years_ahead", U16),
];

pub(super) const BASIC_AUTH: &[Key] = &[
    Key::new("username", Kind::Parsed(forms::USER_NAME)).required().alias(&[("user", Unit::Same)]),
    Key::new("password", Kind::Text).required(),
];
/// As many as the command line takes.
const CONNECTIONS: Kind = Kind::Whole { least: 1, most: 100_000 };
pub(super) const CONNECTIONS_PER_HOST: Kind = Kind::Whole { least: 1, most: 10_000 };
pub(super) const HEADERS: Kind = Kind::Named(forms::HEADER_NAME, &Kind::Parsed(forms::HEADER_VALUE));
pub(super) const COOKIES: Kind = Kind::Named(forms::COOKIE, &Kind::Parsed(forms::COOKIE));
pub(super) const PROXY: Kind = Kind::Parsed(forms::PROXY);

/// What a job can be told, and `crawl` for all jobs, after the keys that only one of them has.
macro_rules! with_job_keys {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            Key::new("scope", Kind::Word(&SCOPES)),
            Key::new("include", Kind::List(&Kind::Pattern)),
            Key::new("exclude", Kind::List(&Kind::Pattern)),
            Key::new("blacklist", Kind::List(&Kind::Parsed(forms::LISTED_DOMAIN))),
            Key::new("exclude_domains", Kind::List(&Kind::Pattern)),
            Key::new("max_subdomains_per_root", U32).or_null(),
            Key::new("max_depth", U32).or_null(),
            Key::new("max_pages", AT_LEAST_ONE).or_null(),
            Key::new("max_pages_per_domain", AT_LEAST_ONE).or_null(),
            Key::new("max_links_per_page", U32),
            Key::new("new_urls_per_source", Kind::Section(NEW_URLS)),
            Key::new("queue_cap", AT_LEAST_ONE).or_null(),
            Key::new("per_host", CONNECTIONS_PER_HOST).or_null(),
            Key::new("concurrency", CONNECTIONS).or_null(),
            Key::new("timeout", Kind::SomeTime).alias(&[
                ("fetch_timeout", Unit::Same),
                ("fetch_timeout_seconds", Unit::Seconds),
                ("timeout_seconds", Unit::Seconds),
            ]),
            Key::new("max_redirects", U32),
            Key::new("max_body", Kind::Size).alias(&[
                ("max_content", Unit::Same),
                ("max_content_bytes", Unit::Bytes),
                ("max_body_bytes", Unit::Bytes),
            ]),
            Key::new("user_agent", Kind::Parsed(forms::USER_AGENT)).or_null(),
            Key::new("headers", HEADERS),
            Key::new("cookies", COOKIES),
            Key::new("basic_auth", Kind::Section(BASIC_AUTH)),
            Key::new("proxy", PROXY).or_null(),
            Key::new("respect_robots", Kind::Flag),
            Key::new("respect_nofollow", Kind::Flag),
            Key::new("respect_noindex", Kind::Flag),
            Key::new("index_noindex", Kind::Flag),
            Key::new("allow_private", Kind::Flag),
            Key::new("archive", Kind::Flag),
            Key::new("sitemaps", Kind::Flag),
            Key::new("normal_form", Kind::Section(NORMAL_FORM)),
            Key::new("skip_extensions", Kind::List(&Kind::Parsed(forms::EXTENSION))),
            Key::new("max_url_length", Kind::Whole { least: 1, most: Url::MAX_LENGTH as u64 }),
            Key::new("max_path_depth", U32_AT_LEAST_ONE),
            Key::new("max_query_parameters", U32),
            Key::new("strict", Kind::Flag),
            Key::new("traps", Kind::Section(TRAPS)),
            Key::new("authority", Kind::Named(forms::LISTED_DOMAIN, &PERCENT)),
        ]
    };
}

/// `job.yaml`
pub(crate) const JOB: &[Key] = with_job_keys![
    Key::new("name", Kind::Parsed(forms::JOB_NAME)),
    Key::new("seeds", Kind::List(&Kind::Text)),
    Key::new("delay", Kind::Delay).or_null().alias(&[
        ("delay_seconds", Unit::Seconds),
        ("crawl_delay", Unit::Same),
        ("crawl_delay_seconds", Unit::Seconds),
    ]),
];

/// Section `crawl`: what holds for all jobs that do not say otherwise.
const CRAWL: &[Key] = with_job_keys![
    Key::new("default_crawl_delay", Kind::Delay)
        .alias(&[("default_crawl_delay_seconds", Unit::Seconds), ("delay", Unit::Same)]),
    Key::new("max_retries", Kind::Whole { least: 0, most: 100 }),
    Key::new("allow_addresses", Kind::List(&Kind::Parsed(forms::NETWORK))),
    Key::new("extra_authorities", Kind::List(&Kind::Text)),
];

/// `config.json` of the graph of hosts.
pub(crate) const GRAPH: &[Key] = &[
    Key::new("seed_url", Kind::Text).or_null(),
    Key::new("max_depth", U32),
    Key::new("max_crawls_per_node", U32_AT_LEAST_ONE),
    Key::new("max_subdomains_per_root", U32_AT_LEAST_ONE),
    Key::new("max_outbound_links", Kind::Whole { least: 1, most: 10_000 }),
    Key::new("concurrent_workers", Kind::Whole { least: 1, most: 10_000 }),
    Key::new("request_timeout_ms", Kind::Whole { least: 1, most: 3_600_000 }),
    Key::new("retry_attempts", Kind::Whole { least: 0, most: 100 }),
    Key::new("retry_delay_ms", Kind::Whole { least: 0, most: 86_400_000 }),
    Key::new("db_path", Kind::Text),
    Key::new("metrics_path", Kind::Text),
    Key::new("allow_private", Kind::Flag),
    Key::new("user_agent", Kind::Parsed(forms::USER_AGENT)).or_null(),
    Key::new("respect_robots", Kind::Flag),
    Key::new("exclude_domains", Kind::List(&Kind::Pattern)),
];

const WORKERS: &[Key] = &[
    Key::new("concurrency", CONNECTIONS),
    Key::new("concurrency_per_pod", CONNECTIONS),
    Key::new("pod_count_min", U32),
    Key::new("pod_count_max", U32_AT_LEAST_ONE),
];

const STORAGE: &[Key] = &[
    Key::new("metadata_db_url", Kind::Text).or_null(),
    Key::new("cache_url", Kind::Text).or_null(),
    Key::new("cache_ttl", Kind::Duration).alias(&[("cache_ttl_seconds", Unit::Seconds)]),
    Key::new("html_bucket", Kind::Text).or_null(),
    Key::new("html_bucket_region", Kind::Text).or_null(),
    Key::new("html_endpoint", Kind::Text).or_null(),
    Key::new("archive_layout", Kind::Word(&["warc", "objects"])),
    Key::new("archive_file_size", Kind::Size).or_null(),
    Key::new("archive_file_age", Kind::SomeTime),
    Key::new("disk_reserve", Kind::Size).or_null(),
    Key::new("upload_backlog", Kind::Size).or_null(),
];

const TOPICS: &[Key] = &[
    Key::new("top_n", U32_AT_LEAST_ONE),
    Key::new("ngram_range", Kind::Fixed(2, &Kind::Whole { least: 1, most: 5 })),
];

const DNS: &[Key] = &[
    Key::new("resolvers", Kind::List(&Kind::Parsed(forms::RESOLVER))),
    Key::new("overrides", Kind::Named(forms::HOST_NAME, &Kind::List(&Kind::Parsed(forms::ADDRESS)))),
    Key::new("timeout", Kind::SomeTime).alias(&[("timeout_seconds", Unit::Seconds)]),
    Key::new("attempts", Kind::Whole { least: 1, most: 10 }),
    Key::new("min_ttl", Kind::Duration).alias(&[("min_ttl_seconds", Unit::Seconds)]),
    Key::new("max_ttl", Kind::Duration).alias(&[("max_ttl_seconds", Unit::Seconds)]),
    Key::new("negative_ttl", Kind::Duration).alias(&[("negative_ttl_seconds", Unit::Seconds)]),
    Key::new("cache_size", Kind::Whole { least: 1, most: 100_000_000 }),
];

const SERVER: &[Key] = &[Key::new("listen", Kind::Parsed(forms::LISTEN))];

const CLUSTER: &[Key] = &[
    Key::new("name", Kind::Text).or_null(),
    Key::new("transport", Kind::Word(&["kafka", "postgres"])),
    Key::new("kafka_brokers", Kind::Text).or_null(),
    Key::new("kafka_topic_prefix", Kind::Text).or_null(),
    Key::new("kafka_security_protocol", Kind::Word(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])),
    Key::new("kafka_ssl_ca", Kind::Text).or_null(),
    Key::new("kafka_sasl_username", Kind::Text).or_null(),
    Key::new("kafka_sasl_password", Kind::Text).or_null(),
    Key::new("shards", Kind::Whole { least: 1, most: 65_535 }),
];

/// `argiope.yaml`
pub(crate) const CONFIG: &[Key] = &[
    Key::new("crawl", Kind::Section(CRAWL)),
    Key::new("politeness", Kind::Section(POLITENESS)),
    Key::new("workers", Kind::Section(WORKERS)),
    Key::new("storage", Kind::Section(STORAGE)),
    Key::new("topics", Kind::Section(TOPICS)),
    Key::new("dns", Kind::Section(DNS)),
    Key::new("server", Kind::Section(SERVER)),
    Key::new("cluster", Kind::Section(CLUSTER)),
    Key::new("retention", Kind::Section(&[])),
];
