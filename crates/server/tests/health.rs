//! The health endpoints on a port: what they answer, and what clients that misbehave can do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

use argiope_engine::{Distribution, DomainFigures, RetryReason, Status};
use argiope_model::SkipReason;
use argiope_server::HealthServer;
use argiope_service::health::{Dependency, Lifecycle, Vitals, WorkerVitals};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer than anything takes here; a test that waits for it fails.
const LIMIT: Duration = Duration::from_secs(60);
/// More than are served at once.
const MANY_CONNECTIONS: usize = 84;

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn vitals(lifecycle: Lifecycle, redis_up: bool) -> Vitals {
    let detail = (!redis_up).then(|| String::from("connection refused"));
    Vitals {
        lifecycle,
        dependencies: vec![
            Dependency { name: "postgresql", up: true, detail: None },
            Dependency { name: "redis", up: redis_up, detail },
        ],
        status: status(),
        worker: Some(WorkerVitals { shards_owned: 16, workers_desired: 12, uploads: None }),
    }
}

fn status() -> Status {
    let mut status = Status {
        domains: vec![
            DomainFigures {
                domain: Some(String::from("example.com")),
                failed: 1,
                ..DomainFigures::default()
            },
            DomainFigures { success: 5, ..DomainFigures::default() },
        ],
        ..Status::default()
    };
    status.totals.bytes = 123_456;
    status.totals.timeouts = 4;
    status.totals.statuses.insert(200, 7);
    status.totals.retries.insert(RetryReason::Timeout, 4);
    status.totals.skipped.insert(SkipReason::RobotsDisallowed, 2);
    status.requests.in_flight = 50;
    status.rates.failed_share = 0.125;
    status.latency.commit = Distribution { bounds_ms: vec![1, 5], counts: vec![0, 1, 0], sum_us: 3000 };
    status
}

fn member() -> HealthServer {
    HealthServer::start(loopback(), Arc::new(|| vitals(Lifecycle::Member, true))).expect("a free port")
}

fn connect(server: &HealthServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a timeout");
    stream
}

/// (status, head, body) of the response.
fn exchange(server: &HealthServer, request: &[u8]) -> (u16, String, String) {
    let mut stream = connect(server);
    stream.write_all(request).expect("it reads");
    response_on(&mut stream)
}

fn response_on(stream: &mut TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it responds and closes");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

fn get(server: &HealthServer, path: &str) -> (u16, String) {
    let (status, _, body) = exchange(server, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    (status, body)
}

#[test]
fn a_worker_is_healthy_from_its_start_and_ready_while_it_is_a_member() {
    let lifecycle = Arc::new(Mutex::new(Lifecycle::Joining));
    let seen = Arc::clone(&lifecycle);
    let server =
        HealthServer::start(loopback(), Arc::new(move || vitals(*seen.lock().unwrap(), true))).unwrap();
    for (now, status) in [(Lifecycle::Joining, 503), (Lifecycle::Member, 200), (Lifecycle::Draining, 503)] {
        *lifecycle.lock().unwrap() = now;
        let (ready, body) = get(&server, "/ready");
        assert_eq!(ready, status, "{body}");
        assert!(body.contains(now.as_str()), "{body}");
        assert_eq!(get(&server, "/health").0, 200);
    }
}

#[test]
fn an_unavailable_server_is_reported_and_no_reason_to_restart() {
    let server = HealthServer::start(loopback(), Arc::new(|| vitals(Lifecycle::Member, false))).unwrap();
    let (status, body) = get(&server, "/health");
    assert_eq!(status, 200);
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let expected = serde_json::json!({
        "status": "degraded",
        "state": "member",
        "dependencies": {
            "postgresql": {"up": true, "detail": null},
            "redis": {"up": false, "detail": "connection refused"},
        },
    });
    assert_eq!(body, expected);
    assert_eq!(get(&server, "/ready").0, 200);
    assert!(get(&server, "/metrics").1.contains("\nargiope_dependency_up{name=\"redis\"} 0\n"));
}

#[test]
fn metrics_have_their_names_kinds_and_values() {
    let (status, head, text) = exchange(&member(), b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    for line in [
        "# TYPE crawler_urls_processed counter",
        "crawler_urls_processed_total{domain=\"example.com\",status=\"failed\"} 1",
        "crawler_urls_processed_total{domain=\"other\",status=\"success\"} 5",
        "# TYPE crawler_urls_queued gauge",
        "crawler_urls_queued 0",
        "crawler_http_response_total{status_code=\"200\"} 7",
        "crawler_robots_blocked_total 2",
        "crawler_retries_total{reason=\"timeout\"} 4",
        "crawler_fetch_timeout_total 4",
        "crawler_bytes_total 123456",
        "crawler_worker_active_fetches 50",
        "crawler_worker_error_rate 0.125",
        "# TYPE crawler_crawl_duration_seconds histogram",
        "# TYPE crawler_db_write_duration_seconds histogram",
        "crawler_db_write_duration_seconds_bucket{le=\"0.001\"} 0",
        "crawler_db_write_duration_seconds_bucket{le=\"0.005\"} 1",
        "crawler_db_write_duration_seconds_bucket{le=\"+Inf\"} 1",
        "crawler_db_write_duration_seconds_sum 0.003",
        "argiope_shards_owned 16",
        "# TYPE argiope_workers_desired gauge",
        "argiope_workers_desired 12",
        "argiope_dependency_up{name=\"postgresql\"} 1",
        "# EOF",
    ] {
        assert!(text.lines().any(|it| it == line), "no line '{line}' in\n{text}");
    }
    assert!(!text.contains("argiope_archive"), "there is no object store: {text}");
}

#[test]
fn requests_it_does_not_take_get_their_status() {
    let server = member();
    assert_eq!(get(&server, "/").0, 404);
    assert_eq!(get(&server, "/health/").0, 404);
    assert_eq!(get(&server, "/health?verbose").0, 200);
    assert_eq!(exchange(&server, b"hello\r\n\r\n").0, 400);
    let (status, head, body) = exchange(&server, b"DELETE /health HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((status, head.contains("allow: GET,HEAD")), (405, true), "{head}");
    assert!(body.contains(r#""error":"#) && body.contains(r#""detail":"#), "{body}");
    let (status, _, body) = exchange(&server, b"HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((status, body.as_str()), (200, ""));
}

#[test]
fn an_unexpected_request_body_does_not_cut_the_response_off() {
    let mut request = b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n".to_vec();
    request.resize(request.len() + 4000, b'x');
    assert_eq!(exchange(&member(), &request).0, 405);
}

#[test]
fn a_request_in_pieces_is_answered() {
    let server = member();
    let mut stream = connect(&server);
    stream.set_nodelay(true).expect("no delay");
    for byte in b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n" {
        stream.write_all(&[*byte]).expect("it reads");
    }
    assert_eq!(response_on(&mut stream).0, 200);
}

#[test]
fn clients_that_keep_connections_open_do_not_keep_a_probe_waiting() {
    let server = member();
    let mut idle: Vec<TcpStream> = (0..MANY_CONNECTIONS).map(|_| connect(&server)).collect();
    assert_eq!(get(&server, "/health").0, 200);
    let mut byte = [0];
    for stream in idle.iter_mut().take(20) {
        assert!(!matches!(stream.read(&mut byte), Ok(1..)), "a response without a request");
    }
}

#[test]
fn a_server_that_is_dropped_no_longer_listens() {
    let server = member();
    let address = server.address();
    let _open = connect(&server);
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let server = member();
    let second = HealthServer::start(server.address(), Arc::new(|| vitals(Lifecycle::Member, true)));
    assert_eq!(second.err().map(|error| error.kind()), Some(std::io::ErrorKind::AddrInUse));
}
