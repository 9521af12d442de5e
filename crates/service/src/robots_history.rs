//! What a stored version of a robots.txt meant for a job: for the audit, and for `why` where the frontier has forgotten it.

use argiope_config::{Failure, profile_of};
use argiope_fetch::RequestProfile;
use argiope_model::{JobId, JobSpec, Millis};
use argiope_politeness::robots::product_token;
use argiope_politeness::{PolitenessRules, Robots, RobotsAnswer, RobotsNext, RobotsUse};
use argiope_store::catalogue::RobotsRow;
use std::collections::HashMap;

/// The name by which robots.txt files address the job.
pub(crate) fn agent_of(spec: &JobSpec) -> Result<String, Failure> {
    let profile = RequestProfile::new(&profile_of(spec)).map_err(Failure::failed)?;
    Ok(product_token(profile.user_agent()).to_owned())
}

/// What a response to the request for robots.txt means, by the same policy that the crawl follows.
pub(crate) fn read(rules: &PolitenessRules, version: &RobotsRow, agent: &str) -> Robots {
    let host = version.origin.split_once("://").map_or(version.origin.as_str(), |(_, host)| host);
    let answer = version.status.map_or(RobotsAnswer::NoAnswer, RobotsAnswer::Status);
    // No retry was due when a page was requested afterwards.
    match rules.for_host(host).robots().next(answer, u8::MAX, version.fetched_at) {
        RobotsNext::Use { rules: RobotsUse::Body, .. } => Robots::parse(&version.body, agent),
        RobotsNext::Use { rules: RobotsUse::AllowAll, .. } => Robots::allow_all("robots.txt has no rules"),
        RobotsNext::Use { rules: RobotsUse::DisallowAll, .. }
        | RobotsNext::RetryAt(_)
        | RobotsNext::UnreachableUntil(_) => Robots::disallow_all("robots.txt unreachable"),
    }
}

/// Parses each version of a robots.txt once per user agent: the history comes host by host.
pub(crate) struct RobotsJudge {
    rules: PolitenessRules,
    agents: HashMap<JobId, String>,
    known: Option<Known>,
}

struct Known {
    origin: String,
    fetched_at: Millis,
    /// By user agent.
    readings: HashMap<String, Robots>,
}

impl RobotsJudge {
    /// `agents` are the names of the jobs whose requests are judged.
    pub(crate) fn new(rules: PolitenessRules, agents: HashMap<JobId, String>) -> RobotsJudge {
        RobotsJudge { rules, agents, known: None }
    }

    /// Whether `version` allows `job` to request `path`. None for other jobs.
    pub(crate) fn allows(&mut self, version: &RobotsRow, job: JobId, path: &str) -> Option<bool> {
        let agent = self.agents.get(&job)?;
        let is_known = self
            .known
            .as_ref()
            .is_some_and(|k| k.fetched_at == version.fetched_at && k.origin == version.origin);
        if !is_known {
            self.known = None;
        }
        let known = self.known.get_or_insert_with(|| Known {
            origin: version.origin.clone(),
            fetched_at: version.fetched_at,
            readings: HashMap::new(),
        });
        if !known.readings.contains_key(agent) {
            known.readings.insert(agent.clone(), read(&self.rules, version, agent));
        }
        known.readings.get(agent).map(|robots| robots.check(path).allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge() -> RobotsJudge {
        let agents = HashMap::from([(JobId(1), String::from("Argiope")), (JobId(2), String::from("Other"))]);
        RobotsJudge::new(PolitenessRules::default(), agents)
    }

    fn version(at: u64, status: Option<u16>, body: &str) -> RobotsRow {
        RobotsRow { origin: "http://a.test".into(), fetched_at: Millis(at), status, body: body.into() }
    }

    #[test]
    fn each_job_is_judged_by_the_group_of_its_own_agent() {
        let mut judge = judge();
        let robots = version(1, Some(200), "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n");
        assert_eq!(judge.allows(&robots, JobId(1), "/a"), Some(true));
        assert_eq!(judge.allows(&robots, JobId(1), "/x"), Some(false));
        assert_eq!(judge.allows(&robots, JobId(2), "/a"), Some(false));
        assert_eq!(judge.allows(&robots, JobId(3), "/a"), None);
    }

    #[test]
    fn a_new_version_is_read_anew() {
        let mut judge = judge();
        assert_eq!(judge.allows(&version(1, Some(200), ""), JobId(1), "/a"), Some(true));
        let closed = version(2, Some(200), "User-agent: *\nDisallow: /\n");
        assert_eq!(judge.allows(&closed, JobId(1), "/a"), Some(false));
    }

    #[test]
    fn absent_rules_allow_and_unreachable_ones_forbid() {
        let mut judge = judge();
        assert_eq!(judge.allows(&version(1, Some(404), "x"), JobId(1), "/a"), Some(true));
        assert_eq!(judge.allows(&version(2, Some(503), ""), JobId(1), "/a"), Some(false));
        assert_eq!(judge.allows(&version(3, None, ""), JobId(1), "/a"), Some(false));
    }
}
