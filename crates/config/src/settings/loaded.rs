//! The configuration file of a command, as it was read.

use crate::error::ConfigError;
use crate::failure::Failure;
use crate::file::ConfigFile;
use crate::options::GlobalOptions;
use crate::read::{Environment, ReadConfig, process_environment, read_config};
use crate::schema::Unset;
use std::path::{Path, PathBuf};

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
    pub(super) fn whole(self) -> Result<LoadedConfig, Failure> {
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
