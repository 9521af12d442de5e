//! Crawls with few file descriptors.

use crate::desk::{Desk, expected, lab, sorted};
use argiope_lab::SiteKind;

#[test]
fn with_few_descriptors_fewer_requests_are_made_at_a_time_and_no_page_is_lost() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 120], 3, 300));
    desk.write("seeds", &lab.seeds().join("\n"));
    let words = [
        "crawl",
        "--allow-private",
        "--list",
        "seeds",
        "--delay",
        "0",
        "--concurrency",
        "100",
        "-o",
        "o.jsonl",
    ];
    let run = desk.run_with_files(128, &words).ok();
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.contains("ulimit -n")).collect();
    assert_eq!(warnings.len(), 1, "{}", run.stderr);
    assert!(warnings[0].contains("128") && warnings[0].contains("100"), "{}", run.stderr);
    assert!(!run.stderr.contains("too many open files"), "{}", run.stderr);
    let pages = desk.pages();
    assert_eq!(sorted(&pages, "url"), expected(&lab));
    // Nothing was requested twice: no host counted as failed.
    let log = lab.access_log();
    let mut asked: Vec<(&str, &str)> = log.iter().map(|one| (one.host.as_str(), one.path.as_str())).collect();
    let all = asked.len();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), all);
}

#[test]
fn a_crawl_that_could_make_hardly_any_request_does_not_start() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let run = desk.run_with_files(40, &["crawl", "--allow-private", "--delay", "0", &lab.seeds()[0]]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("40 open files (ulimit -n)"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    assert!(!desk.path("argiope-data").exists(), "nothing is stored");
    assert_eq!(lab.request_count(), 0);
}
