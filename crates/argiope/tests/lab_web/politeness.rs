//! Politeness, checked by the access log of the lab and not by the crawler's own reports.

use crate::BRISK;
use crate::desk::{Desk, lab};
use crate::mixed::{OVERRIDDEN_MS, crawled, site_of};
use argiope_lab::{HostRule, SiteKind, check};
use std::time::Duration;

#[test]
fn every_host_gets_its_delay_and_one_request_at_a_time() {
    let crawled = crawled();
    let web = crawled.lab.web();
    let host_of =
        |kind| format!("{}:{}", web.address(site_of(&crawled.lab, kind)).unwrap(), crawled.lab.port());
    let (slower, delayed) = (host_of(SiteKind::Duplicates), host_of(SiteKind::RobotsCrawlDelay));
    let violations = check(&crawled.log, |host| {
        let gap = match host {
            host if host == slower => Duration::from_millis(OVERRIDDEN_MS),
            host if host == delayed => Duration::from_secs(1),
            _ => Duration::from_millis(20),
        };
        HostRule::one_at_a_time(gap)
    });
    assert!(violations.is_empty(), "{}", violations.iter().map(|v| format!("{v}\n")).collect::<String>());
}

#[test]
fn the_program_finds_no_violation_of_its_own() {
    let audit = crawled().desk.run(&["audit", "--json"]).ok().json();
    assert_eq!(audit["violation_count"], 0, "{audit}");
}

#[test]
fn robots_comes_first_on_every_host() {
    let crawled = crawled();
    for site in 0..crawled.lab.web().config().hosts {
        let first =
            crawled.log.iter().filter(|entry| entry.site == site).min_by_key(|entry| entry.started_us);
        assert_eq!(first.unwrap().path, "/robots.txt", "{:?}", crawled.lab.web().kind(site));
    }
}

#[test]
fn a_crawl_delay_is_honoured() {
    crawled().judge(SiteKind::RobotsCrawlDelay);
    let requests = crawled().requests(SiteKind::RobotsCrawlDelay);
    for pair in requests.windows(2) {
        assert!(pair[1].started_us >= pair[0].ended_us + 1_000_000, "{pair:?}");
    }
}

#[test]
fn retry_after_is_obeyed_by_the_whole_host() {
    for kind in [SiteKind::Busy, SiteKind::Overloaded, SiteKind::Errors] {
        let requests = crawled().requests(kind);
        let mut refused = 0;
        for pair in requests.windows(2).filter(|pair| matches!(pair[0].status, 429 | 503)) {
            refused += 1;
            assert!(pair[1].started_us >= pair[0].ended_us + 1_000_000, "{kind:?} {pair:?}");
        }
        assert!(refused > 0, "{kind:?}");
    }
}

#[test]
fn the_crawler_says_who_it_is() {
    for entry in &crawled().log {
        assert!(entry.user_agent.to_ascii_lowercase().contains("argiope"), "{entry:?}");
    }
}

#[test]
fn parallel_requests_happen_only_where_configured() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 40, 30));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--per-host", "4", "--delay", "5ms"]).ok();
    assert_eq!(desk.pages().len(), 80);
    let log = lab.access_log();
    // Requests that set out with a pause between them may arrive closer together: the gaps are the audit's matter.
    let rule = |max_concurrent| move |_: &str| HostRule { gap: Duration::ZERO, max_concurrent };
    assert_eq!(check(&log, rule(4)), []);
    assert!(!check(&log, rule(2)).is_empty(), "it is used");
    assert_eq!(desk.run(&["audit", "--json"]).ok().json()["violation_count"], 0);
}

#[test]
fn ignoring_robots_is_said_loudly_and_done() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsPaths, SiteKind::RobotsAll], 3, 0));
    desk.write("argiope.yaml", BRISK);
    let run = desk.crawl(&lab.seeds(), &["--ignore-robots"]).ok();
    assert!(run.stderr.contains("WARNING: robots.txt is IGNORED"), "{}", run.stderr);
    let log = lab.access_log();
    assert!(log.iter().any(|entry| entry.path == "/private/1"));
    assert_eq!(log.iter().filter(|entry| entry.site == 1 && entry.status == 200).count(), 3);
    assert!(check(&log, |_| HostRule::one_at_a_time(Duration::from_millis(20))).is_empty());
}
