//! The links of a page: stored unchanged, and checked by the job's rules to find new URLs.

use super::{ContentReader, PageContent};
use crate::recent::Recent;
use argiope_extract::{Extracted, Link, Resolved};
use argiope_frontier::admission::{JobRules, SitemapHints, pattern_of, priority};
use argiope_frontier::{Discovery, Found};
use argiope_model::{Millis, Rel, RequestKind, Skip, SkipReason, Url};
use argiope_store::links::{self as stored, LinkBatch};

/// Why a link was skipped: the rules of the job apply on every page (except for its depth), those of the page only to
/// itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RefusedBy {
    Rules,
    Page,
}

impl ContentReader<'_> {
    /// All links of the page, for the link store.
    pub(super) fn link_batch(&self, resolved: &Resolved<'_>) -> Option<LinkBatch> {
        let count = resolved.links.len() + resolved.resources.len();
        if count == 0 {
            return None;
        }
        let (job, source) = (self.visit.job, self.visit.url.as_str());
        let mut batch = LinkBatch::with_room_for(count);
        let links = resolved.links.iter().map(stored_link);
        if resolved.resources.is_empty() {
            batch.push(job, source, links);
        } else {
            let all: Vec<stored::Link<'_>> =
                links.chain(resolved.resources.iter().map(stored_link)).collect();
            batch.push(job, source, all.into_iter());
        }
        Some(batch)
    }

    /// Checks each link by the job's rules. Returns whether one leads to a new URL of the page's own URL pattern.
    pub(super) fn add_links(
        &self,
        extracted: &Extracted,
        resolved: Resolved<'_>,
        now: Millis,
        recent: &mut Recent,
        content: &mut PageContent,
    ) -> bool {
        let (job, visit, key) = (self.job, self.visit, self.key);
        let rules = job.rules();
        let depth = visit.depth + 1;
        let resources = self.resources(&resolved.resources, &rules, recent, content);
        let respects_nofollow = rules.respects_nofollow(&visit.url);
        let version = job.rules_version();
        let mut urls = Vec::new();
        let nofollow: Vec<bool> = match resolved.respelled.is_empty() {
            true => Vec::new(),
            false => resolved.links.iter().map(|link| link.rel.has(Rel::NOFOLLOW)).collect(),
        };
        let respelled = resolved.respelled.into_iter();
        let respelled = respelled.map(|(at, url)| (url, nofollow.get(at).copied().unwrap_or_default()));
        let links = resolved.links.into_iter().map(|link| (link.url, link.rel.has(Rel::NOFOLLOW)));
        // Other spellings of a link come after it: they count if it is refused, and else the frontier merges them.
        for (url, nofollow) in links.chain(respelled) {
            let fingerprint = key.of(url.normal(), visit.round);
            let spelling = if url.is_normal() { fingerprint } else { key.of(url.as_str(), visit.round) };
            if recent.check(job.id, version, spelling) {
                continue;
            }
            let nofollow = respects_nofollow && (extracted.robots.nofollow || nofollow);
            match judge(&rules, &url, depth, nofollow) {
                Ok(()) => {
                    recent.put(job.id, version, spelling);
                    urls.push((url, fingerprint));
                }
                Err((skip, by)) => {
                    if by == RefusedBy::Rules && skip.reason != SkipReason::TooDeep {
                        recent.put(job.id, version, spelling);
                    }
                    content.skipped.push(self.skipped_row(&url, skip));
                }
            }
        }
        let over_limit = extracted.links.over_limit.saturating_add(extracted.resources.over_limit);
        if over_limit > 0 {
            let beyond = resolved.beyond.iter().filter(|url| {
                !recent.check(job.id, version, key.of(url.normal(), visit.round))
                    && rules.judge(url, depth).is_ok()
            });
            content.skipped.extend(self.over_link_limit(over_limit.into(), beyond));
        }
        let mut left = resolved.too_long.len();
        for long in resolved.too_long {
            left -= 1;
            // The last one that is listed stands for those that are not.
            let more = if left == 0 { resolved.more_too_long } else { 0 };
            content.skipped.push(self.too_long(long, more.into()));
        }
        let (host, own) = (visit.url.host(), pattern_of(&visit.url));
        let leads_on = urls.iter().any(|(url, _)| url.host() == host && pattern_of(url) == own);
        if !urls.is_empty() {
            let hints = SitemapHints::default();
            let found = urls.into_iter().map(|(url, fingerprint)| Found {
                fingerprint,
                priority: priority(&url, depth, false, hints, rules.authority(&url), now),
                url,
                kind: RequestKind::Page,
                previous: None,
            });
            content.discoveries.push(self.discovery(depth, found.collect()));
        }
        content.discoveries.extend(resources);
        leads_on
    }

    /// What the page is displayed with: requested once in a job, whatever host it is on.
    fn resources(
        &self,
        resources: &[Link<'_>],
        rules: &JobRules,
        recent: &mut Recent,
        content: &mut PageContent,
    ) -> Option<Discovery> {
        let (job, visit) = (self.job, self.visit);
        let version = job.rules_version();
        let mut urls = Vec::new();
        for link in resources {
            let fingerprint = self.key.of(link.url.normal(), visit.round).for_kind(RequestKind::Resource);
            if recent.check(job.id, version, fingerprint) {
                continue;
            }
            recent.put(job.id, version, fingerprint);
            match rules.judge_resource(&link.url) {
                Ok(()) => {
                    let (url, kind) = (link.url.clone(), RequestKind::Resource);
                    urls.push(Found { fingerprint, priority: 0, url, kind, previous: None });
                }
                Err(skip) => content.skipped.push(self.skipped_row(&link.url, skip)),
            }
        }
        (!urls.is_empty()).then(|| self.discovery(visit.depth + 1, urls))
    }
}

fn judge(rules: &JobRules, url: &Url, depth: u32, nofollow: bool) -> Result<(), (Skip, RefusedBy)> {
    rules.judge(url, depth).map_err(|skip| (skip, RefusedBy::Rules))?;
    if nofollow {
        return Err((Skip::new(SkipReason::Filtered, "nofollow"), RefusedBy::Page));
    }
    Ok(())
}

fn stored_link<'l>(link: &'l Link<'_>) -> stored::Link<'l> {
    stored::Link { target: link.url.as_str(), anchor: link.anchor, rel: link.rel, kind: link.kind }
}
