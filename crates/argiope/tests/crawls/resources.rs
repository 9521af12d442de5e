//! What pages are shown with: pictures, styles, scripts. Asked for where `--resources` says so, and never as pages.

use crate::desk::{Desk, at, lab, sorted};
use crate::site::{Site, body, page, status};
use argiope_lab::{AccessEntry, Lab, SiteKind};
use serde_json::Value;

const BRISK: &str = "politeness: {default_delay: 1ms, adaptive: false, breaker: false}\n";

fn resources(desk: &Desk) -> Vec<Value> {
    desk.run(&["export", "--what", "resources"]).ok().json_lines()
}

fn row<'r>(rows: &'r [Value], url: &str) -> &'r Value {
    rows.iter().find(|row| row["url"] == url).unwrap_or_else(|| panic!("{url} is not in {rows:?}"))
}

/// The methods by which a path was asked for, in order.
fn methods(lab: &Lab, path: &str) -> Vec<String> {
    let mut log: Vec<AccessEntry> = lab.access_log().into_iter().filter(|entry| entry.path == path).collect();
    log.sort_by_key(|entry| entry.started_us);
    log.into_iter().map(|entry| entry.method).collect()
}

#[test]
fn broken_pictures_are_found_with_the_page_they_are_on() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Embedded], 3, 0));
    desk.write("argiope.yaml", BRISK);
    let run = desk.crawl(&lab.seeds(), &["--resources", "check"]).ok();
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains("of these pages requested, 3 broken"), "{told}");
    let rows = resources(&desk);
    let broken: Vec<Value> = rows.iter().filter(|row| row["status"] != 200).cloned().collect();
    let missing = ["/e/missing-2x.png", "/e/missing-poster.jpg", "/e/missing.png"];
    assert_eq!(sorted(&broken, "url"), missing.map(|path| at(&lab, 0, path)));
    for row in &broken {
        assert_eq!(row["status"], 404, "{row}");
        assert_eq!(row["source"], at(&lab, 0, "/e/gallery"), "{row}");
    }
    let there = row(&rows, &at(&lab, 0, "/e/there.png"));
    assert_eq!(there["content_type"], "image/png");
    assert!(there["bytes"].as_u64() > Some(0) && there["archive"].is_null(), "{there}");
    assert_eq!(row(&rows, &at(&lab, 0, "/e/film.mp4"))["bytes"], 5000);
    assert_eq!(row(&rows, &at(&lab, 0, "/e/moved.png"))["final_url"], at(&lab, 0, "/e/there.png"));
    for path in
        ["/e/there,2.png", "/e/in-svg.png", "/e/style.css", "/e/script.js", "/e/font.woff2", "/e/film.swf"]
    {
        assert_eq!(row(&rows, &at(&lab, 0, path))["status"], 200, "{path}");
        assert_eq!(methods(&lab, path), ["HEAD"], "{path}");
    }
    // What looks broken is asked for as a whole before it is said to be.
    for path in ["/e/no-head.png", "/e/wrong-head.png", "/e/missing.png"] {
        assert_eq!(methods(&lab, path), ["HEAD", "GET"], "{path}");
    }
    assert_eq!(row(&rows, &at(&lab, 0, "/e/no-head.png"))["status"], 200);
    let listed = desk.run(&["export", "--what", "broken"]).ok().json_lines();
    assert_eq!(sorted(&listed, "url"), missing.map(|path| at(&lab, 0, path)));
    assert!(listed.iter().all(|row| row["source"] == at(&lab, 0, "/e/gallery")), "{listed:?}");
    assert_eq!(row(&rows, &at(&lab, 0, "/e/wrong-head.png"))["status"], 200);
}

#[test]
fn resources_are_no_pages_and_no_links_of_the_graph() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Embedded], 3, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--resources", "check"]).ok();
    let pages = sorted(&desk.pages(), "url");
    assert_eq!(pages, crate::desk::expected(&lab), "the pages are those of a crawl without resources");
    let graph = desk.run(&["graph", "export", "-f", "json", "-o", "-"]).ok().stdout;
    assert!(graph.contains("/e/drawn") && !graph.contains(".png") && !graph.contains(".css"), "{graph}");
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("3 of them broken"), "{report}");
    desk.run(&["audit"]).ok();
    let why = desk.run(&["why", &at(&lab, 0, "/e/missing.png")]).ok().stdout;
    let gallery = at(&lab, 0, "/e/gallery");
    assert!(why.contains("a resource of a page") && why.contains(&gallery) && why.contains("404"), "{why}");
}

#[test]
fn resources_are_requested_only_with_the_option() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Embedded], 3, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &[]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), crate::desk::expected(&lab));
    assert!(methods(&lab, "/e/there.png").is_empty() && resources(&desk).is_empty());
    assert!(lab.access_log().iter().all(|entry| entry.method == "GET"));
}

#[test]
fn resources_can_be_kept_in_the_archive_by_a_job_file() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Embedded], 1, 0));
    desk.write("argiope.yaml", BRISK);
    desk.write("job.yaml", &format!("seeds: ['{}']\nresources: keep\n", lab.seeds()[0]));
    desk.run(&["crawl", "--allow-private", "-c", "job.yaml"]).ok();
    let rows = resources(&desk);
    assert!(rows.iter().all(|row| row["archive"].is_string()), "{rows:?}");
    assert_eq!(methods(&lab, "/e/film.mp4"), ["GET"]);
    assert_eq!(row(&rows, &at(&lab, 0, "/e/film.mp4"))["bytes"], 5000);
    let wrong = desk.run(&["crawl", "http://127.0.0.1:1/", "--resources", "keep", "--no-archive"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("--resources check"), "{}", wrong.stderr);
}

#[test]
fn resources_on_other_hosts_obey_their_robots_txt_and_are_not_followed() {
    let elsewhere = Site::new(|path, _| {
        Some(match path {
            "/robots.txt" => body("text/plain", "", "User-agent: *\nDisallow: /private/\n"),
            "/pic.png" => body("image/png", "", "png"),
            "/page" => page("<a href=/secret>more</a><img src=/inner.png>"),
            "/moved.png" => status("302 Found", "Location: /private/x.png\r\n"),
            _ => return None,
        })
    });
    let front = elsewhere.front.clone();
    let site = Site::new(move |path, _| {
        Some(match path {
            "/" => page(&format!(
                "<img src='{front}pic.png'><img src='{front}private/y.png'><embed src='{front}page' type=x/y>\
                 <img src='{front}moved.png'><img src='{front}pic.png#again'>"
            )),
            "/second" => page(&format!("<img src='{front}pic.png'>")),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.crawl(&[site.front.clone(), site.url("second")], &["--delay", "0", "--resources", "check"]).ok();
    let rows = resources(&desk);
    let expected = ["moved.png", "page", "pic.png"].map(|path| elsewhere.url(path));
    assert_eq!(sorted(&rows, "url"), expected);
    assert_eq!(elsewhere.asked("/pic.png"), 1, "once for all pages");
    assert_eq!(elsewhere.asked("/secret") + elsewhere.asked("/inner.png"), 0);
    assert_eq!(elsewhere.asked("/private/y.png") + elsewhere.asked("/private/x.png"), 0);
    let moved = row(&rows, &elsewhere.url("moved.png"));
    assert!(moved["error"].as_str().unwrap().contains("robots_disallowed"), "{moved}");
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    let refused = row(&skipped, &elsewhere.url("private/y.png"));
    assert_eq!(refused["reason"], "robots_disallowed");
    assert_eq!(sorted(&desk.pages(), "url"), [site.front.clone(), site.url("second")]);
}

#[test]
fn a_job_that_has_its_pages_still_asks_for_what_they_are_shown_with() {
    let site = Site::new(|path, _| {
        Some(match path {
            "/" => page(
                "<a href=/b>b</a><a href=/c>c</a><img src=/1.png><img src=/2.png><script src=/3.js></script>",
            ),
            "/b" | "/c" => page("<img src=/4.png>"),
            "/1.png" | "/2.png" | "/4.png" => body("image/png", "", "png"),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.crawl(
        std::slice::from_ref(&site.front),
        &["--delay", "0", "--max-pages", "1", "--resources", "check"],
    )
    .ok();
    assert_eq!(desk.pages().len(), 1);
    let rows = resources(&desk);
    assert_eq!(sorted(&rows, "url"), ["1.png", "2.png", "3.js"].map(|path| site.url(path)));
    assert_eq!(row(&rows, &site.url("3.js"))["status"], 404);
}

#[test]
fn a_killed_crawl_goes_on_with_its_resources() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Embedded], 3, 30));
    desk.write("argiope.yaml", BRISK);
    let running = desk.start_crawl(&lab.seeds(), &["--resources", "check"]);
    crate::desk::wait_until(|| !methods(&lab, "/e/there.png").is_empty());
    running.kill();
    desk.crawl(&lab.seeds(), &["--resources", "check"]).ok();
    let rows = resources(&desk);
    let broken: Vec<Value> = rows.iter().filter(|row| row["status"] != 200).cloned().collect();
    assert_eq!(broken.len(), 3, "{broken:?}");
    let mut urls = sorted(&rows, "url");
    let all = urls.len();
    urls.dedup();
    assert_eq!(urls.len(), all, "each has one row");
    assert_eq!(row(&rows, &at(&lab, 0, "/e/film.mp4"))["bytes"], 5000);
    assert_eq!(sorted(&desk.pages(), "url"), crate::desk::expected(&lab));
}
