//! The rules of a job, compiled again when its scope grows (a seed's redirect adds its host) or the configuration is
//! reloaded.

use crate::error::EngineError;
use crate::job::{JobContext, JobStart};
use argiope_frontier::Frontier;
use argiope_frontier::admission::{DomainPolicy, JobRules};
use argiope_model::{JobId, PublicSuffixes, Url};
use argiope_politeness::PolitenessRules;
use argiope_store::clock::now;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Compiles the rules of jobs.
#[derive(Clone)]
pub(crate) struct ScopeCompiler {
    suffixes: Arc<PublicSuffixes>,
    seeds: Arc<RwLock<HashMap<JobId, Vec<Url>>>>,
    policy: Arc<RwLock<Arc<DomainPolicy>>>,
}

impl ScopeCompiler {
    pub(crate) fn new(
        suffixes: &Arc<PublicSuffixes>,
        policy: Arc<DomainPolicy>,
        starts: &[JobStart],
    ) -> ScopeCompiler {
        let policy = Arc::new(RwLock::new(policy));
        let scope = ScopeCompiler { suffixes: Arc::clone(suffixes), seeds: Arc::default(), policy };
        starts.iter().for_each(|start| scope.insert(start));
        scope
    }

    /// The settings of single domains.
    pub(crate) fn domain_policy(&self) -> Arc<DomainPolicy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// For jobs opened and rules compiled after a reload.
    pub(crate) fn set_domain_policy(&self, policy: Arc<DomainPolicy>) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    pub(crate) fn insert(&self, start: &JobStart) {
        // Only a scope of hosts is ever compiled again.
        if start.graph.is_none() {
            let mut seeds = self.seeds.write().unwrap_or_else(PoisonError::into_inner);
            seeds.insert(start.id, start.seeds.clone());
        }
    }

    /// The seeds of a job whose scope may grow.
    pub(crate) fn seeds(&self, job: JobId) -> Vec<Url> {
        let seeds = self.seeds.read().unwrap_or_else(PoisonError::into_inner);
        seeds.get(&job).cloned().unwrap_or_default()
    }

    pub(crate) fn suffixes(&self) -> &Arc<PublicSuffixes> {
        &self.suffixes
    }

    /// Adds the hosts to the scope that seeds of the job have redirected to, as the frontier remembers them.
    pub(crate) fn widen(&self, job: &JobContext, frontier: &Frontier) {
        for url in frontier.scope_hosts(job.id).iter().filter_map(|url| Url::from_stored(url).ok()) {
            job.add_scope_host(&url, || self.compile(job, frontier));
        }
    }

    pub(crate) fn compile(&self, job: &JobContext, frontier: &Frontier) -> Option<JobRules> {
        let seeds = self.seeds.read().unwrap_or_else(PoisonError::into_inner);
        let mut rules = JobRules::compile(&job.spec, seeds.get(&job.id)?, &self.suffixes, now())
            .ok()?
            .with_domain_policy(self.domain_policy());
        for url in frontier.scope_hosts(job.id) {
            if let Ok(url) = Url::from_stored(url) {
                rules.add_scope_host(&url);
            }
        }
        Some(rules)
    }
}

pub(crate) fn domain_policy(politeness: &PolitenessRules) -> Result<Arc<DomainPolicy>, EngineError> {
    let policy = DomainPolicy::compile(politeness).map_err(|e| EngineError::Settings(e.to_string()))?;
    Ok(Arc::new(policy))
}
