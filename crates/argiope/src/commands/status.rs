//! `status`: what is going on in a job. The process that runs it is asked; where nobody does, the catalogue and the
//! frontier's own counts say how far it came.

use super::selection::{self, print, print_json, seeds_in_short};
use crate::cli::StatusArgs;
use crate::progress::retries;
use argiope_config::{Failure, GlobalOptions};
use argiope_engine::{JobStatus, Status as ProcessStatus};
use argiope_frontier::{QueueCounts, stored_job_counts};
use argiope_model::display::{bytes, count, counted, printable};
use argiope_model::{JobId, Millis};
use argiope_service::control::{Owner, named};
use argiope_service::directory::{self, DataDirectory};
use argiope_service::place::{Place, Work};
use argiope_store::catalogue::{Job, JobCounts};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// Its fields in this order.
#[derive(Debug, Serialize)]
struct Status {
    job: u32,
    name: Option<String>,
    state: &'static str,
    message: Option<String>,
    /// The process that runs it.
    pid: Option<u32>,
    pages: u64,
    failed: u64,
    skipped: u64,
    bytes: u64,
    requests: u64,
    /// None where it cannot be told now.
    queued: Option<u64>,
    /// Of the queued: those that wait for a time of their own.
    retries: Option<u64>,
    next_retry_ms: Option<u64>,
    in_progress: Option<u64>,
    hosts: Option<u64>,
    hosts_active: Option<u64>,
    hosts_waiting: Option<u64>,
    paused: Option<String>,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
    seeds: Vec<String>,
}

pub(crate) fn run(global: &GlobalOptions, args: &StatusArgs) -> Result<(), Failure> {
    let stores = Place::of(global)?;
    let reader = stores.reader()?;
    let job = selection::job(reader.as_ref(), args.job.as_deref())?;
    let counts = reader.counts(job.id).map_err(|e| directory::store_failure(&e))?;
    let work = stores.work()?;
    let queue = match &work {
        Work::Cluster { .. } => Queue::Cluster(work.queued(job.id).unwrap_or(0)),
        Work::Here { owner: Owner::Nobody, .. } => Queue::at_rest(global, job.id),
        Work::Here { owner: owner @ Owner::Running(process), .. } => match owner.runs(job.id) {
            Some(live) => Queue::Live { live, process },
            None => Queue::Unknown(format!(
                "{} runs {} now; the queue of this one can be told when it has ended",
                owning_process(global),
                named(process)
            )),
        },
        Work::Here { owner: Owner::Silent(why), .. } => Queue::Unknown(format!(
            "{} owns the directory and does not respond: {why}",
            owning_process(global)
        )),
    };
    let state = work.state_word(&job);
    let key = job.name.as_ref().unwrap_or(&job.seeds_hash);
    let latest = reader.find_job(key).map_err(|e| directory::store_failure(&e))?;
    let successor = latest.map(|latest| latest.id).filter(|latest| *latest != job.id);
    let status = status(global, &job, state, &counts, &queue)?;
    if args.json { print_json(&status) } else { print(&text(&status, &queue, successor)) }
}

fn owning_process(global: &GlobalOptions) -> String {
    directory::owner_pid(&global.data)
        .map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
}

/// What is known of the URLs that wait.
enum Queue<'o> {
    /// The process that runs it, and the job there.
    Live {
        live: &'o JobStatus,
        process: &'o ProcessStatus,
    },
    AtRest(QueueCounts),
    /// Of all shards; who works on it is in 'cluster status'.
    Cluster(u64),
    Unknown(String),
}

impl Queue<'_> {
    fn at_rest(global: &GlobalOptions, job: JobId) -> Queue<'static> {
        match stored_counts(global, &[job]) {
            Ok(counts) => Queue::AtRest(counts.into_iter().flatten().next().unwrap_or_default()),
            Err(failure) => Queue::Unknown(failure.messages.join("; ")),
        }
    }
}

/// The counts in the records of each job. The directory is taken for as long as that takes.
pub(super) fn stored_counts(
    global: &GlobalOptions,
    jobs: &[JobId],
) -> Result<Vec<Option<QueueCounts>>, Failure> {
    let directory = DataDirectory::open_existing(&global.data)?;
    let state = directory.state()?;
    let counts = jobs.iter().map(|job| stored_job_counts(state.as_ref(), *job));
    counts.collect::<Result<_, _>>().map_err(|e| directory::state_failure(&directory.path, &e))
}

fn status(
    global: &GlobalOptions,
    job: &Job,
    state: &'static str,
    counts: &JobCounts,
    queue: &Queue<'_>,
) -> Result<Status, Failure> {
    let live = match queue {
        Queue::Live { live, process } => Some((live, process)),
        Queue::AtRest(_) | Queue::Cluster(_) | Queue::Unknown(_) => None,
    };
    let queued = match queue {
        Queue::Live { live, .. } => Some(live.queued),
        Queue::AtRest(counts) => Some(counts.queued + counts.delayed),
        Queue::Cluster(queued) => Some(*queued),
        Queue::Unknown(_) => None,
    };
    Ok(Status {
        job: job.id.0,
        name: job.name.clone(),
        state,
        message: job.message.clone(),
        pid: live.and(directory::owner_pid(&global.data)),
        pages: counts.pages,
        failed: counts.failed,
        skipped: counts.skipped(),
        bytes: counts.bytes,
        requests: counts.requests,
        queued,
        retries: match queue {
            Queue::Live { live, .. } => Some(live.delayed),
            Queue::AtRest(counts) => Some(counts.delayed),
            Queue::Cluster(_) | Queue::Unknown(_) => None,
        },
        next_retry_ms: live.and_then(|(_, process)| next_retry(process)).map(millis),
        in_progress: live.map(|(job, _)| job.in_progress),
        hosts: live.map(|(_, process)| process.hosts.known),
        hosts_active: live.map(|(_, process)| process.hosts.active),
        hosts_waiting: live.map(|(_, process)| process.hosts.waiting_count()),
        paused: live.and_then(|(_, process)| process.phase.pause_reason().map(str::to_owned)),
        created_at: job.created_at.rfc3339(),
        started_at: job.started_at.map(Millis::rfc3339),
        finished_at: job.finished_at.map(Millis::rfc3339),
        seeds: selection::spec(job)?.seeds,
    })
}

/// How long the first retry waits.
fn next_retry(process: &ProcessStatus) -> Option<Duration> {
    process.next_retry.map(|due| due.since(process.at))
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// `successor`: the job that the same command would mean now.
fn text(status: &Status, queue: &Queue<'_>, successor: Option<JobId>) -> String {
    let mut text = format!("Job {}", status.job);
    if let Some(name) = &status.name {
        let _ = write!(text, " ({})", printable(name));
    }
    let _ = match status.pid {
        Some(pid) => write!(text, " is {}: process {pid}", status.state),
        None => write!(text, " is {}", status.state),
    };
    if let Some(message) = &status.message {
        let _ = write!(text, ": {message}");
    }
    let mut line = |name: &str, value: String| {
        let _ = write!(text, "\n  {name:<9} {value}");
    };
    line("seeds", printable(&seeds_in_short(&status.seeds)));
    line(
        "pages",
        format!("{}, {} failed, {}", count(status.pages), count(status.failed), bytes(status.bytes)),
    );
    line("requests", count(status.requests));
    line("skipped", counted(status.skipped, "URL", "URLs"));
    match queue {
        Queue::Live { live, process } => {
            let in_flight = live.in_progress.min(process.requests.in_flight);
            let urls = counted(live.queued, "URL", "URLs");
            let stored = match live.in_progress.saturating_sub(in_flight) {
                0 => String::new(),
                answered => format!(", {} being stored", count(answered)),
            };
            line("queue", format!("{urls}, {} being fetched{stored}", count(in_flight)));
            if let Some(text) = retries(live.delayed, next_retry(process)) {
                line("retries", text);
            }
            let (active, waiting) = (count(process.hosts.active), count(process.hosts.waiting_count()));
            line(
                "hosts",
                format!("{}: {active} active, {waiting} waiting for their time", count(process.hosts.known)),
            );
            let (pages, requests) = (
                counted(live.totals.pages, "page", "pages"),
                counted(live.totals.requests, "request", "requests"),
            );
            let beside = match process.jobs.len().saturating_sub(1) as u64 {
                0 => String::new(),
                others => format!(", with {} beside it", counted(others, "job", "jobs")),
            };
            line("this run", format!("{pages} in {requests}, {}{beside}", bytes(live.totals.bytes)));
        }
        Queue::AtRest(_) | Queue::Cluster(_) => {
            line("queue", counted(status.queued.unwrap_or(0), "URL", "URLs"))
        }
        Queue::Unknown(why) => line("queue", format!("unknown: {why}")),
    }
    if let Some(paused) = &status.paused {
        line("paused", paused.clone());
    }
    line("created", status.created_at.clone());
    if let Some(finished) = &status.finished_at {
        line("finished", finished.clone());
    }
    text.push('\n');
    if matches!(queue, Queue::AtRest(_)) {
        let _ = match (status.state, successor) {
            ("completed" | "failed" | "cancelled", _) => {
                writeln!(text, "Nobody runs it now; the same 'argiope crawl' command starts it anew.")
            }
            (_, Some(job)) => writeln!(text, "Nobody runs it now; job {job} has taken its place."),
            (_, None) => {
                writeln!(text, "Nobody runs it now; the same 'argiope crawl' command goes on with it.")
            }
        };
    }
    text
}
