//! Seeds are offered to the frontier, which admits those that the job has not had before.

use crate::graph::{self, GraphRules};
use crate::scheduler::refused_rows;
use argiope_frontier::admission::{SitemapHints, priority};
use argiope_frontier::{Discovery, Found, Frontier};
use argiope_model::{FingerprintKey, JobId, Millis, RequestKind, Url};
use argiope_store::catalogue::SkippedRow;

/// Seeds that are offered at once.
pub(crate) const CHUNK: usize = 10_000;

/// Offers seeds of a job. Returns those that were refused; a graph keeps no record of them.
pub(crate) fn offer(
    frontier: &mut Frontier,
    key: &FingerprintKey,
    job: JobId,
    graph: Option<&GraphRules>,
    seeds: &[Url],
    at: Millis,
) -> Vec<SkippedRow> {
    let found = seeds
        .iter()
        .filter_map(|url| match graph {
            Some(_) => graph::seed(key, url),
            None => Some(Found {
                fingerprint: key.of(url.normal(), 0),
                priority: priority(url, 0, true, SitemapHints::default(), 0, at),
                url: url.clone(),
                kind: RequestKind::Page,
                previous: None,
            }),
        })
        .collect();
    let discovery = Discovery { job, round: 0, depth: 0, source: None, found, not_before: None };
    let (refused, _) = frontier.discover(discovery, at);
    if graph.is_some() { Vec::new() } else { refused_rows(refused) }
}
