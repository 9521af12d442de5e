//! Limits, and what `crawl` refuses or reports.

use crate::desk::{Desk, json_lines, lab, text};
use argiope_lab::{LabDns, SiteKind};

#[test]
fn max_pages_is_met_exactly_and_may_be_raised() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Ordinary], 20, 5));
    let run = desk.crawl(&lab.seeds(), &["--delay", "0", "--max-pages", "13", "-o", "out.jsonl"]).ok();
    assert!(run.stdout.contains("the page limit is reached"), "{}", run.stdout);
    assert!(run.stdout.contains("\n  13 pages from "), "{}", run.stdout);
    assert_eq!(json_lines(&desk.read("out.jsonl")).len(), 13);
    assert_eq!(desk.pages().len(), 13);
    desk.crawl(&lab.seeds(), &["--delay", "0", "--max-pages", "17", "-o", "out.jsonl"]).ok();
    assert_eq!(desk.pages().len(), 17);
    assert_eq!(json_lines(&desk.read("out.jsonl")).len(), 17);
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 1);
}

#[test]
fn no_more_requests_are_in_flight_than_configured() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 16], 6, 30));
    desk.crawl(&lab.seeds(), &["--delay", "0", "--concurrency", "8"]).ok();
    let log = lab.access_log();
    let under_way =
        |at: u64| log.iter().filter(|one| (one.started_us..one.answered_us).contains(&at)).count();
    let most = log.iter().map(|one| under_way(one.started_us)).max().unwrap_or(0);
    assert!((5..=8).contains(&most), "{most} at a time");
}

#[test]
fn a_file_of_others_is_not_written_over() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    desk.write("out.jsonl", "precious\n");
    let run = desk.crawl(&lab.seeds(), &["--delay", "0", "-o", "out.jsonl"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("out.jsonl"), "{}", run.stderr);
    assert_eq!(desk.read("out.jsonl"), "precious\n");
    // A new file gets the whole job, stdout too.
    let run = desk.crawl(&lab.seeds(), &["--delay", "0", "-o", "-"]).ok();
    assert_eq!(json_lines(&run.stdout).len(), 3);
    assert!(run.stderr.contains("is done"), "{}", run.stderr);
}

#[test]
fn quiet_means_that_nothing_but_the_pages_is_written() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let run = desk.crawl(&lab.seeds(), &["-q", "--delay", "0", "-o", "-"]).ok();
    assert_eq!((json_lines(&run.stdout).len(), run.stderr.as_str()), (3, ""));
}

#[test]
fn a_loopback_seed_needs_the_flag() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let run = desk.run(&["crawl", &lab.seeds()[0]]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--allow-private"), "{}", run.stderr);
    assert!(!desk.path("argiope-data").exists(), "nothing is stored");
    assert_eq!(lab.request_count(), 0);
}

#[test]
fn a_host_without_an_address_fails_the_crawl_with_a_message() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dns = runtime.block_on(LabDns::start([])).unwrap();
    let desk = Desk::new();
    desk.write("argiope.yaml", &format!("dns:\n  resolvers: ['{}']\n", dns.address()));
    let run = desk.run(&["crawl", "http://nowhere.test/", "--delay", "0"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("http://nowhere.test/: dns:") && run.stderr.contains("hint: "),
        "{}",
        run.stderr
    );
    let pages = desk.pages();
    assert_eq!(pages.len(), 1);
    assert!(pages[0]["status"].is_null());
    assert!(pages[0]["error"].as_str().unwrap().starts_with("dns:"), "{}", pages[0]);
    assert!(desk.run(&["why", "http://nowhere.test/"]).ok().stdout.starts_with("failed\n"));
}

#[test]
fn a_named_data_directory_is_used() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let place = desk.path("elsewhere");
    desk.crawl(&lab.seeds(), &["--delay", "0", "--data", text(&place)]).ok();
    assert!(place.join("catalog.db").exists() && !desk.path("argiope-data").exists());
    assert_eq!(desk.run(&["export", "--data", text(&place)]).ok().json_lines().len(), 3);
}
