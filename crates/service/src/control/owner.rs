//! Who owns a data directory now.

use super::{Control, OwnerClient};
use argiope_engine::{JobActivity, JobStatus, Status};
use argiope_model::JobId;
use std::path::Path;

#[derive(Debug)]
pub enum Owner {
    /// A process that crawls into it.
    Running(Box<Status>),
    Nobody,
    /// A process has the socket and does not respond, for this reason.
    Silent(String),
}

impl Owner {
    pub fn of(directory: &Path) -> Owner {
        match OwnerClient::connect(directory).map(|client| client.status()) {
            Some(Ok(status)) => Owner::Running(Box::new(status)),
            Some(Err(error)) => Owner::Silent(error.to_string()),
            None => Owner::Nobody,
        }
    }

    /// The owner's status of a job, if it runs there.
    pub fn runs(&self, job: JobId) -> Option<&JobStatus> {
        match self {
            Owner::Running(status) => status.job(job).filter(|job| job.activity != JobActivity::Ended),
            Owner::Nobody | Owner::Silent(_) => None,
        }
    }
}

/// The jobs of a process, for a message: `job 3`, `jobs 3 and 4`.
pub fn named(status: &Status) -> String {
    let running = status.jobs.iter().filter(|job| job.activity != JobActivity::Ended);
    let mut numbers: Vec<String> = running.map(|job| job.job.to_string()).collect();
    match numbers.pop() {
        Some(last) if numbers.is_empty() => format!("job {last}"),
        Some(last) => format!("jobs {} and {last}", numbers.join(", ")),
        None => String::from("no job"),
    }
}
