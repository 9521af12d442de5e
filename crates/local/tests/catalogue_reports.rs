//! Audit and report from rows in SQLite.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test ends where something is not as it should be"
)]

use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
use argiope_model::{FetchTimings, JobId, Millis, NormalForm, Page, RequestKind};
use argiope_store::audit::{Rule, audit};
use argiope_store::broken::BrokenUrls;
use argiope_store::catalogue::{
    Batch, Catalogue, FetchRow, JobState, JobUpdate, NewJob, PageRow, RobotsRow, url_key,
};
use argiope_store::report::{Report, ReportLimits};

fn catalogue() -> (tempfile::TempDir, SqliteCatalogue, JobId) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = SqliteCatalogue::open(&path, CatalogueSettings::default()).unwrap();
    let job = NewJob {
        name: Some("shop".into()),
        seeds_hash: "h".into(),
        spec: "{}".into(),
        created_at: Millis(0),
        user: None,
    };
    let job = catalogue.create_job(&job).unwrap().id;
    (directory, catalogue, job)
}

fn fetch(job: JobId, host: &str, path: &str, kind: RequestKind, started: u64) -> FetchRow {
    let url = format!("https://{host}{path}");
    let mut row = FetchRow::new(job, host, url.clone(), url_key(&url));
    row.kind = kind;
    row.required_delay_ms = 1000;
    row.timings =
        FetchTimings { started: Millis(started), ended: Millis(started + 50), ..FetchTimings::default() };
    row
}

/// Two hosts whose requests are committed interleaved and out of order, and a robots.txt that closes `/private`.
fn history(job: JobId, last_start: u64) -> Batch {
    let robots = RobotsRow {
        origin: "https://a.test".into(),
        fetched_at: Millis(60),
        status: Some(200),
        body: b"Disallow: /private".to_vec(),
    };
    let fetches = vec![
        fetch(job, "b.test", "/2", RequestKind::Page, last_start),
        fetch(job, "a.test", "/robots.txt", RequestKind::Robots, 0),
        fetch(job, "b.test", "/1", RequestKind::Page, 10),
        fetch(job, "a.test", "/open", RequestKind::Page, 1050),
    ];
    Batch { robots: vec![robots], fetches, ..Batch::default() }
}

/// Enough of a judge for a robots.txt of one rule.
fn judge(robots: &RobotsRow, _: JobId, path: &str) -> Option<bool> {
    let body = String::from_utf8_lossy(&robots.body).into_owned();
    body.strip_prefix("Disallow: ").map(|prefix| !path.starts_with(prefix))
}

#[test]
fn a_polite_history_is_proved_polite() {
    let (_directory, mut catalogue, job) = catalogue();
    catalogue.commit(&history(job, 1060)).unwrap();
    let report = audit(catalogue.reader().unwrap().as_ref(), Some(job), &mut judge).unwrap();
    assert_eq!(report.verdict(), "0 violations in 4 requests to 2 hosts");
    assert_eq!(report.robots_checked, 1);
}

#[test]
fn an_early_request_and_a_forbidden_one_are_found() {
    let (_directory, mut catalogue, job) = catalogue();
    catalogue.commit(&history(job, 1059)).unwrap();
    let forbidden = fetch(job, "a.test", "/private/x", RequestKind::Page, 2100);
    catalogue.commit(&Batch { fetches: vec![forbidden], ..Batch::default() }).unwrap();
    let report = audit(catalogue.reader().unwrap().as_ref(), None, &mut judge).unwrap();
    assert_eq!(report.violation_count, 2);
    let rules: Vec<Rule> = report.violations.iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, [Rule::Robots, Rule::Delay]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["violations"][1]["rule"], "delay");
    assert_eq!(json["violations"][1]["actual"], 999);
}

#[test]
fn a_report_is_gathered_from_the_rows() {
    let (_directory, mut catalogue, job) = catalogue();
    let page = |path: &str, status: Option<u16>, error: Option<&str>| {
        let url = format!("https://a.test{path}");
        let page = Page {
            url: url.clone(),
            status,
            bytes: Some(1000),
            fetch_ms: Some(40),
            error: error.map(str::to_owned),
            ..Page::default()
        };
        PageRow::new(job, url_key(&url), "a.test", page)
    };
    let mut gone = page("/gone", Some(404), None);
    gone.source = Some("https://a.test/".into());
    let pages = vec![page("/", Some(200), None), gone, page("/slow", None, Some("timeout: 30 s"))];
    let running =
        JobUpdate { job, state: Some(JobState::Running), message: None, spec: None, at: Millis(1000) };
    let done = JobUpdate { state: Some(JobState::Completed), at: Millis(4000), ..running.clone() };
    catalogue.commit(&Batch { pages, jobs: vec![running, done], ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    let job = reader.latest_job().unwrap().unwrap();
    let gather = |state: &str| {
        let rules = NormalForm::default().compile();
        let broken = BrokenUrls::gather(reader.as_ref(), job.id, rules).unwrap().most_linked(10);
        let limits = ReportLimits::default();
        Report::gather(reader.as_ref(), &job, state, limits, Millis(9999), broken).unwrap().to_string()
    };
    let text = gather(job.state.as_str());
    for part in [
        "Job 1 (shop), completed",
        "pages     2\n  failed    1\n",
        "duration  3.0 s, 0.7 pages/s",
        "timeout",
        "Broken links\n  what           links  url                  linked from\n  404                0  https://a.test/gone  https://a.test/\n",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}
