//! What the user should know before a crawl starts.

use super::{LoadedConfig, ProcessSettings};
use crate::job::SeedList;
use argiope_model::JobSpec;

pub(super) fn notices(
    job: &JobSpec,
    list: Option<&SeedList>,
    config: &LoadedConfig,
    process: &ProcessSettings,
) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(path) = &config.path {
        notices.push(format!("configuration: {}", path.display()));
    }
    notices.extend(config.warnings());
    if !job.respect_robots {
        notices.push(String::from(
            "WARNING: robots.txt is IGNORED in this crawl. Do this only to sites of your own; others may block you.",
        ));
    }
    let unchecked: Vec<&str> = config
        .file
        .politeness
        .domain_overrides
        .iter()
        .filter(|(_, entry)| entry.insecure == Some(true))
        .map(|(domain, _)| domain.as_str())
        .collect();
    if job.insecure || !unchecked.is_empty() {
        let whose = if job.insecure { String::from("all hosts") } else { unchecked.join(", ") };
        notices.push(format!(
            "WARNING: certificates of {whose} are NOT CHECKED in this crawl: anyone on the network path can read and \
             change what is sent, including passwords and cookies. --ca-file trusts an authority of your own instead."
        ));
    }
    if job.proxy.is_none() {
        for (scheme, proxy) in process.proxies.places() {
            notices.push(format!("{scheme} requests use the proxy {proxy} of the environment"));
        }
    }
    if let Some(list) = list.filter(|list| list.unusable > 0) {
        notices.extend(list.problems.iter().map(|problem| format!("warning: {problem}; ignored")));
        let more = list.unusable.saturating_sub(list.problems.len() as u64);
        if more > 0 {
            let lines = argiope_model::display::counted(more, "more line", "more lines");
            notices.push(format!("warning: {}: {lines} skipped", list.name()));
        }
    }
    notices
}
