//! What is told of URLs that have to wait: while the crawl runs, and at its end.

use crate::desk::{Desk, wait_until};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// A host without a robots.txt that answers everything else with this head.
pub(crate) fn host(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let seed = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let is_page = first.starts_with("GET / ");
            let head = if is_page { head } else { "404 Not Found" };
            let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    seed
}

/// A port that nobody listens at.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

#[test]
fn a_parked_host_is_named_with_its_reason_and_its_time() {
    let (desk, seed) = (Desk::new(), host("503 Unavailable\r\nRetry-After: 7200"));
    let run = desk.crawl(std::slice::from_ref(&seed), &["--delay", "0"]);
    // Nothing was stored.
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("is paused: no page was stored."), "{}", run.stdout);
    assert!(run.stderr.contains("Retry-After") && run.stderr.contains("later"), "{}", run.stderr);
    let name = seed.trim_start_matches("http://").trim_end_matches('/');
    assert!(
        run.stdout.contains(&format!("  {name}  1 URL, asked for a pause (Retry-After) until 2")),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("robots.txt is unreachable"), "{}", run.stdout);
    let said = desk.run(&["why", &seed]).ok().stdout;
    assert!(said.starts_with("pending\n"), "{said}");
    assert!(said.contains("answered 503 in ") && said.contains("attempt 2 is due at "), "{said}");
}

#[test]
fn a_retry_is_told_of_while_it_is_waited_for() {
    let (desk, seed) = (Desk::new(), host("500 Broken"));
    let crawl = desk.start_crawl(std::slice::from_ref(&seed), &["--delay", "0"]);
    wait_until(|| desk.status().is_some_and(|status| status["retries"] == 1));
    let status = desk.run(&["status"]).ok().stdout;
    assert!(status.contains("1 URL waits for its retry, next in "), "{status}");
    let said = desk.run(&["why", &seed]).ok().stdout;
    assert!(said.starts_with("pending\n"), "{said}");
    assert!(said.contains("answered 500 in ") && said.contains("attempt 2 is due at "), "{said}");
    crawl.signal("-INT");
    assert_eq!(crawl.wait().code, 130);
}

#[test]
fn the_cause_of_an_unreachable_robots_txt_is_shown() {
    let (desk, seed) = (Desk::new(), nobody());
    desk.write("argiope.yaml", "politeness:\n  robots:\n    retry_after: [100ms]\n");
    let run = desk.crawl(std::slice::from_ref(&seed), &["--delay", "0"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("1 URL, robots.txt is unreachable: connect"), "{}", run.stdout);
    // The summary, and whoever asks later, say the same.
    assert!(run.stdout.contains("Job 1 is paused: no page was stored."), "{}", run.stdout);
    assert!(!run.stdout.contains("# the pages as a table"), "{}", run.stdout);
    for command in ["jobs", "report", "status"] {
        let said = desk.run(&[command]).ok().stdout;
        assert!(said.contains("paused: no page was stored; "), "{command}: {said}");
    }
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json()["queued"], 1);
    let said = desk.run(&["why", &seed]).ok().stdout;
    assert!(said.starts_with("robots_unreachable\n"), "{said}");
    assert!(said.contains("is unreachable (connect") && said.contains("/robots.txt: connect"), "{said}");
}

#[test]
fn a_crawl_on_a_full_disk_waits_and_reports_it() {
    let (desk, seed) = (Desk::new(), host("200 OK"));
    desk.write("argiope.yaml", "storage:\n  disk_reserve: 9000TB\n");
    let crawl = desk.start_crawl(std::slice::from_ref(&seed), &["--delay", "0"]);
    let says = |status: &serde_json::Value| {
        status["paused"].as_str().is_some_and(|why| why.contains("storage.disk_reserve"))
    };
    wait_until(|| desk.status().is_some_and(|status| says(&status) && status["queued"].as_u64() >= Some(1)));
    crawl.signal("-INT");
    let stopped = crawl.wait();
    assert_eq!(stopped.code, 130, "{}", stopped.stderr);
    assert_eq!(desk.pages().len(), 0);
    desk.write("argiope.yaml", "storage:\n  disk_reserve: 0MB\n");
    desk.crawl(std::slice::from_ref(&seed), &["--delay", "0"]).ok();
    assert_eq!(desk.pages().len(), 1);
}
