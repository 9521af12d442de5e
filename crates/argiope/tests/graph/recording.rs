//! The contents of the file, and the output, after a crawl that ran to its end.

use crate::atlas::{Atlas, Graph};
use crate::web::{Answer, Web};
use serde_json::json;

fn ring() -> Web {
    let web = Web::start();
    web.page("a.test", &["b.test"]);
    web.page("b.test", &["c.test/some/page?x=1"]);
    web.page("c.test", &["a.test"]);
    web
}

#[test]
fn a_ring_of_three_is_mapped_once_per_depth() {
    let web = ring();
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({}));
    let run = atlas.run().ok();
    // Depths 0 to 5: each node twice.
    let edges = [("a.test", "b.test", 2), ("b.test", "c.test", 2), ("c.test", "a.test", 2)];
    assert_eq!(atlas.graph(), Graph::of(&[("a.test", 2), ("b.test", 2), ("c.test", 2)], &edges));
    let database = atlas.database();
    let (name, text, since): (String, String, String) = database
        .query_row("SELECT domain_name, description, created_at FROM nodes WHERE node_id = 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!((name, text.as_str()), (web.node("a.test"), "Home of a.test"));
    assert_eq!(since.len(), "2025-01-16 10:00:00".len());
    assert_eq!((web.asked("a.test", "/"), web.asked("c.test", "/some/page?x=1")), (2, 0));

    let host = web.node("b.test");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], format!("[INFO] Starting crawl from {}", web.node("a.test")));
    let fetched = format!(" fetched {host} (depth=4, 1 outbound link)");
    assert!(
        lines.iter().any(|line| line.starts_with("[INFO] Worker ") && line.ends_with(&fetched)),
        "{lines:#?}"
    );
    assert!(lines.contains(&"[INFO] Queue: 0 | Nodes: 3 | Edges: 3"), "{lines:#?}");
    assert_eq!(lines.last(), Some(&"[INFO] Metrics written to metrics.log"));
    assert_eq!(run.stderr, "");
}

#[test]
fn the_file_has_the_tables_and_indexes_it_is_known_by() {
    let web = ring();
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_depth": 0}));
    atlas.run().ok();
    let database = atlas.database();
    let columns = |table: &str| -> Vec<(String, String, Option<String>)> {
        let mut statement =
            database.prepare("SELECT name, type, dflt_value FROM pragma_table_info(?1)").unwrap();
        let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let column = |name: &str, kind: &str, default: Option<&str>| {
        (name.to_owned(), kind.to_owned(), default.map(str::to_owned))
    };
    assert_eq!(
        columns("nodes"),
        [
            column("node_id", "INTEGER", None),
            column("domain_name", "TEXT", None),
            column("description", "TEXT", None),
            column("crawl_count", "INTEGER", Some("0")),
            column("created_at", "TIMESTAMP", Some("CURRENT_TIMESTAMP")),
        ]
    );
    assert_eq!(
        columns("edges"),
        [
            column("edge_id", "INTEGER", None),
            column("from_node_id", "INTEGER", None),
            column("to_node_id", "INTEGER", None),
            column("weight", "INTEGER", Some("1")),
        ]
    );
    let mut names = database
        .prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
        .unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(names, ["edges", "idx_edges_from", "idx_edges_to", "idx_nodes_domain", "nodes"]);
}

#[test]
fn a_second_run_adds_to_counts_and_weights_and_a_third_has_nothing_to_do() {
    let web = ring();
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({}));
    atlas.run().ok();
    atlas.run().ok();
    let edges = [("a.test", "b.test", 3), ("b.test", "c.test", 3), ("c.test", "a.test", 3)];
    let whole = Graph::of(&[("a.test", 3), ("b.test", 3), ("c.test", 3)], &edges);
    assert_eq!(atlas.graph(), whole);
    let requests = web.requests();
    atlas.run().ok();
    assert_eq!((atlas.graph(), web.requests()), (whole, requests));
    assert_eq!(atlas.metrics()["pages_fetched"], 0);
}

#[test]
fn metrics_have_the_figures_of_the_run() {
    let web = ring();
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"metrics_path": "figures.json"}));
    atlas.run().ok();
    let text = atlas.desk.read("figures.json");
    let metrics: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let keys = [
        "avg_fetch_time_ms",
        "edges_recorded",
        "end_time",
        "nodes_crawled",
        "nodes_discovered",
        "pages_failed",
        "pages_fetched",
        "start_time",
        "termination_reason",
    ];
    let mut found: Vec<&str> = metrics.keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, keys);
    assert_eq!(metrics["termination_reason"], "queue_empty");
    for (key, value) in
        [("nodes_discovered", 3), ("nodes_crawled", 3), ("edges_recorded", 3), ("pages_fetched", 6)]
    {
        assert_eq!(metrics[key], value, "{key}");
    }
    assert_eq!(metrics["pages_failed"], 0);
    assert!(metrics["start_time"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn a_quiet_crawl_says_nothing_and_the_seed_may_be_given_by_flags() {
    let web = ring();
    let atlas = Atlas::of(&web);
    let seed = web.seed("a.test");
    let run = atlas
        .desk
        .run(&[
            "graph",
            &format!("{seed}deep/page"),
            "--allow-private",
            "-q",
            "--max-depth",
            "1",
            "--db-path",
            "g.db",
        ])
        .ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let database = rusqlite::Connection::open(atlas.desk.path("g.db")).unwrap();
    let nodes: u32 = database.query_row("SELECT count(*) FROM nodes", [], |row| row.get(0)).unwrap();
    assert_eq!((nodes, web.asked("a.test", "/"), web.asked("a.test", "/deep/page")), (3, 1, 0));
}

#[test]
fn title_and_description_of_a_redirected_home_page_are_those_of_where_it_led() {
    let web = Web::start();
    web.host("a.test", Answer::Redirect(format!("http://www.a.test:{}/", web.port)));
    web.host(
        "www.a.test",
        Answer::Page(format!(
            "<title>A</title><meta name=description content='all of it'><a href='http://www.a.test:{0}/own'>self</a>
             <a href='http://b.test:{0}/'>b</a>",
            web.port
        )),
    );
    web.page("b.test", &[]);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({}));
    atlas.run().ok();
    assert_eq!(atlas.graph(), Graph::of(&[("a.test", 1), ("b.test", 1)], &[("a.test", "b.test", 1)]));
    let text: String = atlas
        .database()
        .query_row("SELECT description FROM nodes WHERE node_id = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(text, "A - all of it");
}
