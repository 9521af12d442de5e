//! The keys of `argiope.yaml`, `job.yaml` and the graph's `config.json`, as people may write them. One table per
//! section; the names are those of the typed structures, and a test compares the two.
//!
//! `docs/configuration.md` is generated from these tables (`reference`). A new key needs `about`, and `unit` and
//! `example` if they cannot be derived; then run `argiope config docs > docs/configuration.md`.

use crate::forms;
use crate::politeness_keys::POLITENESS;
use crate::schema::{Key, Kind, Unit};
use argiope_model::{CookieJar, Url};

const AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: u64::MAX };
const U32: Kind = Kind::Whole { least: 0, most: u32::MAX as u64 };
const U32_AT_LEAST_ONE: Kind = Kind::Whole { least: 1, most: u32::MAX as u64 };
const U16: Kind = Kind::Whole { least: 0, most: u16::MAX as u64 };
const PERCENT: Kind = Kind::Whole { least: 0, most: 100 };
const SCOPES: [&str; 4] = ["host", "domain", "subdomains", "any"];

const RESOURCES: [&str; 3] = ["off", "check", "keep"];

const NEW_URLS: &[Key] = &[
    Key::new("per_second", U32_AT_LEAST_ONE)
        .about("New URLs of other hosts that pages of one host may add, on average.")
        .unit("URLs per second")
        .example("20"),
    Key::new("burst", U32_AT_LEAST_ONE)
        .about("New URLs that may be added at once.")
        .unit("URLs")
        .example("1000"),
];

const DOMAIN_PARAMETERS: &[Key] = &[
    Key::new("keep_parameters", Kind::List(&Kind::Text))
        .about("Parameters that are part of the page's identity on this domain; `*` as above.")
        .example("[ref]"),
    Key::new("drop_parameters", Kind::List(&Kind::Text))
        .about("Further parameters to ignore on this domain; `*` as above.")
        .example("[from]"),
];

const NORMAL_FORM: &[Key] = &[
    Key::new("strip_trailing_slash", Kind::Flag).about("Treat `/a/` and `/a` as the same page."),
    Key::new("tracking_parameters", Kind::List(&Kind::Text))
        .about("Query parameters to ignore when URLs are compared. A `*` at the end of a name matches any ending.")
        .example("[\"utm_*\", gclid]"),
    Key::new("session_parameters", Kind::List(&Kind::Text))
        .about("Query and path parameters that carry a session id, case-insensitive; ignored if the value looks like one; `*` as above.")
        .example("[jsessionid, phpsessid]"),
    Key::new("keep_parameters", Kind::List(&Kind::Text))
        .about("Parameters that are never ignored, whatever the lists above say; `*` as above.")
        .example("[ref]"),
    Key::new("drop_parameters", Kind::List(&Kind::Text))
        .about("Further parameters to ignore; `*` as above.")
        .example("[from]"),
    Key::new("domains", Kind::Named(forms::LISTED_DOMAIN, &Kind::Section(DOMAIN_PARAMETERS)))
        .about("Overrides for a domain and its subdomains.")
        .example("{ git.example.com: { keep_parameters: [ref] } }"),
];

/// The keys that a domain can override; those of the whole section come after them.
macro_rules! with_trap_keys {
    ($($own:expr),* $(,)?) => {
        &[
            Key::new("enabled", Kind::Flag).about("Detect crawler traps."),
            Key::new("urls_per_pattern", U32)
                .about("Number of URLs with the same pattern on one host, beyond which its pages must differ \
                        from each other.")
                .unit("URLs")
                .example("5000"),
            Key::new("pages_before_judgement", U32)
                .about("Fetched pages of a pattern before it is judged.")
                .unit("pages")
                .example("100"),
            Key::new("worthless_percent", PERCENT)
                .about("The share of a pattern's pages that must be near-duplicates of each other, or empty, for it to be a trap.")
                .unit("percent")
                .example("95"),
            Key::new("max_repeated_segments", U32)
                .about("How often the same segment may occur in a path.")
                .unit("times")
                .example("5"),
            Key::new("earliest_year", U16)
                .about("Calendar pages of earlier years are a trap.")
                .unit("year")
                .example("1900"),
            Key::new("years_ahead", U16)
                .about("Calendar pages further ahead than this are a trap.")
                .unit("years")
                .example("2"),
            $($own,)*
        ]
    };
}

const DOMAIN_TRAPS: &[Key] = with_trap_keys![];
const TRAPS: &[Key] = with_trap_keys![
    Key::new("domains", Kind::Named(forms::LISTED_DOMAIN, &Kind::Section(DOMAIN_TRAPS)))
        .about("Overrides for a domain and its subdomains; the most specific entry applies.")
        .example("{ calendar.example.com: { enabled: false } }")
];

pub(crate) const BASIC_AUTH: &[Key] = &[
    Key::new("username", Kind::Parsed(forms::USER_NAME))
        .required()
        .alias(&[("user", Unit::Same)])
        .about("The user's name.")
        .example("crawler"),
    Key::new("password", Kind::Text)
        .required()
        .about("The password; better in an environment variable than in the file.")
        .example("\"${SITE_PASSWORD}\""),
];
const LOGIN: &[Key] = &[
    Key::new("url", Kind::Text)
        .required()
        .about("The URL that the form is posted to.")
        .example("https://example.com/login"),
    Key::new("page", Kind::Text)
        .about(
            "The page with the form. It is requested first; its cookies and the hidden fields of its form, such as a token \
             against forged requests, are sent along.",
        )
        .example("https://example.com/login")
        .otherwise("only `fields` are sent"),
    Key::new("fields", Kind::Named(forms::WORD, &Kind::Text))
        .required()
        .about("The fields of the form. A password has to come from an environment variable, which is read when the form is sent.")
        .example("{ user: crawler, password: \"${SITE_PASSWORD}\" }"),
    Key::new("success_text", Kind::Text)
        .about("Text that the response of a successful login contains.")
        .example("Sign out")
        .otherwise("not checked"),
    Key::new("success_cookie", Kind::Text)
        .about("Cookie that a successful login sets.")
        .example("session")
        .otherwise("any cookie, where `success_text` is not given either"),
];
/// The bounds of the command line options.
const CONNECTIONS: Kind = Kind::Whole { least: 1, most: 100_000 };
pub(crate) const CONNECTIONS_PER_HOST: Kind = Kind::Whole { least: 1, most: 10_000 };
pub(crate) const HEADERS: Kind = Kind::Named(forms::HEADER_NAME, &Kind::Parsed(forms::HEADER_VALUE));
pub(crate) const COOKIES: Kind = Kind::Named(forms::COOKIE, &Kind::Parsed(forms::COOKIE));
pub(crate) const PROXY: Kind = Kind::Parsed(forms::PROXY);

/// The keys of a job, which are also the keys of `crawl` for all jobs, after those that only one of them has.
macro_rules! with_job_keys {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            Key::new("scope", Kind::Word(&SCOPES))
                .about("Which hosts are crawled: those of the seeds (`host`), all under their root domains (`domain`), those and their subdomains (`subdomains`), or any."),
            Key::new("include", Kind::List(&Kind::Pattern))
                .about("Patterns on the whole URL: if there are any, one must match.")
                .example("['^https://example\\.com/docs/']"),
            Key::new("exclude", Kind::List(&Kind::Pattern))
                .about("Patterns on the whole URL: none may match.")
                .example("['/tag/', '\\?sort=']"),
            Key::new("blacklist", Kind::List(&Kind::Parsed(forms::LISTED_DOMAIN)))
                .about("Hosts and domains that are never requested, with their subdomains.")
                .example("[ads.example.com]"),
            Key::new("exclude_domains", Kind::List(&Kind::Pattern))
                .about("Patterns on the host name: none may match.")
                .example("['(^|\\.)ads\\.']"),
            Key::new("max_subdomains_per_root", U32).or_null()
                .about("Hosts of one root domain that are crawled.").unit("hosts").example("50").otherwise("no limit"),
            Key::new("max_depth", U32).or_null()
                .about("Distance from a seed, in links; 0 fetches only the seeds, `null` is no limit.").unit("links").example("3"),
            Key::new("max_pages", AT_LEAST_ONE).or_null()
                .about("Pages that a job stores.").unit("pages").example("50000").otherwise("no limit"),
            Key::new("max_pages_per_domain", AT_LEAST_ONE).or_null()
                .about("Pages that a job stores per root domain.").unit("pages").example("1000").otherwise("no limit"),
            Key::new("max_links_per_page", U32)
                .about("Distinct links followed per page; links beyond the limit are reported.").unit("links").example("50000"),
            Key::new("new_urls_per_source", Kind::Section(NEW_URLS))
                .about("How fast pages of one host may add new URLs of other hosts. The excess is delayed, not dropped."),
            Key::new("queue_cap", AT_LEAST_ONE).or_null()
                .about("Maximum queue length of the job; beyond it, URLs of the lowest priority are dropped.").unit("URLs").example("1000000").otherwise("no limit"),
            Key::new("per_host", CONNECTIONS_PER_HOST).or_null()
                .about("Concurrent requests per host.").unit("requests").example("2").otherwise("as in `politeness`"),
            Key::new("concurrency", CONNECTIONS).or_null()
                .about("Concurrent requests in total.").unit("requests").example("200").otherwise("`workers.concurrency`"),
            Key::new("timeout", Kind::SomeTime).alias(&[
                ("fetch_timeout", Unit::Same),
                ("fetch_timeout_seconds", Unit::Seconds),
                ("timeout_seconds", Unit::Seconds),
            ])
                .about("Time limit of one fetch, from the first byte sent to the last received.").example("20s"),
            Key::new("max_redirects", U32)
                .about("Redirects that are followed from one URL.").unit("redirects").example("10"),
            Key::new("max_body", Kind::Size).alias(&[
                ("max_content", Unit::Same),
                ("max_content_bytes", Unit::Bytes),
                ("max_body_bytes", Unit::Bytes),
            ])
                .about("Maximum size of a body after decoding; the rest is truncated.").example("50MB"),
            Key::new("user_agent", Kind::Parsed(forms::USER_AGENT)).or_null()
                .about("`User-Agent` of every request; it should name a contact.")
                .example("\"ExampleBot/1.0 (+https://example.com/bot)\"").otherwise("`Argiope/` with its version"),
            Key::new("headers", HEADERS)
                .about("Headers sent with every request; those that look like credentials only to the hosts of the seeds.").example("{ X-Contact: crawl@example.org }"),
            Key::new("cookies", Kind::WordOr(&CookieJar::WORDS, &COOKIES))
                .about("Cookies sent to the hosts of the seeds, by name. A single word is read as `cookie_jar`.")
                .example("{ consent: \"yes\" }"),
            Key::new("cookie_jar", Kind::Word(&CookieJar::WORDS)).or_null()
                .about("How long cookies that sites set are kept: never, during a redirect chain, while the job runs, or stored with the job.")
                .example("session").otherwise("`redirects`; with `cookies_file` or `login`, `session`"),
            Key::new("cookies_file", Kind::Text).or_null()
                .about("A cookies.txt file to start with, as curl and browser extensions write it.")
                .example("cookies.txt").otherwise("none"),
            Key::new("basic_auth", Kind::Section(BASIC_AUTH))
                .about("User and password sent to the hosts of the seeds.").otherwise("none"),
            Key::new("proxy", PROXY).or_null()
                .about("An HTTP proxy for all requests, or `none`.").example("http://proxy.example:3128")
                .otherwise("`http_proxy`, `https_proxy` and `no_proxy` of the environment"),
            Key::new("insecure", Kind::Flag)
                .about("Do not verify certificates: anyone on the network path can read and change everything."),
            Key::new("respect_robots", Kind::Flag)
                .about("Obey robots.txt. Switch it off for sites of your own only."),
            Key::new("respect_nofollow", Kind::Flag)
                .about("Do not follow links with `rel=nofollow`, nor any link of a page whose robots meta tag or `X-Robots-Tag` says `nofollow`."),
            Key::new("respect_noindex", Kind::Flag)
                .about("Fetch pages whose robots meta tag or `X-Robots-Tag` says `noindex`, and follow their links, but leave them out of exports."),
            Key::new("index_noindex", Kind::Flag).about("Export pages that say `noindex`, too; they stay marked."),
            Key::new("allow_private", Kind::Flag).about("Allow loopback and private addresses."),
            Key::new("archive", Kind::Flag).about("Store requests and responses in the WARC archive."),
            Key::new("sitemaps", Kind::Flag).about("Read the sitemaps that robots.txt names."),
            Key::new("follow_duplicates", Kind::Flag)
                .about("Follow the links of pages that are duplicates: the same content or nearly the same text as an earlier page of the job, or a canonical link to another page."),
            Key::new("duplicate_limit", Kind::Whole { least: 0, most: 1_000_000_000 })
                .about("Original pages of a job that later ones are compared with to find duplicates; beyond it the oldest are forgotten, and the report says so. About 70 bytes of memory each; with 0 no duplicates are found.")
                .unit("pages").example("1000000"),
            Key::new("resources", Kind::Word(&RESOURCES))
                .about("Images, styles, scripts, fonts and media of crawled pages: request each once (`check`), or archive them, too (`keep`).")
                .example("check"),
            Key::new("normal_form", Kind::Section(NORMAL_FORM)).about("Which spellings of a URL are the same page."),
            Key::new("skip_extensions", Kind::List(&Kind::Parsed(forms::EXTENSION)))
                .about("File extensions that are not fetched, without the dot. The list replaces the default one.")
                .example("[jpg, png, zip]"),
            Key::new("max_url_length", Kind::Whole { least: 1, most: Url::MAX_LENGTH as u64 })
                .about("Longer URLs are not requested.").unit("bytes").example("1000"),
            Key::new("max_path_depth", U32_AT_LEAST_ONE)
                .about("Path segments; URLs with more are not requested.").unit("segments").example("30"),
            Key::new("max_query_parameters", U32)
                .about("URLs with more query parameters are not requested.").unit("parameters").example("8"),
            Key::new("strict", Kind::Flag).about("At most 3 query parameters."),
            Key::new("traps", Kind::Section(TRAPS)).about("What counts as a crawler trap."),
            Key::new("authority", Kind::Named(forms::LISTED_DOMAIN, &PERCENT))
                .about("Hosts and root domains whose URLs get a higher priority, by this much (0 to 100).").unit("points").example("{ example.com: 20 }"),
        ]
    };
}

/// `job.yaml`
pub(crate) const JOB: &[Key] = with_job_keys![
    Key::new("name", Kind::Parsed(forms::JOB_NAME))
        .about("Name of the job; the same name resumes the same job.")
        .example("nightly")
        .otherwise("a number"),
    Key::new("seeds", Kind::List(&Kind::Text))
        .about("URLs to start from.")
        .example("[https://example.com/, https://example.org/]"),
    Key::new("login", Kind::Section(LOGIN))
        .or_null()
        .about("A form that is posted before anything is crawled.")
        .otherwise("none"),
    Key::new("delay", Kind::Delay)
        .or_null()
        .alias(&[
            ("delay_seconds", Unit::Seconds),
            ("crawl_delay", Unit::Same),
            ("crawl_delay_seconds", Unit::Seconds),
        ])
        .about("Delay between two requests to a host, unless its domain or class has its own.")
        .example("2s")
        .otherwise("as in `politeness`"),
];

/// Section `crawl`: defaults of all jobs.
const CRAWL: &[Key] = with_job_keys![
    Key::new("default_crawl_delay", Kind::Delay)
        .alias(&[("default_crawl_delay_seconds", Unit::Seconds), ("delay", Unit::Same)])
        .about("The same as `politeness.default_delay`; give one of the two.")
        .example("2s")
        .otherwise("`politeness.default_delay`"),
    Key::new("max_retries", Kind::Whole { least: 0, most: 100 })
        .about("The same as `politeness.retries.max_retries`.")
        .unit("retries")
        .example("5")
        .otherwise("`politeness.retries.max_retries`"),
    Key::new("allow_addresses", Kind::List(&Kind::Parsed(forms::NETWORK)))
        .about("Networks that may be crawled although they are not public.")
        .example("[10.0.0.0/8]"),
    Key::new("extra_authorities", Kind::List(&Kind::Text))
        .about("PEM files with certificate authorities to trust beside the system's.")
        .example("[/etc/ssl/own-ca.pem]"),
];

/// `config.json` of the graph of hosts.
pub(crate) const GRAPH: &[Key] = &[
    Key::new("seed_url", Kind::Text)
        .or_null()
        .about("URL to start from; required, here or on the command line.")
        .example("https://example.com"),
    Key::new("max_depth", U32).about("Distance from the seed, in links.").unit("links").example("3"),
    Key::new("max_crawls_per_node", U32_AT_LEAST_ONE)
        .about("How often one host is crawled.")
        .unit("requests")
        .example("1"),
    Key::new("max_subdomains_per_root", U32_AT_LEAST_ONE)
        .about("Hosts of one root domain; more are recorded and not requested.")
        .unit("hosts")
        .example("10"),
    Key::new("max_outbound_links", Kind::Whole { least: 1, most: 10_000 })
        .about("Links to other hosts that are taken from one page.")
        .unit("links")
        .example("50"),
    Key::new("concurrent_workers", Kind::Whole { least: 1, most: 10_000 })
        .about("Concurrent requests in total.")
        .unit("requests")
        .example("20"),
    Key::new("request_timeout_ms", Kind::Whole { least: 1, most: 3_600_000 })
        .about("For a whole fetch.")
        .unit("milliseconds")
        .example("10000"),
    Key::new("retry_attempts", Kind::Whole { least: 0, most: 100 })
        .about("How often a request that failed is repeated.")
        .unit("retries")
        .example("1"),
    Key::new("retry_delay_ms", Kind::Whole { least: 0, most: 86_400_000 })
        .about("Before a request is repeated.")
        .unit("milliseconds")
        .example("1000"),
    Key::new("db_path", Kind::Text).about("The SQLite file with nodes and edges.").example("graph.db"),
    Key::new("metrics_path", Kind::Text).about("The file with the figures of the run.").example("graph.log"),
    Key::new("allow_private", Kind::Flag).about("Allow loopback and private addresses."),
    Key::new("user_agent", Kind::Parsed(forms::USER_AGENT))
        .or_null()
        .about("`User-Agent` of every request.")
        .example("\"ExampleBot/1.0 (+https://example.com/bot)\"")
        .otherwise("`Argiope/` with its version"),
    Key::new("respect_robots", Kind::Flag).about("Obey robots.txt."),
    Key::new("exclude_domains", Kind::List(&Kind::Pattern))
        .about("Patterns on host names: none may match. The list replaces the default one.")
        .example("[\"(^|\\\\.)ads\\\\.\"]"),
];

const WORKERS: &[Key] = &[
    Key::new("concurrency", CONNECTIONS)
        .about("Concurrent requests on one machine.")
        .unit("requests")
        .example("200"),
    Key::new("concurrency_per_pod", CONNECTIONS)
        .about("Concurrent requests of one worker of a cluster.")
        .unit("requests")
        .example("100"),
    Key::new("pod_count_min", U32)
        .about("Fewest workers that the autoscaling metric requests.")
        .unit("workers")
        .example("2"),
    Key::new("pod_count_max", U32_AT_LEAST_ONE)
        .about("Most workers that the autoscaling metric requests.")
        .unit("workers")
        .example("50"),
];

const STORAGE: &[Key] = &[
    Key::new("metadata_db_url", Kind::Text)
        .or_null()
        .about("The PostgreSQL database of a cluster. With it, commands use the cluster.")
        .example("\"postgres://crawler:${PASSWORD}@db.example:5432/crawler\"")
        .otherwise("none: one machine"),
    Key::new("cache_url", Kind::Text)
        .or_null()
        .about("The Redis server of a cluster.")
        .example("redis://cache.example:6379/0")
        .otherwise("none"),
    Key::new("cache_ttl", Kind::Duration)
        .not_in_effect()
        .alias(&[("cache_ttl_seconds", Unit::Seconds)])
        .about("How long answers of the API come from the cache.")
        .example("10m"),
    Key::new("html_bucket", Kind::Text)
        .or_null()
        .about(
            "The object store of a cluster's archive: a bucket, `s3://NAME`, `gs://NAME` or `file:///PATH`.",
        )
        .example("crawler-html")
        .otherwise("none: the workers' disks"),
    Key::new("html_bucket_region", Kind::Text)
        .or_null()
        .about("The region of the bucket.")
        .example("us-east-1")
        .otherwise("`AWS_REGION`"),
    Key::new("html_endpoint", Kind::Text)
        .or_null()
        .about("The address of an S3 server that is not Amazon's.")
        .example("http://127.0.0.1:9000")
        .otherwise("Amazon's, or Google's for `gs://`"),
    Key::new("archive_layout", Kind::Word(&["warc", "objects"]))
        .about("WARC files, or one object for each page (`{domain}/{year_month}/{url_hash}.html.gz`)."),
    Key::new("archive_file_size", Kind::Size)
        .or_null()
        .about("Size at which an archive file is closed.")
        .example("500MB")
        .otherwise("1GB; 256MB with `html_bucket`"),
    Key::new("archive_file_age", Kind::SomeTime)
        .about("Age at which an archive file that will be uploaded is closed.")
        .example("15m"),
    Key::new("disk_reserve", Kind::Size)
        .or_null()
        .about("Pause requests while less than this is free on the disk.")
        .example("2GB")
        .otherwise("0; 500MB for a worker"),
    Key::new("upload_backlog", Kind::Size)
        .or_null()
        .about("Pause requests while more than this is waiting for upload.")
        .example("5GB")
        .otherwise("no limit"),
];

const TOPICS: &[Key] = &[
    Key::new("top_n", U32_AT_LEAST_ONE)
        .not_in_effect()
        .about("Topics of a page.")
        .unit("topics")
        .example("10"),
    Key::new("ngram_range", Kind::Fixed(2, &Kind::Whole { least: 1, most: 5 }))
        .not_in_effect()
        .about("Words of a topic, fewest and most.")
        .unit("words")
        .example("[1, 3]"),
];

const DNS: &[Key] = &[
    Key::new("resolvers", Kind::List(&Kind::Parsed(forms::RESOLVER)))
        .about("DNS servers, tried in this order.")
        .example("[9.9.9.9, \"[2620:fe::fe]:53\"]")
        .otherwise("those of the system"),
    Key::new("overrides", Kind::Named(forms::HOST_NAME, &Kind::List(&Kind::Parsed(forms::ADDRESS))))
        .about("Addresses of hosts that are not looked up in DNS.")
        .example("{ staging.example.com: [10.1.2.3] }"),
    Key::new("timeout", Kind::SomeTime)
        .alias(&[("timeout_seconds", Unit::Seconds)])
        .about("Time limit of one query.")
        .example("2s"),
    Key::new("attempts", Kind::Whole { least: 1, most: 10 })
        .about("Queries for one name before it fails.")
        .unit("tries")
        .example("2"),
    Key::new("min_ttl", Kind::Duration)
        .alias(&[("min_ttl_seconds", Unit::Seconds)])
        .about("Shortest time that a DNS response is cached.")
        .example("5m"),
    Key::new("max_ttl", Kind::Duration)
        .alias(&[("max_ttl_seconds", Unit::Seconds)])
        .about("Longest time that a DNS response is cached.")
        .example("6h"),
    Key::new("negative_ttl", Kind::Duration)
        .alias(&[("negative_ttl_seconds", Unit::Seconds)])
        .about("How long 'no such name' is cached if the response does not say so.")
        .example("1m"),
    Key::new("cache_size", Kind::Whole { least: 1, most: 100_000_000 })
        .about("Names in the cache.")
        .unit("names")
        .example("1000000"),
];

const SERVER: &[Key] = &[Key::new("listen", Kind::Parsed(forms::LISTEN))
    .or_null()
    .about("Where a worker serves /health, /ready and /metrics, unless `--listen` is given.")
    .example("0.0.0.0:9464")
    .otherwise("nowhere")];

const CLUSTER: &[Key] = &[
    Key::new("name", Kind::Text)
        .or_null()
        .about("The cluster's name, fixed when it is created; a database with another one is refused.")
        .example("production")
        .otherwise("any"),
    Key::new("transport", Kind::Word(&["kafka", "postgres"]))
        .about("How links reach the worker that owns their shard; fixed when the cluster is created."),
    Key::new("kafka_brokers", Kind::Text)
        .or_null()
        .about("`HOST:PORT`; separate several with commas.")
        .example("\"kafka-1:9092,kafka-2:9092\"")
        .otherwise("none"),
    Key::new("kafka_topic_prefix", Kind::Text)
        .or_null()
        .about("Prefix of the topic names, if several clusters share one Kafka.")
        .example("crawl.")
        .otherwise("none"),
    Key::new("kafka_security_protocol", Kind::Word(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]))
        .about("Encryption and authentication, as Kafka clients name it."),
    Key::new("kafka_ssl_ca", Kind::Text)
        .or_null()
        .about("A PEM file with the authorities of the brokers' certificates.")
        .example("/etc/argiope/kafka-ca.pem")
        .otherwise("the system's"),
    Key::new("kafka_sasl_mechanism", Kind::Word(&["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]))
        .about("SASL mechanism of SASL_PLAINTEXT and SASL_SSL."),
    Key::new("kafka_sasl_username", Kind::Text)
        .or_null()
        .about("Required for SASL_PLAINTEXT and SASL_SSL.")
        .example("crawler")
        .otherwise("none"),
    Key::new("kafka_sasl_password", Kind::Text)
        .or_null()
        .about("Required for SASL_PLAINTEXT and SASL_SSL.")
        .example("\"${KAFKA_PASSWORD}\"")
        .otherwise("none"),
    Key::new("kafka_compression", Kind::Word(&["none", "gzip", "snappy", "lz4", "zstd"]))
        .about("Compression of written records; all of these can be read."),
    Key::new("shards", Kind::Whole { least: 1, most: 65_535 })
        .about("Number of shards that root domains are spread over; fixed when a data directory or cluster is created.")
        .unit("shards")
        .example("256"),
    Key::new("wait_for_database", Kind::Duration)
        .or_null()
        .about("How long a running `crawl` or `ingest` waits while PostgreSQL is unavailable; `0s`: not at all, `null`: no limit.")
        .example("10m"),
];

/// `argiope.yaml`
pub(crate) const CONFIG: &[Key] = &[
    Key::new("crawl", Kind::Section(CRAWL)).about("Defaults of all jobs."),
    Key::new("politeness", Kind::Section(POLITENESS))
        .about("Delays, limits and rules for requests to hosts."),
    Key::new("workers", Kind::Section(WORKERS)).about("Concurrency and autoscaling."),
    Key::new("storage", Kind::Section(STORAGE)).about("Storage of a cluster, and disk limits."),
    Key::new("topics", Kind::Section(TOPICS)).about("Topics of pages."),
    Key::new("dns", Kind::Section(DNS)).about("How host names become addresses."),
    Key::new("server", Kind::Section(SERVER)).about("What a worker serves over HTTP."),
    Key::new("cluster", Kind::Section(CLUSTER)).about("What the workers of a cluster share."),
    Key::new("retention", Kind::Section(&[])).about("Has no keys yet: everything is kept."),
];
