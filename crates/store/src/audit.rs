//! Checks politeness in the fetch history: for every request, the time since the last one to the host, the number of requests
//! in flight, and whether the robots.txt in force allowed the path. Pure: the history comes sorted by host and start, and the
//! caller judges robots.txt.

mod gaps;
mod text;

use crate::catalogue::{CatalogueReader, FetchRow, RobotsRow, UncleanStop};
use crate::error::Result;
use argiope_model::{JobId, Millis, RequestKind, Url};
use gaps::Gaps;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::ControlFlow;

/// Violations and hosts kept for the listing; all of them are counted.
const LISTED_VIOLATIONS: usize = 1000;
const LISTED_HOSTS: usize = 10_000;

/// Whether a version of robots.txt allows a path (with its query) for a job and its user agent. None if unknown.
pub type Judge<'a> = &'a mut dyn FnMut(&RobotsRow, JobId, &str) -> Option<bool>;

/// Versions of an origin's robots.txt, oldest first.
pub trait RobotsHistory {
    fn versions(&mut self, origin: &str) -> Result<Vec<RobotsRow>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A request was sent before the delay of the host was over.
    Delay,
    /// More requests in flight than allowed.
    InFlight,
    /// robots.txt forbids the path.
    Robots,
}

/// A request, as a violation shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    pub url: String,
    pub kind: RequestKind,
    pub job: JobId,
    pub started: Millis,
    pub ended: Millis,
}

impl Request {
    fn of(row: &FetchRow) -> Request {
        Request {
            url: row.url.clone(),
            kind: row.kind,
            job: row.job,
            started: row.timings.started,
            ended: row.timings.ended,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    pub rule: Rule,
    pub host: String,
    pub request: Request,
    /// The previous request, which was too recent.
    pub previous: Option<Request>,
    /// Milliseconds, or requests in flight.
    pub required: u64,
    pub actual: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostAudit {
    pub host: String,
    pub requests: u64,
    pub violations: u64,
    /// The largest required delay.
    pub required_ms: u64,
    /// The smallest: settings and robots.txt may change while a host is crawled.
    pub least_required_ms: u64,
    pub min_gap_ms: Option<u64>,
    pub median_gap_ms: Option<u64>,
    pub max_in_flight: u64,
    /// Requests that were checked against a robots.txt.
    pub robots_checked: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    pub requests: u64,
    pub host_count: u64,
    pub robots_checked: u64,
    /// Jobs that ignore robots.txt. They do not request it; if another job did, they are checked against that one.
    pub robots_ignored_by: Vec<JobId>,
    pub violation_count: u64,
    /// The first of them.
    pub violations: Vec<Violation>,
    /// Those with violations first, then those with most requests.
    pub hosts: Vec<HostAudit>,
    /// How often the crawl was killed. Requests that were in flight then are not in the history, and their number is
    /// not known. One more than `unclean_stops` if the crawl has not been started again.
    pub killed: u64,
    pub unclean_stops: Vec<UncleanStop>,
}

/// Audits the requests of a job, or of all jobs.
pub fn audit(reader: &dyn CatalogueReader, job: Option<JobId>, judge: Judge<'_>) -> Result<AuditReport> {
    struct FromCatalogue<'r>(&'r dyn CatalogueReader);
    impl RobotsHistory for FromCatalogue<'_> {
        fn versions(&mut self, origin: &str) -> Result<Vec<RobotsRow>> {
            self.0.robots(origin)
        }
    }
    let mut history = FromCatalogue(reader);
    let mut auditor = Auditor::new(&mut history, judge);
    reader.fetches(job, &mut |row| {
        auditor.request(&row)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let mut report = auditor.finish();
    report.unclean_stops = reader.unclean_stops(job)?;
    // One kill may have ended several jobs.
    let kills: BTreeSet<Millis> = report.unclean_stops.iter().map(|stop| stop.found_at).collect();
    report.killed = kills.len() as u64;
    Ok(report)
}

/// Takes requests sorted by host and start. Its memory is bounded by the requests in flight on one host and by the
/// listing.
pub struct Auditor<'a> {
    robots: &'a mut dyn RobotsHistory,
    judge: Judge<'a>,
    report: AuditReport,
    host: Option<HostState>,
}

/// The host whose requests are being read.
struct HostState {
    figures: HostAudit,
    gaps: Gaps,
    /// The request that started last, and the one that has ended last.
    last_started: Option<Request>,
    last_ended: Option<Request>,
    in_flight: BinaryHeap<Reverse<u64>>,
    origin: String,
    versions: Vec<RobotsRow>,
}

impl HostState {
    fn new(host: &str) -> HostState {
        HostState {
            figures: HostAudit { host: host.to_owned(), ..HostAudit::default() },
            gaps: Gaps::default(),
            last_started: None,
            last_ended: None,
            in_flight: BinaryHeap::new(),
            origin: String::new(),
            versions: Vec::new(),
        }
    }
}

impl<'a> Auditor<'a> {
    pub fn new(robots: &'a mut dyn RobotsHistory, judge: Judge<'a>) -> Auditor<'a> {
        Auditor { robots, judge, report: AuditReport::default(), host: None }
    }

    pub fn request(&mut self, row: &FetchRow) -> Result<()> {
        let mut host = match self.host.take() {
            Some(host) if host.figures.host == row.host => host,
            other => {
                self.close(other);
                HostState::new(&row.host)
            }
        };
        self.report.requests += 1;
        host.figures.requests += 1;
        self.check_gap(&mut host, row);
        self.check_in_flight(&mut host, row);
        self.check_robots(&mut host, row)?;
        let request = Request::of(row);
        if host.last_ended.as_ref().is_none_or(|last| last.ended <= request.ended) {
            host.last_ended = Some(request.clone());
        }
        host.last_started = Some(request);
        self.host = Some(host);
        Ok(())
    }

    /// With one request at a time the delay runs from the end of the last response, else from start to start.
    fn check_gap(&mut self, host: &mut HostState, row: &FetchRow) {
        let figures = &mut host.figures;
        let is_first = figures.requests <= 1;
        figures.required_ms = figures.required_ms.max(row.required_delay_ms);
        figures.least_required_ms = if is_first {
            row.required_delay_ms
        } else {
            figures.least_required_ms.min(row.required_delay_ms)
        };
        let one_at_a_time = row.per_host <= 1;
        let previous = if one_at_a_time { &host.last_ended } else { &host.last_started };
        let Some(previous) = previous else { return };
        let free_at = if one_at_a_time { previous.ended } else { previous.started };
        let gap = row.timings.started.0.saturating_sub(free_at.0);
        host.gaps.add(gap);
        if gap < row.required_delay_ms {
            let violation = Violation {
                rule: Rule::Delay,
                host: row.host.clone(),
                request: Request::of(row),
                previous: Some(previous.clone()),
                required: row.required_delay_ms,
                actual: gap,
            };
            self.violate(host, violation);
        }
    }

    fn check_in_flight(&mut self, host: &mut HostState, row: &FetchRow) {
        // A start is rounded down to a millisecond, an end up: an apparent overlap of that size is none.
        while host.in_flight.peek().is_some_and(|Reverse(ended)| *ended <= row.timings.started.0 + 1) {
            host.in_flight.pop();
        }
        host.in_flight.push(Reverse(row.timings.ended.0));
        let now = host.in_flight.len() as u64;
        host.figures.max_in_flight = host.figures.max_in_flight.max(now);
        let allowed = u64::from(row.per_host.max(1));
        if now > allowed {
            let violation = Violation {
                rule: Rule::InFlight,
                host: row.host.clone(),
                request: Request::of(row),
                previous: host.last_started.clone(),
                required: allowed,
                actual: now,
            };
            self.violate(host, violation);
        }
    }

    fn check_robots(&mut self, host: &mut HostState, row: &FetchRow) -> Result<()> {
        if row.kind == RequestKind::Robots {
            return Ok(());
        }
        let Ok(url) = Url::from_stored(&row.url) else { return Ok(()) };
        if host.origin != url.origin() {
            host.versions = self.robots.versions(url.origin())?;
            host.origin = url.origin().to_owned();
        }
        // The version in force is the last one before the request began.
        let known = host.versions.partition_point(|version| version.fetched_at <= row.timings.started);
        let Some(version) = known.checked_sub(1).and_then(|at| host.versions.get(at)) else { return Ok(()) };
        let Some(allowed) = (self.judge)(version, row.job, url.path_and_query()) else { return Ok(()) };
        host.figures.robots_checked += 1;
        self.report.robots_checked += 1;
        if !allowed {
            let violation = Violation {
                rule: Rule::Robots,
                host: row.host.clone(),
                request: Request::of(row),
                previous: None,
                required: 0,
                actual: 0,
            };
            self.violate(host, violation);
        }
        Ok(())
    }

    fn violate(&mut self, host: &mut HostState, violation: Violation) {
        host.figures.violations += 1;
        self.report.violation_count += 1;
        if self.report.violations.len() < LISTED_VIOLATIONS {
            self.report.violations.push(violation);
        }
    }

    fn close(&mut self, host: Option<HostState>) {
        let Some(host) = host else { return };
        let mut figures = host.figures;
        figures.min_gap_ms = host.gaps.min();
        figures.median_gap_ms = host.gaps.median();
        self.report.host_count += 1;
        self.report.hosts.push(figures);
        if self.report.hosts.len() >= 2 * LISTED_HOSTS {
            self.rank_hosts();
        }
    }

    fn rank_hosts(&mut self) {
        self.report.hosts.sort_by(|a, b| {
            (b.violations, b.requests).cmp(&(a.violations, a.requests)).then_with(|| a.host.cmp(&b.host))
        });
        self.report.hosts.truncate(LISTED_HOSTS);
    }

    pub fn finish(mut self) -> AuditReport {
        let last = self.host.take();
        self.close(last);
        self.rank_hosts();
        self.report
    }
}

#[cfg(test)]
mod tests;
