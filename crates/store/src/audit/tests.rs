//! The audit finds the violations and nothing else.

use super::*;
use argiope_model::FetchTimings;

struct OneRobots(Vec<RobotsRow>);

impl RobotsHistory for OneRobots {
    fn versions(&mut self, origin: &str) -> Result<Vec<RobotsRow>> {
        Ok(self.0.iter().filter(|row| row.origin == origin).cloned().collect())
    }
}

fn fetch(host: &str, path: &str, started: u64, ended: u64, delay: u64, per_host: u32) -> FetchRow {
    let mut row = FetchRow::new(JobId(1), host, format!("http://{host}{path}"), 1);
    row.timings = FetchTimings { started: Millis(started), ended: Millis(ended), ..FetchTimings::default() };
    row.required_delay_ms = delay;
    row.per_host = per_host;
    row
}

fn audited(rows: &[FetchRow]) -> AuditReport {
    let mut robots = OneRobots(Vec::new());
    let mut judge = |_: &RobotsRow, _: JobId, _: &str| None;
    let mut auditor = Auditor::new(&mut robots, &mut judge);
    for row in rows {
        auditor.request(row).unwrap();
    }
    auditor.finish()
}

#[test]
fn polite_requests_are_no_violation() {
    let report = audited(&[
        fetch("a.test", "/", 0, 50, 1000, 1),
        fetch("a.test", "/b", 1050, 1100, 1000, 1),
        fetch("b.test", "/", 10, 60, 1000, 1),
    ]);
    assert_eq!(report.verdict(), "0 violations in 3 requests to 2 hosts");
    assert_eq!(report.hosts.first().unwrap().min_gap_ms, Some(1000));
    assert_eq!(report.hosts.first().unwrap().median_gap_ms, Some(1000));
}

#[test]
fn a_delay_counts_from_the_end_of_the_longest_answer() {
    // The second request is early only relative to the end of the first, not to its start.
    let report =
        audited(&[fetch("a.test", "/", 0, 500, 1000, 1), fetch("a.test", "/b", 1200, 1300, 1000, 1)]);
    assert_eq!(report.violation_count, 1);
    let violation = report.violations.first().unwrap();
    assert_eq!((violation.rule, violation.required, violation.actual), (Rule::Delay, 1000, 700));
    assert_eq!(violation.previous.as_ref().unwrap().url, "http://a.test/");
}

#[test]
fn above_one_per_host_the_delay_runs_from_start_to_start() {
    let rows = [fetch("a.test", "/", 0, 500, 100, 2), fetch("a.test", "/b", 100, 700, 100, 2)];
    assert_eq!(audited(&rows).violation_count, 0);
    let early = [fetch("a.test", "/", 0, 500, 100, 2), fetch("a.test", "/b", 99, 700, 100, 2)];
    assert_eq!(audited(&early).violation_count, 1);
}

#[test]
fn more_requests_at_once_than_allowed_are_found() {
    let rows: Vec<FetchRow> = (0..3).map(|n| fetch("a.test", &format!("/{n}"), n * 10, 1000, 0, 2)).collect();
    let report = audited(&rows);
    assert_eq!(report.violation_count, 1);
    let violation = report.violations.first().unwrap();
    assert_eq!((violation.rule, violation.required, violation.actual), (Rule::InFlight, 2, 3));
    assert_eq!(report.hosts.first().unwrap().max_in_flight, 3);
}

#[test]
fn without_a_delay_one_at_a_time_still_means_one() {
    let report = audited(&[fetch("a.test", "/", 0, 50, 0, 1), fetch("a.test", "/b", 48, 60, 0, 1)]);
    assert_eq!(report.violations.first().unwrap().rule, Rule::InFlight);
    let report = audited(&[fetch("a.test", "/", 0, 50, 0, 1), fetch("a.test", "/b", 49, 60, 0, 1)]);
    assert_eq!(report.violation_count, 0, "both may be in the same millisecond");
}

#[test]
fn a_request_is_judged_by_the_robots_text_of_its_time() {
    let version = |at, body: &str| RobotsRow {
        origin: "http://a.test".into(),
        fetched_at: Millis(at),
        status: Some(200),
        body: body.into(),
    };
    let mut robots = OneRobots(vec![version(10, "open"), version(500, "closed")]);
    let mut judged = Vec::new();
    let mut judge = |robots: &RobotsRow, _: JobId, path: &str| {
        judged.push((String::from_utf8(robots.body.clone()).unwrap(), path.to_owned()));
        Some(robots.body == b"open")
    };
    let mut auditor = Auditor::new(&mut robots, &mut judge);
    let mut robots_request = fetch("a.test", "/robots.txt", 0, 10, 0, 1);
    robots_request.kind = RequestKind::Robots;
    auditor.request(&robots_request).unwrap();
    auditor.request(&fetch("a.test", "/a?x=1", 100, 200, 0, 1)).unwrap();
    auditor.request(&fetch("a.test", "/b", 600, 700, 0, 1)).unwrap();
    let report = auditor.finish();
    assert_eq!(judged, [("open".to_owned(), "/a?x=1".to_owned()), ("closed".to_owned(), "/b".to_owned())]);
    assert_eq!((report.robots_checked, report.violation_count), (2, 1));
    assert_eq!(report.violations.first().unwrap().rule, Rule::Robots);
    assert_eq!(report.violations.first().unwrap().request.url, "http://a.test/b");
}

#[test]
fn the_text_shows_both_requests_of_a_violation() {
    let text = audited(&[fetch("a.test", "/", 0, 500, 1000, 1), fetch("a.test", "/b", 600, 700, 1000, 1)])
        .to_string();
    assert!(text.starts_with("1 violation in 2 requests to 1 host\n"), "{text}");
    assert!(text.contains("a.test: requested again after 100 ms instead of 1.0 s"), "{text}");
    assert!(text.contains("before 1970-01-01T00:00:00.000Z"), "{text}");
    assert!(text.contains("page http://a.test/b (job 1)"), "{text}");
}

#[test]
fn many_hosts_are_counted_and_the_worst_are_listed() {
    let mut rows = Vec::new();
    for n in 0..25_000u64 {
        rows.push(fetch(&format!("h{n:05}.test"), "/", n, n + 1, 0, 1));
    }
    rows.push(fetch("z.test", "/", 0, 10, 0, 1));
    rows.push(fetch("z.test", "/b", 5, 10, 0, 1));
    let report = audited(&rows);
    assert_eq!(report.host_count, 25_001);
    assert_eq!(report.hosts.len(), LISTED_HOSTS);
    assert_eq!(report.hosts.first().unwrap().host, "z.test");
}
