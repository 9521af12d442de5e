//! What an answer, or its absence, means for the visit: final, to be tried again, or a hop on the way. Pure.

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

/// A visit's decision, with the error its record shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) completion: Completion,
    pub(crate) error: Option<String>,
    /// It was tried as often as makes sense.
    pub(crate) dead_letter: bool,
}

impl Decision {
    fn last(counted: bool, error: Option<String>) -> Decision {
        Decision { completion: Completion::Done { counted }, error, dead_letter: false }
    }

    /// Sitemaps are no pages, and do not count as such.
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

/// What is known of an answer before its body is looked at.
pub(crate) struct Head<'a> {
    pub(crate) status: u16,
    pub(crate) location: Option<&'a str>,
    pub(crate) retry_after: Option<Millis>,
    pub(crate) ended: Millis,
    /// Whether a request to a URL where the visit has been asks the same as then: with other cookies it does not.
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
    // Many servers answer wrongly where only the head is asked for: what looks broken is asked for again, as a whole. One
    // that is busy is believed.
    if sends_head(job, visit) && head.status >= 400 && !matches!(head.status, 429 | 503) {
        let error = Some(format!("http: {} to HEAD", head.status));
        return Decision { completion: Completion::Retry { due: head.ended }, error, dead_letter: false };
    }
    // Who maps hosts asks each of them seldom enough: there, 429 is final like any other 4xx.
    if (500..=599).contains(&head.status) || head.status == 429 && job.graph.is_none() {
        return failed_status(visit, head, rules, chance);
    }
    let error = match head.status {
        status @ (301 | 302 | 303 | 307 | 308) => Some(format!("redirect: {status} without a Location")),
        // Beyond 599 nobody knows what a status means, and asking again does not tell.
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

/// Until when the host asks to be left alone, with an answer that says so: busy, failed, moved. The last time that is named
/// counts.
pub(crate) fn retry_after(headers: &HeaderMap, status: u16, ended: Millis) -> Option<Millis> {
    let means_it = matches!(status, 300..=399 | 413 | 429 | 500..=599);
    let named = headers.get_all(RETRY_AFTER).iter().filter(|_| means_it);
    named.filter_map(|value| parse_retry_after(value.as_bytes(), ended)).max()
}

/// A busy host that says when to come again is taken at its word, for this URL as for all of its others.
fn retry_due(head: &Head<'_>, wait: Duration) -> Millis {
    let usual = head.ended + wait;
    match head.retry_after {
        Some(asked) if matches!(head.status, 429 | 503) => asked.max(head.ended),
        Some(asked) => usual.max(asked),
        None => usual,
    }
}

/// Each hop must pass the job's rules. Of a seed's only the hosts are looked at that are never asked: where it leads is
/// where the job begins.
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
    // Another spelling is another request: a server may insist on its own. So is one with other cookies.
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

/// A resource is checked by its head, the first time.
pub(crate) fn sends_head(job: &JobContext, visit: &Visit) -> bool {
    visit.kind == RequestKind::Resource && job.spec.resources == Resources::Check && visit.attempt == 0
}

/// What the host is held to have answered: that it does not know how to answer for a head is no failure of it.
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

/// `timeout: first byte after 30 s`: the word first, whatever the kind says.
pub(crate) fn error_text(error: &FetchError) -> String {
    let text = error.to_string();
    let word = error.kind.word();
    if text.starts_with(word) { text } else { format!("{word}: {text}") }
}

/// From the start of the request to its first byte or its failure.
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
    use argiope_model::JobId;
    use argiope_politeness::PolitenessRules;

    const ENDED: Millis = Millis(1_000_000);

    fn visit() -> Visit {
        Visit {
            job: JobId(1),
            kind: RequestKind::Page,
            url: Url::from_stored("http://a.test/x").unwrap(),
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

    fn due(status: u16, retry_after: Option<u64>) -> u64 {
        let retry_after = retry_after.map(|seconds| ENDED + Duration::from_secs(seconds));
        let head = Head { status, location: None, retry_after, ended: ENDED, would_repeat: &|_| true };
        let rules = PolitenessRules::default().for_host("a.test");
        match failed_status(&visit(), &head, &rules, 0.5).completion {
            Completion::Retry { due, .. } => due.since(ENDED).as_secs(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_host_is_taken_at_its_word_wherever_it_means_it() {
        let mut headers = HeaderMap::new();
        for seconds in ["3", "7"] {
            headers.append(RETRY_AFTER, seconds.parse().unwrap());
        }
        for status in [301, 429, 500, 503] {
            assert_eq!(
                retry_after(&headers, status, ENDED),
                Some(ENDED + Duration::from_secs(7)),
                "{status}"
            );
        }
        assert_eq!((retry_after(&headers, 200, ENDED), retry_after(&headers, 404, ENDED)), (None, None));
    }

    #[test]
    fn a_busy_hosts_word_on_when_to_come_again_is_taken_in_place_of_the_usual_wait() {
        for status in [429, 503] {
            assert_eq!(due(status, None), 30);
            assert_eq!(due(status, Some(2)), 2);
            assert_eq!(due(status, Some(90)), 90);
        }
        assert_eq!((due(500, Some(2)), due(500, Some(90))), (10, 90));
    }
}
