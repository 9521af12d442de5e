//! Broken links: which URLs of a job are broken, and which pages link to them.
//!
//! A URL is broken, too, if it was never requested because its host did not respond to the request for robots.txt.
//!
//! First the pages of the job are read ([`BrokenUrls::gather`]), then its links ([`BrokenUrls::of_page`]). Only broken
//! URLs are in memory, each once. Links are matched by the identity of their target, so another spelling is the same
//! URL, and a redirected URL counts for its target.

use crate::catalogue::{CatalogueReader, PageQuery, PageRow, ResourceRow, SkippedRow};
use crate::error::Result;
use crate::links::{Link, PageLinks};
use argiope_model::{JobId, NormalRules, Page, SkipReason, Url};
use serde::Serialize;
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::ops::ControlFlow;

/// Pages listed per URL in a report.
const EXAMPLES: usize = 3;
/// The limit for all URLs together: every host of a crawl may be dead.
const ALL_EXAMPLES: usize = 100_000;
/// Requests for one robots.txt that are searched for the last one.
const ROBOTS_REQUESTS: usize = 1000;

/// Whether a page is broken: no response, a status of 400 and above, or a redirect without a target. A redirect out of the
/// job's scope is not.
pub fn is_broken(page: &Page) -> bool {
    is_broken_answer(page.status, page.error.as_deref())
}

fn is_broken_answer(status: Option<u16>, error: Option<&str>) -> bool {
    match status {
        None => true,
        Some(304) => false,
        Some(300..400) => error.is_some_and(|error| !error.starts_with("redirect: to ")),
        Some(status) => status >= 400,
    }
}

/// A broken URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenUrl {
    pub url: String,
    pub status: Option<u16>,
    pub error: Option<String>,
    /// Where it was first found; none for a seed.
    pub first_source: Option<String>,
    /// How many links lead to it.
    pub links: u64,
    /// Some of the pages that they are on.
    pub examples: Vec<String>,
}

/// The broken URLs of one job.
pub struct BrokenUrls {
    job: JobId,
    rules: NormalRules,
    hashing: RandomState,
    urls: Vec<BrokenUrl>,
    /// By the hash of the URL: its number, and whether it is the scheduled URL or a redirect's target.
    known: HashMap<u64, (u32, Way)>,
    /// Pages whose links were counted: a page that several redirects lead to counts once.
    read: HashSet<u64>,
    examples: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Scheduled,
    Redirected,
}

impl BrokenUrls {
    /// `rules` are those of the job.
    pub fn gather(reader: &dyn CatalogueReader, job: JobId, rules: NormalRules) -> Result<BrokenUrls> {
        let mut broken = BrokenUrls {
            job,
            rules,
            hashing: RandomState::new(),
            urls: Vec::new(),
            known: HashMap::new(),
            read: HashSet::new(),
            examples: 0,
        };
        let query = PageQuery { include_noindex: true, ..PageQuery::of(job) };
        reader.pages(&query, &mut |stored| {
            broken.add(&stored.row);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut answered = HashSet::new();
        reader.resources(Some(job), &mut |row| {
            broken.add_resource(&row);
            answered.insert(row.url_key);
            Ok(ControlFlow::Continue(()))
        })?;
        let counts = reader.counts(job)?;
        if counts.by_skip.contains_key(&SkipReason::RobotsUnreachable) {
            let mut hosts = DeadOrigins { reader, known: HashMap::new() };
            reader.skipped(Some(job), &mut |row| {
                if row.reason == SkipReason::RobotsUnreachable
                    && !answered.contains(&row.url_key)
                    && let Some(error) = hosts.error_of(&row.url)?
                {
                    broken.add_waiting(&row, error);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(broken)
    }

    /// A URL that was never requested, because its host did not respond to the request for robots.txt.
    fn add_waiting(&mut self, row: &SkippedRow, error: String) {
        let Some(key) = self.key(&row.url) else { return };
        if self.known.contains_key(&key) {
            return;
        }
        let number = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
        self.known.insert(key, (number, Way::Scheduled));
        self.urls.push(BrokenUrl {
            url: row.url.clone(),
            status: None,
            error: Some(error),
            first_source: row.source.clone(),
            links: 0,
            examples: Vec::new(),
        });
    }

    fn add(&mut self, row: &PageRow) {
        let page = &row.page;
        let own = self.key(&page.url);
        if !is_broken(page) {
            // A page that responds now is not broken, whatever it did before.
            for url in [Some(&page.url), page.final_url.as_ref()].into_iter().flatten() {
                if let Some(key) = self.key(url) {
                    self.known.remove(&key);
                }
            }
            return;
        }
        let number = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
        if let Some(key) = own {
            self.known.insert(key, (number, Way::Scheduled));
        }
        // The target of redirects is as broken as their start, unless there were only too many of them.
        let ended_there = page.status.is_none_or(|status| status >= 400);
        if ended_there && page.final_url.is_some() {
            let hops = row.redirects.iter().map(|hop| hop.url.as_str());
            for url in hops.chain(page.final_url.as_deref()) {
                if let Some(key) = self.key(url) {
                    self.known.entry(key).or_insert((number, Way::Redirected));
                }
            }
        }
        self.urls.push(BrokenUrl {
            url: page.url.clone(),
            status: page.status,
            error: page.error.clone(),
            first_source: row.source.clone(),
            links: 0,
            examples: Vec::new(),
        });
    }

    /// A resource; a URL that is also a page is counted already.
    fn add_resource(&mut self, row: &ResourceRow) {
        let Some(key) = self.key(&row.url) else { return };
        if !is_broken_answer(row.status, row.error.as_deref()) || self.known.contains_key(&key) {
            return;
        }
        let number = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
        self.known.insert(key, (number, Way::Scheduled));
        self.urls.push(BrokenUrl {
            url: row.url.clone(),
            status: row.status,
            error: row.error.clone(),
            first_source: row.source.clone(),
            links: 0,
            examples: Vec::new(),
        });
    }

    fn key(&self, url: &str) -> Option<u64> {
        Url::parse(url, &self.rules).ok().map(|url| self.hashing.hash_one(&url))
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Calls back for each link of a page to a broken URL, with the URL, its details, and the link.
    pub fn of_page(
        &mut self,
        page: &PageLinks<'_>,
        each: &mut dyn FnMut(&str, &BrokenUrl, &Link<'_>) -> Result<()>,
    ) -> Result<()> {
        if page.job != self.job || self.is_empty() {
            return Ok(());
        }
        let Some(source) = self.key(page.source) else { return Ok(()) };
        if !self.read.insert(source) {
            return Ok(());
        }
        for link in &page.links {
            let found = self.key(link.target).and_then(|key| self.known.get(&key).copied());
            let Some((number, way)) = found else { continue };
            let Some(broken) = self.urls.get_mut(number as usize) else { continue };
            broken.links += 1;
            if broken.examples.len() < EXAMPLES
                && self.examples < ALL_EXAMPLES
                && broken.examples.last().is_none_or(|last| last != page.source)
            {
                broken.examples.push(page.source.to_owned());
                self.examples += 1;
            }
            let url = if way == Way::Scheduled { broken.url.as_str() } else { link.target };
            each(url, broken, link)?;
        }
        Ok(())
    }

    /// Those that are still broken, in the order in which they were stored.
    fn current(&self) -> impl Iterator<Item = &BrokenUrl> {
        let mut scheduled: Vec<u32> = self
            .known
            .values()
            .filter(|(_, way)| *way == Way::Scheduled)
            .map(|(number, _)| *number)
            .collect();
        scheduled.sort_unstable();
        scheduled.into_iter().filter_map(|number| self.urls.get(number as usize))
    }

    /// Broken URLs without a known link: seeds, entries of sitemaps, and pages whose links are lost.
    pub fn without_links(&self) -> impl Iterator<Item = &BrokenUrl> {
        self.current().filter(|broken| broken.links == 0)
    }

    /// How many there are, and those with the most links.
    pub fn most_linked(&self, limit: usize) -> (u64, Vec<BrokenUrl>) {
        let mut all: Vec<&BrokenUrl> = self.current().collect();
        let count = all.len() as u64;
        all.sort_by_key(|broken| std::cmp::Reverse(broken.links));
        (count, all.into_iter().take(limit).cloned().collect())
    }
}

/// Origins whose last request for robots.txt had no response at all. A response with an error, or a redirect to a dead host,
/// does not count.
struct DeadOrigins<'r> {
    reader: &'r dyn CatalogueReader,
    known: HashMap<String, Option<String>>,
}

impl DeadOrigins<'_> {
    fn error_of(&mut self, url: &str) -> Result<Option<String>> {
        let Ok(url) = Url::from_stored(url) else { return Ok(None) };
        if let Some(known) = self.known.get(url.origin()) {
            return Ok(known.clone());
        }
        let robots = format!("{}/robots.txt", url.origin());
        let requests = self.reader.fetches_of(None, &robots, ROBOTS_REQUESTS)?;
        let last = requests.into_iter().max_by_key(|request| request.timings.ended);
        let error = last
            .filter(|request| request.status.is_none() && request.hop == 0)
            .and_then(|request| request.error)
            .map(|error| format!("robots.txt unreachable: {error}"));
        self.known.insert(url.origin().to_owned(), error.clone());
        Ok(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{Hop, NormalForm};
    use argiope_model::{LinkKind, Rel};

    fn broken() -> BrokenUrls {
        BrokenUrls {
            job: JobId(1),
            rules: NormalForm::default().compile(),
            hashing: RandomState::new(),
            urls: Vec::new(),
            known: HashMap::new(),
            read: HashSet::new(),
            examples: 0,
        }
    }

    fn row(url: &str, status: Option<u16>, error: Option<&str>) -> PageRow {
        let page = Page { url: url.into(), status, error: error.map(str::to_owned), ..Page::default() };
        PageRow::new(JobId(1), 0, "a.test", page)
    }

    fn links(broken: &mut BrokenUrls, source: &str, targets: &[&str]) -> Vec<(String, Option<u16>)> {
        let link = |target| Link { target, anchor: "x", rel: Rel::default(), kind: LinkKind::Anchor };
        let links = targets.iter().copied().map(link).collect();
        let mut found = Vec::new();
        broken
            .of_page(&PageLinks { job: JobId(1), source, links }, &mut |url, broken, _| {
                found.push((url.to_owned(), broken.status));
                Ok(())
            })
            .unwrap();
        found
    }

    #[test]
    fn another_spelling_of_a_broken_url_is_that_url() {
        let mut broken = broken();
        broken.add(&row("http://a.test/x?a=1&b=2", Some(404), None));
        broken.add(&row("http://a.test/ok", Some(200), None));
        let targets =
            ["http://a.test/x?b=2&a=1", "HTTP://A.test:80/x?a=1&b=2&utm_source=z", "http://a.test/ok"];
        let url = String::from("http://a.test/x?a=1&b=2");
        let found = links(&mut broken, "http://a.test/", &targets);
        assert_eq!(found, [(url.clone(), Some(404)), (url, Some(404))]);
        // The same page, read again because another redirect leads to it.
        assert_eq!(links(&mut broken, "http://a.test/", &targets), []);
        assert_eq!(broken.most_linked(5).1[0].links, 2);
        assert_eq!(broken.most_linked(5).1[0].examples, ["http://a.test/"]);
    }

    #[test]
    fn links_to_what_redirects_to_a_broken_page_count() {
        let mut broken = broken();
        let mut moved = row("http://a.test/old", Some(410), None);
        moved.page.final_url = Some("http://a.test/new".into());
        let hop = |url: &str| Hop { url: Url::from_stored(url).unwrap(), status: 301 };
        moved.redirects = vec![hop("http://a.test/old"), hop("http://a.test/mid")];
        broken.add(&moved);
        let found = links(
            &mut broken,
            "http://a.test/",
            &["http://a.test/old", "http://a.test/mid", "http://a.test/new"],
        );
        let named: Vec<&str> = found.iter().map(|(url, _)| url.as_str()).collect();
        assert_eq!(named, ["http://a.test/old", "http://a.test/mid", "http://a.test/new"]);
        assert_eq!(broken.most_linked(5).0, 1);
    }

    #[test]
    fn a_redirect_out_of_the_job_is_not_broken_and_one_that_leads_nowhere_is() {
        let page = |status, error: Option<&str>| row("http://a.test/", status, error).page;
        for error in ["redirect: a loop at http://a.test/", "redirect: more than 5 redirects"] {
            assert!(is_broken(&page(Some(302), Some(error))), "{error}");
        }
        assert!(!is_broken(&page(Some(301), Some("redirect: to http://b.test/, out_of_scope: host"))));
        assert!(!is_broken(&page(Some(304), None)) && !is_broken(&page(Some(200), Some("truncated: x"))));
        assert!(is_broken(&page(None, Some("dns: x"))) && is_broken(&page(Some(500), None)));
    }

    #[test]
    fn a_url_that_finally_responds_is_not_broken_and_unlinked_broken_urls_are_listed() {
        let mut broken = broken();
        broken.add(&row("http://a.test/back", Some(503), None));
        broken.add(&row("http://a.test/back", Some(200), None));
        broken.add(&row("http://a.test/seed", None, Some("refused: x")));
        assert_eq!(links(&mut broken, "http://a.test/", &["http://a.test/back"]), []);
        let alone: Vec<&str> = broken.without_links().map(|broken| broken.url.as_str()).collect();
        assert_eq!(alone, ["http://a.test/seed"]);
        assert_eq!(broken.most_linked(5).0, 1);
    }
}
