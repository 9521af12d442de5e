//! The jobs of the cluster as its members see them.

use super::budget::id;
use crate::database::{DatabaseErrorKind, Result, Session};
use argiope_frontier::Activity;
use argiope_frontier::member::{ClusterJob, MemberEvent};
use argiope_model::{JobId, JobSpec, Url};
use std::collections::BTreeMap;

/// Condition for a job that has not ended.
pub(crate) const OPEN_JOB: &str = "state NOT IN ('completed', 'failed', 'cancelled')";

/// The jobs known to this member. Shared by the threads that deliver their messages.
#[derive(Debug, Default)]
pub(super) struct KnownJobs {
    open: BTreeMap<u32, (String, String)>,
}

impl KnownJobs {
    pub(super) fn contains(&self, job: u32) -> bool {
        self.open.contains_key(&job)
    }

    /// Changes since the last check.
    pub(super) fn refresh(&mut self, session: &mut Session) -> Result<Vec<MemberEvent>> {
        let rows = session.query(&format!("SELECT id, state, spec FROM jobs WHERE {OPEN_JOB}"), &[])?;
        let mut now = BTreeMap::new();
        for row in rows {
            let read = || -> std::result::Result<_, tokio_postgres::Error> {
                Ok((row.try_get::<_, i32>(0)?, row.try_get::<_, String>(1)?, row.try_get::<_, String>(2)?))
            };
            let (job, state, spec) = read().map_err(|error| session.error(error))?;
            now.insert(u32::try_from(job).unwrap_or(0), (state, spec));
        }
        let mut events = Vec::new();
        for (job, (state, spec)) in &now {
            if self.open.get(job) != Some(&(state.clone(), spec.clone())) {
                let opened = open_job(session, JobId(*job), state, spec)?;
                events.push(MemberEvent::Job(Box::new(opened)));
            }
        }
        let ended = self.open.keys().filter(|job| !now.contains_key(job));
        events.extend(ended.map(|job| MemberEvent::JobClosed(JobId(*job))));
        self.open = now;
        Ok(events)
    }
}

/// One that accepts URLs.
pub(crate) struct OpenJob {
    pub(crate) name: Option<String>,
    pub(crate) job: ClusterJob,
}

/// Those of these numbers or names that have not ended, latest last.
pub(crate) fn open_jobs(session: &mut Session, numbers: &[i32], names: &[String]) -> Result<Vec<OpenJob>> {
    let sql = format!(
        "SELECT id, name, state, spec FROM jobs WHERE (id = ANY($1) OR name = ANY($2)) AND {OPEN_JOB} ORDER BY id"
    );
    let mut open = Vec::new();
    for row in session.query(&sql, &[&numbers, &names])? {
        let read = || -> std::result::Result<(i32, Option<String>, String, String), tokio_postgres::Error> {
            Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?))
        };
        let (number, name, state, spec) = read().map_err(|error| session.error(error))?;
        let number = JobId(u32::try_from(number).unwrap_or(0));
        open.push(OpenJob { name, job: open_job(session, number, &state, &spec)? });
    }
    Ok(open)
}

fn open_job(session: &mut Session, job: JobId, state: &str, spec: &str) -> Result<ClusterJob> {
    let spec: JobSpec = serde_json::from_str(spec).map_err(|error| {
        let message = format!("the settings of job {job} cannot be read: {error}");
        session.database().error(DatabaseErrorKind::Damaged, message)
    })?;
    let mut seeds: Vec<Url> = spec.seed_urls().collect();
    for row in session.query("SELECT url FROM job_seeds WHERE job = $1", &[&id(job)])? {
        let url: String = row.try_get(0).map_err(|error| session.error(error))?;
        seeds.extend(Url::from_stored(&url).ok());
    }
    let activity = if state == "paused" { Activity::Paused } else { Activity::Running };
    Ok(ClusterJob { id: job, spec, seeds, activity })
}
