//! What holds however links travel from shard to shard. Each is run for both ways.

use crate::site::{DELAY, Site, asked_twice, assert_polite, assert_whole, lab};

pub(crate) fn two_workers_crawl_everything_once(site: &Site) {
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
    assert_whole(site, &lab, DELAY);
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

pub(crate) fn a_worker_that_is_killed_loses_nothing(site: &Site) {
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 30, 20);
    let mut doomed = site.worker("doomed");
    let _other = site.worker("other");
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    doomed.kill();
    site.wait_for_end();
    assert_whole(site, &lab, DELAY);
    // Nothing but what was in flight is asked for again.
    assert!(asked_twice(&lab) <= 200, "{}", asked_twice(&lab));
}

pub(crate) fn workers_come_and_go_while_it_crawls(site: &Site) {
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
    assert_whole(site, &lab, DELAY);
    // Handed over cleanly, nothing is asked for twice.
    assert_eq!(asked_twice(&lab), 0);
    assert_eq!(second.leave(), 0, "{}", second.said());
}

pub(crate) fn max_pages_is_never_exceeded(site: &Site) {
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 40, 10);
    let mut doomed = site.worker("doomed");
    let mut workers = [site.worker("one"), site.worker("two")];
    site.submit(&lab, &["--max-pages", "101"]);
    site.wait_for_pages(30);
    doomed.kill();
    site.wait_for_end();
    // Who has left has stored all that it had asked for: nothing comes any more.
    for worker in &mut workers {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    let stored = || site.pages().iter().filter(|page| !page["status"].is_null()).count();
    assert_eq!(stored(), 101);
    let _worker = site.worker("three");
    site.submit(&lab, &["--max-pages", "140"]);
    site.wait_for_end();
    assert_eq!(stored(), 140);
    assert_polite(&lab, DELAY);
}

pub(crate) fn a_list_waits_for_workers_and_is_sent_once(site: &Site) {
    site.run(&["cluster", "init"]).ok();
    let lab = lab(3, 4, 0);
    let pages: Vec<String> = (0..3)
        .flat_map(|host| (0..4).map(move |page| (host, page)))
        .map(|(host, page)| lab.web().page_url(host, page))
        .collect();
    // The same list is sent once; one that has changed since is another.
    for known in [8, 8, 12] {
        site.write("urls.txt", &format!("# a comment\n\n{}\nnot a url at all\n", pages[..known].join("\n")));
        let said = site.run(&["ingest", "urls.txt", "--name", "july"]).ok().stdout;
        assert!(said.starts_with(&format!("{known} URLs sent to job 1, 1 skipped")), "{said}");
    }
    assert_eq!(site.run(&["ingest", "urls.txt", "--name", "77"]).code, 2, "a number is no name");
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
    assert!(said.starts_with("0 URLs sent to job 2, 13 skipped"), "{said}");
    site.wait_for_end();
}
