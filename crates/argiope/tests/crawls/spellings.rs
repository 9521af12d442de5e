//! One URL in several spellings is one page; parameters that the normal form drops are named where they merge URLs.

use crate::desk::Desk;
use crate::site::{Site, body, page};

const QUICK: &str = "politeness: {default_delay: 0}\n";

fn site() -> Site {
    Site::new(|path, _| {
        match path {
        "/" => Some(page(
            "<title>Front</title>
             <a href='/one?x=1&amp;y=2'>a</a> <a href='/one?y=2&amp;x=1'>b</a> <a href='/.//one?x=1&amp;y=2'>f</a>
             <a href='/%6Fne?x=1&amp;y=2'>c</a> <a href='/./one?x=1&amp;y=2&amp;utm_medium=mail'>d</a>
             <a href='/one?&amp;x=1&amp;&amp;y=2'>e</a>
             <a href='/tree?ref=main'>main</a> <a href='/tree?ref=dev'>dev</a> <a href='/tree?ref=v1'>v1</a>
             <a href='/cms?sid=77'>77</a> <a href='/cms?sid=78'>78</a>
             <a href='/cms?sid=77&amp;session_id=0123456789abcdef'>77</a>",
        )),
        path if path.starts_with("/robots.txt") || path.starts_with("/sitemap") => None,
        path => Some(page(&format!("<title>{path}</title>{path}"))),
    }
    })
}

fn paths(desk: &Desk, site: &Site) -> Vec<String> {
    let mut paths: Vec<String> =
        desk.pages().iter().map(|row| row["url"].as_str().unwrap().replace(&site.front, "/")).collect();
    paths.sort();
    paths
}

#[test]
fn five_spellings_of_one_url_are_one_fetch_of_the_first() {
    let (desk, site) = (Desk::new(), site());
    desk.write("argiope.yaml", QUICK);
    desk.crawl(std::slice::from_ref(&site.front), &[]).ok();
    assert_eq!(paths(&desk, &site), ["/", "/cms?sid=77", "/cms?sid=78", "/one?x=1&y=2", "/tree?ref=main"]);
    for asked in ["/one?x=1&y=2", "/tree?ref=main", "/cms?sid=77", "/cms?sid=78"] {
        assert_eq!(site.asked(asked), 1, "{asked}");
    }
}

#[test]
fn merged_urls_are_counted_by_parameter_and_host_and_why_names_page_and_parameter() {
    let (desk, site) = (Desk::new(), site());
    desk.write("argiope.yaml", QUICK);
    let run = desk.crawl(std::slice::from_ref(&site.front), &[]).ok();
    let host = site.front.trim_start_matches("http://").trim_end_matches('/').to_owned();
    assert!(run.stdout.contains(&format!("2 URLs of {host} by 'ref'")), "{}", run.stdout);
    assert!(run.stdout.contains("keep_parameters"), "{}", run.stdout);
    let report = desk.run(&["report"]).ok().stdout;
    assert!(report.contains("ignored parameter"), "{report}");
    for parameter in ["ref", "utm_medium", "session_id"] {
        let row = format!("{host}  {parameter}");
        assert!(report.contains(&row), "{row} is missing in\n{report}");
    }
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    let merged: Vec<String> = skipped
        .iter()
        .filter(|row| row["reason"] == "merged")
        .map(|row| row["url"].as_str().unwrap().replace(&site.front, "/"))
        .collect();
    assert!(
        merged.contains(&String::from("/tree?ref=dev")) && !merged.contains(&String::from("/tree?ref=main"))
    );
    let why = desk.run(&["why", "--json", &site.url("/tree?ref=dev")]).ok().json();
    assert_eq!(
        (&why["decision"], &why["duplicate_of"]),
        (&"duplicate".into(), &site.url("/tree?ref=main").into())
    );
    let steps = why["steps"].to_string();
    assert!(steps.contains("'ref'") && steps.contains("keep_parameters"), "{steps}");
    let fetched = desk.run(&["why", "--json", &site.url("/tree?ref=main")]).ok().json();
    assert_eq!(fetched["decision"], "fetched");
    let respelled = desk.run(&["why", "--json", &site.url("/one?y=2&x=1")]).ok().json();
    assert_eq!(
        (&respelled["decision"], &respelled["url"]),
        (&"fetched".into(), &site.url("/one?x=1&y=2").into())
    );
}

#[test]
fn parameters_are_kept_and_dropped_by_domain() {
    let (desk, site) = (Desk::new(), site());
    desk.write("argiope.yaml", QUICK);
    desk.write(
        "job.yaml",
        "normal_form:\n  drop_parameters: [sid]\n  domains:\n    127.0.0.1: {keep_parameters: [ref], drop_parameters: [y]}\n",
    );
    desk.crawl(std::slice::from_ref(&site.front), &["-c", "job.yaml"]).ok();
    assert_eq!(
        paths(&desk, &site),
        ["/", "/cms?sid=77", "/one?x=1&y=2", "/tree?ref=dev", "/tree?ref=main", "/tree?ref=v1"]
    );
    let wrong = "normal_form: {domains: {a.test: {keep: [ref]}}}\n";
    desk.write("wrong.yaml", wrong);
    let refused = desk.crawl(std::slice::from_ref(&site.front), &["-c", "wrong.yaml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("keep_parameters"), "{}", refused.stderr);
}

#[test]
fn a_spelling_that_is_refused_leaves_the_page_to_one_that_is_not() {
    let robots = "User-agent: *\nDisallow: /*utm_campaign\nDisallow: /no//go\nDisallow: /priv?b=2\n";
    let site = Site::new(move |path, _| match path {
        "/robots.txt" => Some(body("text/plain", "", robots)),
        "/" => Some(page(
            "<a href='/no//go'>1</a> <a href='/no/go'>2</a> <a href='/priv?b=2&amp;a=1'>3</a>
             <a href='/priv?a=1&amp;b=2'>4</a> <a href='/art?utm_campaign=x'>5</a> <a href='/art'>6</a>
             <a href='/out?ref=mail'>7</a> <a href='/out'>8</a>",
        )),
        path if path.starts_with("/sitemap") => None,
        path => Some(page(path)),
    });
    let desk = Desk::new();
    desk.write("argiope.yaml", QUICK);
    desk.crawl(std::slice::from_ref(&site.front), &["--exclude", "ref=mail"]).ok();
    assert_eq!(paths(&desk, &site), ["/", "/art", "/no/go", "/out", "/priv?a=1&b=2"]);
    assert_eq!(desk.run(&["why", "--json", &site.url("/art")]).ok().json()["decision"], "fetched");
    for forbidden in ["/no//go", "/priv?b=2&a=1", "/art?utm_campaign=x", "/out?ref=mail"] {
        assert_eq!(site.asked(forbidden), 0, "{forbidden}");
    }
}

#[test]
fn merged_urls_of_lists_and_without_a_parameter_are_counted_and_no_url_is_merged_with_itself() {
    let site = Site::new(|path, _| match path {
        "/" => Some(page(
            "<a href='/bare?ref=main'>a</a> <a href='/two'>b</a> <a href='/same?utm_source=s'>c</a>",
        )),
        "/two" => Some(page("<a href='/bare'>a</a> <a href='/same?utm_source=s'>b</a>")),
        path if path.starts_with("/robots.txt") || path.starts_with("/sitemap") => None,
        path => Some(page(path)),
    });
    let host = site.front.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let desk = Desk::new();
    desk.write("argiope.yaml", QUICK);
    let run = desk.crawl(std::slice::from_ref(&site.front), &[]).ok();
    assert!(run.stdout.contains(&format!("1 URL of {host} by 'ref'")), "{}", run.stdout);
    assert!(!run.stdout.contains("utm_source"), "{}", run.stdout);
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert_eq!((&skipped[0]["url"], &skipped[0]["reason"]), (&site.url("/bare").into(), &"merged".into()));

    let desk = Desk::new();
    desk.write("argiope.yaml", QUICK);
    let urls: Vec<String> = (1..=4).map(|n| site.url(&format!("/x?ref={n}"))).collect();
    desk.write("list.txt", &urls.join("\n"));
    let run = desk.crawl(&[], &["--list", "list.txt", "--depth", "0"]).ok();
    assert!(run.stdout.contains(&format!("3 URLs of {host} by 'ref'")), "{}", run.stdout);
}
