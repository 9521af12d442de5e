//! From the engine's status to what a person sees: live progress, and the summary at the end.

use crate::progress::{
    BlockedHost, Ending, GoOn, HostSummary, Phase, Snapshot, Summary, WaitReason, Waiting, WaitingHost, fold,
    style_for_stdout, width_of,
};
use argiope_config::{CrawlSettings, Failure};
use argiope_engine::{Blocked, BlockedBy, Ended, JobOutcome, JobStatus, Phase as Doing, RateMeter, Status};
use argiope_model::{JobId, JobSpec, SkipReason, WaitReason as Why};
use argiope_service::directory;
use argiope_service::empty_crawl::EmptyCrawl;
use argiope_store::catalogue::{CatalogueReader, HostOrder, Job};
use argiope_store::clock::now;
use argiope_store::merged;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// A wait that deserves a line of its own.
const LONG: Duration = Duration::from_secs(5);

/// The display name of a job.
pub(crate) fn title(job: &Job, spec: &JobSpec) -> String {
    if let Some(name) = &job.name {
        return name.clone();
    }
    match spec.seeds.as_slice() {
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        [] => format!("job {}", job.id),
    }
}

/// Converts engine statuses to display snapshots.
pub(crate) struct Narrator {
    title: String,
    max_pages: Option<u64>,
    skipped: u64,
    /// Only these jobs of the process.
    only: Option<Vec<JobId>>,
    meter: RateMeter,
}

impl Narrator {
    pub(crate) fn new(title: String, max_pages: Option<u64>) -> Narrator {
        Narrator { title, max_pages, skipped: 0, only: None, meter: RateMeter::default() }
    }

    /// Stored ones: a URL that was skipped, then found again another way and fetched, does not count.
    pub(crate) fn set_skipped(&mut self, urls: u64) {
        self.skipped = urls;
    }

    /// Shows some jobs of a process that may have others.
    pub(crate) fn of_jobs(title: String, max_pages: Option<u64>, jobs: Vec<JobId>) -> Narrator {
        Narrator { only: Some(jobs), ..Narrator::new(title, max_pages) }
    }

    pub(crate) fn tell(&mut self, status: &Status, elapsed: Duration) -> Snapshot {
        let shown = |job: &&JobStatus| self.only.as_ref().is_none_or(|only| only.contains(&job.job));
        let sum = |figure: fn(&JobStatus) -> u64| status.jobs.iter().filter(shown).map(figure).sum::<u64>();
        let pages = sum(|job| job.totals.pages);
        Snapshot {
            title: self.title.clone(),
            phase: match &status.phase {
                Doing::NetworkDown { .. } => Phase::NetworkDown,
                Doing::Stopping => Phase::Stopping,
                Doing::Held { reason } => Phase::Held(reason.clone()),
                Doing::Running => Phase::Running,
            },
            elapsed,
            pages,
            max_pages: self.max_pages,
            rate_now: self.meter.sample(elapsed, pages),
            rate_overall: pages as f64 / elapsed.as_secs_f64().max(0.001),
            queued: sum(|job| job.queued),
            retries: sum(|job| job.delayed),
            next_retry: status.next_retry.map(|due| due.since(status.at)),
            in_flight: status.requests.in_flight,
            looked_up: status.requests.resolving,
            slow_answer: slow_answer(status),
            failed: sum(|job| job.totals.failed),
            skipped: self.skipped,
            bytes: sum(|job| job.totals.bytes),
            hosts_active: Some(status.hosts.active),
            waiting: waiting(status),
            slowest: slowest(status),
        }
    }
}

fn waiting(status: &Status) -> Vec<Waiting> {
    let mut all: Vec<Waiting> = Vec::new();
    for group in &status.hosts.waiting {
        let reason = reason_of(group.reason);
        let due = Some(group.next_due.since(status.at));
        match all.iter_mut().find(|w| w.reason == reason) {
            Some(known) => {
                known.hosts += group.hosts;
                known.next_due = known.next_due.min(due);
            }
            None => all.push(Waiting { reason, hosts: group.hosts, next_due: due }),
        }
    }
    if status.hosts.at_address > 0 {
        all.push(Waiting { reason: WaitReason::AddressBusy, hosts: status.hosts.at_address, next_due: None });
    }
    all
}

fn slow_answer(status: &Status) -> Option<(String, Duration)> {
    let oldest = status.requests.oldest.as_ref()?;
    let waited = status.at.since(oldest.since);
    (waited > LONG).then(|| (oldest.url.clone(), waited))
}

fn slowest(status: &Status) -> Vec<WaitingHost> {
    let waits = status.hosts.slowest.iter().map(|host| (host, host.due.since(status.at)));
    waits
        .filter(|(_, wait)| *wait > LONG)
        .map(|(host, wait)| WaitingHost {
            host: host.host.clone(),
            reason: reason_of(host.reason),
            due: Some(wait),
        })
        .collect()
}

fn reason_of(reason: Why) -> WaitReason {
    match reason {
        Why::CrawlDelay => WaitReason::CrawlDelay,
        Why::BreakerOpen | Why::Suspended => WaitReason::BreakerOpen,
        Why::Parked | Why::RetryAfter => WaitReason::RetryAfter,
        Why::RobotsUnreachable => WaitReason::RobotsUnreachable,
        Why::RobotsRetry | Why::DnsRetry => WaitReason::BackingOff,
        Why::OutsideWindow => WaitReason::OutsideTimeWindow,
    }
}

fn blocked_hosts(left: &Blocked) -> Vec<BlockedHost> {
    let now = now();
    left.hosts
        .iter()
        .map(|host| BlockedHost {
            host: host.host.clone(),
            by: host.by,
            urls: host.urls,
            until: host.until.rfc3339(),
            due: host.until.since(now),
            cause: host.cause.clone(),
        })
        .collect()
}

fn groups_of(left: &Blocked) -> Vec<(BlockedBy, u64)> {
    left.groups.iter().map(|(by, group)| (*by, group.urls)).collect()
}

/// Places of each kind that a summary lists under limits.
pub(crate) const CUT_ROWS: usize = 5;

/// The data at the end of a crawl.
pub(crate) struct EndFacts<'c> {
    pub(crate) settings: &'c CrawlSettings,
    pub(crate) job: &'c Job,
    pub(crate) ended: &'c Ended,
    pub(crate) outcome: JobOutcome,
    /// Why no page was stored, if so.
    pub(crate) empty: Option<&'c EmptyCrawl>,
    pub(crate) elapsed: Duration,
    pub(crate) output: Option<PathBuf>,
    /// Pages before this run, if the engine's count covers several jobs.
    pub(crate) pages_before: Option<u64>,
}

pub(crate) fn print_summary(reader: &dyn CatalogueReader, facts: &EndFacts<'_>) -> Result<(), Failure> {
    let summary = summary(reader, facts).map_err(|e| directory::store_failure(&e))?;
    // Pages on stdout are for programs, so the summary goes to stderr.
    let to_stderr = facts.output.as_deref() == Some(std::path::Path::new("-"));
    let width = if to_stderr { width_of(&std::io::stderr()) } else { width_of(&std::io::stdout()) };
    let lines = fold(&summary.lines(style_for_stdout()), width.unwrap_or(usize::MAX));
    let text = lines.join("\n");
    let written =
        if to_stderr { writeln!(std::io::stderr(), "{text}") } else { writeln!(std::io::stdout(), "{text}") };
    written.map_err(|e| Failure::output(&e))
}

fn summary(reader: &dyn CatalogueReader, facts: &EndFacts<'_>) -> argiope_store::error::Result<Summary> {
    let id = facts.job.id;
    let counts = reader.counts(id)?;
    let queued = facts.ended.status.job(id).map_or(0, |job| job.queued);
    let left = facts.ended.blocked.iter().find(|(job, _)| *job == id).map(|(_, left)| left.clone());
    let left = left.unwrap_or_default();
    let is_blocked = matches!(facts.outcome, JobOutcome::Blocked { .. });
    let slowest = reader.host_figures(id, HostOrder::Slowest, 5)?;
    let cuts = argiope_store::cuts::gather(reader, id, &counts, CUT_ROWS)?;
    let mut refused_example = None;
    reader.skipped(Some(id), &mut |row| {
        if row.reason == SkipReason::Merged || row.reason.is_about_a_page() {
            return Ok(ControlFlow::Continue(()));
        }
        refused_example = Some(row.url);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(Summary {
        job: facts.job.name.clone().unwrap_or_else(|| id.to_string()),
        ending: match facts.outcome {
            JobOutcome::Done => Ending::Done,
            JobOutcome::Limit => Ending::PageLimit,
            JobOutcome::Interrupted | JobOutcome::Cancelled => Ending::Interrupted,
            JobOutcome::Blocked { until } => Ending::Blocked {
                groups: groups_of(&left),
                next_due: left.groups.values().map(|group| group.until).min().unwrap_or(until).since(now()),
            },
        },
        elapsed: facts.elapsed,
        pages: counts.pages,
        pages_now: match facts.pages_before {
            Some(before) => counts.pages.saturating_sub(before),
            None => facts.ended.status.totals.pages.min(counts.pages),
        },
        hosts: reader.host_count(id)?,
        requests: counts.requests,
        bytes: counts.received,
        queued,
        statuses: counts.by_status.iter().map(|(s, n)| (*s, *n)).collect(),
        failed: counts.failed,
        errors: counts.by_error.iter().map(|(e, n)| (e.clone(), *n)).collect(),
        skipped: counts.by_skip.iter().map(|(r, n)| (*r, *n)).collect(),
        cuts,
        resources: (counts.resources, counts.broken_resources),
        slowest: slowest
            .into_iter()
            .map(|h| HostSummary {
                host: h.host,
                pages: h.pages,
                mean_fetch: Duration::from_millis(h.mean_fetch_ms),
            })
            .collect(),
        blocked: if is_blocked { blocked_hosts(&left) } else { Vec::new() },
        blocked_hosts: if is_blocked { left.host_count } else { 0 },
        data: facts.settings.data_is_kept.then(|| facts.settings.process.data.clone()),
        output: facts.output.clone(),
        archived: facts.settings.job.archive,
        go_on: match facts.settings.fresh {
            _ if !facts.settings.can_go_on => None,
            true => Some(GoOn::WithoutFresh),
            false => Some(GoOn::SameCommand),
        },
        merged: merged::gather(reader, id)?,
        refused_example,
        empty: facts.empty.map(|empty| (empty.reason.clone(), empty.advice.clone())),
    })
}
