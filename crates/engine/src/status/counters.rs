//! Counters of a process or of one job. Threads count where things happen; [`Totals`] reads them.

use super::domains::{DomainCounts, Outcome};
use super::histogram::{COMMITS, CRAWLS, Histogram, PHASES};
use super::{DomainFigures, Latency};
use argiope_frontier::Completion;
use argiope_model::{FailureKind, FetchTimings, JobId, SkipReason};
use argiope_store::catalogue::{PageRow, SkippedRow};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Larger statuses are counted as this one.
const LAST_STATUS: usize = 600;
/// Domains with counters of their own.
const TOP_DOMAINS: usize = 20;

/// The counters of one job, or of the whole process.
#[derive(Debug)]
pub(crate) struct Counters {
    requests: AtomicU64,
    bytes: AtomicU64,
    pages: AtomicU64,
    failed: AtomicU64,
    timeouts: AtomicU64,
    redirects: AtomicU64,
    retries: [AtomicU64; RetryReason::ALL.len()],
    skipped: [AtomicU64; SkipReason::ALL.len()],
    statuses: Box<[AtomicU64]>,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            redirects: AtomicU64::new(0),
            retries: [const { AtomicU64::new(0) }; RetryReason::ALL.len()],
            skipped: [const { AtomicU64::new(0) }; SkipReason::ALL.len()],
            statuses: (0..=LAST_STATUS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

/// Why a request is sent again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    /// The response has a status that is worth a retry.
    Status,
    Timeout,
    /// No connection, or it broke off.
    Connection,
    Dns,
    Other,
}

impl RetryReason {
    pub const ALL: [RetryReason; 5] = [
        RetryReason::Status,
        RetryReason::Timeout,
        RetryReason::Connection,
        RetryReason::Dns,
        RetryReason::Other,
    ];

    pub(crate) fn of(kind: FailureKind) -> RetryReason {
        match kind {
            FailureKind::Status(_) => RetryReason::Status,
            FailureKind::Timeout => RetryReason::Timeout,
            FailureKind::Connect | FailureKind::Reset | FailureKind::Tls => RetryReason::Connection,
            FailureKind::NameNotFound | FailureKind::NameUnresolved => RetryReason::Dns,
            FailureKind::Protocol | FailureKind::TooManyRedirects | FailureKind::AddressRefused => {
                RetryReason::Other
            }
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            RetryReason::Status => "status",
            RetryReason::Timeout => "timeout",
            RetryReason::Connection => "connection",
            RetryReason::Dns => "dns",
            RetryReason::Other => "other",
        }
    }
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Requests of every kind.
    pub requests: u64,
    /// Bytes of response bodies as received.
    pub bytes: u64,
    /// URLs that ended with a response, committed or not.
    pub pages: u64,
    /// URLs that ended without one.
    pub failed: u64,
    /// Requests that took too long.
    pub timeouts: u64,
    pub redirects: u64,
    pub retries: BTreeMap<RetryReason, u64>,
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Final responses by status.
    pub statuses: BTreeMap<u16, u64>,
}

impl Totals {
    pub fn skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Relaxed);
}

impl Counters {
    fn request(&self) {
        add(&self.requests, 1);
    }

    fn received(&self, bytes: usize) {
        add(&self.bytes, bytes as u64);
    }

    fn timeout(&self) {
        add(&self.timeouts, 1);
    }

    fn retry(&self, reason: RetryReason) {
        if let Some(counter) = self.retries.get(reason as usize) {
            add(counter, 1);
        }
    }

    fn skipped(&self, reason: SkipReason, by: u64) {
        let at = SkipReason::ALL.iter().position(|r| *r == reason);
        if let Some(counter) = at.and_then(|at| self.skipped.get(at)) {
            add(counter, by);
        }
    }

    /// A visit has ended in this way.
    fn completed(&self, completion: &Completion, page: Option<&PageRow>) {
        match (completion, page) {
            (Completion::Redirect { .. }, _) => add(&self.redirects, 1),
            (Completion::Done { .. }, Some(row)) => match row.page.status {
                Some(status) => {
                    add(&self.pages, 1);
                    if let Some(counter) = self.statuses.get(usize::from(status).min(LAST_STATUS)) {
                        add(counter, 1);
                    }
                }
                None => add(&self.failed, 1),
            },
            (Completion::Done { .. } | Completion::Retry { .. }, _) => {}
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        let statuses = (0u16..).zip(&self.statuses);
        let retries = RetryReason::ALL.into_iter().zip(&self.retries);
        let skipped = SkipReason::ALL.into_iter().zip(&self.skipped);
        Totals {
            requests: read(&self.requests),
            bytes: read(&self.bytes),
            pages: read(&self.pages),
            failed: read(&self.failed),
            timeouts: read(&self.timeouts),
            redirects: read(&self.redirects),
            retries: retries.map(|(reason, count)| (reason, read(count))).filter(|(_, n)| *n > 0).collect(),
            skipped: skipped.map(|(reason, count)| (reason, read(count))).filter(|(_, n)| *n > 0).collect(),
            statuses: statuses.map(|(status, count)| (status, read(count))).filter(|(_, n)| *n > 0).collect(),
        }
    }
}

/// How a visit ended.
pub(crate) struct EndedVisit<'v> {
    pub(crate) host: &'v str,
    pub(crate) completion: &'v Completion,
    pub(crate) page: Option<&'v PageRow>,
    /// Why it is repeated, if it is.
    pub(crate) retry: RetryReason,
    /// Since its request was sent.
    pub(crate) took: Duration,
}

/// The host in a URL as it is stored.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Counters of the process as a whole.
#[derive(Debug)]
pub(crate) struct ProcessCounters {
    pub(crate) all: Counters,
    domains: Mutex<DomainCounts>,
    dns: Histogram,
    connect: Histogram,
    tls: Histogram,
    first_byte: Histogram,
    download: Histogram,
    crawl: Histogram,
    commit: Histogram,
}

impl Default for ProcessCounters {
    fn default() -> ProcessCounters {
        let phase = || Histogram::new(&PHASES);
        ProcessCounters {
            all: Counters::default(),
            domains: Mutex::new(DomainCounts::new(TOP_DOMAINS)),
            dns: phase(),
            connect: phase(),
            tls: phase(),
            first_byte: phase(),
            download: phase(),
            crawl: Histogram::new(&CRAWLS),
            commit: Histogram::new(&COMMITS),
        }
    }
}

impl ProcessCounters {
    /// Phases that did not happen, as a handshake on a connection that was open, are not counted.
    fn phases(&self, timings: &FetchTimings) {
        let phases = [
            (&self.dns, timings.dns_us),
            (&self.connect, timings.connect_us),
            (&self.tls, timings.tls_us),
            (&self.first_byte, timings.first_byte_us),
            (&self.download, timings.download_us),
        ];
        for (histogram, us) in phases.into_iter().filter(|(_, us)| *us > 0) {
            histogram.observe(Duration::from_micros(us.into()));
        }
    }

    pub(crate) fn committed(&self, took: Duration) {
        self.commit.observe(took);
    }

    /// A request of a job was sent.
    pub(crate) fn request(&self, job: &Counters) {
        [&self.all, job].iter().for_each(|counters| counters.request());
    }

    pub(crate) fn response(&self, job: &Counters, body_bytes: usize, timings: &FetchTimings) {
        [&self.all, job].iter().for_each(|counters| counters.received(body_bytes));
        self.phases(timings);
    }

    pub(crate) fn failure(&self, job: &Counters, kind: FailureKind, timings: &FetchTimings) {
        if kind == FailureKind::Timeout {
            [&self.all, job].iter().for_each(|counters| counters.timeout());
        }
        self.phases(timings);
    }

    /// A visit has ended in this way, or is to be repeated for this reason.
    pub(crate) fn visit_ended(&self, job: &Counters, ended: &EndedVisit<'_>) {
        for counters in [&self.all, job] {
            counters.completed(ended.completion, ended.page);
            if matches!(ended.completion, Completion::Retry { .. }) {
                counters.retry(ended.retry);
            }
        }
        if let (Completion::Done { .. }, Some(page)) = (ended.completion, ended.page) {
            let outcome = if page.page.status.is_some() { Outcome::Success } else { Outcome::Failed };
            self.crawl.observe(ended.took);
            self.lock_domains().count(ended.host, outcome);
        }
    }

    /// URLs of jobs that were skipped.
    pub(crate) fn skipped(&self, rows: &[SkippedRow], job: impl Fn(JobId) -> Option<Arc<Counters>>) {
        let mut of_job: Option<(JobId, Option<Arc<Counters>>)> = None;
        let mut domains = self.lock_domains();
        for row in rows {
            let count = row.counted();
            self.all.skipped(row.reason, count);
            if of_job.as_ref().is_none_or(|(id, _)| *id != row.job) {
                of_job = Some((row.job, job(row.job)));
            }
            if let Some((_, Some(counters))) = &of_job {
                counters.skipped(row.reason, count);
            }
            if count > 0 {
                domains.count(host_of(&row.url), Outcome::Skipped);
            }
        }
    }

    fn lock_domains(&self) -> MutexGuard<'_, DomainCounts> {
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn latency(&self) -> Latency {
        Latency {
            dns: self.dns.distribution(),
            connect: self.connect.distribution(),
            tls: self.tls.distribution(),
            first_byte: self.first_byte.distribution(),
            download: self.download.distribution(),
            crawl: self.crawl.distribution(),
            commit: self.commit.distribution(),
        }
    }

    pub(crate) fn domains(&self) -> Vec<DomainFigures> {
        self.lock_domains().figures()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_counter() {
        let counters = Counters::default();
        for (times, reason) in RetryReason::ALL.into_iter().enumerate() {
            (0..=times).for_each(|_| counters.retry(reason));
        }
        let totals = counters.totals();
        for (times, reason) in RetryReason::ALL.into_iter().enumerate() {
            assert_eq!(totals.retries.get(&reason), Some(&(times as u64 + 1)), "{}", reason.as_str());
        }
    }

    #[test]
    fn only_phases_that_happened_are_counted() {
        let counters = ProcessCounters::default();
        counters.phases(&FetchTimings { first_byte_us: 1500, download_us: 10, ..FetchTimings::default() });
        let latency = counters.latency();
        assert_eq!((latency.dns.count(), latency.connect.count(), latency.tls.count()), (0, 0, 0));
        assert_eq!((latency.first_byte.count(), latency.download.count()), (1, 1));
    }
}
