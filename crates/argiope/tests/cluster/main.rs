//! The cluster with real servers and real processes. Every test has a database of its own.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod archive;
mod disks;
mod door;
mod encryption;
mod kafka;
mod listening;
mod outages;
mod scenarios;
mod site;
mod store;

use argiope_lab::{Lab, LabConfig, SiteKind};
use site::{DELAY, Site, assert_whole, lab};
use std::time::Duration;

#[test]
fn two_workers_crawl_everything_once_on_postgres() {
    let Some(site) = Site::new("two") else { return };
    scenarios::two_workers_crawl_everything_once(&site);
}

#[test]
fn a_worker_that_is_killed_loses_nothing_on_postgres() {
    let Some(site) = Site::new("killed") else { return };
    scenarios::a_worker_that_is_killed_loses_nothing(&site);
}

#[test]
fn workers_come_and_go_while_it_crawls_on_postgres() {
    let Some(site) = Site::new("moving") else { return };
    scenarios::workers_come_and_go_while_it_crawls(&site);
}

#[test]
fn max_pages_is_never_exceeded_on_postgres() {
    let Some(site) = Site::new("limit") else { return };
    scenarios::max_pages_is_never_exceeded(&site);
}

#[test]
fn a_redirect_that_may_not_be_followed_is_a_page_of_the_limit() {
    let Some(site) = Site::new("refused") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = Lab::start_on_thread(LabConfig {
        hosts: 1,
        pages: 2,
        kinds: vec![SiteKind::RobotsPaths],
        ..LabConfig::mixed()
    })
    .expect("a lab");
    let _worker = site.worker("one");
    let hop = format!("{}hop/into-private", lab.seeds()[0]);
    let run = site.run(&["crawl", &hop, "--max-pages", "1"]).ok();
    assert!(run.stdout.contains("max_pages is reached"), "{}", run.stdout);
}

#[test]
fn a_list_waits_for_workers_and_is_sent_once_on_postgres() {
    let Some(site) = Site::new("list") else { return };
    scenarios::a_list_waits_for_workers_and_is_sent_once(&site);
}

#[test]
fn a_worker_that_hangs_for_longer_than_its_lease_does_no_harm_on_postgres() {
    let Some(site) = Site::new("hung") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 60, 20);
    let (mut hung, mut stopped) = (site.worker("hung"), site.worker("stopped"));
    let _other = site.worker("other");
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    [&hung, &stopped].iter().for_each(|worker| worker.pause());
    std::thread::sleep(Duration::from_secs(20));
    stopped.stop();
    [&hung, &stopped].iter().for_each(|worker| worker.resume());
    // One that is to end does not join again.
    assert_eq!(stopped.code(), 0, "{}", stopped.said());
    assert!(stopped.said().contains("others take the shards"), "{}", stopped.said());
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert!(hung.is_alive(), "{}", hung.said());
    site.wait_until("the shards to be shared again", || {
        let shares = site.shares();
        shares.get("hung") == Some(&8) && shares.get("other") == Some(&8)
    });
}

#[test]
fn a_database_that_goes_away_is_waited_for_on_postgres() {
    let Some(site) = Site::with_own_postgres("outage") else { return };
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

/// As on one machine: hosts whose robots.txt cannot be had are asked again after an hour, and nobody waits for that.
#[test]
fn a_job_that_is_blocked_everywhere_is_not_waited_for_on_postgres() {
    let Some(site) = Site::new("blocked") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(4, 10, 0);
    let mut workers = [site.worker("one"), site.worker("two")];
    site.wait_until("both to have shards", || site.shares().values().filter(|has| **has == 8).count() == 2);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut seeds = lab.seeds();
    seeds.push(format!("http://{closed}/"));
    let mut words = vec!["crawl", "--name", "stuck"];
    words.extend(seeds.iter().map(String::as_str));
    let said = site.run(&words).ok().stdout;
    assert!(said.starts_with("Job stuck is paused (what is left cannot be asked before "), "{said}");
    assert!(said.contains("40 pages"), "{said}");
    // What is left is still there, for whoever takes its shard; and it is not for long that the job runs again.
    assert_eq!(site.sql("SELECT count(*) FROM urls"), "1");
    workers.iter_mut().for_each(|worker| assert_eq!(worker.leave(), 0, "{}", worker.said()));
    let _third = site.worker("third");
    assert!(site.run(&words).ok().stdout.starts_with("Job stuck is paused (what is left"));
    assert_eq!(site.sql("SELECT count(*) FROM urls"), "1");
    assert_whole(&site, &lab, DELAY);
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
    site.write("cluster.yaml", &config.replace("shards: 16", "shards: 16\n  name: another"));
    refused(&site, &["worker"], "cluster.name");
    refused(&site, &["cluster", "init"], "cluster.name");
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

#[test]
fn a_name_that_is_up_is_refused_to_a_second_worker_on_postgres() {
    let Some(site) = Site::new("twins") else { return };
    site.run(&["cluster", "init"]).ok();
    let mut first = site.worker("twin");
    site.wait_until("the first", || site.shares().contains_key("twin"));
    let run = site.run(&["worker", "--name", "twin", "--data", "elsewhere"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("named twin is up already"), "{}", run.stderr);
    assert!(first.is_alive());
}
