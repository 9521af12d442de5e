//! The log lines of `-v`.

use crate::desk::{Desk, at, lab};
use crate::waits::host;
use argiope_lab::SiteKind;

/// Retries that a test has time for.
const BRISK: &str = "\
politeness:
  adaptive: false
  breaker: {failures: 2, open_for: 100ms, successes: 0}
  retries:
    busy: {times: 2, after: 10ms, growth: 1}
    server_error: {times: 2, after: 10ms}
    jitter: 0
";

/// Whether there is a line with all of these.
fn tells(log: &str, parts: &[&str]) -> bool {
    log.lines().any(|line| parts.iter().all(|part| line.contains(part)))
}

#[test]
fn each_request_is_told_with_its_end_its_time_and_its_url() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsPaths, SiteKind::Redirects], 4, 0));
    desk.write("argiope.yaml", BRISK);
    let broken = host("500 Broken");
    let seeds = [lab.seeds(), vec![broken.clone()]].concat();
    let log = desk.crawl(&seeds, &["--delay", "0", "-v"]).ok().stderr;
    let front = lab.seeds()[0].clone();
    assert!(tells(&log, &["robots.txt read", "status=200", " ms=", &at(&lab, 0, "/robots.txt")]), "{log}");
    assert!(tells(&log, &["fetched", "status=200", " ms=", &format!("url={front}")]), "{log}");
    assert!(tells(&log, &["refused", "reason=robots_disallowed", &at(&lab, 0, "/private/1")]), "{log}");
    assert!(tells(&log, &["redirected", "status=301", "/r/301", " to=http://"]), "{log}");
    assert!(tells(&log, &["retry scheduled", "attempt=2", &broken]), "{log}");
    assert!(tells(&log, &["host paused after consecutive failures", "until=2"]), "{log}");
    assert!(!log.contains("batch stored"), "{log}");
}

#[test]
fn batches_are_told_when_asked_twice_and_nothing_when_not_asked() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let loud = desk.crawl(&lab.seeds(), &["--delay", "0", "-vv"]).ok().stderr;
    assert!(tells(&loud, &["DEBUG", "batch stored", "pages=", " ms="]), "{loud}");
    assert!(tells(&loud, &["DEBUG", "resolved", "127.0."]), "{loud}");
    assert!(!tells(&loud, &["hyper"]) && !tells(&loud, &["fjall"]), "{loud}");
    let usual = desk.crawl(&lab.seeds(), &["--delay", "0", "--fresh"]).ok().stderr;
    assert!(!usual.contains("INFO") && !usual.contains("fetched"), "{usual}");
    assert_eq!(desk.crawl(&lab.seeds(), &["--delay", "0", "--fresh", "-q"]).ok().stderr, "");
}
