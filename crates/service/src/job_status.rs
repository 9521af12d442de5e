//! The state of a job: from the process that runs it; if there is none, from the catalogue and the frontier's stored
//! counts.

use crate::access::Access;
use crate::control::{Owner, named};
use crate::directory::{self, DataDirectory};
use crate::place::Work;
use crate::selection;
use argiope_config::Failure;
use argiope_engine::{JobStatus, Status};
use argiope_frontier::{QueueCounts, stored_job_counts};
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{Job, JobCounts};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// A job and what it is doing, its fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobReport {
    pub job: u32,
    pub name: Option<String>,
    pub state: &'static str,
    pub message: Option<String>,
    /// The process that runs it.
    pub pid: Option<u32>,
    pub pages: u64,
    pub failed: u64,
    pub skipped: u64,
    pub bytes: u64,
    pub requests: u64,
    /// None where it is not known now.
    pub queued: Option<u64>,
    /// Of the queued: URLs with a later due time.
    pub retries: Option<u64>,
    pub next_retry_ms: Option<u64>,
    pub in_progress: Option<u64>,
    pub hosts: Option<u64>,
    pub hosts_active: Option<u64>,
    pub hosts_waiting: Option<u64>,
    pub paused: Option<String>,
    pub created_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub seeds: Vec<String>,
}

/// What is known about blocked URLs.
pub enum Queue {
    /// The process that runs it, and the job there.
    Live { live: Box<JobStatus>, process: Box<Status> },
    /// Nobody runs it.
    AtRest,
    /// Of all shards; who works on it is in the status of the cluster.
    Cluster,
    /// Why it is not known.
    Unknown(String),
}

pub struct JobView {
    pub report: JobReport,
    pub queue: Queue,
    /// The job that the same command would mean now, if it is another one.
    pub successor: Option<JobId>,
}

/// `job` by name or number; without one the latest.
pub fn of(access: &Access, job: Option<&str>) -> Result<JobView, Failure> {
    let reader = access.reader()?;
    let job = selection::job(reader.as_ref(), job)?;
    let counts = reader.counts(job.id).map_err(|e| directory::store_failure(&e))?;
    let work = access.work()?;
    let state = work.state_word(&job);
    let key = job.name.as_ref().unwrap_or(&job.seeds_hash);
    let latest = reader.find_job(key).map_err(|e| directory::store_failure(&e))?;
    let successor = latest.map(|latest| latest.id).filter(|latest| *latest != job.id);
    let mut report = stored(&job, state, &counts)?;
    let queue = match work {
        Work::Cluster { queued } => {
            report.queued = Some(queued.get(&job.id).copied().unwrap_or(0));
            Queue::Cluster
        }
        Work::Here { owner, path } => queue_here(&job, owner, &path, &mut report),
    };
    Ok(JobView { report, queue, successor })
}

/// Adds what the owner of the directory knows, or the frontier if nobody owns it.
fn queue_here(job: &Job, owner: Owner, path: &Path, report: &mut JobReport) -> Queue {
    let live = owner.runs(job.id).cloned();
    match (owner, live) {
        (Owner::Running(process), Some(live)) => {
            report.pid = directory::owner_pid(path);
            fill_live(report, &live, &process);
            Queue::Live { live: Box::new(live), process }
        }
        (Owner::Running(process), None) => Queue::Unknown(format!(
            "{} runs {} now; the queue of this job is known when that has ended",
            directory::owning_process(path),
            named(&process)
        )),
        (Owner::Silent(why), _) => Queue::Unknown(format!(
            "{} owns the directory and does not respond: {why}",
            directory::owning_process(path)
        )),
        (Owner::Nobody, _) => match stored_counts(path, &[job.id]) {
            Ok(counts) => {
                let counts = counts.into_iter().flatten().next().unwrap_or_default();
                report.queued = Some(counts.queued + counts.delayed);
                report.retries = Some(counts.delayed);
                Queue::AtRest
            }
            Err(failure) => Queue::Unknown(failure.messages.join("; ")),
        },
    }
}

/// The counts in the records of each job. Locks the directory for that time.
pub(crate) fn stored_counts(path: &Path, jobs: &[JobId]) -> Result<Vec<Option<QueueCounts>>, Failure> {
    let directory = DataDirectory::open_existing(path)?;
    let state = directory.state()?;
    let counts = jobs.iter().map(|job| stored_job_counts(state.as_ref(), *job));
    counts.collect::<Result<_, _>>().map_err(|e| directory::state_failure(&directory.path, &e))
}

fn stored(job: &Job, state: &'static str, counts: &JobCounts) -> Result<JobReport, Failure> {
    Ok(JobReport {
        job: job.id.0,
        name: job.name.clone(),
        state,
        message: job.message.clone(),
        pid: None,
        pages: counts.pages,
        failed: counts.failed,
        skipped: counts.skipped(),
        bytes: counts.bytes,
        requests: counts.requests,
        queued: None,
        retries: None,
        next_retry_ms: None,
        in_progress: None,
        hosts: None,
        hosts_active: None,
        hosts_waiting: None,
        paused: None,
        created_at: job.created_at.rfc3339(),
        started_at: job.started_at.map(Millis::rfc3339),
        finished_at: job.finished_at.map(Millis::rfc3339),
        seeds: selection::spec(job)?.seeds,
    })
}

fn fill_live(report: &mut JobReport, live: &JobStatus, process: &Status) {
    report.queued = Some(live.queued);
    report.retries = Some(live.delayed);
    report.next_retry_ms = next_retry(process).map(millis);
    report.in_progress = Some(live.in_progress);
    report.hosts = Some(process.hosts.known);
    report.hosts_active = Some(process.hosts.active);
    report.hosts_waiting = Some(process.hosts.waiting_count());
    report.paused = process.phase.pause_reason().map(str::to_owned);
}

/// How long until the first retry.
pub fn next_retry(process: &Status) -> Option<Duration> {
    process.next_retry.map(|due| due.since(process.at))
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_engine::{JobActivity, Totals};
    use argiope_store::catalogue::JobState;

    fn job() -> Job {
        Job {
            id: JobId(3),
            name: Some(String::from("nightly")),
            seeds_hash: String::from("nightly"),
            spec: String::from("{}"),
            state: JobState::Running,
            message: None,
            created_at: Millis(1),
            started_at: Some(Millis(2)),
            finished_at: None,
            user: None,
        }
    }

    fn report() -> JobReport {
        stored(&job(), "running", &JobCounts { pages: 7, ..JobCounts::default() }).unwrap()
    }

    fn process() -> Status {
        let (activity, totals) = (JobActivity::Running, Totals::default());
        let live = JobStatus { job: JobId(3), activity, queued: 9, delayed: 2, in_progress: 1, totals };
        let mut process = Status { jobs: vec![live], at: Millis(1_000), ..Status::default() };
        process.next_retry = Some(Millis(1_500));
        process
    }

    #[test]
    fn the_process_that_runs_a_job_knows_its_queue() {
        let mut report = report();
        let nowhere = Path::new("no-such-directory");
        let queue = queue_here(&job(), Owner::Running(Box::new(process())), nowhere, &mut report);
        assert!(matches!(queue, Queue::Live { live, .. } if live.queued == 9));
        assert_eq!((report.queued, report.retries, report.next_retry_ms), (Some(9), Some(2), Some(500)));
        assert_eq!(report.pages, 7);
    }

    #[test]
    fn a_process_that_runs_other_jobs_or_is_silent_leaves_the_queue_unknown() {
        let nowhere = Path::new("no-such-directory");
        for (owner, what) in [
            (Owner::Running(Box::default()), "runs no job now"),
            (Owner::Silent(String::from("timeout")), "does not respond: timeout"),
        ] {
            let mut report = report();
            let queue = queue_here(&job(), owner, nowhere, &mut report);
            assert!(matches!(queue, Queue::Unknown(why) if why.contains(what)), "{what}");
            assert_eq!(report.queued, None);
        }
    }

    #[test]
    fn the_queue_of_a_directory_that_is_gone_is_unknown() {
        let mut report = report();
        let queue = queue_here(&job(), Owner::Nobody, Path::new("no-such-directory"), &mut report);
        assert!(matches!(queue, Queue::Unknown(why) if why.contains("no-such-directory")));
    }
}
