//! The politeness section, checked and compiled: which rules apply to a host, and the resulting delay. Immutable; a
//! reload of the configuration creates a new one.

use crate::settings::{
    ClassSettings, DomainSettings, Filters, PolitenessSettings, Rendering, WindowSettings, class_delay,
    one_of,
};
use crate::{AdaptivePolicy, BreakerPolicy, PolitenessError, RetryPolicy, RobotsPolicy, Windows};
use argiope_model::{BasicAuth, Millis, NormalRules, Url};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Where the delay of a host comes from, before robots.txt, windows and the host's responses lengthen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelaySource<'r> {
    Domain(&'r str),
    Class(&'r str),
    Job,
    Default,
}

/// Settings that exist globally and per domain.
#[derive(Clone, Debug)]
struct Behaviour {
    windows: Windows,
    adaptive: AdaptivePolicy,
    breaker: BreakerPolicy,
    retries: RetryPolicy,
    respect_robots: bool,
    respect_nofollow: bool,
    respect_noindex: bool,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            windows: Windows::default(),
            adaptive: AdaptivePolicy::default(),
            breaker: BreakerPolicy::default(),
            retries: RetryPolicy::default(),
            respect_robots: true,
            respect_nofollow: true,
            respect_noindex: true,
        }
    }
}

#[derive(Debug)]
struct Shared {
    default_delay: Duration,
    per_host: NonZeroU32,
    per_address: NonZeroU32,
    robots: RobotsPolicy,
    park_over: Duration,
    behaviour: Behaviour,
}

#[derive(Debug)]
struct Class {
    name: String,
    delay: Duration,
}

/// The entry for a domain. Its politeness is reached through [`HostRules`].
#[derive(Debug)]
pub struct DomainRules {
    /// The domain as configured, in normal form.
    pub name: String,
    delay: Option<Duration>,
    per_host: Option<NonZeroU32>,
    behaviour: Behaviour,
    pub headers: BTreeMap<String, String>,
    pub cookies: BTreeMap<String, String>,
    pub basic_auth: Option<BasicAuth>,
    pub proxy: Option<String>,
    pub insecure: Option<bool>,
    pub rendering: Option<Rendering>,
    pub filters: Option<Filters>,
    pub extraction: Option<serde_json::Value>,
}

#[derive(Clone, Debug)]
pub struct PolitenessRules {
    shared: Arc<Shared>,
    domains: HashMap<String, Arc<DomainRules>>,
    classes: HashMap<String, Arc<Class>>,
}

impl PolitenessRules {
    /// All problems of the settings are reported together.
    pub fn compile(settings: &PolitenessSettings) -> Result<PolitenessRules, Vec<PolitenessError>> {
        let mut problems = Problems::default();
        let breaker = settings.breaker.over(BreakerPolicy::default(), "politeness.breaker");
        let retries = settings.retries.over(RetryPolicy::default(), "politeness.retries");
        let behaviour = Behaviour {
            windows: windows(&settings.windows, "politeness.windows", &mut problems),
            adaptive: settings.adaptive.over(AdaptivePolicy::default()),
            breaker: problems.note(breaker).unwrap_or_default(),
            retries: problems.note(retries).unwrap_or_default(),
            respect_robots: settings.respect_robots,
            respect_nofollow: settings.respect_nofollow,
            respect_noindex: settings.respect_noindex,
        };
        let mut domains = HashMap::new();
        for (key, entry) in &settings.domain_overrides {
            let subject = format!("politeness.domain_overrides.{key}");
            let name = problems.note(domain_name(key, &subject)).unwrap_or_default();
            let rules = DomainRules::compile(name.clone(), entry, &behaviour, &subject, &mut problems);
            if !name.is_empty() && domains.insert(name, Arc::new(rules)).is_some() {
                problems.add(PolitenessError::setting(subject, "another key names the same domain"));
            }
        }
        let mut robots = settings.robots.over(RobotsPolicy::default());
        robots.ttl = problems.note(settings.robots_ttl()).unwrap_or_default();
        let shared = Shared {
            default_delay: problems.note(settings.default_delay()).unwrap_or_default(),
            per_host: settings.per_host,
            per_address: settings.per_address,
            robots,
            park_over: settings.park_over.0,
            behaviour,
        };
        let classes = classes(&settings.classes, &mut problems);
        if problems.found.is_empty() {
            Ok(PolitenessRules { shared: Arc::new(shared), domains, classes })
        } else {
            Err(problems.found)
        }
    }

    /// The entries of `domain_overrides`, in no order.
    pub fn domains(&self) -> impl Iterator<Item = &DomainRules> {
        self.domains.values().map(Arc::as_ref)
    }

    /// The rules for a host: its name, with `:port` unless that is the scheme's default. An entry applies to the host
    /// itself and all subdomains; the most specific one wins.
    pub fn for_host(&self, host: &str) -> HostRules {
        HostRules {
            shared: Arc::clone(&self.shared),
            domain: most_specific(&self.domains, host),
            class: most_specific(&self.classes, host),
        }
    }

    /// Requests in flight to one IP address.
    pub fn per_address(&self) -> NonZeroU32 {
        self.shared.per_address
    }

    pub fn robots(&self) -> &RobotsPolicy {
        &self.shared.robots
    }

    pub fn default_delay(&self) -> Duration {
        self.shared.default_delay
    }
}

impl Default for PolitenessRules {
    fn default() -> PolitenessRules {
        let settings = PolitenessSettings::default();
        let shared = Shared {
            default_delay: settings.default_delay.0,
            per_host: settings.per_host,
            per_address: settings.per_address,
            robots: RobotsPolicy::default(),
            park_over: settings.park_over.0,
            behaviour: Behaviour::default(),
        };
        PolitenessRules { shared: Arc::new(shared), domains: HashMap::new(), classes: HashMap::new() }
    }
}

/// The problems found so far; checking continues.
#[derive(Default)]
struct Problems {
    found: Vec<PolitenessError>,
}

impl Problems {
    fn add(&mut self, problem: PolitenessError) {
        self.found.push(problem);
    }

    /// `None` if there is a problem, which is then recorded.
    fn note<T>(&mut self, result: Result<T, PolitenessError>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }
}

impl DomainRules {
    fn compile(
        name: String,
        entry: &DomainSettings,
        above: &Behaviour,
        subject: &str,
        problems: &mut Problems,
    ) -> DomainRules {
        let key = |key: &str| format!("{subject}.{key}");
        let breaker = entry.breaker.as_ref().map(|given| given.over(above.breaker.clone(), &key("breaker")));
        let retries = entry.retries.as_ref().map(|given| given.over(above.retries.clone(), &key("retries")));
        let behaviour = Behaviour {
            windows: match &entry.windows {
                Some(given) => windows(given, &key("windows"), problems),
                None => above.windows.clone(),
            },
            adaptive: match &entry.adaptive {
                Some(given) => given.over(above.adaptive.clone()),
                None => above.adaptive.clone(),
            },
            breaker: breaker.and_then(|given| problems.note(given)).unwrap_or_else(|| above.breaker.clone()),
            retries: retries.and_then(|given| problems.note(given)).unwrap_or_else(|| above.retries.clone()),
            respect_robots: entry.respect_robots.unwrap_or(above.respect_robots),
            respect_nofollow: entry.respect_nofollow.unwrap_or(above.respect_nofollow),
            respect_noindex: entry.respect_noindex.unwrap_or(above.respect_noindex),
        };
        DomainRules {
            name,
            delay: problems.note(one_of(entry.delay, entry.delay_ms, &key("delay"))).flatten(),
            per_host: entry.per_host,
            behaviour,
            headers: entry.headers.clone(),
            cookies: entry.cookies.clone(),
            basic_auth: entry.basic_auth.clone(),
            proxy: entry.proxy.clone(),
            insecure: entry.insecure,
            rendering: entry.rendering,
            filters: entry.filters.clone(),
            extraction: entry.extraction.clone(),
        }
    }
}

fn windows(given: &[WindowSettings], subject: &str, problems: &mut Problems) -> Windows {
    let mut compiled = Vec::with_capacity(given.len());
    for (at, window) in given.iter().enumerate() {
        compiled.extend(problems.note(window.compile(&format!("{subject}[{at}]"))));
    }
    Windows::new(compiled)
}

fn classes(given: &BTreeMap<String, ClassSettings>, problems: &mut Problems) -> HashMap<String, Arc<Class>> {
    let mut by_domain: HashMap<String, Arc<Class>> = HashMap::new();
    for (name, class) in given {
        let subject = format!("politeness.classes.{name}");
        let delay = one_of(class.delay, class.delay_ms, &format!("{subject}.delay")).and_then(|given| {
            given
                .or(class_delay(name).map(Duration::from))
                .ok_or_else(|| PolitenessError::setting(&subject, "a custom class needs a delay"))
        });
        let delay = problems.note(delay).unwrap_or_default();
        let compiled = Arc::new(Class { name: name.clone(), delay });
        for (at, domain) in class.domains.iter().enumerate() {
            let subject = format!("{subject}.domains[{at}]");
            let Some(key) = problems.note(domain_name(domain, &subject)) else { continue };
            if let Some(other) = by_domain.insert(key, Arc::clone(&compiled)) {
                let problem = format!("'{domain}' is already listed in class '{}'", other.name);
                problems.add(PolitenessError::setting(subject, problem));
            }
        }
    }
    by_domain
}

/// Converts a domain as people write it (`Bücher.example`, `*.example.com`) to the form of hosts in URLs.
pub(crate) fn domain_name(text: &str, subject: &str) -> Result<String, PolitenessError> {
    let bare = text.trim().strip_prefix("*.").unwrap_or(text.trim());
    let wrong = || PolitenessError::setting(subject, format!("'{text}' is not a domain; write example.com"));
    if bare.is_empty() || bare.contains(['/', '?', '#', '@', '\\']) {
        return Err(wrong());
    }
    let url = Url::parse(&format!("http://{bare}/"), &NormalRules::default()).map_err(|_| wrong())?;
    Ok(url.host().to_owned())
}

/// The entry for `host`, for its name without the port, or for the closest parent domain.
fn most_specific<T>(entries: &HashMap<String, Arc<T>>, host: &str) -> Option<Arc<T>> {
    if entries.is_empty() {
        return None;
    }
    let name = match host.rsplit_once(':') {
        Some((name, _)) if !host.ends_with(']') => name,
        _ => host,
    };
    let is_address = name.starts_with('[') || name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let above = std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent));
    std::iter::once(host)
        .chain(above.take(if is_address { 1 } else { usize::MAX }))
        .find_map(|name| entries.get(name))
        .map(Arc::clone)
}

/// The rules for one host. Cheap to create and clone.
#[derive(Clone, Debug)]
pub struct HostRules {
    shared: Arc<Shared>,
    domain: Option<Arc<DomainRules>>,
    class: Option<Arc<Class>>,
}

impl HostRules {
    fn behaviour(&self) -> &Behaviour {
        self.domain.as_ref().map_or(&self.shared.behaviour, |domain| &domain.behaviour)
    }

    /// The configured delay and its origin: the domain's, else its class's, else the jobs', else the default. Of
    /// several jobs the longest delay counts; a job without one has the default.
    pub fn configured_delay(
        &self,
        job_delays: impl IntoIterator<Item = Option<Duration>>,
    ) -> (Duration, DelaySource<'_>) {
        if let Some(domain) = &self.domain
            && let Some(delay) = domain.delay
        {
            return (delay, DelaySource::Domain(&domain.name));
        }
        if let Some(class) = &self.class {
            return (class.delay, DelaySource::Class(&class.name));
        }
        let default = (self.shared.default_delay, DelaySource::Default);
        job_delays
            .into_iter()
            .map(|delay| delay.map_or_else(|| default.clone(), |delay| (delay, DelaySource::Job)))
            .max_by_key(|(delay, _)| *delay)
            .unwrap_or(default)
    }

    /// The delay at `now`: the configured one, at least Crawl-delay, longer inside a window. The host's responses may
    /// lengthen it further.
    pub fn base_delay(
        &self,
        job_delays: impl IntoIterator<Item = Option<Duration>>,
        crawl_delay: Option<Duration>,
        now: Millis,
    ) -> Duration {
        let (configured, _) = self.configured_delay(job_delays);
        let floor = configured.max(crawl_delay.unwrap_or_default());
        self.behaviour().windows.delay_at(now, floor)
    }

    /// Requests in flight to this host: the domain's setting, else the jobs', else the default. Of several jobs the
    /// lowest counts; a job without one has the default.
    pub fn per_host(&self, job_limits: impl IntoIterator<Item = Option<u32>>) -> NonZeroU32 {
        let default = self.shared.per_host;
        let of_domain = self.domain.as_ref().and_then(|domain| domain.per_host);
        of_domain.unwrap_or_else(|| {
            let limits = job_limits.into_iter().map(|limit| {
                limit.map_or(default, |limit| NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN))
            });
            limits.min().unwrap_or(default)
        })
    }

    pub fn windows(&self) -> &Windows {
        &self.behaviour().windows
    }

    pub fn adaptive(&self) -> &AdaptivePolicy {
        &self.behaviour().adaptive
    }

    pub fn breaker(&self) -> &BreakerPolicy {
        &self.behaviour().breaker
    }

    pub fn retries(&self) -> &RetryPolicy {
        &self.behaviour().retries
    }

    pub fn robots(&self) -> &RobotsPolicy {
        &self.shared.robots
    }

    pub fn respect_robots(&self) -> bool {
        self.behaviour().respect_robots
    }

    pub fn respect_nofollow(&self) -> bool {
        self.behaviour().respect_nofollow
    }

    pub fn respect_noindex(&self) -> bool {
        self.behaviour().respect_noindex
    }

    /// A longer `Retry-After` parks the host.
    pub fn park_over(&self) -> Duration {
        self.shared.park_over
    }

    /// The entry for the host's domain, with settings that other crates use.
    pub fn domain(&self) -> Option<&DomainRules> {
        self.domain.as_deref()
    }

    pub fn class(&self) -> Option<&str> {
        self.class.as_ref().map(|class| class.name.as_str())
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
