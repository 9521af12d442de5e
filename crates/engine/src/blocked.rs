//! The URLs of a job that are blocked for long: on which hosts, why, until when, and how many.

use crate::error::EngineError;
use crate::job::JobContext;
use argiope_frontier::Frontier;
use argiope_frontier::codec::decode_visit;
use argiope_frontier::state::{QueueAt, ShardState};
use argiope_model::{Millis, RequestKind, Skip, SkipReason, Url, Visit, WaitReason};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, SkippedRow};
use std::collections::{BTreeMap, HashMap};

/// Entries of a queue that are read at once.
const ENTRIES: usize = 1000;
/// Retries beyond this number are counted without listing their hosts.
const RETRIES: usize = 10_000;
/// Hosts beyond this number are only counted.
const HOSTS: usize = 100;
/// Requests for one robots.txt that are searched for the last one.
const ROBOTS_REQUESTS: usize = 1000;

/// Why URLs are blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockedBy {
    /// The host asked for it with a long Retry-After.
    RetryAfter,
    RobotsUnreachable,
    /// They wait for a retry.
    Retry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedHost {
    pub host: String,
    pub by: BlockedBy,
    pub until: Millis,
    /// Sitemaps are not counted.
    pub urls: u64,
    /// The result of the last request for robots.txt, if that is what is missing.
    pub cause: Option<String>,
}

/// URLs that are blocked for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedGroup {
    pub urls: u64,
    /// When the first of them is due.
    pub until: Millis,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    pub groups: BTreeMap<BlockedBy, BlockedGroup>,
    /// The first hosts, by name.
    pub hosts: Vec<BlockedHost>,
    pub host_count: u64,
}

impl Blocked {
    fn add(&mut self, host: BlockedHost) {
        let group = self.groups.entry(host.by).or_insert(BlockedGroup { urls: 0, until: host.until });
        group.urls += host.urls;
        group.until = group.until.min(host.until);
        self.host_count += 1;
        if self.hosts.len() < HOSTS {
            self.hosts.push(host);
        }
    }
}

/// Records URLs that wait for an unreachable robots.txt as skipped for now; they stay queued. Returns the blocked URLs
/// and, if `is_blocked` (nothing else is left), also those that wait for retries.
pub(crate) fn collect(
    frontier: &mut Frontier,
    state: &dyn ShardState,
    catalogue: &mut dyn Catalogue,
    job: &JobContext,
    is_blocked: bool,
    at: Millis,
) -> Result<Blocked, EngineError> {
    let mut blocked = Blocked::default();
    // A graph keeps no history in which to find causes.
    let reader = if job.graph.is_none() { Some(catalogue.reader()?) } else { None };
    let mut causes = Causes { reader, known: HashMap::new() };
    let mut retries = retries_by_host(frontier, state, job, at)?;
    let mut skipped = Vec::new();
    for visit in std::mem::take(&mut retries.without_robots) {
        let cause = causes.of(&visit.url)?;
        skipped.push(refused(&visit, visit.url.host(), cause.as_deref()));
    }
    if !skipped.is_empty() {
        catalogue.commit(&Batch { at, skipped, ..Batch::default() })?;
    }
    let job = job.id;
    for (host, reason, until) in frontier.blocked_hosts(job) {
        let Some(place) = frontier.queue_at(job, host) else { continue };
        let by = by_reason(reason);
        let unreachable = by == BlockedBy::RobotsUnreachable;
        let mut cause = None;
        let mut urls = 0;
        each_page(state, place, &mut |visits| {
            urls += visits.len() as u64;
            if !unreachable {
                return Ok(());
            }
            let mut skipped = Vec::with_capacity(visits.len());
            for visit in visits {
                let why = causes.of(&visit.url)?;
                skipped.push(refused(visit, host, why.as_deref()));
                cause = cause.take().or(why);
            }
            Ok(catalogue.commit(&Batch { at, skipped, ..Batch::default() }).map(|_| ())?)
        })?;
        if unreachable && cause.is_none() {
            cause = causes.of_host(host)?;
        }
        // Its retries wait with the rest.
        let waiting = retries.of_blocked.remove(&(host.into(), by)).map_or(0, |waiting| waiting.urls);
        blocked.add(BlockedHost { host: host.to_owned(), by, until, urls: urls + waiting, cause });
    }
    if !is_blocked {
        retries = Retries::default();
    }
    for ((host, by), Waiting { urls, until, example }) in retries.of_blocked {
        let cause = match (by, example) {
            (BlockedBy::RobotsUnreachable, Some(url)) => causes.of(&url)?,
            (BlockedBy::RobotsUnreachable, None) => causes.of_host(&host)?,
            _ => None,
        };
        blocked.add(BlockedHost { host: host.into(), by, until, urls, cause });
    }
    if let Some(group) = blocked.groups.get_mut(&BlockedBy::Retry) {
        group.urls += retries.uncounted;
    }
    blocked.hosts.sort_by(|a, b| a.host.cmp(&b.host));
    Ok(blocked)
}

fn by_reason(reason: WaitReason) -> BlockedBy {
    match reason {
        WaitReason::RobotsUnreachable => BlockedBy::RobotsUnreachable,
        _ => BlockedBy::RetryAfter,
    }
}

/// Calls `f` with the pages in a queue, a few at a time.
fn each_page(
    state: &dyn ShardState,
    place: QueueAt,
    each: &mut dyn FnMut(&[Visit]) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let mut after = None;
    loop {
        let entries = state.load_queue(place, after, ENTRIES)?;
        let Some(last) = entries.last() else { return Ok(()) };
        after = Some(last.order);
        let visits = entries
            .iter()
            .filter_map(|e| decode_visit(place.job, e.order.rank.saturating_sub(1), &e.value).ok());
        let pages: Vec<Visit> = visits.filter(is_page_or_resource).collect();
        each(&pages)?;
    }
}

/// A page, or a resource of one.
fn is_page_or_resource(visit: &Visit) -> bool {
    matches!(visit.kind, RequestKind::Page | RequestKind::Resource)
}

fn refused(visit: &Visit, host: &str, cause: Option<&str>) -> SkippedRow {
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    // The row stays in the catalogue while it waits, however often it is retried, so it has no time.
    let detail = format!(
        "robots.txt of {host} is unreachable{cause}; the next crawl command asks for it again at once"
    );
    let skip = Skip::new(SkipReason::RobotsUnreachable, detail);
    SkippedRow::new(visit.job, visit.scheduled_url(), skip, visit.source.as_ref())
}

/// URLs of one host with the same reason.
struct Waiting {
    urls: u64,
    /// When the first is due.
    until: Millis,
    example: Option<Url>,
}

#[derive(Default)]
struct Retries {
    of_blocked: BTreeMap<(Box<str>, BlockedBy), Waiting>,
    /// Those of them that wait for the robots.txt of their origin.
    without_robots: Vec<Visit>,
    uncounted: u64,
}

/// A host with two origins is not blocked if the robots.txt of one of them is unreachable. URLs of that origin are
/// delayed one by one and are found here.
fn retries_by_host(
    frontier: &mut Frontier,
    state: &dyn ShardState,
    job: &JobContext,
    at: Millis,
) -> Result<Retries, EngineError> {
    let mut retries = Retries::default();
    let (delayed, _) = state.load_due(frontier.served(), Millis::NEVER, RETRIES)?;
    let own: Vec<_> = delayed.into_iter().filter(|delayed| delayed.at.job == job.id).collect();
    let known = frontier.progress(job.id).map_or(0, |progress| progress.delayed);
    retries.uncounted = known.saturating_sub(own.len() as u64);
    for delayed in own {
        let visit = decode_visit(job.id, delayed.entry.order.rank.saturating_sub(1), &delayed.entry.value);
        let Some(host) = frontier.host_name(delayed.at.host).map(Box::<str>::from) else { continue };
        let visit = visit.ok();
        let block = visit.as_ref().and_then(|v| frontier.block_of(delayed.at.host, &v.url, at));
        let (by, until) = match block {
            Some((reason, until)) => (by_reason(reason), until.max(delayed.due)),
            None => (BlockedBy::Retry, delayed.due),
        };
        let visit = visit.filter(is_page_or_resource);
        let waiting =
            retries.of_blocked.entry((host, by)).or_insert(Waiting { urls: 0, until, example: None });
        waiting.urls += u64::from(visit.is_some());
        waiting.until = waiting.until.min(until);
        if let Some(visit) = visit.filter(|_| by == BlockedBy::RobotsUnreachable) {
            waiting.example.get_or_insert_with(|| visit.url.clone());
            retries.without_robots.push(visit);
        }
    }
    Ok(retries)
}

/// The result of the last request for a robots.txt, by origin.
struct Causes {
    reader: Option<Box<dyn CatalogueReader>>,
    known: HashMap<String, Option<String>>,
}

impl Causes {
    /// The result for the URL's own origin, or for the other origin of its host if that was requested.
    fn of(&mut self, url: &Url) -> Result<Option<String>, EngineError> {
        let Some(reader) = &self.reader else { return Ok(None) };
        if let Some(known) = self.known.get(url.origin()) {
            return Ok(known.clone());
        }
        let cause = match last_request(reader.as_ref(), url.origin())? {
            Some(last) => request_problem(last),
            None => self.of_host(url.host())?,
        };
        self.known.insert(url.origin().to_owned(), cause.clone());
        Ok(cause)
    }

    fn of_host(&self, host: &str) -> Result<Option<String>, EngineError> {
        let Some(reader) = &self.reader else { return Ok(None) };
        let mut last = None;
        for scheme in ["https", "http"] {
            last = last.max(last_request(reader.as_ref(), &format!("{scheme}://{host}"))?);
        }
        Ok(last.and_then(request_problem))
    }
}

/// When it ended, its status, and its error.
type LastRequest = (Millis, Option<u16>, Option<String>);

fn last_request(reader: &dyn CatalogueReader, origin: &str) -> Result<Option<LastRequest>, EngineError> {
    let requests = reader.fetches_of(None, &format!("{origin}/robots.txt"), ROBOTS_REQUESTS)?;
    Ok(requests.into_iter().map(|row| (row.timings.ended, row.status, row.error)).max())
}

fn request_problem((_, status, error): LastRequest) -> Option<String> {
    error.or_else(|| status.map(|status| format!("answered {status}")))
}
