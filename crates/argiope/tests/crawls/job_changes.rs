//! `jobs pause`, `resume`, `cancel` and `delete`, with a process that crawls and without one.

use crate::desk::{Desk, lab, sorted, wait_until};
use argiope_lab::SiteKind;

fn state(desk: &Desk, job: &str) -> String {
    desk.run(&["status", job, "--json"]).ok().json()["state"].as_str().unwrap().to_owned()
}

fn names(desk: &Desk) -> Vec<String> {
    let jobs = desk.run(&["jobs", "--json"]).ok().json_lines();
    jobs.iter().map(|job| job["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn jobs_of_a_running_crawl_are_paused_resumed_cancelled_and_deleted() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 200, 0));
    let seeds = lab.seeds();
    let owner = desk.start_crawl(&seeds[..1], &["--name", "first", "--delay", "200ms"]);
    desk.wait_for_pages(2);
    let watcher = desk.start_crawl(&seeds[1..], &["--name", "second", "--delay", "50ms"]);
    let pages = |job: &str| {
        let run = desk.run(&["status", job, "--json"]);
        if run.code == 0 { run.json()["pages"].as_u64().unwrap() } else { 0 }
    };
    wait_until(|| pages("second") > 2);
    let told = desk.run(&["jobs", "pause", "second"]).ok().stdout;
    assert_eq!(told, "Job second is paused.\n");
    assert_eq!(state(&desk, "second"), "paused");
    assert_eq!(names(&desk), ["first", "second"]);
    assert_eq!(desk.run(&["jobs", "resume", "2"]).ok().stdout, "Job second is resumed.\n");
    let before = pages("second");
    wait_until(|| pages("second") > before);
    desk.run(&["jobs", "cancel", "second"]).ok();
    let watched = watcher.wait().ok().stdout;
    assert!(watched.starts_with("Job second is cancelled"), "{watched}");
    assert_eq!(state(&desk, "second"), "cancelled");
    let again = desk.run(&["jobs", "cancel", "second"]);
    assert_eq!((again.code, again.stdout.as_str()), (1, ""));
    assert!(again.stderr.contains("job 2 is already cancelled"), "{}", again.stderr);
    desk.run(&["jobs", "delete", "second"]).ok();
    assert_eq!(names(&desk), ["first"]);
    owner.signal("-INT");
    owner.wait();
    assert_eq!(state(&desk, "first"), "paused");
}

#[test]
fn jobs_at_rest_are_cancelled_and_deleted_and_a_crawl_resumes_them() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary; 2], 20, 0));
    let seeds = lab.seeds();
    desk.crawl(&seeds[..1], &["--name", "kept", "--delay", "0"]).ok();
    desk.crawl(&seeds[1..], &["--name", "gone", "--delay", "0", "--max-pages", "5"]).ok();
    let unknown = desk.run(&["jobs", "pause", "nobody"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("there is no job 'nobody'"), "{}", unknown.stderr);
    assert_eq!(desk.run(&["jobs", "pause"]).code, 2, "a job has to be named");
    assert_eq!(desk.run(&["jobs", "--json", "pause", "gone"]).code, 2);

    let owner = desk.start_crawl(&seeds[..1], &["--name", "slow", "--delay", "200ms"]);
    wait_until(|| {
        let run = desk.run(&["status", "slow", "--json"]);
        run.code == 0 && run.json()["pages"].as_u64() > Some(2)
    });
    owner.signal("-INT");
    owner.wait();
    let refused = desk.run(&["jobs", "resume", "slow"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("argiope crawl --name slow"), "{}", refused.stderr);
    desk.run(&["jobs", "cancel", "slow"]).ok();
    assert_eq!(state(&desk, "slow"), "cancelled");

    assert_eq!(desk.run(&["jobs", "delete", "gone"]).ok().stdout, "Job gone is deleted.\n");
    assert_eq!(names(&desk), ["kept", "slow"]);
    let exported = desk.run(&["export", "--all"]).ok().json_lines();
    assert!(sorted(&exported, "url").iter().all(|url| url.starts_with(&seeds[0])), "{exported:?}");
    assert!(exported.len() > 20, "those of the other jobs stay");
    // The same name begins anew: nothing of it is remembered.
    let run = desk.crawl(&seeds[1..], &["--name", "gone", "--delay", "0"]).ok();
    assert!(run.stdout.contains("20 pages"), "{}", run.stdout);
}
