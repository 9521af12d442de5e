//! Retries: failed pages go back from the catalogue into the queue.
//!
//! The queue is durable before a page leaves the catalogue. A crash in between leaves a page in both; repeating the
//! retry fixes that, because a queued URL is not queued twice.

use crate::error::EngineError;
use argiope_frontier::state::ShardState;
use argiope_frontier::{Again, Frontier};
use argiope_model::{JobId, Millis, NormalRules, RequestKind, Url, Visit};
use argiope_store::catalogue::{CatalogueReader, PageKey, PageQuery, PageRow, StoredPage};
use std::ops::ControlFlow;

/// Pages that are queued again at once.
pub(crate) const CHUNK: usize = 1000;

/// The first failures of a job after a number of the catalogue, as many as are queued again at once.
pub fn failures_after(
    reader: &dyn CatalogueReader,
    job: JobId,
    after_seq: u64,
) -> argiope_store::error::Result<Vec<StoredPage>> {
    let mut failed = Vec::new();
    let query = PageQuery { job: Some(job), after_seq, include_noindex: true };
    reader.pages(&query, &mut |stored| {
        if stored.row.has_failed() {
            failed.push(stored);
        }
        Ok(if failed.len() < CHUNK { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(failed)
}

/// Queues pages again, in memory: the caller applies that. Returns how many were not queued already, and which pages
/// must then leave the catalogue.
pub(crate) fn requeue(
    frontier: &mut Frontier,
    state: &dyn ShardState,
    rules: &NormalRules,
    pages: &[StoredPage],
    at: Millis,
) -> Result<(u64, Vec<PageKey>), EngineError> {
    let mut queued = 0;
    let mut keys = Vec::with_capacity(pages.len());
    for StoredPage { seq, row } in pages {
        let Some(visit) = visit_of(row, rules) else { continue };
        let again = Again { visit, number: *seq, counted: row.page.status.is_some() };
        if let Some(is_new) = frontier.requeue(state, &again, at)? {
            queued += u64::from(is_new);
            keys.push(row.key());
        }
    }
    Ok((queued, keys))
}

/// The visit of a URL as if it had just been discovered. The rules are those of its job.
pub fn visit_of(row: &PageRow, rules: &NormalRules) -> Option<Visit> {
    let url = |text: &str| Url::from_stored(text).and_then(|url| url.under(rules)).ok();
    Some(Visit {
        job: row.job,
        kind: RequestKind::Page,
        url: url(&row.page.url)?,
        round: row.round,
        attempt: 0,
        depth: row.page.depth,
        priority: row.priority,
        scheduled_at: row.scheduled_at,
        hops: Vec::new(),
        source: row.source.as_deref().and_then(url),
        previous: None,
    })
}
