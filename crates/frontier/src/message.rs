//! Messages that owners of shards send through the logs: links, redirects and robots.txt requests that belong to
//! another shard. Submitting seeds and lists writes the same messages.
//!
//! A message is for one shard, and all its URLs belong there. It comes from outside: for any bytes, [`Message::decode`]
//! takes at most a few times as much memory as there are bytes.

use crate::admit::{Discovery, Found};
use crate::codec::{
    CodecError, Reader, decode_visit, encode_visit, put_number, put_previous, put_sized, put_text,
    take_previous,
};
use argiope_model::{Fingerprint, JobId, Millis, RequestKind, Url, Visit};
use argiope_politeness::RobotsAnswer;
use std::borrow::Cow;

const VERSION: u8 = 1;

/// Kinds of [`Message::Found`]: of a crawl; and with due time and last fetches, of a recrawl.
const FOUND: u8 = 1;
const FOUND_AGAIN: u8 = 9;

/// The most URLs in one message. Logs limit the size of a message; this many of the longest URLs stay below 900,000
/// bytes.
pub const MOST_FOUND: usize = 200;

/// Bytes of a robots.txt that are sent; RFC 9309 requires 500 KiB to be read.
const MOST_ROBOTS_BYTES: usize = 500 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// URLs that passed their job's rules, for admission by their shard.
    Found(Discovery),
    /// A visit was redirected and continues at its current URL.
    Continue(Visit),
    /// The robots.txt of an origin was redirected to `url`: fetch it there and send the result to the shard of the
    /// origin.
    RobotsAsk {
        job: JobId,
        origin: Url,
        url: Url,
        hops: u8,
    },
    RobotsTold {
        origin: Url,
        answer: RobotsAnswer,
        body: Vec<u8>,
    },
    /// A seed was redirected to this URL, so its host is in the job's scope.
    Scope {
        job: JobId,
        url: Url,
    },
    /// A URL that has ended and should be fetched again.
    Again(Visit),
    /// Somebody submitted or resumed the job: a robots.txt that was unreachable is fetched again. With `fresh` the
    /// shard also forgets how often its hosts have failed.
    Begin {
        job: JobId,
        fresh: bool,
    },
}

impl Message {
    /// The job that must be open to apply it.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Message::Found(discovery) => Some(discovery.job),
            Message::Continue(visit) | Message::Again(visit) => Some(visit.job),
            Message::RobotsAsk { job, .. } | Message::Scope { job, .. } | Message::Begin { job, .. } => {
                Some(*job)
            }
            Message::RobotsTold { .. } => None,
        }
    }

    /// [`Message::job`] without decoding the rest of the message.
    pub fn job_of(bytes: &[u8]) -> Option<JobId> {
        let mut from = Reader { bytes, what: "message" };
        let (version, kind) = (from.byte().ok()?, from.byte().ok()?);
        let has_job = version == VERSION && matches!(kind, 1 | 2 | 3 | 5..=9);
        if has_job { from.small().ok().map(JobId) } else { None }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        match self {
            Message::Found(discovery) => {
                let is_recrawl = discovery.not_before.is_some()
                    || discovery.found.iter().any(|one| one.previous.is_some());
                out.push(if is_recrawl { FOUND_AGAIN } else { FOUND });
                put_found(&mut out, discovery);
                if is_recrawl {
                    put_recrawl(&mut out, discovery);
                }
            }
            Message::Continue(visit) | Message::Again(visit) => {
                out.push(if matches!(self, Message::Continue(_)) { 2 } else { 6 });
                put_number(&mut out, u64::from(visit.job.0));
                out.push(visit.priority);
                put_sized(&mut out, |out| out.extend_from_slice(&encode_visit(visit)));
            }
            Message::RobotsAsk { job, origin, url, hops } => {
                out.push(3);
                put_number(&mut out, u64::from(job.0));
                put_text(&mut out, &origin.to_stored());
                put_text(&mut out, &url.to_stored());
                out.push(*hops);
            }
            Message::RobotsTold { origin, answer, body } => {
                out.push(4);
                put_text(&mut out, &origin.to_stored());
                put_number(&mut out, answer_number(*answer));
                let body = whole_lines(body);
                put_number(&mut out, body.len() as u64);
                out.extend_from_slice(body);
            }
            Message::Begin { job, fresh } => {
                out.push(if *fresh { 8 } else { 7 });
                put_number(&mut out, u64::from(job.0));
            }
            Message::Scope { job, url } => {
                out.push(5);
                put_number(&mut out, u64::from(job.0));
                put_text(&mut out, &url.to_stored());
            }
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Message, CodecError> {
        let mut from = Reader { bytes, what: "message" };
        if from.byte()? != VERSION {
            return Err(from.error("unknown version"));
        }
        let message = match from.byte()? {
            FOUND => Message::Found(take_found(&mut from)?),
            FOUND_AGAIN => {
                let mut discovery = take_found(&mut from)?;
                take_recrawl(&mut from, &mut discovery)?;
                Message::Found(discovery)
            }
            kind @ (2 | 6) => {
                let job = JobId(from.small()?);
                let priority = from.byte()?;
                let visit = decode_visit(job, priority, from.take()?)?;
                if kind == 2 { Message::Continue(visit) } else { Message::Again(visit) }
            }
            3 => Message::RobotsAsk {
                job: JobId(from.small()?),
                origin: from.url()?,
                url: from.url()?,
                hops: from.byte()?,
            },
            4 => Message::RobotsTold {
                origin: from.url()?,
                answer: take_answer(&mut from)?,
                body: from.take()?.to_vec(),
            },
            kind @ (7 | 8) => Message::Begin { job: JobId(from.small()?), fresh: kind == 8 },
            5 => Message::Scope { job: JobId(from.small()?), url: from.url()? },
            _ => return Err(from.error("unknown kind")),
        };
        if !from.bytes.is_empty() {
            return Err(from.error("more than a message may have"));
        }
        Ok(message)
    }
}

/// URLs of one page mostly share a prefix, so only the difference to the previous one is written. At most 255 bytes are
/// shared, so that few bytes never expand to many.
fn put_found(out: &mut Vec<u8>, discovery: &Discovery) {
    put_number(out, u64::from(discovery.job.0));
    put_number(out, u64::from(discovery.round));
    put_number(out, u64::from(discovery.depth));
    let mut before = discovery.source.as_ref().map_or(Cow::Borrowed(""), Url::to_stored);
    put_text(out, &before);
    put_number(out, discovery.found.len() as u64);
    for one in &discovery.found {
        let text = one.url.to_stored();
        let shared = shared_start(&before, &text);
        out.extend_from_slice(&one.fingerprint.0.to_le_bytes());
        out.push(one.priority);
        out.push(kind_number(one.kind));
        out.push(shared);
        put_text(out, text.get(usize::from(shared)..).unwrap_or_default());
        before = text;
    }
}

fn take_found(from: &mut Reader<'_>) -> Result<Discovery, CodecError> {
    let job = JobId(from.small()?);
    let round = from.small()?;
    let depth = from.small()?;
    let mut before = from.text()?.to_owned();
    let source = match before.as_str() {
        "" => None,
        text => Some(Url::from_stored(text).map_err(|_| from.error("bad source URL"))?),
    };
    let count = from.number()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let fingerprint = Fingerprint(u64::from_le_bytes(from.array()?));
        let priority = from.byte()?;
        let kind = take_kind(from)?;
        let shared = usize::from(from.byte()?);
        if before.get(..shared).is_none() {
            return Err(from.error("shares more than the previous URL has"));
        }
        before.truncate(shared);
        before.push_str(from.text()?);
        let url = Url::from_stored(&before).map_err(|_| from.error("bad URL"))?;
        found.push(Found { url, fingerprint, priority, kind, previous: None });
    }
    Ok(Discovery { job, round, depth, source, not_before: None, found })
}

/// The due time, or 0; then for each URL, whether its last fetch is known, and that fetch.
fn put_recrawl(out: &mut Vec<u8>, discovery: &Discovery) {
    put_number(out, discovery.not_before.map_or(0, |due| due.0));
    for one in &discovery.found {
        out.push(u8::from(one.previous.is_some()));
        if let Some(previous) = &one.previous {
            put_previous(out, previous);
        }
    }
}

fn take_recrawl(from: &mut Reader<'_>, discovery: &mut Discovery) -> Result<(), CodecError> {
    discovery.not_before = Some(Millis(from.number()?)).filter(|due| *due != Millis(0));
    for one in &mut discovery.found {
        one.previous = match from.byte()? {
            0 => None,
            1 => Some(Box::new(take_previous(from)?)),
            _ => return Err(from.error("neither a last fetch nor none")),
        };
    }
    Ok(())
}

fn shared_start(one: &str, other: &str) -> u8 {
    let same = one.bytes().zip(other.bytes()).take(usize::from(u8::MAX)).take_while(|(a, b)| a == b).count();
    let whole = (0..=same).rev().find(|at| other.is_char_boundary(*at)).unwrap_or(0);
    u8::try_from(whole).unwrap_or(0)
}

fn kind_number(kind: RequestKind) -> u8 {
    match kind {
        RequestKind::Page => 0,
        RequestKind::Robots => 1,
        RequestKind::Sitemap => 2,
        RequestKind::Resource => 3,
    }
}

fn take_kind(from: &mut Reader<'_>) -> Result<RequestKind, CodecError> {
    match from.byte()? {
        0 => Ok(RequestKind::Page),
        1 => Ok(RequestKind::Robots),
        2 => Ok(RequestKind::Sitemap),
        3 => Ok(RequestKind::Resource),
        _ => Err(from.error("unknown kind of request")),
    }
}

/// No status is as large as this.
const TOO_MANY_REDIRECTS: u64 = 1 << 16;

fn answer_number(answer: RobotsAnswer) -> u64 {
    match answer {
        RobotsAnswer::NoAnswer => 0,
        RobotsAnswer::Status(status) => u64::from(status),
        RobotsAnswer::TooManyRedirects => TOO_MANY_REDIRECTS,
    }
}

fn take_answer(from: &mut Reader<'_>) -> Result<RobotsAnswer, CodecError> {
    match from.number()? {
        0 => Ok(RobotsAnswer::NoAnswer),
        TOO_MANY_REDIRECTS => Ok(RobotsAnswer::TooManyRedirects),
        status => match u16::try_from(status) {
            Ok(status) => Ok(RobotsAnswer::Status(status)),
            Err(_) => Err(from.error("bad status")),
        },
    }
}

/// The part of a long robots.txt that is sent, without an incomplete rule at its end.
fn whole_lines(body: &[u8]) -> &[u8] {
    let Some(start) = body.get(..MOST_ROBOTS_BYTES) else { return body };
    let end = start.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    start.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{Hop, PreviousFetch, Validators};
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        Url::from_stored(text).unwrap()
    }

    fn found(text: &str, fingerprint: u64) -> Found {
        Found {
            url: url(text),
            fingerprint: Fingerprint(fingerprint),
            priority: 61,
            kind: RequestKind::Page,
            previous: None,
        }
    }

    fn all() -> Vec<Message> {
        let links = vec![
            found("https://b.test/", 1),
            found("https://b.test/news/1", u64::MAX),
            found("https://b.test/news/2?a=1", 3),
            found("http://c.test/", 4),
        ];
        let mut recrawled = links.clone();
        recrawled[1].previous = Some(Box::new(PreviousFetch {
            url: url("https://b.test/news/1?final"),
            validators: Validators { etag: Some(String::from("W/\"1\"")), last_modified: None },
            archive: Some("w-1/a.warc.gz:12345678901".parse().unwrap()),
        }));
        let visit = Visit {
            job: JobId(7),
            kind: RequestKind::Page,
            url: url("https://b.test/there"),
            round: 2,
            attempt: 1,
            depth: 3,
            priority: 44,
            scheduled_at: Millis(1_800_000_000_000),
            hops: vec![Hop { url: url("https://a.test/here"), status: 301 }],
            source: None,
            previous: None,
        };
        let (job, origin) = (JobId(9), url("https://a.test/"));
        let told = |answer, body: &str| Message::RobotsTold {
            origin: origin.clone(),
            answer,
            body: body.as_bytes().to_vec(),
        };
        vec![
            Message::Found(Discovery {
                job,
                round: 1,
                depth: 5,
                source: Some(url("https://b.test/news/")),
                not_before: None,
                found: links.clone(),
            }),
            Message::Found(Discovery {
                job,
                round: 2,
                depth: 0,
                source: None,
                not_before: Some(Millis(1_800_000_000_000)),
                found: recrawled,
            }),
            Message::Found(Discovery {
                job,
                round: 0,
                depth: 0,
                source: None,
                not_before: None,
                found: Vec::new(),
            }),
            Message::Continue(visit.clone()),
            Message::Again(visit),
            Message::Begin { job, fresh: false },
            Message::Begin { job, fresh: true },
            Message::RobotsAsk { job, origin: origin.clone(), url: url("http://b.test/robots.txt"), hops: 2 },
            told(RobotsAnswer::Status(200), "User-agent: *\nDisallow: /x\n"),
            told(RobotsAnswer::TooManyRedirects, ""),
            told(RobotsAnswer::NoAnswer, ""),
            Message::Scope { job, url: url("https://www.b.test/") },
        ]
    }

    #[test]
    fn a_message_is_read_back_as_it_was_written() {
        for message in all() {
            assert_eq!(Message::job_of(&message.encode()), message.job(), "{message:?}");
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        assert_eq!(Message::job_of(&[]), None);
    }

    #[test]
    fn a_message_that_is_cut_or_goes_on_is_none() {
        for message in all() {
            let bytes = message.encode();
            for end in 0..bytes.len() {
                assert!(Message::decode(&bytes[..end]).is_err(), "{message:?} cut at {end}");
            }
            assert!(Message::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn links_that_begin_alike_take_little_room() {
        let links = (0..100).map(|n| found(&format!("https://www.example.com/products/item-{n}"), n));
        let source = Some(url("https://www.example.com/"));
        let discovery =
            Discovery { job: JobId(1), round: 0, depth: 1, source, not_before: None, found: links.collect() };
        assert!(Message::Found(discovery).encode().len() < 100 * 20);
    }

    #[test]
    fn the_longest_urls_fit_a_message_that_logs_take() {
        let long = |n: usize| format!("https://h{n}.test/{}", "x".repeat(Url::MAX_LENGTH - 18));
        let links = (100..100 + MOST_FOUND).map(|n| found(&long(n), n as u64));
        let source = Some(url(&long(999)));
        let discovery =
            Discovery { job: JobId(1), round: 0, depth: 1, source, not_before: None, found: links.collect() };
        assert_eq!(discovery.found[0].url.as_str().len(), Url::MAX_LENGTH);
        assert!(Message::Found(discovery).encode().len() <= 900_000);
    }

    #[test]
    fn a_long_robots_txt_is_told_in_whole_lines() {
        let body = b"Disallow: /abc\n".repeat(50_000);
        let told =
            Message::RobotsTold { origin: url("https://a.test/"), answer: RobotsAnswer::Status(200), body };
        let Ok(Message::RobotsTold { body, .. }) = Message::decode(&told.encode()) else { panic!() };
        assert!(body.len() <= MOST_ROBOTS_BYTES && body.len() > MOST_ROBOTS_BYTES - 15);
        assert!(body.ends_with(b"/abc\n"));
    }

    proptest! {
        #[test]
        fn rubbish_is_an_error_and_never_a_panic(kind in 0u8..10, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Message::decode(&[&[VERSION, kind], &bytes[..]].concat());
        }
    }
}
