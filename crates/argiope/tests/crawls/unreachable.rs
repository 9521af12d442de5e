//! Links to hosts that do not answer, and redirects that are not followed: both are listed.

use crate::desk::{Desk, sorted};
use crate::site::{Site, page, status};
use serde_json::Value;
use std::net::TcpListener;

/// A port without a listener.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

/// Does not wait long for a robots.txt that does not come.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("argiope.yaml", "politeness:\n  robots:\n    retry_after: [100ms]\n");
    desk
}

fn export(desk: &Desk, what: &str) -> Vec<Value> {
    desk.run(&["export", "--what", what]).ok().json_lines()
}

#[test]
fn links_and_resources_of_dead_hosts_are_broken() {
    let dead = nobody();
    let linked = dead.clone();
    let site = Site::new(move |path, _| match path {
        "/" => {
            Some(page(&format!("<a href='{linked}x'>first</a> <a href=/2>2</a> <img src='{linked}i.png'>")))
        }
        "/2" => Some(page(&format!("<a href='{linked}x'>second</a>"))),
        _ => None,
    });
    let desk = desk();
    desk.crawl(&[site.url("/")], &["--delay", "0", "--resources", "check", "--scope", "any"]).ok();
    let broken = export(&desk, "broken");
    let of = |url: &str| broken.iter().filter(|row| row["url"] == url).cloned().collect::<Vec<_>>();
    let links = of(&format!("{dead}x"));
    assert_eq!(sorted(&links, "source"), [site.url("/"), site.url("/2")], "{broken:?}");
    assert_eq!(sorted(&links, "anchor"), ["first", "second"]);
    for row in links.iter().chain(&of(&format!("{dead}i.png"))) {
        assert_eq!(row["status"], Value::Null, "{row}");
        let error = row["error"].as_str().unwrap();
        assert!(error.starts_with("robots.txt unreachable: connect"), "{error}");
    }
    assert_eq!(of(&format!("{dead}i.png")).len(), 1, "{broken:?}");
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("Broken links") && report.contains(&format!("{dead}x")), "{report}");
}

#[test]
fn a_host_that_answers_its_robots_txt_with_an_error_is_not_broken() {
    let other = Site::new(|_, _| Some(status("503 Unavailable", "")));
    let linked = other.url("/x");
    let site = Site::new(move |path, _| (path == "/").then(|| page(&format!("<a href='{linked}'>x</a>"))));
    let desk = desk();
    desk.crawl(&[site.url("/")], &["--delay", "0", "--scope", "any"]).ok();
    let skipped = export(&desk, "skipped");
    assert!(skipped.iter().any(|row| row["url"] == other.url("/x").as_str()), "{skipped:?}");
    assert_eq!(export(&desk, "broken"), [] as [Value; 0]);
}

#[test]
fn a_url_that_waits_for_the_robots_txt_of_its_other_origin_is_listed_at_once() {
    let site = Site::new(|path, origin| {
        let secure = origin.replace("http://", "https://");
        (path == "/").then(|| page(&format!("<a href='{secure}/secure'>login</a>")))
    });
    let desk = desk();
    let run = desk.crawl(&[site.url("/")], &["--delay", "0"]).ok();
    assert!(run.stdout.contains("robots.txt is unreachable"), "{}", run.stdout);
    let secure = site.url("/secure").replace("http://", "https://");
    let skipped = export(&desk, "skipped");
    let row = skipped.iter().find(|row| row["url"] == secure.as_str());
    let row = row.unwrap_or_else(|| panic!("{skipped:?}\n{}", run.stdout));
    assert_eq!((&row["reason"], &row["source"]), (&"robots_unreachable".into(), &site.url("/").into()));
    assert!(row["detail"].as_str().unwrap().contains("is unreachable ("), "{row}");
    let broken = export(&desk, "broken");
    assert_eq!(sorted(&broken, "url"), [secure]);
    assert_eq!(broken[0]["anchor"], "login");
}

#[test]
fn every_redirect_is_exported_followed_or_not() {
    let site = Site::new(|path, _| match path {
        "/" => Some(page("<a href=/out>o</a><a href=/loop1>l</a><a href=/self>s</a><a href=/moved>m</a>")),
        "/out" => Some(status("301 Moved", "Location: http://elsewhere.test/x\r\n")),
        "/loop1" => Some(status("302 Found", "Location: /loop2\r\n")),
        "/loop2" => Some(status("302 Found", "Location: /loop1\r\n")),
        "/self" => Some(status("302 Found", "Location: /self\r\n")),
        "/moved" => Some(status("301 Moved", "Location: /\r\n")),
        _ => None,
    });
    let desk = Desk::new();
    desk.crawl(&[site.url("/")], &["--delay", "0", "--cookie-jar", "off"]).ok();
    let rows = export(&desk, "redirects");
    let way = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap_or("null").replace(&site.front, "/");
        format!("{} {} -> {}, {}", row["hop"], text("from"), text("to"), text("final_url"))
    };
    let mut ways: Vec<String> = rows.iter().map(way).collect();
    ways.sort();
    let expected = [
        "1 /loop1 -> /loop2, null",
        "1 /moved -> /, /",
        "1 /out -> http://elsewhere.test/x, null",
        "1 /self -> /self, null",
        "2 /loop2 -> /loop1, null",
    ];
    assert_eq!(ways, expected);
}
