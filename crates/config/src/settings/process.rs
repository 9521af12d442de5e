//! The settings of the process, for all jobs.

use super::loaded::{LoadedConfig, load_config_file};
use crate::disk::DiskLimits;
use crate::failure::{Failure, chain};
use crate::file::ConfigFile;
use crate::forms::resolver_address;
use crate::options::GlobalOptions;
use crate::read::process_environment;
use argiope_fetch::{AddressPolicy, Proxies, ResolverOptions, Tls, TlsOptions, TtlBounds};
use argiope_politeness::settings::Switch;
use argiope_politeness::{HumanDuration, PolitenessRules, PolitenessSettings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// For a running crawl: reads the politeness section again.
pub fn reload_politeness(path: &Path) -> Result<PolitenessRules, Failure> {
    let config = load_config_file(path.to_owned(), &process_environment)?.whole()?;
    PolitenessRules::compile(&politeness_of(&config.file)).map_err(Failure::usage_all)
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
