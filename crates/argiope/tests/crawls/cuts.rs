//! Nothing is cut silently: what limits and trap rules skip is shown in summary and report, exported, and explained.

use crate::desk::{Desk, at, lab};
use crate::site::{Site, page};
use argiope_lab::SiteKind;
use serde_json::Value;
use std::fmt::Write;

const QUICK: &[&str] = &["--delay", "0"];

fn skipped(desk: &Desk, reason: &str) -> Vec<Value> {
    let rows = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    rows.into_iter().filter(|row| row["reason"] == reason).collect()
}

fn index(links: u32) -> String {
    let mut html = String::from("<title>Index</title>");
    for n in 0..links {
        let _ = writeln!(html, "<a href=/p/{n}>{n}</a>");
    }
    page(&html)
}

#[test]
fn links_beyond_the_limit_of_a_page_are_counted_named_and_explained() {
    let site = Site::new(|path, _| match path {
        "/" => Some(index(10_169)),
        path if path.starts_with("/p/") => Some(page("<title>A page</title>one of many")),
        _ => None,
    });
    let desk = Desk::new();
    let front = site.front.clone();
    let run = desk.crawl(std::slice::from_ref(&front), &["--delay", "0", "--max-pages", "3"]).ok();
    let told = format!("  link limit  {front}\n    169 links; fetch with --max-links N\n");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("Skipped by limits") && report.contains("169 links"), "{report}");
    let counted = report.lines().find(|line| line.trim_start().starts_with("too_many_links"));
    assert!(counted.is_some_and(|line| line.ends_with(" 169")), "{report}");
    assert_eq!(skipped(&desk, "over_link_limit").len(), 169);
    let about = skipped(&desk, "too_many_links");
    assert_eq!((about.len(), about[0]["url"].as_str()), (1, Some(front.as_str())));
    let why = desk.run(&["why", &site.url("/p/10100")]).ok().stdout;
    assert!(
        why.starts_with("filtered\n") && why.contains(&format!("over the link limit of {front}")),
        "{why}"
    );
    let why = desk.run(&["why", &front]).ok().stdout;
    assert!(why.starts_with("fetched\n") && why.contains("169 links over the limit of 10000"), "{why}");
    // All of them with a higher limit, and the lower the more.
    for (limit, beyond) in [("20000", 0), ("100", 10_069)] {
        let options = ["--delay", "0", "--max-pages", "3", "--fresh", "--max-links", limit];
        let run = desk.crawl(std::slice::from_ref(&front), &options).ok();
        assert_eq!(run.stdout.contains("link limit"), beyond > 0, "{}", run.stdout);
        let counts = desk.run(&["report"]).ok().stdout;
        assert_eq!(counts.contains("10,069 links"), beyond > 0, "{counts}");
        // No more than a sample is kept one by one.
        assert_eq!(skipped(&desk, "over_link_limit").len(), beyond.min(1000));
    }
    // A URL outside the sample cannot be distinguished from one that was never linked.
    let why = desk.run(&["why", &site.url("/p/9000")]).ok().stdout;
    let note = format!("more links than the limit (the first is {front}: 10069 links over the limit of 100");
    assert!(why.starts_with("unknown\n") && why.contains(&note), "{why}");
}

#[test]
fn what_is_over_the_limit_of_one_page_and_found_on_another_is_fetched() {
    let site = Site::new(|path, _| match path {
        "/" => Some(page("<a href=/a>a</a><a href=/b>b</a>")),
        "/a" => Some(page("<a href=/b>b</a>")),
        _ => Some(page("text")),
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--max-links", "1"]).ok();
    assert_eq!((site.asked("/a"), site.asked("/b")), (1, 1));
    assert_eq!(skipped(&desk, "over_link_limit").len(), 0, "it was fetched after all");
    assert_eq!(skipped(&desk, "too_many_links").len(), 1);
    assert!(desk.run(&["why", &site.url("/b")]).ok().stdout.starts_with("fetched\n"));
}

#[test]
fn urls_that_are_too_long_leave_a_record() {
    let long = |length: usize| format!("/long?q={}", "x".repeat(length));
    let site = Site::new(move |path, _| match path {
        "/" => {
            let links = [3000, 20_000, 100_000].map(|length| format!("<a href='{}'>x</a>", long(length)));
            Some(page(&format!("{}<a href=/short>short</a>", links.concat())))
        }
        "/short" => Some(page("text")),
        _ => None,
    });
    let desk = Desk::new();
    let run = desk.crawl(std::slice::from_ref(&site.front), QUICK).ok();
    let host = site.front.trim_start_matches("http://").trim_end_matches('/');
    assert!(
        run.stdout.contains(&format!("  URL too long  {host}\n    3 URLs, such as http")),
        "{}",
        run.stdout
    );
    let report = desk.run(&["report"]).ok().stdout;
    let counted = report.lines().find(|line| line.trim_start().starts_with("url_too_long"));
    assert!(counted.is_some_and(|line| line.ends_with(" 3")), "{report}");
    let rows = skipped(&desk, "url_too_long");
    let whole = site.url(&long(3000));
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let url = row["url"].as_str().unwrap();
        assert!(url.len() < 300 && url.starts_with(&site.url("/long?q=xxx")), "{url}");
        assert_eq!(row["source"], site.front.as_str());
    }
    let length = format!("{} characters, over max_url_length 2048", whole.len());
    assert!(rows.iter().any(|row| row["detail"] == length.as_str()), "{rows:?}");
    let why = desk.run(&["why", &whole]).ok().stdout;
    assert!(why.starts_with("filtered\n") && why.contains(&length) && why.contains(&site.front), "{why}");
}

#[test]
fn a_body_that_is_cut_leaves_a_record() {
    let site = Site::new(|path, _| match path {
        "/" => Some(page("<a href=/large>large</a>")),
        "/large" => Some(page(&format!("<p>{}</p><a href=/hidden>hidden</a>", "word ".repeat(40_000)))),
        _ => Some(page("text")),
    });
    let desk = Desk::new();
    let large = site.url("/large");
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--max-body", "50KB"]).ok();
    assert!(
        run.stdout.contains(&format!("  body cut  {large}\n    150.0 kB; fetch with --max-body SIZE\n")),
        "{}",
        run.stdout
    );
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("body_truncated") && report.contains(&large), "{report}");
    let rows = skipped(&desk, "body_truncated");
    assert_eq!((rows.len(), rows[0]["url"].as_str()), (1, Some(large.as_str())));
    let detail = rows[0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("body over 50000 bytes; 1500"), "{detail}");
    let why = desk.run(&["why", &large]).ok().stdout;
    assert!(
        why.starts_with("fetched\n") && why.contains("body_truncated") && why.contains("--max-body"),
        "{why}"
    );
    assert_eq!(site.asked("/hidden"), 0);
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--fresh", "--max-body", "1MB"]).ok();
    assert_eq!((site.asked("/hidden"), skipped(&desk, "body_truncated").len()), (1, 0));
    let wrong = desk.crawl(std::slice::from_ref(&site.front), &["--max-body", "much"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("500KB"), "{}", wrong.stderr);
}

#[test]
fn retry_fetches_a_truncated_body_again() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let site = Site::new(move |path, _| match path {
        "/" => Some(page("<a href=/broken>broken</a>")),
        "/broken" => {
            let whole = page("<p>text</p><a href=/hidden>hidden</a>");
            let first = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            Some(if first { whole.replace("<a href=/hidden>hidden</a>", "") } else { whole })
        }
        _ => Some(page("text")),
    });
    let desk = Desk::new();
    let broken = site.url("/broken");
    let seeds = std::slice::from_ref(&site.front);
    let run = desk.crawl(seeds, &["--delay", "0"]).ok();
    let told = format!("  body broken off  {broken}\n    26 B; 'argiope retry' fetches it again\n");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    let detail = skipped(&desk, "body_truncated")[0]["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.ends_with("run 'argiope retry' to fetch it again") && !detail.contains("--max-body"),
        "{detail}"
    );
    let why = desk.run(&["why", &broken]).ok().stdout;
    assert!(why.contains("'argiope retry'") && !why.contains("--max-body"), "{why}");
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("argiope retry") && !report.contains("--max-body"), "{report}");
    let retried = desk.run(&["retry", &broken]).ok().stdout;
    assert!(retried.contains('1'), "{retried}");
    desk.crawl(seeds, &["--delay", "0"]).ok();
    assert_eq!((site.asked("/broken"), site.asked("/hidden")), (2, 1));
}

#[test]
fn urls_with_too_many_parameters_are_listed_with_the_key_that_lets_them_through() {
    let query: Vec<String> = (0..21).map(|number| format!("p{number}=1")).collect();
    let path = format!("/many?{}", query.join("&"));
    let link = path.clone();
    let site = Site::new(move |path, _| match path {
        "/" => Some(page(&format!("<a href='{link}'>many</a>"))),
        _ => Some(page("text")),
    });
    let desk = Desk::new();
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    assert!(run.stdout.contains("  trap: query_parameters  "), "{}", run.stdout);
    assert!(run.stdout.contains("    1 URL; fetch with max_query_parameters, such as"), "{}", run.stdout);
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("max_query_parameters"), "{report}");
    let why = desk.run(&["why", &site.url(&path)]).ok().stdout;
    assert!(why.contains("21 query parameters, over max_query_parameters 20"), "{why}");
}

/// Pages without end that differ in numbers only.
fn paginator() -> Site {
    Site::new(|path, _| {
        let number: u64 = match path {
            "/" => 1,
            path => path.strip_prefix("/list?page=")?.parse().ok()?,
        };
        let template = "The same words stand on every page of this list and nothing else does. ".repeat(20);
        let links: String = (1..=10)
            .map(|step| format!("<a href='/list?page={}'>{}</a> ", number + step, number + step))
            .collect();
        Some(page(&format!("<title>List, page {number}</title>{template} Page {number} {links}")))
    })
}

const EAGER: &str = "traps: {urls_per_pattern: 40, pages_before_judgement: 10}\nmax_depth: 1000\n";

#[test]
fn an_endless_paginator_is_left_and_told_with_its_rule_and_its_setting() {
    let (desk, site) = (Desk::new(), paginator());
    desk.write("job.yaml", EAGER);
    let options = ["--delay", "0", "-c", "job.yaml", "--max-pages", "2000"];
    let run = desk.crawl(std::slice::from_ref(&site.front), &options).ok();
    let pages = desk.pages().len();
    assert!((40..200).contains(&pages), "{pages} pages\n{}", run.stdout);
    let host = site.front.trim_start_matches("http://").trim_end_matches('/');
    assert!(run.stdout.contains(&format!("  trap: near_duplicates  {host}/list?page=*\n")), "{}", run.stdout);
    assert!(run.stdout.contains("; fetch with --no-traps, such as http"), "{}", run.stdout);
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("trap: near_duplicates") && report.contains("--no-traps"), "{report}");
    let held_back = skipped(&desk, "trap");
    let example = held_back[0]["url"].as_str().unwrap();
    let why = desk.run(&["why", example]).ok().stdout;
    assert!(why.starts_with("trap\n") && why.contains("near-duplicates of each other"), "{why}");
    assert!(
        why.contains("rule near_duplicates: --no-traps fetches it") && why.contains("traps.domains"),
        "{why}"
    );
}

#[test]
fn traps_can_be_switched_off_on_the_command_line_and_for_a_domain() {
    let (desk, site) = (Desk::new(), paginator());
    desk.write("job.yaml", EAGER);
    let limit = ["--delay", "0", "--max-pages", "300", "--fresh", "-c"];
    let crawl = |more: &[&str]| {
        let options: Vec<&str> = limit.iter().chain(more).copied().collect();
        desk.crawl(std::slice::from_ref(&site.front), &options).ok();
        desk.pages().len()
    };
    assert_eq!(crawl(&["job.yaml", "--no-traps"]), 300);
    let eager = EAGER.replace("10}", "10, domains: {127.0.0.1: {enabled: false}}}");
    desk.write("domain.yaml", &eager);
    assert_eq!(crawl(&["domain.yaml"]), 300);
    desk.write("other.yaml", &eager.replace("127.0.0.1", "example.com"));
    assert!(crawl(&["other.yaml"]) < 200);
}

#[test]
fn a_maze_of_session_ids_is_left() {
    // Twelve pages, under a new name at every visit.
    let site = Site::new(|path, _| {
        let seed =
            path.bytes().fold(7u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        let number = path.rsplit('/').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let words = [
            "red", "green", "blue", "black", "white", "grey", "pink", "gold", "brown", "tan", "sand", "lime",
        ];
        let word = words[(number % 12) as usize];
        let text = format!("{word} things are {word} and like other {word} things. ").repeat(15);
        let links: String = (0..6)
            .map(|n| {
                format!("<a href='/s/{:016x}a1/{}'>more</a>", seed.wrapping_add(n * 7919), (number + n) % 12)
            })
            .collect();
        Some(page(&format!("<title>{word}</title>{text}{links}")))
    });
    let desk = Desk::new();
    desk.write("job.yaml", EAGER);
    let options = ["--delay", "0", "-c", "job.yaml", "--max-pages", "2000"];
    let run = desk.crawl(std::slice::from_ref(&site.front), &options).ok();
    let pages = desk.pages().len();
    assert!((12..1000).contains(&pages), "{pages} pages\n{}", run.stdout);
    assert!(run.stdout.contains("/s/{id}/{n}\n"), "{}", run.stdout);
}

#[test]
fn products_with_a_short_text_in_a_long_template_are_all_fetched() {
    // Each names others that are new, as a shop does.
    let products = 150u64;
    let site = Site::new(move |path, _| {
        let number: u64 = match path {
            "/" => 0,
            path => path.strip_prefix("/product/")?.parse().ok().filter(|n| *n < products)?,
        };
        let name: String =
            (0..4).map(|at| char::from(b'a' + (number * 7919 / 26u64.pow(at) % 26) as u8)).collect();
        let template = "All our products come with free delivery and a guarantee of many years. ".repeat(100);
        let links: String = (1..=3).map(|n| format!("<a href='/product/{}'>x</a>", number * 3 + n)).collect();
        Some(page(&format!("<title>The {name} lamp</title><p>The {name} lamp, {name}.</p>{template}{links}")))
    });
    let desk = Desk::new();
    desk.write("job.yaml", EAGER);
    let run = desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "-c", "job.yaml"]).ok();
    assert!(!run.stdout.contains("trap"), "{}", run.stdout);
    let fetched = desk.pages().iter().filter(|page| page["status"] == 200).count();
    assert_eq!(fetched as u64, products, "the front page is product 0");
}

#[test]
fn an_archive_of_different_texts_that_lead_only_to_each_other_is_fetched_whole() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Archive], 400, 0));
    let options = ["--delay", "0", "--per-host", "8", "--depth", "1000"];
    let run = desk.start_crawl(&lab.seeds(), &options).wait().ok();
    assert!(!run.stdout.contains("trap"), "{}", run.stdout);
    let entries = desk.pages().iter().filter(|page| text_of(page, "url").contains("/entry/")).count();
    assert_eq!(entries, 1200);
    assert!(desk.run(&["why", &at(&lab, 0, "/entry/1200")]).ok().stdout.starts_with("fetched\n"));
}

fn text_of<'v>(row: &'v Value, field: &str) -> &'v str {
    row[field].as_str().unwrap_or_default()
}
