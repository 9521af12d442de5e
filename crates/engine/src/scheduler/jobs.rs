//! Jobs come and go in a running crawl of one machine: they are added, paused, resumed, changed, cancelled and deleted
//! while others run. In a cluster this happens by events, see [`crate::shards`].

use super::{JobEnd, Scheduler};
use crate::error::EngineError;
use crate::handle::CommandError;
use crate::job::{JobContext, JobStart};
use crate::seeds;
use crate::visit_record::VisitRecord;
use argiope_frontier::Activity;
use argiope_model::{JobId, JobSpec, Millis, Url};
use argiope_store::catalogue::{JobState, JobUpdate};
use crossbeam_channel::Sender;
use std::sync::Arc;

type Answer = Sender<Result<(), CommandError>>;

pub(crate) enum JobCommand {
    Add {
        start: Box<JobStart>,
        forget_failures: bool,
        answer: Answer,
    },
    AddSeeds {
        job: JobId,
        seeds: Vec<Url>,
        answer: Answer,
    },
    Pause {
        job: JobId,
        answer: Answer,
    },
    Resume {
        job: JobId,
        answer: Answer,
    },
    /// It can be resumed.
    Stop {
        job: JobId,
        answer: Answer,
    },
    Cancel {
        job: JobId,
        answer: Answer,
    },
    Delete {
        job: JobId,
        answer: Answer,
    },
    ChangeSpec {
        job: JobId,
        spec: Box<JobSpec>,
        answer: Answer,
    },
}

impl Scheduler {
    /// Only errors of the stores end the crawl; errors of a command go to the user who gave it.
    pub(super) fn job_command(&mut self, command: JobCommand, at: Millis) -> Result<(), EngineError> {
        let (answer, done) = match command {
            JobCommand::Delete { job, answer } => {
                self.begin_delete(job, answer, at);
                return self.finish_deletes(at);
            }
            JobCommand::Add { start, forget_failures, answer } => {
                (answer, self.add_job(&start, forget_failures, at))
            }
            JobCommand::AddSeeds { job, seeds, answer } => (answer, self.add_seeds(job, &seeds, at)),
            JobCommand::Pause { job, answer } => (answer, self.set_activity(job, Activity::Paused, at)),
            JobCommand::Resume { job, answer } => (answer, self.set_activity(job, Activity::Running, at)),
            JobCommand::Stop { job, answer } => (answer, self.end_job(job, JobEnd::Stopped, at)),
            JobCommand::Cancel { job, answer } => (answer, self.end_job(job, JobEnd::Cancelled, at)),
            JobCommand::ChangeSpec { job, spec, answer } => (answer, self.change_spec(job, *spec, at)),
        };
        match done {
            Err(CommandError::Engine(error)) if !matches!(error, EngineError::Settings(_)) => Err(error),
            done => {
                // The user who gave the command sees the change at once.
                self.publish(at);
                let _ = answer.send(done);
                Ok(())
            }
        }
    }

    /// The job, if it is running or paused here.
    fn open_job(&self, job: JobId) -> Result<Arc<JobContext>, CommandError> {
        let open = self.jobs.get(job).filter(|job| !self.run.ended.contains_key(&job.id));
        open.ok_or(CommandError::UnknownJob(job))
    }

    fn add_job(&mut self, start: &JobStart, forget_failures: bool, at: Millis) -> Result<(), CommandError> {
        if self.run.stopping.is_some() || self.run.deleting.contains_key(&start.id) {
            return Err(CommandError::Ending);
        }
        let job = Arc::new(JobContext::new(start, self.scope.suffixes(), self.scope.domain_policy(), at)?);
        self.apply(Vec::new())?;
        self.scope.insert(start);
        self.frontier
            .restore_job(self.state.as_ref(), start.id, job.limits(), at)
            .map_err(EngineError::from)?;
        self.scope.widen(&job, &self.frontier);
        self.jobs.insert(Arc::clone(&job));
        self.run.ended.remove(&start.id);
        self.run.draining.remove(&start.id);
        self.frontier.forget_robots_failures(self.state.as_ref(), at).map_err(EngineError::from)?;
        if forget_failures {
            self.frontier.forget_failures(at);
        }
        self.update_job(start.id, JobState::Running, None, serde_json::to_string(&start.spec).ok(), at);
        self.offer_seeds(&job, &start.seeds, at)
    }

    fn add_seeds(&mut self, job: JobId, seeds: &[Url], at: Millis) -> Result<(), CommandError> {
        let job = self.open_job(job)?;
        self.offer_seeds(&job, seeds, at)
    }

    /// They are durable when this returns.
    fn offer_seeds(&mut self, job: &JobContext, seeds: &[Url], at: Millis) -> Result<(), CommandError> {
        for chunk in seeds.chunks(seeds::CHUNK) {
            let skipped = seeds::offer(&mut self.frontier, &self.key, job.id, job.graph.as_ref(), chunk, at);
            if !skipped.is_empty() {
                self.commit_queue.put(VisitRecord { skipped, ..VisitRecord::default() });
            }
            self.apply(Vec::new())?;
        }
        self.state.sync().map_err(EngineError::from)?;
        Ok(())
    }

    fn set_activity(&mut self, job: JobId, activity: Activity, at: Millis) -> Result<(), CommandError> {
        self.open_job(job)?;
        self.frontier.set_activity(job, activity);
        match activity {
            Activity::Paused => {
                self.update_job(job, JobState::Paused, Some("paused by a user"), None, at);
            }
            Activity::Running => self.update_job(job, JobState::Running, None, None, at),
        }
        Ok(())
    }

    /// Responses to requests in flight are still stored. Until then the job is only paused in the frontier, which
    /// would otherwise not count them and drop their links.
    fn end_job(&mut self, job: JobId, end: JobEnd, at: Millis) -> Result<(), CommandError> {
        self.open_job(job)?;
        self.frontier.set_activity(job, Activity::Paused);
        self.run.ended.insert(job, end);
        self.run.draining.insert(job);
        let (state, message) = end.stored();
        self.commit_queue.put_job(JobUpdate { job, state, message, spec: None, at });
        Ok(())
    }

    /// Jobs that were stopped or cancelled leave the frontier when their last response is stored.
    pub(super) fn finish_drained(&mut self) -> Result<(), EngineError> {
        if self.run.draining.is_empty() {
            return Ok(());
        }
        let drained: Vec<JobId> =
            self.run.draining.iter().copied().filter(|job| self.is_job_idle(*job)).collect();
        if drained.is_empty() {
            return Ok(());
        }
        // Their counts are written with their last changes.
        self.apply(Vec::new())?;
        for job in drained {
            self.run.draining.remove(&job);
            self.frontier.end_job(job);
        }
        Ok(())
    }

    /// Nothing of the job is in flight or waits to be stored.
    fn is_job_idle(&self, job: JobId) -> bool {
        self.frontier.progress(job).is_none_or(|progress| progress.in_progress == 0)
    }

    fn change_spec(&mut self, job: JobId, spec: JobSpec, at: Millis) -> Result<(), CommandError> {
        let job = self.open_job(job)?;
        let stored = serde_json::to_string(&spec).ok();
        let changed = Arc::new(job.with_spec(spec, &self.scope.seeds(job.id), self.scope.suffixes(), at)?);
        self.frontier.set_limits(job.id, changed.limits(), at);
        self.scope.widen(&changed, &self.frontier);
        self.jobs.insert(changed);
        self.commit_queue.put_job(JobUpdate { job: job.id, state: None, message: None, spec: stored, at });
        Ok(())
    }

    fn begin_delete(&mut self, job: JobId, answer: Answer, at: Millis) {
        if self.open_job(job).is_ok() {
            self.frontier.set_activity(job, Activity::Paused);
            self.update_job(job, JobState::Cancelled, Some("being deleted"), None, at);
        }
        self.run.deleting.entry(job).or_default().push(answer);
    }

    /// Deletes jobs whose last request has been answered and committed.
    pub(super) fn finish_deletes(&mut self, at: Millis) -> Result<(), EngineError> {
        if self.run.deleting.is_empty() {
            return Ok(());
        }
        let idle: Vec<JobId> =
            self.run.deleting.keys().copied().filter(|job| self.is_job_idle(*job)).collect();
        for job in idle {
            self.frontier.forget_job(job);
            self.apply(Vec::new())?;
            self.jobs.remove(job);
            self.run.ended.remove(&job);
            self.run.draining.remove(&job);
            let answers = self.run.deleting.remove(&job).unwrap_or_default();
            self.publish(at);
            self.commit_queue.put_task(Box::new(move |catalogue| {
                let deleted = catalogue.delete_job(job).map_err(|error| error.to_string());
                for answer in answers {
                    let failed = |text: &String| CommandError::Engine(EngineError::Store(text.clone()));
                    let _ = answer.send(deleted.as_ref().map(|_| ()).map_err(failed));
                }
            }));
        }
        Ok(())
    }

    fn update_job(
        &self,
        job: JobId,
        state: JobState,
        message: Option<&str>,
        spec: Option<String>,
        at: Millis,
    ) {
        let message = message.map(str::to_owned);
        self.commit_queue.put_job(JobUpdate { job, state: Some(state), message, spec, at });
    }
}
