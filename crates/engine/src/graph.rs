//! A job that maps hosts: a node is a host, its page is its home page, and the same node may be visited again at another
//! depth. It uses the same frontier, fetcher and extractor as any crawl; only the processing of a page differs. The
//! fingerprint of a node is salted with its depth, so that the seen-set knows a host once per depth.

use crate::job::JobContext;
use argiope_extract::{Extracted, Scratch, resolve};
use argiope_frontier::admission::{home_page, select_targets};
use argiope_frontier::{Discovery, Found};
use argiope_model::{Fingerprint, FingerprintKey, LinkKind, Rel, RequestKind, Url, Visit};
use argiope_store::links::{Link, LinkBatch};
use std::time::Duration;

/// The settings of a job that maps hosts. Depth, excluded domains and hosts per root domain are in the job's specification.
#[derive(Clone, Debug)]
pub struct GraphRules {
    /// The most edges of a page.
    pub max_outbound_links: u32,
    /// Visits to one host, in all runs together.
    pub max_visits_per_host: u32,
    /// Hosts that earlier runs visited, and how often.
    pub visited: Vec<(Box<str>, u32)>,
}

/// A host is one node, whatever the scheme of the link.
pub(crate) fn fingerprint(key: &FingerprintKey, home: &Url, depth: u32) -> Fingerprint {
    key.of(home.host(), depth)
}

/// Nodes near the seed are visited first.
fn priority(depth: u32) -> u8 {
    u8::try_from(depth.min(100)).unwrap_or(100)
}

pub(crate) fn found(key: &FingerprintKey, home: Url, depth: u32) -> Found {
    Found {
        fingerprint: fingerprint(key, &home, depth),
        priority: priority(depth),
        url: home,
        kind: RequestKind::Page,
        previous: None,
    }
}

/// The home pages of the seeds.
pub(crate) fn seed(key: &FingerprintKey, url: &Url) -> Option<Found> {
    Some(found(key, home_page(url)?, 0))
}

/// The timeout grows with each attempt.
pub(crate) fn timeout(first: Duration, attempt: u8) -> Duration {
    first.saturating_mul(u32::from(attempt) + 1)
}

#[derive(Debug, Default)]
pub(crate) struct Outbound {
    /// From the home page of the node to those of its targets.
    pub(crate) edges: LinkBatch,
    pub(crate) count: u32,
    pub(crate) discovery: Option<Discovery>,
}

/// The edges of a page, and the nodes to visit next.
pub(crate) fn outbound(
    job: &JobContext,
    rules: &GraphRules,
    visit: &Visit,
    extracted: &Extracted,
    key: &FingerprintKey,
    scratch: &mut Scratch,
) -> Outbound {
    let node = visit.scheduled_url();
    let resolved = resolve(extracted, &visit.url, &job.normal, scratch);
    let page_nofollow = extracted.robots.nofollow;
    let anchors = resolved.links.iter().filter(|link| link.in_anchor);
    let links = anchors.map(|link| (&link.url, page_nofollow || link.rel.has(Rel::NOFOLLOW)));
    let own = [node.host(), visit.url.host()];
    let admission = job.rules();
    let respects_nofollow = admission.respects_nofollow(&visit.url);
    let targets = select_targets(&own, links, &admission, rules.max_outbound_links as usize);
    let mut outbound =
        Outbound { count: u32::try_from(targets.len()).unwrap_or(u32::MAX), ..Outbound::default() };
    if targets.is_empty() {
        return outbound;
    }
    let edges = targets.iter().map(|target| Link {
        target: target.home.as_str(),
        anchor: "",
        rel: if target.nofollow { Rel::NOFOLLOW } else { Rel::default() },
        kind: LinkKind::Anchor,
    });
    outbound.edges.push(visit.job, node.as_str(), edges);
    let depth = visit.depth.saturating_add(1);
    if job.spec.max_depth.is_none_or(|most| depth <= most) {
        let followed = targets.into_iter().filter(|target| !(target.nofollow && respects_nofollow));
        let found: Vec<Found> = followed.map(|target| self::found(key, target.home, depth)).collect();
        // The source of a node is not used, and would take memory for each of many.
        let source = None;
        outbound.discovery = (!found.is_empty()).then_some(Discovery {
            job: visit.job,
            round: 0,
            depth,
            source,
            found,
            not_before: None,
        });
    }
    outbound
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::NormalRules;

    #[test]
    fn a_node_is_a_host_at_a_depth_whatever_the_scheme() {
        let key = FingerprintKey::new([7; 16]);
        let url = |text| Url::parse(text, &NormalRules::default()).unwrap();
        let (http, https) = (url("http://a.test/"), url("https://a.test/"));
        assert_eq!(fingerprint(&key, &http, 2), fingerprint(&key, &https, 2));
        assert_ne!(fingerprint(&key, &http, 2), fingerprint(&key, &http, 3));
        assert_ne!(fingerprint(&key, &http, 2), fingerprint(&key, &url("http://a.test:8080/"), 2));
        assert_eq!(seed(&key, &url("https://a.test/x?y")).unwrap().url, https);
    }

    #[test]
    fn every_attempt_may_take_longer_than_the_one_before() {
        let waits: Vec<u64> = (0..3).map(|n| timeout(Duration::from_secs(5), n).as_secs()).collect();
        assert_eq!(waits, [5, 10, 15]);
    }
}
