//! Responses of unusual kinds: the errors and statuses in their records.

use crate::desk::Desk;
use crate::site::{Site, body, page, status};
use serde_json::Value;

const LINKS: [&str; 4] = ["into-hidden", "no-location", "denied", "odd-coding"];

fn answer(path: &str, _origin: &str) -> Option<String> {
    Some(match path {
        "/robots.txt" => body("text/plain", "", "User-agent: *\nDisallow: /hidden\n"),
        "/" => {
            let links: String = LINKS.iter().map(|link| format!("<a href={link}>x</a>")).collect();
            page(&links)
        }
        "/into-hidden" => status("302 Found", "Location: /hidden/page\r\n"),
        "/no-location" => status("302 Found", ""),
        "/denied" => status("999 Request denied", ""),
        "/odd-coding" => body("text/html", "Content-Encoding: rot13\r\n", "<gvgyr>Uv</gvgyr>"),
        _ => return None,
    })
}

fn record(desk: &Desk, url: &str) -> (Value, Value) {
    let pages = desk.pages();
    let page = pages.iter().find(|page| page["url"] == url).unwrap_or_else(|| panic!("{url} in {pages:?}"));
    (page["status"].clone(), page["error"].clone())
}

#[test]
fn each_unusual_answer_has_its_status_and_its_word() {
    let (desk, site) = (Desk::new(), Site::new(answer));
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let of = |path: &str| record(&desk, &site.url(path));
    let error =
        format!("redirect: to {}, robots_disallowed: line 2: Disallow: /hidden", site.url("hidden/page"));
    assert_eq!(of("into-hidden"), (302.into(), error.into()));
    assert_eq!(of("no-location"), (302.into(), "redirect: 302 without a Location".into()));
    assert_eq!(of("odd-coding"), (200.into(), "encoding: content encoding 'rot13' is not known".into()));
    assert_eq!(of("denied"), (999.into(), "http: 999".into()));
    assert_eq!(site.asked("/denied"), 1, "a status that nobody knows is final");
    assert_eq!(site.asked("/hidden/page"), 0);
}

#[test]
fn a_redirect_that_ends_at_what_is_forbidden_is_one_of_the_pages_that_are_counted() {
    let links: String = (0..6).map(|n| format!("<a href=/to/{n}>x</a>")).collect();
    let site = Site::new(move |path, _| {
        Some(match path {
            "/robots.txt" => body("text/plain", "", "User-agent: *\nDisallow: /hidden\n"),
            "/" => page(&links),
            path if path.starts_with("/to/") => status("302 Found", &format!("Location: /hidden{path}\r\n")),
            _ => return None,
        })
    });
    let desk = Desk::new();
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--max-pages", "4"]).ok();
    assert!(run.stdout.contains("the page limit is reached"), "{}", run.stdout);
    assert_eq!(desk.pages().len(), 4);
    assert!(desk.pages().iter().all(|page| page["status"].is_u64()), "{:?}", desk.pages());
}

#[test]
fn urls_without_an_answer_have_their_line_among_the_statuses() {
    let site = Site::new(|path, _| {
        Some(match path {
            "/" => page("<a href=/silent>x</a>"),
            "/silent" => String::new(),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.write("argiope.yaml", "politeness: {retries: false}\n");
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let lines: Vec<&str> = run.stdout.lines().skip_while(|line| *line != "By status").take(3).collect();
    assert_eq!(lines, ["By status", "  200 OK     1   50.0 %", "  no answer  1   50.0 %"], "{}", run.stdout);
}
