//! Values that are valid one by one but not together, or that only the crate that uses them can check. Problems are
//! named by their path; the caller knows the line.

use crate::failure::chain;
use crate::file::{ArchiveLayout, ClusterSection, ConfigFile, StorageSection, Transport};
use crate::graph_file::GraphFile;
use crate::job::{SeedProblem, SeedRules, parse_seed};
use crate::settings::{merge_job, politeness_of, profile_of};
use crate::value::pattern_problem;
use argiope_fetch::{AddressPolicy, RequestProfile, Tls, TlsOptions};
use argiope_model::{JobSpec, Login, NormalRules, Url};
use argiope_politeness::{PolitenessError, PolitenessRules};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Problem {
    fn new(path: &str, message: impl Into<String>) -> Problem {
        Problem { path: path.to_owned(), message: message.into() }
    }
}

/// `keys` is what the file contains, `config` the same merged with the defaults.
pub(crate) fn of_config(keys: &Map<String, Value>, config: &ConfigFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let given = |section: &str, key: &str| keys.get(section).and_then(|section| section.get(key)).is_some();
    if given("crawl", "default_crawl_delay") && given("politeness", "default_delay") {
        let message =
            "'politeness.default_delay' and 'crawl.default_crawl_delay' are the same; set only one of them";
        problems.push(Problem::new("politeness.default_delay", message));
    }
    if let Err(errors) = PolitenessRules::compile(&politeness_of(config)) {
        problems.extend(errors.into_iter().map(|error| match error {
            PolitenessError::Setting { subject, problem } => {
                Problem { message: format!("'{subject}': {problem}"), path: subject }
            }
            other => Problem::new("politeness", other.to_string()),
        }));
    }
    match merge_job(JobSpec::default(), &config.crawl.job) {
        Ok(spec) => {
            problems.extend(profile(&spec, "crawl"));
            problems.extend(patterns(&spec, "crawl."));
        }
        Err(error) => problems.push(Problem::new("crawl", error)),
    }
    problems.extend(storage(&config.storage));
    for (at, path) in config.crawl.extra_authorities.iter().enumerate() {
        if let Err(error) = Tls::load(&TlsOptions { extra_authorities: vec![path.clone()] }) {
            let message = format!("'crawl.extra_authorities': {}", chain(&error));
            problems.push(Problem { path: format!("crawl.extra_authorities[{at}]"), message });
        }
    }
    for (domain, entry) in &config.politeness.domain_overrides {
        let spec = JobSpec {
            headers: entry.headers.clone(),
            cookies: entry.cookies.clone(),
            proxy: entry.proxy.clone(),
            basic_auth: entry.basic_auth.clone(),
            ..JobSpec::default()
        };
        let path = format!("politeness.domain_overrides.{domain}");
        problems.extend(profile(&spec, &path));
        if let Some(filters) = &entry.filters {
            let (include, exclude) = (filters.include.clone(), filters.exclude.clone());
            problems.extend(patterns(
                &JobSpec { include, exclude, ..JobSpec::default() },
                &format!("{path}.filters."),
            ));
        }
    }
    problems.extend(kafka(&config.cluster));
    if config.workers.pod_count_min > config.workers.pod_count_max {
        problems
            .push(Problem::new("workers.pod_count_min", "'workers.pod_count_min' is above 'pod_count_max'"));
    }
    let [least, most] = config.topics.ngram_range;
    if least > most {
        problems.push(Problem::new(
            "topics.ngram_range",
            "'topics.ngram_range' is reversed; write the smaller number first",
        ));
    }
    if given("dns", "min_ttl") && config.dns.min_ttl > config.dns.max_ttl {
        problems.push(Problem::new("dns.min_ttl", "'dns.min_ttl' is longer than 'max_ttl'"));
    }
    problems
}

/// Storage of raw pages, as far as it can be checked without a connection.
fn storage(storage: &StorageSection) -> Vec<Problem> {
    let mut problems = Vec::new();
    let needs = |key: &str, other: &str| {
        Problem::new(key, format!("'{key}' has no effect without '{other}'; set that too, or leave both out"))
    };
    if storage.html_bucket.is_none() {
        let depending = [
            ("storage.html_bucket_region", storage.html_bucket_region.is_some()),
            ("storage.html_endpoint", storage.html_endpoint.is_some()),
            ("storage.archive_layout", storage.archive_layout == ArchiveLayout::Objects),
            ("storage.upload_backlog", storage.upload_backlog.is_some()),
        ];
        let given = depending.into_iter().filter(|(_, is_given)| *is_given);
        problems.extend(given.map(|(key, _)| needs(key, "storage.html_bucket")));
    } else if storage.metadata_db_url.is_none() {
        // On one machine the archive stays on its disk.
        problems.push(needs("storage.html_bucket", "storage.metadata_db_url"));
    }
    problems
}

pub(crate) fn of_job(spec: &JobSpec) -> Vec<Problem> {
    let mut problems: Vec<Problem> = profile(spec, "").into_iter().collect();
    problems.extend(patterns(spec, ""));
    problems.extend(spec.login.iter().flat_map(login));
    // Invalid patterns are reported already.
    let Ok(rules) = SeedRules::of(spec, AddressPolicy::allowing_private()) else { return problems };
    for (at, seed) in spec.seeds.iter().enumerate() {
        // The command decides whether a private address may be crawled.
        if let Err(SeedProblem::Unusable(why)) = parse_seed(seed, &rules) {
            problems.push(Problem { path: format!("seeds[{at}]"), message: why });
        }
    }
    problems
}

/// The form is stored with the job as it is written, so it must not contain a password.
fn login(login: &Login) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (key, url) in [("url", Some(&login.url)), ("page", login.page.as_ref())] {
        let Some(Err(error)) = url.map(|url| Url::parse(url, &NormalRules::default())) else { continue };
        let path = format!("login.{key}");
        let message = format!("'{path}': '{}': {error}", url.map_or("", String::as_str));
        problems.push(Problem { path, message });
    }
    for (name, value) in &login.fields {
        let lower = name.to_ascii_lowercase();
        let is_secret = ["pass", "pwd", "secret"].iter().any(|word| lower.contains(word));
        if is_secret && !value.contains("${") {
            let path = format!("login.fields.{name}");
            let message = format!(
                "'{path}' must come from the environment, as in \"${{SITE_PASSWORD}}\", because the file's text \
                 is stored with the job"
            );
            problems.push(Problem { path, message });
        }
    }
    problems
}

pub(crate) fn of_graph(file: &GraphFile) -> Vec<Problem> {
    let spec = JobSpec {
        user_agent: file.user_agent.clone(),
        exclude_domains: file.exclude_domains.clone(),
        ..JobSpec::default()
    };
    let mut problems: Vec<Problem> = profile(&spec, "user_agent").into_iter().collect();
    problems.extend(patterns(&spec, ""));
    let rules = SeedRules::without_bans(spec.normal_form.compile(), AddressPolicy::allowing_private());
    if let Some(Err(SeedProblem::Unusable(why))) =
        file.seed_url.as_deref().map(|seed| parse_seed(seed, &rules))
    {
        problems.push(Problem::new("seed_url", why));
    }
    for (key, path) in [("db_path", &file.db_path), ("metrics_path", &file.metrics_path)] {
        if path.as_os_str().is_empty() {
            problems.push(Problem::new(key, format!("'{key}' does not name a file")));
        }
    }
    problems
}

fn kafka(cluster: &ClusterSection) -> Option<Problem> {
    if cluster.transport == Transport::Kafka && cluster.kafka_brokers.is_none() {
        let message =
            "'cluster.transport': kafka needs 'cluster.kafka_brokers', HOST:PORT with commas between them";
        return Some(Problem::new("cluster.transport", message));
    }
    let protocol = cluster.kafka_security_protocol;
    let login = (&cluster.kafka_sasl_username, &cluster.kafka_sasl_password);
    if protocol.has_login() != matches!(login, (Some(_), Some(_)))
        || matches!(login, (Some(_), None) | (None, Some(_)))
    {
        let message = "'cluster.kafka_sasl_username' and 'cluster.kafka_sasl_password' are required with \
                       'cluster.kafka_security_protocol' SASL_PLAINTEXT or SASL_SSL, and not allowed with others";
        return Some(Problem::new("cluster.kafka_security_protocol", message));
    }
    if cluster.kafka_ssl_ca.is_some() && !protocol.is_encrypted() {
        let message = "'cluster.kafka_ssl_ca' requires 'cluster.kafka_security_protocol' SSL or SASL_SSL";
        return Some(Problem::new("cluster.kafka_ssl_ca", message));
    }
    let prefix = cluster.kafka_topic_prefix.as_deref()?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let message = "'cluster.kafka_topic_prefix' takes letters, digits, '-', '_' and '.', up to 100";
    let is_fine = prefix.len() <= 100 && prefix.chars().all(fits);
    (!is_fine).then(|| Problem::new("cluster.kafka_topic_prefix", message))
}

/// Patterns that are valid one by one may be too large to be compiled together.
fn patterns(spec: &JobSpec, section: &str) -> Vec<Problem> {
    let lists =
        [("include", &spec.include), ("exclude", &spec.exclude), ("exclude_domains", &spec.exclude_domains)];
    let problems = lists.into_iter().filter_map(|(key, list)| {
        let error = regex::RegexSet::new(list).err()?;
        let path = format!("{section}{key}");
        let message = format!("'{path}': the patterns are too large together: {}", pattern_problem(&error));
        Some(Problem { path, message })
    });
    problems.collect()
}

/// Headers, cookies, user agent and proxy have to be valid together.
fn profile(spec: &JobSpec, path: &str) -> Option<Problem> {
    let error = RequestProfile::new(&profile_of(spec)).err()?;
    Some(Problem::new(path, error))
}
