//! How far a crawl goes: scope, patterns, depth, and where seeds lead.

use crate::BRISK;
use crate::desk::{Desk, at, lab, sorted};
use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};
use std::collections::BTreeSet;

/// Sites `site0` to `site2` of `lab.test`, and `lab.test` itself, which is the first one by another name.
fn named() -> (Desk, Lab) {
    let config = LabConfig {
        hosts: 3,
        pages: 12,
        page_size: PageSize::Small,
        zone: Some(String::from("lab.test")),
        log_capacity: 10_000,
        ..LabConfig::plain()
    };
    let (desk, lab) = (Desk::new(), Lab::start_on_thread(config).unwrap());
    desk.write(
        "argiope.yaml",
        &format!(
            "{BRISK}dns:\n  overrides:\n    lab.test: 127.0.0.1\n    site0.lab.test: 127.0.0.1\n    site1.lab.test: \
             127.0.0.2\n    site2.lab.test: 127.0.0.3\n"
        ),
    );
    (desk, lab)
}

fn hosts_asked(lab: &Lab) -> BTreeSet<String> {
    let port = format!(":{}", lab.port());
    lab.access_log().iter().map(|entry| entry.host.trim_end_matches(&port).to_owned()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn host_is_the_scope_of_a_crawl_that_says_nothing() {
    let (desk, lab) = named();
    desk.crawl(&lab.seeds()[..1], &[]).ok();
    assert_eq!(hosts_asked(&lab), names(&["site0.lab.test"]));
    assert_eq!(desk.pages().len(), 12);
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert!(!skipped.is_empty() && skipped.iter().all(|row| row["reason"] == "out_of_scope"), "{skipped:?}");
}

#[test]
fn domain_is_every_host_below_the_root_domain() {
    let (desk, lab) = named();
    desk.crawl(&lab.seeds()[1..2], &["--scope", "domain"]).ok();
    assert_eq!(hosts_asked(&lab), names(&["site0.lab.test", "site1.lab.test", "site2.lab.test"]));
    assert_eq!(desk.pages().len(), 36);
}

#[test]
fn subdomains_are_the_hosts_below_that_of_the_seed() {
    let (desk, lab) = named();
    desk.crawl(&lab.seeds()[..1], &["--scope", "subdomains"]).ok();
    assert_eq!(hosts_asked(&lab), names(&["site0.lab.test"]));
    // What the lab does not know by name is its first site.
    let above = format!("http://lab.test:{}/", lab.port());
    desk.crawl(std::slice::from_ref(&above), &["--scope", "subdomains"]).ok();
    assert_eq!(hosts_asked(&lab), names(&["site0.lab.test", "site1.lab.test", "site2.lab.test"]));
    assert!(desk.pages().iter().any(|page| page["url"] == above.as_str()));
}

#[test]
fn any_is_every_host_that_is_linked() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 4], 20, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds()[..1], &["--scope", "any"]).ok();
    assert_eq!(desk.pages().len(), 80);
}

#[test]
fn include_and_exclude_choose_what_is_fetched() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 40, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--include=-\\d+$|/$", "--exclude", "/news/", "--name", "some"]).ok();
    let pages = desk.pages();
    assert!(pages.len() > 5 && pages.len() < 40, "{}", pages.len());
    for url in sorted(&pages, "url") {
        assert!(!url.ends_with(".html") && !url.contains("/news/"), "{url}");
    }
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert!(
        skipped
            .iter()
            .any(|row| row["reason"] == "filtered" && row["detail"].as_str().unwrap().contains("/news/"))
    );
    assert!(
        skipped
            .iter()
            .any(|row| row["reason"] == "filtered" && row["url"].as_str().unwrap().ends_with(".html"))
    );
}

#[test]
fn depth_is_the_number_of_links_from_a_seed() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 100, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--depth", "0", "--name", "front"]).ok();
    assert_eq!(desk.pages().len(), 1);
    desk.crawl(&lab.seeds(), &["--depth", "1", "--name", "next"]).ok();
    let pages = desk.pages();
    assert!(pages.iter().all(|page| page["depth"].as_u64() <= Some(1)), "{pages:?}");
    assert!((5..20).contains(&pages.len()), "{}", pages.len());
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert!(skipped.iter().any(|row| row["reason"] == "too_deep"));
}

#[test]
fn max_pages_holds_with_many_hosts_and_requests_at_once() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Redirects, SiteKind::Errors], 40, 3));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--max-pages", "37", "--per-host", "8", "--delay", "0"]).ok();
    let answered = desk.pages().iter().filter(|page| page["status"].is_number()).count();
    assert_eq!(answered, 37);
}

#[test]
fn where_a_seed_redirects_to_belongs_to_the_job() {
    let (desk, lab) =
        (Desk::new(), lab(&[SiteKind::Redirects, SiteKind::Ordinary, SiteKind::Ordinary], 12, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&[at(&lab, 0, "/r/other-host")], &[]).ok();
    let log = lab.access_log();
    for page in 0..12 {
        let url = lab.web().page_url(1, page);
        assert!(log.iter().any(|entry| entry.url() == url), "{url} was not asked for");
    }
    assert!(!log.iter().any(|entry| entry.site == 2), "only the seed's redirect opens a host");
    let pages = desk.pages();
    let seed = pages.iter().find(|page| page["url"] == at(&lab, 0, "/r/other-host")).unwrap();
    assert_eq!(seed["final_url"], lab.seeds()[1]);
}

#[test]
fn a_link_that_redirects_out_of_scope_is_not_followed_there() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Redirects, SiteKind::Ordinary], 4, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds()[..1], &[]).ok();
    assert!(lab.access_log().iter().all(|entry| entry.site == 0));
    let pages = desk.pages();
    let hop = pages.iter().find(|page| page["url"] == at(&lab, 0, "/r/other-host")).unwrap();
    assert_eq!(hop["status"], 302);
    assert!(hop["error"].as_str().unwrap().contains("out_of_scope"), "{hop}");
}
