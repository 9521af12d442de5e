//! The pages of the lab web as such: they replay, they are the size they should be, and their links lead everywhere.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use argiope_lab::{LabConfig, PageSize, SiteKind, Web};
use std::collections::{HashSet, VecDeque};

fn web(config: LabConfig) -> Web {
    let mut config = config;
    config.listen.set_port(8080);
    Web::new(config).unwrap()
}

fn text(body: Vec<u8>) -> String {
    String::from_utf8_lossy(&body).into_owned()
}

/// The references of a page, as a crawler would follow them: scripts and comments left out, tracking removed.
fn links(page: &str, url: &str) -> Vec<String> {
    let mut visible = page.to_owned();
    for (open, close) in [("<!--", "-->"), ("<script", "</script>")] {
        while let Some(start) = visible.find(open) {
            let end = visible[start..].find(close).map_or(visible.len(), |at| start + at + close.len());
            visible.replace_range(start..end, "");
        }
    }
    let base = url::Url::parse(url).unwrap();
    let mut found = Vec::new();
    for anchor in visible.split("<a ").skip(1) {
        let tag = anchor.split('>').next().unwrap();
        let Some(reference) = tag.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()) else {
            continue;
        };
        let Ok(mut target) = base.join(&reference.replace("&amp;", "&")) else { continue };
        target.set_fragment(None);
        if target.query().is_some_and(|query| query.contains("utm_")) {
            target.set_query(None);
        }
        found.push(String::from(target));
    }
    found
}

#[test]
fn a_page_follows_from_seed_host_and_path_alone() {
    let config = LabConfig { hosts: 4, pages: 30, ..LabConfig::plain() };
    let (one, two) = (web(config.clone()), web(config.clone()));
    let path = one.page_url(2, 7).replace("http://127.0.0.3:8080", "");
    assert_eq!(one.body(2, &path), two.body(2, &path));
    assert_ne!(one.body(2, "/"), one.body(1, "/"));
    let other = web(LabConfig { seed: 2, ..config });
    assert_ne!(one.body(2, "/"), other.body(2, "/"));
}

#[test]
fn pages_have_the_size_and_the_links_of_real_ones() {
    let web = web(LabConfig { hosts: 20, pages: 250, ..LabConfig::plain() });
    let mut sizes = Vec::new();
    let mut distinct = HashSet::new();
    for page in 0..250 {
        let url = web.page_url(3, page);
        let body = web.body(3, &url["http://127.0.0.4:8080".len()..]);
        sizes.push(body.len());
        let page = text(body);
        let count = links(&page, &url).len();
        assert!((35..=75).contains(&count), "{count} links on {url}");
        assert!(distinct.insert(page));
    }
    let mean = sizes.iter().sum::<usize>() / sizes.len();
    assert!((27_000..=33_000).contains(&mean), "{mean} bytes on average");
}

#[test]
fn small_pages_are_small() {
    let web = web(LabConfig { hosts: 5, pages: 1000, page_size: PageSize::Small, ..LabConfig::plain() });
    let size = web.body(0, "/").len();
    assert!((1500..=3000).contains(&size), "{size} bytes");
}

fn reachable(web: &Web, site: u32) -> HashSet<String> {
    let front = web.page_url(site, 0);
    let origin = front.trim_end_matches('/').to_owned();
    let mut seen = HashSet::from([front.clone()]);
    let mut queue = VecDeque::from([front]);
    while let Some(url) = queue.pop_front() {
        for link in links(&text(web.body(site, &url[origin.len()..])), &url) {
            if link.starts_with(&format!("{origin}/")) && seen.insert(link.clone()) {
                queue.push_back(link);
            }
        }
    }
    seen
}

#[test]
fn the_front_page_leads_to_every_page_of_the_site_and_to_nothing_else() {
    for (pages, page_size) in [(1, PageSize::Standard), (250, PageSize::Standard), (3000, PageSize::Small)] {
        let web = web(LabConfig { hosts: 6, pages, page_size, ..LabConfig::plain() });
        let expected: HashSet<String> = (0..pages).map(|page| web.page_url(4, page)).collect();
        assert_eq!(reachable(&web, 4), expected);
    }
}

#[test]
fn what_a_site_promises_beyond_its_pages_is_linked_somewhere() {
    let web = web(LabConfig::mixed());
    // Sites whose every feature is found by links alone.
    for kind in [
        SiteKind::Redirects,
        SiteKind::Errors,
        SiteKind::Shop,
        SiteKind::Archive,
        SiteKind::Duplicates,
        SiteKind::RobotsWildcards,
    ] {
        let site = u32::try_from(SiteKind::ALL.iter().position(|known| *known == kind).unwrap()).unwrap();
        let found = reachable(&web, site);
        for expected in web.expected_of(site).urls.iter().filter(|expected| expected.found) {
            assert!(found.contains(&expected.url), "{kind:?}: nothing leads to {}", expected.url);
        }
        let known: HashSet<String> =
            web.expected_of(site).urls.into_iter().map(|expected| expected.url).collect();
        for url in found {
            assert!(known.contains(&url), "{kind:?}: {url} is not in the ground truth");
        }
    }
}

#[test]
fn copies_are_the_same_to_the_byte_and_prints_nearly() {
    let web = web(LabConfig { hosts: 1, pages: 20, kinds: vec![SiteKind::Duplicates], ..LabConfig::plain() });
    let path = web.page_url(0, 2).replace("http://127.0.0.1:8080", "");
    let page = web.body(0, &path);
    assert_eq!(web.body(0, "/copy/2"), page);
    let print = text(web.body(0, "/print/2"));
    assert_ne!(print.as_bytes(), page);
    let paragraph = text(page).split("<p>").nth(1).map(str::to_owned).unwrap();
    assert!(print.contains(paragraph.split("</p>").next().unwrap()));
}

#[test]
fn traps_go_on() {
    let web = web(LabConfig { hosts: 1, kinds: vec![SiteKind::Calendar], ..LabConfig::plain() });
    let mut url = String::from("http://127.0.0.1:8080/calendar/2024/05");
    for _ in 0..24 {
        let page = text(web.body(0, &url["http://127.0.0.1:8080".len()..]));
        url = links(&page, &url).into_iter().find(|link| link.contains("/calendar/") && *link > url).unwrap();
    }
    assert!(url.contains("/calendar/2026/05"), "{url}");
    assert!(web.expected().is_trap(&url));
}
