//! From what the engine knows to what a person sees: live progress, and the summary at the end.

use super::empty::EmptyCrawl;
use crate::data;
use crate::progress::summary::waiting_urls;
use crate::progress::{
    BlockedBy, BlockedHost, Ending, GoOn, HostSummary, Phase, Snapshot, Summary, WaitReason, Waiting,
    WaitingHost, fold, style_for_stdout, width_of,
};
use argiope_config::{CrawlSettings, Failure};
use argiope_engine::{Blocked, Ended, JobOutcome, Phase as Doing, Status};
use argiope_model::{JobId, JobSpec, SkipReason, WaitReason as Why};
use argiope_store::catalogue::{CatalogueReader, HostOrder, Job};
use argiope_store::clock::now;
use argiope_store::merged;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// A wait that is worth a line of its own.
const LONG: Duration = Duration::from_secs(5);

/// What a job is called on the screen.
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

/// Turns snapshots of the engine into those of the display.
pub(crate) struct Narrator {
    title: String,
    max_pages: Option<u64>,
    skipped: u64,
}

impl Narrator {
    pub(crate) fn new(title: String, max_pages: Option<u64>) -> Narrator {
        Narrator { title, max_pages, skipped: 0 }
    }

    /// Those that are stored: what is found again by another way, and fetched, is none any more.
    pub(crate) fn set_skipped(&mut self, urls: u64) {
        self.skipped = urls;
    }

    pub(crate) fn tell(&self, status: &Status, elapsed: Duration) -> Snapshot {
        let totals = &status.totals;
        Snapshot {
            title: self.title.clone(),
            phase: match &status.phase {
                Doing::NetworkDown { .. } => Phase::NetworkDown,
                Doing::Stopping => Phase::Stopping,
                Doing::Held { reason } => Phase::Held(reason.clone()),
                Doing::Running => Phase::Running,
            },
            elapsed,
            pages: totals.pages,
            max_pages: self.max_pages,
            rate_now: status.rates.now,
            rate_overall: status.rates.mean,
            queued: status.queued(),
            retries: status.jobs.iter().map(|job| job.delayed).sum(),
            next_retry: status.next_retry.map(|due| due.since(status.at)),
            in_flight: status.requests.in_flight,
            looked_up: status.requests.resolving,
            slow_answer: slow_answer(status),
            failed: totals.failed,
            skipped: self.skipped,
            bytes: totals.bytes,
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

fn blocked_by(by: argiope_engine::BlockedBy) -> BlockedBy {
    match by {
        argiope_engine::BlockedBy::RetryAfter => BlockedBy::RetryAfter,
        argiope_engine::BlockedBy::RobotsUnreachable => BlockedBy::RobotsUnreachable,
        argiope_engine::BlockedBy::Retry => BlockedBy::Retry,
    }
}

fn blocked_hosts(left: &Blocked) -> Vec<BlockedHost> {
    let now = now();
    left.hosts
        .iter()
        .map(|host| BlockedHost {
            host: host.host.clone(),
            by: blocked_by(host.by),
            urls: host.urls,
            until: host.until.rfc3339(),
            due: host.until.since(now),
            cause: host.cause.clone(),
        })
        .collect()
}

/// What a job that is paused waits for, in the words of its summary.
pub(crate) fn what_waits(ended: &Ended, job: JobId) -> Option<String> {
    let (_, left) = ended.blocked.iter().find(|(known, _)| *known == job)?;
    let groups = groups_of(left);
    (!groups.is_empty()).then(|| waiting_urls(&groups))
}

fn groups_of(left: &Blocked) -> Vec<(BlockedBy, u64)> {
    left.groups.iter().map(|(by, group)| (blocked_by(*by), group.urls)).collect()
}

/// Places of each kind that a summary names where limits held something back.
pub(crate) const CUT_ROWS: usize = 5;

/// What is known at the end of a crawl.
pub(crate) struct EndFacts<'c> {
    pub(crate) settings: &'c CrawlSettings,
    pub(crate) job: &'c Job,
    pub(crate) ended: &'c Ended,
    pub(crate) outcome: JobOutcome,
    /// Why no page was stored, if so.
    pub(crate) empty: Option<&'c EmptyCrawl>,
    pub(crate) elapsed: Duration,
    pub(crate) output: Option<PathBuf>,
    /// Pages it had before this run, where the engine's count is that of several jobs.
    pub(crate) pages_before: Option<u64>,
}

pub(crate) fn print_summary(reader: &dyn CatalogueReader, facts: &EndFacts<'_>) -> Result<(), Failure> {
    let summary = summary(reader, facts).map_err(|e| data::store_failure(&e))?;
    // Pages on stdout are for programs: the summary is for people.
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
