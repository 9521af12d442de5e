//! The disk of a worker: what happens before it is full, and after it is lost.

use super::archive::{assert_moved, assert_readable, files_of};
use crate::listening::{get, metric};
use crate::site::{DELAY, Site, assert_whole, lab};
use crate::store::Store;
use argiope_lab::Lab;

const DISK: &str = "argiope_dependency_up{name=\"disk\"}";

#[test]
fn a_worker_whose_files_cannot_leave_stops_fetching_and_goes_on_by_itself_on_s3() {
    let Some(mut site) = Site::new("brake") else { return };
    let limits = "  archive_file_age: 1s\n  upload_backlog: 20KB\n";
    let Some(store) = Store::on_s3(&mut site, limits) else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(12, 60, 10);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut worker = site.worker_with("one", &["--listen", &port]);
    site.submit(&lab, &[]);
    site.wait_until("files in the bucket", || !store.keys("warc/", ".warc.gz").is_empty());
    // The limit is low: uploads that are late for a moment brake it, too.
    site.wait_until("no brake", || metric(&port, DISK) == Some(1));
    store.server("stop");
    site.wait_until("the brake", || metric(&port, DISK) == Some(0));
    let health = get(&port, "/health");
    assert!(health.starts_with("HTTP/1.1 200") && health.contains("storage.upload_backlog"), "{health}");
    site.wait_until("the cluster's status to tell", || {
        let status = site.run(&["cluster", "status"]).ok().stdout;
        status.contains("no new requests") && status.contains("storage.html_bucket")
    });
    site.wait_until("what is under way to end", || metric(&port, "crawler_worker_active_fetches") == Some(0));
    let asked = lab.access_log().len();
    // It lives, and has looked at its lease and its files again: hosts have been due many times meanwhile.
    let seen = || site.sql("SELECT seen_at FROM members");
    let before = seen();
    site.wait_until("a heartbeat", || seen() != before);
    assert_eq!(lab.access_log().len(), asked, "it asks for something while it should not");
    assert_eq!(site.job()["state"], "running");
    store.server("start");
    site.wait_for_end();
    site.wait_until("the brake to go off", || metric(&port, DISK) == Some(1));
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert!(worker.said().contains("no new requests are sent"), "{}", worker.said());
    assert_whole(&site, &lab, DELAY);
    assert_moved(&site, &["one"]);
    assert_readable(&site, &lab);
}

#[test]
fn a_worker_without_room_on_its_disk_asks_for_nothing_on_postgres() {
    let Some(site) = Site::new("full") else { return };
    site.configure_storage("  disk_reserve: 9000TB\n");
    site.run(&["cluster", "init"]).ok();
    let lab = lab(2, 5, 0);
    let mut worker = site.worker("one");
    site.submit(&lab, &[]);
    site.wait_until("the worker to say so", || {
        site.run(&["cluster", "status"]).ok().stdout.contains("storage.disk_reserve")
    });
    site.wait_until("it to have the seeds", || site.status()["workers"][0]["queued"].as_u64() > Some(0));
    assert!(lab.access_log().is_empty());
    assert_eq!(worker.leave(), 0, "{}", worker.said());
}

/// A worker has crawled and left, and its files could not.
fn crawled(site: &Site, store: &Store, lab: &Lab) {
    site.run(&["cluster", "init"]).ok();
    let mut worker = site.worker("one");
    site.submit(lab, &[]);
    site.wait_for_end();
    store.server("stop");
    worker.signal("-TERM");
    site.wait_until("the worker to leave", || site.shares().is_empty());
    // It would try for a while.
    worker.kill();
    store.server("start");
    assert!(files_of(site, "one") > 0 && store.keys("", "").is_empty());
}

fn assert_told(site: &Site, pages: u64) {
    let status = site.status();
    assert_eq!((&status["archive_files_on_disks"], status["pages_lost"].as_u64()), (&0.into(), Some(pages)));
    assert_eq!((&status["link_segments_on_disks"], &status["link_segments_lost"]), (&0.into(), &1.into()));
    let status = site.run(&["cluster", "status"]).ok().stdout;
    assert!(status.contains(&format!("with the content of {pages} pages, 1 segment of links")), "{status}");
    assert!(site.pages().iter().all(|page| page["archive"].is_null() && page["content_hash"].is_string()));
    let report = site.run(&["report"]).ok().stdout;
    assert!(report.contains(&format!("lost      the content of {pages}, with a worker's disk")), "{report}");
    let run = site.run(&["export", "--html"]).ok();
    assert!(run.stderr.contains(&format!("of {pages} pages was lost with the disk")), "{}", run.stderr);
    let run = site.run(&["graph", "rank"]).ok();
    assert!(run.stderr.contains("lost with the disks of workers"), "{}", run.stderr);
}

#[test]
fn what_went_with_a_disk_is_told_and_comes_back_with_it_on_s3() {
    let Some(mut site) = Site::new("lost") else { return };
    let Some(store) = Store::on_s3(&mut site, "") else { return };
    let first = lab(4, 10, 0);
    crawled(&site, &store, &first);
    let pages = site.pages().len() as u64;
    std::fs::rename(site.path("one"), site.path("disk")).unwrap();

    let mut worker = site.worker("one");
    site.wait_until("the loss to be told", || site.status()["archive_files_lost"].as_u64() > Some(0));
    assert_told(&site, pages);
    // It crawls on with its new disk.
    let second = lab(3, 6, 0);
    site.submit(&second, &[]);
    site.wait_for_end();
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert!(worker.said().contains("are lost"), "{}", worker.said());
    assert_whole(&site, &second, DELAY);
    let segments = store.keys("links/", ".zst");
    assert!(segments.iter().all(|key| key.starts_with("links/one-00000001-")), "{segments:?}");

    // The old one was not mounted, no more.
    std::fs::remove_dir_all(site.path("one")).unwrap();
    std::fs::rename(site.path("disk"), site.path("one")).unwrap();
    let mut worker = site.worker("one");
    site.wait_until("all to be back", || {
        let status = site.status();
        status["archive_files_lost"] == 0 && status["pages_lost"] == 0
    });
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert_moved(&site, &["one"]);
    assert_readable(&site, &first);
    assert_readable(&site, &second);
}

#[test]
fn a_disk_that_never_comes_back_is_given_up_by_a_word_on_s3() {
    let Some(mut site) = Site::new("given_up") else { return };
    let Some(store) = Store::on_s3(&mut site, "") else { return };
    crawled(&site, &store, &lab(2, 4, 0));
    let pages = site.pages().len() as u64;
    let status = site.run(&["cluster", "status"]).ok().stdout;
    assert!(status.contains("argiope cluster lost one"), "{status}");
    let run = site.run(&["cluster", "lost", "two"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("no worker two has files"), "{}", run.stderr);
    let said = site.run(&["cluster", "lost", "one"]).ok().stdout;
    assert!(said.contains(&format!("with the content of {pages} pages, 1 segment of links")), "{said}");
    assert_told(&site, pages);
    assert_eq!(site.run(&["cluster", "lost", "one"]).code, 1, "nothing is left to give up");
    let mut worker = site.worker("two");
    site.wait_until("a worker", || !site.shares().is_empty());
    let run = site.run(&["cluster", "lost", "two"]);
    assert!(run.code == 1 && run.stderr.contains("is up, and so is its disk"), "{}", run.stderr);
    worker.kill();
}
