//! Which URLs are one pattern, and which patterns are traps.

use super::*;
use argiope_model::NormalRules;
use proptest::prelude::*;

fn pattern(path: &str) -> u64 {
    pattern_of(&Url::parse(&format!("https://h.test{path}"), &NormalRules::default()).unwrap())
}

#[test]
fn numbers_dates_and_ids_do_not_make_a_pattern() {
    for (one, other) in [
        ("/item/1", "/item/4711"),
        ("/item-1.html", "/item-22.html"),
        ("/2024/05/12/", "/1999/1/2/"),
        ("/log/2024-05-12", "/log/1999-01-02"),
        ("/d/20240512T1000", "/d/19990102T2359"),
        ("/u/550e8400-e29b-41d4-a716-446655440000", "/u/6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("/c/9f86d081884c7d65", "/c/60303ae22b998861"),
        ("/c/a1b2c3d4", "/c/0123abcd"),
        ("/v/dQw4w9WgXcQ1aZ9bK", "/v/x9Y8z7W6v5U4t3S2r"),
        ("/?page=1", "/?page=2"),
        ("/?q=a+b", "/?q=c%20d"),
        ("/?day=2024-01-01", "/?day=2025-01-01"),
    ] {
        assert_eq!(pattern(one), pattern(other), "{one} {other}");
    }
}

#[test]
fn words_make_a_pattern() {
    let paths = [
        "/",
        "/item",
        "/item/",
        "/item/1",
        "/items/1",
        "/item/1/reviews",
        "/item/x",
        "/facade",
        "/decade",
        "/?view=article",
        "/?view=list",
        "/?id=1",
        "/?id=1&sort=2",
        "/a",
        "/a?b",
    ];
    for (at, one) in paths.iter().enumerate() {
        for other in &paths[at + 1..] {
            assert_ne!(pattern(one), pattern(other), "{one} {other}");
        }
    }
}

fn seen(duplicate: bool, leads_elsewhere: bool) -> SeenPage {
    SeenPage { duplicate, leads_elsewhere, text: None }
}

#[test]
fn nearly_the_same_page_with_other_links_is_a_trap() {
    let crawl_texts = |text: fn(u64) -> Option<u64>| {
        let mut table = PatternTable::default();
        let pages = (0..5000).filter(|n| {
            let admitted = table.admit(7).is_ok();
            table.page_seen(7, SeenPage { text: text(*n), ..seen(false, true) });
            admitted
        });
        pages.count()
    };
    assert_eq!(crawl_texts(|n| Some(0xaaaa ^ (1 << (n % 3)))), 1000);
    assert_eq!(
        crawl_texts(|n| Some(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        5000,
        "other texts are other pages"
    );
    assert_eq!(crawl_texts(|_| None), 5000, "pages that do not lead on are no trap");
}

/// Admits and fetches `count` pages of one pattern; says how many came in.
fn crawl(table: &mut PatternTable, count: u32, page: impl Fn(u32) -> (bool, bool)) -> u32 {
    (0..count)
        .filter(|n| {
            let admitted = table.admit(7).is_ok();
            if admitted {
                let (duplicate, elsewhere) = page(*n);
                table.page_seen(7, seen(duplicate, elsewhere));
            }
            admitted
        })
        .count() as u32
}

#[test]
fn a_shop_of_numbered_products_is_no_trap() {
    assert_eq!(crawl(&mut PatternTable::default(), 100_000, |_| (false, true)), 100_000);
    assert_eq!(crawl(&mut PatternTable::default(), 100_000, |n| (n % 10 < 8, n % 10 > 7)), 100_000);
}

#[test]
fn pages_that_are_all_the_same_are_a_trap_after_a_thousand_urls() {
    let mut table = PatternTable::default();
    assert_eq!(crawl(&mut table, 100_000, |_| (true, true)), 1000);
    let skip = table.admit(7).unwrap_err();
    assert_eq!(skip.reason, SkipReason::Trap);
    assert_eq!(skip.detail, "1000 URLs of one pattern, and of 1000 fetched pages 1000 are duplicates");
    assert_eq!(table.judge(7), Err(skip));
    assert_eq!(table.admit(8), Ok(()), "the other patterns of the host are free");
}

#[test]
fn pages_that_lead_only_to_more_of_the_same_are_a_trap() {
    assert_eq!(crawl(&mut PatternTable::default(), 5000, |_| (false, false)), 1000);
    assert_eq!(crawl(&mut PatternTable::default(), 5000, |n| (false, n % 20 == 0)), 1000);
    assert_eq!(crawl(&mut PatternTable::default(), 5000, |n| (false, n % 5 == 0)), 5000);
}

#[test]
fn nothing_is_a_trap_before_its_pages_prove_it() {
    let mut table = PatternTable::default();
    assert!((0..50_000).all(|_| table.admit(7).is_ok()));
    for _ in 0..49 {
        table.page_seen(7, seen(true, false));
    }
    assert_eq!(table.admit(7), Ok(()));
    table.page_seen(7, seen(true, false));
    assert!(table.admit(7).is_err());
    // A pattern can redeem itself.
    for _ in 0..10 {
        table.page_seen(7, seen(false, true));
    }
    assert_eq!(table.admit(7), Ok(()));
}

#[test]
fn the_limits_are_those_of_the_job() {
    let rules = TrapRules {
        urls_per_pattern: 10,
        pages_before_judgement: 2,
        worthless_percent: 50,
        ..TrapRules::default()
    };
    assert_eq!(crawl(&mut PatternTable::new(&rules), 100, |n| (n % 2 == 0, true)), 10);
}

#[test]
fn a_page_leads_elsewhere_by_one_other_link_or_by_none() {
    assert!(leads_elsewhere(1, [1, 1, 2]));
    assert!(!leads_elsewhere(1, [1, 1]));
    assert!(leads_elsewhere(1, []));
}

#[test]
fn a_trap_is_remembered_while_other_patterns_come_and_go() {
    let mut table = PatternTable::default();
    crawl(&mut table, 2000, |_| (true, true));
    for other in 1000..100_000 {
        assert_eq!(table.admit(other), Ok(()));
        assert!(table.len() <= MOST_PATTERNS);
    }
    assert!(table.admit(7).is_err());
}

#[test]
fn a_table_is_read_back_as_it_was_stored() {
    let mut table = PatternTable::default();
    crawl(&mut table, 60, |_| (true, false));
    let json = serde_json::to_string(&table).unwrap();
    assert_eq!(serde_json::from_str::<PatternTable>(&json).unwrap(), table);
}

proptest! {
    #[test]
    fn a_table_stays_sorted_and_bounded(events in prop::collection::vec((0u64..600, 0u8..4), 0..2000)) {
        let mut table = PatternTable::default();
        for (pattern, event) in events {
            if event == 0 {
                table.page_seen(pattern, seen(true, true));
            } else {
                prop_assert!(table.admit(pattern).is_ok());
                prop_assert!(table.patterns.iter().any(|known| known.pattern == pattern));
            }
        }
        prop_assert!(table.patterns.is_sorted_by(|a, b| a.pattern < b.pattern));
        prop_assert!(table.len() <= MOST_PATTERNS);
    }

    #[test]
    fn any_number_is_the_same_pattern(one in 0u64.., other in 0u64..) {
        prop_assert_eq!(pattern(&format!("/a/{one}/b-{one}.html?n={one}")), pattern(&format!("/a/{other}/b-{other}.html?n={other}")));
    }
}
