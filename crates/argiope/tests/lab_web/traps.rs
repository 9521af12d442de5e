//! Sites without end: a crawl takes some of their pages, finds out and ends.

use crate::BRISK;
use crate::desk::{Desk, lab};
use argiope_lab::{Lab, LabConfig, SiteKind};

const JOB: &str = "\
delay: 0
traps: {urls_per_pattern: 50, pages_before_judgement: 20}
";

#[test]
fn traps_are_left_after_a_while_and_a_shop_is_not_taken_for_one() {
    // Pages of the usual size, so that constant overhead does not hide the differences.
    let config = LabConfig {
        hosts: 3,
        pages: 20,
        kinds: vec![SiteKind::Calendar, SiteKind::Endless, SiteKind::Shop],
        ..LabConfig::mixed()
    };
    let (desk, lab) = (Desk::new(), Lab::start_on_thread(config).unwrap());
    desk.write("argiope.yaml", BRISK);
    desk.write("job.yaml", JOB);
    let run = desk.start_crawl(&lab.seeds(), &["-c", "job.yaml"]).wait().ok();
    assert!(run.stdout.contains("trap"), "{}", run.stdout);
    let (log, expected) = (lab.access_log(), lab.expected());
    for wanted in expected.fetched() {
        assert!(log.iter().any(|entry| entry.url() == wanted.url), "{} was not asked for", wanted.url);
    }
    let taken = |part: &str| log.iter().filter(|entry| entry.path.starts_with(part)).count();
    // A page of the calendar links to thirty more before the pattern is known to be a trap.
    assert!((20..500).contains(&taken("/browse")), "{} of /browse", taken("/browse"));
    assert!((20..1500).contains(&taken("/calendar/")), "{} of /calendar", taken("/calendar/"));
    assert!(taken("/again/") < 100, "{} of /again", taken("/again/"));
    assert!(taken("/deep/") < 1500, "{} of /deep", taken("/deep/"));
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert!(
        skipped.iter().any(|row| row["reason"] == "trap" && row["url"].as_str().unwrap().contains("/browse"))
    );
    assert!(!skipped.iter().any(|row| row["url"].as_str().unwrap().contains("/product/")));
}

#[test]
fn sessions_in_links_lead_to_the_same_pages() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Endless], 8, 0));
    desk.write("argiope.yaml", BRISK);
    let sessions = format!("{}sessions/start", lab.seeds()[0]);
    desk.crawl(&[lab.seeds()[0].clone(), sessions], &["--depth", "1", "--delay", "0"]).ok();
    let asked: Vec<String> = lab.access_log().into_iter().map(|entry| entry.url()).collect();
    assert!(asked.iter().any(|url| url.ends_with("/sessions/start")));
    // With a session or without, whichever was found first: each page once.
    for page in 1..=3 {
        let page = lab.web().page_url(0, page);
        assert_eq!(asked.iter().filter(|url| url.starts_with(&page)).count(), 1, "{page} in {asked:?}");
    }
}
