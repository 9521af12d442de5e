//! Visits, jobs and responses for the tests of this crate.

use crate::cookies::Session;
use crate::graph::GraphRules;
use crate::job::{JobContext, JobStart};
use argiope_fetch::Fetched;
use argiope_model::{FetchTimings, Hop, JobId, JobSpec, Millis, PublicSuffixes, RequestKind, Url, Visit};
use argiope_store::warc::{VisitMetadata, VisitOutcome};
use http::{HeaderMap, HeaderName, StatusCode, Version};
use std::sync::Arc;

/// When the sample responses have ended.
pub(crate) const ENDED: Millis = Millis(1_000_000);

pub(crate) fn url(text: &str) -> Url {
    Url::from_stored(text).unwrap()
}

/// A page that a seed, `http://a.test/`, links to.
pub(crate) fn visit(text: &str) -> Visit {
    Visit { depth: 1, source: Some(url("http://a.test/")), ..seed(text) }
}

pub(crate) fn seed(text: &str) -> Visit {
    Visit {
        job: JobId(1),
        kind: RequestKind::Page,
        url: url(text),
        round: 0,
        attempt: 0,
        depth: 0,
        priority: 0,
        scheduled_at: Millis(0),
        hops: Vec::new(),
        source: None,
        previous: None,
    }
}

/// The same visit after a redirect.
pub(crate) fn hop(mut visit: Visit, to: &str) -> Visit {
    let from = std::mem::replace(&mut visit.url, url(to));
    visit.hops.push(Hop { url: from, status: 302 });
    visit
}

/// A job whose scope is the host `a.test`.
pub(crate) fn job(spec: JobSpec) -> Arc<JobContext> {
    started(spec, None)
}

/// A job that maps hosts.
pub(crate) fn graph_job() -> Arc<JobContext> {
    let rules = GraphRules { max_outbound_links: 10, max_visits_per_host: 2, visited: Vec::new() };
    started(JobSpec::default(), Some(rules))
}

fn started(spec: JobSpec, graph: Option<GraphRules>) -> Arc<JobContext> {
    let seeds = vec![url("http://a.test/")];
    let start = JobStart { id: JobId(1), spec, seeds, graph, session: Session::default() };
    let suffixes = Arc::new(PublicSuffixes::bundled());
    Arc::new(JobContext::new(&start, &suffixes, Arc::default(), Millis(0)).unwrap())
}

pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Fetched {
    let mut head = format!("HTTP/1.1 {status} x\r\n");
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
        map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    head.push_str("\r\n");
    let started = Millis(ENDED.0 - 20);
    Fetched {
        status: StatusCode::from_u16(status).unwrap(),
        version: Version::HTTP_11,
        head: head.into(),
        request_head: "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".into(),
        headers: map,
        body: body.to_owned().into(),
        truncated: None,
        address: "127.0.0.1:80".parse().unwrap(),
        timings: FetchTimings { started, ended: ENDED, first_byte_us: 20_000, ..FetchTimings::default() },
        reused: false,
    }
}

/// Of a visit that got no answer.
pub(crate) fn metadata(visit: Visit) -> VisitMetadata {
    VisitMetadata {
        visit,
        outcome: VisitOutcome::Final,
        status: None,
        error: Some(String::from("reset")),
        truncated: None,
        timings: FetchTimings { started: ENDED, ended: ENDED, ..FetchTimings::default() },
        robots_rule: None,
        robots_line: None,
        required_delay_ms: 2000,
        per_host: 0,
        ticket: None,
        charset: None,
        answer: None,
    }
}
