//! What may differ between an unfinished job and the command that resumes it: limits, delay and concurrency. Any other
//! difference would make it another crawl.

use crate::failure::Failure;
use argiope_model::{JobSpec, Url};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// Keys of [`JobSpec`] that may change when a job is resumed.
const MAY_CHANGE: [&str; 20] = [
    "max_depth",
    "max_pages",
    "max_pages_per_domain",
    "max_links_per_page",
    "new_urls_per_source",
    "queue_cap",
    "delay",
    "per_host",
    "concurrency",
    "timeout",
    "max_redirects",
    "max_body",
    "traps",
    "follow_duplicates",
    "duplicate_limit",
    // How hosts are reached and how the job logs in does not change what is crawled.
    "cookie_jar",
    "cookies_file",
    "login",
    "proxy",
    "insecure",
];
/// Keys whose values are not shown.
const SECRET: [&str; 3] = ["basic_auth", "headers", "cookies"];

/// A key whose value has changed since the job was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub key: String,
    pub old: String,
    pub new: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if SECRET.contains(&self.key.as_str()) {
            return write!(f, "'{}' differs from what the job started with", self.key);
        }
        write!(f, "'{}' was {} when the job started and is {} now", self.key, self.old, self.new)
    }
}

/// Whether the unfinished job `old` may be resumed as `new`.
pub fn compare_for_resume(old: &JobSpec, new: &JobSpec) -> Result<(), Vec<Difference>> {
    let (old, new) = (fields(old), fields(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differences: Vec<Difference> = keys
        .into_iter()
        .filter(|key| !MAY_CHANGE.contains(&key.as_str()))
        .filter_map(|key| {
            let (was, is) = (old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null));
            (was != is).then(|| Difference { key: key.clone(), old: shown(was), new: shown(is) })
        })
        .collect();
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// A stored job, as far as settings depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJob {
    /// What it was started with.
    pub spec: JobSpec,
    pub is_finished: bool,
    /// Whether it ended because `max_pages` was reached.
    pub reached_max_pages: bool,
}

impl StoredJob {
    /// Whether the job continues with the settings `spec`: it is unfinished, or it ended at its page limit and the limit
    /// is higher now.
    pub fn continues_with(&self, spec: &JobSpec) -> bool {
        let limit_is_higher =
            || self.spec.max_pages.is_some_and(|old| spec.max_pages.is_none_or(|new| new > old));
        !self.is_finished || self.reached_max_pages && limit_is_higher()
    }
}

/// The error of a resume with other settings than the job has.
pub fn cannot_resume(job: &str, is_finished: bool, differences: &[Difference]) -> Failure {
    let state = if is_finished { "can continue beyond its page limit" } else { "is unfinished" };
    let messages = differences.iter().map(|difference| format!("job {job} {state} and {difference}"));
    Failure::usage_all(messages)
        .hint("repeat the command that started it to resume, or add --fresh to start over")
}

/// The specification as a map, so that new keys are compared without being listed here. Seeds are compared as a set.
fn fields(spec: &JobSpec) -> Map<String, Value> {
    let mut spec = spec.clone();
    // Another spelling of a seed is the same seed.
    let rules = spec.normal_form.compile();
    for seed in &mut spec.seeds {
        if let Ok(url) = Url::parse(seed, &rules) {
            *seed = url.normal().to_owned();
        }
    }
    spec.seeds.sort_unstable();
    spec.seeds.dedup();
    // The content of the cookie file may change, like its name.
    spec.cookies_text = None;
    match serde_json::to_value(&spec) {
        Ok(Value::Object(fields)) => fields,
        // A specification is plain data; one that cannot be serialized equals nothing.
        Ok(other) => Map::from_iter([(String::from("specification"), other)]),
        Err(error) => Map::from_iter([(String::from("specification"), Value::from(error.to_string()))]),
    }
}

fn shown(value: &Value) -> String {
    argiope_model::display::fit(&value.to_string(), 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::Scope;
    use std::time::Duration;

    #[test]
    fn limits_delay_and_concurrency_may_change() {
        let old = JobSpec::default();
        let new = JobSpec {
            max_depth: Some(99),
            max_pages: Some(5),
            delay: Some(Duration::from_secs(9)),
            concurrency: Some(3),
            per_host: Some(2),
            timeout: Duration::from_secs(1),
            ..JobSpec::default()
        };
        assert_eq!(compare_for_resume(&old, &new), Ok(()));
    }

    #[test]
    fn other_differences_are_named_with_both_values() {
        let old = JobSpec { seeds: vec!["https://a.test/".into()], ..JobSpec::default() };
        let new = JobSpec {
            seeds: vec!["https://b.test/".into()],
            scope: Scope::Any,
            archive: false,
            ..old.clone()
        };
        let shown: Vec<String> =
            compare_for_resume(&old, &new).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "'archive' was true when the job started and is false now",
                "'scope' was \"host\" when the job started and is \"any\" now",
                "'seeds' was [\"https://a.test/\"] when the job started and is [\"https://b.test/\"] now",
            ]
        );
    }

    #[test]
    fn the_refusal_names_the_way_to_start_anew() {
        let new = JobSpec { archive: false, ..JobSpec::default() };
        let failure =
            cannot_resume("nightly", false, &compare_for_resume(&JobSpec::default(), &new).unwrap_err());
        assert_eq!(
            failure.messages,
            ["job nightly is unfinished and 'archive' was true when the job started and is false now"]
        );
        assert!(failure.hint.unwrap().contains("--fresh"));
    }

    #[test]
    fn the_order_of_seeds_is_no_difference() {
        let old = JobSpec { seeds: vec!["b".into(), "a".into()], ..JobSpec::default() };
        let new = JobSpec { seeds: vec!["a".into(), "b".into(), "a".into()], ..JobSpec::default() };
        assert_eq!(compare_for_resume(&old, &new), Ok(()));
    }

    #[test]
    fn every_changeable_key_is_a_key_of_the_specification() {
        let fields = fields(&JobSpec::default());
        for key in MAY_CHANGE {
            assert!(fields.contains_key(key), "{key}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let mut new = JobSpec::default();
        new.headers.insert("Authorization".into(), "Bearer hunter2".into());
        let differences = compare_for_resume(&JobSpec::default(), &new).unwrap_err();
        assert!(!differences[0].to_string().contains("hunter2"));
    }
}
