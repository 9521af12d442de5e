//! Duplicates: pages with the same content, nearly the same text, or a canonical link to another page.

use crate::desk::Desk;
use crate::site::{Site, page};
use serde_json::Value;
use std::fmt::Write;

/// A long text; the number changes one word of it.
fn prose(edition: u32) -> String {
    let mut text = String::new();
    for n in 0..600u32 {
        let _ = write!(text, "word{} ", n.wrapping_mul(2_654_435_761) >> 12);
        if n == 300 {
            let _ = write!(text, "edition {edition} ");
        }
    }
    text
}

/// The front links to an article, to what is nearly the same, to a copy and to a page with a canonical link. Each links to a page
/// of its own.
fn site() -> Site {
    Site::new(|path, origin| {
        let (text, leads_to, canonical) = match path {
            "/" => {
                return Some(page(
                    "<a href=/article>1</a> <a href=/print>2</a> <a href=/copy>3</a> <a href=/sorted>4</a>",
                ));
            }
            "/article" => (prose(1), "/of-article", None),
            "/print" => (prose(2), "/of-print", None),
            "/copy" => (prose(1), "/of-article", None),
            "/sorted" => (String::from("something else"), "/of-sorted", Some("/article")),
            path if path.starts_with("/of-") => return Some(page(&format!("the page {path}"))),
            _ => return None,
        };
        let canonical = canonical.map(|path| format!("<link rel=canonical href='{origin}{path}'>"));
        let head = canonical.unwrap_or_default();
        Some(page(&format!("<html><head>{head}</head><body>{text}<a href={leads_to}>on</a>")))
    })
}

fn duplicate_of<'d>(pages: &'d [Value], url: &str) -> &'d Value {
    &pages.iter().find(|page| page["url"] == url).unwrap_or_else(|| panic!("no {url}"))["duplicate_of"]
}

#[test]
fn duplicates_are_marked_grouped_in_the_report_and_followed() {
    let (site, desk) = (site(), Desk::new());
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let pages = desk.pages();
    let article = site.url("/article");
    for path in ["/print", "/copy", "/sorted"] {
        assert_eq!(*duplicate_of(&pages, &site.url(path)), article.as_str(), "{path}");
    }
    assert!(duplicate_of(&pages, &article).is_null());
    assert_eq!((site.asked("/of-print"), site.asked("/of-sorted")), (1, 1));
    let report = desk.run(&["report"]).ok().stdout;
    let group = report.split("\nDuplicates\n").nth(1).unwrap_or_else(|| panic!("{report}"));
    let first = group.lines().nth(1).unwrap();
    assert!(first.trim_start().starts_with("3 ") && first.contains(&article), "{report}");
    let json = desk.run(&["report", "-f", "json"]).ok().json();
    assert!(json["job"]["id"] == 1 && json["job"].get("spec").is_none(), "{json}");
    let groups = json["duplicate_groups"].as_array().unwrap();
    assert_eq!(
        (groups.len(), &groups[0]["original"], &groups[0]["count"]),
        (1, &article.as_str().into(), &3.into())
    );
    assert_eq!(groups[0]["examples"].as_array().unwrap().len(), 3);
    let why = desk.run(&["why", &site.url("/print")]).ok().stdout;
    assert!(why.contains(&format!("a duplicate of {article}")), "{why}");
}

#[test]
fn links_of_duplicates_are_not_followed_if_the_job_says_so() {
    for by_option in [true, false] {
        let (site, desk) = (site(), Desk::new());
        let front = std::slice::from_ref(&site.front);
        if by_option {
            desk.crawl(front, &["--delay", "0", "--no-follow-duplicates"]).ok();
        } else {
            desk.write("job.yaml", "follow_duplicates: false\n");
            desk.crawl(front, &["--delay", "0", "-c", "job.yaml"]).ok();
        }
        let asked = ["/of-article", "/of-print", "/of-sorted"].map(|path| site.asked(path));
        assert_eq!(asked, [1, 0, 0]);
        assert_eq!(*duplicate_of(&desk.pages(), &site.url("/print")), site.url("/article").as_str());
    }
}

#[test]
fn with_nothing_to_compare_with_nothing_is_a_duplicate() {
    let (site, desk) = (site(), Desk::new());
    desk.write("job.yaml", "duplicate_limit: 0\n");
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "-c", "job.yaml"]).ok();
    assert!(desk.pages().iter().all(|page| page["duplicate_of"].is_null()));
}
