//! What `/metrics` of a process that crawls has, and the sites whose crawl feeds all of it. For a crawl on one machine and for
//! a worker of a cluster.

use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Whatever is waited for comes within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a crawl of [`lab`] counts for sure.
pub(crate) const COUNTED: [&str; 25] = [
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
    "argiope_cpu_percent",
    "argiope_dependency_up",
    "argiope_hosts_active",
    "argiope_hosts_waiting",
    "crawler_urls_queued",
    "crawler_worker_active_fetches",
    "crawler_worker_error_rate",
    "crawler_pages_per_second",
];

/// All families that a process on one machine has. A worker has them too.
pub(crate) const FAMILIES: [&str; 19] = [
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

/// For a delay and a timeout long enough that every gauge is seen above 0.
pub(crate) const DELAY: Duration = Duration::from_millis(200);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);

/// Sites of which some fail, some refuse and some do not respond.
pub(crate) fn lab() -> Lab {
    Lab::start_on_thread(LabConfig {
        hosts: 4,
        pages: 40,
        kinds: vec![SiteKind::Ordinary, SiteKind::Errors, SiteKind::Transport, SiteKind::RobotsPaths],
        page_size: PageSize::Small,
        ..LabConfig::plain()
    })
    .unwrap()
}

/// Waits until each of these samples has been above 0: a gauge has its figure at some moment, a counter from then on.
/// Returns the last text.
pub(crate) fn wait_until_fed(samples: &[&str], metrics: impl Fn() -> String) -> String {
    let deadline = Instant::now() + PATIENCE;
    let mut missing: BTreeSet<&str> = samples.iter().copied().collect();
    loop {
        let text = metrics();
        missing.retain(|sample| sum(&text, sample) <= 0.0);
        if missing.is_empty() {
            return text;
        }
        assert!(Instant::now() < deadline, "never more than 0: {missing:?}\n{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The sum of the samples that begin so.
fn sum(text: &str, sample: &str) -> f64 {
    let values =
        text.lines().filter(|line| line.starts_with(sample)).filter_map(|line| line.rsplit_once(' '));
    values.filter_map(|(_, value)| value.trim().parse::<f64>().ok()).sum()
}

pub(crate) fn families_of(text: &str) -> BTreeSet<&str> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).collect()
}
