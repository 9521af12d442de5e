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

/// The rules in a robots.txt response, or what is wrong with it. An incomplete body is an error: the missing part may forbid
/// something. Only a body over the size limit is used as far as it goes.
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
