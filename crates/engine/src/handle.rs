//! [`EngineHandle`]: how other threads read the status of a running crawl and control it.

use crate::commit_queue::CommitQueue;
use crate::engine::Stop;
use crate::error::EngineError;
use crate::job::JobStart;
use crate::scheduler::{Command, JobCommand, Report};
use crate::status::Status;
use crate::why::Why;
use argiope_frontier::member::MemberEvent;
use argiope_model::{JobId, JobSpec, Url};
use argiope_politeness::PolitenessRules;
use argiope_store::catalogue::{Catalogue, StoredPage};
use argiope_store::follower::Followers;
use crossbeam_channel::{Sender, bounded};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longer than the scheduler ever takes for a command.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// Deleting waits for the job's requests in flight.
const DELETE_LIMIT: Duration = Duration::from_secs(300);

/// Reads the status of a running crawl and controls it. It outlives the crawl: commands to a crawl that has ended do
/// nothing.
#[derive(Clone)]
pub struct EngineHandle {
    reports: Sender<Vec<Report>>,
    commit_queue: Arc<CommitQueue>,
    status: Arc<Mutex<Status>>,
    followers: Followers,
}

/// A command that was not executed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("the crawl is ending")]
    Ending,
    #[error("job {0} is not running in this process")]
    UnknownJob(JobId),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl EngineHandle {
    pub(crate) fn new(
        reports: Sender<Vec<Report>>,
        commit_queue: Arc<CommitQueue>,
        status: Arc<Mutex<Status>>,
        followers: Followers,
    ) -> EngineHandle {
        EngineHandle { reports, commit_queue, status, followers }
    }

    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The followers of this crawl's commits. A follower that is added is woken by commits and appears in
    /// [`Status::followers`].
    pub fn followers(&self) -> &Followers {
        &self.followers
    }

    fn command(&self, command: Command) {
        // A crawl that has ended needs no commands.
        let _ = self.reports.send(vec![Report::Command(command)]);
    }

    fn job_command(
        &self,
        limit: Duration,
        command: impl FnOnce(Sender<Result<(), CommandError>>) -> JobCommand,
    ) -> Result<(), CommandError> {
        let (answer, answered) = bounded(1);
        self.command(Command::Job(command(answer)));
        answered.recv_timeout(limit).unwrap_or(Err(CommandError::Ending))
    }

    pub fn stop(&self, stop: Stop) {
        self.command(Command::Stop(stop));
    }

    /// Passes on events of the cluster.
    pub fn send_member_events(&self, events: Vec<MemberEvent>) {
        let _ = self.reports.send(events.into_iter().map(Report::Member).collect());
    }

    pub fn set_politeness(&self, rules: Arc<PolitenessRules>) {
        self.command(Command::Politeness(rules));
    }

    /// Sends no new requests while there is a reason. Requests in flight finish; shards and leases are kept.
    pub fn hold(&self, reason: Option<String>) {
        self.command(Command::Hold(reason));
    }

    /// Starts a job, new or known, in addition to the running ones. Returns when its seeds are queued durably.
    pub fn add_job(&self, start: JobStart, forget_failures: bool) -> Result<(), CommandError> {
        let start = Box::new(start);
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::Add { start, forget_failures, answer })
    }

    /// Queues more seeds of a job that runs.
    pub fn add_seeds(&self, job: JobId, seeds: Vec<Url>) -> Result<(), CommandError> {
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::AddSeeds { job, seeds, answer })
    }

    /// Sends no new requests for the job. Its state is stored: it stays paused over a restart until it is resumed.
    pub fn pause(&self, job: JobId) -> Result<(), CommandError> {
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::Pause { job, answer })
    }

    pub fn resume(&self, job: JobId) -> Result<(), CommandError> {
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::Resume { job, answer })
    }

    /// Ends the job in this process. It can be resumed.
    pub fn stop_job(&self, job: JobId) -> Result<(), CommandError> {
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::Stop { job, answer })
    }

    /// Ends the job for good. What it has stored stays.
    pub fn cancel(&self, job: JobId) -> Result<(), CommandError> {
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::Cancel { job, answer })
    }

    /// Ends the job and removes its queue and its rows in the catalogue. Returns when that is done; requests in flight
    /// finish first.
    pub fn delete(&self, job: JobId) -> Result<(), CommandError> {
        self.job_command(DELETE_LIMIT, |answer| JobCommand::Delete { job, answer })
    }

    /// Changes limits, delay and other settings that do not change the job's identity.
    pub fn change_spec(&self, job: JobId, spec: JobSpec) -> Result<(), CommandError> {
        let spec = Box::new(spec);
        self.job_command(COMMAND_LIMIT, |answer| JobCommand::ChangeSpec { job, spec, answer })
    }

    /// Queues pages of a running job again. Returns how many were not queued already; None if the crawl is ending.
    pub fn requeue(&self, job: JobId, pages: Vec<StoredPage>) -> Option<u64> {
        let (answer, answered) = bounded(1);
        self.command(Command::Requeue { job, pages, answer });
        answered.recv_timeout(COMMAND_LIMIT).ok()
    }

    /// Fetches every robots.txt again that was unreachable.
    pub fn forget_robots_failures(&self) {
        self.command(Command::ForgetRobotsFailures);
    }

    /// The decision of rules and frontier on a URL; None if the crawl is ending.
    pub fn why(&self, job: JobId, url: &Url) -> Option<Why> {
        let (answer, answered) = bounded(1);
        self.command(Command::Why { job, url: url.clone(), answer });
        answered.recv_timeout(Duration::from_secs(10)).ok()
    }

    /// Runs a task on the catalogue's only writer, after everything queued before it. None if the crawl is ending.
    pub fn with_catalogue<R: Send + 'static>(
        &self,
        task: impl FnOnce(&mut dyn Catalogue) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, answered) = bounded(1);
        self.commit_queue.put_task(Box::new(move |catalogue| {
            let _ = answer.send(task(catalogue));
        }));
        answered.recv_timeout(COMMAND_LIMIT).ok()
    }
}
