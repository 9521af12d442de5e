//! Servers that deliver badly cost a bounded amount of time and memory, and nothing of what they did send is lost.

use crate::mixed::crawled;
use argiope_lab::SiteKind;

#[test]
fn bad_deliveries_are_cut_or_fail_and_the_site_is_fetched_whole() {
    crawled().judge(SiteKind::Transport);
}

#[test]
fn chunks_and_bodies_that_end_with_the_connection_are_read_whole() {
    for path in ["/t/chunked", "/t/until-close"] {
        let page = crawled().page(SiteKind::Transport, path);
        assert!(page["error"].is_null() && page["bytes"].as_u64() > Some(20_000), "{page}");
    }
}

#[test]
fn failures_name_their_kind() {
    for (path, kind) in
        [("/t/never", "timeout: first byte"), ("/t/reset", "reset: "), ("/t/garbage", "protocol: ")]
    {
        let page = crawled().page(SiteKind::Transport, path);
        assert!(page["error"].as_str().unwrap().starts_with(kind), "{page}");
        assert!(page["status"].is_null(), "{page}");
    }
}

#[test]
fn what_never_answers_or_drips_costs_its_timeout_and_no_more() {
    for path in ["/t/never", "/t/drip"] {
        let page = crawled().page(SiteKind::Transport, path);
        assert!(page["fetch_ms"].as_u64() >= Some(900), "what was waited is told: {page}");
        assert!(page["error"].as_str().unwrap().contains("after 1 s"), "{page}");
    }
    assert_eq!(crawled().count(SiteKind::Transport, "/t/never"), 2, "tried once more");
}

#[test]
fn bombs_and_bodies_beyond_measure_are_cut_at_the_limit() {
    crawled().judge(SiteKind::Big);
    for path in ["/big/bomb", "/big/huge"] {
        let page = crawled().page(SiteKind::Big, path);
        assert_eq!(page["bytes"], 10_000_000, "{page}");
    }
    let sent = crawled().requests(SiteKind::Big).iter().map(|entry| entry.bytes).max().unwrap();
    assert!(sent < 40_000_000, "the rest of {sent} bytes was not waited for");
}

#[test]
fn a_cut_body_is_hashed_and_archived_as_far_as_it_came() {
    let page = crawled().page(SiteKind::Transport, "/t/longer-than-said");
    assert!(page["error"].as_str().unwrap().starts_with("truncated: short body"), "{page}");
    assert_eq!(
        page["title"].as_str().map(|title| title.starts_with("t/longer-than-said")),
        Some(true),
        "{page}"
    );
    assert!(page["content_hash"].is_string() && page["archive"].is_string(), "{page}");
}
