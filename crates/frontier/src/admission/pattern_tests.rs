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

fn url(path: &str) -> Url {
    Url::parse(&format!("https://h.test{path}"), &NormalRules::default()).unwrap()
}

#[test]
fn a_pattern_is_shown_as_people_read_it() {
    for (path, shown) in [
        ("/calendar/2024/05/12", "h.test/calendar/{n}/{n}/{n}"),
        ("/a&b/item-12.html?page=3&q=a+b&view=list", "h.test/a&b/item-{n}.html?page=*&q=*&view=list"),
        ("/u/550e8400-e29b-41d4-a716-446655440000/9f86d081884c7d65", "h.test/u/{id}/{id}"),
        ("/", "h.test/"),
    ] {
        assert_eq!(pattern_text(&url(path)), shown, "{path}");
    }
    let long = pattern_text(&url(&"/segment".repeat(100)));
    assert!(long.len() <= SHOWN + 3 && long.ends_with("..."), "{long}");
}

/// No two of these are near each other.
fn other_words(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn page(words: u64, title: u64) -> SeenPage {
    SeenPage { text: PageText { words, title }, leads_on: true }
}

/// Admits and fetches `count` pages of one pattern; says how many came in.
fn crawl(table: &mut PatternTable, count: u64, page: impl Fn(u64) -> SeenPage) -> u64 {
    (0..count)
        .filter(|n| {
            let url = url(&format!("/list/{n}"));
            let admitted = table.admit(&url).is_ok();
            if admitted {
                table.page_seen(&url, page(*n));
            }
            admitted
        })
        .count() as u64
}

fn crawl_anew(count: u64, page: impl Fn(u64) -> SeenPage) -> u64 {
    crawl(&mut PatternTable::default(), count, page)
}

#[test]
fn an_archive_with_different_texts_is_no_trap_whatever_it_links_to() {
    assert_eq!(crawl_anew(20_000, |n| page(other_words(n), 7)), 20_000);
    assert_eq!(crawl_anew(20_000, |n| page(other_words(n), n)), 20_000);
}

#[test]
fn products_with_a_short_text_in_a_long_template_are_no_trap() {
    // Their titles tell them apart, and where those are all the same, more than a word or two of their texts.
    assert_eq!(crawl_anew(20_000, |n| page(0xaaaa ^ (1 << (n % 60)), n)), 20_000);
    let three_bits =
        |n: u64| 0xaaaa ^ (1 << (n % 21)) ^ (1 << (21 + n / 21 % 21)) ^ (1 << (42 + n / 441 % 21));
    assert_eq!(crawl_anew(9_000, |n| page(three_bits(n * 463 % 9261), 7)), 9_000);
    // Nor are they where they lead nowhere: they are as many as were named.
    let listed = |n: u64| SeenPage { leads_on: false, ..page(0xaaaa ^ (1 << (n % 60)) ^ (n << 40), 7) };
    assert_eq!(crawl_anew(20_000, listed), 20_000);
}

#[test]
fn the_same_page_again_and_again_is_a_trap_after_a_thousand_urls() {
    let mut table = PatternTable::default();
    assert_eq!(crawl(&mut table, 20_000, |_| page(5, 7)), 1000);
    let skip = table.admit(&url("/list/77")).unwrap_err();
    let told = TrapSkip::parse(&skip.detail).unwrap();
    assert_eq!((told.rule, told.pattern), (TrapRule::NearDuplicates, "h.test/list/{n}"));
    assert!(told.finding.contains("are near-duplicates of each other or empty"), "{}", told.finding);
    assert!(told.finding.contains("traps.worthless_percent 90"), "{}", told.finding);
    assert_eq!(table.admit(&url("/other/77")), Ok(()), "the other patterns of the host are free");
    let one_dead_end = |_| SeenPage { leads_on: false, ..page(5, 7) };
    assert_eq!(crawl_anew(5000, one_dead_end), 1000, "one page under many URLs");
}

#[test]
fn nearly_the_same_page_with_other_links_is_a_trap() {
    assert_eq!(crawl_anew(5000, |n| page(0xaaaa ^ (1 << (n % 50)), 7)), 1000);
    assert_eq!(crawl_anew(5000, |n| page(0, n % 3)), 1000, "empty pages");
}

#[test]
fn a_calendar_and_a_maze_show_the_same_few_pages() {
    let day = |n: u64| page(other_words(n % 7), n / 7 % 12);
    assert_eq!(crawl_anew(5000, day), 1000, "weekdays and months");
    let maze = |n: u64| page(other_words(other_words(n) >> 32 & 63), 3);
    assert_eq!(crawl_anew(5000, maze), 1000, "64 pages, in any order");
}

#[test]
fn a_few_pages_of_their_own_save_a_pattern() {
    let one_in_five = |n: u64| if n.is_multiple_of(5) { page(other_words(n), 7) } else { page(5, 7) };
    assert_eq!(crawl_anew(5000, one_in_five), 5000);
    let one_in_fifty = |n: u64| if n.is_multiple_of(50) { page(other_words(n), 7) } else { page(5, 7) };
    assert_eq!(crawl_anew(5000, one_in_fifty), 1000);
}

#[test]
fn a_pattern_is_judged_by_its_latest_pages() {
    // An archive, and after it pages without end.
    let fetched = crawl_anew(20_000, |n| if n < 5000 { page(other_words(n), 7) } else { page(5, 7) });
    assert!((5040..5200).contains(&fetched), "{fetched}");
}

#[test]
fn nothing_is_a_trap_before_its_pages_prove_it() {
    let mut table = PatternTable::default();
    let list = url("/list/1");
    assert!((0..50_000).all(|_| table.admit(&list).is_ok()));
    // The first is no duplicate of any.
    for _ in 0..49 {
        table.page_seen(&list, page(5, 7));
    }
    assert_eq!(table.admit(&list), Ok(()));
    table.page_seen(&list, page(5, 7));
    assert!(table.admit(&list).is_err());
    // A pattern can redeem itself.
    for n in 0..10 {
        table.page_seen(&list, page(other_words(n), 7));
    }
    assert_eq!(table.admit(&list), Ok(()));
}

#[test]
fn the_limits_are_those_of_the_job() {
    let rules = TrapRules {
        urls_per_pattern: 10,
        pages_before_judgement: 10,
        worthless_percent: 40,
        ..TrapRules::default()
    };
    let half = |n: u64| if n.is_multiple_of(2) { page(5, 7) } else { page(other_words(n), 7) };
    let fetched = crawl(&mut PatternTable::new(&rules), 1000, half);
    assert!((10..40).contains(&fetched), "{fetched}");
    let off = TrapRules { enabled: false, ..rules };
    assert_eq!(crawl(&mut PatternTable::new(&off), 100, |_| page(5, 7)), 100);
}

#[test]
fn a_trap_is_remembered_while_other_patterns_come_and_go() {
    let mut table = PatternTable::default();
    crawl(&mut table, 2000, |_| page(5, 7));
    let name = |mut n: u32| {
        let mut name = String::from("/");
        while n > 0 {
            name.push(char::from(b'a' + (n % 26) as u8));
            n /= 26;
        }
        name
    };
    for other in 1000..50_000 {
        assert_eq!(table.admit(&url(&name(other))), Ok(()));
        assert!(table.len() <= MOST_PATTERNS);
    }
    assert!(table.admit(&url("/list/5")).is_err());
}

proptest! {
    #[test]
    fn a_table_stays_sorted_and_bounded(events in prop::collection::vec(("[a-z]{1,2}", 0u8..4), 0..2000)) {
        let mut table = PatternTable::default();
        for (name, event) in events {
            let url = url(&format!("/{name}"));
            if event == 0 {
                table.page_seen(&url, page(1, 1));
            } else {
                prop_assert!(table.admit(&url).is_ok());
                prop_assert!(table.patterns.iter().any(|known| known.pattern == pattern_of(&url)));
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
