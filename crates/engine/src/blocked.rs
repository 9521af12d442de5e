//! What a job leaves behind where all that is left has to wait for long: on which hosts, why, until when, and with how many
//! URLs.

use crate::error::EngineError;
use crate::job::JobContext;
use argiope_frontier::codec::decode_visit;
use argiope_frontier::state::{QueueAt, ShardState};
use argiope_frontier::{Frontier, WaitReason};
use argiope_model::{JobId, Millis, RequestKind, Skip, SkipReason, Visit};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, SkippedRow};
use std::collections::BTreeMap;

/// Entries of a queue that are read at once.
const ENTRIES: usize = 1000;
/// Retries beyond this number are counted without their hosts.
const RETRIES: usize = 10_000;
/// Hosts beyond this number are counted only.
const HOSTS: usize = 100;
/// Requests for one robots.txt that are looked through for the last one.
const ROBOTS_REQUESTS: usize = 1000;

/// What URLs wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockedBy {
    /// The host said so with a long Retry-After.
    RetryAfter,
    RobotsUnreachable,
    /// Their own retries.
    Retry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedHost {
    pub host: String,
    pub by: BlockedBy,
    pub until: Millis,
    /// Sitemaps are not counted.
    pub urls: u64,
    /// What became of the last request for its robots.txt, where that is what is missing.
    pub cause: Option<String>,
}

/// Everything that waits for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedGroup {
    pub urls: u64,
    /// When the first of it may be asked.
    pub until: Millis,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    pub groups: BTreeMap<BlockedBy, BlockedGroup>,
    /// The first of them, by name.
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

/// Lists URLs that wait for a robots.txt which cannot be had as refused for now; they stay queued. Gives back what
/// waits for long, and if `is_blocked`, which is to say that nothing else is left, also what waits for retries.
pub(crate) fn collect(
    frontier: &mut Frontier,
    state: &dyn ShardState,
    catalogue: &mut dyn Catalogue,
    job: &JobContext,
    is_blocked: bool,
    at: Millis,
) -> Result<Blocked, EngineError> {
    let mut blocked = Blocked::default();
    // A graph keeps no history to look causes up in.
    let reader = if job.graph.is_none() { Some(catalogue.reader()?) } else { None };
    let cause_of = |unreachable: bool, host: &str| match &reader {
        Some(reader) if unreachable => robots_error(reader.as_ref(), host),
        _ => Ok(None),
    };
    let job = job.id;
    let mut retries =
        if is_blocked { retries_by_host(frontier, state, job, at)? } else { Retries::default() };
    for (host, reason, until) in frontier.blocked_hosts(job) {
        let Some(place) = frontier.queue_at(job, host) else { continue };
        let by = by_reason(reason);
        let unreachable = by == BlockedBy::RobotsUnreachable;
        let cause = cause_of(unreachable, host)?;
        let mut urls = 0;
        each_page(state, place, &mut |visits| {
            urls += visits.len() as u64;
            if !unreachable {
                return Ok(());
            }
            let row = |visit: &Visit| refused(visit, host, cause.as_deref());
            let skipped = visits.iter().map(row).collect();
            Ok(catalogue.commit(&Batch { at, skipped, ..Batch::default() }).map(|_| ())?)
        })?;
        // Its retries wait with the rest.
        let waiting = retries.of_blocked.remove(&(host.into(), by)).map_or(0, |(urls, _)| urls);
        blocked.add(BlockedHost { host: host.to_owned(), by, until, urls: urls + waiting, cause });
    }
    for ((host, by), (urls, until)) in retries.of_blocked {
        let unreachable = by == BlockedBy::RobotsUnreachable;
        let cause = cause_of(unreachable, &host)?;
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

/// Calls with the pages that a queue holds, some at a time.
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
        let pages: Vec<Visit> = visits.filter(is_asked_for_itself).collect();
        each(&pages)?;
    }
}

/// A page, or a resource of one.
fn is_asked_for_itself(visit: &Visit) -> bool {
    matches!(visit.kind, RequestKind::Page | RequestKind::Resource)
}

fn refused(visit: &Visit, host: &str, cause: Option<&str>) -> SkippedRow {
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    // It stays in the catalogue while it waits, however often that is: no time is told.
    let detail =
        format!("robots.txt of {host} cannot be had{cause}; the next crawl command asks again at once");
    let skip = Skip::new(SkipReason::RobotsUnreachable, detail);
    SkippedRow::new(visit.job, visit.scheduled_url(), skip, visit.source.as_ref())
}

#[derive(Default)]
struct Retries {
    /// How many, and when the first is due.
    of_blocked: BTreeMap<(Box<str>, BlockedBy), (u64, Millis)>,
    uncounted: u64,
}

fn retries_by_host(
    frontier: &mut Frontier,
    state: &dyn ShardState,
    job: JobId,
    at: Millis,
) -> Result<Retries, EngineError> {
    let mut retries = Retries::default();
    let (delayed, _) = state.load_due(frontier.served(), Millis::NEVER, RETRIES)?;
    let own: Vec<_> = delayed.into_iter().filter(|delayed| delayed.at.job == job).collect();
    let known = frontier.progress(job).map_or(0, |progress| progress.delayed);
    retries.uncounted = known.saturating_sub(own.len() as u64);
    for delayed in own {
        let visit = decode_visit(job, delayed.entry.order.rank.saturating_sub(1), &delayed.entry.value);
        let Some(host) = frontier.host_name(delayed.at.host).map(Box::<str>::from) else { continue };
        let block = visit.as_ref().ok().and_then(|v| frontier.block_of(delayed.at.host, &v.url, at));
        let (by, until) = match block {
            Some((reason, until)) => (by_reason(reason), until.max(delayed.due)),
            None => (BlockedBy::Retry, delayed.due),
        };
        let is_page = visit.is_ok_and(|visit| is_asked_for_itself(&visit));
        let (urls, first) = retries.of_blocked.entry((host, by)).or_insert((0, until));
        *urls += u64::from(is_page);
        *first = (*first).min(until);
    }
    Ok(retries)
}

/// What the last request for a host's robots.txt came to.
fn robots_error(reader: &dyn CatalogueReader, host: &str) -> Result<Option<String>, EngineError> {
    let mut last = None;
    for scheme in ["https", "http"] {
        let url = format!("{scheme}://{host}/robots.txt");
        last = last.max(
            reader
                .fetches_of(None, &url, ROBOTS_REQUESTS)?
                .into_iter()
                .map(|row| (row.timings.ended, row.status, row.error))
                .max(),
        );
    }
    Ok(last
        .and_then(|(_, status, error)| error.or_else(|| status.map(|status| format!("answered {status}")))))
}
