//! The proof of politeness from the fetch history. Every request is held against the gap its host was owed, the
//! concurrent requests it allows, and the robots.txt that was in force when it was made.

use crate::access::Access;
use crate::directory;
use crate::place::INTERRUPTED;
use crate::robots_history::{RobotsJudge, agent_of};
use crate::selection::{self, JobSelection};
use argiope_config::{Failure, LoadedConfig, politeness_of};
use argiope_model::JobId;
use argiope_politeness::PolitenessRules;
use argiope_store::audit::audit;
use argiope_store::catalogue::{CatalogueReader, Job};
use std::collections::HashMap;

pub use argiope_store::audit::AuditReport;

/// The audit of the requests of some jobs, or of all requests there are.
pub fn of(access: &Access, wanted: &JobSelection) -> Result<AuditReport, Failure> {
    let reader = access.reader()?;
    let jobs = wanted.of(reader.as_ref())?;
    let only = match wanted {
        JobSelection::All => None,
        JobSelection::Latest | JobSelection::One(_) => jobs.first().map(|job| job.id),
    };
    let mut report = of_requests(reader.as_ref(), &jobs, only, access.rules()?)?;
    // A kill that no start has found yet.
    let work = access.work()?;
    report.killed += u64::from(jobs.iter().any(|job| work.state_word(job) == INTERRUPTED));
    Ok(report)
}

/// `only` limits the history to a job; `jobs` are all that may have made requests in it.
pub fn of_requests(
    reader: &dyn CatalogueReader,
    jobs: &[Job],
    only: Option<JobId>,
    config: &LoadedConfig,
) -> Result<AuditReport, Failure> {
    let mut agents = HashMap::new();
    let mut ignoring = Vec::new();
    for job in jobs {
        let spec = selection::spec(job)?;
        agents.insert(job.id, agent_of(&spec)?);
        if !spec.respect_robots {
            ignoring.push(job.id);
        }
    }
    let rules = PolitenessRules::compile(&politeness_of(&config.file)).map_err(Failure::usage_all)?;
    let mut judge = RobotsJudge::new(rules, agents);
    let mut report = audit(reader, only, &mut |version, job, path| judge.allows(version, job, path))
        .map_err(|e| directory::store_failure(&e))?;
    report.robots_ignored_by = ignoring;
    Ok(report)
}
