//! Completes committed visits in the frontier: admits their links, removes their queue entries.

use super::Scheduler;
use crate::committer::Stored;
use crate::content::{of_job, sitemap_found};
use crate::error::EngineError;
use crate::job::Jobs;
use crate::log;
use crate::visit_record::{Settlement, VisitRecord};
use argiope_frontier::{Discovery, Found, Frontier, NewRobots, Refused};
use argiope_model::{FingerprintKey, Millis, Url};
use argiope_store::archive::Position;
use argiope_store::catalogue::SkippedRow;
use argiope_store::clock::now;

/// This many visits are completed before reports are handled again: connections wait for those.
const SETTLED_AT_ONCE: usize = 64;
/// A batch that was closed early is followed by a pause of this many times the time it took to store.
const PAUSE_AFTER_FLUSH: u32 = 2;
/// The mark with the last batch of the catalogue that was applied to the frontier.
pub(crate) const CATALOGUE: &str = "catalogue";

/// A stored batch that is being applied to the frontier.
pub(crate) struct Settling {
    rest: std::vec::IntoIter<Settlement>,
    /// The positions of archive and catalogue when all of it is settled.
    reached: Vec<(Box<str>, u64)>,
}

impl Scheduler {
    pub(super) fn settle_all(&mut self) -> Result<(), EngineError> {
        while !self.run.settling.is_empty() {
            self.settle_some()?;
        }
        Ok(())
    }

    /// A batch is in the catalogue: admits its links and completes its visits, each with its links in one atomic batch
    /// of the frontier. After the last one, stores the new positions.
    pub(super) fn settle_some(&mut self) -> Result<(), EngineError> {
        let at = now();
        let Some(settling) = self.run.settling.front_mut() else { return Ok(()) };
        for settled in settling.rest.by_ref().take(SETTLED_AT_ONCE) {
            let refused = settle(&mut self.frontier, settled, &self.jobs, &self.scope, at);
            if !refused.is_empty() {
                self.commit_queue.put(VisitRecord { skipped: refused, ..VisitRecord::default() });
            }
        }
        if settling.rest.len() > 0 {
            return Ok(());
        }
        let reached = std::mem::take(&mut settling.reached);
        self.run.settling.pop_front();
        self.apply(reached)?;
        // The syncer takes everything applied before it starts, so one request at a time is enough.
        let _ = self.sync.try_send(self.frontier.batches_taken());
        Ok(())
    }

    pub(super) fn stored(&mut self, stored: Stored, at: Millis) {
        self.run.flushing = false;
        self.run.flush_after = at + stored.took * PAUSE_AFTER_FLUSH;
        // A member of a cluster does not recover from its archive: nobody would read them.
        let reached = if self.member.is_some() { Vec::new() } else { marks(&stored.positions, stored.batch) };
        self.run.settling.push_back(Settling { rest: stored.settled.into_iter(), reached });
    }
}

/// A robots.txt that was just read names sitemaps; the default location is tried, too. Returns those that the job
/// refuses.
pub(crate) fn offer_sitemaps(
    frontier: &mut Frontier,
    jobs: &Jobs,
    key: &FingerprintKey,
    new_robots: &NewRobots,
    at: Millis,
) -> Vec<SkippedRow> {
    let mut rows = Vec::new();
    for job in jobs.all() {
        let rules = job.rules();
        // URLs from a sitemap are one link away from a seed.
        let no_links = job.spec.max_depth == Some(0);
        if !job.spec.sitemaps
            || no_links
            || of_job(&rules, &new_robots.origin).is_err()
            || !frontier.serves(job.id, new_robots.origin.host())
        {
            continue;
        }
        let custom = format!("{}/sitemap.xml", new_robots.origin.origin());
        let named = new_robots.robots.sitemaps().iter().map(|text| &**text).chain([custom.as_str()]);
        let mut found: Vec<Found> = Vec::new();
        for url in named.filter_map(|text| Url::parse(text, &job.normal).ok()) {
            match of_job(&rules, &url) {
                Ok(()) if found.iter().any(|known| known.url == url) => {}
                Ok(()) => found.push(sitemap_found(url, 0, key)),
                Err(skip) => rows.push(SkippedRow::new(job.id, &url, skip, Some(&new_robots.origin))),
            }
        }
        let source = Some(new_robots.origin.clone());
        let shard = frontier.shard_of(&new_robots.origin);
        let discovery = Discovery { job: job.id, round: 0, depth: 0, source, found, not_before: None };
        rows.extend(discover(frontier, shard, discovery, at));
    }
    rows
}

/// Offers URLs found in `shard` to the frontier. Returns those it skipped.
fn discover(frontier: &mut Frontier, shard: u16, discovery: Discovery, at: Millis) -> Vec<SkippedRow> {
    let (refused, _) = frontier.discover_in(shard, discovery, at);
    refused_rows(refused)
}

/// Completes a visit in the frontier, its links first. Returns the links that the frontier skipped.
pub(crate) fn settle(
    frontier: &mut Frontier,
    settled: Settlement,
    jobs: &Jobs,
    scope: &crate::scope::ScopeCompiler,
    at: Millis,
) -> Vec<SkippedRow> {
    let Settlement { token, ticket, visit, completion, discoveries, note, scope_host } = settled;
    if let (Some(url), Some(job)) = (scope_host, jobs.get(visit.job)) {
        frontier.add_scope_host(job.id, frontier.shard_of(&visit.url), &url);
        job.add_scope_host(&url, || scope.compile(&job, frontier));
    }
    let mut rows = Vec::new();
    let shard = ticket.map_or_else(|| frontier.shard_of(&visit.url), |ticket| ticket.at.host.shard);
    for discovery in discoveries {
        rows.extend(discover(frontier, shard, discovery, at));
    }
    if let Some(note) = note {
        frontier.page_seen(visit.job, &visit.url, note);
    }
    match (token, ticket) {
        (Some(token), _) => frontier.completed(token, completion, at),
        (None, Some(ticket)) => frontier.complete_recovered(ticket, &visit, completion, at),
        (None, None) => {}
    }
    rows
}

pub(crate) fn refused_rows(refused: Vec<Refused>) -> Vec<SkippedRow> {
    refused.iter().for_each(|refused| log::refused(&refused.url, &refused.skip));
    let row =
        |refused: Refused| SkippedRow::new(refused.job, &refused.url, refused.skip, refused.source.as_ref());
    refused.into_iter().map(row).collect()
}

/// The positions of archive and catalogue when these visits were done: where a recovery begins.
pub(crate) fn marks(positions: &[Position], batch: u64) -> Vec<(Box<str>, u64)> {
    let files = positions.iter().map(|p| (format!("archive/{}", p.file).into(), p.length));
    files.chain([(CATALOGUE.into(), batch)]).collect()
}
