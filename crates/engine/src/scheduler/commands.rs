//! Commands of users to a running crawl. Commands for one job are in [`super::jobs`].

use super::{JobCommand, Scheduler};
use crate::engine::Stop;
use crate::error::EngineError;
use crate::log;
use crate::retry;
use crate::scope::domain_policy;
use crate::visit_record::VisitRecord;
use crate::why::{self, Why};
use argiope_model::{JobId, Millis, Url};
use argiope_politeness::PolitenessRules;
use argiope_store::catalogue::StoredPage;
use crossbeam_channel::Sender;
use std::sync::Arc;

pub(crate) enum Command {
    Stop(Stop),
    Politeness(Arc<PolitenessRules>),
    /// No new requests are sent while there is a reason.
    Hold(Option<String>),
    Job(JobCommand),
    Why {
        job: JobId,
        url: Url,
        answer: Sender<Why>,
    },
    /// Failed pages are fetched again.
    Requeue {
        job: JobId,
        pages: Vec<StoredPage>,
        answer: Sender<u64>,
    },
    ForgetRobotsFailures,
}

impl Scheduler {
    pub(super) fn command(&mut self, command: Command, at: Millis) -> Result<(), EngineError> {
        match command {
            Command::Stop(stop) => {
                if self.run.stopping.is_none() {
                    self.run.give_up_at = at + self.grace;
                }
                if stop == Stop::Now {
                    self.run.give_up_at = at;
                }
                self.run.stopping = Some(stop);
            }
            Command::Politeness(rules) => {
                let policy = match domain_policy(&rules) {
                    Ok(policy) => policy,
                    Err(error) => {
                        tracing::error!(%error, "cannot use the new configuration; the old one stays in effect");
                        return Ok(());
                    }
                };
                self.scope.set_domain_policy(Arc::clone(&policy));
                for job in self.jobs.all() {
                    job.set_domain_policy(Arc::clone(&policy));
                }
                self.apply(Vec::new())?;
                self.frontier.set_politeness(rules, at);
                self.frontier.recheck_put_off(self.state.as_ref(), at)?;
            }
            Command::Hold(reason) => {
                if reason.is_some() != self.run.hold.is_some() {
                    log::held(reason.as_deref());
                }
                self.run.hold = reason;
            }
            Command::Job(command) => self.job_command(command, at)?,
            Command::Requeue { job, pages, answer } => {
                // Without a reply the caller knows that it is too late.
                let context = self.jobs.get(job).filter(|job| !self.run.ended.contains_key(&job.id));
                let Some(context) = context.filter(|_| self.run.stopping.is_none()) else { return Ok(()) };
                self.apply(Vec::new())?;
                let (queued, forgotten) =
                    retry::requeue(&mut self.frontier, self.state.as_ref(), &context.normal, &pages, at)?;
                self.apply(Vec::new())?;
                self.state.sync()?;
                self.commit_queue.put(VisitRecord { forgotten, ..VisitRecord::default() });
                let _ = answer.send(queued);
            }
            Command::ForgetRobotsFailures => {
                self.apply(Vec::new())?;
                self.frontier.forget_robots_failures(self.state.as_ref(), at)?;
            }
            Command::Why { job, url, answer } => {
                if let Some(context) = self.jobs.get(job) {
                    // Decisions that are not written yet are part of the reply.
                    self.apply(Vec::new())?;
                    let state = self.state.as_ref();
                    let why = why::of_frontier(&self.frontier, state, &context, &url, &self.key, at)?;
                    let _ = answer.send(why);
                }
            }
        }
        Ok(())
    }
}
