//! The proof of politeness, and that it can fail.

use crate::desk::{Desk, at, lab};
use argiope_lab::SiteKind;
use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
use argiope_model::{FetchTimings, JobId, Millis};
use argiope_store::catalogue::{Batch, Catalogue, FetchRow, url_key};

#[test]
fn a_crawl_proves_its_politeness_and_a_doctored_history_fails() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsPaths, SiteKind::Ordinary], 4, 0));
    desk.crawl(&lab.seeds(), &["--delay", "50ms"]).ok();
    let requests = lab.access_log().len();
    let proof = desk.run(&["audit"]).ok().stdout;
    assert!(proof.starts_with(&format!("0 violations in {requests} requests to 2 hosts\n")), "{proof}");
    let json = desk.run(&["audit", "--json", "--all"]).ok().json();
    assert_eq!(
        (json["violation_count"].as_u64(), json["requests"].as_u64()),
        (Some(0), Some(requests as u64))
    );

    // A request into the forbidden folder, right after the last one.
    let path = desk.path("argiope-data").join(argiope_local::catalogue::FILE_NAME);
    let mut catalogue = SqliteCatalogue::open(&path, CatalogueSettings::default()).unwrap();
    let mut last = None;
    let host = lab.seeds()[0].split('/').nth(2).unwrap().to_owned();
    catalogue
        .reader()
        .unwrap()
        .fetches(None, &mut |row| {
            if row.host == host {
                last = Some(row.timings.ended);
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    let at_once = last.unwrap();
    let url = at(&lab, 0, "/private/1");
    let mut early = FetchRow::new(JobId(1), host, url.clone(), url_key(&url));
    early.required_delay_ms = 50;
    early.timings =
        FetchTimings { started: at_once, ended: Millis(at_once.0 + 5), ..FetchTimings::default() };
    catalogue.commit(&Batch { fetches: vec![early], ..Batch::default() }).unwrap();
    drop(catalogue);
    let run = desk.run(&["audit"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.starts_with("2 violations in "), "{}", run.stdout);
    assert!(run.stdout.contains("requested again after 0 ms instead of 50 ms"), "{}", run.stdout);
    assert!(run.stdout.contains("robots.txt forbids a fetched URL"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn ignoring_robots_shows_in_the_audit() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsPaths], 3, 0));
    let crawled = desk.crawl(&lab.seeds(), &["--delay", "0", "--ignore-robots"]).ok();
    assert!(crawled.stderr.contains("robots.txt is IGNORED"), "{}", crawled.stderr);
    assert!(lab.access_log().iter().any(|entry| entry.path == "/private/1"));
    let run = desk.run(&["audit"]);
    assert!(run.stdout.contains("job 1 ignored robots.txt"), "{}", run.stdout);
    let forbidden = lab.access_log().iter().find(|entry| entry.path == "/private/1").unwrap().url();
    let why = desk.run(&["why", &forbidden]).ok().stdout;
    assert!(why.contains("ignores robots.txt") && !why.contains("no rule forbids"), "{why}");
}

#[test]
fn several_connections_to_a_host_start_a_delay_apart() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Ordinary], 40, 60));
    desk.crawl(&lab.seeds(), &["--delay", "20ms", "--per-host", "6"]).ok();
    let report = desk.run(&["audit", "--json"]).ok().json();
    assert_eq!(report["violation_count"], 0, "{report}");
    let most =
        report["hosts"].as_array().unwrap().iter().filter_map(|host| host["max_in_flight"].as_u64()).max();
    assert!(most > Some(1), "{report}");
}
