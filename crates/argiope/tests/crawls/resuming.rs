//! Crawls that are stopped and resumed: nothing is lost, nothing is duplicated.

use crate::desk::{Desk, expected, json_lines, lab, sorted};
use argiope_lab::{HostRule, SiteKind, check};
use std::time::Duration;

const KINDS: [SiteKind; 3] = [SiteKind::Ordinary, SiteKind::Duplicates, SiteKind::RobotsPaths];

#[test]
fn an_interrupted_crawl_goes_on_where_it_was() {
    let (desk, lab) = (Desk::new(), lab(&KINDS, 30, 20));
    let options = ["--delay", "10ms", "-o", "out.jsonl"];
    let crawl = desk.start_crawl(&lab.seeds(), &options);
    desk.wait_for_pages(5);
    crawl.signal("-INT");
    let stopped = crawl.wait();
    assert_eq!(stopped.code, 130, "{}", stopped.stderr);
    assert!(
        stopped.stdout.contains("is interrupted") && stopped.stdout.contains("same command"),
        "{}",
        stopped.stdout
    );
    let some = json_lines(&desk.read("out.jsonl")).len();
    assert!(some > 0 && some < expected(&lab).len());

    let status = desk.status().unwrap();
    assert_eq!(status["state"], "paused", "{status}");
    assert!(status["queued"].as_u64() > Some(0), "{status}");
    let said = desk.run(&["status"]).ok().stdout;
    assert!(said.contains("the same 'argiope crawl' command resumes it"), "{said}");

    desk.crawl(&lab.seeds(), &options).ok();
    assert_eq!(sorted(&json_lines(&desk.read("out.jsonl")), "url"), expected(&lab));
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 1);
    assert!(desk.run(&["audit"]).ok().stdout.starts_with("0 violations"));
}

#[test]
fn the_name_of_a_job_is_enough_to_go_on_with_it() {
    let (desk, lab) = (Desk::new(), lab(&KINDS, 10, 20));
    let crawl = desk.start_crawl(&lab.seeds(), &["--delay", "10ms", "--name", "nightly", "--exclude", "zzz"]);
    desk.wait_for_pages(3);
    crawl.signal("-INT");
    assert_eq!(crawl.wait().code, 130);

    let other = desk.run(&["crawl", "--name", "nightly", "--scope", "any"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("'scope' was \"host\""), "{}", other.stderr);

    let run = desk.run(&["crawl", "--name", "nightly", "--delay", "5ms"]).ok();
    assert!(run.stderr.contains("resuming job nightly"), "{}", run.stderr);
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 1);

    let finished = desk.run(&["crawl", "--name", "nightly"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("job nightly is finished\nhint: add --fresh"), "{}", finished.stderr);
    desk.run(&["crawl", "--name", "nightly", "--fresh", "--max-pages", "2", "--delay", "0"]).ok();
    assert_eq!(desk.pages().len(), 2);
    desk.run(&["crawl", "--name", "nightly", "--max-pages", "4", "--delay", "0"]).ok();
    assert_eq!(desk.pages().len(), 4);
}

#[test]
fn a_name_without_seeds_and_without_a_job_says_what_to_do() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let run = desk.run(&["crawl", "--name", "nightly"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("has no job 'nightly' to resume"), "{}", run.stderr);
    assert!(run.stderr.contains("argiope crawl https://example.com --name nightly"), "{}", run.stderr);
    assert!(!desk.path("argiope-data").exists(), "nothing is made by asking");

    desk.write("urls.txt", &lab.seeds().join("\n"));
    desk.crawl(&[], &["--list", "urls.txt", "--name", "listed", "--max-pages", "1", "--delay", "0"]).ok();
    let run = desk.run(&["crawl", "--name", "listed", "--max-pages", "2"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("was started with a list") && run.stderr.contains("--list FILE"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_killed_crawl_goes_on_and_has_every_page_once() {
    let (desk, lab) = (Desk::new(), lab(&KINDS, 30, 20));
    let options = ["--delay", "20ms", "-o", "out.jsonl"];
    for pages in [1, 15, 40] {
        let crawl = desk.start_crawl(&lab.seeds(), &options);
        desk.wait_for_pages(pages);
        crawl.kill();
        assert_eq!(desk.status().unwrap()["state"], "interrupted");
    }
    let killed = desk.run(&["audit", "--json"]).json();
    assert_eq!((&killed["killed"], killed["unclean_stops"].as_array().map(Vec::len)), (&3.into(), Some(2)));
    let last = desk.crawl(&lab.seeds(), &options).ok();
    let honest = "requests in flight at the crash are repeated (number unknown)";
    assert!(last.stderr.contains(honest), "{}", last.stderr);
    assert_eq!(sorted(&json_lines(&desk.read("out.jsonl")), "url"), expected(&lab));
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    let audit = desk.run(&["audit"]);
    assert_eq!(audit.code, 0, "{}", audit.stdout);
    let said = "the crawl was killed 3 times; requests that were in flight at that time are not in this list";
    assert!(audit.stdout.contains(said), "{}", audit.stdout);
    let killed = desk.run(&["audit", "--json"]).json();
    assert_eq!((&killed["killed"], &killed["unclean_stops"][2]["job"]), (&3.into(), &1.into()));
    // What was in flight when the process died is known to the sites alone.
    let early = check(&lab.access_log(), |_| HostRule::one_at_a_time(Duration::from_millis(19)));
    assert_eq!(early, []);
}

#[test]
fn other_settings_for_an_unfinished_job_are_refused_and_fresh_begins_anew() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 40, 30));
    let crawl = desk.start_crawl(&lab.seeds(), &["--delay", "10ms", "--name", "n"]);
    desk.wait_for_pages(2);
    crawl.signal("-TERM");
    assert_eq!(crawl.wait().code, 130);
    let other = desk.crawl(&lab.seeds(), &["--name", "n", "--delay", "0", "--scope", "any"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("--fresh"), "{}", other.stderr);
    desk.crawl(&lab.seeds(), &["--name", "n", "--delay", "0", "--scope", "any", "--fresh"]).ok();
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 2);
}

#[test]
fn a_crawl_whose_reader_went_away_reports_it_and_can_be_resumed() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 30, 0));
    let mut running = desk.start_crawl(&lab.seeds(), &["--delay", "20ms", "-o", "-"]);
    assert!(running.read_one_line().starts_with('{'));
    let run = running.wait();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(
        run.stderr.contains("closed the pipe") && run.stderr.contains("same command resumes it"),
        "{}",
        run.stderr
    );
    desk.crawl(&lab.seeds(), &["--delay", "0", "-o", "-"]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
}
