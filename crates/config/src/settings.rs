//! The settings of a command: the defaults, overridden by `argiope.yaml`, `job.yaml` and the command line, in this
//! order. Merged and checked once; each crate then gets only its part.

mod effective;
mod job;
mod loaded;
mod notices;
mod output;
mod process;
mod side_by_side;

pub use effective::effective;
pub use job::{apply_network, check_name, merge_job, profile_of};
pub use loaded::{LoadedConfig, load_config, load_config_file, load_config_to_read};
pub use output::{Output, check_folder};
pub use process::{ProcessSettings, add_authorities, addresses_of, politeness_of, reload_politeness};

use job::{apply_flags, check_resources};
use notices::notices;
use output::output_of;

use crate::cookies::{login_form, parse_cookies, read_cookies_file};
use crate::failure::Failure;
use crate::job::{JobIdentity, SeedList, SeedRules, StoredJob, parse_seed};
use crate::options::{CrawlOptions, GlobalOptions};
use crate::read::{JobFile, process_environment, read_job};
use argiope_fetch::cookies::Cookie;
use argiope_fetch::{AddressPolicy, ProfileOptions};
use argiope_model::{JobSpec, LoginForm, PublicSuffixes, Url};
use std::path::{Path, PathBuf};

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

#[cfg(test)]
mod tests;
