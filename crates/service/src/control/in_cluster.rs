//! Control of the jobs of a cluster: their rows in its database. Its workers follow the states they find there.

use super::stored::{self, as_json, check_change, invalid, is_finished, not_found, of_failure, of_store};
use super::{ControlError, ControlErrorKind, JobControl};
use crate::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use crate::selection;
use argiope_cluster::catalogue::{PostgresCatalogue, PostgresReader};
use argiope_cluster::database::{DatabaseError, Session};
use argiope_cluster::members::{
    JobMove, any_is_up, forget_job, move_open_job, send, set_budget, set_job_spec,
};
use argiope_model::{JobId, JobSpec, Millis};
use argiope_store::catalogue::{Catalogue, Job, JobState};
use argiope_store::clock::now;
use std::time::Duration;

/// How long workers may need to notice that a job has ended, and to store what was in flight then, beside the time for
/// a request.
const SETTLING: Duration = Duration::from_secs(60);

pub struct ClusterJobs<'p> {
    place: &'p ClusterPlace,
}

impl<'p> ClusterJobs<'p> {
    pub fn new(place: &'p ClusterPlace) -> ClusterJobs<'p> {
        ClusterJobs { place }
    }

    fn session(&self) -> Result<Session, ControlError> {
        self.place.session().map_err(of_failure)
    }

    fn reader(&self) -> Result<PostgresReader, ControlError> {
        PostgresReader::open(&self.place.database).map_err(|error| of_store(&error))
    }

    fn unfinished(&self, job: JobId) -> Result<Job, ControlError> {
        stored::unfinished(&self.reader()?, job)
    }

    /// Only if the job has not ended meanwhile.
    fn set_state(&self, job: JobId, state: JobState, message: Option<&str>) -> Result<(), ControlError> {
        let moved = move_open_job(&mut self.session()?, job, state, message).map_err(of_database)?;
        match moved {
            JobMove::Done => Ok(()),
            JobMove::Finished(state) => Err(is_finished(job, &state)),
            JobMove::Unknown => Err(not_found(job)),
        }
    }
}

impl JobControl for ClusterJobs<'_> {
    fn pause(&self, job: JobId) -> Result<(), ControlError> {
        match self.unfinished(job)?.state {
            JobState::Paused => Ok(()),
            _ => self.set_state(job, JobState::Paused, Some(stored::PAUSED)),
        }
    }

    /// The workers are told, too: what they have reported about blocked URLs does not hold any more.
    fn resume(&self, job: JobId) -> Result<(), ControlError> {
        if self.unfinished(job)?.state == JobState::Running {
            return Ok(());
        }
        let mut sender = self.place.sender(CLIENT).map_err(of_failure)?;
        let begin = self.place.addressing().begin(job, false);
        let prepared = sender.prepare(begin).map_err(|error| of_failure(kafka_failure(&error)))?;
        send(&mut self.session()?, &prepared).map_err(of_database)?;
        self.set_state(job, JobState::Running, None)
    }

    fn cancel(&self, job: JobId) -> Result<(), ControlError> {
        self.set_state(job, JobState::Cancelled, Some(stored::CANCELLED))
    }

    /// A job that has not ended is cancelled first. It is deleted when no worker can store anything of it any more;
    /// until then this is refused, and can be repeated.
    fn delete(&self, job: JobId) -> Result<(), ControlError> {
        let mut stored = stored::job(&self.reader()?, job)?;
        if !stored.state.is_finished() {
            self.set_state(job, JobState::Cancelled, Some("being deleted"))?;
            stored = stored::job(&self.reader()?, job)?;
        }
        let mut session = self.session()?;
        let timeout = selection::spec(&stored).map_err(of_failure)?.timeout;
        let wait = time_to_settle(stored.finished_at, timeout, now());
        if !wait.is_zero() && any_is_up(&mut session).map_err(of_database)? {
            let text =
                format!("job {job} is {}, and workers may still store its last responses", stored.state);
            return Err(ControlError::new(ControlErrorKind::Unavailable, text)
                .hint(format!("delete it again in {} s", wait.as_secs().max(1))));
        }
        forget_job(&mut session, job).map_err(of_database)?;
        let mut catalogue =
            PostgresCatalogue::open(&self.place.database, CLIENT).map_err(|error| of_store(&error))?;
        catalogue.delete_job(job).map_err(|error| of_store(&error))
    }

    /// The budget first: the workers take pages from it as soon as they see the new limit.
    fn change(&self, job: JobId, spec: JobSpec) -> Result<(), ControlError> {
        let old = check_change(&self.unfinished(job)?, &spec)?;
        let mut session = self.session()?;
        match (old.max_pages, spec.max_pages) {
            (old, Some(max)) => set_budget(&mut session, job, old, max).map_err(of_database)?,
            (Some(_), None) => {
                return Err(invalid("max_pages of a job in a cluster can be changed, but not removed")
                    .hint("set a number that it does not reach"));
            }
            (None, None) => {}
        }
        set_job_spec(&mut session, job, &as_json(&spec)?).map_err(of_database)
    }
}

/// How long results of a job that has ended may still come.
fn time_to_settle(ended: Option<Millis>, timeout: Duration, now: Millis) -> Duration {
    ended.map_or(Duration::ZERO, |ended| (ended + timeout + SETTLING).since(now))
}

fn of_database(error: DatabaseError) -> ControlError {
    of_failure(database_failure(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_a_job_may_come_until_its_requests_have_timed_out_and_are_stored() {
        let timeout = Duration::from_secs(30);
        let ended = Some(Millis(1_000_000));
        assert_eq!(time_to_settle(ended, timeout, Millis(1_000_000)), Duration::from_secs(90));
        assert_eq!(time_to_settle(ended, timeout, Millis(1_089_000)), Duration::from_secs(1));
        assert_eq!(time_to_settle(ended, timeout, Millis(1_090_000)), Duration::ZERO);
        assert_eq!(time_to_settle(None, timeout, Millis(5)), Duration::ZERO);
    }
}
