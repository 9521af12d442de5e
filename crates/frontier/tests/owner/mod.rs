//! An owner of a frontier for tests: it answers what the frontier asks of its state and of name resolution, and leaves
//! requests to the test.

use argiope_frontier::memory::MemoryState;
use argiope_frontier::state::ShardState;
use argiope_frontier::{
    Answer, Completion, Discovery, Dispatch, Disposition, Found, Frontier, FrontierConfig, JobLimits,
    LastStop, Refused, RobotsAnswered, RobotsDispatch, Step, Ticket, Token, Unresolved,
};
use argiope_model::{
    FailureKind, FingerprintKey, JobId, JobSpec, Millis, NewUrlRate, PublicSuffixes, RequestKind, Skip, Url,
    Visit,
};
use argiope_politeness::{AnswerOutcome, AnswerResult, PolitenessRules, PolitenessSettings, RobotsAnswer};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const START: Millis = Millis(1_800_000_000_000);
pub(crate) const JOB: JobId = JobId(1);

/// What a test has to deal with itself.
#[derive(Debug)]
pub(crate) enum Asked {
    Fetch(Box<Dispatch>),
    Robots(Box<RobotsDispatch>),
    Refuse { token: Token, visit: Visit, skip: Skip },
    Fail { token: Token, error: String },
    Release(Token),
    Forget(Token),
    Wait(Option<Millis>),
}

pub(crate) struct Owner {
    pub(crate) frontier: Frontier,
    pub(crate) state: MemoryState,
    pub(crate) now: Millis,
    /// Hosts with an address of their choice, or none; others have one each.
    pub(crate) names: HashMap<String, Result<IpAddr, Unresolved>>,
    config: FrontierConfig,
    rules: Arc<PolitenessRules>,
    key: FingerprintKey,
}

pub(crate) fn settings(json: &str) -> Arc<PolitenessRules> {
    let settings: PolitenessSettings = serde_json::from_str(json).unwrap();
    Arc::new(PolitenessRules::compile(&settings).unwrap())
}

/// No robots.txt, no delay, no rate: each test adds what it is about.
pub(crate) fn spec() -> JobSpec {
    JobSpec {
        delay: Some(Duration::ZERO),
        respect_robots: false,
        new_urls_per_source: NewUrlRate { per_second: 1_000_000, burst: 1_000_000 },
        ..JobSpec::default()
    }
}

pub(crate) fn url(text: &str) -> Url {
    Url::from_stored(text).unwrap()
}

impl Owner {
    pub(crate) fn new(spec: &JobSpec) -> Owner {
        Owner::with(spec, FrontierConfig::default(), settings("{}"))
    }

    pub(crate) fn with(spec: &JobSpec, config: FrontierConfig, rules: Arc<PolitenessRules>) -> Owner {
        let key = FingerprintKey::new([3; 16]);
        let mut frontier = fresh(&config, &rules, &key, START);
        frontier.open_job(JOB, JobLimits::of(spec, "TestBot"));
        Owner { frontier, state: MemoryState::new(), now: START, names: HashMap::new(), config, rules, key }
    }

    /// The process ends; another one resumes after `pause`.
    pub(crate) fn restart(&mut self, spec: &JobSpec, last_stop: LastStop, pause: Duration) {
        self.apply();
        self.now = self.now + pause;
        self.frontier = fresh(&self.config, &self.rules, &self.key, self.now);
        let opens = HashMap::from([(JOB, JobLimits::of(spec, "TestBot"))]);
        self.frontier.restore(&self.state, &opens, last_stop, self.now).unwrap();
    }

    pub(crate) fn add(&mut self, urls: &[&str]) -> Vec<Refused> {
        let found: Vec<(&str, u8)> = urls.iter().map(|text| (*text, 50)).collect();
        self.add_from(JOB, None, &found)
    }

    pub(crate) fn add_from(&mut self, job: JobId, source: Option<&str>, urls: &[(&str, u8)]) -> Vec<Refused> {
        let found = urls.iter().map(|(text, priority)| Found {
            url: url(text),
            fingerprint: self.key.of(text, 0),
            priority: *priority,
            kind: RequestKind::Page,
            previous: None,
        });
        let discovery = Discovery {
            job,
            round: 0,
            depth: 0,
            source: source.map(url),
            found: found.collect(),
            not_before: None,
        };
        self.frontier.discover(discovery, self.now).0
    }

    pub(crate) fn apply(&mut self) {
        let batch = self.frontier.take_changes();
        self.state.apply(batch).unwrap();
    }

    /// The next thing that the test has to deal with.
    pub(crate) fn ask(&mut self) -> Asked {
        for _ in 0..10_000 {
            let now = self.now;
            match self.frontier.next(now) {
                Step::LoadQueue { host, at, after, limit } => {
                    self.apply();
                    let entries = self.state.load_queue(at, after.0, limit).unwrap();
                    let complete = entries.len() < limit;
                    self.frontier.queue_loaded(host, at.job, entries, complete, now);
                }
                Step::LoadRobots { host, scheme, agent, origin } => {
                    self.apply();
                    let stored = self.state.load_robots(&origin).unwrap();
                    self.frontier.robots_loaded(host, scheme, &agent, stored, now);
                }
                Step::LoadDue { until, limit } => {
                    self.apply();
                    let (entries, next) = self.state.load_due(self.frontier.served(), until, limit).unwrap();
                    self.frontier.due_loaded(entries, next, now);
                }
                Step::Resolve { host, name } => {
                    let own = IpAddr::from(host.to_be_bytes());
                    let found = self.names.get(&*name).cloned().unwrap_or(Ok(own));
                    let found = found.map(|address| (Arc::from([address]), Millis::NEVER));
                    self.frontier.resolved(host, found, now);
                }
                Step::Fetch(dispatch) => return Asked::Fetch(dispatch),
                Step::FetchRobots(robots) => return Asked::Robots(robots),
                Step::Refuse { token, visit, skip, .. } => {
                    return Asked::Refuse { token, visit: *visit, skip };
                }
                Step::Fail { token, error, .. } => return Asked::Fail { token, error: error.into() },
                Step::Release(token) => return Asked::Release(token),
                Step::Forget(token) => return Asked::Forget(token),
                Step::Wait(until) => return Asked::Wait(until),
            }
        }
        panic!("the frontier turns in circles");
    }

    pub(crate) fn fetch(&mut self) -> Box<Dispatch> {
        match self.ask() {
            Asked::Fetch(dispatch) => dispatch,
            other => panic!("no fetch: {other:?}"),
        }
    }

    pub(crate) fn robots(&mut self) -> Box<RobotsDispatch> {
        match self.ask() {
            Asked::Robots(robots) => robots,
            other => panic!("no robots.txt: {other:?}"),
        }
    }

    pub(crate) fn refuse(&mut self) -> (Visit, Skip) {
        match self.ask() {
            Asked::Refuse { token, visit, skip } => {
                self.frontier.completed(token, Completion::Done { counted: false }, self.now);
                (visit, skip)
            }
            other => panic!("no refusal: {other:?}"),
        }
    }

    /// Nothing to do now; when there may be.
    pub(crate) fn wait(&mut self) -> Option<Millis> {
        match self.ask() {
            Asked::Wait(until) => until,
            other => panic!("no wait: {other:?}"),
        }
    }

    /// Lets the time pass until something other than waiting is to be done.
    pub(crate) fn ask_later(&mut self) -> Asked {
        loop {
            match self.ask() {
                Asked::Wait(Some(until)) => self.now = until.max(self.now + Duration::from_millis(1)),
                other => return other,
            }
        }
    }

    pub(crate) fn answer(&mut self, token: Token, result: AnswerResult) -> Disposition {
        self.answer_with(token, result, None)
    }

    pub(crate) fn answer_with(
        &mut self,
        token: Token,
        result: AnswerResult,
        retry_after: Option<Millis>,
    ) -> Disposition {
        let latency = Duration::from_millis(50);
        let outcome = AnswerOutcome { request: RequestKind::Page, latency, result, retry_after };
        self.frontier.answered(token, &Answer { ended: self.now, outcome }, self.now)
    }

    pub(crate) fn answer_robots(&mut self, token: Token, outcome: RobotsAnswered) {
        let result = match &outcome {
            RobotsAnswered::Redirect(_) => AnswerResult::Status(301),
            RobotsAnswered::Final { answer: RobotsAnswer::Status(status), .. } => {
                AnswerResult::Status(*status)
            }
            RobotsAnswered::Final { .. } => AnswerResult::Failed(FailureKind::Timeout),
        };
        let latency = Duration::from_millis(50);
        let outcome_of = AnswerOutcome { request: RequestKind::Robots, latency, result, retry_after: None };
        self.frontier.answered(token, &Answer { ended: self.now, outcome: outcome_of }, self.now);
        self.frontier.robots_answered(token, outcome, self.now);
    }

    pub(crate) fn complete(&mut self, token: Token, completion: Completion) {
        self.frontier.completed(token, completion, self.now);
        self.apply();
    }

    /// A page with a final answer.
    pub(crate) fn page(&mut self, token: Token) {
        self.answer(token, AnswerResult::Status(200));
        self.complete(token, Completion::Done { counted: true });
    }

    pub(crate) fn recover(&mut self, ticket: Ticket, visit: &Visit, completion: Completion) {
        self.frontier.complete_recovered(ticket, visit, completion, self.now);
    }

    pub(crate) fn pages(&self) -> u64 {
        self.frontier.progress(JOB).unwrap().pages
    }
}

pub(crate) fn robots_txt(status: u16, body: &str) -> RobotsAnswered {
    RobotsAnswered::Final { answer: RobotsAnswer::Status(status), body: body.as_bytes().to_vec() }
}

fn fresh(
    config: &FrontierConfig,
    rules: &Arc<PolitenessRules>,
    key: &FingerprintKey,
    now: Millis,
) -> Frontier {
    let suffixes = Arc::new(PublicSuffixes::bundled());
    Frontier::new(config.clone(), suffixes, key.clone(), Arc::clone(rules), now)
}
