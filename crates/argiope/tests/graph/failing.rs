//! Hosts that do not answer as they should.

use crate::atlas::Atlas;
use crate::web::{Answer, Web};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_failing_page_is_tried_again_and_given_up_in_the_end() {
    let web = Web::start();
    web.page("a.test", &["broken.test", "shaky.test"]);
    web.host("broken.test", Answer::Status(500));
    web.page("shaky.test", &["a.test"]);
    web.first("shaky.test", &[Answer::Status(503), Answer::Status(502)]);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_depth": 1, "retry_attempts": 2}));
    let run = atlas.run().ok();
    assert_eq!((web.asked("broken.test", "/"), web.asked("shaky.test", "/")), (3, 3));
    let graph = atlas.graph();
    assert_eq!((graph.crawls("broken.test"), graph.crawls("shaky.test")), (0, 1));
    assert_eq!(graph.targets("shaky.test"), ["a.test"]);
    for part in ["(http 500, retry 1/2)", "(http 500, retry 2/2)", "(http 500, given up after 2 retries)"] {
        let line = format!("failed to fetch {} {part}", web.node("broken.test"));
        assert!(
            run.stdout.lines().any(|l| l.starts_with("[WARN] Worker ") && l.ends_with(&line)),
            "{line}\n{}",
            run.stdout
        );
    }
    assert_eq!(atlas.metrics()["pages_failed"], 1);
}

#[test]
fn what_cannot_get_better_is_not_tried_again() {
    let web = Web::start();
    web.page("a.test", &["gone.test", "busy.test", "nowhere.invalid"]);
    web.host("gone.test", Answer::Status(404));
    web.host("busy.test", Answer::Status(429));
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_depth": 1}));
    let run = atlas.run().ok();
    assert_eq!((web.asked("gone.test", "/"), web.asked("busy.test", "/")), (1, 1));
    assert!(!run.stdout.contains("retry"), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("{} (http 404)", web.node("gone.test"))), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("{} (dns)", web.node("nowhere.invalid"))), "{}", run.stdout);
    assert_eq!(atlas.metrics()["pages_failed"], 3);
    assert_eq!(atlas.graph().nodes.len(), 4);
}

#[test]
fn a_slow_page_is_given_longer_with_each_try() {
    let web = Web::start();
    web.page("a.test", &[]);
    // Too long for the first try, not for the third.
    web.wait("a.test", Duration::from_millis(700));
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"request_timeout_ms": 300}));
    let run = atlas.run().ok();
    assert_eq!(atlas.graph().crawls("a.test"), 1);
    assert_eq!(web.asked("a.test", "/"), 3);
    let line = format!("failed to fetch {} (timeout, retry 1/3)", web.node("a.test"));
    assert!(run.stdout.contains(&line), "{}", run.stdout);
}

#[test]
fn a_seed_that_never_answers_is_a_failure() {
    let web = Web::start();
    web.host("a.test", Answer::Silence);
    let atlas = Atlas::of(&web);
    atlas.configure(
        &web,
        "a.test",
        json!({"request_timeout_ms": 100, "retry_attempts": 1, "retry_delay_ms": 10}),
    );
    let run = atlas.run();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("no home page responded"), "{}", run.stderr);
    let metrics = atlas.metrics();
    assert_eq!((&metrics["pages_failed"], &metrics["nodes_crawled"]), (&json!(1), &json!(0)));
}
