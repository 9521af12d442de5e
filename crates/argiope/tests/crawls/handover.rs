//! `crawl` while another process owns the data directory: the job runs there, and is watched here.

use crate::desk::{Desk, expected, lab, sorted, wait_until};
use argiope_lab::SiteKind;

#[test]
fn a_crawl_is_handed_to_the_process_that_owns_the_directory_and_watched() {
    let (desk, first) = (Desk::new(), lab(&[SiteKind::Ordinary], 200, 0));
    let second = lab(&[SiteKind::Ordinary; 2], 15, 0);
    let owner = desk.start_crawl(&first.seeds(), &["--name", "first", "--delay", "200ms"]);
    desk.wait_for_pages(2);

    let words = ["--name", "second", "--delay", "0", "-o", "second.jsonl"];
    let run = desk.crawl(&second.seeds(), &words).ok();
    assert!(run.stderr.contains(&format!("job 2 runs in process {}", owner.pid())), "{}", run.stderr);
    assert!(run.stdout.starts_with("Job second is completed: 30 pages"), "{}", run.stdout);
    let written = crate::desk::json_lines(&desk.read("second.jsonl"));
    assert_eq!(sorted(&written, "url"), expected(&second));

    // The same settings as a list, which is sent piece by piece.
    desk.write("urls.txt", &second.seeds().join("\n"));
    let run = desk.crawl(&[], &["--list", "urls.txt", "--name", "listed", "--delay", "0"]).ok();
    assert!(run.stdout.starts_with("Job listed is completed: 30 pages"), "{}", run.stdout);

    // What holds for the whole process is refused by name.
    let run = desk.run(&["crawl", "https://example.com/", "--name", "public"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("--allow-private"), "{}", run.stderr);

    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines()[0]["state"], "running");
    owner.signal("-INT");
    assert_eq!(owner.wait().code, 130);
}

#[test]
fn a_watcher_that_is_interrupted_leaves_the_job_running() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 100, 0));
    let seeds = lab.seeds();
    let owner = desk.start_crawl(&seeds[..1], &["--name", "first", "--delay", "200ms"]);
    desk.wait_for_pages(2);
    let watcher = desk.start_crawl(&seeds[1..], &["--name", "second", "--delay", "100ms"]);
    let state = |name: &str| {
        let run = desk.run(&["status", name, "--json"]);
        (run.code == 0).then(|| run.json()["state"].as_str().unwrap_or_default().to_owned())
    };
    wait_until(|| state("second").as_deref() == Some("running"));
    watcher.signal("-INT");
    let watched = watcher.wait();
    assert_eq!(watched.code, 130);
    assert!(watched.stderr.contains("no longer watching"), "{}", watched.stderr);
    assert_eq!(state("second").as_deref(), Some("running"));
    owner.signal("-INT");
    owner.wait();
    assert_eq!(state("second").as_deref(), Some("paused"), "it stops with its process and can be resumed");
}

#[test]
fn a_watcher_continues_the_job_when_the_owner_is_killed() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 30, 0));
    let seeds = lab.seeds();
    let owner = desk.start_crawl(&seeds[..1], &["--name", "first", "--delay", "300ms"]);
    desk.wait_for_pages(1);
    let watcher =
        desk.start_crawl(&seeds[1..], &["--name", "second", "--delay", "50ms", "-o", "second.jsonl"]);
    wait_until(|| {
        let run = desk.run(&["status", "second", "--json"]);
        run.code == 0 && run.json()["pages"].as_u64() > Some(3)
    });
    owner.signal("-KILL");
    owner.wait();
    let run = watcher.wait().ok();
    assert!(run.stderr.contains("continuing in this one"), "{}", run.stderr);
    let written = crate::desk::json_lines(&desk.read("second.jsonl"));
    let wanted: Vec<String> = expected(&lab).into_iter().filter(|url| url.starts_with(&seeds[1])).collect();
    assert_eq!(sorted(&written, "url"), wanted, "each page once");
}
