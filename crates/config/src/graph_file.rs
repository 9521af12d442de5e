//! The graph's `config.json` with types: what the file says over the defaults.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Hosts that nearly every page links to, and that say nothing about how sites are related.
const EXCLUDED: [&str; 8] = [
    r"(^|\.)facebook\.com$",
    r"(^|\.)twitter\.com$",
    r"(^|\.)instagram\.com$",
    r"(^|\.)linkedin\.com$",
    r"(^|\.)google-analytics\.com$",
    r"(^|\.)doubleclick\.net$",
    r"(^|\.)ads\.",
    r"(^|\.)analytics\.",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphFile {
    /// May come from the command line instead.
    pub seed_url: Option<String>,
    pub max_depth: u32,
    pub max_crawls_per_node: u32,
    pub max_subdomains_per_root: u32,
    pub max_outbound_links: u32,
    pub concurrent_workers: u32,
    pub request_timeout_ms: u64,
    pub retry_attempts: u8,
    pub retry_delay_ms: u64,
    pub db_path: PathBuf,
    pub metrics_path: PathBuf,
    pub allow_private: bool,
    pub user_agent: Option<String>,
    pub respect_robots: bool,
    /// Regular expressions on host names.
    pub exclude_domains: Vec<String>,
}

impl Default for GraphFile {
    fn default() -> GraphFile {
        GraphFile {
            seed_url: None,
            max_depth: 5,
            max_crawls_per_node: 3,
            max_subdomains_per_root: 3,
            max_outbound_links: 10,
            concurrent_workers: 3,
            request_timeout_ms: 5000,
            retry_attempts: 3,
            retry_delay_ms: 5000,
            db_path: PathBuf::from("crawler.db"),
            metrics_path: PathBuf::from("metrics.log"),
            allow_private: false,
            user_agent: None,
            respect_robots: true,
            exclude_domains: EXCLUDED.iter().map(|pattern| (*pattern).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use regex::RegexSet;
    use serde_json::Value;

    #[test]
    fn the_table_knows_every_key_and_no_other() {
        let Value::Object(typed) = serde_json::to_value(GraphFile::default()).unwrap() else { panic!() };
        let mut typed: Vec<&str> = typed.keys().map(String::as_str).collect();
        let mut known: Vec<&str> = keys::GRAPH.iter().map(|key| key.name).collect();
        typed.sort_unstable();
        known.sort_unstable();
        assert_eq!(typed, known);
    }

    #[test]
    fn the_usual_exclusions_take_domains_with_their_hosts_and_no_namesakes() {
        let patterns = RegexSet::new(GraphFile::default().exclude_domains).unwrap();
        for host in ["facebook.com", "de-de.facebook.com", "ads.example.com", "x.analytics.example.com"] {
            assert!(patterns.is_match(host), "{host}");
        }
        for host in
            ["notfacebook.com", "facebook.com.example", "roads.example.com", "uploads.com", "ads.com.x"]
        {
            let expected = host == "ads.com.x";
            assert_eq!(patterns.is_match(host), expected, "{host}");
        }
    }
}
