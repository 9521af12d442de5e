use super::domains::{DomainCounts, Status};
use super::histogram::{Histogram, WRITES};
use super::listener::MOST_CONNECTIONS;
use super::*;
use argiope_cluster::objects::UploadStatus;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

/// Longer than anything takes here; a test that waits for it fails.
const LIMIT: Duration = Duration::from_secs(60);

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn vitals(state: State, redis_up: bool) -> Vitals {
    let detail = (!redis_up).then(|| String::from("connection refused"));
    Vitals {
        state,
        dependencies: vec![
            Dependency { name: "postgres", up: true, detail: None },
            Dependency { name: "redis", up: redis_up, detail },
        ],
        figures: figures(),
    }
}

fn figures() -> Figures {
    let mut domains = DomainCounts::new(20);
    domains.count("example.com", Status::Success);
    domains.reading();
    domains.count("example.com", Status::Failed);
    let writes = Histogram::new(&WRITES);
    writes.observe(Duration::from_millis(3));
    Figures {
        processed: domains.reading(),
        responses: vec![(String::from("2xx"), 7)],
        robots_blocked: 2,
        retries: vec![(String::from("timeout"), 4)],
        timeouts: 4,
        bytes: 123_456,
        active_fetches: 50,
        queued: 1_000_000,
        error_rate: Some(0.125),
        crawl_duration: Some(writes.reading()),
        database_write_duration: Some(writes.reading()),
        object_write_duration: Some(writes.reading()),
        shards_owned: 16,
        workers_desired: Some(12),
        uploads: Some(UploadStatus { waiting_files: 3, uploaded_bytes: 99, ..UploadStatus::default() }),
    }
}

fn member() -> HealthServer {
    HealthServer::start(loopback(), || vitals(State::Member, true)).expect("a free port")
}

fn connect(server: &HealthServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a timeout");
    stream
}

/// (status, head, body) of what comes back.
fn exchange(server: &HealthServer, request: &[u8]) -> (u16, String, String) {
    let mut stream = connect(server);
    stream.write_all(request).expect("it reads");
    answer_on(&mut stream)
}

fn answer_on(stream: &mut TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers and closes");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

fn get(server: &HealthServer, path: &str) -> (u16, String) {
    let (status, head, body) = exchange(server, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    (status, body)
}

#[test]
fn a_worker_is_healthy_from_its_start_and_ready_while_it_is_a_member() {
    let state = Arc::new(Mutex::new(State::Joining));
    let seen = Arc::clone(&state);
    let server = HealthServer::start(loopback(), move || vitals(*seen.lock().expect("no panic"), true))
        .expect("a port");
    for (now, status) in [(State::Joining, 503), (State::Member, 200), (State::Draining, 503)] {
        *state.lock().expect("no panic") = now;
        let (ready, body) = get(&server, "/ready");
        assert_eq!(ready, status, "{body}");
        assert!(body.contains(now.word()), "{body}");
        assert_eq!(get(&server, "/health").0, 200);
    }
}

#[test]
fn a_server_that_is_away_is_told_and_is_no_reason_to_restart() {
    let server = HealthServer::start(loopback(), || vitals(State::Member, false)).expect("a port");
    let (status, body) = get(&server, "/health");
    assert_eq!(status, 200);
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let expected = json!({
        "status": "degraded",
        "state": "member",
        "dependencies": {
            "postgres": {"up": true, "detail": null},
            "redis": {"up": false, "detail": "connection refused"},
        },
    });
    assert_eq!(body, expected);
    assert_eq!(get(&server, "/ready").0, 200);
    assert!(get(&server, "/metrics").1.contains("\nargiope_dependency_up{name=\"redis\"} 0\n"));
}

#[test]
fn metrics_have_their_names_kinds_and_values() {
    let (status, text) = get(&member(), "/metrics");
    assert_eq!(status, 200);
    for line in [
        "# TYPE crawler_urls_processed_total counter",
        "crawler_urls_processed_total{domain=\"example.com\",status=\"failed\"} 1",
        "crawler_urls_processed_total{domain=\"other\",status=\"success\"} 1",
        "# TYPE crawler_urls_queued_total gauge",
        "crawler_urls_queued_total 1000000",
        "crawler_http_response_total{status_code=\"2xx\"} 7",
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
        "crawler_s3_write_duration_seconds_count 1",
        "argiope_shards_owned 16",
        "# TYPE argiope_workers_desired gauge",
        "argiope_workers_desired 12",
        "argiope_archive_files_waiting 3",
        "# TYPE argiope_archive_bytes_uploaded_total counter",
        "argiope_archive_bytes_uploaded_total 99",
        "argiope_dependency_up{name=\"postgres\"} 1",
    ] {
        assert!(text.lines().any(|it| it == line), "no line '{line}' in\n{text}");
    }
}

#[test]
fn what_is_not_known_is_not_shown() {
    let text = Figures::default().exposed([]);
    for name in ["workers_desired", "error_rate", "duration", "dependency", "processed", "retries", "archive"]
    {
        assert!(!text.contains(name), "{text}");
    }
    assert!(text.contains("\nargiope_shards_owned 0\n"));
}

#[test]
fn requests_it_does_not_take_get_their_status() {
    let server = member();
    assert_eq!(get(&server, "/").0, 404);
    assert_eq!(get(&server, "/health/").0, 404);
    assert_eq!(get(&server, "/health?verbose").0, 200);
    assert_eq!(exchange(&server, b"hello\r\n\r\n").0, 400);
    assert_eq!(exchange(&server, b"\x16\x03\x01\x02\n\n").0, 400);
    let (status, head, body) = exchange(&server, b"DELETE /health HTTP/1.1\r\n\r\n");
    assert_eq!((status, head.contains("\r\nAllow: GET, HEAD\r\n")), (405, true), "{head}");
    assert!(body.starts_with(r#"{"detail":"#) && body.contains(r#""error":"method not allowed""#), "{body}");
    let (status, head, body) = exchange(&server, b"HEAD /health HTTP/1.1\r\n\r\n");
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(!head.contains("Content-Length: 0"), "{head}");
}

#[test]
fn a_head_without_end_is_refused() {
    let mut head = b"GET /health HTTP/1.1\r\n".to_vec();
    head.resize(head.len() + (16 << 10), b'x');
    assert_eq!(exchange(&member(), &head).0, 431);
}

#[test]
fn a_body_nobody_asked_for_does_not_cut_the_answer_off() {
    let mut request = b"POST /metrics HTTP/1.1\r\nContent-Length: 40000\r\n\r\n".to_vec();
    request.resize(request.len() + 40_000, b'x');
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
    assert_eq!(answer_on(&mut stream).0, 200);
}

#[test]
fn those_who_keep_connections_open_do_not_keep_a_probe_waiting() {
    let server = member();
    let mut idle: Vec<TcpStream> = (0..MOST_CONNECTIONS + 20).map(|_| connect(&server)).collect();
    assert_eq!(get(&server, "/health").0, 200);
    let mut byte = [0];
    for stream in idle.iter_mut().take(20) {
        assert!(!matches!(stream.read(&mut byte), Ok(1..)), "an answer without a question");
    }
}

#[test]
fn what_is_dropped_listens_no_more() {
    let server = member();
    let address = server.address();
    let _open = connect(&server);
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let server = member();
    let second = HealthServer::start(server.address(), || vitals(State::Member, true));
    assert_eq!(second.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
}
