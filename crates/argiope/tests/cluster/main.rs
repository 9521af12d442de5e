//! The cluster with real servers and real processes. Every test has a database of its own.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod site;

use site::{DELAY, Site, asked_twice, assert_polite, assert_whole, lab};
use std::time::Duration;

#[test]
fn two_workers_crawl_everything_once_on_postgres() {
    let Some(site) = Site::new("two") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 20, 0);
    let workers = [site.worker("one"), site.worker("two")];
    site.wait_until("both to have shards", || {
        let shares = site.shares();
        shares.len() == 2 && shares.values().all(|shards| *shards == 8)
    });
    let seeds = lab.seeds();
    let mut words = vec!["crawl", "-o", "pages.jsonl"];
    words.extend(seeds.iter().map(String::as_str));
    let run = site.run(&words).ok();
    assert!(run.stdout.contains("240 pages"), "{}", run.stdout);
    assert_whole(&site, &lab, DELAY);
    assert_eq!(asked_twice(&lab), 0);
    let file = std::fs::read_to_string(site.path("pages.jsonl")).unwrap();
    assert_eq!(file.lines().count(), site.pages().len());
    site.wait_until("the workers' own figures", || {
        let status = site.status();
        let pages =
            status["workers"].as_array().unwrap().iter().filter_map(|w| w["pages"].as_u64()).sum::<u64>();
        pages >= 240 && status["queue"] == 0 && status["lag"] == 0
    });
    let why = site.run(&["why", &lab.web().page_url(3, 2)]).ok().stdout;
    assert!(why.starts_with("fetched"), "{why}");
    assert!(site.run(&["report"]).ok().stdout.contains("240"));
    drop(workers);
}

#[test]
fn a_worker_that_is_killed_loses_nothing_on_postgres() {
    let Some(site) = Site::new("killed") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 30, 20);
    let mut doomed = site.worker("doomed");
    let _other = site.worker("other");
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    doomed.kill();
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    // Nothing but what was in flight is asked for again.
    assert!(asked_twice(&lab) <= 200, "{}", asked_twice(&lab));
}

#[test]
fn a_worker_that_hangs_for_longer_than_its_lease_does_no_harm_on_postgres() {
    let Some(site) = Site::new("hung") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 60, 20);
    let mut hung = site.worker("hung");
    let _other = site.worker("other");
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    hung.pause();
    std::thread::sleep(Duration::from_secs(20));
    hung.resume();
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(hung.is_alive(), "{}", hung.said());
    site.wait_until("the shards to be shared again", || {
        let shares = site.shares();
        shares.get("hung") == Some(&8) && shares.get("other") == Some(&8)
    });
}

#[test]
fn workers_come_and_go_while_it_crawls_on_postgres() {
    let Some(site) = Site::new("moving") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 40, 20);
    let mut first = site.worker("first");
    site.submit(&lab, &[]);
    site.wait_for_pages(40);
    let mut second = site.worker("second");
    site.wait_until("the second to have its share", || site.shares().get("second") == Some(&8));
    assert_eq!(first.leave(), 0, "{}", first.said());
    site.wait_until("the second to have them all", || site.shares().get("second") == Some(&16));
    let _third = site.worker("third");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    // Handed over cleanly, nothing is asked for twice.
    assert_eq!(asked_twice(&lab), 0);
    assert_eq!(second.leave(), 0, "{}", second.said());
}

#[test]
fn max_pages_is_never_exceeded_on_postgres() {
    let Some(site) = Site::new("limit") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 40, 10);
    let mut doomed = site.worker("doomed");
    let _workers = [site.worker("one"), site.worker("two")];
    site.submit(&lab, &["--max-pages", "101"]);
    site.wait_for_pages(30);
    doomed.kill();
    site.wait_for_end();
    std::thread::sleep(Duration::from_secs(2));
    let pages = site.pages();
    assert_eq!(pages.iter().filter(|page| !page["status"].is_null()).count(), 101);
    assert_polite(&lab, DELAY);
}

#[test]
fn a_database_that_goes_away_is_waited_for_on_postgres() {
    let Some(site) = Site::with_own_server("outage") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 20);
    let mut workers = [site.worker("one"), site.worker("two")];
    site.submit(&lab, &[]);
    site.wait_for_pages(80);
    site.server("stop");
    std::thread::sleep(Duration::from_secs(3));
    let before = lab.request_count();
    std::thread::sleep(Duration::from_secs(17));
    // What was handed out before may be asked for; nothing new is.
    assert!(lab.request_count() - before < 300, "{} requests", lab.request_count() - before);
    site.server("start");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
}

#[test]
fn a_list_waits_for_workers_and_is_sent_once_on_postgres() {
    let Some(site) = Site::new("list") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(3, 4, 0);
    let pages: Vec<String> = (0..3)
        .flat_map(|host| (0..4).map(move |page| (host, page)))
        .map(|(host, page)| lab.web().page_url(host, page))
        .collect();
    site.write("urls.txt", &format!("# a comment\n\n{}\nnot a url at all\n", pages.join("\n")));
    for _ in 0..2 {
        let said = site.run(&["ingest", "urls.txt", "--name", "july"]).ok().stdout;
        assert!(said.starts_with("12 URLs sent to job 1, 1 left out"), "{said}");
    }
    let why = |url: &str| site.run(&["why", url]).ok().stdout;
    assert!(why("http://127.0.0.1:9/unheard-of").starts_with("unknown"));
    let _worker = site.worker("one");
    site.wait_for_end();
    assert!(why(&pages[5]).starts_with("fetched"));
    let mut stored: Vec<String> =
        site.pages().iter().map(|page| page["url"].as_str().unwrap_or_default().to_owned()).collect();
    stored.sort();
    let mut wanted = pages.clone();
    wanted.sort();
    assert_eq!(stored, wanted);
    // What was fetched lately is left out where that is wished.
    let said = site.run(&["ingest", "urls.txt", "--name", "august", "--skip-recent", "1"]).ok().stdout;
    assert!(said.starts_with("0 URLs sent to job 2, 13 left out"), "{said}");
    site.wait_for_end();
}

#[test]
fn a_url_that_waits_is_known_to_why_on_postgres() {
    let Some(site) = Site::new("waits") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(1, 30, 0);
    let mut worker = site.worker("one");
    site.submit(&lab, &["--delay", "1s"]);
    site.wait_for_pages(2);
    worker.kill();
    let pending = (0..30)
        .map(|page| lab.web().page_url(0, page))
        .filter(|url| site.run(&["why", url]).ok().stdout.starts_with("pending"))
        .count();
    assert!(pending > 0);
}

#[test]
fn what_is_wrong_is_said_with_the_name_of_the_setting_on_postgres() {
    let Some(site) = Site::new("wrong") else { return };
    let refused = |site: &Site, words: &[&str], part: &str| {
        let run = site.run(words);
        assert_eq!(run.code, 1, "{words:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("storage.metadata_db_url"), "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        assert!(!run.stderr.contains("secret-word"), "{}", run.stderr);
    };
    for words in [&["worker"][..], &["crawl", "http://127.0.0.1:9/"], &["jobs"], &["cluster", "status"]] {
        refused(&site, words, "argiope cluster init");
    }
    site.run(&["cluster", "init"]).ok();
    site.run(&["cluster", "init"]).ok();
    let config = std::fs::read_to_string(site.path("cluster.yaml")).unwrap();
    site.write("cluster.yaml", &config.replace("shards: 16", "shards: 32"));
    refused(&site, &["worker"], "cluster.shards");
    refused(&site, &["cluster", "init"], "cluster.shards");
    site.sql("UPDATE argiope_cluster SET schema_version = 99");
    site.write("cluster.yaml", &config);
    refused(&site, &["worker"], "newer");
    let (before, after) = site.database.split_once('@').unwrap();
    let user = before.rsplit('/').next().unwrap().split(':').next().unwrap();
    site.write(
        "cluster.yaml",
        &config.replace(&site.database, &format!("postgres://{user}:secret-word@{after}")),
    );
    let run = site.run(&["worker"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    site.write("cluster.yaml", &config.replace(after.split('/').next().unwrap(), "127.0.0.1:9"));
    refused(&site, &["worker"], "127.0.0.1:9");
}
