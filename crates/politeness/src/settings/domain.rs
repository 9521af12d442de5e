//! Settings for one domain and its subdomains. This crate uses the politeness settings; the rest is passed to the
//! crates that use them.

use super::{AdaptiveSettings, BreakerSettings, RetrySettings, Switch, WindowSettings};
use crate::HumanDuration;
use argiope_model::BasicAuth;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rendering {
    Never,
    Auto,
    Always,
}

/// Patterns on URLs, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// If several entries match a host, the most specific one applies as a whole: an entry inherits nothing from its parent
/// domain's entry, only from the top of the section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DomainSettings {
    #[serde(
        skip_serializing_if = "Option::is_none",
        alias = "crawl_delay",
        alias = "crawl_delay_seconds",
        alias = "delay_seconds"
    )]
    pub delay: Option<HumanDuration>,
    #[serde(skip_serializing, alias = "crawl_delay_ms")]
    pub delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_host: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<WindowSettings>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Switch<AdaptiveSettings>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<Switch<BreakerSettings>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Switch<RetrySettings>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respect_robots: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respect_nofollow: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respect_noindex: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cookies: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// Certificates are not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendering: Option<Rendering>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filters: Option<Filters>,
    /// Rules for extraction, in the form that crate defines.
    #[serde(skip_serializing_if = "Option::is_none", alias = "extraction_rules")]
    pub extraction: Option<serde_json::Value>,
}
