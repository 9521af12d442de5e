//! The jobs that records of `url_ingest` name, with their rules.

use super::Addresses;
use super::record::{IngestRecord, JobName};
use crate::database::{DatabaseError, Session};
use crate::members::{OpenJob, open_jobs};
use argiope_frontier::admission::JobRules;
use argiope_model::{JobId, JobSpec};
use argiope_store::clock::now;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub(super) struct TargetJob {
    pub(super) id: JobId,
    pub(super) spec: JobSpec,
    pub(super) rules: JobRules,
}

#[derive(Default)]
pub(super) struct TargetJobs {
    open: BTreeMap<JobId, TargetJob>,
    /// The latest of each name.
    by_name: HashMap<String, JobId>,
}

impl TargetJobs {
    /// The jobs that these records name and that have not ended.
    pub(super) fn load<'r>(
        session: &mut Session,
        addresses: &Addresses,
        records: impl Iterator<Item = &'r IngestRecord>,
    ) -> Result<TargetJobs, DatabaseError> {
        let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
        for record in records {
            match &record.job {
                JobName::Number(number) => numbers.extend(i32::try_from(*number)),
                JobName::Name(name) => {
                    names.insert(name.clone());
                }
            }
        }
        let (numbers, names): (Vec<i32>, Vec<String>) =
            (numbers.into_iter().collect(), names.into_iter().collect());
        let mut jobs = TargetJobs::default();
        if numbers.is_empty() && names.is_empty() {
            return Ok(jobs);
        }
        for OpenJob { name, job } in open_jobs(session, &numbers, &names)? {
            match JobRules::compile(&job.spec, &job.seeds, &addresses.suffixes, now()) {
                Ok(rules) => {
                    let rules = rules.with_domain_policy(Arc::clone(&addresses.policy));
                    jobs.by_name.extend(name.map(|name| (name, job.id)));
                    jobs.open.insert(job.id, TargetJob { id: job.id, spec: job.spec, rules });
                }
                Err(error) => tracing::warn!(job = %job.id, %error, "invalid rules of a job"),
            }
        }
        Ok(jobs)
    }

    pub(super) fn named(&self, name: &JobName) -> Option<&TargetJob> {
        let id = match name {
            JobName::Number(number) => JobId(*number),
            JobName::Name(name) => *self.by_name.get(name)?,
        };
        self.open.get(&id)
    }
}
