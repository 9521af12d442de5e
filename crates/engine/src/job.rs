//! A job as the workers see it: its settings compiled, shared by all threads.

use argiope_fetch::{ProfileOptions, RequestProfile};
use argiope_frontier::JobLimits;
use argiope_frontier::admission::{DomainPolicy, JobRules};
use argiope_model::{JobId, JobSpec, Millis, NormalRules, PublicSuffixes, Url};
use argiope_politeness::robots::product_token;
use argiope_politeness::{DomainRules, HostRules};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use crate::cookies::{JobCookies, Session};
use crate::error::EngineError;
use crate::graph::{self, GraphRules};
use crate::status::Counters;

/// A job to run: new or resumed.
#[derive(Clone, Debug)]
pub struct JobStart {
    pub id: JobId,
    pub spec: JobSpec,
    /// In normal form; the frontier ignores those it has seen.
    pub seeds: Vec<Url>,
    /// It maps hosts instead of pages.
    pub graph: Option<GraphRules>,
    pub session: Session,
}

pub(crate) struct JobContext {
    pub(crate) id: JobId,
    pub(crate) spec: JobSpec,
    pub(crate) graph: Option<GraphRules>,
    pub(crate) normal: NormalRules,
    rules: RwLock<Arc<JobRules>>,
    /// Counts the changes of the rules.
    rules_version: AtomicU32,
    /// Request profiles for the hosts of the seeds, and for all others, which get no cookies and no password of the
    /// job.
    profile: Arc<RequestProfile>,
    stranger: Arc<RequestProfile>,
    /// The hosts of the seeds, if anything is sent only to them.
    homes: Option<HashSet<Box<str>>>,
    /// Request profiles by domain entry of the configuration, and whether the host is a seed's.
    domain_profiles: Mutex<HashMap<(String, bool), Arc<RequestProfile>>>,
    /// Shared with the jobs that replace it when settings change.
    pub(crate) cookies: Arc<JobCookies>,
    /// Counters of this run.
    pub(crate) counters: Arc<Counters>,
    /// The product token for robots.txt.
    pub(crate) agent: Box<str>,
}

impl JobContext {
    pub(crate) fn new(
        start: &JobStart,
        suffixes: &Arc<PublicSuffixes>,
        policy: Arc<DomainPolicy>,
        now: Millis,
    ) -> Result<JobContext, EngineError> {
        let Session { cookies, keeper, .. } = &start.session;
        let cookies = JobCookies::new(start.spec.cookie_jar(), cookies, keeper.clone(), suffixes, now);
        let graph = start.graph.clone().map(|rules| GraphRules { visited: Vec::new(), ..rules });
        let shared = (Arc::new(cookies), Arc::default());
        let job =
            JobContext::compile(start.id, start.spec.clone(), &start.seeds, graph, shared, suffixes, now)?;
        job.set_domain_policy(policy);
        Ok(job)
    }

    /// The same job with other settings. Cookies and counters are kept.
    pub(crate) fn with_spec(
        &self,
        spec: JobSpec,
        seeds: &[Url],
        suffixes: &Arc<PublicSuffixes>,
        now: Millis,
    ) -> Result<JobContext, EngineError> {
        let shared = (Arc::clone(&self.cookies), Arc::clone(&self.counters));
        let job = JobContext::compile(self.id, spec, seeds, self.graph.clone(), shared, suffixes, now)?;
        job.set_domain_policy(Arc::clone(self.rules().domain_policy()));
        Ok(job)
    }

    fn compile(
        id: JobId,
        spec: JobSpec,
        seeds: &[Url],
        graph: Option<GraphRules>,
        (cookies, counters): (Arc<JobCookies>, Arc<Counters>),
        suffixes: &Arc<PublicSuffixes>,
        now: Millis,
    ) -> Result<JobContext, EngineError> {
        let rules = JobRules::compile(&spec, seeds, suffixes, now)
            .map_err(|e| EngineError::Settings(e.to_string()))?;
        let profile =
            RequestProfile::new(&profile_options(&spec, None, true)).map_err(EngineError::Settings)?;
        let stranger =
            RequestProfile::new(&profile_options(&spec, None, false)).map_err(EngineError::Settings)?;
        let has_secrets = spec.basic_auth.is_some()
            || !spec.cookies.is_empty()
            || spec.headers.keys().any(|name| is_secret(name));
        let homes = has_secrets.then(|| seeds.iter().map(|url| url.host().into()).collect());
        Ok(JobContext {
            cookies,
            counters,
            id,
            graph,
            normal: spec.normal_form.compile(),
            rules: RwLock::new(Arc::new(rules)),
            rules_version: AtomicU32::new(0),
            agent: product_token(profile.user_agent()).into(),
            profile: Arc::new(profile),
            stranger: Arc::new(stranger),
            homes,
            domain_profiles: Mutex::new(HashMap::new()),
            spec,
        })
    }

    /// The settings for the frontier.
    pub(crate) fn limits(&self) -> JobLimits {
        JobLimits {
            max_visits_per_host: self.graph.as_ref().map(|rules| rules.max_visits_per_host),
            ..JobLimits::of(&self.spec, &self.agent)
        }
    }

    /// For a whole fetch.
    pub(crate) fn timeout(&self, attempt: u8) -> Duration {
        match self.graph {
            Some(_) => graph::timeout(self.spec.timeout, attempt),
            None => self.spec.timeout,
        }
    }

    pub(crate) fn rules(&self) -> Arc<JobRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn rules_version(&self) -> u32 {
        self.rules_version.load(Ordering::Relaxed)
    }

    /// Adds a host to a scope of hosts.
    pub(crate) fn add_scope_host(&self, url: &Url, compile: impl FnOnce() -> Option<JobRules>) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        // Rules are shared and cannot be cloned: they are compiled again, at most once per seed.
        if rules.judge(url, 0).is_err()
            && let Some(mut fresh) = compile()
        {
            fresh.add_scope_host(url);
            *rules = Arc::new(fresh);
            self.rules_version.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The request headers for a host: those of the job, or of its domain entry.
    pub(crate) fn profile(&self, host: &HostRules, url: &Url) -> Arc<RequestProfile> {
        let is_home = self.homes.as_ref().is_none_or(|homes| homes.contains(url.host()));
        let own = if is_home { &self.profile } else { &self.stranger };
        let Some(domain) = host.domain().filter(|d| has_profile(d)) else { return Arc::clone(own) };
        let mut known = self.domain_profiles.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (domain.name.clone(), is_home);
        if let Some(profile) = known.get(&name) {
            return Arc::clone(profile);
        }
        match RequestProfile::new(&profile_options(&self.spec, Some(domain), is_home)) {
            Ok(profile) => {
                let profile = Arc::new(profile);
                known.insert(name, Arc::clone(&profile));
                profile
            }
            Err(error) => {
                tracing::error!(domain = domain.name, %error, "the headers of this domain cannot be used");
                Arc::clone(own)
            }
        }
    }

    /// The configuration was reloaded: request profiles are built again, and URLs are judged by the new policy.
    pub(crate) fn set_domain_policy(&self, policy: Arc<DomainPolicy>) {
        self.domain_profiles.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        *rules = Arc::new(JobRules::clone(&rules).with_domain_policy(policy));
        self.rules_version.fetch_add(1, Ordering::Relaxed);
    }
}

fn has_profile(domain: &DomainRules) -> bool {
    !domain.headers.is_empty()
        || !domain.cookies.is_empty()
        || domain.basic_auth.is_some()
        || domain.proxy.is_some()
        || domain.insecure.is_some()
}

/// A header that grants access: sent only to the hosts of the seeds, like cookies and passwords.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "token", "secret", "key", "session", "password"].iter().any(|word| name.contains(word))
}

/// Cookies and password of the job are for the hosts of its seeds, those of a domain entry for that domain.
fn profile_options(spec: &JobSpec, domain: Option<&DomainRules>, is_home: bool) -> ProfileOptions {
    let mut headers = spec.headers.clone();
    headers.retain(|name, _| is_home || !is_secret(name));
    let mut cookies = if is_home { spec.cookies.clone() } else { BTreeMap::new() };
    let mut basic_auth =
        spec.basic_auth.as_ref().filter(|_| is_home).map(|a| (a.username.clone(), a.password.clone()));
    let mut proxy = spec.proxy.clone();
    let mut insecure = spec.insecure;
    if let Some(domain) = domain {
        headers.extend(domain.headers.clone());
        cookies.extend(domain.cookies.clone());
        basic_auth =
            domain.basic_auth.as_ref().map(|a| (a.username.clone(), a.password.clone())).or(basic_auth);
        proxy = domain.proxy.clone().or(proxy);
        insecure = domain.insecure.unwrap_or(insecure);
    }
    ProfileOptions {
        user_agent: spec.user_agent.clone(),
        headers: headers.into_iter().collect(),
        cookie: cookie_header(&cookies),
        basic_auth,
        proxy,
        insecure,
        ..ProfileOptions::default()
    }
}

fn cookie_header(cookies: &BTreeMap<String, String>) -> Option<String> {
    if cookies.is_empty() {
        return None;
    }
    Some(cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; "))
}

/// The jobs of this process.
#[derive(Default)]
pub(crate) struct Jobs {
    by_id: RwLock<HashMap<JobId, Arc<JobContext>>>,
}

impl Jobs {
    pub(crate) fn get(&self, id: JobId) -> Option<Arc<JobContext>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    pub(crate) fn insert(&self, job: Arc<JobContext>) {
        self.by_id.write().unwrap_or_else(PoisonError::into_inner).insert(job.id, job);
    }

    pub(crate) fn remove(&self, id: JobId) {
        self.by_id.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    pub(crate) fn all(&self) -> Vec<Arc<JobContext>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
