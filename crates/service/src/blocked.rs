//! Describes why the remaining URLs of a job are blocked.

use argiope_engine::BlockedBy;
use argiope_model::display::counted;

/// "1 URL waits ...", "2 URLs wait ..."
fn words(by: BlockedBy, urls: u64) -> &'static str {
    match (by, urls) {
        (BlockedBy::RetryAfter, 1) => ", its host asked for a pause (Retry-After)",
        (BlockedBy::RetryAfter, _) => ", their hosts asked for a pause (Retry-After)",
        (BlockedBy::RobotsUnreachable, 1) => ", its robots.txt is unreachable",
        (BlockedBy::RobotsUnreachable, _) => ", their robots.txt is unreachable",
        (BlockedBy::Retry, 1) => " for its retry",
        (BlockedBy::Retry, _) => " for their retries",
    }
}

/// "1 URL waits for its retry; 2 URLs wait, their robots.txt is unreachable"
pub fn waiting_urls(groups: &[(BlockedBy, u64)]) -> String {
    let mut groups = groups.to_vec();
    groups.sort();
    let texts: Vec<String> = groups
        .iter()
        .filter(|(_, urls)| *urls > 0)
        .map(|(by, urls)| format!("{}{}", counted(*urls, "URL waits", "URLs wait"), words(*by, *urls)))
        .collect();
    match groups.first() {
        // Sitemaps are not counted as URLs.
        Some((by, _)) if texts.is_empty() => format!("a sitemap waits{}", words(*by, 1)),
        _ => texts.join("; "),
    }
}
