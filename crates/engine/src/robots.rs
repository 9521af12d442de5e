//! Requests for robots.txt, and what is stored of the responses. `politeness` interprets the rules.

use crate::job::JobContext;
use argiope_fetch::{DecodeScratch, Fetched, TruncationCause, decode};
use argiope_model::{Millis, RequestKind, Url, Visit};
use argiope_politeness::robots::text_of;
use argiope_store::catalogue::{HostRow, RobotsRow};
use argiope_store::clock::now;
use bytes::Bytes;

/// A longer robots.txt is cut at this length; the parser itself stops earlier.
pub(crate) const ROBOTS_BYTES: usize = 1 << 20;

pub(crate) fn robots_visit(job: &JobContext, url: &Url, origin: &Url) -> Visit {
    Visit { source: Some(origin.clone()), ..unqueued_visit(job, RequestKind::Robots, url) }
}

/// A request that is in no queue: for robots.txt, or a login.
pub(crate) fn unqueued_visit(job: &JobContext, kind: RequestKind, url: &Url) -> Visit {
    Visit {
        job: job.id,
        kind,
        url: url.clone(),
        round: 0,
        attempt: 0,
        depth: 0,
        priority: 0,
        scheduled_at: now(),
        hops: Vec::new(),
        source: None,
        previous: None,
    }
}

/// The rules in a robots.txt response, or what is wrong with it. An incomplete body is an error: the missing part may
/// forbid something. Only a body over the size limit is used as far as it was read.
pub(crate) fn robots_body(fetched: &Fetched, scratch: &mut DecodeScratch) -> Result<Bytes, String> {
    let is_rules = fetched.status.is_success();
    if let Some(cut) =
        fetched.truncated.filter(|cut| is_rules && !matches!(cut, TruncationCause::TooLarge { .. }))
    {
        return Err(cut.to_string());
    }
    let decoded = decode(&fetched.headers, &fetched.body, ROBOTS_BYTES, scratch);
    match decoded.problem(ROBOTS_BYTES) {
        Some(problem) if is_rules && !decoded.cut && fetched.truncated.is_none() => Err(problem),
        None if is_rules
            && fetched.headers.contains_key("content-encoding")
            && !is_text(&text_of(&decoded.bytes)) =>
        {
            Err(String::from("encoding: not encoded as the header says, and not text"))
        }
        _ => Ok(decoded.bytes),
    }
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

pub(crate) fn robots_row(origin: &Url, status: u16, body: &[u8], at: Millis) -> RobotsRow {
    RobotsRow {
        origin: origin.origin().to_owned(),
        fetched_at: at,
        status: Some(status),
        body: body.to_vec(),
    }
}

pub(crate) fn host_row(origin: &Url, status: u16, body: &[u8], at: Millis) -> HostRow {
    HostRow {
        host: origin.host().to_owned(),
        robots_text: Some(String::from_utf8_lossy(&text_of(body)).into_owned()),
        robots_fetched_at: Some(at),
        robots_status: Some(status),
        is_allowed: true,
        last_request_at: Some(at),
        ..HostRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ENDED, response, url};
    use std::time::Duration;

    fn body(fetched: &Fetched) -> Result<Bytes, String> {
        robots_body(fetched, &mut DecodeScratch::new())
    }

    const RULES: &str = "User-agent: *\nDisallow: /x\n";

    #[test]
    fn rules_are_the_body_of_a_good_response() {
        assert_eq!(body(&response(200, &[], RULES)).unwrap(), RULES);
        assert_eq!(body(&response(404, &[], "<html>")).unwrap(), "<html>", "the status says what it means");
    }

    #[test]
    fn a_part_of_the_rules_is_none() {
        for cut in [
            TruncationCause::Timeout { after: Duration::from_secs(1) },
            TruncationCause::ShortBody { received: 5, announced: Some(9) },
            TruncationCause::Reset { received: 5 },
        ] {
            let part = Fetched { truncated: Some(cut), ..response(200, &[], RULES) };
            assert_eq!(body(&part), Err(cut.to_string()));
            let missing = Fetched { truncated: Some(cut), ..response(503, &[], RULES) };
            assert!(body(&missing).is_ok(), "an error response has no rules to lose");
        }
        let long = TruncationCause::TooLarge { limit: 9 };
        let long = Fetched { truncated: Some(long), ..response(200, &[], RULES) };
        assert_eq!(body(&long).unwrap(), RULES, "longer than anybody has to read");
    }

    #[test]
    fn a_body_that_cannot_be_decoded_is_no_rules() {
        let binary = response(200, &[("content-encoding", "gzip")], "\u{1}\u{2}\u{3}");
        assert!(body(&binary).is_err());
        let unknown = response(200, &[("content-encoding", "rot13")], "\u{1}\u{2}\u{3}");
        assert!(body(&unknown).is_err());
        let mislabelled = response(200, &[("content-encoding", "gzip")], RULES);
        assert_eq!(body(&mislabelled).unwrap(), RULES, "text that is not encoded after all");
    }

    #[test]
    fn the_host_row_has_the_rules_as_text() {
        let row = host_row(&url("http://a.test:8080/"), 200, RULES.as_bytes(), ENDED);
        assert_eq!((row.host.as_str(), row.robots_text.as_deref()), ("a.test:8080", Some(RULES)));
        assert_eq!(robots_row(&url("http://a.test:8080/"), 200, b"x", ENDED).origin, "http://a.test:8080");
    }
}
