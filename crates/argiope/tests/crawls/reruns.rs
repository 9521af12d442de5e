//! A user who runs a crawl again, after the server or the settings were mended, is obeyed.

use crate::desk::{Desk, sorted};
use crate::site::{Site, body, page, status};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SHORT_WAITS: &str = "politeness:\n  robots:\n    retry_after: [100ms, 100ms]\n";

/// A site that can be broken and mended: while it is broken `wrong` says what is answered, if anything else.
pub(crate) fn moody(
    wrong: impl Fn(&str) -> Option<String> + Send + 'static,
    right: impl Fn(&str) -> Option<String> + Send + 'static,
) -> (Site, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let site = Site::new(move |path, _| match is_broken.load(Ordering::SeqCst) {
        true => wrong(path).or_else(|| right(path)),
        false => right(path),
    });
    (site, broken)
}

fn small_site(path: &str) -> Option<String> {
    match path {
        "/robots.txt" => Some(body("text/plain", "", "User-agent: *\nDisallow: /private\n")),
        "/" => Some(page("<title>front</title><a href=/a>a</a>")),
        "/a" => Some(page("<title>a</title>")),
        _ => None,
    }
}

fn without_robots(path: &str) -> Option<String> {
    (path == "/robots.txt").then(|| status("503 Unavailable", ""))
}

#[test]
fn the_same_command_asks_again_for_a_robots_txt_that_was_unreachable() {
    let (site, broken) = moody(without_robots, small_site);
    let desk = Desk::new();
    desk.write("argiope.yaml", SHORT_WAITS);
    let seeds = std::slice::from_ref(&site.front);
    let first = desk.crawl(seeds, &["--delay", "0"]);
    assert_eq!(first.code, 1, "{}{}", first.stdout, first.stderr);
    assert!(first.stdout.contains("is paused: no page was stored."), "{}", first.stdout);
    assert!(!first.stdout.contains("done"), "{}", first.stdout);
    assert!(
        first.stderr.contains("robots.txt is unreachable (answered 503)") && first.stderr.contains("hint: "),
        "{}",
        first.stderr
    );
    let asked = site.asked("/robots.txt");
    // Still broken: it is asked, and that is seen by the server.
    assert_eq!(desk.crawl(seeds, &["--delay", "0"]).code, 1);
    assert!(site.asked("/robots.txt") > asked, "the second command did not ask");
    broken.store(false, Ordering::SeqCst);
    let mended = desk.crawl(seeds, &["--delay", "0"]).ok();
    assert!(mended.stdout.contains("is done."), "{}", mended.stdout);
    assert_eq!(sorted(&desk.pages(), "url"), [site.front.clone(), site.url("a")]);
    assert_eq!(desk.run(&["audit", "--json"]).ok().json()["violation_count"], 0);
}

#[test]
fn a_fresh_job_does_not_inherit_an_unreachable_robots_txt() {
    let (site, broken) = moody(without_robots, small_site);
    let desk = Desk::new();
    desk.write("argiope.yaml", SHORT_WAITS);
    let seeds = std::slice::from_ref(&site.front);
    assert_eq!(desk.crawl(seeds, &["--delay", "0"]).code, 1);
    broken.store(false, Ordering::SeqCst);
    desk.crawl(seeds, &["--delay", "0", "--fresh"]).ok();
    assert_eq!(desk.pages().len(), 2);
}

fn forbidding(path: &str) -> Option<String> {
    (path == "/robots.txt").then(|| body("text/plain", "", "User-agent: *\nDisallow: /\n"))
}

#[test]
fn a_forbidding_robots_txt_is_fetched_again_after_a_failed_crawl_and_with_fresh() {
    let (site, broken) = moody(forbidding, small_site);
    let seeds = std::slice::from_ref(&site.front);
    let desk = Desk::new();
    assert_eq!(desk.crawl(seeds, &["--delay", "0"]).code, 1);
    broken.store(false, Ordering::SeqCst);
    desk.crawl(seeds, &["--delay", "0"]).ok();
    assert_eq!(desk.pages().len(), 2);
    // It is known now, and a job that has not failed keeps it.
    let asked = site.asked("/robots.txt");
    desk.crawl(seeds, &["--delay", "0"]).ok();
    assert_eq!(site.asked("/robots.txt"), asked);
    broken.store(true, Ordering::SeqCst);
    assert_eq!(desk.crawl(seeds, &["--delay", "0", "--fresh"]).code, 1);
    assert_eq!(site.asked("/robots.txt"), asked + 1);
}

#[test]
fn the_delay_holds_between_the_last_request_of_one_command_and_the_first_of_the_next() {
    let (site, broken) = moody(without_robots, small_site);
    let desk = Desk::new();
    desk.write("argiope.yaml", SHORT_WAITS);
    let seeds = std::slice::from_ref(&site.front);
    for _ in 0..2 {
        assert_eq!(desk.crawl(seeds, &["--delay", "700ms"]).code, 1);
    }
    broken.store(false, Ordering::SeqCst);
    desk.crawl(seeds, &["--delay", "700ms"]).ok();
    // The history of all three has every gap.
    let audit = desk.run(&["audit", "--json"]).ok().json();
    assert_eq!(audit["violation_count"], 0, "{audit}");
}

#[test]
fn a_shorter_unreachable_for_is_in_force_at_once() {
    let (site, _broken) = moody(without_robots, small_site);
    let desk = Desk::new();
    desk.write("argiope.yaml", SHORT_WAITS);
    let seeds = std::slice::from_ref(&site.front);
    assert_eq!(desk.crawl(seeds, &["--delay", "0"]).code, 1);
    desk.write("argiope.yaml", &format!("{SHORT_WAITS}    unreachable: allow\n"));
    desk.crawl(seeds, &["--delay", "0"]).ok();
    assert_eq!(desk.pages().len(), 2);
}

#[test]
fn a_crawl_that_robots_txt_forbids_has_failed_and_says_why() {
    let site = Site::new(|path, _| match path {
        "/robots.txt" => Some(body("text/plain", "", "User-agent: *\nDisallow: /\n")),
        _ => Some(page("never requested")),
    });
    let desk = Desk::new();
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("has failed: no page was stored.") && !run.stdout.contains("done"));
    assert!(run.stderr.contains("robots_disallowed: line 2: Disallow: /"), "{}", run.stderr);
    assert!(run.stderr.contains("--ignore-robots is for sites of your own"), "{}", run.stderr);
    let jobs = desk.run(&["jobs", "--json"]).ok().json_lines();
    assert_eq!(jobs[0]["state"], "failed", "{jobs:?}");
    assert_eq!(site.asked("/"), 0);
}

#[test]
fn https_where_plain_http_is_spoken_names_the_url_to_try() {
    // As most servers do, it says that it did not understand.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 8192]);
            let _ = stream.write_all(status("400 Bad Request", "").as_bytes());
        }
    });
    let desk = Desk::new();
    desk.write("argiope.yaml", SHORT_WAITS);
    let run = desk.crawl(&[format!("https://{address}/start/here?page=1")], &["--delay", "0"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let hint = format!("try http://{address}/start/here?page=1");
    assert!(run.stdout.contains(&format!("try http://{address}/")), "{}", run.stdout);
    assert!(run.stderr.contains(&format!("hint: {hint}")), "{}", run.stderr);
}

#[test]
fn a_crawl_that_got_anything_has_not_failed() {
    let site = Site::new(|_, _| None);
    let desk = Desk::new();
    // A 404 is an answer, and stored.
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    assert!(run.stdout.contains("is done."), "{}", run.stdout);
}
