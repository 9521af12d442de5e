//! What a crawl of the graph runs with: defaults, below the file given with `-c`, below the command line; over the
//! configuration of the program, which says how names resolve and how hosts are treated.

use crate::cli::GraphCrawlArgs;
use argiope_config::{
    ConfigFile, Failure, GlobalOptions, GraphFile, LoadedConfig, ProcessSettings, SeedRules, addresses_of,
    load_config, merge_job, parse_seed, politeness_of, process_environment, profile_of, read_graph,
};
use argiope_fetch::{AddressPolicy, RequestProfile};
use argiope_frontier::admission::home_page;
use argiope_model::{JobSpec, Scope, TrapRules, Url};
use argiope_politeness::settings::{RetrySettings, RetryStepsSettings, Switch};
use argiope_politeness::{HumanDuration, PolitenessRules};
use std::path::Path;
use std::time::Duration;

/// Home pages of directories have more links than other pages, and those to other hosts may come late.
const MAX_LINKS_PER_PAGE: u32 = 10_000;

pub(super) struct GraphSettings {
    pub(super) process: ProcessSettings,
    pub(super) file: GraphFile,
    /// The seed's home page.
    pub(super) seed: Url,
    pub(super) spec: JobSpec,
    pub(super) addresses: AddressPolicy,
    /// For the user, before the crawl starts.
    pub(super) warnings: Vec<String>,
}

impl GraphSettings {
    pub(super) fn new(global: &GlobalOptions, args: &GraphCrawlArgs) -> Result<GraphSettings, Failure> {
        let config = load_config(global)?;
        let mut file = match &args.file {
            Some(path) => read_graph(path, &process_environment)?,
            None => GraphFile::default(),
        };
        apply_flags(&mut file, args);
        let process = process_settings(global, &config, &file)?;
        let addresses = addresses_of(&config.file, file.allow_private)?;
        let spec = job_of(&config.file, &file)?;
        RequestProfile::new(&profile_of(&spec)).map_err(Failure::usage)?;
        let seed = seed_of(&file, args.file.as_deref(), &spec, &addresses)?;
        writable("db_path", &file.db_path)?;
        writable("metrics_path", &file.metrics_path)?;
        Ok(GraphSettings { process, file, seed, spec, addresses, warnings: config.warnings().collect() })
    }
}

fn apply_flags(file: &mut GraphFile, args: &GraphCrawlArgs) {
    fn set<T: Clone>(place: &mut T, given: &Option<T>) {
        if let Some(value) = given {
            place.clone_from(value);
        }
    }
    file.seed_url = args.seed_url.clone().or(file.seed_url.take());
    file.user_agent = args.user_agent.clone().or(file.user_agent.take());
    set(&mut file.max_depth, &args.max_depth);
    set(&mut file.max_crawls_per_node, &args.max_crawls_per_node);
    set(&mut file.max_subdomains_per_root, &args.max_subdomains_per_root);
    set(&mut file.max_outbound_links, &args.max_outbound_links);
    set(&mut file.concurrent_workers, &args.concurrent_workers);
    set(&mut file.request_timeout_ms, &args.request_timeout_ms);
    set(&mut file.retry_attempts, &args.retry_attempts);
    set(&mut file.retry_delay_ms, &args.retry_delay_ms);
    set(&mut file.db_path, &args.db_path);
    set(&mut file.metrics_path, &args.metrics_path);
    if !args.exclude_domains.is_empty() {
        file.exclude_domains.clone_from(&args.exclude_domains);
    }
    file.respect_robots &= !args.ignore_robots;
    file.allow_private |= args.allow_private;
}

/// The retries of the graph stand in for those of the configuration, robots.txt included: to who waits for a host it is
/// one and the same failure.
fn process_settings(
    global: &GlobalOptions,
    config: &LoadedConfig,
    file: &GraphFile,
) -> Result<ProcessSettings, Failure> {
    let mut process = ProcessSettings::new(global, config)?;
    let mut politeness = politeness_of(&config.file);
    let delay = HumanDuration(Duration::from_millis(file.retry_delay_ms));
    let steps = || {
        Some(RetryStepsSettings { times: Some(file.retry_attempts), after: Some(delay), growth: Some(1.0) })
    };
    politeness.retries = Switch::On(RetrySettings {
        busy: steps(),
        server_error: steps(),
        no_answer: steps(),
        jitter: Some(0.0),
        max_retries: Some(file.retry_attempts),
    });
    politeness.robots.retry_after = Some(vec![delay; usize::from(file.retry_attempts)]);
    politeness.robots.timeout.get_or_insert(HumanDuration(Duration::from_millis(file.request_timeout_ms)));
    process.politeness = PolitenessRules::compile(&politeness).map_err(Failure::usage_all)?;
    process.concurrency = file.concurrent_workers;
    Ok(process)
}

/// How requests present themselves, and which domains are black, is what the configuration says of all jobs.
fn job_of(config: &ConfigFile, file: &GraphFile) -> Result<JobSpec, Failure> {
    let base = merge_job(JobSpec::default(), &config.crawl.job).map_err(Failure::usage)?;
    Ok(JobSpec {
        scope: Scope::Any,
        exclude_domains: file.exclude_domains.clone(),
        max_subdomains_per_root: Some(file.max_subdomains_per_root),
        max_depth: Some(file.max_depth),
        max_links_per_page: MAX_LINKS_PER_PAGE,
        timeout: Duration::from_millis(file.request_timeout_ms),
        user_agent: file.user_agent.clone().or(base.user_agent),
        respect_robots: file.respect_robots,
        respect_nofollow: file.respect_robots,
        allow_private: file.allow_private,
        blacklist: base.blacklist,
        delay: base.delay,
        per_host: base.per_host,
        max_redirects: base.max_redirects,
        max_body: base.max_body,
        headers: base.headers,
        proxy: base.proxy,
        insecure: base.insecure,
        cookie_jar: base.cookie_jar,
        normal_form: base.normal_form,
        archive: false,
        sitemaps: false,
        traps: TrapRules { enabled: false, ..TrapRules::default() },
        ..JobSpec::default()
    })
}

fn seed_of(
    file: &GraphFile,
    path: Option<&Path>,
    spec: &JobSpec,
    addresses: &AddressPolicy,
) -> Result<Url, Failure> {
    let Some(text) = &file.seed_url else {
        return Err(match path {
            Some(path) => Failure::usage(format!("{}: lacks 'seed_url'", path.display()))
                .hint("add \"seed_url\": \"https://example.com\", or give the seed on the command line"),
            None => Failure::usage("no seed was given")
                .hint("name a place to start, as in 'argiope graph https://example.com', or a file with -c"),
        });
    };
    let rules = SeedRules::without_bans(spec.normal_form.compile(), addresses.clone());
    let url = parse_seed(text, &rules).map_err(|p| Failure::usage(p.message()).hint(p.hint()))?;
    home_page(&url).ok_or_else(|| Failure::usage(format!("'{url}' has no home page")))
}

/// Found out before the crawl rather than at its end.
fn writable(key: &str, path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let problem = if path.is_dir() {
        String::from("it is a directory")
    } else if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        format!("there is no directory '{}'", folder.display())
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("{key} '{}' cannot be written: {problem}", path.display()))
        .hint("make the directory first, or name another file"))
}
