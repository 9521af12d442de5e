//! The settings of a command: the defaults, overridden by `argiope.yaml`, `job.yaml` and the command line, in this
//! order. Merged and checked once; each crate then gets only its part.

mod effective;
mod side_by_side;

pub use effective::effective;

use crate::cookies::{login_form, parse_cookies, read_cookies_file};
use crate::disk::DiskLimits;
use crate::error::ConfigError;
use crate::failure::{Failure, chain};
use crate::file::ConfigFile;
use crate::forms::resolver_address;
use crate::job::{JobIdentity, SeedList, SeedRules, StoredJob, name_problem, parse_seed};
use crate::options::{CrawlOptions, GlobalOptions, NetworkOptions};
use crate::read::{Environment, JobFile, ReadConfig, process_environment, read_config, read_job};
use crate::schema::Unset;
use argiope_fetch::cookies::Cookie;
use argiope_fetch::{AddressPolicy, ProfileOptions, Proxies, ResolverOptions, Tls, TlsOptions, TtlBounds};
use argiope_model::{JobSpec, LoginForm, PublicSuffixes, Resources, Url};
use argiope_politeness::settings::Switch;
use argiope_politeness::{HumanDuration, PolitenessRules, PolitenessSettings};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default configuration file, read if it exists.
const USUAL_FILE: &str = "argiope.yaml";

/// The configuration and where it came from.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    pub path: Option<PathBuf>,
    pub file: ConfigFile,
    /// Values whose environment variables are not set, and which `file` lacks.
    unset: Vec<Unset>,
    /// Keys of the file that are not in effect yet.
    not_in_effect: Vec<ConfigError>,
}

/// Keys of a domain that only matter for requests: what is sent, and through which proxy.
const FOR_REQUESTS: [&str; 4] = ["basic_auth", "headers", "cookies", "proxy"];
/// Keys of `crawl` that are not keys of a job; those are stored with the job.
const RULES_OF_CRAWL: [&str; 3] = ["default_crawl_delay", "max_retries", "allow_addresses"];

impl LoadedConfig {
    /// Fails if a variable of any value is not set.
    fn whole(self) -> Result<LoadedConfig, Failure> {
        if self.unset.is_empty() { Ok(self) } else { Err(unset_failure(&self.unset)) }
    }

    /// Fails if a variable of the keys at or below `path` is not set.
    pub fn needs(&self, path: &str) -> Result<(), Failure> {
        let is_below = |unset: &&Unset| {
            unset.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let missing: Vec<Unset> = self.unset.iter().filter(is_below).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(unset_failure(&missing)) }
    }

    /// Fails if a variable of the rules for URLs and hosts is not set. Values that are only sent with requests may be
    /// missing.
    pub fn needs_rules(&self) -> Result<(), Failure> {
        let is_rule = |unset: &&Unset| match unset.path.split_once('.') {
            Some(("politeness", keys)) => !keys.split('.').any(|key| FOR_REQUESTS.contains(&key)),
            Some(("crawl", key)) => RULES_OF_CRAWL.contains(&key),
            _ => false,
        };
        let missing: Vec<Unset> = self.unset.iter().filter(is_rule).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(unset_failure(&missing)) }
    }

    /// For a command that starts a crawl: one line for each key that is given and not in effect yet.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.not_in_effect.iter().map(|warning| format!("warning: {warning}"))
    }

    /// One line for each value that is left out, for a command that shows the rest.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.unset.iter().map(|unset| format!("{}; '{}' is left out", unset.error, unset.path))
    }
}

fn unset_failure(unset: &[Unset]) -> Failure {
    Failure::from(unset.iter().map(|unset| unset.error.clone()).collect::<Vec<_>>())
        .hint("set the variable, or write the value into the file")
}

/// Settings of the process, for all jobs.
#[derive(Clone, Debug)]
pub struct ProcessSettings {
    pub data: PathBuf,
    /// For a reload.
    pub config_path: Option<PathBuf>,
    pub politeness: PolitenessRules,
    pub resolver: ResolverOptions,
    pub tls: TlsOptions,
    /// Proxies of the environment, for jobs without one.
    pub proxies: Arc<Proxies>,
    /// Concurrent requests in total.
    pub concurrency: u32,
    /// For a new data directory.
    pub shards: u16,
    pub disk: DiskLimits,
    /// Approximate maximum size of an archive file, in bytes.
    pub archive_file_size: u64,
}

/// Where `crawl -o` streams pages to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Stdout,
    Jsonl(PathBuf),
    Csv(PathBuf),
}

impl Output {
    /// `-` for standard output.
    pub fn path(&self) -> PathBuf {
        match self {
            Output::Stdout => PathBuf::from("-"),
            Output::Jsonl(path) | Output::Csv(path) => path.clone(),
        }
    }
}

/// Looks up the stored job of a name that is given without seeds.
pub type FindStoredJob<'f> = &'f dyn Fn(&LoadedConfig, &str) -> Result<StoredJob, Failure>;

/// Settings of `crawl`, for one job.
#[derive(Debug)]
pub struct CrawlSettings {
    pub process: ProcessSettings,
    pub job: JobSpec,
    pub identity: JobIdentity,
    /// Seeds of the command line and the job file, each once; those of `list` are not in it.
    pub seeds: Vec<Url>,
    pub list: Option<SeedList>,
    pub seed_rules: SeedRules,
    pub addresses: AddressPolicy,
    pub profile: ProfileOptions,
    /// From the job's cookies.txt.
    pub cookies: Vec<Cookie>,
    pub login: Option<LoginForm>,
    /// Whether certificate authorities were given on the command line.
    pub has_ca_file: bool,
    pub output: Option<Output>,
    pub fresh: bool,
    /// Failed URLs are retried, even if the job is finished.
    pub retry_failed: bool,
    /// Whether the data directory outlives the command, so that the summary can suggest commands for it.
    pub data_is_kept: bool,
    /// Whether an interrupted job can be resumed.
    pub can_go_on: bool,
    /// Messages for the user before the crawl starts.
    pub notices: Vec<String>,
}

/// Reads `--config`, or else the default file if it exists. Every variable in it has to be set.
pub fn load_config(global: &GlobalOptions) -> Result<LoadedConfig, Failure> {
    load_config_to_read(global)?.whole()
}

/// For commands that send no requests: variables may be unset; [`LoadedConfig::needs`] checks the values that a command
/// uses.
pub fn load_config_to_read(global: &GlobalOptions) -> Result<LoadedConfig, Failure> {
    let path = match &global.config {
        Some(path) => path.clone(),
        None if Path::new(USUAL_FILE).is_file() => PathBuf::from(USUAL_FILE),
        None => return Ok(LoadedConfig::default()),
    };
    load_config_file(path, &process_environment)
}

/// Reads a configuration file.
pub fn load_config_file(path: PathBuf, environment: Environment<'_>) -> Result<LoadedConfig, Failure> {
    let ReadConfig { file, unset, not_in_effect } = read_config(&path, environment)?;
    Ok(LoadedConfig { path: Some(path), file, unset, not_in_effect })
}

/// For a running crawl: reads the politeness section again.
pub fn reload_politeness(path: &Path) -> Result<PolitenessRules, Failure> {
    let config = load_config_file(path.to_owned(), &process_environment)?.whole()?;
    PolitenessRules::compile(&politeness_of(&config.file)).map_err(Failure::usage_all)
}

impl ProcessSettings {
    pub fn new(global: &GlobalOptions, config: &LoadedConfig) -> Result<ProcessSettings, Failure> {
        let file = &config.file;
        let politeness = PolitenessRules::compile(&politeness_of(file)).map_err(Failure::usage_all)?;
        Ok(ProcessSettings {
            data: global.data.clone(),
            config_path: config.path.clone(),
            politeness,
            resolver: resolver_of(file),
            tls: TlsOptions { extra_authorities: file.crawl.extra_authorities.clone() },
            proxies: Arc::new(proxies_of_environment()?),
            concurrency: file.workers.concurrency,
            shards: file.cluster.shards,
            disk: DiskLimits::of(&file.storage),
            archive_file_size: file.storage.archive_file_size(),
        })
    }
}

impl CrawlSettings {
    /// One for each job file, or one without a job file.
    pub fn all(
        global: &GlobalOptions,
        options: &CrawlOptions,
        stored: FindStoredJob<'_>,
    ) -> Result<Vec<CrawlSettings>, Failure> {
        let config = load_config(global)?;
        let read = |path: &PathBuf| read_job(path, &process_environment);
        match options.job_files.as_slice() {
            [] => Ok(vec![CrawlSettings::merge(global, options, &config, None, stored)?]),
            [one] => Ok(vec![CrawlSettings::merge(global, options, &config, Some(&read(one)?), stored)?]),
            several => {
                side_by_side::check_options(options)?;
                let merge = |path| CrawlSettings::merge(global, options, &config, Some(&read(path)?), stored);
                let mut all = several.iter().map(merge).collect::<Result<Vec<_>, Failure>>()?;
                side_by_side::reconcile(several, &mut all)?;
                Ok(all)
            }
        }
    }

    /// From the options alone, without any file.
    pub fn without_files(global: &GlobalOptions, options: &CrawlOptions) -> Result<CrawlSettings, Failure> {
        CrawlSettings::merge(global, options, &LoadedConfig::default(), None, &no_stored_job)
    }

    fn merge(
        global: &GlobalOptions,
        options: &CrawlOptions,
        config: &LoadedConfig,
        job_file: Option<&JobFile>,
        stored: FindStoredJob<'_>,
    ) -> Result<CrawlSettings, Failure> {
        let mut process = ProcessSettings::new(global, config)?;
        let known = match name_alone(options, job_file) {
            Some(name) => Some((name, stored(config, name)?)),
            None => None,
        };
        let mut job = match &known {
            Some((_, stored)) => stored.spec.clone(),
            None => merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?,
        };
        if let Some(file) = job_file {
            job = merge_job(job, &file.keys).map_err(Failure::usage)?;
        }
        apply_flags(&mut job, options)?;
        add_authorities(&mut process.tls, options.network.ca_file.as_deref())?;
        if let Some((name, known)) = &known
            && !options.fresh
            && !options.retry_failed
            && !known.continues_with(&job)
        {
            return Err(is_finished(name));
        }
        job.name.as_deref().map_or(Ok(()), check_name)?;
        check_resources(&job)?;
        process.concurrency = job.concurrency.unwrap_or(process.concurrency);
        let addresses = addresses_of(&config.file, job.allow_private)?;
        let output = options.output.as_deref().map(output_of).transpose()?;
        let seed_rules = SeedRules::of(&job, addresses.clone()).map_err(Failure::usage)?;
        let seeds = seeds_of(&job.seeds, &seed_rules)?;
        let list = options.list.as_deref().map(|path| SeedList::open(path, &seed_rules)).transpose()?;
        if seeds.is_empty() && list.is_none() {
            return Err(no_seed());
        }
        job.seeds = seeds.iter().map(|url| url.as_str().to_owned()).collect();
        let identity = JobIdentity::new(
            job.name.as_deref(),
            &seeds,
            list.as_ref().map(|list| list.digest.as_str()),
            job_file.map(|file| file.content.as_slice()),
        );
        let profile = profile_of(&job);
        argiope_fetch::RequestProfile::new(&profile).map_err(Failure::usage)?;
        let cookies = match &job.cookies_file {
            None => Vec::new(),
            Some(path) => {
                let text = read_cookies_file(Path::new(path))?;
                parse_cookies(&text, &PublicSuffixes::bundled()).map_err(Failure::usage)?
            }
        };
        let login = job.login.as_ref().map(|login| login_form(login, &process_environment)).transpose()?;
        let notices = notices(&job, list.as_ref(), config, &process);
        Ok(CrawlSettings {
            process,
            job,
            identity,
            seeds,
            list,
            seed_rules,
            addresses,
            profile,
            cookies,
            login,
            has_ca_file: options.network.ca_file.is_some(),
            output,
            fresh: options.fresh,
            retry_failed: options.retry_failed,
            data_is_kept: true,
            can_go_on: true,
            notices,
        })
    }
}

/// The name of a job that is given without a seed: its seeds and settings are those it was started with.
fn name_alone<'n>(options: &'n CrawlOptions, job_file: Option<&'n JobFile>) -> Option<&'n str> {
    let key = |key: &str| job_file.and_then(|file| file.keys.get(key));
    if !options.seeds.is_empty() || options.list.is_some() || key("seeds").is_some() {
        return None;
    }
    options.name.as_deref().or_else(|| key("name")?.as_str())
}

fn is_finished(name: &str) -> Failure {
    Failure::usage(format!("job {name} is finished")).hint(
        "add --fresh to crawl its seeds again, --retry-failed to request again what failed, or a higher --max-pages if it \
         ended at that limit",
    )
}

/// For callers without a store.
fn no_stored_job(_: &LoadedConfig, _: &str) -> Result<StoredJob, Failure> {
    Err(no_seed())
}

fn no_seed() -> Failure {
    Failure::usage("no seed was given").hint(
        "give a URL to start from, as in 'argiope crawl https://example.com', or a list with --list FILE",
    )
}

/// Sets the keys that are given; sections are merged key by key, lists replaced.
pub fn merge_job(base: JobSpec, keys: &Map<String, Value>) -> Result<JobSpec, String> {
    let mut merged = serde_json::to_value(base).map_err(|error| error.to_string())?;
    overlay(&mut merged, keys);
    serde_json::from_value(merged).map_err(|error| error.to_string())
}

fn overlay(base: &mut Value, keys: &Map<String, Value>) {
    let Value::Object(map) = base else { return };
    for (key, value) in keys {
        match (map.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(keys)) => overlay(inner, keys),
            _ => {
                map.insert(key.clone(), value.clone());
            }
        }
    }
}

fn apply_flags(job: &mut JobSpec, options: &CrawlOptions) -> Result<(), Failure> {
    job.seeds.extend(options.seeds.iter().cloned());
    job.name = options.name.clone().or(job.name.take());
    job.max_depth = options.depth.or(job.max_depth);
    job.max_pages = options.max_pages.or(job.max_pages);
    job.max_links_per_page = options.max_links.unwrap_or(job.max_links_per_page);
    job.max_body = options.max_body.unwrap_or(job.max_body);
    if options.no_traps {
        job.traps.enabled = false;
        job.traps.domains.clear();
    }
    job.follow_duplicates &= !options.no_follow_duplicates;
    job.scope = options.scope.unwrap_or(job.scope);
    job.delay = options.delay.or(job.delay);
    job.concurrency = options.concurrency.or(job.concurrency);
    job.per_host = options.per_host.or(job.per_host);
    job.timeout = options.timeout.unwrap_or(job.timeout);
    job.user_agent = options.user_agent.clone().or(job.user_agent.take());
    if !options.include.is_empty() {
        job.include = options.include.clone();
    }
    if !options.exclude.is_empty() {
        job.exclude = options.exclude.clone();
    }
    job.respect_robots &= !options.ignore_robots;
    job.allow_private |= options.allow_private;
    job.archive &= !options.no_archive;
    job.resources = options.resources.unwrap_or(job.resources);
    job.cookie_jar = options.cookie_jar.or(job.cookie_jar);
    if let Some(path) = &options.cookies {
        job.cookies_file = Some(path.display().to_string());
    }
    apply_network(job, &options.network)
}

/// Applies the options for requests to a job.
pub fn apply_network(job: &mut JobSpec, options: &NetworkOptions) -> Result<(), Failure> {
    for header in &options.headers {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            Failure::usage("--header takes a name, a colon and a value")
                .hint("as in --header 'X-Team: search'")
        })?;
        let (name, value) = (name.trim(), value.trim());
        let profile = ProfileOptions {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..ProfileOptions::default()
        };
        // The error does not show the value, which may be a password.
        let shown = name.escape_debug();
        let problem = match argiope_fetch::RequestProfile::problem_with_header(name) {
            Some(problem) if name.is_empty() => problem.to_owned(),
            Some(problem) => format!("'{shown}' {problem}"),
            None if argiope_fetch::RequestProfile::new(&profile).is_ok() => String::new(),
            None => format!("'{shown}' cannot be sent with this value: a value is one line"),
        };
        if !problem.is_empty() {
            return Err(
                Failure::usage(format!("--header: {problem}")).hint("as in --header 'X-Team: search'")
            );
        }
        job.headers.retain(|known, _| !known.eq_ignore_ascii_case(name));
        job.headers.insert(name.to_owned(), value.to_owned());
    }
    if let Some(proxy) = &options.proxy {
        job.proxy = Some(proxy.clone());
    }
    job.insecure |= options.insecure;
    Ok(())
}

/// Adds a PEM file, and checks at once that it can be used.
pub fn add_authorities(tls: &mut TlsOptions, file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    tls.extra_authorities.push(file.to_owned());
    Tls::load(tls).map(|_| ()).map_err(|error| Failure::usage(chain(&error)))
}

fn proxies_of_environment() -> Result<Proxies, Failure> {
    Proxies::from_environment(&process_environment).map_err(|error| {
        Failure::usage(error).hint("name an HTTP proxy, http://HOST:PORT, or unset the variable")
    })
}

fn check_resources(job: &JobSpec) -> Result<(), Failure> {
    if job.resources == Resources::Keep && !job.archive {
        let message = "resources are kept in the archive, and this job has none";
        return Err(Failure::usage(message).hint("leave out --no-archive, or use --resources check"));
    }
    Ok(())
}

pub fn check_name(name: &str) -> Result<(), Failure> {
    match name_problem(name) {
        None => Ok(()),
        Some(problem) => {
            Err(Failure::usage(format!("'{}' cannot be the name of a job: {problem}", name.escape_debug())))
        }
    }
}

/// Reports every invalid seed, with the hint for the first.
fn seeds_of(texts: &[String], rules: &SeedRules) -> Result<Vec<Url>, Failure> {
    let mut seeds: Vec<Url> = Vec::new();
    let mut problems = Vec::new();
    for text in texts {
        match parse_seed(text, rules) {
            Ok(url) if seeds.contains(&url) => {}
            Ok(url) => seeds.push(url),
            Err(problem) => problems.push(problem),
        }
    }
    match problems.first() {
        None => Ok(seeds),
        Some(first) => Err(Failure::usage_all(problems.iter().map(|p| p.message())).hint(first.hint())),
    }
}

fn output_of(path: &Path) -> Result<Output, Failure> {
    if path == Path::new("-") {
        return Ok(Output::Stdout);
    }
    check_folder(path)?;
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl" | "ndjson") => Ok(Output::Jsonl(path.to_owned())),
        Some("csv") => Ok(Output::Csv(path.to_owned())),
        _ => Err(Failure::usage(format!("unknown format of '{}'", path.display()))
            .hint("-o takes a file that ends in .jsonl or .csv, or - for JSONL on stdout; 'argiope export' has more formats")),
    }
}

/// Fails if the directory of an output file does not exist.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let (file, folder) = (path.display(), folder.display());
            Err(Failure::usage(format!("cannot write '{file}': there is no directory '{folder}'"))
                .hint("make the directory first, or name another file"))
        }
    }
}

/// The section `politeness`, with the keys of `crawl` that belong to it.
pub fn politeness_of(file: &ConfigFile) -> PolitenessSettings {
    let mut politeness = file.politeness.clone();
    if let Some(delay) = file.crawl.default_crawl_delay {
        politeness.default_delay = HumanDuration(delay);
    }
    if let (Switch::On(retries), Some(most)) = (&mut politeness.retries, file.crawl.max_retries) {
        retries.max_retries.get_or_insert(most);
    }
    politeness
}

fn resolver_of(file: &ConfigFile) -> ResolverOptions {
    let dns = &file.dns;
    ResolverOptions {
        resolvers: dns.resolvers.iter().filter_map(|text| resolver_address(text)).collect(),
        overrides: dns.overrides.iter().map(|(name, addresses)| (name.clone(), addresses.clone())).collect(),
        timeout: dns.timeout,
        attempts: usize::from(dns.attempts),
        ttl: TtlBounds {
            shortest: dns.min_ttl.min(dns.max_ttl),
            longest: dns.max_ttl,
            negative_default: dns.negative_ttl,
        },
        capacity: dns.cache_size,
        ..ResolverOptions::default()
    }
}

/// Which addresses may be connected to.
pub fn addresses_of(file: &ConfigFile, allow_private: bool) -> Result<AddressPolicy, Failure> {
    let networks = file.crawl.allow_addresses.iter().map(|text| AddressPolicy::parse_network(text));
    let allowed = networks.collect::<Result<_, _>>().map_err(Failure::usage)?;
    Ok(AddressPolicy { allow_private, allowed })
}

/// Headers, cookies, credentials and proxy of the job's requests.
pub fn profile_of(job: &JobSpec) -> ProfileOptions {
    let cookies: Vec<String> = job.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    ProfileOptions {
        user_agent: job.user_agent.clone(),
        headers: job.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        cookie: (!cookies.is_empty()).then(|| cookies.join("; ")),
        basic_auth: job.basic_auth.as_ref().map(|auth| (auth.username.clone(), auth.password.clone())),
        proxy: job.proxy.clone(),
        insecure: job.insecure,
        ..ProfileOptions::default()
    }
}

fn notices(
    job: &JobSpec,
    list: Option<&SeedList>,
    config: &LoadedConfig,
    process: &ProcessSettings,
) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(path) = &config.path {
        notices.push(format!("configuration: {}", path.display()));
    }
    notices.extend(config.warnings());
    if !job.respect_robots {
        notices.push(String::from(
            "WARNING: robots.txt is IGNORED in this crawl. Do this only to sites of your own; others may block you.",
        ));
    }
    let unchecked: Vec<&str> = config
        .file
        .politeness
        .domain_overrides
        .iter()
        .filter(|(_, entry)| entry.insecure == Some(true))
        .map(|(domain, _)| domain.as_str())
        .collect();
    if job.insecure || !unchecked.is_empty() {
        let whose = if job.insecure { String::from("all hosts") } else { unchecked.join(", ") };
        notices.push(format!(
            "WARNING: certificates of {whose} are NOT CHECKED in this crawl: anyone on the network path can read and \
             change what is sent, including passwords and cookies. --ca-file trusts an authority of your own instead."
        ));
    }
    if job.proxy.is_none() {
        for (scheme, proxy) in process.proxies.places() {
            notices.push(format!("{scheme} requests use the proxy {proxy} of the environment"));
        }
    }
    if let Some(list) = list.filter(|list| list.unusable > 0) {
        notices.extend(list.problems.iter().map(|problem| format!("warning: {problem}; ignored")));
        let more = list.unusable.saturating_sub(list.problems.len() as u64);
        if more > 0 {
            let lines = argiope_model::display::counted(more, "more line", "more lines");
            notices.push(format!("warning: {}: {lines} skipped", list.name()));
        }
    }
    notices
}

#[cfg(test)]
mod tests;
