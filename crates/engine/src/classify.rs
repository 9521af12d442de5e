//! What a response, or a failure, means for the visit: final, retry or redirect. Pure.

use crate::job::JobContext;
use argiope_fetch::FetchError;
use argiope_frontier::Completion;
use argiope_model::{
    Base, FailureKind, FetchTimings, Millis, RedirectEnd, RequestKind, Resources, Url, Visit, plural,
};
use argiope_politeness::{AnswerOutcome, AnswerResult, HostRules, Next, parse_retry_after};
use argiope_store::warc::VisitOutcome;
use http::HeaderMap;
use http::header::RETRY_AFTER;
use std::time::Duration;

/// What to do with the visit, and the error for its record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) completion: Completion,
    pub(crate) error: Option<String>,
    /// All retries have failed.
    pub(crate) dead_letter: bool,
}

impl Decision {
    fn last(counted: bool, error: Option<String>) -> Decision {
        Decision { completion: Completion::Done { counted }, error, dead_letter: false }
    }

    /// Only pages count for the limit on pages.
    fn with_answer(visit: &Visit, error: Option<String>) -> Decision {
        Decision::last(visit.kind == RequestKind::Page, error)
    }

    pub(crate) fn visit_outcome(&self) -> VisitOutcome {
        match &self.completion {
            Completion::Done { .. } => VisitOutcome::Final,
            Completion::Retry { due } => VisitOutcome::Retry { due: *due },
            Completion::Redirect { to, .. } => VisitOutcome::Redirect { to: to.clone() },
        }
    }
}

/// What is known of a response before its body is processed.
pub(crate) struct Head<'a> {
    pub(crate) status: u16,
    pub(crate) location: Option<&'a str>,
    pub(crate) retry_after: Option<Millis>,
    pub(crate) ended: Millis,
    /// Whether another request to a URL of this chain of redirects would be the same as before. With other cookies it
    /// would not.
    pub(crate) would_repeat: &'a dyn Fn(&Url) -> bool,
}

pub(crate) fn answered(
    job: &JobContext,
    visit: &Visit,
    head: &Head<'_>,
    rules: &HostRules,
    chance: f64,
) -> Decision {
    if let Some(location) = head.location {
        return redirected(job, visit, head, location);
    }
    // Many servers handle HEAD wrongly: a resource that looks broken is requested again with GET. The response of an
    // overloaded server is accepted.
    if sends_head(job, visit) && head.status >= 400 && !matches!(head.status, 429 | 503) {
        let error = Some(format!("http: {} to HEAD", head.status));
        return Decision { completion: Completion::Retry { due: head.ended }, error, dead_letter: false };
    }
    // A job that maps hosts sends few requests to each, so a 429 is final there, like any other 4xx.
    if (500..=599).contains(&head.status) || head.status == 429 && job.graph.is_none() {
        return failed_status(visit, head, rules, chance);
    }
    let error = match head.status {
        status @ (301 | 302 | 303 | 307 | 308) => Some(format!("redirect: {status} without a Location")),
        // A status beyond 599 has no meaning, and a retry would not give it one.
        status @ 400.. => Some(format!("http: {status}")),
        _ => None,
    };
    Decision::with_answer(visit, error)
}

fn failed_status(visit: &Visit, head: &Head<'_>, rules: &HostRules, chance: f64) -> Decision {
    let status = head.status;
    match rules.retries().decide(FailureKind::Status(status), visit.attempt, chance) {
        Next::After(wait) => {
            let due = retry_due(head, wait);
            Decision {
                completion: Completion::Retry { due },
                error: Some(format!("http: {status}")),
                dead_letter: false,
            }
        }
        Next::DeadLetter => {
            let attempts = plural(u64::from(visit.attempt) + 1, "attempt", "attempts");
            let error = format!("http: {status} after {attempts}");
            Decision { dead_letter: true, ..Decision::with_answer(visit, Some(error)) }
        }
        Next::Final => Decision::with_answer(visit, Some(format!("http: {status}"))),
    }
}

/// Until when the host asks for no further requests, with a status that may say so: busy, failed, moved. The latest of several
/// times counts.
pub(crate) fn retry_after(headers: &HeaderMap, status: u16, ended: Millis) -> Option<Millis> {
    let means_it = matches!(status, 300..=399 | 413 | 429 | 500..=599);
    let named = headers.get_all(RETRY_AFTER).iter().filter(|_| means_it);
    named.filter_map(|value| parse_retry_after(value.as_bytes(), ended)).max()
}

/// The Retry-After of a busy host replaces the usual wait, for this URL as for all others of the host.
fn retry_due(head: &Head<'_>, wait: Duration) -> Millis {
    let usual = head.ended + wait;
    match head.retry_after {
        Some(asked) if matches!(head.status, 429 | 503) => asked.max(head.ended),
        Some(asked) => usual.max(asked),
        None => usual,
    }
}

/// Each hop must pass the job's rules. A seed may lead to any host that is not blacklisted, because the crawl starts
/// there.
fn redirected(job: &JobContext, visit: &Visit, head: &Head<'_>, location: &str) -> Decision {
    let target = Base::new(&visit.url).join(location, &job.normal);
    let to = match target {
        Ok(to) => to,
        Err(error) => return Decision::with_answer(visit, Some(format!("redirect: {error}"))),
    };
    let ends = |end: RedirectEnd<'_>| Decision::with_answer(visit, Some(end.to_string()));
    let most = job.spec.max_redirects;
    if visit.hops.len() >= most as usize {
        return ends(RedirectEnd::TooMany { most, to: &to });
    }
    // Another spelling of a URL is another request, because a server may insist on its own. So is one with other cookies.
    let was_there = to.same_request(&visit.url) || visit.hops.iter().any(|hop| hop.url.same_request(&to));
    if was_there && (head.would_repeat)(&to) {
        return ends(RedirectEnd::Loop { to: &to });
    }
    let rules = job.rules();
    let judged = match visit.kind {
        RequestKind::Resource => rules.judge_resource(&to),
        _ if is_seed(visit) => rules.judge_host(&to),
        _ => rules.judge(&to, visit.depth),
    };
    if let Err(skip) = judged {
        return ends(RedirectEnd::Refused { to: &to, skip: &skip });
    }
    Decision { completion: Completion::Redirect { to, status: head.status }, error: None, dead_letter: false }
}

/// The first check of a resource is a HEAD request.
pub(crate) fn sends_head(job: &JobContext, visit: &Visit) -> bool {
    visit.kind == RequestKind::Resource && job.spec.resources == Resources::Check && visit.attempt == 0
}

/// The status that counts for the host: a server error in response to HEAD is no failure of the host.
pub(crate) fn status_of_host(job: &JobContext, visit: &Visit, status: u16) -> u16 {
    match status {
        500..=502 | 504..=599 if sends_head(job, visit) => 405,
        status => status,
    }
}

pub(crate) fn is_seed(visit: &Visit) -> bool {
    visit.depth == 0 && visit.source.is_none()
}

pub(crate) fn failed(
    visit: &Visit,
    kind: FailureKind,
    message: String,
    ended: Millis,
    rules: &HostRules,
    chance: f64,
) -> Decision {
    match rules.retries().decide(kind, visit.attempt, chance) {
        Next::After(wait) => Decision {
            completion: Completion::Retry { due: ended + wait },
            error: Some(message),
            dead_letter: false,
        },
        Next::DeadLetter => Decision { dead_letter: true, ..Decision::last(false, Some(message)) },
        Next::Final => Decision::last(false, Some(message)),
    }
}

/// `timeout: first byte after 30 s`: begins with the word of the failure.
pub(crate) fn error_text(error: &FetchError) -> String {
    let text = error.to_string();
    let word = error.kind.word();
    if text.starts_with(word) { text } else { format!("{word}: {text}") }
}

/// From the start of the request to the first byte of the response, or to the failure.
pub(crate) fn latency(timings: &FetchTimings) -> Duration {
    Duration::from_micros(
        u64::from(timings.connect_us) + u64::from(timings.tls_us) + u64::from(timings.first_byte_us),
    )
}

pub(crate) fn outcome(
    visit: &Visit,
    result: AnswerResult,
    timings: &FetchTimings,
    retry_after: Option<Millis>,
) -> AnswerOutcome {
    AnswerOutcome { request: visit.kind, latency: latency(timings), result, retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ENDED, graph_job, hop, job, seed, visit};
    use argiope_model::{JobSpec, SkipReason};
    use argiope_politeness::PolitenessRules;

    fn rules() -> HostRules {
        PolitenessRules::default().for_host("a.test")
    }

    fn head(status: u16) -> Head<'static> {
        Head { status, location: None, retry_after: None, ended: ENDED, would_repeat: &|_| true }
    }

    fn decide(job: &JobContext, visit: &Visit, head: &Head<'_>) -> Decision {
        answered(job, visit, head, &rules(), 0.5)
    }

    fn redirect(job: &JobContext, visit: &Visit, location: &str) -> Decision {
        decide(job, visit, &Head { location: Some(location), ..head(302) })
    }

    fn target(decision: &Decision) -> Option<&str> {
        match &decision.completion {
            Completion::Redirect { to, .. } => Some(to.as_str()),
            _ => None,
        }
    }

    fn due(status: u16, retry_after: Option<u64>) -> u64 {
        let retry_after = retry_after.map(|seconds| ENDED + Duration::from_secs(seconds));
        let head = Head { retry_after, ..head(status) };
        match failed_status(&visit("http://a.test/x"), &head, &rules(), 0.5).completion {
            Completion::Retry { due, .. } => due.since(ENDED).as_secs(),
            other => panic!("{other:?}"),
        }
    }

    const COUNTED: Completion = Completion::Done { counted: true };

    #[test]
    fn a_response_is_final_and_counts_as_a_page_if_it_is_one() {
        let job = job(JobSpec::default());
        let page = visit("http://a.test/x");
        for (status, error) in
            [(200, None), (204, None), (304, None), (404, Some("http: 404")), (999, Some("http: 999"))]
        {
            let expected =
                Decision { completion: COUNTED, error: error.map(str::to_owned), dead_letter: false };
            assert_eq!(decide(&job, &page, &head(status)), expected, "{status}");
        }
        let sitemap = Visit { kind: RequestKind::Sitemap, ..page };
        assert_eq!(decide(&job, &sitemap, &head(200)).completion, Completion::Done { counted: false });
    }

    #[test]
    fn server_errors_are_retried_until_the_last_attempt() {
        let job = job(JobSpec::default());
        let mut page = visit("http://a.test/x");
        let mut attempts = 0;
        let last = loop {
            let decision = decide(&job, &page, &head(500));
            if !matches!(decision.completion, Completion::Retry { .. }) {
                break decision;
            }
            assert_eq!((decision.error.as_deref(), decision.dead_letter), (Some("http: 500"), false));
            page.attempt += 1;
            attempts += 1;
        };
        assert!(attempts > 0);
        assert_eq!(
            (&last.completion, last.dead_letter),
            (&COUNTED, true),
            "the last response is still a page"
        );
        assert_eq!(last.error, Some(format!("http: 500 after {} attempts", attempts + 1)));
    }

    #[test]
    fn failures_are_retried_if_a_retry_may_help() {
        let page = visit("http://a.test/x");
        let decide = |kind, attempt| {
            failed(&Visit { attempt, ..page.clone() }, kind, String::from("x"), ENDED, &rules(), 0.5)
        };
        for kind in [FailureKind::Timeout, FailureKind::Connect, FailureKind::Reset] {
            assert!(
                matches!(decide(kind, 0).completion, Completion::Retry { due } if due > ENDED),
                "{kind:?}"
            );
            let last = decide(kind, 100);
            let not_counted = Completion::Done { counted: false };
            assert_eq!((last.completion, last.dead_letter), (not_counted, true), "{kind:?}");
        }
        for kind in [FailureKind::NameNotFound, FailureKind::AddressRefused] {
            let only = decide(kind, 0);
            assert_eq!((only.completion, only.dead_letter), (Completion::Done { counted: false }, false));
        }
    }

    #[test]
    fn too_many_requests_is_final_for_a_job_that_maps_hosts() {
        let page = visit("http://a.test/x");
        assert!(matches!(
            decide(&job(JobSpec::default()), &page, &head(429)).completion,
            Completion::Retry { .. }
        ));
        assert_eq!(decide(&graph_job(), &page, &head(429)).completion, COUNTED);
    }

    #[test]
    fn a_resource_that_answers_head_with_an_error_is_requested_with_get() {
        let job = job(JobSpec { resources: Resources::Check, ..JobSpec::default() });
        let first = Visit { kind: RequestKind::Resource, ..visit("http://a.test/x.png") };
        let second = Visit { attempt: 1, ..first.clone() };
        assert!(sends_head(&job, &first) && !sends_head(&job, &second));
        let decision = decide(&job, &first, &head(404));
        assert_eq!(decision.completion, Completion::Retry { due: ENDED });
        assert_eq!(decision.error.as_deref(), Some("http: 404 to HEAD"));
        assert_eq!(decide(&job, &second, &head(404)).completion, Completion::Done { counted: false });
        assert!(
            matches!(decide(&job, &first, &head(503)).completion, Completion::Retry { due } if due > ENDED)
        );
        assert_eq!((status_of_host(&job, &first, 501), status_of_host(&job, &second, 501)), (405, 501));
        assert_eq!(status_of_host(&job, &first, 503), 503);
    }

    #[test]
    fn a_redirect_is_followed_within_the_scope() {
        let job = job(JobSpec::default());
        let page = visit("http://a.test/x");
        let followed = redirect(&job, &page, "/y");
        assert_eq!(
            followed.completion,
            Completion::Redirect { to: crate::sample::url("http://a.test/y"), status: 302 }
        );
        let refused = redirect(&job, &page, "http://b.test/");
        assert_eq!(refused.completion, COUNTED);
        let reason = SkipReason::OutOfScope.as_str();
        assert!(refused.error.as_deref().is_some_and(|error| error.contains(reason)), "{refused:?}");
        assert_eq!(
            target(&redirect(&job, &seed("http://a.test/"), "http://b.test/")),
            Some("http://b.test/")
        );
        assert_eq!(
            decide(&job, &page, &head(301)).error.as_deref(),
            Some("redirect: 301 without a Location")
        );
        assert!(redirect(&job, &page, "http://[").error.is_some());
    }

    #[test]
    fn a_chain_of_redirects_ends_at_a_loop_or_at_the_limit() {
        let job = job(JobSpec { max_redirects: 2, ..JobSpec::default() });
        let first = visit("http://a.test/1");
        let second = hop(first.clone(), "http://a.test/2");
        let looped = redirect(&job, &second, "/1");
        assert_eq!((target(&looped), looped.completion == COUNTED), (None, true));
        assert!(redirect(&job, &first, "/1").error.is_some(), "to itself");
        let changed = Head { location: Some("/1"), would_repeat: &|_| false, ..head(302) };
        assert_eq!(target(&decide(&job, &second, &changed)), Some("http://a.test/1"), "with other cookies");
        assert_eq!(target(&redirect(&job, &second, "/%31")), Some("http://a.test/%31"), "another spelling");
        let third = hop(second, "http://a.test/3");
        assert_eq!(target(&redirect(&job, &third, "/4")), None, "over the limit");
    }

    #[test]
    fn retry_after_counts_with_the_statuses_that_may_have_it() {
        let mut headers = HeaderMap::new();
        for seconds in ["3", "7"] {
            headers.append(RETRY_AFTER, seconds.parse().unwrap());
        }
        for status in [301, 429, 500, 503] {
            let expected = Some(ENDED + Duration::from_secs(7));
            assert_eq!(retry_after(&headers, status, ENDED), expected, "{status}");
        }
        assert_eq!((retry_after(&headers, 200, ENDED), retry_after(&headers, 404, ENDED)), (None, None));
    }

    #[test]
    fn the_retry_after_of_a_busy_host_replaces_the_usual_wait() {
        for status in [429, 503] {
            assert_eq!(due(status, None), 30);
            assert_eq!(due(status, Some(2)), 2);
            assert_eq!(due(status, Some(90)), 90);
        }
        assert_eq!((due(500, Some(2)), due(500, Some(90))), (10, 90));
    }
}
