//! Errors are reported before the first request.

use crate::atlas::Atlas;
use crate::desk::{Desk, Run};
use crate::web::Web;
use serde_json::json;

fn with_config(text: &str) -> Run {
    let desk = Desk::new();
    desk.write("config.json", text);
    let run = desk.run(&["graph", "-c", "config.json"]);
    assert!(!desk.path("crawler.db").exists(), "nothing is made");
    run
}

#[test]
fn an_unknown_key_names_file_line_and_the_nearest_known_one() {
    let run = with_config("{\n  \"seed_url\": \"https://example.com\",\n  \"max_dept\": 5\n}\n");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("config.json:3:3: unknown key 'max_dept'; did you mean 'max_depth'?"),
        "{}",
        run.stderr
    );
}

#[test]
fn wrong_values_are_usage_errors() {
    for (text, part) in [
        (r#"{"seed_url": "https://a.test", "max_depth": -1}"#, "'max_depth' expects a whole number"),
        (r#"{"seed_url": "https://a.test", "max_crawls_per_node": 0}"#, "'max_crawls_per_node' expects"),
        (r#"{"seed_url": "https://a.test", "retry_attempts": "often"}"#, "'retry_attempts' expects"),
        (
            r#"{"seed_url": "https://a.test", "exclude_domains": ["("]}"#,
            "'exclude_domains' expects a regular",
        ),
        (
            r#"{"seed_url": "https://a.test", "respect_robots": "maybe"}"#,
            "'respect_robots' expects true or false",
        ),
        (r#"{"seed_url": "ftp://a.test", "db_path": "x.db"}"#, "scheme 'ftp' is not supported"),
        (r#"{"max_depth": 3}"#, "lacks 'seed_url'"),
        (r#"{"seed_url": "https://a.test", "db_path": "no/where.db"}"#, "there is no directory 'no'"),
        (r#"{"seed_url": "https://a.test", "metrics_path": "."}"#, "it is a directory"),
        (r#"{"seeds": ["https://a.test"], "scope": "any"}"#, "this is a job file"),
        (r#"{"seed_url": "#, "config.json:"),
    ] {
        let run = with_config(text);
        assert_eq!(run.code, 2, "{text}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{text}: {}", run.stderr);
    }
    let desk = Desk::new();
    assert_eq!(desk.run(&["graph"]).code, 2);
    assert_eq!(desk.run(&["graph", "a.test", "--max-outbound-links", "0"]).code, 2);
    assert_eq!(desk.run(&["graph", "-c", "missing.json"]).code, 2);
}

#[test]
fn a_loopback_seed_needs_the_flag_that_opens_it() {
    let run = with_config(r#"{"seed_url": "http://127.0.0.1:8080/"}"#);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--allow-private"), "{}", run.stderr);
}

#[test]
fn a_file_that_is_no_graph_is_left_alone() {
    let web = Web::start();
    web.page("a.test", &[]);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({}));
    atlas.desk.write(
        "crawler.db",
        "this is a letter and no database, and longer than a header of SQLite would be, too",
    );
    let before = atlas.desk.read("crawler.db");
    let run = atlas.run();
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("this is not a graph of argiope: it is not an SQLite database"),
        "{}",
        run.stderr
    );
    assert_eq!(atlas.desk.read("crawler.db"), before);

    std::fs::remove_file(atlas.desk.path("crawler.db")).unwrap();
    atlas
        .database()
        .execute_batch("CREATE TABLE nodes (id INTEGER); CREATE TABLE recipes (name TEXT)")
        .unwrap();
    let run = atlas.run();
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("its table 'nodes' has no column 'node_id'"), "{}", run.stderr);
    assert_eq!(web.requests(), 0);
}

#[test]
fn the_example_of_the_manual_is_valid() {
    let desk = Desk::new();
    desk.write(
        "config.json",
        r#"{
  "seed_url": "https://example.com",
  "max_depth": 5,
  "max_crawls_per_node": 3,
  "max_subdomains_per_root": 3,
  "max_outbound_links": 10,
  "concurrent_workers": 3,
  "request_timeout_ms": 5000,
  "retry_attempts": 3,
  "retry_delay_ms": 5000,
  "db_path": "crawler.db",
  "metrics_path": "metrics.log"
}"#,
    );
    desk.run(&["config", "check", "config.json"]).ok();
}
