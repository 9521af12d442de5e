//! One crawl of a lab with a site of every kind but the traps, looked at from all sides.

use crate::BRISK;
use crate::desk::{Desk, Run};
use argiope_lab::{AccessEntry, Expected, Fate, Lab, LabConfig, SiteKind};
use argiope_model::SkipReason;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The delay of the site of duplicates, which has one of its own: see [`config`].
pub(crate) const OVERRIDDEN_MS: u64 = 300;

/// A finished crawl and all its results.
pub(crate) struct Crawled {
    pub(crate) desk: Desk,
    pub(crate) lab: Lab,
    pub(crate) run: Run,
    /// What was exported, by URL.
    pub(crate) pages: HashMap<String, Value>,
    pub(crate) skipped: HashMap<String, Value>,
    pub(crate) log: Vec<AccessEntry>,
}

pub(crate) fn crawled() -> &'static Crawled {
    static CRAWLED: OnceLock<Crawled> = OnceLock::new();
    CRAWLED.get_or_init(|| {
        let kinds: Vec<SiteKind> = SiteKind::ALL
            .into_iter()
            .filter(|kind| !matches!(kind, SiteKind::Calendar | SiteKind::Endless))
            .collect();
        let config =
            LabConfig { hosts: u32::try_from(kinds.len()).unwrap(), pages: 8, kinds, ..LabConfig::mixed() };
        let lab = Lab::start_on_thread(config).unwrap();
        let desk = Desk::new();
        desk.write("argiope.yaml", &config_of(&lab));
        let run = desk.crawl(&lab.seeds(), &[]);
        let pages = desk.run(&["export"]).ok().json_lines();
        let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
        let log = lab.access_log();
        Crawled { pages: by_url(pages), skipped: by_url(skipped), desk, lab, run, log }
    })
}

fn config_of(lab: &Lab) -> String {
    let duplicates = site_of(lab, SiteKind::Duplicates);
    let address = lab.web().address(duplicates).unwrap();
    format!("{BRISK}  domain_overrides:\n    {address}: {{delay: {OVERRIDDEN_MS}ms}}\n")
}

fn by_url(rows: Vec<Value>) -> HashMap<String, Value> {
    let all = rows.len();
    let map: HashMap<String, Value> =
        rows.into_iter().map(|row| (row["url"].as_str().unwrap().to_owned(), row)).collect();
    assert_eq!(map.len(), all, "a URL is exported twice");
    map
}

pub(crate) fn site_of(lab: &Lab, kind: SiteKind) -> u32 {
    (0..lab.web().config().hosts).find(|site| lab.web().kind(*site) == kind).unwrap()
}

impl Crawled {
    pub(crate) fn url(&self, kind: SiteKind, path: &str) -> String {
        let front = self.lab.web().page_url(site_of(&self.lab, kind), 0);
        format!("{}{path}", front.trim_end_matches('/'))
    }

    pub(crate) fn page(&self, kind: SiteKind, path: &str) -> &Value {
        let url = self.url(kind, path);
        self.pages.get(&url).unwrap_or_else(|| panic!("{url} is not among the pages"))
    }

    pub(crate) fn requests(&self, kind: SiteKind) -> Vec<&AccessEntry> {
        let site = site_of(&self.lab, kind);
        let mut all: Vec<&AccessEntry> = self.log.iter().filter(|entry| entry.site == site).collect();
        all.sort_by_key(|entry| entry.started_us);
        all
    }

    pub(crate) fn count(&self, kind: SiteKind, path: &str) -> usize {
        self.requests(kind).iter().filter(|entry| entry.path == path).count()
    }

    fn expected(&self, kind: SiteKind) -> Expected {
        self.lab.web().expected_of(site_of(&self.lab, kind))
    }

    /// Compares every URL of a site with the expected result of a correct crawl.
    pub(crate) fn judge(&self, kind: SiteKind) {
        let expected = self.expected(kind);
        for wanted in expected.fetched().filter(|wanted| !is_noindex(&wanted.url)) {
            let page = self.pages.get(&wanted.url);
            let page = page.unwrap_or_else(|| panic!("{} is not among the pages", wanted.url));
            match wanted.fate {
                Fate::Answered { status } => assert_eq!(page["status"], status, "{page}"),
                Fate::Cut => {
                    assert_eq!(page["status"], 200, "{page}");
                    assert!(page["error"].as_str().unwrap().starts_with("truncated: "), "{page}");
                }
                Fate::Failed => assert!(page["error"].is_string(), "{page}"),
                Fate::Refused(_) => unreachable!("these are not fetched"),
            }
            if let Some(title) = &wanted.title {
                assert_eq!(page["title"], title.as_str(), "{page}");
            }
        }
        for refused in expected.refused() {
            assert!(
                !self.log.iter().any(|entry| entry.url() == refused.url),
                "{} was asked for",
                refused.url
            );
            assert!(!self.pages.contains_key(&refused.url), "{} is among the pages", refused.url);
            let Fate::Refused(reason) = refused.fate else { continue };
            // What waits for its robots.txt is not refused for good: `why` knows of it.
            if refused.found && reason != SkipReason::RobotsUnreachable {
                let row = self.skipped.get(&refused.url);
                let row = row.unwrap_or_else(|| panic!("{} is not among the skipped", refused.url));
                assert_eq!(row["reason"], reason.as_str(), "{row}");
            }
        }
    }
}

fn is_noindex(url: &str) -> bool {
    ["/m/noindex", "/m/none", "/m/x-noindex"].iter().any(|path| url.ends_with(path))
}

#[test]
fn what_is_drawn_framed_embedded_and_fed_is_found() {
    crawled().judge(SiteKind::Embedded);
    assert_eq!(crawled().count(SiteKind::Embedded, "/e/there.png"), 0, "nobody asked for pictures");
}

#[test]
fn an_ordinary_site_is_fetched_whole() {
    crawled().judge(SiteKind::Ordinary);
    let front = crawled().page(SiteKind::Ordinary, "/");
    assert_eq!(front["depth"], 0);
    assert_eq!(front["language"], "en");
    assert!(front["links"].as_u64() > Some(10), "{front}");
    assert!(front["archive"].as_str().unwrap().contains(".warc.gz:"), "{front}");
    assert!(front["word_count"].as_u64() > Some(100), "{front}");
}

#[test]
fn redirects_are_followed_and_recorded_under_the_first_url() {
    crawled().judge(SiteKind::Redirects);
    let chain = crawled().page(SiteKind::Redirects, "/r/chain-3");
    assert_eq!(chain["final_url"], crawled().url(SiteKind::Redirects, "/"));
    let relative = crawled().page(SiteKind::Redirects, "/r/relative");
    assert_eq!(relative["final_url"], crawled().url(SiteKind::Redirects, "/r/target"));
    let missing = crawled().page(SiteKind::Redirects, "/r/to-missing");
    assert_eq!(missing["final_url"], crawled().url(SiteKind::Redirects, "/r/nothing-here"));
    assert_eq!(missing["error"], "http: 404");
}

#[test]
fn a_site_that_sets_a_cookie_and_redirects_to_the_same_url_is_fetched_whole() {
    crawled().judge(SiteKind::Cookies);
    let requests = crawled().requests(SiteKind::Cookies);
    let front: Vec<u16> =
        requests.iter().filter(|entry| entry.path == "/").map(|entry| entry.status).collect();
    assert_eq!(front, [302, 200]);
}

#[test]
fn circles_and_endless_chains_of_redirects_end_as_errors() {
    for path in ["/r/self", "/r/circle-a", "/r/long-40"] {
        let page = crawled().page(SiteKind::Redirects, path);
        assert!(page["error"].as_str().unwrap().starts_with("redirect: "), "{page}");
    }
    assert_eq!(crawled().count(SiteKind::Redirects, "/r/long-34"), 0, "five redirects are followed, no more");
}

#[test]
fn a_redirect_to_another_host_of_the_job_is_followed() {
    let page = crawled().page(SiteKind::Redirects, "/r/other-host");
    let next = site_of(&crawled().lab, SiteKind::Redirects) + 1;
    assert_eq!(page["final_url"], crawled().lab.web().page_url(next, 0));
}

#[test]
fn error_statuses_are_kept_and_those_that_may_heal_are_tried_again() {
    crawled().judge(SiteKind::Errors);
    assert_eq!(crawled().count(SiteKind::Errors, "/missing/1"), 1);
    assert_eq!(crawled().count(SiteKind::Errors, "/error/403"), 1);
    assert_eq!(crawled().count(SiteKind::Errors, "/error/500"), 2);
    assert_eq!(crawled().page(SiteKind::Errors, "/error/500")["error"], "http: 500 after 2 attempts");
    assert_eq!(crawled().count(SiteKind::Errors, "/error/500-once"), 2);
}

#[test]
fn a_busy_site_is_fetched_whole_in_the_end() {
    crawled().judge(SiteKind::Busy);
    assert!(crawled().requests(SiteKind::Busy).iter().any(|entry| entry.status == 429));
    crawled().judge(SiteKind::Overloaded);
    assert!(crawled().requests(SiteKind::Overloaded).iter().any(|entry| entry.status == 503));
}

#[test]
fn the_same_bytes_under_another_url_are_marked_as_a_duplicate() {
    crawled().judge(SiteKind::Duplicates);
    for number in 1..=5 {
        let page = crawled().page(SiteKind::Duplicates, &format!("/copy/{number}"));
        let original = crawled().lab.web().page_url(site_of(&crawled().lab, SiteKind::Duplicates), number);
        let other = &crawled().pages[&original];
        assert_eq!(page["content_hash"], other["content_hash"]);
        // Whichever came second refers to the first.
        let marks =
            [(page, &original), (other, &crawled().url(SiteKind::Duplicates, &format!("/copy/{number}")))];
        // Or both to a third page with nearly the same text, the one for printing.
        let third = !page["duplicate_of"].is_null() && page["duplicate_of"] == other["duplicate_of"];
        assert!(
            third || marks.iter().any(|(page, of)| page["duplicate_of"] == of.as_str()),
            "{page} {other}"
        );
    }
}

#[test]
fn many_numbered_products_and_entries_are_fetched_as_none_is_a_trap() {
    crawled().judge(SiteKind::Shop);
    crawled().judge(SiteKind::Archive);
}

#[test]
fn character_sets_are_told_by_header_page_or_mark_and_otherwise_guessed() {
    crawled().judge(SiteKind::Charsets);
}

#[test]
fn broken_pages_give_what_there_is_and_other_types_no_links() {
    crawled().judge(SiteKind::Oddities);
    assert_eq!(crawled().page(SiteKind::Oddities, "/o/malformed")["title"], "Still a title");
    assert_eq!(crawled().page(SiteKind::Oddities, "/o/empty")["bytes"], 0);
    for path in ["/o/in-comment", "/o/in-script", "/o/not-a-link", "/o/no", "/not-a-link"] {
        assert_eq!(crawled().count(SiteKind::Oddities, path), 0, "{path}");
    }
}

#[test]
fn noindex_pages_are_fetched_and_followed_and_not_exported() {
    for path in ["/m/noindex", "/m/none", "/m/x-noindex"] {
        assert_eq!(crawled().count(SiteKind::Directives, path), 1, "{path}");
        assert!(!crawled().pages.contains_key(&crawled().url(SiteKind::Directives, path)), "{path}");
    }
    assert_eq!(crawled().page(SiteKind::Directives, "/m/after-noindex")["status"], 200);
}

#[test]
fn nofollow_is_obeyed_in_pages_headers_and_links() {
    crawled().judge(SiteKind::Directives);
    for path in ["/m/behind-meta", "/m/behind-header", "/m/behind-none", "/m/behind-rel"] {
        let row = &crawled().skipped[&crawled().url(SiteKind::Directives, path)];
        assert_eq!((row["reason"].as_str(), row["detail"].as_str()), (Some("filtered"), Some("nofollow")));
    }
}

#[test]
fn links_are_read_from_where_base_says() {
    assert_eq!(crawled().count(SiteKind::Directives, "/m/sub/leaf"), 1);
    assert_eq!(crawled().count(SiteKind::Directives, "/m/leaf"), 0);
}

#[test]
fn pages_that_only_sitemaps_name_are_found() {
    crawled().judge(SiteKind::Sitemaps);
    for path in ["/sitemap-index.xml", "/sitemap-more.xml.gz", "/sitemap.txt", "/feed.rss", "/feed.atom"] {
        assert_eq!(crawled().count(SiteKind::Sitemaps, path), 1, "{path}");
        assert!(!crawled().pages.contains_key(&crawled().url(SiteKind::Sitemaps, path)), "{path} is no page");
    }
}

#[test]
fn a_slow_site_is_fetched_whole() {
    crawled().judge(SiteKind::Slow);
    assert!(crawled().page(SiteKind::Slow, "/")["fetch_ms"].as_u64() >= Some(300));
}

#[test]
fn robots_that_is_missing_or_forbidden_allows_everything() {
    crawled().judge(SiteKind::RobotsMissing);
    crawled().judge(SiteKind::RobotsForbidden);
}

#[test]
fn robots_that_is_a_page_allows_everything() {
    crawled().judge(SiteKind::RobotsHtml);
}

#[test]
fn robots_paths_are_obeyed_the_longest_match_wins_and_hops_count() {
    crawled().judge(SiteKind::RobotsPaths);
    let hop = crawled().page(SiteKind::RobotsPaths, "/hop/into-private");
    let error = hop["error"].as_str().unwrap();
    assert!(error.starts_with("redirect: ") && error.contains("robots_disallowed"), "{hop}");
}

#[test]
fn robots_wildcards_are_obeyed() {
    crawled().judge(SiteKind::RobotsWildcards);
}

#[test]
fn robots_with_a_byte_order_mark_is_read() {
    crawled().judge(SiteKind::RobotsBom);
}

#[test]
fn robots_in_utf_16_is_read() {
    crawled().judge(SiteKind::RobotsUtf16);
}

#[test]
fn robots_of_a_busy_host_is_fetched_again_after_its_retry_after() {
    crawled().judge(SiteKind::RobotsBusy);
    let requests = crawled().requests(SiteKind::RobotsBusy);
    let asked: Vec<_> = requests.iter().filter(|entry| entry.path == "/robots.txt").collect();
    assert_eq!(asked.iter().map(|entry| entry.status).collect::<Vec<_>>(), [429, 200]);
    let gap_us = asked[1].started_us - asked[0].ended_us;
    assert!(gap_us >= 1_000_000, "Retry-After was 1 s, the gap {gap_us} us");
}

#[test]
fn robots_beyond_measure_is_read_as_far_as_it_must_be() {
    crawled().judge(SiteKind::RobotsHuge);
}

#[test]
fn robots_with_a_group_for_this_crawler_is_read_there_only() {
    crawled().judge(SiteKind::RobotsGroups);
}

#[test]
fn with_everything_forbidden_only_robots_txt_is_requested() {
    crawled().judge(SiteKind::RobotsAll);
    assert!(crawled().requests(SiteKind::RobotsAll).iter().all(|entry| entry.path == "/robots.txt"));
}

#[test]
fn robots_that_redirects_is_read_where_it_leads() {
    crawled().judge(SiteKind::RobotsRedirect);
    assert_eq!(crawled().count(SiteKind::RobotsRedirect, "/elsewhere/robots.txt"), 1);
}

#[test]
fn robots_that_fails_at_first_is_tried_again() {
    crawled().judge(SiteKind::RobotsFlaky);
    assert_eq!(crawled().count(SiteKind::RobotsFlaky, "/robots.txt"), 2);
}

#[test]
fn an_unreachable_robots_txt_blocks_the_host_and_the_crawl_ends_and_reports_it() {
    let crawled = crawled();
    assert_eq!(crawled.run.code, 0, "{}", crawled.run.stderr);
    assert!(crawled.run.stdout.contains("their robots.txt is unreachable"), "{}", crawled.run.stdout);
    for kind in [SiteKind::RobotsBroken, SiteKind::Dead] {
        crawled.judge(kind);
        assert!(crawled.requests(kind).iter().all(|entry| entry.path == "/robots.txt"));
        assert_eq!(crawled.count(kind, "/robots.txt"), 3, "{kind:?}: two more tries");
        let why = crawled.desk.run(&["why", &crawled.url(kind, "/")]).ok();
        assert!(why.stdout.starts_with("robots_unreachable\n"), "{}", why.stdout);
    }
}

#[test]
fn every_skipped_url_has_a_reason_a_detail_and_a_source() {
    for row in crawled().skipped.values() {
        assert!(SkipReason::parse(row["reason"].as_str().unwrap()).is_some(), "{row}");
        assert!(!row["detail"].as_str().unwrap().is_empty(), "{row}");
        let is_seed = crawled().lab.seeds().iter().any(|seed| row["url"] == seed.as_str());
        assert!(row["source"].is_string() || is_seed, "{row}");
    }
}

#[test]
fn only_retries_are_requested_twice() {
    let crawled = crawled();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for entry in &crawled.log {
        *counts.entry(entry.url()).or_default() +=
            usize::from(entry.status == 200 && !entry.path.starts_with("/t/"));
    }
    // Redirects end on pages that are also requested directly.
    let redirects = site_of(&crawled.lab, SiteKind::Redirects);
    let sites = [redirects, redirects + 1].map(|site| crawled.lab.web().page_url(site, 0));
    for (url, count) in counts.into_iter().filter(|(url, _)| !sites.iter().any(|site| url.starts_with(site)))
    {
        assert!(count <= 1, "{url} was fetched {count} times");
    }
}
