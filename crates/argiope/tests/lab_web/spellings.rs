//! URLs are requested as they were found: a server that insists on its own spelling gets it.

use crate::BRISK;
use crate::desk::{Desk, lab};
use argiope_lab::SiteKind;
use std::collections::BTreeMap;

#[test]
fn every_page_of_a_web_that_insists_on_its_spellings_is_found() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Spellings], 6, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--delay", "0"]).ok();
    let pages: BTreeMap<String, u64> = desk
        .run(&["export"])
        .ok()
        .json_lines()
        .iter()
        .map(|row| (row["url"].as_str().unwrap().to_owned(), row["status"].as_u64().unwrap()))
        .collect();
    let expected: BTreeMap<String, u64> =
        lab.expected().fetched().map(|wanted| (wanted.url.clone(), 200)).collect();
    assert!(expected.len() > 12);
    assert_eq!(pages, expected, "the whole web, and nothing else");
    let log = lab.access_log();
    for wanted in expected.keys() {
        assert_eq!(log.iter().filter(|entry| entry.url() == *wanted).count(), 1, "{wanted}");
    }
}

#[test]
fn a_redirect_to_another_spelling_is_followed() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Spellings], 6, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--delay", "0", "--depth", "1"]).ok();
    let site = lab.seeds()[0].trim_end_matches('/').to_owned();
    let rows = desk.run(&["export"]).ok().json_lines();
    for (from, to) in [("/exact/turn?a=1&b=2", "/exact/turn?b=2&a=1"), ("/exact/d/e", "/exact/d//e")] {
        let row = rows.iter().find(|row| row["url"] == format!("{site}{from}")).unwrap();
        assert_eq!((&row["status"], &row["final_url"]), (&200.into(), &format!("{site}{to}").into()));
        assert!(row["error"].is_null(), "{row}");
    }
    // Any spelling finds the record.
    let why = desk.run(&["why", &format!("{site}/exact/order?a=2&m=3&z=1")]).ok();
    assert!(why.stdout.starts_with("fetched"), "{}", why.stdout);
    assert!(why.stdout.contains(&format!("{site}/exact/order?z=1&a=2&m=3")), "{}", why.stdout);
}
