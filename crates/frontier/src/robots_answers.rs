//! robots.txt files that were fetched or loaded: their rules, and how long these are used.

use crate::frontier::Frontier;
use crate::host::{RobotsHandle, RobotsRequest};
use crate::notice::Notice;
use crate::ready::HostIndex;
use crate::state::{Change, StoredRobots};
use crate::step::Token;
use argiope_model::{Millis, Scheme, Url};
use argiope_politeness::{Robots, RobotsAnswer, RobotsNext, RobotsPolicy, RobotsUse};
use std::sync::Arc;

const TOO_MANY_REQUESTS: u16 = 429;

/// The result of a request for robots.txt.
#[derive(Clone, Debug)]
pub enum RobotsAnswered {
    Redirect(Url),
    Final { answer: RobotsAnswer, body: Vec<u8> },
}

/// A robots.txt that has just been read.
#[derive(Clone, Debug)]
pub struct NewRobots {
    pub origin: Url,
    pub robots: Arc<Robots>,
}

impl Frontier {
    /// A stored robots.txt was loaded. Returns its rules if they are still valid: its sitemaps may be new to a job.
    pub fn robots_loaded(
        &mut self,
        index: HostIndex,
        scheme: Scheme,
        agent: &str,
        stored: Option<StoredRobots>,
        now: Millis,
    ) -> Option<Arc<Robots>> {
        if self.step_ended(index) {
            return None;
        }
        let policy = self.rules.robots().clone();
        // Earlier versions treated a 429 as no rules: such a robots.txt is fetched again.
        let stored = stored.filter(|stored| stored.status != TOO_MANY_REQUESTS);
        let stored = stored.filter(|stored| !self.rules.is_forgotten(stored));
        let host = self.host_mut(index)?;
        let mut known = None;
        // The current settings decide how long a response is valid, not those at the time it was stored.
        let next = stored.as_ref().map(|stored| policy.next(stored.answer(), u8::MAX, stored.fetched_at));
        let handle = match (stored, next) {
            (Some(_), Some(RobotsNext::UnreachableUntil(until))) if until > now => {
                RobotsHandle::Unreachable { until }
            }
            (Some(stored), Some(RobotsNext::Use { expires, .. })) if expires > now => {
                let robots = Arc::new(parse_robots(&stored, agent, &policy));
                host.politeness.raise_crawl_delay(robots.crawl_delay());
                known = Some(Arc::clone(&robots));
                RobotsHandle::Known { robots, expires }
            }
            _ => RobotsHandle::Missing,
        };
        host.origin_mut(scheme, agent).robots = handle;
        self.reschedule(index, now);
        known
    }

    /// The response to a request for robots.txt (after [`Frontier::answered`] freed the host). Returns the sitemaps it
    /// names, with its URL's origin.
    pub fn robots_answered(
        &mut self,
        token: Token,
        outcome: RobotsAnswered,
        now: Millis,
    ) -> Option<NewRobots> {
        self.free(token, now);
        let flight = self.flights.remove(token)?;
        let request = *flight.robots?;
        match outcome {
            RobotsAnswered::Redirect(to) if request.hops < 5 => {
                let request = RobotsRequest { url: to, hops: request.hops + 1, ..request };
                self.robots_redirected(flight.host, request, now);
                None
            }
            // Too many hops count as no robots.txt (RFC 9309, 2.3.1.2).
            RobotsAnswered::Redirect(_) => {
                self.robots_ended(flight.host, &request, RobotsAnswer::TooManyRedirects, Vec::new(), now)
            }
            RobotsAnswered::Final { answer, body } => {
                self.robots_ended(flight.host, &request, answer, body, now)
            }
        }
    }

    pub(crate) fn robots_settled(
        &mut self,
        index: HostIndex,
        asked_for: &Url,
        answer: RobotsAnswer,
        body: Vec<u8>,
        now: Millis,
    ) -> Option<NewRobots> {
        let policy = self.rules.robots().clone();
        let scheme = asked_for.scheme();
        let host = self.hosts.get_mut(index as usize)?;
        let tries = host
            .reachability
            .origins
            .iter()
            .filter(|o| o.scheme == scheme)
            .map(|o| o.tries)
            .max()
            .unwrap_or(0)
            + 1;
        let mut new_robots = None;
        let next = match (answer, self.network.down_since()) {
            // The network failed, not the host: no try is counted.
            (RobotsAnswer::NoAnswer, Some(_)) => RobotsNext::RetryAt(self.network.next_probe()),
            _ => policy.next(answer, tries, now),
        };
        let counts = self.network.down_since().is_none();
        match next {
            RobotsNext::Use { expires, .. } => {
                let status = status_of(answer);
                let stored = StoredRobots { fetched_at: now, expires, status, body: body.into_boxed_slice() };
                for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                    let robots = Arc::new(parse_robots(&stored, &origin.agent, &policy));
                    host.politeness.raise_crawl_delay(robots.crawl_delay());
                    new_robots = Some(NewRobots { origin: asked_for.clone(), robots: Arc::clone(&robots) });
                    origin.robots = RobotsHandle::Known { robots, expires };
                    origin.tries = 0;
                    origin.retry_at = Millis(0);
                    origin.told_until = None;
                }
                let (shard, origin) = (host.key.shard, asked_for.origin().into());
                self.pending.push(Change::Robots { shard, origin, stored });
            }
            RobotsNext::RetryAt(at) => {
                for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                    origin.tries = origin.tries.saturating_add(u8::from(counts));
                    origin.retry_at = at;
                    origin.told_until = None;
                    origin.robots = RobotsHandle::Missing;
                }
            }
            RobotsNext::UnreachableUntil(until) => {
                for origin in host.reachability.origins.iter_mut().filter(|o| o.scheme == scheme) {
                    origin.tries = 0;
                    origin.retry_at = Millis(0);
                    origin.told_until = None;
                    origin.robots = RobotsHandle::Unreachable { until };
                }
                self.decisions.notice(Notice::RobotsUnreachable { host: host.name.clone(), until });
                let body = Box::default();
                let stored =
                    StoredRobots { fetched_at: now, expires: until, status: StoredRobots::NO_ANSWER, body };
                let (shard, origin) = (host.key.shard, asked_for.origin().into());
                self.pending.push(Change::Robots { shard, origin, stored });
            }
        }
        // A Crawl-delay applies from the response that contained it, whose end was rounded up where `now` was cut off.
        let told = Millis(now.0.saturating_add(1));
        let rules = self.rules_of(index);
        let delay = self.base_delay_of(index, &rules, now);
        if let Some(host) = self.host_mut(index) {
            host.politeness.started(told, delay);
        }
        self.hosts.mark_dirty(index);
        self.reschedule(index, now);
        new_robots
    }
}

/// A stored robots.txt gives the same verdicts as when it was new.
pub(crate) fn parse_robots(stored: &StoredRobots, agent: &str, policy: &RobotsPolicy) -> Robots {
    let answer = stored.answer();
    let why = match answer {
        RobotsAnswer::Status(status) => format!("robots.txt returned {status}"),
        _ => String::from("robots.txt unreachable"),
    };
    match policy.next(answer, u8::MAX, stored.fetched_at) {
        RobotsNext::Use { rules: RobotsUse::Body, .. } => Robots::parse(&stored.body, agent),
        RobotsNext::Use { rules: RobotsUse::AllowAll, .. } => Robots::allow_all(&why),
        RobotsNext::Use { rules: RobotsUse::DisallowAll, .. }
        | RobotsNext::RetryAt(_)
        | RobotsNext::UnreachableUntil(_) => Robots::disallow_all(&why),
    }
}

fn status_of(answer: RobotsAnswer) -> u16 {
    match answer {
        RobotsAnswer::Status(status) => status,
        RobotsAnswer::TooManyRedirects => 310,
        RobotsAnswer::NoAnswer => 0,
    }
}
