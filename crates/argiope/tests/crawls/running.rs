//! Looking at a crawl while it runs, and keeping others out.

use crate::desk::{Desk, at, expected, lab, wait_until};
use argiope_lab::SiteKind;

#[test]
fn a_running_crawl_can_be_looked_at_and_is_not_disturbed() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::RobotsPaths], 60, 40));
    let crawl = desk.start_crawl(&lab.seeds(), &["--delay", "20ms", "--name", "busy"]);
    desk.wait_for_pages(3);

    let status = desk.status().unwrap();
    assert_eq!((&status["state"], status["pid"].as_u64()), (&"running".into(), Some(u64::from(crawl.pid()))));
    assert!(status["queued"].as_u64() > Some(0), "{status}");
    assert_eq!(status["hosts"], 2);
    let said = desk.run(&["status", "busy"]).ok().stdout;
    assert!(said.starts_with(&format!("Job 1 (busy) is running: process {}", crawl.pid())), "{said}");
    let jobs = desk.run(&["jobs", "--json"]).ok().json_lines();
    assert_eq!(jobs[0]["state"], "running");
    assert!(jobs[0]["queued"].is_u64(), "{jobs:?}");
    assert!(desk.run(&["export"]).ok().json_lines().len() >= 3);
    assert!(desk.run(&["report"]).ok().stdout.contains("running"));
    assert!(desk.run(&["audit"]).ok().stdout.starts_with("0 violations"));

    // The frontier is queried over the socket.
    let forbidden = at(&lab, 1, "/private/never-linked");
    wait_until(|| desk.run(&["why", &forbidden]).ok().stdout.starts_with("robots_disallowed\n"));
    assert!(desk.run(&["why", "https://example.com/"]).ok().stdout.starts_with("out_of_scope\n"));
    let waiting = expected(&lab).into_iter().filter(|url| url.starts_with(&lab.seeds()[0])).any(|url| {
        let said = desk.run(&["why", &url]).ok().stdout;
        said.starts_with("pending\n") && said.contains("schedule")
    });
    assert!(waiting, "something is pending");

    crawl.signal("-INT");
    assert_eq!(crawl.wait().code, 130);
}

#[test]
fn a_reload_changes_the_delay_of_a_running_crawl() {
    // Five minutes are more than the patience of the test: the wait that has begun ends, too.
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 40, 0));
    desk.write("argiope.yaml", "politeness:\n  default_delay: 5m\n");
    let crawl = desk.start_crawl(&lab.seeds(), &[]);
    wait_until(|| desk.status().is_some_and(|status| status["hosts_waiting"] == 1));
    desk.write("argiope.yaml", "politeness:\n  default_delay: 10ms\n");
    crawl.signal("-HUP");
    let run = crawl.wait().ok();
    assert!(run.stderr.contains("politeness reloaded from"), "{}", run.stderr);
    assert_eq!(desk.pages().len(), 40);
}

#[test]
fn a_broken_reload_is_refused_and_the_old_settings_hold() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 30, 20));
    desk.write("argiope.yaml", "politeness:\n  default_delay: 10ms\n");
    let crawl = desk.start_crawl(&lab.seeds(), &[]);
    desk.wait_for_pages(1);
    desk.write("argiope.yaml", "politeness:\n  default_dely: 10ms\n");
    crawl.signal("-HUP");
    let run = crawl.wait();
    assert!(run.stderr.contains("not reloaded") && run.stderr.contains("default_delay"), "{}", run.stderr);
    assert_eq!(run.code, 0);
}
