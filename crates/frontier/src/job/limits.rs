//! The settings of a job that the frontier uses.

use argiope_model::{JobSpec, NewUrlRate, NormalForm, Resources, TrapRules};
use std::time::Duration;

/// The job settings that the frontier uses. They may change while the job runs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLimits {
    pub max_pages: Option<u64>,
    pub max_pages_per_domain: Option<u64>,
    pub max_subdomains_per_root: Option<u32>,
    /// Visits to one host, including those of earlier runs (see [`crate::Frontier::visited_host`]).
    pub max_visits_per_host: Option<u32>,
    pub new_urls_per_source: NewUrlRate,
    pub queue_cap: Option<u64>,
    pub delay: Option<Duration>,
    pub per_host: Option<u32>,
    pub respect_robots: bool,
    pub traps: TrapRules,
    pub normal_form: NormalForm,
    /// Whether everything or nothing goes through a proxy. Default: [`crate::Frontier::set_usual_proxies`]. A proxy
    /// resolves names itself.
    pub proxied: Option<bool>,
    /// Resources of pages are requested, too.
    pub resources: bool,
    /// The user agent whose robots.txt rules apply to this job.
    pub agent: Box<str>,
}

impl JobLimits {
    pub fn of(spec: &JobSpec, agent: &str) -> JobLimits {
        JobLimits {
            max_pages: spec.max_pages,
            max_pages_per_domain: spec.max_pages_per_domain,
            max_subdomains_per_root: spec.max_subdomains_per_root,
            max_visits_per_host: None,
            new_urls_per_source: spec.new_urls_per_source,
            queue_cap: spec.queue_cap,
            delay: spec.delay,
            per_host: spec.per_host,
            respect_robots: spec.respect_robots,
            traps: spec.traps.clone(),
            normal_form: spec.normal_form.clone(),
            proxied: spec.proxy.as_ref().map(|proxy| proxy != "none"),
            resources: spec.resources != Resources::Off,
            agent: agent.into(),
        }
    }
}
