//! Several jobs, lists, job files and settings per domain.

use crate::BRISK;
use crate::desk::{Desk, expected, lab, sorted, text};
use crate::program::with_input;
use argiope_lab::{HostRule, SiteKind, check};
use std::time::Duration;

#[test]
fn jobs_one_after_the_other_share_a_directory_and_keep_their_pages_apart() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 6, 0));
    desk.write("argiope.yaml", BRISK);
    let seeds = lab.seeds();
    desk.crawl(&seeds[..1], &["--name", "first"]).ok();
    desk.crawl(&seeds[1..], &["--name", "second"]).ok();
    desk.crawl(&seeds, &["--name", "both"]).ok();
    let jobs = desk.run(&["jobs", "--json"]).ok().json_lines();
    assert_eq!(sorted(&jobs, "name"), ["both", "first", "second"]);
    assert!(jobs.iter().all(|job| job["state"] == "completed"), "{jobs:?}");
    for (name, pages) in [("first", 6), ("second", 6), ("both", 12)] {
        assert_eq!(desk.run(&["export", name]).ok().json_lines().len(), pages, "{name}");
    }
    assert_eq!(desk.run(&["export", "--all"]).ok().json_lines().len(), 24);
    // The delay of a host holds from job to job.
    let violations = check(&lab.access_log(), |_| HostRule::one_at_a_time(Duration::from_millis(20)));
    assert!(violations.is_empty(), "{violations:?}");
    assert_eq!(desk.run(&["audit", "--all", "--json"]).ok().json()["violation_count"], 0);
}

#[test]
fn a_finished_job_begins_anew() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 4, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &[]).ok();
    desk.crawl(&lab.seeds(), &[]).ok();
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 2);
    assert_eq!(desk.pages().len(), 4);
    assert_eq!(lab.access_log().iter().filter(|entry| entry.path == "/").count(), 2);
}

#[test]
fn a_list_is_read_from_stdin_and_what_is_no_url_is_left_out() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 3], 10, 0));
    desk.write("argiope.yaml", BRISK);
    let data = desk.path("data");
    let config = desk.path("argiope.yaml");
    let input =
        format!("# some\n{}\n\nmailto:x@y.z\n{}\n", lab.web().page_url(0, 3), lab.web().page_url(2, 0));
    let words = [
        "--data",
        text(&data),
        "--config",
        text(&config),
        "crawl",
        "--list",
        "-",
        "--depth",
        "0",
        "--allow-private",
    ];
    let run = with_input(&words, &input);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("stdin:4: 'mailto:x@y.z'"), "{}", run.stderr);
    let pages = desk.run(&["--data", text(&data), "export"]).ok().json_lines();
    assert_eq!(sorted(&pages, "url"), sorted_two(lab.web().page_url(0, 3), lab.web().page_url(2, 0)));
}

fn sorted_two(one: String, other: String) -> Vec<String> {
    let mut both = vec![one, other];
    both.sort();
    both
}

#[test]
fn a_job_file_is_a_whole_job_and_the_command_line_wins() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 10, 0));
    desk.write("argiope.yaml", BRISK);
    let job = format!(
        "name: filed\nseeds:\n  - {}\n  - {}\nallow_private: true\nmax_depth: 0\ndelay: 10ms\nsitemaps: false\n",
        lab.seeds()[0],
        lab.seeds()[1]
    );
    desk.write("job.yaml", &job);
    desk.run(&["crawl", "-c", "job.yaml"]).ok();
    assert_eq!(desk.run(&["export", "filed"]).ok().json_lines().len(), 2);
    assert!(!lab.access_log().iter().any(|entry| entry.path == "/sitemap.xml"));
    desk.run(&["crawl", "-c", "job.yaml", "--depth", "10", "--name", "deeper"]).ok();
    let pages = desk.run(&["export", "deeper"]).ok().json_lines();
    assert_eq!(sorted(&pages, "url"), expected(&lab));
}

#[test]
fn noindex_pages_are_exported_by_a_job_that_asks_for_them() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Directives], 3, 0));
    desk.write("argiope.yaml", BRISK);
    desk.write("job.yaml", "index_noindex: true\n");
    desk.crawl(&lab.seeds(), &["-c", "job.yaml"]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
}

#[test]
fn a_domain_has_settings_of_its_own() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsPaths, SiteKind::RobotsPaths], 4, 0));
    let overrides = "  domain_overrides:\n    127.0.0.2: {delay: 150ms, respect_robots: false}\n";
    desk.write("argiope.yaml", &format!("{BRISK}{overrides}"));
    desk.crawl(&lab.seeds(), &[]).ok();
    let log = lab.access_log();
    let violations = check(&log, |host| {
        HostRule::one_at_a_time(Duration::from_millis(if host.starts_with("127.0.0.2:") { 150 } else { 20 }))
    });
    assert!(violations.is_empty(), "{violations:?}");
    let private = |site| log.iter().any(|entry| entry.site == site && entry.path == "/private/1");
    assert_eq!((private(0), private(1)), (false, true));
}

#[test]
fn nofollow_and_noindex_are_ignored_for_the_domains_that_say_so() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Directives, SiteKind::Directives], 3, 0));
    let overrides = "  domain_overrides:\n    127.0.0.2: {respect_nofollow: false, respect_noindex: false}\n";
    desk.write("argiope.yaml", &format!("{BRISK}{overrides}"));
    desk.crawl(&lab.seeds(), &[]).ok();
    let pages = sorted(&desk.pages(), "url");
    let has = |site: usize, path: &str| {
        let url = format!("{}{path}", lab.seeds()[site].trim_end_matches('/'));
        pages.contains(&url)
    };
    for path in ["/m/noindex", "/m/x-noindex", "/m/behind-meta", "/m/behind-header"] {
        assert_eq!((has(0, path), has(1, path)), (false, true), "{path}: {pages:?}");
    }
}

#[test]
fn domain_filters_skip_urls_and_are_reported() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Directives, SiteKind::Directives], 3, 0));
    let overrides = "  domain_overrides:\n    127.0.0.2: {filters: {exclude: ['/m/after-']}}\n";
    desk.write("argiope.yaml", &format!("{BRISK}{overrides}"));
    desk.crawl(&lab.seeds(), &[]).ok();
    let log = lab.access_log();
    let asked = |site| log.iter().any(|entry| entry.site == site && entry.path == "/m/after-noindex");
    assert_eq!((asked(0), asked(1)), (true, false));
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    let row =
        skipped.iter().find(|row| row["url"].as_str().is_some_and(|url| url.contains("/m/after-noindex")));
    let row = row.expect("a row for the URL that was not requested");
    assert_eq!(row["reason"], "filtered");
    assert_eq!(row["detail"], "matches exclude '/m/after-' of domain_overrides '127.0.0.2'");
}

#[test]
fn without_an_archive_everything_else_is_there() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Duplicates], 8, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--no-archive"]).ok();
    let pages = desk.pages();
    assert_eq!(sorted(&pages, "url"), expected(&lab));
    assert!(pages.iter().all(|page| page["archive"].is_null()), "{pages:?}");
    assert!(pages.iter().all(|page| page["content_hash"].is_string()), "{pages:?}");
}
