//! The graph's file: what is written when, and what happens when it cannot be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

use argiope_local::graph::{Beginning, GraphCatalogue, GraphLinks, GraphStore, Happening, KnownNode};
use argiope_model::{JobId, LinkKind, Page, Rel, RequestKind, SkipReason};
use argiope_store::catalogue::{Batch, Catalogue, FetchOutcome, FetchRow, PageRow, SkippedRow};
use argiope_store::error::ErrorKind;
use argiope_store::links::{Link, LinkBatch, Links};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        Desk { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("graph.db")
    }

    fn open(&self) -> Arc<GraphStore> {
        GraphStore::open(&self.path()).unwrap()
    }
}

fn page(host: &str, title: &str) -> PageRow {
    let page = Page {
        url: format!("http://{host}/"),
        status: Some(200),
        title: Some(title.to_owned()),
        fetch_ms: Some(10),
        links: Some(2),
        depth: 1,
        ..Page::default()
    };
    PageRow { worker_id: Some("worker-1".into()), ..PageRow::new(JobId(1), 1, host, page) }
}

fn links(host: &str, targets: &[String]) -> LinkBatch {
    let mut batch = LinkBatch::new();
    let of = |target| Link { target, anchor: "", rel: Rel::default(), kind: LinkKind::Anchor };
    batch.push(JobId(1), &format!("http://{host}/"), targets.iter().map(|target| of(target.as_str())));
    batch
}

fn commit(
    (catalogue, edges): (&mut GraphCatalogue, &mut GraphLinks),
    host: &str,
    targets: &[&str],
) -> argiope_store::error::Result<()> {
    let targets: Vec<String> = targets.iter().map(|target| format!("http://{target}/")).collect();
    edges.append(&links(host, &targets))?;
    edges.sync()?;
    let batch = Batch { pages: vec![page(host, "A page")], ..Batch::default() };
    catalogue.commit(&batch).map(|_| ())
}

fn rows(path: &Path, sql: &str) -> u32 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn rows_are_written_fifty_at_a_time_or_on_flush() {
    let desk = Desk::new();
    let store = desk.open();
    store.limit_age(Duration::from_secs(3600));
    assert_eq!(store.begin("a.test").unwrap(), Beginning::New);
    let (mut catalogue, mut edges) = store.ports(3, |_| {});
    for n in 0..12 {
        // Two nodes and an edge each, the first of them together.
        commit((&mut catalogue, &mut edges), "a.test", &[&format!("b{n}.test")]).unwrap();
    }
    assert_eq!((store.pending_nodes(), rows(&desk.path(), "SELECT count(*) FROM nodes")), (13, 1));
    for n in 12..25 {
        commit((&mut catalogue, &mut edges), "a.test", &[&format!("b{n}.test")]).unwrap();
    }
    assert_eq!((store.pending_nodes(), rows(&desk.path(), "SELECT count(*) FROM edges")), (0, 25));
    assert_eq!(rows(&desk.path(), "SELECT crawl_count FROM nodes WHERE node_id = 1"), 25);
    commit((&mut catalogue, &mut edges), "a.test", &["b0.test", "b1.test"]).unwrap();
    store.flush_aged().unwrap();
    assert_eq!(store.pending_nodes(), 3, "not old enough");
    store.limit_age(Duration::ZERO);
    store.flush_aged().unwrap();
    assert_eq!(rows(&desk.path(), "SELECT sum(weight) FROM edges"), 27);
    let figures = store.figures();
    assert_eq!((figures.nodes, figures.edges, figures.pages_fetched, figures.fetch_ms), (26, 25, 26, 260));
    // Numbers are given in the order of discovery, without gaps.
    assert_eq!(rows(&desk.path(), "SELECT max(node_id) FROM nodes"), 26);
}

#[test]
fn who_goes_on_is_told_what_was_crawled_how_often() {
    let desk = Desk::new();
    {
        let store = desk.open();
        store.begin("a.test").unwrap();
        let (mut catalogue, mut edges) = store.ports(3, |_| {});
        commit((&mut catalogue, &mut edges), "a.test", &["b.test"]).unwrap();
        commit((&mut catalogue, &mut edges), "a.test", &["b.test"]).unwrap();
        store.flush().unwrap();
    }
    let store = desk.open();
    assert_eq!(store.begin("a.test").unwrap(), Beginning::Known);
    let node = |name: &str, crawl_count| KnownNode { name: name.to_owned(), crawl_count };
    assert_eq!(store.nodes_below(3).unwrap(), [node("a.test", 2), node("b.test", 0)]);
    assert_eq!(store.nodes_below(2).unwrap(), [node("b.test", 0)]);
    assert_eq!(store.crawled_nodes().unwrap(), [node("a.test", 2)]);
    assert_eq!(store.crawled_count().unwrap(), 1);
}

#[test]
fn a_full_disk_is_said_and_loses_nothing_that_was_written() {
    let desk = Desk::new();
    let store = desk.open();
    store.begin("a.test").unwrap();
    let (mut catalogue, mut edges) = store.ports(3, |_| {});
    store.limit_size(12).unwrap();
    let outcome = (0..2000).try_for_each(|n| {
        commit((&mut catalogue, &mut edges), &format!("host{n}.test"), &[&format!("target{n}.test")])
    });
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ErrorKind::DiskFull);
    assert!(error.to_string().contains("graph.db: no space left"), "{error}");
    let waiting = store.pending_nodes();
    assert!(waiting > 0, "what could not be written still waits");
    let before = rows(&desk.path(), "SELECT count(*) FROM nodes");
    // Room again.
    store.limit_size(1_000_000).unwrap();
    store.flush().unwrap();
    assert_eq!(rows(&desk.path(), "SELECT count(*) FROM nodes"), before + u32::try_from(waiting).unwrap());
}

#[test]
fn a_graph_has_one_writer() {
    let desk = Desk::new();
    let first = desk.open();
    assert_eq!(GraphStore::open(&desk.path()).err().unwrap().kind, ErrorKind::Busy);
    drop(first);
    desk.open();
}

#[test]
fn the_watcher_is_called_with_the_result_of_every_host() {
    let desk = Desk::new();
    let store = desk.open();
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&told);
    let (mut catalogue, _) = store.ports(1, move |happening| {
        let note = match happening {
            Happening::Fetched { worker, host, depth, links } => format!("{worker:?} {host} {depth} {links}"),
            Happening::Retried { host, error, retry, .. } => format!("{host} again {retry}: {error}"),
            Happening::Failed { host, error, retries, .. } => format!("{host} failed {retries}: {error}"),
            Happening::Refused { url, reason, .. } => format!("{url} {reason}"),
        };
        notes.lock().unwrap().push(note);
    });
    let request = |host: &str, kind, error: Option<&str>, status| FetchRow {
        kind,
        error: error.map(str::to_owned),
        status,
        outcome: if kind == RequestKind::Page { FetchOutcome::Retry } else { FetchOutcome::Final },
        ..FetchRow::new(JobId(1), host, format!("http://{host}/"), 1)
    };
    let mut lost = page("lost.test", "");
    lost.page.status = None;
    lost.page.error = Some(String::from("timeout: no byte"));
    lost.retry_count = 3;
    let mut gone = page("gone.test", "");
    gone.page.status = Some(404);
    let silent = || request("mute.test", RequestKind::Robots, Some("timeout: no byte"), None);
    let batch = Batch {
        pages: vec![page("a.test", "A"), lost, gone],
        fetches: vec![
            request("slow.test", RequestKind::Page, Some("timeout: no byte"), None),
            silent(),
            silent(),
            request("broken.test", RequestKind::Robots, None, Some(503)),
            request("a.test", RequestKind::Robots, None, Some(404)),
        ],
        skipped: vec![SkippedRow {
            job: JobId(1),
            url_key: 1,
            url: String::from("http://mute.test/"),
            reason: SkipReason::RobotsUnreachable,
            detail: String::new(),
            source: None,
            amount: 0,
        }],
        ..Batch::default()
    };
    catalogue.commit(&batch).unwrap();
    assert_eq!(
        *told.lock().unwrap(),
        [
            "slow.test again 1: timeout: no byte",
            "mute.test again 1: timeout: no byte",
            "broken.test again 1: http: 503",
            "Some(2) a.test 1 2",
            "lost.test failed 3: timeout: no byte",
            "gone.test failed 0: no answer",
            "http://mute.test/ robots_unreachable",
        ]
    );
    let figures = store.figures();
    assert_eq!((figures.pages_fetched, figures.pages_failed), (1, 3));
}
