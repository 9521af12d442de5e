//! Which URLs may enter the frontier, in what order, and why not. Pure decisions on URLs: the links of a page are
//! checked here before they are routed to the shard that owns them, and `why` runs the same functions.
//!
//! * [`rules`]: scope, filters, limits and static traps of one job, compiled once
//! * [`DomainPolicy`]: settings for single domains, for all jobs
//! * [`priority`]: the order of URLs
//! * [`pattern`]: traps that only their pages reveal
//! * [`targets`]: which links of a home page are edges of the graph of hosts

pub mod bans;
pub mod pattern;
pub mod priority;
pub mod rules;
pub mod targets;

mod domain_policy;
mod domains;
mod error;
mod traps;

pub use bans::Bans;
pub use domain_policy::DomainPolicy;
pub use domains::is_domain_entry;
pub use error::AdmissionError;
pub use pattern::{PageText, PatternTable, SeenPage, pattern_of};
pub use priority::{Band, SitemapHints, priority};
pub use rules::{JobRules, Step, is_extension};
pub use targets::{Target, home_page, select_targets};
