//! Why a URL was, or was not, fetched: runs the functions that decide, in an explaining mode.

use crate::error::EngineError;
use crate::job::JobContext;
use argiope_frontier::codec::decode_visit;
use argiope_frontier::state::ShardState;
use argiope_frontier::{Frontier, QueueView, RobotsView};
use argiope_model::{Decision, FingerprintKey, Millis, Url};
use serde::{Deserialize, Serialize};

/// Entries that are searched for the due time of a URL, earliest first.
const RETRIES: usize = 10_000;

/// One step of the decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyStep {
    pub step: String,
    pub passed: bool,
    pub detail: String,
}

impl WhyStep {
    pub fn new(step: &str, passed: bool, detail: impl Into<String>) -> WhyStep {
        WhyStep { step: step.to_owned(), passed, detail: detail.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    pub url: String,
    pub decision: Decision,
    pub steps: Vec<WhyStep>,
}

/// The part that rules and frontier know. The caller puts the catalogue's part before it.
pub(crate) fn of_frontier(
    frontier: &Frontier,
    state: &dyn ShardState,
    job: &JobContext,
    url: &Url,
    key: &FingerprintKey,
    now: Millis,
) -> Result<Why, EngineError> {
    let rules = job.rules();
    let mut steps = Vec::new();
    let mut decision = None;
    let admitted = frontier.queue_view(job.id, url, key.of(url.normal(), 0)) == QueueView::Seen;
    // A URL that was admitted has passed, whatever depth is assumed for it now.
    if !admitted {
        for step in rules.explain(url, 0) {
            steps.push(WhyStep::new(step.name, step.passed, step.detail));
        }
        decision = rules.judge(url, 0).err().map(|skip| Decision::from(skip.reason));
    }
    if let Some(robots) = frontier.robots_view(url, &job.agent) {
        let (passed, detail, verdict) = robots_step(&robots);
        steps.push(WhyStep::new("robots", passed, detail));
        decision = decision.or(verdict);
    }
    let seen = if admitted { "admitted by this job" } else { "never seen by this job" };
    steps.push(WhyStep::new("seen", true, seen));
    if admitted {
        steps.extend(retry_step(frontier, state, job, url, now)?);
    }
    if let Some(host) = frontier.host_view(url.host()) {
        let detail = match host.due {
            Some((at, reason)) => {
                let wait = at.since(now).as_secs_f64();
                format!(
                    "{} is {}: {}, due in {wait:.1} s, shard {}",
                    host.name,
                    host.place,
                    reason.words(),
                    host.shard
                )
            }
            None => format!("{} is {}, shard {}", host.name, host.place, host.shard),
        };
        steps.push(WhyStep::new("schedule", true, detail));
    }
    let fallback = if admitted { Decision::Pending } else { Decision::Unknown };
    Ok(Why { url: url.as_str().to_owned(), decision: decision.unwrap_or(fallback), steps })
}

/// When a delayed URL is due.
fn retry_step(
    frontier: &Frontier,
    state: &dyn ShardState,
    job: &JobContext,
    url: &Url,
    now: Millis,
) -> Result<Option<WhyStep>, EngineError> {
    let waits = frontier.progress(job.id).is_some_and(|progress| progress.delayed > 0);
    let Some(place) = frontier.queue_at(job.id, url.host()).filter(|_| waits) else { return Ok(None) };
    let (delayed, _) = state.load_due(frontier.served(), Millis::NEVER, RETRIES)?;
    for delayed in delayed.into_iter().filter(|delayed| delayed.at == place) {
        let Ok(visit) =
            decode_visit(job.id, delayed.entry.order.rank.saturating_sub(1), &delayed.entry.value)
        else {
            continue;
        };
        if visit.scheduled_url() == url {
            let wait = delayed.due.since(now).as_secs_f64();
            let what = match visit.attempt {
                0 => String::from("it"),
                tried => format!("attempt {}", u32::from(tried) + 1),
            };
            let detail = format!("{what} is due at {}, in {wait:.1} s", delayed.due.rfc3339());
            return Ok(Some(WhyStep::new("retry", true, detail)));
        }
    }
    Ok(None)
}

fn robots_step(view: &RobotsView) -> (bool, String, Option<Decision>) {
    match view {
        RobotsView::Says { allowed, rule } => {
            let detail = match rule {
                Some((text, Some(line))) => format!("line {line}: {text}"),
                Some((text, None)) => text.clone(),
                None => String::from("no rule matches"),
            };
            (*allowed, detail, (!allowed).then_some(Decision::RobotsDisallowed))
        }
        RobotsView::Unreachable { until } => {
            let detail = format!(
                "robots.txt is unreachable; a running crawl requests it again at {}",
                until.rfc3339()
            );
            (false, detail, Some(Decision::RobotsUnreachable))
        }
    }
}
