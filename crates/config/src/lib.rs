//! Configuration in, typed settings out. The text of a file passes through the modules in this order: `yaml` (a tree with
//! positions), `environment` (`${VAR}`), `schema` with the tables of `keys` (all errors at once, then plain values),
//! `file` (types), `validation` (values that do not fit together); `read` drives them. `settings` merges the defaults,
//! `argiope.yaml`, a job file and the caller's `options` into what a command runs with; `job` turns what a user typed
//! into seeds and the identity of a job. `emit` writes YAML for people, `reference` writes `docs/configuration.md` from
//! the tables. Errors are a [`Failure`].
//!
//! This crate knows no store: where a job is named without its seeds, the caller looks up the stored one.

mod cookies;
mod disk;
mod emit;
mod environment;
mod error;
mod failure;
mod file;
mod forms;
mod graph_file;
mod job;
mod keys;
mod nearest;
mod options;
mod place;
mod politeness_keys;
mod read;
mod reference;
mod schema;
mod settings;
mod validation;
mod value;
mod yaml;

pub use cookies::{login_form, parse_cookies, read_cookies_file, read_cookies_text};
pub use disk::DiskLimits;
pub use emit::{mask_secrets, mask_url, to_yaml};
pub use environment::expand_text as expand;
pub use error::{ConfigError, Position};
pub use failure::{Failure, FailureClass, chain};
pub use file::{
    ArchiveLayout, ClusterSection, ConfigFile, CrawlSection, DnsSection, RetentionSection, SecurityProtocol,
    ServerSection, StorageSection, TopicsSection, Transport, WorkersSection,
};
pub use graph_file::GraphFile;
pub use job::{
    Difference, JobIdentity, SeedList, SeedProblem, SeedRules, StoredJob, address_hint, cannot_resume,
    check_address, compare_for_resume, hex, name_problem, parse_seed, parse_typed,
};
pub use options::{CrawlOptions, GlobalOptions, NO_PROXY, NetworkOptions, delay, proxy};
pub use read::{
    CheckedFile, Environment, FileKind, JobFile, ReadConfig, check_file, process_environment, read_config,
    read_graph, read_job, retain_in_effect,
};
pub use reference::reference;
pub use schema::Unset;
pub use settings::{
    CrawlSettings, FindStoredJob, LoadedConfig, Output, ProcessSettings, add_authorities, addresses_of,
    apply_network, check_folder, check_name, effective, load_config, load_config_file, load_config_to_read,
    merge_job, politeness_of, profile_of, reload_politeness,
};
pub use value::{pattern_problem, size};
