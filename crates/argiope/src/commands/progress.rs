//! What a person sees of a crawl besides its progress: its title, and the summary at the end.

use crate::progress::{BlockedHost, Ending, GoOn, HostSummary, Summary, fold, style_for_stdout, width_of};
use argiope_config::{CrawlSettings, Failure};
use argiope_engine::{Blocked, BlockedBy, Ended, JobOutcome};
use argiope_model::{JobSpec, SkipReason};
use argiope_service::directory;
use argiope_service::empty_crawl::EmptyCrawl;
use argiope_store::catalogue::{CatalogueReader, HostOrder, Job};
use argiope_store::clock::now;
use argiope_store::merged;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

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
