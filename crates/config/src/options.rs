//! Options from the command line (or another caller) that override the files. Plain values: the caller parses its
//! options into these.

use argiope_fetch::{Proxies, Proxy};
use argiope_model::{CookieJar, Resources, Scope, parse_duration};
use argiope_politeness::robots::MAX_CRAWL_DELAY;
use std::path::PathBuf;
use std::time::Duration;

/// Options of every command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobalOptions {
    /// The data directory.
    pub data: PathBuf,
    /// Whether `data` was given explicitly. A command that needs no data directory writes there only then.
    pub data_given: bool,
    /// The configuration file; without it `argiope.yaml` in the working directory is read if it exists.
    pub config: Option<PathBuf>,
    /// Write nothing but errors to standard error.
    pub quiet: bool,
}

/// How requests are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkOptions {
    /// `Name: value`, each.
    pub headers: Vec<String>,
    pub proxy: Option<String>,
    /// A PEM file with further certificate authorities.
    pub ca_file: Option<PathBuf>,
    pub insecure: bool,
}

/// A crawl. `None`, empty and false values are left to the files and the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrawlOptions {
    pub seeds: Vec<String>,
    pub list: Option<PathBuf>,
    pub job_files: Vec<PathBuf>,
    pub output: Option<PathBuf>,
    pub depth: Option<u32>,
    pub max_pages: Option<u64>,
    pub scope: Option<Scope>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub max_links: Option<u32>,
    pub max_body: Option<u64>,
    pub no_traps: bool,
    pub no_follow_duplicates: bool,
    pub resources: Option<Resources>,
    pub delay: Option<Duration>,
    pub concurrency: Option<u32>,
    pub per_host: Option<u32>,
    pub timeout: Option<Duration>,
    pub user_agent: Option<String>,
    pub ignore_robots: bool,
    pub allow_private: bool,
    /// A cookies.txt file.
    pub cookies: Option<PathBuf>,
    pub cookie_jar: Option<CookieJar>,
    pub network: NetworkOptions,
    pub no_archive: bool,
    pub name: Option<String>,
    pub fresh: bool,
    pub retry_failed: bool,
}

/// The value for no proxy, which also overrides the environment.
pub const NO_PROXY: &str = Proxies::NONE;

/// The value of a proxy option: [`NO_PROXY`], or the URL of an HTTP proxy.
pub fn proxy(text: &str) -> Result<String, String> {
    if text != NO_PROXY {
        Proxy::parse(text)?;
    }
    Ok(text.to_owned())
}

/// The delay between two requests to a host, with a unit.
pub fn delay(text: &str) -> Result<Duration, String> {
    let delay = parse_duration(text)?;
    if delay > MAX_CRAWL_DELAY { Err(String::from("must be 24h at most")) } else { Ok(delay) }
}
