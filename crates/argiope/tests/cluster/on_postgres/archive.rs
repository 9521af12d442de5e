//! The archive of a cluster in an object store.

use crate::listening::{free_address, get, metric};
use crate::site::{DELAY, Site, asked_twice, assert_whole, lab};
use crate::store::Store;
use argiope_lab::Lab;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Write;

/// Files end soon, so that many of them are uploaded while it crawls.
const SOON: &str = "  archive_file_age: 1s\n";

/// The WARC files on the disk of a worker.
pub(crate) fn files_of(site: &Site, worker: &str) -> usize {
    files_in(site, &format!("{worker}/archive"), ".warc.gz")
}

fn files_in(site: &Site, folder: &str, ending: &str) -> usize {
    let Ok(files) = std::fs::read_dir(site.path(folder)) else { return 0 };
    files.flatten().filter(|file| file.file_name().to_string_lossy().ends_with(ending)).count()
}

/// Every page of the catalogue has its content in the store: as many bytes, and the same.
pub(crate) fn assert_readable(site: &Site, lab: &Lab) {
    let run = site.run(&["export", "--all", "--html"]).ok();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let pages = run.json_lines();
    let urls = |pages: &[Value]| pages.iter().map(|page| page["url"].clone()).collect::<Vec<_>>();
    let without = site.run(&["export", "--all"]).ok().json_lines();
    assert_eq!(urls(&pages), urls(&without), "in the order they were stored");
    let is_page = |page: &&Value| page["status"] == 200;
    assert!(pages.iter().filter(is_page).count() >= lab.expected().fetched().count());
    for page in pages.iter().filter(is_page) {
        let html = page["html"].as_str().unwrap_or_else(|| panic!("no content of {}", page["url"]));
        let hash: String = Sha256::digest(html).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(page["content_hash"].as_str(), Some(hash.as_str()), "{}", page["url"]);
    }
}

/// Nothing is on the disks any more, and the catalogue knows.
pub(crate) fn assert_moved(site: &Site, workers: &[&str]) {
    for worker in workers {
        assert_eq!(files_of(site, worker), 0, "{worker}");
        assert_eq!(files_in(site, &format!("{worker}/links"), ".zst"), 0, "{worker}");
    }
    let status = site.status();
    for left in
        ["archive_files_on_disks", "link_segments_on_disks", "archive_files_lost", "link_segments_lost"]
    {
        assert_eq!(status[left], 0, "{left}");
    }
}

/// The links of all pages are in the store, those of each once.
fn assert_linked(store: &Store, site: &Site) {
    let mut linked = store.linking_pages();
    let mut listed: Vec<String> = site
        .pages()
        .iter()
        .filter(|page| page["links"].as_u64() > Some(0))
        .map(|page| page["url"].as_str().unwrap().to_owned())
        .collect();
    linked.sort();
    listed.sort();
    assert!(!listed.is_empty());
    assert_eq!(linked, listed);
    let run = site.run(&["graph", "rank", "--json"]).ok();
    assert!(run.stderr.is_empty(), "{}", run.stderr);
    let ranking = run.json();
    assert!(ranking["nodes"].as_u64() >= Some(listed.len() as u64), "{ranking}");
    assert!(ranking["edges"].as_u64() >= Some(listed.len() as u64), "{ranking}");
    let exported = |what: &str| {
        let run = site.run(&["export", "--what", what]).ok();
        assert_eq!(run.stderr, "", "{what}");
        run.json_lines()
    };
    let mut sources: Vec<String> =
        exported("links").iter().map(|link| link["source"].as_str().unwrap().to_owned()).collect();
    sources.sort();
    sources.dedup();
    assert_eq!(sources, listed);
    let pages: u64 = exported("hosts").iter().map(|host| host["pages"].as_u64().unwrap()).sum();
    let answered = site.pages().iter().filter(|page| page["status"].is_u64()).count();
    assert!(pages >= answered as u64, "{pages} of {answered}");
    let missing = exported("broken");
    assert!(missing.iter().all(|row| row["status"] != 200), "{missing:?}");
    let report = site.run(&["report"]).ok();
    assert_eq!(report.stderr, "");
}

fn crawl_into(store: &Store, site: &Site) {
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 20, 10);
    let mut workers = [site.worker("one"), site.worker("two")];
    site.wait_until("both to have shards", || {
        let shares = site.shares();
        shares.len() == 2 && shares.values().all(|shards| *shards > 4)
    });
    site.submit(&lab, &[]);
    site.wait_for_end();
    for worker in &mut workers {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    assert_whole(site, &lab, DELAY);
    assert_eq!(asked_twice(&lab), 0);
    assert_moved(site, &["one", "two"]);
    let files = store.keys("warc/", ".warc.gz");
    assert!(files.len() > 4, "{files:?}");
    assert!(files.iter().any(|file| file.contains("argiope-one-")), "{files:?}");
    assert_eq!(store.keys("warc/", ".cdxj").len(), files.len());
    let stored = store.pages();
    assert!(stored.values().all(|times| *times == 1), "{stored:?}");
    let listed = site.pages();
    assert_eq!(stored.len(), listed.len());
    assert!(listed.iter().all(|page| stored.contains_key(page["url"].as_str().unwrap())));
    assert_readable(site, &lab);
    assert_linked(store, site);
}

#[test]
fn two_workers_crawl_into_a_bucket_on_s3() {
    let Some(mut site) = Site::new("bucket") else { return };
    let Some(store) = Store::on_s3(&mut site, SOON) else { return };
    crawl_into(&store, &site);
}

#[test]
fn two_workers_crawl_into_a_directory_on_postgres() {
    let Some(site) = Site::new("directory") else { return };
    let store = Store::in_directory(&site, SOON);
    crawl_into(&store, &site);
}

#[test]
fn a_bucket_that_goes_away_is_waited_for_while_the_crawl_goes_on_on_s3() {
    let Some(mut site) = Site::new("away") else { return };
    let Some(store) = Store::on_s3(&mut site, SOON) else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 50, 10);
    let port = free_address();
    let mut workers = [site.worker_with("one", &["--listen", &port]), site.worker("two")];
    site.submit(&lab, &[]);
    site.wait_until("files in the bucket", || !store.keys("warc/", ".warc.gz").is_empty());
    store.server("stop");
    let before = site.job()["pages"].as_u64();
    site.wait_until("files that wait", || metric(&port, "argiope_archive_files_waiting") >= Some(2));
    site.wait_until("it to be told", || {
        metric(&port, "argiope_dependency_up{name=\"object_store\"}") == Some(0)
    });
    let health = get(&port, "/health");
    assert!(health.starts_with("HTTP/1.1 200") && health.contains("\"degraded\""), "{health}");
    assert!(health.contains("storage.html_bucket"), "{health}");
    site.wait_until("the cluster's status to tell", || {
        let status = site.run(&["cluster", "status"]).ok().stdout;
        status.contains("wait to be uploaded: storage.html_bucket")
    });
    assert!(site.job()["pages"].as_u64() > before, "it crawls on");
    store.server("start");
    site.wait_for_end();
    site.wait_until("the bucket to be used again", || {
        metric(&port, "argiope_dependency_up{name=\"object_store\"}") == Some(1)
    });
    for worker in &mut workers {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    assert_whole(&site, &lab, DELAY);
    assert_moved(&site, &["one", "two"]);
    let stored = store.pages();
    assert!(stored.values().all(|times| *times == 1), "{stored:?}");
    assert_eq!(stored.len(), site.pages().len());
    assert_readable(&site, &lab);
}

#[test]
fn what_a_worker_could_not_upload_its_next_start_does_on_s3() {
    let Some(mut site) = Site::new("left") else { return };
    let Some(store) = Store::on_s3(&mut site, "") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(4, 10, 0);
    let mut worker = site.worker("one");
    site.submit(&lab, &[]);
    site.wait_for_end();
    // Nothing was old enough to go.
    assert!(store.keys("", "").is_empty());
    store.server("stop");
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert!(worker.said().contains("remain on this disk"), "{}", worker.said());
    assert!(files_of(&site, "one") > 0);
    assert_eq!(site.status()["archive_files_on_disks"], files_of(&site, "one"));
    store.server("start");
    let run = site.run(&["export", "--html"]).ok();
    assert!(run.stderr.contains("still on the disk of a worker"), "{}", run.stderr);
    let run = site.run(&["graph", "rank"]).ok();
    assert!(run.stderr.contains("still on the disks of workers"), "{}", run.stderr);
    // Without a name it is the one whose files they are.
    let mut worker = site.worker_on("one", &[]);
    site.wait_until("the files to be uploaded", || files_of(&site, "one") == 0);
    assert_eq!(site.shares().keys().collect::<Vec<_>>(), ["one"]);
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert_moved(&site, &["one"]);
    assert_readable(&site, &lab);
    let run = site.run(&["worker", "--name", "another", "--data", "one"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("has files of the worker one"), "{}", run.stderr);
}

#[test]
fn a_worker_that_is_killed_uploads_when_it_is_back_on_s3() {
    let Some(mut site) = Site::new("killed_s3") else { return };
    let Some(store) = Store::on_s3(&mut site, "  archive_file_age: 2s\n") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 40, 20);
    let (mut doomed, mut other) = (site.worker("doomed"), site.worker("other"));
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    doomed.kill();
    let mut back = site.worker("doomed");
    site.wait_for_end();
    for worker in [&mut back, &mut other] {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    assert_whole(&site, &lab, DELAY);
    assert_moved(&site, &["doomed", "other"]);
    // What was archived and not catalogued was cut off when it started again: the archive has what the history has.
    let stored = store.pages();
    let fetched = site.sql("SELECT count(*) FROM fetches WHERE kind = 0 AND outcome = 0");
    assert_eq!(stored.values().sum::<usize>().to_string(), fetched, "{stored:?}");
    assert!(site.pages().iter().all(|page| stored.contains_key(page["url"].as_str().unwrap())));
    assert_readable(&site, &lab);
}

fn pages_as_objects(store: &Store, site: &Site) {
    site.run(&["cluster", "init"]).ok();
    let lab = lab(6, 10, 0);
    let mut worker = site.worker("one");
    site.submit(&lab, &[]);
    site.wait_for_end();
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert_whole(site, &lab, DELAY);
    assert_moved(site, &["one"]);
    assert!(store.keys("warc/", "").is_empty());
    let mut keys = store.keys("", ".html.gz");
    let mut places: Vec<String> = site
        .pages()
        .iter()
        .map(|page| page["archive"].as_str().unwrap().strip_suffix(":0").unwrap().to_owned())
        .collect();
    keys.sort();
    places.sort();
    assert_eq!(places, keys, "each page has an object, and each object a page");
    assert_readable(site, &lab);
}

#[test]
fn every_page_may_be_an_object_of_its_own_on_s3() {
    let Some(mut site) = Site::new("objects") else { return };
    let Some(store) = Store::on_s3(&mut site, "  archive_layout: objects\n") else { return };
    pages_as_objects(&store, &site);
}

#[test]
fn every_page_may_be_a_file_of_its_own_on_postgres() {
    let Some(site) = Site::new("objects_directory") else { return };
    let store = Store::in_directory(&site, "  archive_layout: objects\n");
    pages_as_objects(&store, &site);
}

#[test]
fn a_worker_that_hangs_for_longer_than_its_lease_leaves_nothing_on_its_disk_on_s3() {
    let Some(mut site) = Site::new("hung_s3") else { return };
    let Some(store) = Store::on_s3(&mut site, SOON) else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(16, 60, 20);
    let (mut hung, mut other) = (site.worker("hung"), site.worker("other"));
    site.submit(&lab, &[]);
    site.wait_for_pages(60);
    hung.pause();
    site.wait_until("the other to have all shards", || site.shares().get("other") == Some(&16));
    hung.resume();
    site.wait_for_end();
    // What it held under its old name and could not catalogue is uploaded, too.
    site.wait_until("its files to be uploaded", || files_of(&site, "hung") <= 1);
    for worker in [&mut hung, &mut other] {
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }
    assert_whole(&site, &lab, DELAY);
    assert_moved(&site, &["hung", "other"]);
    let stored = store.pages();
    assert!(site.pages().iter().all(|page| stored.contains_key(page["url"].as_str().unwrap())));
    assert_readable(&site, &lab);
}

#[test]
fn a_store_that_cannot_be_used_ends_a_worker_before_it_begins_on_s3() {
    let Some(mut site) = Site::new("wrong_s3") else { return };
    let Some(store) = Store::on_s3(&mut site, "") else { return };
    site.run(&["cluster", "init"]).ok();
    let config = std::fs::read_to_string(site.path("cluster.yaml")).unwrap();
    let refused = |site: &Site, part: &str| {
        let run = site.run(&["worker", "--name", "one", "--data", "one"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("storage.html_bucket"), "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        assert!(!site.path("one").exists(), "nothing was made");
        assert_eq!(site.sql("SELECT count(*) FROM members"), "0");
    };
    site.write("cluster.yaml", &config.replace("argiope-test", "no-such-bucket"));
    refused(&site, "there is no such bucket");
    site.write("cluster.yaml", &config);
    let credentials = std::mem::take(&mut site.environment);
    site.environment.extend([
        (String::from("AWS_ACCESS_KEY_ID"), String::from("argiope")),
        (String::from("AWS_SECRET_ACCESS_KEY"), String::from("wrong-word")),
    ]);
    refused(&site, "AWS_SECRET_ACCESS_KEY");
    site.environment = credentials;
    store.server("stop");
    refused(&site, "is unreachable");
    store.server("start");
    // Those who read no content need no store.
    site.environment.clear();
    site.environment.push((String::from("AWS_SECRET_ACCESS_KEY"), String::new()));
    site.run(&["cluster", "status"]).ok();
}

#[test]
fn a_list_may_be_an_object_on_s3() {
    let Some(mut site) = Site::new("list_s3") else { return };
    let Some(store) = Store::on_s3(&mut site, "") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(3, 4, 0);
    let pages: Vec<String> = (0..3)
        .flat_map(|host| (0..4).map(move |page| (host, page)))
        .map(|(h, p)| lab.web().page_url(h, p))
        .collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Longer than what is read at once, packed or not.
    let comments: String =
        (0..40_000u64).map(|n| format!("# {:016x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    gzip.write_all(format!("{comments}{}\n", pages.join("\n")).as_bytes()).unwrap();
    store.objects.put("lists/july.txt.gz", &gzip.finish().unwrap(), &Vec::new()).unwrap();
    store.objects.put("lists/plain.txt", pages[0].as_bytes(), &Vec::new()).unwrap();
    let ingest = |object: &str, name: &str| {
        site.run(&["ingest", &format!("s3://argiope-test/{object}"), "--name", name])
    };
    for _ in 0..2 {
        let said = ingest("lists/july.txt.gz", "july").ok().stdout;
        assert!(said.starts_with("12 URLs sent to job 1, 0 skipped"), "{said}");
    }
    let said = ingest("lists/plain.txt", "plain").ok().stdout;
    assert!(said.starts_with("1 URL sent to job 2"), "{said}");
    let run = ingest("lists/none.txt", "none");
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("s3://argiope-test/lists/none.txt does not exist"), "{}", run.stderr);
    let run = ingest("", "none");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("s3://BUCKET/KEY"), "{}", run.stderr);
    let run = site.run(&["jobs", "--json"]).ok();
    assert_eq!(run.json_lines().len(), 2, "{}", run.stdout);
}
