//! A cluster of real processes. Every test has a database of its own in PostgreSQL; those that need another server as well
//! have it in their names.

mod archive;
mod disks;
mod door;
mod encryption;
mod job_changes;
mod kafka;
mod metrics;
mod outages;
mod reruns;

use crate::scenarios;
use crate::site::{DELAY, Site, asked_twice, assert_whole, lab};
use argiope_lab::{Lab, LabConfig, SiteKind};

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
fn cookies_work_as_far_as_workers_have_them_and_the_rest_is_refused_on_postgres() {
    let Some(site) = Site::new("cookies") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = |kind| {
        let config = LabConfig { hosts: 2, pages: 5, kinds: vec![kind], ..LabConfig::mixed() };
        Lab::start_on_thread(config).expect("a lab")
    };
    let (cookies, login) = (lab(SiteKind::Cookies), lab(SiteKind::Login));
    let seeds = cookies.seeds();
    let crawl = |more: &[&str]| {
        let mut words = vec!["crawl", "--delay", "10ms"];
        words.extend(more);
        site.run(&words)
    };
    for (more, why) in
        [(&["--cookie-jar", "on"], "does not store cookies"), (&["--ca-file", "x.pem"], "x.pem")]
    {
        let refused = crawl(&[&more[..], &[seeds[0].as_str()]].concat());
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    site.write("job.yaml", &format!("seeds: ['{0}']\nlogin: {{url: '{0}', fields: {{a: b}}}}\n", seeds[0]));
    let refused = crawl(&["-c", "job.yaml"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot log in"), "{}", refused.stderr);
    let _workers = [site.worker("one"), site.worker("two")];
    let run = crawl(&[&seeds[0], &seeds[1], "--name", "redirects"]).ok();
    assert!(run.stdout.contains("10 pages, 0 failed"), "{}", run.stdout);
    // A session that was begun elsewhere, in a file that the workers cannot see.
    let host =
        |seed: &str| seed.trim_start_matches("http://").split(':').next().unwrap_or_default().to_owned();
    let lines: Vec<String> = login
        .seeds()
        .iter()
        .map(|seed| format!("{}\tFALSE\t/\tFALSE\t0\tsession\t0123456789abcdef\n", host(seed)))
        .collect();
    site.write("cookies.txt", &lines.concat());
    let seeds = login.seeds();
    let run = crawl(&[&seeds[0], &seeds[1], "--name", "session", "--cookies", "cookies.txt"]).ok();
    assert!(run.stdout.contains("10 pages, 0 failed"), "{}", run.stdout);
    assert!(login.access_log().iter().all(|entry| entry.path != "/login"), "nobody was sent to the form");
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
fn what_limits_hold_back_is_told_on_postgres() {
    let Some(site) = Site::new("cuts") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = Lab::start_on_thread(LabConfig {
        hosts: 2,
        pages: 20,
        kinds: vec![SiteKind::Archive, SiteKind::Endless],
        ..LabConfig::mixed()
    })
    .expect("a lab");
    let _worker = site.worker("one");
    let [archive, endless] = &lab.seeds()[..] else { panic!("two sites") };
    let skipped = |reason: &str| {
        let rows = site.run(&["export", "--what", "skipped"]).ok().json_lines();
        let wanted = rows.into_iter().filter(|row| row["reason"] == reason);
        wanted.map(|row| row["url"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let said = site.run(&["crawl", archive, "--max-links", "2", "--max-pages", "20"]).ok().stdout;
    assert!(said.contains("Skipped by limits") && said.contains("fetch with --max-links N"), "{said}");
    let beyond = skipped("over_link_limit");
    let why = site.run(&["why", &beyond[0]]).ok().stdout;
    assert!(why.starts_with("filtered\n") && why.contains("over the link limit of http"), "{why}");
    let report = site.run(&["report"]).ok().stdout;
    assert!(report.contains("link limit"), "{report}");
    site.write("job.yaml", "traps: {urls_per_pattern: 20, pages_before_judgement: 10}\n");
    let said = site.run(&["crawl", endless, "-c", "job.yaml", "--max-pages", "300"]).ok().stdout;
    assert!(said.contains("/browse?visit=*") && said.contains("fetch with --no-traps"), "{said}");
    let held_back = skipped("trap");
    let browse = held_back.iter().find(|url| url.contains("/browse")).expect("one of a pattern");
    let why = site.run(&["why", browse]).ok().stdout;
    assert!(why.starts_with("trap\n") && why.contains("rule near_duplicates: --no-traps"), "{why}");
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
    site.wait_until("each to have shards", || {
        ["hung", "stopped", "other"].iter().all(|name| site.shares().get(*name).is_some_and(|has| *has > 0))
    });
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    [&hung, &stopped].iter().for_each(|worker| worker.pause());
    site.wait_until("the other to have all shards", || site.shares().get("other") == Some(&16));
    stopped.stop();
    [&hung, &stopped].iter().for_each(|worker| worker.resume());
    // One that is to end does not join again.
    assert_eq!(stopped.code(), 0, "{}", stopped.said());
    assert!(stopped.said().contains("other workers take the shards"), "{}", stopped.said());
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
    outages::assert_quiet_beyond_the_lease(&site, &lab, &workers);
    site.server("start");
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert_eq!(asked_twice(&lab), 0);
    assert!(workers.iter_mut().all(|worker| worker.is_alive()));
}

/// As on one machine: an unreachable robots.txt is fetched again after an hour, and no job waits for that.
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
    assert!(said.starts_with("Job stuck is paused (remaining URLs are blocked until "), "{said}");
    assert!(said.contains("40 pages"), "{said}");
    // The remaining URLs are still there for the next owner of the shard; the job runs again soon.
    assert_eq!(site.sql("SELECT count(*) FROM urls"), "1");
    workers.iter_mut().for_each(|worker| assert_eq!(worker.leave(), 0, "{}", worker.said()));
    let _third = site.worker("third");
    assert!(site.run(&words).ok().stdout.starts_with("Job stuck is paused (remaining URLs are blocked"));
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
    assert!(run.stderr.contains("named twin is already running"), "{}", run.stderr);
    assert!(first.is_alive());
}
