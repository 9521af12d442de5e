//! What a crawl of the graph of hosts runs with: its own settings over the configuration of the program, which says how
//! names resolve and how hosts are treated.

use argiope_config::{
    ConfigFile, Failure, GlobalOptions, GraphFile, LoadedConfig, ProcessSettings, SeedRules, addresses_of,
    load_config, merge_job, parse_seed, politeness_of, profile_of,
};
use argiope_fetch::{AddressPolicy, RequestProfile};
use argiope_frontier::admission::home_page;
use argiope_model::{JobSpec, Scope, TrapRules, Url};
use argiope_politeness::settings::{RetrySettings, RetryStepsSettings, Switch};
use argiope_politeness::{HumanDuration, PolitenessRules};
use std::path::Path;
use std::time::Duration;

/// Home pages of directories have more links than other pages, and links to other hosts may come late.
const MAX_LINKS_PER_PAGE: u32 = 10_000;

pub struct HostGraphSettings {
    pub(super) process: ProcessSettings,
    pub file: GraphFile,
    /// The seed's home page.
    pub(super) seed: Url,
    pub spec: JobSpec,
    pub(super) addresses: AddressPolicy,
    /// For the user, before the crawl starts.
    pub warnings: Vec<String>,
}

impl HostGraphSettings {
    /// `path` is the file that `file` comes from, if there is one.
    pub fn new(
        options: &GlobalOptions,
        file: GraphFile,
        path: Option<&Path>,
    ) -> Result<HostGraphSettings, Failure> {
        let config = load_config(options)?;
        let process = process_settings(options, &config, &file)?;
        let addresses = addresses_of(&config.file, file.allow_private)?;
        let spec = job_of(&config.file, &file)?;
        RequestProfile::new(&profile_of(&spec)).map_err(Failure::usage)?;
        let seed = seed_of(&file, path, &spec, &addresses)?;
        writable("db_path", &file.db_path)?;
        writable("metrics_path", &file.metrics_path)?;
        Ok(HostGraphSettings { process, file, seed, spec, addresses, warnings: config.warnings().collect() })
    }
}

/// The retries of the graph replace those of the configuration, also for robots.txt: for a user who waits for a host it
/// is the same failure.
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

/// How requests present themselves, and which domains are blocked, is what the configuration says of all jobs.
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
                .hint("give a seed, as in 'argiope graph https://example.com', or a file with -c"),
        });
    };
    let rules = SeedRules::without_bans(spec.normal_form.compile(), addresses.clone());
    let url = parse_seed(text, &rules).map_err(|p| Failure::usage(p.message()).hint(p.hint()))?;
    home_page(&url).ok_or_else(|| Failure::usage(format!("'{url}' has no home page")))
}

/// Checked before the crawl rather than at its end.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(file: GraphFile) -> Result<HostGraphSettings, Failure> {
        let options = GlobalOptions { data: "no-such-directory".into(), ..GlobalOptions::default() };
        HostGraphSettings::new(&options, file, None)
    }

    #[test]
    fn the_seed_stands_for_its_home_page() {
        let file = GraphFile { seed_url: Some(String::from("example.com/a/b?c=d")), ..GraphFile::default() };
        let settings = settings(file).unwrap();
        assert_eq!(settings.seed.as_str(), "https://example.com/");
        assert!(!settings.spec.archive && !settings.spec.sitemaps);
    }

    #[test]
    fn what_cannot_be_written_at_the_end_is_refused_before_the_start() {
        let seed_url = Some(String::from("example.com"));
        let nowhere = "no-such-directory/metrics.log".into();
        let file = GraphFile { seed_url, metrics_path: nowhere, ..GraphFile::default() };
        let failure = settings(file).err().unwrap();
        assert!(failure.messages[0].starts_with("metrics_path"), "{:?}", failure.messages);
        assert!(settings(GraphFile::default()).err().unwrap().messages[0].contains("no seed"));
    }
}
