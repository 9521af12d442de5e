//! Hosts that must not be requested, and when the first request is allowed.

use crate::desk::{Desk, lab};
use crate::site::{Site, body, page, status};
use argiope_lab::SiteKind;

const SHORT_WAITS: &str = "\
politeness:
  default_delay: 0s
  robots: {retry_after: [50ms, 50ms]}
";

/// Rules of which the second half may forbid everything.
const RULES: &str = "User-agent: *\nAllow: /\n";

#[test]
fn a_robots_txt_of_which_only_a_part_came_allows_nothing() {
    let cut = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n{RULES}");
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{RULES}\r\nzz\r\n",
        RULES.len()
    );
    let coded = body("text/plain", "Content-Encoding: gzip\r\n", "\u{1}\u{2}\u{3}nobody can read this");
    for answer in [cut, chunked, coded] {
        let said = answer.clone();
        let site = Site::new(move |path, _| match path {
            "/robots.txt" => Some(answer.clone()),
            _ => Some(page("a page")),
        });
        let desk = Desk::new();
        desk.write("argiope.yaml", SHORT_WAITS);
        assert_eq!(desk.crawl(std::slice::from_ref(&site.front), &[]).code, 1, "no page is stored");
        assert_eq!((site.asked("/robots.txt"), site.asked("/")), (3, 0), "{said}");
        let why = desk.run(&["why", &site.front]).ok().stdout;
        assert!(why.starts_with("robots_unreachable\n"), "{said}: {why}");
    }
}

#[test]
fn hosts_on_the_blacklist_are_not_asked_as_seeds_or_where_seeds_lead() {
    let banned = Site::new(|_, _| Some(page("never seen")));
    let target = banned.url("x");
    let site = Site::new(move |path, _| match path {
        "/" => Some(status("302 Found", &format!("Location: {target}\r\n"))),
        _ => None,
    });
    let desk = Desk::new();
    let host = banned.front.trim_start_matches("http://").trim_end_matches('/');
    desk.write("job.yaml", &format!("blacklist: ['{host}']\ndelay: 0s\n"));
    let refused = desk.crawl(std::slice::from_ref(&banned.front), &["-c", "job.yaml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("is on the blacklist"), "{}", refused.stderr);
    desk.write("list.txt", &format!("{}\n{}\n", banned.front, site.front));
    let run = desk.run(&["crawl", "--allow-private", "--list", "list.txt", "-c", "job.yaml"]).ok();
    assert!(run.stderr.contains("list.txt:1: ") && run.stderr.contains("; ignored"), "{}", run.stderr);
    let pages = desk.pages();
    assert_eq!(pages.len(), 1, "{pages:?}");
    assert!(pages[0]["error"].as_str().unwrap().contains("blacklisted"), "{pages:?}");
    assert_eq!((banned.asked("/"), banned.asked("/x"), banned.asked("/robots.txt")), (0, 0, 0));
}

#[test]
fn the_first_crawl_of_all_need_not_wait_for_anybody() {
    // An hour is more than the patience of the test.
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let crawl = desk.start_crawl(&lab.seeds(), &["--delay", "1h"]);
    crate::desk::wait_until(|| lab.request_count() > 0);
    crawl.kill();
    // The killed process may have sent a request just before.
    let again = desk.start_crawl(&lab.seeds(), &["--delay", "1h"]);
    crate::desk::wait_until(|| desk.status().is_some_and(|status| status["hosts_waiting"] == 1));
    again.kill();
    assert_eq!(lab.request_count(), 1);
}
