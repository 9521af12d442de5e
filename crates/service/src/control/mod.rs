//! Control of jobs. [`JobControl`] is what can be done with a stored job wherever it is; [`job_control`] chooses the
//! implementation: [`DirectoryAtRest`], [`OwnerClient`] or [`ClusterJobs`]. [`Control`] is the port of a process that
//! crawls: [`RunningCrawl`] is the process itself, [`OwnerClient`] is another process that connects through the socket
//! in its data directory. The types here, as JSON, are the wire format of the API.

mod at_rest;
mod client;
mod hand_in;
mod in_cluster;
mod owner;
mod running;
pub(crate) mod stored;

pub use at_rest::DirectoryAtRest;
pub use client::OwnerClient;
pub use hand_in::{hand_in, refused};
pub use in_cluster::ClusterJobs;
pub use owner::{Owner, named};
pub use running::{ProcessTerms, RunningCrawl};

use crate::job_request::JobRequest;
use crate::place::Place;
use argiope_engine::{Status, Why};
use argiope_model::{JobId, JobSpec};
use serde::{Deserialize, Serialize};

/// What can be done with a stored job. Calls block until they are done, or for a bounded time.
pub trait JobControl: Send + Sync {
    /// Nothing more is requested for the job until it is resumed.
    fn pause(&self, job: JobId) -> Result<(), ControlError>;
    fn resume(&self, job: JobId) -> Result<(), ControlError>;
    /// Ends the job for good; what it has stored stays.
    fn cancel(&self, job: JobId) -> Result<(), ControlError>;
    /// Removes the job with its queue and its rows in the catalogue. Its links and archived content stay.
    fn delete(&self, job: JobId) -> Result<(), ControlError>;
    /// Changes limits, delay and other settings that do not change the job's identity.
    fn change(&self, job: JobId, spec: JobSpec) -> Result<(), ControlError>;
}

/// Of the jobs there: by the process that owns the directory, if one does.
pub fn job_control(place: &Place) -> Box<dyn JobControl + '_> {
    match place {
        Place::Directory(path) => match OwnerClient::connect(path) {
            Some(owner) => Box::new(owner),
            None => Box::new(DirectoryAtRest::new(path)),
        },
        Place::Cluster(place) => Box::new(ClusterJobs::new(place)),
    }
}

/// The operations of a process that crawls.
pub trait Control: JobControl {
    fn status(&self) -> Result<Status, ControlError>;

    /// Creates a job, or finds the matching unfinished one. It starts with [`Control::start`]. A job that is already
    /// running is not changed, and [`AcceptedJob::is_running`] says so.
    fn submit(&self, request: JobRequest) -> Result<AcceptedJob, ControlError>;
    /// Seeds of a job that was submitted and has not started, in addition to those of its specification.
    fn add_seeds(&self, job: JobId, seeds: Vec<String>) -> Result<(), ControlError>;
    fn start(&self, job: JobId) -> Result<(), ControlError>;

    /// Ends the job in this process; it can be resumed.
    fn stop(&self, job: JobId) -> Result<(), ControlError>;
    fn retry(&self, job: JobId, wanted: RetryRequest) -> Result<Retried, ControlError>;
    /// `url` is in normal form.
    fn why(&self, job: JobId, url: &str) -> Result<Why, ControlError>;
}

/// A job that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedJob {
    pub job: JobId,
    pub is_new: bool,
    pub is_running: bool,
    /// For the user: how the process deviates from the request.
    pub notices: Vec<String>,
}

/// Which pages of a job are fetched again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRequest {
    /// All that failed.
    pub failed: bool,
    /// Those whose robots.txt was unreachable.
    pub blocked: bool,
    /// Pages by their URL in normal form.
    pub urls: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// URLs that were not queued already.
    pub queued: u64,
}

/// Why an operation failed. The API keeps its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct ControlError {
    #[serde(rename = "error")]
    pub kind: ControlErrorKind,
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlErrorKind {
    /// The request cannot be executed as it is.
    Invalid,
    /// There is no such job, or it does not run in this process.
    NotFound,
    /// The job is in another state.
    Conflict,
    /// The process is ending, or did not respond in time. A later attempt may succeed.
    Unavailable,
    Internal,
}

impl ControlError {
    pub fn new(kind: ControlErrorKind, detail: impl Into<String>) -> ControlError {
        ControlError { kind, detail: detail.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> ControlError {
        self.hint = Some(hint.into());
        self
    }
}
