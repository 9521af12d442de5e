//! Several jobs in one process: each is complete, none waits for the others, and a host they share keeps its delay.

use crate::BRISK;
use crate::desk::{Desk, expected, lab, sorted, wait_until};
use argiope_lab::{HostRule, Lab, SiteKind, check};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);

/// Job files `one.yaml` and `two.yaml`, each for all sites of the lab and under its own name.
fn two_jobs(pages: u32) -> (Desk, Lab) {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], pages, 0));
    desk.write("argiope.yaml", BRISK);
    for name in ["one", "two"] {
        let seeds = lab.seeds().join(", ");
        let job = format!("name: {name}\nseeds: [{seeds}]\nallow_private: true\nuser_agent: {name}\n");
        desk.write(&format!("{name}.yaml"), &job);
    }
    (desk, lab)
}

const BOTH: [&str; 5] = ["crawl", "-c", "one.yaml", "-c", "two.yaml"];

fn assert_both_are_whole_and_polite(desk: &Desk, lab: &Lab) {
    for name in ["one", "two"] {
        let pages = desk.run(&["export", name]).ok().json_lines();
        assert_eq!(sorted(&pages, "url"), expected(lab), "{name}");
    }
    let violations = check(&lab.access_log(), |_| HostRule::one_at_a_time(DELAY));
    assert!(violations.is_empty(), "{violations:?}");
    assert_eq!(desk.run(&["audit", "--all", "--json"]).ok().json()["violation_count"], 0);
}

#[test]
fn jobs_that_share_their_hosts_take_turns() {
    let (desk, lab) = two_jobs(30);
    let run = desk.run(&BOTH).ok();
    // A summary for each.
    assert!(run.stdout.contains("argiope export one"), "{}", run.stdout);
    assert!(run.stdout.contains("argiope export two"), "{}", run.stdout);
    assert_both_are_whole_and_polite(&desk, &lab);
    for site in [0, 1] {
        let agents: Vec<String> = lab
            .access_log()
            .into_iter()
            .filter(|entry| entry.site == site && entry.path != "/robots.txt")
            .map(|entry| entry.user_agent)
            .collect();
        // Half way through, neither is far behind.
        let first = agents[..agents.len() / 2].iter().filter(|agent| *agent == "one").count();
        assert!(first * 3 > agents.len() / 2 && first * 3 < agents.len(), "{first} of {}", agents.len());
    }
}

#[test]
fn jobs_that_were_killed_together_go_on_together() {
    let (desk, lab) = two_jobs(40);
    let crawl = desk.start(&BOTH);
    desk.wait_for_pages(10);
    let jobs = desk.run(&["jobs", "--json"]).ok().json_lines();
    assert!(jobs.len() == 2 && jobs.iter().all(|job| job["state"] == "running"), "{jobs:?}");
    for name in ["one", "two"] {
        let said = desk.run(&["status", name]).ok().stdout;
        assert!(said.contains("with 1 job beside it"), "{said}");
        // Over the socket, each by its own rules.
        let why = desk.run(&["why", "--job", name, "https://example.com/"]).ok().stdout;
        assert!(why.starts_with("out_of_scope\n"), "{why}");
    }
    crawl.kill();
    desk.run(&BOTH).ok();
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 2);
    assert_both_are_whole_and_polite(&desk, &lab);
}

#[test]
fn each_job_has_its_own_limit_and_one_that_ends_does_not_end_the_other() {
    let (desk, lab) = two_jobs(30);
    let job = desk.read("one.yaml");
    desk.write("one.yaml", &format!("{job}max_pages: 3\narchive: false\n"));
    let crawl = desk.start(&BOTH);
    wait_until(|| desk.run(&["status", "one", "--json"]).stdout.contains("max_pages is reached"));
    crawl.wait().ok();
    let one = desk.run(&["export", "one"]).ok().json_lines();
    assert_eq!(one.len(), 3);
    assert!(one.iter().all(|page| page["archive"].is_null()), "{one:?}");
    let two = desk.run(&["export", "two"]).ok().json_lines();
    assert_eq!(sorted(&two, "url"), expected(&lab));
    assert!(two.iter().all(|page| page["archive"].is_string()), "{two:?}");
}

#[test]
fn what_is_for_one_job_only_is_refused_for_several() {
    let (desk, lab) = two_jobs(3);
    desk.write("three.yaml", "name: three\nseeds: [https://example.com/]\n");
    for (more, said) in [
        (vec!["-o", "pages.jsonl"], "-o is for one job"),
        (vec!["--name", "both"], "--name is for one job"),
        (vec!["--list", "two.yaml"], "--list is for one job"),
        (vec!["https://example.com"], "a seed is for one job"),
        (vec!["-c", "one.yaml"], "one.yaml and one.yaml are the same job"),
        (vec!["-c", "three.yaml"], "one.yaml and three.yaml differ in allow_private"),
    ] {
        let run = desk.run(&[&BOTH, more.as_slice()].concat());
        assert_eq!(run.code, 2, "{more:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{more:?}: {}", run.stderr);
    }
    assert_eq!(lab.request_count(), 0);
    assert!(!desk.path("argiope-data").exists());
}
