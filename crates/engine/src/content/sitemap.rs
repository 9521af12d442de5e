//! Lists of URLs: sitemaps, and feeds that were fetched as pages.

use super::{ContentReader, PageContent, ResponseBody};
use argiope_extract::{SitemapKind, SitemapUrl, parse_sitemap};
use argiope_frontier::admission::{JobRules, SitemapHints, priority};
use argiope_frontier::{Discovery, Found};
use argiope_model::{
    Base, FingerprintKey, LinkKind, LongUrl, Millis, Rel, RequestKind, Skip, SkipReason, Url, UrlError,
    plural,
};
use argiope_store::catalogue::SkippedRow;
use argiope_store::links::{self as stored, LinkBatch};

/// Sitemap indexes are followed this deep.
const SITEMAP_DEPTH: u32 = 3;

/// Entries of a feed beyond the limit on links that are recorded by their URL.
const FEED_SAMPLE: usize = 1000;

/// Too long URLs of a sitemap or feed that are recorded one by one.
const LONG_SAMPLE: usize = 20;

impl ContentReader<'_> {
    /// The URLs that a sitemap lists, judged like links. They count as one link away from a seed, however many indexes lead
    /// to the sitemap: the depth of a sitemap's own visit counts those.
    pub(crate) fn sitemap(&self, body: &ResponseBody<'_>) -> (Vec<Discovery>, Vec<SkippedRow>) {
        let (job, visit) = (self.job, self.visit);
        let Ok(contents) = parse_sitemap(body.bytes, body.content_type) else {
            return (Vec::new(), Vec::new());
        };
        let rules = job.rules();
        let depth = 1;
        let (pages, mut skipped) = self.judge_entries(&contents.urls, depth, body.now);
        let mut sitemaps = Vec::new();
        for entry in contents.sitemaps {
            let Ok(url) = Url::parse(&entry.loc, &job.normal) else { continue };
            let judged = of_job(&rules, &url).and_then(|()| match visit.depth {
                0..SITEMAP_DEPTH => Ok(()),
                _ => Err(Skip::new(SkipReason::TooDeep, format!("a sitemap beyond {SITEMAP_DEPTH} indexes"))),
            });
            match judged {
                Ok(()) => sitemaps.push(sitemap_found(url, visit.round, self.key)),
                Err(skip) => skipped.push(self.skipped_row(&url, skip)),
            }
        }
        if contents.truncated {
            let read = plural(contents.urls.len() as u64, "entry", "entries");
            let detail =
                format!("of this sitemap {read} were read: the rest is beyond the limits or malformed");
            skipped
                .push(self.skipped_row(visit.scheduled_url(), Skip::new(SkipReason::TooManyLinks, detail)));
        }
        let discoveries = [(depth, pages), (visit.depth + 1, sitemaps)].into_iter();
        let discoveries = discoveries.filter(|(_, found)| !found.is_empty());
        (discoveries.map(|(depth, found)| self.discovery(depth, found)).collect(), skipped)
    }

    /// The entries of a feed that was fetched as a page are links like those of a page.
    pub(super) fn add_feed(&self, body: &ResponseBody<'_>, content: &mut PageContent) {
        let (job, visit) = (self.job, self.visit);
        let contents = match parse_sitemap(body.bytes, body.content_type) {
            Ok(contents) if matches!(contents.kind, SitemapKind::Rss | SitemapKind::Atom) => contents,
            Ok(_) | Err(_) => return,
        };
        let depth = visit.depth + 1;
        let most = contents.urls.len().min(job.spec.max_links_per_page as usize);
        let (entries, beyond) = contents.urls.split_at_checked(most).unwrap_or_default();
        let base = Base::new(&visit.url);
        let targets: Vec<Url> =
            entries.iter().filter_map(|entry| base.join(&entry.loc, &job.normal).ok()).collect();
        content.row.page.links = Some(u32::try_from(targets.len()).unwrap_or(u32::MAX));
        if !targets.is_empty() {
            let mut batch = LinkBatch::with_room_for(targets.len());
            let links = targets.iter().map(|target| stored::Link {
                target: target.as_str(),
                anchor: "",
                rel: Rel::default(),
                kind: LinkKind::Anchor,
            });
            batch.push(visit.job, visit.url.as_str(), links);
            content.links = Some(batch);
        }
        let (found, skipped) = self.judge_entries(entries, depth, body.now);
        content.skipped = skipped;
        if !beyond.is_empty() {
            let sample = beyond.iter().take(FEED_SAMPLE);
            let urls: Vec<Url> = sample.filter_map(|entry| base.join(&entry.loc, &job.normal).ok()).collect();
            content.skipped.extend(self.over_link_limit(beyond.len() as u64, urls.iter()));
        }
        if !found.is_empty() {
            content.discoveries.push(self.discovery(depth, found));
        }
    }

    /// What a list of URLs adds to the crawl, and what of it the job refuses.
    fn judge_entries(
        &self,
        entries: &[SitemapUrl],
        depth: u32,
        now: Millis,
    ) -> (Vec<Found>, Vec<SkippedRow>) {
        let (job, visit) = (self.job, self.visit);
        let rules = job.rules();
        let base = Base::new(&visit.url);
        let mut found = Vec::new();
        let mut skipped: Vec<SkippedRow> = Vec::new();
        let mut long: Vec<SkippedRow> = Vec::new();
        for entry in entries {
            let url = match base.join(&entry.loc, &job.normal) {
                Ok(url) => url,
                Err(UrlError::TooLong) if long.len() < LONG_SAMPLE => {
                    long.push(self.too_long(LongUrl::found(&visit.url, None, &entry.loc), 0));
                    continue;
                }
                Err(UrlError::TooLong) => {
                    if let Some(last) = long.last_mut() {
                        last.amount += 1;
                    }
                    continue;
                }
                Err(_) => continue,
            };
            match rules.judge(&url, depth) {
                Ok(()) => {
                    let hints = SitemapHints { priority: entry.priority, last_modified: entry.modified_at };
                    found.push(Found {
                        fingerprint: self.key.of(url.normal(), visit.round),
                        priority: priority(&url, depth, false, hints, rules.authority(&url), now),
                        url,
                        kind: RequestKind::Page,
                        previous: None,
                    });
                }
                Err(skip) => skipped.push(self.skipped_row(&url, skip)),
            }
        }
        skipped.append(&mut long);
        (found, skipped)
    }
}

/// A sitemap may have a file extension that pages must not have, so only its host is judged.
pub(crate) fn of_job(rules: &JobRules, url: &Url) -> Result<(), Skip> {
    rules.judge(url, 0).or_else(|skip| match skip.reason {
        SkipReason::OutOfScope | SkipReason::Blacklisted => Err(skip),
        _ => Ok(()),
    })
}

pub(crate) fn sitemap_found(url: Url, round: u32, key: &FingerprintKey) -> Found {
    Found {
        fingerprint: key.of(url.normal(), round),
        url,
        priority: 5,
        kind: RequestKind::Sitemap,
        previous: None,
    }
}
