//! Servers that go away in the middle of a crawl. Nothing is lost, nothing is stored twice, no host is asked too soon; what
//! is wrong is said; and when they are back, all goes on by itself.

use crate::site::{Site, assert_whole, lab};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Long enough for a crawl that is still there when the servers are back.
const DELAY: Duration = Duration::from_millis(400);

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// What `/health` says.
fn health(address: SocketAddr) -> Value {
    let Ok(mut stream) = TcpStream::connect(address) else { return Value::Null };
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    if stream.read_to_string(&mut text).is_err() {
        return Value::Null;
    }
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or(Value::Null)
}

/// Is this server there, as the worker sees it?
fn is_up(address: SocketAddr, server: &str) -> Option<bool> {
    health(address)["dependencies"][server]["up"].as_bool()
}

fn notes(site: &Site) -> Vec<String> {
    let workers = site.status()["workers"].as_array().unwrap().clone();
    workers.iter().filter_map(|worker| worker["note"].as_str().map(str::to_owned)).collect()
}

#[test]
fn redis_that_goes_away_and_is_wiped_slows_nothing_down_on_postgres() {
    let Some(site) = Site::with_own_redis("doorbell") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let address = free_address();
    let mut workers = [site.worker_with("one", &["--listen", &address.to_string()]), site.worker("two")];
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(40);
    site.wait_until("redis to be there", || is_up(address, "redis") == Some(true));
    assert_eq!(notes(&site), Vec::<String>::new());
    site.wait_until("live figures of both", || {
        let live = &site.status()["live"];
        ["one", "two"].iter().all(|name| live[name]["memory_bytes"].as_u64() > Some(0))
    });
    site.one_server("stop", "redis");
    site.wait_until("redis to be missed", || is_up(address, "redis") == Some(false));
    assert_eq!(is_up(address, "postgresql"), Some(true));
    site.wait_until("both workers to say so", || {
        notes(&site).iter().filter(|note| note.contains("redis")).count() == 2
    });
    assert_eq!(site.status()["live"], serde_json::json!({}));
    let before = site.job()["pages"].as_u64().unwrap();
    site.wait_for_pages(before + 40);
    site.one_server("start", "redis");
    site.wait_until("redis to be back", || is_up(address, "redis") == Some(true));
    site.wait_until("nobody to complain", || notes(&site).is_empty());
    site.one_server("wipe", "redis");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
}

#[test]
fn redis_and_the_database_away_at_once_are_waited_for_on_postgres() {
    let Some(site) = Site::with_own_redis("both") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let address = free_address();
    let mut workers = [site.worker_with("one", &["--listen", &address.to_string()]), site.worker("two")];
    site.submit(&lab, &["--delay", "400ms"]);
    site.wait_for_pages(80);
    site.one_server("kill", "redis");
    site.one_server("kill", "postgres");
    site.wait_until("both to be missed", || {
        is_up(address, "postgresql") == Some(false) && is_up(address, "redis") == Some(false)
    });
    let status = site.run(&["cluster", "status"]);
    assert_eq!(status.code, 1);
    assert!(status.stderr.contains("storage.metadata_db_url"), "{}", status.stderr);
    // Longer than a lease.
    std::thread::sleep(Duration::from_secs(18));
    let before = lab.request_count();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(lab.request_count(), before, "requests without a lease");
    site.one_server("start", "postgres");
    site.one_server("start", "redis");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
    site.wait_until("both to be back", || {
        is_up(address, "postgresql") == Some(true) && is_up(address, "redis") == Some(true)
    });
}
