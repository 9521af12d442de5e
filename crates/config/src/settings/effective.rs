//! The effective configuration, with every default, for `config show`.

use super::{merge_job, politeness_of};
use crate::failure::Failure;
use crate::file::ConfigFile;
use crate::read::section_names;
use argiope_model::JobSpec;
use argiope_politeness::settings::{
    AdaptiveSettings, BreakerSettings, RetrySettings, RetryStepsSettings, RobotsSettings, Switch,
};
use argiope_politeness::{HumanDuration, PolitenessRules, PolitenessSettings, RetrySteps};
use serde_json::{Map, Value};

/// The sections in the order they are shown. The output can be read again with the same meaning.
pub fn effective(config: &ConfigFile) -> Result<Vec<(&'static str, Value)>, Failure> {
    let mut whole = config.clone();
    let job = merge_job(JobSpec::default(), &config.crawl.job).map_err(Failure::failed)?;
    whole.crawl.job = object(&job)?;
    // Keys of a single job.
    whole.crawl.job.retain(|key, _| !matches!(key.as_str(), "name" | "seeds" | "delay" | "login"));
    let concurrency = job.concurrency.unwrap_or(config.workers.concurrency);
    whole.crawl.job.insert(String::from("concurrency"), Value::from(concurrency));
    let agent = job.user_agent.as_deref().unwrap_or(argiope_fetch::default_user_agent());
    whole.crawl.job.insert(String::from("user_agent"), Value::from(agent));
    whole.storage.archive_file_size = Some(whole.storage.archive_file_size());
    whole.politeness = spelled_out(politeness_of(config)).map_err(Failure::usage_all)?;
    // Shown under politeness, where they take effect.
    whole.crawl.default_crawl_delay = None;
    whole.crawl.max_retries = None;
    let mut sections = object(&whole)?;
    Ok(section_names().filter_map(|name| sections.remove(name).map(|section| (name, section))).collect())
}

fn object(value: &impl serde::Serialize) -> Result<Map<String, Value>, Failure> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Failure::failed("cannot show the configuration")),
        Err(error) => Err(Failure::failed(format!("cannot show the configuration: {error}"))),
    }
}

/// With the defaults of everything that the file leaves out.
fn spelled_out(
    mut settings: PolitenessSettings,
) -> Result<PolitenessSettings, Vec<argiope_politeness::PolitenessError>> {
    let rules = PolitenessRules::compile(&settings)?;
    // No host has an empty name, so these are the rules without any domain overrides.
    let general = rules.for_host("");
    let duration = |duration| Some(HumanDuration(duration));
    let adaptive = general.adaptive();
    if adaptive.enabled {
        settings.adaptive = Switch::On(AdaptiveSettings {
            slow_above: duration(adaptive.slow_above),
            fast_below: duration(adaptive.fast_below),
            longest_delay: duration(adaptive.longest_delay),
        });
    }
    let breaker = general.breaker();
    if breaker.enabled {
        settings.breaker = Switch::On(BreakerSettings {
            failures: Some(breaker.failures),
            open_for: duration(breaker.open_for),
            successes: Some(breaker.successes),
            window: duration(breaker.window),
            error_share: Some(breaker.error_share),
            minimum_requests: Some(breaker.minimum_requests),
            suspend_for: duration(breaker.suspend_for),
        });
    }
    if matches!(settings.retries, Switch::On(_)) {
        let retries = general.retries();
        settings.retries = Switch::On(RetrySettings {
            busy: Some(steps(&retries.busy)),
            server_error: Some(steps(&retries.server_error)),
            no_answer: Some(steps(&retries.no_answer)),
            jitter: Some(retries.jitter),
            max_retries: Some(retries.max_retries),
        });
    }
    let robots = rules.robots();
    settings.robots = RobotsSettings {
        client_error: Some(robots.client_error),
        unreachable: Some(robots.unreachable),
        retry_after: Some(robots.retry_after.iter().copied().map(HumanDuration).collect()),
        unreachable_for: duration(robots.unreachable_for),
        max_redirects: Some(robots.max_redirects),
        timeout: duration(robots.timeout),
    };
    Ok(settings)
}

fn steps(steps: &RetrySteps) -> RetryStepsSettings {
    RetryStepsSettings {
        times: Some(steps.times),
        after: Some(HumanDuration(steps.first_after)),
        growth: Some(steps.growth),
    }
}
