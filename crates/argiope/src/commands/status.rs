//! `status`: the state of a job, as text or as JSON.

use super::output::{print, print_json};
use crate::cli::StatusArgs;
use crate::progress::retries;
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::{bytes, count, counted, printable};
use argiope_service::Access;
use argiope_service::job_status::{self, JobView, Queue, next_retry};
use argiope_service::selection::seeds_in_short;
use std::fmt::Write;

pub(crate) fn run(global: &GlobalOptions, args: &StatusArgs) -> Result<(), Failure> {
    let view = job_status::of(&Access::open(global)?, args.job.as_deref())?;
    if args.json { print_json(&view.report) } else { print(&text(&view)) }
}

fn text(view: &JobView) -> String {
    let JobView { report: status, queue, successor } = view;
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
            line("hosts", format!("{}: {active} active, {waiting} waiting", count(process.hosts.known)));
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
        Queue::AtRest | Queue::Cluster => line("queue", counted(status.queued.unwrap_or(0), "URL", "URLs")),
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
    if matches!(queue, Queue::AtRest) {
        let _ = match (status.state, successor) {
            ("completed" | "failed" | "cancelled", _) => {
                writeln!(text, "Not running; the same 'argiope crawl' command starts it over.")
            }
            (_, Some(job)) => writeln!(text, "Not running; job {job} has replaced it."),
            (_, None) => {
                writeln!(text, "Not running; the same 'argiope crawl' command resumes it.")
            }
        };
    }
    text
}
