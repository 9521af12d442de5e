//! Crawls of a cluster that are run again after a server was mended.

use crate::site::Site;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const QUICK: &str = "politeness:\n  retries: false\n  breaker: false\n  robots:\n    retry_after: [100ms]\n";

/// A server that is broken at first: its robots.txt, or one page of it.
struct Server {
    front: String,
    broken: Arc<AtomicBool>,
    asked_robots: Arc<AtomicUsize>,
}

impl Server {
    fn new(breaks: &'static str) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let front = format!("http://{}/", listener.local_addr().unwrap());
        let server = Server { front, broken: Arc::new(AtomicBool::new(true)), asked_robots: Arc::default() };
        let (broken, asked) = (Arc::clone(&server.broken), Arc::clone(&server.asked_robots));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let path = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_owned();
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                asked.fetch_add(usize::from(path == "/robots.txt"), Ordering::SeqCst);
                let (status, body) = match &*path {
                    path if path == breaks && broken.load(Ordering::SeqCst) => ("503 Unavailable", ""),
                    "/" => ("200 OK", "<a href=/a>a</a>"),
                    "/a" => ("200 OK", "a"),
                    _ => ("404 Not Found", ""),
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                     Connection: close\r\n\r\n{body}"
                );
            }
        });
        server
    }
}

fn configure(site: &Site) {
    let text = std::fs::read_to_string(site.path("cluster.yaml")).unwrap();
    site.write("cluster.yaml", &format!("{text}{QUICK}"));
    site.run(&["cluster", "init"]).ok();
}

fn statuses(site: &Site) -> Vec<(String, u64)> {
    let of = |page: &serde_json::Value| {
        (page["url"].as_str().unwrap().to_owned(), page["status"].as_u64().unwrap_or(0))
    };
    let mut all: Vec<_> = site.pages().iter().map(of).collect();
    all.sort();
    all
}

#[test]
fn a_job_that_was_blocked_asks_again_for_robots_txt_when_it_is_handed_in_again_on_postgres() {
    let Some(site) = Site::new("rerun") else { return };
    configure(&site);
    let server = Server::new("/robots.txt");
    let _worker = site.worker("one");
    let first = site.run(&["crawl", &server.front]);
    assert_eq!(first.code, 1, "{}{}", first.stdout, first.stderr);
    assert!(first.stderr.contains("no page was stored"), "{}", first.stderr);
    assert!(first.stderr.contains("robots.txt is unreachable"), "{}", first.stderr);
    assert!(!first.stdout.contains("completed"), "{}", first.stdout);
    let asked = server.asked_robots.load(Ordering::SeqCst);
    server.broken.store(false, Ordering::SeqCst);
    site.run(&["crawl", &server.front]).ok();
    assert!(server.asked_robots.load(Ordering::SeqCst) > asked);
    let a = format!("{}a", server.front);
    assert_eq!(statuses(&site), [(server.front.clone(), 200), (a, 200)]);
}

#[test]
fn a_job_without_a_single_page_has_failed_on_postgres() {
    let Some(site) = Site::new("empty") else { return };
    configure(&site);
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _worker = site.worker("one");
    let run = site.run(&["crawl", &format!("http://{closed}/"), "--ignore-robots"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("no page was stored"), "{}", run.stderr);
    assert_eq!(states(&site), ["failed"]);
    let server = Server::new("/nothing");
    site.run(&["crawl", &server.front]).ok();
    assert_eq!(states(&site), ["completed", "failed"]);
}

fn states(site: &Site) -> Vec<String> {
    let of = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].to_string();
    let mut all: Vec<String> = site.run(&["jobs", "--json"]).ok().stdout.lines().map(of).collect();
    all.iter_mut().for_each(|state| state.retain(|c| c != '"'));
    all.sort();
    all
}

#[test]
fn failures_are_retried_by_the_workers_on_postgres() {
    let Some(site) = Site::new("retry") else { return };
    configure(&site);
    let server = Server::new("/a");
    let _worker = site.worker("one");
    site.run(&["crawl", &server.front]).ok();
    let a = format!("{}a", server.front);
    assert_eq!(statuses(&site), [(server.front.clone(), 200), (a.clone(), 503)]);
    server.broken.store(false, Ordering::SeqCst);
    let told = site.run(&["retry"]).ok().stdout;
    assert!(told.contains("1 URL of job 1 is queued again"), "{told}");
    site.wait_until("the page", || statuses(&site).contains(&(a.clone(), 200)));
    site.wait_for_end();
    assert_eq!(statuses(&site), [(server.front.clone(), 200), (a.clone(), 200)]);
    let status = site.run(&["status", "--json"]).ok().json();
    assert_eq!((&status["pages"], &status["failed"]), (&2.into(), &0.into()), "{status}");
    // The same with crawl, on a job that has ended.
    server.broken.store(true, Ordering::SeqCst);
    site.run(&["crawl", &server.front, "--retry-failed", "-o", "out.jsonl"]).ok();
    assert_eq!(std::fs::read_to_string(site.path("out.jsonl")).unwrap().lines().count(), 2);
}
