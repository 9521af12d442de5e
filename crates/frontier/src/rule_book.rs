//! The politeness settings of hosts, and from when on remembered robots.txt results count.

use crate::host::Host;
use crate::state::StoredRobots;
use argiope_model::{Millis, ProxyReach, Url};
use argiope_politeness::{HostRules, PolitenessRules, RobotsNext, RobotsPolicy};
use std::sync::Arc;

pub(crate) struct RuleBook {
    politeness: Arc<PolitenessRules>,
    /// The rules of hosts without settings of their own: nearly all of them.
    common: Arc<HostRules>,
    /// Which requests go through a proxy if a job does not say.
    proxies: ProxyReach,
    /// A robots.txt that was unreachable before this time is fetched again.
    robots_failures_since: Millis,
    /// Every robots.txt from before this time is fetched again.
    robots_since: Millis,
}

impl RuleBook {
    pub(crate) fn new(politeness: Arc<PolitenessRules>) -> RuleBook {
        RuleBook {
            common: Arc::new(politeness.for_host("")),
            politeness,
            proxies: ProxyReach::default(),
            robots_failures_since: Millis(0),
            robots_since: Millis(0),
        }
    }

    /// Whether the robots.txt settings differ from the previous ones.
    pub(crate) fn replace(&mut self, politeness: Arc<PolitenessRules>) -> bool {
        self.common = Arc::new(politeness.for_host(""));
        let old = std::mem::replace(&mut self.politeness, politeness);
        old.robots() != self.politeness.robots()
    }

    pub(crate) fn common(&self) -> &Arc<HostRules> {
        &self.common
    }

    pub(crate) fn robots(&self) -> &RobotsPolicy {
        self.politeness.robots()
    }

    /// Gives a host its rules, if it has none yet. Hosts without settings of their own share one set.
    pub(crate) fn assign(&self, host: &mut Host) {
        if host.rules.is_none() {
            let rules = self.politeness.for_host(&host.name);
            let is_common = rules.domain().is_none() && rules.class().is_none();
            host.rules = Some(if is_common { Arc::clone(&self.common) } else { Arc::new(rules) });
        }
    }

    pub(crate) fn set_proxies(&mut self, reach: ProxyReach) {
        self.proxies = reach;
    }

    pub(crate) fn is_proxied(&self, url: &Url) -> bool {
        self.proxies.covers(url)
    }

    pub(crate) fn forget_robots_failures(&mut self, now: Millis) {
        self.robots_failures_since = now;
    }

    pub(crate) fn forget_robots(&mut self, now: Millis) {
        self.robots_since = now;
    }

    /// Whether a stored robots.txt is older than the time from which on they count.
    pub(crate) fn is_forgotten(&self, stored: &StoredRobots) -> bool {
        let is_failure = stored.status == StoredRobots::NO_ANSWER;
        stored.fetched_at < self.robots_since
            || (is_failure && stored.fetched_at < self.robots_failures_since)
    }

    /// Whether it makes URLs wait.
    pub(crate) fn blocks(&self, stored: &StoredRobots, now: Millis) -> bool {
        let next = self.robots().next(stored.answer(), u8::MAX, stored.fetched_at);
        !self.is_forgotten(stored) && matches!(next, RobotsNext::UnreachableUntil(until) if until > now)
    }
}
