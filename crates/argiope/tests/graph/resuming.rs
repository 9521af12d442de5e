//! Crawls that are stopped, and go on.

use crate::atlas::{Atlas, Graph};
use crate::desk::wait_until;
use crate::web::Web;
use serde_json::json;
use std::time::Duration;

/// A star: each of its rays is slow enough to be stopped among them.
fn star(rays: usize) -> (Web, Vec<String>) {
    let web = Web::start();
    let names: Vec<String> = (0..rays).map(|n| format!("ray{n}.test")).collect();
    web.page("hub.test", &names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        web.page(name, &["hub.test"]);
        web.wait(name, Duration::from_millis(100));
    }
    (web, names)
}

fn keys() -> serde_json::Value {
    json!({"max_depth": 1, "max_crawls_per_node": 1, "max_outbound_links": 100, "concurrent_workers": 2})
}

fn whole(names: &[String]) -> Graph {
    let mut nodes = vec![("hub.test", 1)];
    nodes.extend(names.iter().map(|name| (name.as_str(), 1)));
    let edges: Vec<(&str, &str, u32)> = names
        .iter()
        .flat_map(|name| [("hub.test", name.as_str(), 1), (name.as_str(), "hub.test", 1)])
        .collect();
    Graph::of(&nodes, &edges)
}

fn crawled(atlas: &Atlas) -> u32 {
    let count = "SELECT count(*) FROM nodes WHERE crawl_count > 0";
    rusqlite::Connection::open(atlas.desk.path("crawler.db"))
        .and_then(|database| database.query_row(count, [], |row| row.get(0)))
        .unwrap_or(0)
}

#[test]
fn a_signal_ends_it_cleanly_and_the_same_command_goes_on() {
    let (web, names) = star(60);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "hub.test", keys());
    let running = atlas.start();
    wait_until(|| web.asked("ray5.test", "/") > 0);
    running.signal("-INT");
    let run = running.wait();
    assert_eq!(run.code, 130, "{}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let at = |start: &str| {
        lines.iter().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {lines:#?}"))
    };
    let order =
        ["[INFO] Shutdown signal received", "[INFO] Flushing ", "[INFO] Metrics written to metrics.log"];
    assert!(order.map(at).is_sorted(), "{lines:#?}");
    assert_eq!(atlas.metrics()["termination_reason"], "signal");
    let before = atlas.graph();
    assert!(before.crawls("hub.test") == 1 && before.crawls("ray59.test") == 0, "{before:?}");
    atlas.run().ok();
    assert_eq!(atlas.graph(), whole(&names));
    // Nothing that was recorded was asked for twice.
    let twice = names.iter().filter(|name| web.asked(name, "/") > 1).count();
    assert!(twice <= 2, "{twice} were under way");
    assert_eq!(atlas.metrics()["termination_reason"], "queue_empty");
}

#[test]
fn a_killed_crawl_goes_on_from_what_it_had_written() {
    let (web, names) = star(60);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "hub.test", keys());
    let running = atlas.start();
    wait_until(|| crawled(&atlas) >= 5);
    running.kill();
    let before = atlas.graph();
    assert!(before.nodes.iter().filter(|(_, count)| *count > 0).count() < 61);
    for (from, _, _) in &before.edges {
        assert_eq!(before.crawls(from), 1, "a page's edges go with its count");
    }
    atlas.run().ok();
    assert_eq!(atlas.graph(), whole(&names));
}

#[test]
fn two_crawls_do_not_write_the_same_file() {
    let (web, _) = star(30);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "hub.test", keys());
    let running = atlas.start();
    wait_until(|| web.asked("hub.test", "/") > 0);
    let second = atlas.run();
    assert_eq!(second.code, 1, "{}", second.stderr);
    assert!(second.stderr.contains("crawler.db: another graph crawl is writing to it"), "{}", second.stderr);
    running.signal("-TERM");
    assert_eq!(running.wait().code, 130);
}
