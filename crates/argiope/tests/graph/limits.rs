//! What is left out, and why.

use crate::atlas::Atlas;
use crate::web::{Answer, Web};
use serde_json::json;

#[test]
fn the_first_links_of_a_page_are_taken_and_one_per_host() {
    let web = Web::start();
    web.page(
        "a.test",
        &[
            "a.test/own",
            "d.test/1",
            "www.facebook.com",
            "d.test/2",
            "b.test",
            "ads.x.test",
            "c.test",
            "e.test",
        ],
    );
    for name in ["b.test", "c.test", "d.test", "e.test"] {
        web.page(name, &[]);
    }
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_outbound_links": 3}));
    let run = atlas.run().ok();
    assert_eq!(atlas.graph().targets("a.test"), ["b.test", "c.test", "d.test"]);
    let names: Vec<String> = atlas.graph().nodes.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.test", "d.test", "b.test", "c.test"], "in the order of the page");
    assert!(run.stdout.contains("(depth=0, 3 outbound links)"), "{}", run.stdout);
}

#[test]
fn excluded_domains_of_the_file_replace_the_usual_ones() {
    let web = Web::start();
    web.page("a.test", &["ads.x.test", "b.test", "c.test"]);
    for name in ["ads.x.test", "b.test", "c.test"] {
        web.page(name, &[]);
    }
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"exclude_domains": ["^b\\."]}));
    atlas.run().ok();
    assert_eq!(atlas.graph().targets("a.test"), ["ads.x.test", "c.test"]);
    assert_eq!(web.asked("b.test", "/robots.txt"), 0);
}

#[test]
fn only_so_many_hosts_of_a_root_domain_are_asked_but_all_are_recorded() {
    let web = Web::start();
    // b.co.uk is a root domain, co.uk none.
    let names = ["one.b.co.uk", "two.b.co.uk", "three.b.co.uk", "c.co.uk", "d.co.uk"];
    web.page("a.test", &names);
    for name in names {
        web.page(name, &[]);
    }
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_subdomains_per_root": 2}));
    atlas.run().ok();
    let graph = atlas.graph();
    let crawls: Vec<u32> = names.iter().map(|name| graph.crawls(name)).collect();
    assert_eq!(crawls, [1, 1, 0, 1, 1]);
    assert_eq!(graph.targets("a.test").len(), 5);
    assert_eq!(web.asked("three.b.co.uk", "/"), 0);
    // Those that were asked keep their places in the next run.
    atlas.run().ok();
    assert_eq!(atlas.graph().crawls("three.b.co.uk"), 0);
}

#[test]
fn a_node_is_crawled_so_often_and_no_more() {
    let web = Web::start();
    web.page("a.test", &["b.test"]);
    web.page("b.test", &["a.test"]);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_depth": 9, "max_crawls_per_node": 2}));
    atlas.run().ok();
    let graph = atlas.graph();
    assert_eq!((graph.crawls("a.test"), graph.crawls("b.test")), (2, 2));
    assert_eq!((web.asked("a.test", "/"), web.asked("b.test", "/")), (2, 2));
}

#[test]
fn what_lies_deeper_is_recorded_and_not_asked() {
    let web = Web::start();
    web.page("a.test", &["b.test"]);
    web.page("b.test", &["c.test"]);
    web.page("c.test", &["d.test"]);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({"max_depth": 1}));
    atlas.run().ok();
    let graph = atlas.graph();
    assert_eq!((graph.crawls("b.test"), graph.crawls("c.test"), graph.has("d.test")), (1, 0, false));
    assert_eq!(web.asked("c.test", "/"), 0);
}

#[test]
fn robots_txt_is_obeyed_unless_the_file_says_otherwise() {
    let web = Web::start();
    web.page("a.test", &["b.test"]);
    web.page("b.test", &["c.test"]);
    web.page("c.test", &[]);
    web.robots("b.test", "User-agent: *\nDisallow: /\n");
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({}));
    let run = atlas.run().ok();
    assert_eq!((atlas.graph().crawls("b.test"), web.asked("b.test", "/")), (0, 0));
    assert!(run.stdout.contains("[WARN] Skipped") && run.stdout.contains("robots.txt"), "{}", run.stdout);

    atlas.configure(&web, "a.test", json!({"respect_robots": false, "db_path": "other.db"}));
    let asked = web.asked("b.test", "/robots.txt");
    let run = atlas.run().ok();
    assert!(run.stderr.contains("robots.txt is IGNORED"), "{}", run.stderr);
    assert_eq!((web.asked("b.test", "/"), web.asked("b.test", "/robots.txt")), (1, asked));
}

#[test]
fn a_nofollow_link_is_an_edge_and_is_not_fetched() {
    let web = Web::start();
    let link = |name: &str, rel: &str| format!("<a rel='{rel}' href='http://{name}:{}/'>x</a>", web.port);
    let html = link("b.test", "nofollow") + &link("c.test", "");
    web.host("a.test", Answer::Page(html));
    web.page("b.test", &[]);
    web.page("c.test", &[]);
    let atlas = Atlas::of(&web);
    atlas.configure(&web, "a.test", json!({}));
    atlas.run().ok();
    assert_eq!(atlas.graph().targets("a.test"), ["b.test", "c.test"]);
    assert_eq!((web.asked("b.test", "/"), web.asked("c.test", "/")), (0, 1));
}
