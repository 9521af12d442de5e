//! The section `politeness` of the configuration, as written. [`crate::PolitenessRules::compile`] checks it and creates
//! the rules that the crawl uses.
//!
//! Durations are strings with a unit or bare numbers of seconds; `_seconds`, `_ms` and `_hours` keys are aliases.

mod behaviour;
mod domain;
pub mod forms;
mod switch;

pub use behaviour::{
    AdaptiveSettings, BreakerSettings, RetrySettings, RetryStepsSettings, RobotsSettings, WindowSettings,
};
pub use domain::{DomainSettings, Filters, Rendering};
pub use switch::Switch;

use crate::{HumanDuration, PolitenessError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolitenessSettings {
    /// For hosts without a delay of their domain, class or jobs.
    #[serde(alias = "default_delay_seconds", alias = "default_crawl_delay_seconds")]
    pub default_delay: HumanDuration,
    #[serde(skip_serializing)]
    pub default_delay_ms: Option<u64>,
    /// Delays by kind of site. A domain is in a class only if it is listed there.
    pub classes: BTreeMap<String, ClassSettings>,
    #[serde(alias = "domains")]
    pub domain_overrides: BTreeMap<String, DomainSettings>,
    /// Requests in flight to one host.
    pub per_host: NonZeroU32,
    /// Requests in flight to one IP address, over all its hosts.
    pub per_address: NonZeroU32,
    pub respect_robots: bool,
    pub respect_nofollow: bool,
    pub respect_noindex: bool,
    #[serde(alias = "robots_cache_ttl_seconds")]
    pub robots_cache_ttl: HumanDuration,
    #[serde(skip_serializing)]
    pub robots_cache_ttl_hours: Option<f64>,
    pub robots: RobotsSettings,
    /// A longer `Retry-After` parks the host and is reported.
    #[serde(alias = "park_over_seconds")]
    pub park_over: HumanDuration,
    pub windows: Vec<WindowSettings>,
    pub adaptive: Switch<AdaptiveSettings>,
    pub breaker: Switch<BreakerSettings>,
    pub retries: Switch<RetrySettings>,
}

impl Default for PolitenessSettings {
    fn default() -> PolitenessSettings {
        PolitenessSettings {
            default_delay: HumanDuration::seconds(1),
            default_delay_ms: None,
            classes: BTreeMap::new(),
            domain_overrides: BTreeMap::new(),
            per_host: NonZeroU32::MIN,
            per_address: NonZeroU32::MIN.saturating_add(7),
            respect_robots: true,
            respect_nofollow: true,
            respect_noindex: true,
            robots_cache_ttl: HumanDuration::seconds(24 * 3600),
            robots_cache_ttl_hours: None,
            robots: RobotsSettings::default(),
            park_over: HumanDuration::seconds(3600),
            windows: Vec::new(),
            adaptive: Switch::default(),
            breaker: Switch::default(),
            retries: Switch::default(),
        }
    }
}

impl PolitenessSettings {
    pub(crate) fn default_delay(&self) -> Result<Duration, PolitenessError> {
        let given = unless_default(self.default_delay, PolitenessSettings::default().default_delay);
        let one = one_of(given, self.default_delay_ms, "politeness.default_delay")?;
        Ok(one.unwrap_or(self.default_delay.0))
    }

    pub(crate) fn robots_ttl(&self) -> Result<Duration, PolitenessError> {
        const SUBJECT: &str = "politeness.robots_cache_ttl_hours";
        let Some(hours) = self.robots_cache_ttl_hours else { return Ok(self.robots_cache_ttl.0) };
        if self.robots_cache_ttl != PolitenessSettings::default().robots_cache_ttl {
            return Err(PolitenessError::setting(SUBJECT, "robots_cache_ttl is given too; keep one of them"));
        }
        Duration::try_from_secs_f64(hours * 3600.0)
            .map_err(|_| PolitenessError::setting(SUBJECT, format!("{hours} is not a number of hours")))
    }
}

fn unless_default(value: HumanDuration, default: HumanDuration) -> Option<HumanDuration> {
    (value != default).then_some(value)
}

/// A duration that has two keys may be given under only one.
pub(crate) fn one_of(
    duration: Option<HumanDuration>,
    ms: Option<u64>,
    subject: &str,
) -> Result<Option<Duration>, PolitenessError> {
    match (duration, ms) {
        (Some(_), Some(_)) => {
            Err(PolitenessError::setting(subject, "is given twice, once in milliseconds; keep one of them"))
        }
        (Some(duration), None) => Ok(Some(duration.0)),
        (None, ms) => Ok(ms.map(Duration::from_millis)),
    }
}

/// The predefined classes; a class with another name must give its delay.
pub(crate) fn class_delay(name: &str) -> Option<HumanDuration> {
    match name {
        "general" => Some(HumanDuration::seconds(2)),
        "news" => Some(HumanDuration::seconds(3)),
        "shops" => Some(HumanDuration::seconds(5)),
        _ => None,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassSettings {
    #[serde(
        skip_serializing_if = "Option::is_none",
        alias = "delay_seconds",
        alias = "crawl_delay",
        alias = "crawl_delay_seconds"
    )]
    pub delay: Option<HumanDuration>,
    #[serde(skip_serializing)]
    pub delay_ms: Option<u64>,
    pub domains: Vec<String>,
}
