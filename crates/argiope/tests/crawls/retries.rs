//! What has failed is asked for again when somebody wants that, and is listed once.

use crate::desk::{Desk, json_lines, sorted, wait_until};
use crate::reruns::moody;
use crate::site::{Site, page, status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ONE_TRY: &str = "politeness: {retries: false, breaker: false, adaptive: false}\n";
/// The server closes without a word.
const NOTHING: &str = "";

/// Four pages; while it is broken one answers nothing, one with 503, and one is not there.
fn shop() -> (Site, Arc<AtomicBool>) {
    moody(
        |path| match path {
            "/silent" => Some(NOTHING.to_owned()),
            "/busy" => Some(status("503 Unavailable", "")),
            "/missing" => Some(status("404 Not Found", "")),
            _ => None,
        },
        |path| match path {
            "/" => Some(page("<a href=/silent>s</a><a href=/busy>b</a><a href=/missing>m</a>")),
            "/silent" | "/busy" | "/missing" => Some(page(&format!("<title>{path}</title>"))),
            _ => None,
        },
    )
}

/// (pages, failed) as `status` tells them.
fn counts(desk: &Desk) -> (u64, u64) {
    let status = desk.status().unwrap();
    (status["pages"].as_u64().unwrap(), status["failed"].as_u64().unwrap())
}

#[test]
fn failures_that_are_retried_replace_their_records() {
    let ((site, broken), desk) = (shop(), Desk::new());
    desk.write("argiope.yaml", ONE_TRY);
    let seeds = std::slice::from_ref(&site.front);
    let words = ["--delay", "0", "-o", "out.jsonl"];
    desk.crawl(seeds, &words).ok();
    assert_eq!(counts(&desk), (3, 1));
    let nothing_else = desk.run(&["retry", "--blocked"]).ok();
    assert!(nothing_else.stdout.contains("has nothing to retry"), "{}", nothing_else.stdout);
    broken.store(false, Ordering::SeqCst);
    let told = desk.run(&["retry", "--failed"]).ok().stdout;
    assert!(told.starts_with("2 URLs of job 1 are queued again.\n"), "{told}");
    assert!(told.contains("repeat the command that started the job"), "{told}");
    // They wait now, and nothing of them is counted.
    assert_eq!(counts(&desk), (2, 0));
    assert!(desk.run(&["why", &site.url("silent")]).ok().stdout.starts_with("pending\n"));
    assert!(desk.run(&["retry"]).ok().stdout.contains("has nothing to retry"));
    let run = desk.crawl(seeds, &words).ok();
    assert!(run.stderr.contains("resuming job 1"), "{}", run.stderr);
    assert_eq!(counts(&desk), (4, 0));
    let all = [site.front.clone(), site.url("busy"), site.url("missing"), site.url("silent")];
    let exported = desk.pages();
    assert_eq!(sorted(&exported, "url"), all);
    let ok = |rows: &[serde_json::Value]| rows.iter().filter(|row| row["status"] == 200).count();
    assert_eq!(ok(&exported), 3);
    let written = json_lines(&desk.read("out.jsonl"));
    assert_eq!((sorted(&written, "url"), ok(&written)), (all.to_vec(), 3));
    assert_eq!((site.asked("/"), site.asked("/silent"), site.asked("/missing")), (1, 2, 1));
    assert_eq!(desk.run(&["audit", "--json"]).ok().json()["violation_count"], 0);
}

#[test]
fn urls_are_named_in_any_spelling_and_what_cannot_be_retried_is_said() {
    let ((site, broken), desk) = (shop(), Desk::new());
    desk.write("argiope.yaml", ONE_TRY);
    let seeds = std::slice::from_ref(&site.front);
    desk.crawl(seeds, &["--delay", "0", "--name", "shop"]).ok();
    broken.store(false, Ordering::SeqCst);
    let refused = desk.run(&["retry", "shop", &site.url("missing"), &site.front, &site.url("never")]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    let said = &refused.stderr;
    assert!(said.contains("was fetched (200)") && said.contains("/never is not a page of job 1"), "{said}");
    assert_eq!(counts(&desk), (3, 1), "nothing is done by halves");
    let spelling = site.url("x/../missing?utm_source=mail").replace("http://", "HTTP://");
    let told = desk.run(&["retry", &spelling]).ok().stdout;
    assert!(told.contains("argiope crawl --name shop"), "{told}");
    assert_eq!(counts(&desk), (2, 1));
    desk.run(&["crawl", "--name", "shop"]).ok();
    assert_eq!(counts(&desk), (3, 1));
    assert_eq!((site.asked("/missing"), site.asked("/silent")), (2, 1));
}

#[test]
fn a_crawl_goes_on_with_a_finished_job_and_retries_what_failed() {
    let ((site, broken), desk) = (shop(), Desk::new());
    desk.write("argiope.yaml", ONE_TRY);
    let seeds = std::slice::from_ref(&site.front);
    desk.crawl(seeds, &["--delay", "0"]).ok();
    let again = desk.crawl(seeds, &["--delay", "0", "--retry-failed"]).ok();
    assert!(again.stderr.contains("2 failed URLs are queued again"), "{}", again.stderr);
    assert_eq!(counts(&desk), (3, 1), "they have failed again");
    broken.store(false, Ordering::SeqCst);
    desk.crawl(seeds, &["--delay", "0", "--retry-failed"]).ok();
    assert_eq!(counts(&desk), (4, 0));
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 1);
    assert_eq!(site.asked("/silent"), 3);
}

#[test]
fn a_retry_keeps_to_the_page_limit_of_its_job() {
    let ((site, broken), desk) = (shop(), Desk::new());
    desk.write("argiope.yaml", ONE_TRY);
    let seeds = std::slice::from_ref(&site.front);
    let words = ["--delay", "0", "--max-pages", "3"];
    desk.crawl(seeds, &words).ok();
    let before = counts(&desk).0;
    assert!(before <= 3);
    broken.store(false, Ordering::SeqCst);
    desk.crawl(seeds, &["--delay", "0", "--max-pages", "3", "--retry-failed"]).ok();
    assert_eq!(counts(&desk).0, 3);
    desk.crawl(seeds, &["--delay", "0", "--max-pages", "9"]).ok();
    assert_eq!(counts(&desk), (4, 0));
}

#[test]
fn a_job_that_runs_takes_a_retry_at_once() {
    // It lists the silent page first and keeps the crawl busy with the others.
    let (site, broken) = moody(
        |path| (path == "/silent").then(|| NOTHING.to_owned()),
        |path| match path {
            "/" => {
                let links: String = (0..200).map(|n| format!("<a href=/p{n}>p</a>")).collect();
                Some(page(&format!("<a href=/silent>s</a>{links}")))
            }
            path if path.starts_with("/p") || path == "/silent" => {
                Some(page(&format!("<title>{path}</title>")))
            }
            _ => None,
        },
    );
    let desk = Desk::new();
    desk.write("argiope.yaml", ONE_TRY);
    let crawl = desk.start_crawl(std::slice::from_ref(&site.front), &["--delay", "100ms", "-o", "out.jsonl"]);
    wait_until(|| desk.status().is_some_and(|status| status["failed"] == 1));
    broken.store(false, Ordering::SeqCst);
    let told = desk.run(&["retry"]).ok().stdout;
    assert!(
        told.contains("1 URL of job 1 is queued again") && !told.contains("repeat the command"),
        "{told}"
    );
    wait_until(|| site.asked("/silent") == 2);
    wait_until(|| counts(&desk).1 == 0);
    crawl.signal("-INT");
    assert_eq!(crawl.wait().code, 130);
    let written = json_lines(&desk.read("out.jsonl"));
    let silent: Vec<_> = written.iter().filter(|row| row["url"] == site.url("silent")).collect();
    assert_eq!(silent.len(), 1, "{silent:?}");
    assert_eq!(silent[0]["status"], 200);
}

#[test]
fn blocked_urls_are_retried_while_the_job_runs() {
    let (site, broken) = moody(
        |path| (path == "/robots.txt").then(|| status("503 Unavailable", "")),
        |path| Some(page(&format!("<title>{path}</title>"))),
    );
    let busy = Site::new(|path, _| match path {
        "/" => Some(page(&(0..200).map(|n| format!("<a href=/p{n}>p</a>")).collect::<String>())),
        path if path.starts_with("/p") => Some(page(path)),
        _ => None,
    });
    let desk = Desk::new();
    desk.write("argiope.yaml", "politeness:\n  adaptive: false\n  robots:\n    retry_after: [100ms]\n");
    let crawl = desk.start_crawl(&[site.front.clone(), busy.front.clone()], &["--delay", "100ms"]);
    wait_until(|| site.asked("/robots.txt") == 2);
    broken.store(false, Ordering::SeqCst);
    // It is not known yet that the second was the last try.
    wait_until(|| {
        desk.run(&["retry", "--blocked"]).ok();
        site.asked("/") == 1
    });
    crawl.signal("-INT");
    assert_eq!(crawl.wait().code, 130);
}

#[test]
fn a_retry_that_is_killed_at_any_moment_loses_no_url() {
    let ((site, broken), desk) = (shop(), Desk::new());
    desk.write("argiope.yaml", ONE_TRY);
    let seeds = std::slice::from_ref(&site.front);
    desk.crawl(seeds, &["--delay", "0", "-o", "out.jsonl"]).ok();
    broken.store(false, Ordering::SeqCst);
    for pause_ms in [5, 15, 30, 45, 60, 90, 120] {
        let retry = desk.start(&["retry"]);
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        retry.kill();
    }
    // Whatever each of them came to, the last one is whole.
    desk.run(&["retry"]).ok();
    desk.crawl(seeds, &["--delay", "0", "-o", "out.jsonl"]).ok();
    assert_eq!(counts(&desk), (4, 0));
    assert_eq!(json_lines(&desk.read("out.jsonl")).len(), 4);
    assert_eq!((site.asked("/silent"), site.asked("/busy")), (2, 2));
}
