//! `/metrics` of a process that crawls: every family has figures of the crawl.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

use argiope_config::{CrawlOptions, CrawlSettings, GlobalOptions};
use argiope_engine::Stop;
use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};
use argiope_server::SocketServer;
use argiope_service::directory::socket_path;
use argiope_service::local_crawl::LocalCrawl;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

fn metrics(data: &Path) -> String {
    let mut stream = UnixStream::connect(socket_path(data)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The sum of the samples that begin so.
fn sum(text: &str, sample: &str) -> f64 {
    let values =
        text.lines().filter(|line| line.starts_with(sample)).filter_map(|line| line.rsplit_once(' '));
    values.filter_map(|(_, value)| value.trim().parse::<f64>().ok()).sum()
}

/// What a crawl of these sites counts for sure.
const COUNTED: [&str; 19] = [
    "crawler_urls_processed_total{domain=\"",
    "crawler_requests_total",
    "crawler_http_response_total{status_code=\"200\"}",
    "crawler_http_response_total{status_code=\"404\"}",
    "crawler_robots_blocked_total",
    "crawler_retries_total{reason=\"timeout\"}",
    "crawler_retries_total{reason=\"status\"}",
    "crawler_fetch_timeout_total",
    "crawler_bytes_total",
    "crawler_crawl_duration_seconds_count",
    "crawler_crawl_duration_seconds_sum",
    "crawler_db_write_duration_seconds_count",
    "crawler_db_write_duration_seconds_sum",
    "crawler_fetch_phase_seconds_count{phase=\"connect\"}",
    "crawler_fetch_phase_seconds_count{phase=\"first_byte\"}",
    "crawler_fetch_phase_seconds_count{phase=\"download\"}",
    "argiope_memory_bytes",
    "argiope_hosts_waiting",
    "crawler_urls_queued",
];

/// All families that a process on one machine has.
const FAMILIES: [&str; 19] = [
    "argiope_cpu_percent",
    "argiope_dependency_up",
    "argiope_hosts_active",
    "argiope_hosts_waiting",
    "argiope_memory_bytes",
    "crawler_bytes",
    "crawler_crawl_duration_seconds",
    "crawler_db_write_duration_seconds",
    "crawler_fetch_phase_seconds",
    "crawler_fetch_timeout",
    "crawler_http_response",
    "crawler_pages_per_second",
    "crawler_requests",
    "crawler_retries",
    "crawler_robots_blocked",
    "crawler_urls_processed",
    "crawler_urls_queued",
    "crawler_worker_active_fetches",
    "crawler_worker_error_rate",
];

#[test]
fn a_crawl_feeds_every_family() {
    let lab = Lab::start_on_thread(LabConfig {
        hosts: 4,
        pages: 40,
        kinds: vec![SiteKind::Ordinary, SiteKind::Errors, SiteKind::Transport, SiteKind::RobotsPaths],
        page_size: PageSize::Small,
        ..LabConfig::plain()
    })
    .unwrap();
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let global = GlobalOptions { data: data.clone(), data_given: true, ..GlobalOptions::default() };
    let options = CrawlOptions {
        seeds: lab.seeds(),
        delay: Some(Duration::from_millis(200)),
        timeout: Some(Duration::from_secs(1)),
        allow_private: true,
        ..CrawlOptions::default()
    };
    let settings = CrawlSettings::without_files(&global, &options).unwrap();
    let crawl = LocalCrawl::start(vec![settings], &|_| ()).unwrap();
    let server = SocketServer::start(&data, crawl.control(), Arc::new(crawl.vitals())).unwrap();

    // A gauge has its figure at some moment, a counter from then on.
    let deadline = Instant::now() + PATIENCE;
    let mut missing: BTreeSet<&str> =
        COUNTED.into_iter().chain(["crawler_worker_active_fetches", "crawler_pages_per_second"]).collect();
    let mut text = String::new();
    while !missing.is_empty() {
        assert!(Instant::now() < deadline, "never more than 0: {missing:?}\n{text}");
        text = metrics(&data);
        missing.retain(|sample| sum(&text, sample) <= 0.0);
        std::thread::sleep(Duration::from_millis(50));
    }
    let families: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(families, BTreeSet::from(FAMILIES), "a family that is new needs a line above");
    drop(server);
    crawl.engine.handle().stop(Stop::Now);
    let _ = crawl.conclude();
}
