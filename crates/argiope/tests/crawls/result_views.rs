//! What people look for in results: broken links with their sources, links, redirects, failures, hosts; tables that are
//! safe to open; and reading although a variable of the configuration is not set.

use crate::desk::{Desk, Run};
use crate::site::{Site, page, status};
use serde_json::Value;

/// Front page and a second one, links that lead nowhere in several ways, and a title that is a formula.
fn site() -> Site {
    Site::new(|path, origin| match path {
        "/robots.txt" => Some(status("404 Not Found", "")),
        "/" => Some(page(
            "<title>=1+2</title><a href=/two>two</a> <a href='/gone?a=1&b=2'>here</a>
             <a href=/moved rel=nofollow>not followed</a> <a href=/hop>hop</a>",
        )),
        "/two" => Some(page(
            "<a href='/gone?a=1&b=2&utm_source=x'>again</a> <a href=/moved>moved</a> <a href=/fine>f</a>",
        )),
        "/moved" => Some(status("301 Moved Permanently", &format!("Location: {origin}/hop\r\n"))),
        "/hop" => Some(status("302 Found", &format!("Location: {origin}/end\r\n"))),
        "/end" => Some(status("410 Gone", "")),
        "/fine" => Some(page("<a href='/gone?b=2&a=1'>there</a>")),
        "/silent" => Some(String::new()),
        _ => None,
    })
}

fn rows(desk: &Desk, what: &str) -> Vec<Value> {
    desk.run(&["export", "--what", what]).ok().json_lines()
}

/// Some fields of each row, sorted.
fn fields(rows: &[Value], names: &[&str]) -> Vec<Vec<String>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut all: Vec<Vec<String>> =
        rows.iter().map(|row| names.iter().map(|name| text(&row[*name])).collect()).collect();
    all.sort();
    all
}

fn header(desk: &Desk, what: &str) -> String {
    let csv = desk.run(&["export", "--what", what, "-f", "csv"]).ok().stdout;
    csv.lines().next().unwrap().to_owned()
}

#[test]
fn broken_links_are_listed_with_every_page_that_has_them() {
    let (desk, site) = (Desk::new(), site());
    let seeds = [site.front.clone(), site.url("/seed-that-is-gone")];
    desk.crawl(&seeds, &["--delay", "0"]).ok();
    let broken = rows(&desk, "broken");
    let (front, two) = (site.front.clone(), site.url("/two"));
    let gone = site.url("/gone?a=1&b=2");
    let mut expected = vec![
        vec![gone.clone(), "404".into(), front.clone(), "here".into()],
        vec![gone.clone(), "404".into(), site.url("/fine"), "there".into()],
        vec![gone, "404".into(), two.clone(), "again".into()],
        vec![site.url("/moved"), "410".into(), front.clone(), "not followed".into()],
        vec![site.url("/moved"), "410".into(), two, "moved".into()],
        vec![site.url("/hop"), "410".into(), front, "hop".into()],
        vec![site.url("/seed-that-is-gone"), "404".into(), "null".into(), "null".into()],
    ];
    expected.sort();
    assert_eq!(fields(&broken, &["url", "status", "source", "anchor"]), expected);
    assert_eq!(header(&desk, "broken"), "url,status,error,source,anchor");
    let json = desk.run(&["export", "--what", "broken", "-f", "json"]).ok().json();
    assert_eq!(json.as_array().unwrap().len(), expected.len());
    let written = desk.run(&["export", "--what", "broken", "-o", "broken.csv"]).ok();
    assert!(written.stderr.contains("7 broken links written to broken.csv"), "{}", written.stderr);

    let report = desk.run(&["report"]).ok().stdout;
    let section = report.split("\n\n").find(|part| part.starts_with("Broken links")).unwrap();
    let of = |path: &str| {
        let url = site.url(path);
        let line = section.lines().find(|line| line.split_whitespace().nth(2) == Some(&*url));
        line.unwrap_or_else(|| panic!("{url} in {report}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(of("/gone?a=1&b=2")[..2], ["404", "3"]);
    assert_eq!(of("/moved")[..2], ["410", "2"]);
    assert_eq!(of("/seed-that-is-gone")[1], "0");
    // Both pages that link to it, one below the other.
    assert!(section.lines().any(|line| line.trim() == site.url("/two")), "{section}");
    // A single host is listed once.
    assert!(report.contains("\nHosts\n") && !report.contains("Slowest hosts"), "{report}");
}

#[test]
fn links_redirects_failures_and_hosts_are_exported_in_every_format() {
    let (desk, site) = (Desk::new(), site());
    let seeds = [site.front.clone(), site.url("/silent")];
    desk.write("argiope.yaml", "politeness: {retries: false}\n");
    desk.crawl(&seeds, &["--delay", "20ms"]).ok();

    let links = rows(&desk, "links");
    let anchors: Vec<String> = fields(&links, &["kind", "anchor"]).into_iter().flatten().collect();
    let expected = ["again", "f", "here", "hop", "moved", "not followed", "there", "two"];
    assert_eq!(anchors, expected.map(|anchor| ["anchor", anchor]).concat());
    let nofollow = links.iter().find(|link| link["rel"] == "nofollow").expect("a nofollow link");
    assert_eq!(nofollow["anchor"], "not followed");

    let moved = site.url("/moved");
    let hops: Vec<Value> =
        rows(&desk, "redirects").into_iter().filter(|row| row["url"] == moved.as_str()).collect();
    let (hop, end) = (site.url("/hop"), site.url("/end"));
    assert_eq!(
        fields(&hops, &["hop", "status", "from", "to", "final_url", "final_status"]),
        [
            ["1", "301", &moved, &hop, &end, "410"].map(str::to_owned).to_vec(),
            ["2", "302", &hop, &end, &end, "410"].map(str::to_owned).to_vec(),
        ]
    );

    let failed = rows(&desk, "failed");
    assert_eq!(
        fields(&failed, &["url", "attempts", "depth"]),
        [[site.url("/silent"), "1".into(), "0".into()]]
    );
    assert!(
        !failed[0]["error"].as_str().unwrap().is_empty() && failed[0]["failed_at"].is_string(),
        "{failed:?}"
    );

    let hosts = rows(&desk, "hosts");
    assert_eq!(hosts.len(), 1);
    assert_eq!((&hosts[0]["failed"], &hosts[0]["robots_status"]), (&1.into(), &404.into()), "{hosts:?}");
    assert_eq!(hosts[0]["delay_ms"], 20, "{hosts:?}");
    assert_eq!(hosts[0]["pages"], desk.run(&["status", "--json"]).ok().json()["pages"]);

    for (what, fields) in [
        ("links", "source,target,anchor,rel,kind"),
        ("redirects", "url,hop,from,status,to,final_url,final_status"),
        ("failed", "url,error,attempts,depth,source,failed_at"),
        ("hosts", "host,pages,failed,bytes,mean_fetch_ms,max_fetch_ms,robots_status,crawl_delay_ms,delay_ms"),
    ] {
        assert_eq!(header(&desk, what), fields);
        let json = desk.run(&["export", "--what", what, "-f", "json"]).ok().json();
        assert_eq!(json.as_array().unwrap().len(), rows(&desk, what).len(), "{what}");
        let all = desk.run(&["export", "--all", "--what", what]).ok().json_lines();
        assert_eq!(all.len(), rows(&desk, what).len(), "{what}");
        // The help says what a row has.
        let help = desk.run(&["export", "--help"]).ok().stdout;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!(" {what} {} ", fields.replace(',', " "))), "{help}");
    }
}

#[test]
fn a_table_can_be_opened_in_a_spreadsheet() {
    let (desk, site) = (Desk::new(), site());
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "-o", "crawl.csv"]).ok();
    assert!(desk.read("crawl.csv").contains(",'=1+2,"), "{}", desk.read("crawl.csv"));
    let csv = |more: &[&str]| desk.run(&[&["export", "-f", "csv"], more].concat()).ok().stdout;
    assert!(csv(&[]).contains(",'=1+2,") && csv(&["--csv-raw"]).contains(",=1+2,"));
    assert!(csv(&["--bom"]).starts_with("\u{feff}url,") && csv(&[]).starts_with("url,"));
    let title = desk.pages().iter().any(|page| page["title"] == "=1+2");
    assert!(title, "programs get what the page says");
    for option in ["--bom", "--csv-raw"] {
        let run = desk.run(&["export", option]);
        assert!(run.code == 2 && run.stderr.contains(&format!("{option} is for CSV")), "{}", run.stderr);
    }
}

/// `script` gives the program a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
fn messages_and_summary_fit_a_terminal_of_60_columns() {
    let (desk, site) = (Desk::new(), site());
    let program = env!("CARGO_BIN_EXE_argiope");
    let crawl = format!(
        "stty cols 60 rows 24; '{program}' crawl '{}' --allow-private --delay 0 --ignore-robots --name a-name-of-20-letters",
        site.front
    );
    let output = std::process::Command::new("script")
        .args(["-qec", &crawl, "/dev/null"])
        .current_dir(desk.path(""))
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("script, of util-linux");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success() && text.contains("Next commands"), "{text}");
    assert!(text.contains("robots.txt is IGNORED"), "{text}");
    for line in text.lines() {
        // What is redrawn begins with moving up and clearing.
        let shown = line.rsplit("\u{1b}[0J").next().unwrap_or(line);
        assert!(shown.chars().count() < 60, "{shown:?} in {text}");
    }
}

#[test]
fn reading_needs_no_variable_and_crawling_needs_all() {
    let (desk, site) = (Desk::new(), site());
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    desk.write(
        "argiope.yaml",
        "crawl:\n  user_agent: \"bot ${ARGIOPE_TEST_UNSET}\"\npoliteness:\n  domains:\n    a.test:\n      \
         basic_auth: {user: me, password: \"${ARGIOPE_TEST_UNSET}\"}\nstorage:\n  cache_url: \"${ARGIOPE_TEST_UNSET}\"\n",
    );
    desk.write("page.html", "<title>t</title>");
    let two = site.url("/two");
    for words in [
        &["jobs"][..],
        &["status"],
        &["export"],
        &["export", "--html"],
        &["export", "--what", "broken"],
        &["report"],
        &["audit"],
        &["why", &two],
        &["why", "http://elsewhere.test/"],
        &["graph", "rank"],
        &["graph", "export", "-o", "g.json"],
        &["graph", "view", "-o", "g.html"],
        &["inspect", "url", &two],
        &["inspect", "page", "page.html", "--base", &two],
        &["config", "show"],
    ] {
        let run = desk.run(words).ok();
        assert_eq!(run.stderr.contains("ARGIOPE_TEST_UNSET"), words == ["config", "show"], "{}", run.stderr);
    }
    let is_missed = |run: Run, at: &str| {
        assert_eq!(run.code, 2, "{}", run.stderr);
        let text = format!("argiope.yaml:{at}: environment variable 'ARGIOPE_TEST_UNSET' is not set");
        assert!(run.stderr.contains(&text), "{}", run.stderr);
    };
    for at in ["2:15", "6:40", "8:14"] {
        is_missed(desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--fresh"]), at);
        is_missed(desk.run(&["config", "check", "argiope.yaml"]), at);
        is_missed(desk.run(&["inspect", "page", "--allow-private", &two]), at);
    }
    // What is judged by a rule has to know the rule.
    desk.write("argiope.yaml", "politeness: {robots_cache_ttl: \"${ARGIOPE_TEST_UNSET}\"}\n");
    is_missed(desk.run(&["audit"]), "1:32");
    desk.run(&["export"]).ok();
    // Whether there is a cluster, and which, cannot be told without its address.
    desk.write("argiope.yaml", "storage: {metadata_db_url: \"${ARGIOPE_TEST_UNSET}\", html_bucket: x}\n");
    is_missed(desk.run(&["jobs"]), "1:28");
    desk.run(&["--data", "argiope-data", "jobs"]).ok();
}
