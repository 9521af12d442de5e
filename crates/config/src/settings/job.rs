//! The settings of a job: the keys and options that are given, over those it has.

use crate::failure::Failure;
use crate::job::name_problem;
use crate::options::{CrawlOptions, NetworkOptions};
use argiope_fetch::ProfileOptions;
use argiope_model::{JobSpec, Resources};
use serde_json::{Map, Value};

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

pub(super) fn apply_flags(job: &mut JobSpec, options: &CrawlOptions) -> Result<(), Failure> {
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

pub(super) fn check_resources(job: &JobSpec) -> Result<(), Failure> {
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
