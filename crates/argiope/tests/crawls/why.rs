//! Each word that `why` may begin with, and what follows it.

use crate::desk::{Desk, at, expected, lab, sorted};
use crate::site::{Site, page, status};
use argiope_lab::SiteKind;

fn word(desk: &Desk, url: &str) -> String {
    let run = desk.run(&["why", url]).ok();
    run.stdout.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_url_is_explained_whatever_became_of_it() {
    let kinds = [SiteKind::RobotsPaths, SiteKind::Ordinary, SiteKind::Duplicates];
    let (desk, lab) = (Desk::new(), lab(&kinds, 5, 0));
    desk.write("job.yaml", "scope: any\nblacklist: [bad.test]\nexclude: ['/left-out/']\n");
    let seeds = [lab.seeds()[0].clone(), lab.seeds()[2].clone()];
    desk.crawl(&seeds, &["--delay", "60ms", "-c", "job.yaml"]).ok();

    let front = &seeds[0];
    let fetched = desk.run(&["why", front]).ok().stdout;
    assert!(fetched.starts_with("fetched\n"), "{fetched}");
    for part in ["a seed", "status 200", "archive ", "answered 200", "robots"] {
        assert!(fetched.contains(part), "{part} in {fetched}");
    }
    // Another spelling is the same URL; without a scheme the one that is known is meant.
    assert_eq!(word(&desk, &front.replace("http", "HTTP")), "fetched");
    assert_eq!(word(&desk, front.trim_start_matches("http://").trim_end_matches('/')), "fetched");
    assert_eq!(word(&desk, &format!("{front}#part")), "fetched");
    assert_eq!(word(&desk, &front.replace("http://", "http://user:pw@")), "fetched");
    let path = desk.run(&["why", "/a"]).ok().stdout;
    assert!(path.contains("it is a path, not a URL") && !path.contains("--list"), "{path}");
    assert_eq!(word(&desk, &format!("{front}?utm_source=letter")), "duplicate");

    let forbidden = desk.run(&["why", &at(&lab, 0, "/private/1")]).ok().stdout;
    assert!(forbidden.starts_with("robots_disallowed\n"), "{forbidden}");
    assert!(forbidden.contains("Disallow: /private/"), "{forbidden}");
    assert_eq!(word(&desk, &at(&lab, 0, "/private/never-linked")), "robots_disallowed");
    let led_off = desk.run(&["why", &at(&lab, 0, "/hop/into-private")]).ok().stdout;
    assert!(led_off.starts_with("fetched\n") && led_off.contains("redirect: to "), "{led_off}");
    assert_eq!(word(&desk, &at(&lab, 0, "/left-out/1")), "filtered");
    assert_eq!(word(&desk, &at(&lab, 0, "/picture.jpg")), "filtered");
    assert_eq!(word(&desk, &at(&lab, 0, "/a/b/a/b/a/b/a/b/a/b")), "trap");
    assert_eq!(word(&desk, "https://www.bad.test/x"), "blacklisted");
    assert_eq!(word(&desk, &at(&lab, 0, "/never-heard-of")), "unknown");
    assert_eq!(word(&desk, "mailto:someone@example.com"), "filtered");

    let pages = desk.pages();
    let twin = pages.iter().find(|page| !page["duplicate_of"].is_null()).expect("a duplicate");
    let said = desk.run(&["why", twin["url"].as_str().unwrap()]).ok().stdout;
    assert!(said.starts_with("fetched\n") && said.contains(twin["duplicate_of"].as_str().unwrap()), "{said}");

    let json = desk.run(&["why", "--json", &at(&lab, 0, "/private/1")]).ok().json();
    assert_eq!(json["decision"], "robots_disallowed");
    assert_eq!(json["job"], 1);
    assert!(json["steps"].as_array().unwrap().iter().any(|step| step["passed"] == false), "{json}");
    assert_eq!(desk.run(&["why", ""]).code, 2);
}

#[test]
fn what_lies_outside_and_what_still_waits_are_told_apart() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Ordinary], 12, 0));
    let seeds = &lab.seeds()[..1];
    desk.crawl(seeds, &["--delay", "0", "--max-pages", "3"]).ok();
    let stored = sorted(&desk.pages(), "url");
    assert_eq!(stored.len(), 3);
    assert_eq!(word(&desk, "https://example.com/"), "out_of_scope");
    assert_eq!(word(&desk, &lab.seeds()[1]), "out_of_scope");
    let mut left =
        expected(&lab).into_iter().filter(|url| url.starts_with(&seeds[0]) && !stored.contains(url));
    assert!(left.any(|url| word(&desk, &url) == "pending"), "what the limit left behind waits");
    let queued = desk.status().unwrap()["queued"].as_u64().unwrap();
    assert!(queued > 0);
}

#[test]
fn a_list_counts_for_the_scope_when_the_crawl_rests() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Ordinary], 3, 0));
    desk.write("urls.txt", &lab.seeds().join("\n"));
    desk.crawl(&[], &["--delay", "0", "--list", "urls.txt"]).ok();
    assert_eq!(word(&desk, &at(&lab, 1, "/never-heard-of")), "unknown");
    assert_eq!(word(&desk, "https://example.com/"), "out_of_scope");
}

#[test]
fn a_robots_file_that_cannot_be_had_is_named() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsBroken], 3, 0));
    let run = desk.crawl(&lab.seeds(), &["--delay", "0"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("robots.txt is unreachable"), "{}", run.stdout);
    let said = desk.run(&["why", &lab.seeds()[0]]).ok().stdout;
    assert!(said.starts_with("robots_unreachable\n"), "{said}");
    assert!(lab.access_log().iter().all(|entry| entry.path == "/robots.txt"));
}

#[test]
fn why_knows_requests_that_were_not_for_pages() {
    let site = Site::new(|path, _| match path {
        "/" => Some(page("<a href=/from>x</a>")),
        "/from" => Some(status("302 Found", "Location: /to\r\n")),
        "/to" => Some(page("here")),
        _ => None,
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let why = |path: &str| desk.run(&["why", &site.url(path)]).ok().stdout;
    let target = why("to");
    assert!(target.starts_with("fetched\n"), "{target}");
    assert!(target.contains(&format!("because {} redirects to it", site.url("from"))), "{target}");
    for path in ["sitemap.xml", "robots.txt"] {
        let said = why(path);
        assert!(said.starts_with("fetched\n") && said.contains("answered 404"), "{said}");
    }
    assert!(why("never").starts_with("unknown\n"));
}

#[test]
fn what_a_limit_left_over_is_said_to_be() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 10, 0));
    desk.crawl(&lab.seeds(), &["--delay", "0", "--max-pages", "2"]).ok();
    let fetched: Vec<String> = desk.pages().iter().map(|page| page["url"].as_str().unwrap().into()).collect();
    let left = expected(&lab).into_iter().filter(|url| !fetched.contains(url));
    let waiting = left.map(|url| desk.run(&["why", &url]).ok().stdout).find(|why| why.starts_with("pending"));
    let why = waiting.expect("something was found and not fetched");
    assert!(why.contains("no  max_pages"), "{why}");
    assert!(why.contains("ended at its limit of 2 pages"), "{why}");
}
