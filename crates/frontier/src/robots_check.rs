//! robots.txt before a request: whether it allows the URL, and whether it must be fetched first.

use crate::frontier::Frontier;
use crate::host::{RobotsHandle, RobotsRequest};
use crate::ready::HostIndex;
use crate::resolution::AddressNeed;
use crate::state::Change;
use crate::step::{RobotsDispatch, Rule, Step};
use argiope_model::{JobId, Millis, Url};
use argiope_politeness::{HostRules, RobotsAnswer, RuleRef};
use std::sync::Arc;

pub(crate) enum RobotsSays {
    Allowed(Option<Rule>),
    /// With the rule that decided.
    Disallowed(String),
    /// Another step must come first.
    First(Option<Step>),
    /// Its robots.txt is unreachable until then.
    Later(Millis),
}

impl Frontier {
    /// Whether robots.txt of its origin allows this URL.
    pub(crate) fn robots_verdict(
        &mut self,
        index: HostIndex,
        job: JobId,
        url: &Url,
        now: Millis,
    ) -> RobotsSays {
        let scheme = url.scheme();
        let id = job;
        let (Some(job), Some(host)) = (self.jobs.get(&id), self.hosts.get_mut(index as usize)) else {
            return RobotsSays::First(None);
        };
        let agent = &*job.limits.agent;
        // One response serves all user agents.
        let asked = host
            .reachability
            .origins
            .iter()
            .any(|o| o.scheme == scheme && matches!(o.robots, RobotsHandle::Asked));
        let origin = host.origin_mut(scheme, agent);
        match &origin.robots {
            RobotsHandle::Known { robots, expires } if *expires > now => {
                let verdict = robots.check(url.path_and_query());
                return match verdict.allowed {
                    true => RobotsSays::Allowed(verdict.rule.map(owned)),
                    false => RobotsSays::Disallowed(forbidden_by(verdict.rule)),
                };
            }
            RobotsHandle::Unreachable { until } if *until > now => return RobotsSays::Later(*until),
            RobotsHandle::Unknown => {
                let (agent, origin) = (agent.into(), url.origin().into());
                host.step_began();
                return RobotsSays::First(Some(Step::LoadRobots { host: index, scheme, agent, origin }));
            }
            // The request is in flight, maybe to another host; until then the host is busy.
            RobotsHandle::Asked => return RobotsSays::First(None),
            RobotsHandle::Missing | RobotsHandle::Known { .. } | RobotsHandle::Unreachable { .. } => {
                origin.robots = RobotsHandle::Asked;
                if !asked && let Some(request) = robots_request_for(url.origin(), id) {
                    host.reachability.robots_requests.push_back(request);
                }
            }
        }
        self.reschedule(index, now);
        RobotsSays::First(None)
    }

    pub(crate) fn serve_robots_request(
        &mut self,
        index: HostIndex,
        rules: &Arc<HostRules>,
        now: Millis,
    ) -> Option<Step> {
        let host = self.host(index)?;
        let proxied = host.reachability.robots_requests.front().is_some_and(|request| {
            self.is_proxied(request.job, &request.url)
                || host.queues.iter().any(|queue| self.is_proxied(queue.queue.job, &request.url))
        });
        match self.find_address(index, proxied, now) {
            AddressNeed::Known => {}
            AddressNeed::First(step) => return Some(step),
            AddressNeed::Missing => {
                let request = self.host_mut(index)?.reachability.robots_requests.pop_front()?;
                self.robots_without_address(index, &request, now);
                self.reschedule(index, now);
                return None;
            }
        }
        let delay = self.delay_now(index, now)?;
        let per_host = self.per_host_of(index, rules);
        let (addresses, address) = self.address_for(index, per_host, now)?;
        let request = self.host_mut(index)?.reachability.robots_requests.pop_front()?;
        let job = self.job_of_robots_request(&request);
        let (token, lane) =
            self.begin(index, None, Some(Box::new(request.clone())), address, false, now, delay);
        Some(Step::FetchRobots(Box::new(RobotsDispatch {
            token,
            job,
            request,
            host: index,
            lane,
            addresses,
            delay,
            per_host,
            rules: Arc::clone(rules),
        })))
    }

    /// The job that requested it, or another one of the same host if that has ended.
    fn job_of_robots_request(&self, request: &RobotsRequest) -> JobId {
        if self.jobs.contains_key(&request.job) {
            return request.job;
        }
        let asking = self.hosts.named(request.origin.host()).and_then(|index| self.host(index));
        asking.and_then(|host| host.queues.first()).map_or(JobId(0), |q| q.queue.job)
    }

    /// A request that waits for this host's turn.
    pub(crate) fn queue_robots_request(&mut self, index: HostIndex, request: RobotsRequest, now: Millis) {
        // An earlier owner may have requested this host, too, without the state knowing it.
        self.wait_after_unclean_stop(index, now);
        if let Some(host) = self.hosts.get_mut(index as usize) {
            host.reachability.robots_requests.push_back(request);
            if host.dirty {
                // No requests to a host without state.
                self.pending.push(Change::Host { key: host.key, record: host.encode() });
            }
        }
        self.reschedule(index, now);
    }

    /// A host without an address has no robots.txt: its visits fail by themselves.
    fn robots_without_address(&mut self, index: HostIndex, request: &RobotsRequest, now: Millis) {
        if self.host(index).is_some_and(|host| *host.name != *request.origin.host()) {
            // A redirect to a host that does not exist means an unreachable robots.txt.
            self.robots_ended(index, request, RobotsAnswer::NoAnswer, Vec::new(), now);
            return;
        }
        let scheme = request.origin.scheme();
        if let Some(host) = self.host_mut(index) {
            for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                origin.robots = RobotsHandle::Missing;
            }
        }
    }
}

pub(crate) fn robots_request_for(origin: &str, job: JobId) -> Option<RobotsRequest> {
    let url = Url::from_stored(&format!("{origin}/robots.txt")).ok()?;
    let origin = Url::from_stored(&format!("{origin}/")).ok()?;
    Some(RobotsRequest { url, origin, hops: 0, job })
}

/// The text for a URL that robots.txt forbids.
pub(crate) fn forbidden_by(rule: Option<RuleRef<'_>>) -> String {
    match rule.map(owned) {
        Some(Rule { text, line: Some(line) }) => format!("line {line}: {text}"),
        Some(Rule { text, line: None }) => text.into(),
        None => String::from("robots.txt disallows everything"),
    }
}

fn owned(rule: RuleRef<'_>) -> Rule {
    Rule { text: rule.text().into(), line: rule.line() }
}
