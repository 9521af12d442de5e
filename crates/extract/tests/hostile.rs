//! Bytes made to hurt: nothing panics, and nothing costs more than its length.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use argiope_extract::{Extracted, Input, Limits, Scratch, Wants, extract, parse_sitemap, resolve};
use argiope_model::{NormalRules, Url};
use proptest::prelude::*;

fn read(body: &[u8], content_type: Option<&str>, scratch: &mut Scratch) -> Extracted {
    let url = Url::parse("https://example.com/a/b", &NormalRules::default()).unwrap();
    let input = Input {
        body,
        payload: None,
        content_type,
        url: &url,
        x_robots_tag: &[],
        agent: "argiope",
        limits: Limits::default(),
        wants: Wants::ALL,
    };
    let extracted = extract(&input, scratch);
    resolve(&extracted, &url, &NormalRules::default(), scratch);
    extracted
}

fn html(body: &[u8]) -> Extracted {
    read(body, Some("text/html"), &mut Scratch::new())
}

const MEGABYTE: usize = 1 << 20;

#[test]
fn floods_of_one_construct_are_survived() {
    for flood in [
        "<",
        "</",
        "<a",
        "<a href=x>",
        "<p>",
        "</p>",
        "<template>",
        "<svg>",
        "&",
        "&#",
        "&amp",
        "<!--",
        "<![CDATA[",
        "\0",
        "\r",
        "a ",
        "<h1>a",
        "<title>",
        "<script>",
        "<script><!--<script>",
        "<a b",
        "=\"",
        "<meta name=og:x content=y>",
        "\u{a0}",
        "<textarea></",
        "<!DOCTYPE ",
    ] {
        let extracted = html(flood.repeat(MEGABYTE / 4 / flood.len()).as_bytes());
        assert!(extracted.links.len() <= 1000, "{flood:?}");
        assert!(extracted.headings.len() <= 1000, "{flood:?}");
        assert!(extracted.text.unwrap_or_default().len() <= 4 * MEGABYTE, "{flood:?}");
    }
}

/// What would cost the square of its length, if anything looked for its end again and again.
#[test]
fn eight_megabytes_of_each_beginning_without_an_end_are_read_to_the_end() {
    let url = Url::parse("https://example.com/a/b", &NormalRules::default()).unwrap();
    let input = Input {
        body: b"",
        payload: None,
        content_type: Some("text/html; charset=utf-8"),
        url: &url,
        x_robots_tag: &[],
        agent: "argiope",
        limits: Limits::default(),
        wants: Wants::NONE,
    };
    let mut scratch = Scratch::new();
    for (start, flood) in [
        ("", "<"),
        ("", "</"),
        ("", "<a "),
        ("", "<a b="),
        ("", "<a href='"),
        ("", "<a href=\""),
        ("<a ", "href=x "),
        ("<a href=\"", "&"),
        ("<a href='", "&amp"),
        ("", "&"),
        ("", "&a"),
        ("", "&#1"),
        ("", "&CounterClockwiseContourIntegra"),
        ("&", "a"),
        ("&#", "1"),
        ("", "<!"),
        ("", "<!--"),
        ("<!--", "-"),
        ("<!--", "--!"),
        ("<!--", ">"),
        ("<svg>", "<![CDATA["),
        ("<svg><![CDATA[", "]"),
        ("<svg>", "<![CDATA[]]>"),
        ("", "<!DOCTYPE "),
        ("", "<?"),
        ("<script>", "</script"),
        ("<script>", "<!--<script>"),
        ("<script><!--", "-"),
        ("<script><!--<script>", "</script>"),
        ("<textarea>", "</textarea"),
        ("<title>", "&"),
        ("<title>", "</title x='"),
        ("<style>", "</"),
        ("<plaintext>", "\0"),
        ("", "\r"),
        ("", "\0<"),
    ] {
        let mut page = start.to_owned();
        page.push_str(&flood.repeat(8 * MEGABYTE / flood.len()));
        let extracted = extract(&Input { body: page.as_bytes(), ..input }, &mut scratch);
        assert!(extracted.links.len() <= 1, "{start:?} {flood:?}");
        assert!(extracted.title.is_none_or(|title| title.len() <= 64 * 1024), "{start:?} {flood:?}");
    }
}

#[test]
fn ten_megabytes_of_nothing_but_brackets_are_text() {
    let extracted = html(&vec![b'<'; 10 * MEGABYTE]);
    assert_eq!(extracted.word_count, Some(1));
}

#[test]
fn deep_nesting_costs_no_stack() {
    let deep = "<div><span><ul><li>".repeat(MEGABYTE / 20);
    assert_eq!(html(format!("{deep}<a href=/x>text").as_bytes()).text.as_deref(), Some("text"));
}

#[test]
fn huge_names_and_values_are_not_kept() {
    let huge = "x".repeat(2 * MEGABYTE);
    let page = format!(
        "<a href='/{huge}'>a</a><a {huge}=1 href=/ok>b</a><{huge}>c<meta name=description content='{huge}'><title>{huge}</title>"
    );
    let extracted = html(page.as_bytes());
    assert_eq!(extracted.links.len(), 1);
    assert!(extracted.description.unwrap().len() <= 64 * 1024);
    assert!(extracted.title.unwrap().len() <= 64 * 1024);
    assert_eq!(extracted.text.as_deref(), Some("ab c"));
}

#[test]
fn all_different_links_and_open_graph_properties_are_bounded() {
    let page: String =
        (0..50_000).map(|n| format!("<a href=/{n}><meta property=og:{n} content=x>")).collect();
    let extracted = html(page.as_bytes());
    assert_eq!((extracted.links.len(), extracted.links.over_limit), (10_000, 40_000));
    assert!(extracted.open_graph.len() <= 100);
}

/// Pieces that mean something to a tokenizer, and some that do not.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"<",
        b">",
        b"/",
        b"=",
        b"\"",
        b"'",
        b" ",
        b"\n",
        b"\r",
        b"\0",
        b"&",
        b"&amp;",
        b"&#x41;",
        b"&nbsp",
        b"<a href=",
        b"</a>",
        b"<base href=",
        b"<meta name=robots content=",
        b"<link rel=canonical href=",
        b"<script>",
        b"</script>",
        b"<!--",
        b"-->",
        b"<title>",
        b"</title>",
        b"<template>",
        b"</template>",
        b"<svg>",
        b"</svg>",
        b"<![CDATA[",
        b"]]>",
        b"<h1>",
        b"<textarea>",
        b"</textarea>",
        b"http://",
        b"//",
        b"?",
        b"#",
        b"noindex",
        b"word",
        b"\xc3\xa9",
        b"\xe9",
        b"\xff",
        b"\xe3\x80\x80",
        b"\xc2\xa0",
        b"<iframe src=",
        b"<plaintext>",
        b"<noscript>",
        b"</noscript>",
        b"<meta http-equiv=refresh content=",
        b"0;url=",
        b"charset=",
        b"utf-16",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn arbitrary_bytes_are_read(body in prop::collection::vec(any::<u8>(), 0..2000), kind in 0..4usize) {
        let types = [None, Some("text/html"), Some("text/plain; charset=shift_jis"), Some("application/xhtml+xml")];
        read(&body, types[kind], &mut Scratch::new());
    }

    #[test]
    fn tag_soup_is_read_and_leaves_no_trace(body in soup(), other in soup()) {
        let mut used = Scratch::new();
        read(&other, Some("text/html"), &mut used);
        let again = read(&body, Some("text/html"), &mut used);
        let fresh = read(&body, Some("text/html"), &mut Scratch::new());
        prop_assert_eq!(format!("{again:?}"), format!("{fresh:?}"));
        let text = fresh.text.unwrap_or_default();
        prop_assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), text.clone());
        prop_assert_eq!(fresh.word_count, Some(text.split(' ').filter(|w| !w.is_empty()).count() as u32));
        prop_assert_eq!(fresh.simhash, argiope_extract::simhash_of_text(&text));
    }

    #[test]
    fn arbitrary_bytes_are_a_sitemap_or_an_error(body in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = parse_sitemap(&body, None);
    }

    #[test]
    fn xml_soup_is_a_sitemap_or_an_error(parts in prop::collection::vec(prop::sample::select(&[
        "<urlset>", "<url>", "</url>", "<loc>", "</loc>", "http://a/", "<![CDATA[", "]]>", "&amp;", "&", "<sitemap>", "<lastmod>", "2024", "<rss>",
        "<item>", "<link>", "<feed>", "<entry>", "<link href='http://b/'/>", "<", ">", "\"", "<?xml ", "?>", "<!--", "-->", "<!DOCTYPE x [", "é",
    ][..]), 0..40)) {
        let _ = parse_sitemap(parts.concat().as_bytes(), Some("application/xml"));
        let _ = parse_sitemap(format!("<urlset>{}", parts.concat()).as_bytes(), Some("application/xml"));
    }
}
