//! One moment of a crawl as the display sees it: the [`Status`], and which part of it is shown.

use argiope_engine::{JobStatus, RateMeter, Status};
use argiope_model::JobId;
use std::time::Duration;

/// A status, and what the display shows beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'v> {
    pub(crate) status: &'v Status,
    /// The job's name, or its first seed.
    pub(crate) title: &'v str,
    /// Only these jobs of the process.
    pub(crate) only: Option<&'v [JobId]>,
    pub(crate) elapsed: Duration,
    pub(crate) max_pages: Option<u64>,
    /// Of the pages: those of earlier runs, which the mean rate leaves out.
    pub(crate) pages_before: u64,
    /// Pages a second over the last few seconds.
    pub(crate) rate_now: f64,
    /// Stored ones: a URL that was skipped, then found again another way and fetched, does not count.
    pub(crate) skipped: u64,
    /// Whether the status has figures of hosts. Only the workers of a cluster know theirs.
    pub(crate) has_hosts: bool,
}

impl View<'_> {
    /// The sum over the jobs that are shown.
    pub(crate) fn sum(&self, figure: fn(&JobStatus) -> u64) -> u64 {
        sum(self.status, self.only, figure)
    }

    pub(crate) fn pages(&self) -> u64 {
        self.sum(pages_of)
    }

    pub(crate) fn rate_overall(&self) -> f64 {
        self.pages().saturating_sub(self.pages_before) as f64 / self.elapsed.as_secs_f64().max(0.001)
    }
}

fn sum(status: &Status, only: Option<&[JobId]>, figure: fn(&JobStatus) -> u64) -> u64 {
    let is_shown = |job: &&JobStatus| only.is_none_or(|only| only.contains(&job.job));
    status.jobs.iter().filter(is_shown).map(figure).sum()
}

fn pages_of(job: &JobStatus) -> u64 {
    job.totals.pages
}

/// Makes the views of one crawl, one after the other.
pub(crate) struct Narrator {
    title: String,
    max_pages: Option<u64>,
    skipped: u64,
    only: Option<Vec<JobId>>,
    meter: RateMeter,
}

impl Narrator {
    pub(crate) fn new(title: String, max_pages: Option<u64>) -> Narrator {
        Narrator { title, max_pages, skipped: 0, only: None, meter: RateMeter::default() }
    }

    /// Shows some jobs of a process that may have others.
    pub(crate) fn of_jobs(title: String, max_pages: Option<u64>, jobs: Vec<JobId>) -> Narrator {
        Narrator { only: Some(jobs), ..Narrator::new(title, max_pages) }
    }

    pub(crate) fn set_skipped(&mut self, urls: u64) {
        self.skipped = urls;
    }

    pub(crate) fn view<'v>(&'v mut self, status: &'v Status, elapsed: Duration) -> View<'v> {
        let only = self.only.as_deref();
        View {
            status,
            title: &self.title,
            only,
            elapsed,
            max_pages: self.max_pages,
            pages_before: 0,
            rate_now: self.meter.sample(elapsed, sum(status, only, pages_of)),
            skipped: self.skipped,
            has_hosts: true,
        }
    }
}
