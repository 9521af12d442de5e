//! The contract of [`Archive`], and the sample visits for its tests.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a suite of tests, built for tests only")]

use super::{Appended, Archive, ArchiveRef, Exchange, Position, RecoveredVisit, Response};
use crate::error::ErrorKind;
use crate::warc::{AnswerFacts, Digest, VisitMetadata, VisitOutcome};
use argiope_model::{FetchTimings, Hop, JobId, Millis, RequestKind, Truncation, Url, Visit};
use std::net::{IpAddr, Ipv4Addr};

/// Opens the same archive again, as after a restart.
pub type Open<'f> = &'f dyn Fn() -> Box<dyn Archive>;

/// Runs the whole suite; `fresh` creates an empty archive and returns a function that opens it again and again.
pub fn run(fresh: &dyn Fn() -> Box<dyn Fn() -> Box<dyn Archive>>) {
    what_is_appended_is_read_back(&*fresh());
    a_visit_without_answer_keeps_its_metadata(&*fresh());
    visits_beyond_the_catalogue_are_recovered(&*fresh());
    or_are_cut(&*fresh());
    workers_write_files_of_their_own(&*fresh());
    sync_reports_what_grew(&*fresh());
    only_durable_records_are_referred_to(&*fresh());
    the_previous_visit_is_referred_to(&*fresh());
    small_and_cut_payloads_are_never_referred_to(&*fresh());
    recovery_gives_duplicates_with_their_page(&*fresh());
    an_archive_that_lost_data_is_an_error(&*fresh());
}

/// One visit's parts, owned.
#[derive(Clone, Debug)]
pub struct Sample {
    pub metadata: VisitMetadata,
    pub request: Option<Vec<u8>>,
    pub response: Option<(Vec<u8>, Vec<u8>)>,
}

impl Sample {
    /// A page of `/number` with its own body of about `body_length` bytes.
    pub fn page(number: u32, body_length: usize) -> Sample {
        let url = format!("https://example.com/{number}");
        let mut body = format!("<title>{number}</title>").into_bytes();
        let mut state = number;
        while body.len() < body_length {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            body.extend_from_slice(format!("<p>{:x}", state >> 12).as_bytes());
        }
        Sample::of(&url, body)
    }

    pub fn of(url: &str, body: Vec<u8>) -> Sample {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len());
        let metadata = metadata(url);
        let (path, host) = (metadata.visit.url.path_and_query(), metadata.visit.url.host());
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: test\r\n\r\n");
        Sample { request: Some(request.into_bytes()), metadata, response: Some((head.into_bytes(), body)) }
    }

    pub fn exchange(&self) -> Exchange<'_> {
        Exchange {
            metadata: &self.metadata,
            address: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))),
            request_head: self.request.as_deref(),
            response: self.response.as_ref().map(|(head, body)| Response { head, body, body_sha256: None }),
            previous: None,
        }
    }

    pub fn body(&self) -> &[u8] {
        self.response.as_ref().map_or(&[], |(_, body)| body)
    }
}

/// The metadata of a final visit that uses every field.
pub fn metadata(url: &str) -> VisitMetadata {
    VisitMetadata {
        visit: Visit {
            job: JobId(3),
            kind: RequestKind::Page,
            url: Url::from_stored(url).unwrap(),
            round: 1,
            attempt: 2,
            depth: 4,
            priority: 5,
            scheduled_at: Millis(1_767_323_000_000),
            hops: Vec::new(),
            source: Some(Url::from_stored("https://example.com/from").unwrap()),
            previous: None,
        },
        outcome: VisitOutcome::Final,
        status: Some(200),
        error: None,
        truncated: None,
        timings: FetchTimings {
            started: Millis(1_767_323_045_678),
            ended: Millis(1_767_323_045_900),
            dns_us: 1,
            connect_us: 2,
            tls_us: 3,
            first_byte_us: 4,
            download_us: 5,
        },
        robots_rule: Some(String::from("Allow: /")),
        robots_line: Some(3),
        per_host: 1,
        ticket: Some(String::from("1.17.3.51.2.889")),
        required_delay_ms: 1000,
        charset: Some(String::from("utf-8")),
        answer: Some(AnswerFacts { content_type: Some(String::from("image/png")), bytes: Some(7) }),
    }
}

/// Recovers and returns all that was found.
pub fn recovered(archive: &dyn Archive, catalogued: &[Position]) -> Vec<RecoveredVisit> {
    let mut found = Vec::new();
    archive
        .recover(catalogued, &mut |visit| {
            found.push(visit);
            Ok(())
        })
        .unwrap();
    found
}

/// Syncs, and reports to the archive that the catalogue has this visit.
fn commit(archive: &dyn Archive, appended: &Appended) {
    let durable = archive.sync().unwrap();
    assert!(durable.iter().any(|p| p.file == appended.at.file && p.length >= appended.end), "{durable:?}");
    archive.committed(&[appended.position()]);
}

fn what_is_appended_is_read_back(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    let mut samples: Vec<Sample> =
        [0, 40, 600, 5000, 200_000].iter().map(|n| Sample::page(*n as u32, *n)).collect();
    let mut compressed =
        Sample::of("https://example.com/gz", (0..90_000u32).map(|n| (n % 251) as u8).collect());
    compressed.response.as_mut().unwrap().0 = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n".to_vec();
    samples.push(compressed);
    let (alone, together) = samples.split_at(2);
    let mut places: Vec<Appended> = alone.iter().map(|s| appender.append(&s.exchange()).unwrap()).collect();
    let together: Vec<Exchange<'_>> = together.iter().map(Sample::exchange).collect();
    places.extend(appender.append_all(&together).unwrap());
    assert_eq!(appender.append_all(&[]).unwrap(), []);
    assert!(places.is_sorted_by_key(|place| (place.at.offset, place.end)));
    assert_eq!(places.len(), samples.len());
    for (sample, appended) in samples.iter().zip(&places) {
        let stored = archive.read(&appended.at).unwrap();
        assert_eq!(stored.target, sample.metadata.visit.url);
        assert_eq!(stored.date, sample.metadata.timings.started);
        assert_eq!(stored.body, sample.body());
        assert_eq!(stored.head, sample.response.as_ref().unwrap().0);
        assert_eq!(stored.payload_digest, Some(Digest::of(&[sample.body()])));
        assert_eq!(archive.read_metadata(&appended.at).unwrap(), sample.metadata);
        assert_eq!(appended.at.to_string().parse::<ArchiveRef>().unwrap(), appended.at);
    }
    let position = appender.finish().unwrap().unwrap();
    assert_eq!(position, places.last().unwrap().position());
    assert_eq!(archive.verify(&position).unwrap(), samples.len() as u64);
}

fn a_visit_without_answer_keeps_its_metadata(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    for (request, outcome) in [
        (None, VisitOutcome::Retry { due: Millis(99) }),
        (Some(b"GET /x HTTP/1.1\r\n\r\n".to_vec()), VisitOutcome::Final),
    ] {
        let mut sample = Sample::page(1, 0);
        sample.response = None;
        sample.request = request;
        sample.metadata.status = None;
        sample.metadata.outcome = outcome;
        sample.metadata.error = Some(String::from("timeout: no answer\r\nwithin 10 s"));
        let appended = appender.append(&sample.exchange()).unwrap();
        assert_eq!(archive.read_metadata(&appended.at).unwrap(), sample.metadata);
        assert_eq!(archive.read(&appended.at).unwrap_err().kind, ErrorKind::NotFound);
    }
    drop(appender);
    let found = recovered(&*open(), &[]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|visit| !visit.has_response));
    assert_eq!(found[0].metadata.outcome, VisitOutcome::Retry { due: Millis(99) });
}

fn visits_beyond_the_catalogue_are_recovered(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    let samples: Vec<Sample> = (0..6).map(|n| Sample::page(n, 700)).collect();
    let places: Vec<Appended> = samples.iter().map(|s| appender.append(&s.exchange()).unwrap()).collect();
    drop((appender, archive));
    for known in 0..=samples.len() {
        let archive = open();
        let catalogued: Vec<Position> =
            known.checked_sub(1).map(|last| places[last].position()).into_iter().collect();
        let found = recovered(&*archive, &catalogued);
        assert_eq!(found.len(), samples.len() - known);
        for (visit, (sample, place)) in found.iter().zip(samples.iter().zip(&places).skip(known)) {
            assert_eq!((&visit.at, visit.end), (&place.at, place.end));
            assert_eq!(visit.metadata, sample.metadata);
            assert!(visit.has_response);
            assert_eq!(archive.read(&visit.at).unwrap().body, sample.body());
        }
    }
}

fn or_are_cut(open: Open<'_>) {
    let archive = open();
    let (mut one, mut two) = (archive.appender().unwrap(), archive.appender().unwrap());
    let known = one.append(&Sample::page(1, 700).exchange()).unwrap();
    let unknown = one.append(&Sample::page(2, 700).exchange()).unwrap();
    let elsewhere = two.append(&Sample::page(3, 700).exchange()).unwrap();
    drop((one, two, archive));
    let archive = open();
    let beyond = Position { length: unknown.end + 1, ..unknown.position() };
    assert_eq!(archive.truncate_to(&[beyond]).unwrap_err().kind, ErrorKind::Corrupt);
    let mut cuts = archive.truncate_to(&[known.position()]).unwrap();
    cuts.sort_by_key(|cut| cut.now.length);
    let now: Vec<&Position> = cuts.iter().map(|cut| &cut.now).collect();
    assert_eq!(now, [&Position { length: 0, ..elsewhere.position() }, &known.position()]);
    assert_eq!(archive.read(&known.at).unwrap().body, Sample::page(1, 700).body());
    assert_eq!(archive.read(&unknown.at).unwrap_err().kind, ErrorKind::Corrupt, "its file is cut");
    assert_eq!(archive.read(&elsewhere.at).unwrap_err().kind, ErrorKind::NotFound, "its file is gone");
    let missing = Position { file: "missing.warc.gz".into(), length: 9 };
    assert_eq!(archive.truncate_to(&[known.position(), missing]).unwrap(), [], "nothing is left to cut");
}

fn workers_write_files_of_their_own(open: Open<'_>) {
    let archive = open();
    let mut appenders: Vec<_> = (0..4).map(|_| archive.appender().unwrap()).collect();
    let mut files = std::collections::HashSet::new();
    for (n, appender) in appenders.iter_mut().enumerate() {
        files.insert(appender.append(&Sample::page(n as u32, 600).exchange()).unwrap().at.file);
    }
    drop((appenders, archive));
    let archive = open();
    assert_eq!(recovered(&*archive, &[]).len(), 4);
    files.insert(archive.appender().unwrap().append(&Sample::page(9, 600).exchange()).unwrap().at.file);
    assert_eq!(files.len(), 5, "a file is never appended to after a restart");
}

fn sync_reports_what_grew(open: Open<'_>) {
    let archive = open();
    let (mut one, mut two) = (archive.appender().unwrap(), archive.appender().unwrap());
    assert_eq!(archive.sync().unwrap(), []);
    let first = one.append(&Sample::page(1, 600).exchange()).unwrap();
    two.append(&Sample::page(2, 600).exchange()).unwrap();
    assert_eq!(archive.sync().unwrap().len(), 2);
    let again = one.append(&Sample::page(3, 600).exchange()).unwrap();
    assert_eq!(again.at, ArchiveRef { file: first.at.file.clone(), offset: first.end });
    assert_eq!(archive.sync().unwrap(), [again.position()]);
    let last = one.append(&Sample::page(4, 600).exchange()).unwrap();
    one.finish().unwrap();
    assert_eq!(archive.sync().unwrap(), [last.position()], "what ended since the last sync is reported too");
}

fn only_durable_records_are_referred_to(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    let body = Sample::page(1, 3000).body().to_vec();
    let mut first = Sample::of("https://example.com/landed", body.clone());
    first.metadata.visit.hops =
        vec![Hop { url: Url::from_stored("https://example.com/scheduled").unwrap(), status: 302 }];
    let second = Sample::of("https://example.com/second", body.clone());
    let original = appender.append(&first.exchange()).unwrap();
    assert_eq!(appender.append(&second.exchange()).unwrap().duplicate_of, None, "appended only");
    archive.committed(&[original.position()]);
    assert_eq!(appender.append(&second.exchange()).unwrap().duplicate_of, None, "catalogued, never synced");
    archive.sync().unwrap();
    assert_eq!(appender.append(&second.exchange()).unwrap().duplicate_of, None, "synced, not catalogued");
    archive.committed(&[original.position()]);
    let mut other = archive.appender().unwrap();
    let duplicate = other.append(&second.exchange()).unwrap();
    assert_eq!(duplicate.duplicate_of.as_ref().map(Url::as_str), Some("https://example.com/scheduled"));
    let length = |appended: &Appended| appended.end - appended.at.offset;
    assert!(length(&duplicate) < length(&original));
    let stored = archive.read(&duplicate.at).unwrap();
    assert_eq!(stored.refers_to, Some(original.at));
    assert_eq!(stored.target.as_str(), "https://example.com/second");
    assert_eq!(stored.body, body);
    assert_eq!(stored.payload_digest, Some(Digest::of(&[&body])));
}

fn the_previous_visit_is_referred_to(open: Open<'_>) {
    let archive = open();
    let sample = Sample::page(1, 3000);
    let mut appender = archive.appender().unwrap();
    let original = appender.append(&sample.exchange()).unwrap();
    commit(&*archive, &original);
    drop((appender, archive));

    let archive = open();
    let mut appender = archive.appender().unwrap();
    let exchange = Exchange { previous: Some(&original.at), ..sample.exchange() };
    let same = appender.append(&exchange).unwrap();
    assert_eq!(archive.read(&same.at).unwrap().refers_to, Some(original.at.clone()));
    commit(&*archive, &same);

    let mut unchanged = sample.clone();
    unchanged.metadata.status = Some(304);
    unchanged.response = Some((b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n".to_vec(), Vec::new()));
    let exchange = Exchange { previous: Some(&same.at), ..unchanged.exchange() };
    let not_modified = appender.append(&exchange).unwrap();
    let stored = archive.read(&not_modified.at).unwrap();
    assert_eq!(
        stored.refers_to,
        Some(original.at.clone()),
        "a revisit refers to the response, not to a revisit"
    );
    assert_eq!(stored.body, sample.body());
    assert!(stored.head.starts_with(b"HTTP/1.1 304"));

    let changed = Sample::of("https://example.com/1", Sample::page(2, 3000).body().to_vec());
    let exchange = Exchange { previous: Some(&original.at), ..changed.exchange() };
    let changed_at = appender.append(&exchange).unwrap();
    assert_eq!(changed_at.duplicate_of, None);
    assert_eq!(archive.read(&changed_at.at).unwrap().body, changed.body());
}

fn small_and_cut_payloads_are_never_referred_to(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    let small = Sample::page(1, 30);
    let mut cut = Sample::page(2, 3000);
    cut.metadata.truncated = Some(Truncation::Length);
    for sample in [small, cut] {
        let first = appender.append(&sample.exchange()).unwrap();
        commit(&*archive, &first);
        assert_eq!(appender.append(&sample.exchange()).unwrap().duplicate_of, None);
        archive.sync().unwrap();
    }
}

fn recovery_gives_duplicates_with_their_page(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    let sample = Sample::page(1, 3000);
    let original = appender.append(&sample.exchange()).unwrap();
    commit(&*archive, &original);
    let twin = Sample::of("https://example.com/twin", sample.body().to_vec());
    let duplicate = appender.append(&twin.exchange()).unwrap();
    drop((appender, archive));
    let archive = open();
    let found = recovered(&*archive, &[original.position()]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].duplicate_of, duplicate.duplicate_of);
    assert_eq!(archive.read(&found[0].at).unwrap().body, sample.body());
}

fn an_archive_that_lost_data_is_an_error(open: Open<'_>) {
    let archive = open();
    let mut appender = archive.appender().unwrap();
    let appended = appender.append(&Sample::page(1, 3000).exchange()).unwrap();
    drop((appender, archive));
    let archive = open();
    let beyond = Position { length: appended.end + 1, ..appended.position() };
    let error = archive.recover(&[beyond], &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.to_string().contains(&*appended.at.file), "{error}");
    let nowhere = ArchiveRef { offset: appended.end, ..appended.at.clone() };
    assert_eq!(archive.read(&nowhere).unwrap_err().kind, ErrorKind::Corrupt);
    let within = ArchiveRef { offset: appended.at.offset + 1, ..appended.at };
    assert_eq!(archive.read(&within).unwrap_err().kind, ErrorKind::Corrupt);
}
