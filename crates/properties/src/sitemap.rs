//! Sitemaps: limits hold, entries are what they say, and packing changes nothing.

use crate::choice;
use argiope_extract::{SitemapContents, SitemapKind, parse_sitemap};
use argiope_model::Millis;
use argiope_store::warc::gzip::GzipWriter;

const TYPES: [Option<&str>; 4] =
    [None, Some("text/xml"), Some("text/plain; charset=utf-8"), Some("application/rss+xml; charset=koi8-r")];
const GZIP: [u8; 2] = [0x1f, 0x8b];
const MOST_URLS: usize = 50_000;
const LONGEST_LOCATION: usize = 8 * 1024;

/// The first byte chooses the content type, the rest is the body.
pub(crate) fn is_read_within_limits(bytes: &[u8]) {
    let (chosen, body) = choice(bytes);
    let content_type = TYPES[usize::from(chosen) % TYPES.len()];
    let read = parse_sitemap(body, content_type);
    if let Ok(contents) = &read {
        check(contents);
    }
    if body.starts_with(&GZIP) || body.is_empty() {
        return;
    }
    let mut packed = Vec::new();
    GzipWriter::new().stored(&[body], &mut packed);
    match (read, parse_sitemap(&packed, content_type)) {
        (Ok(plain), Ok(packed)) => assert_eq!(plain, packed, "packed it says something else"),
        (Err(plain), Err(packed)) => assert_eq!(plain.kind, packed.kind),
        (plain, packed) => panic!("plain {plain:?}, packed {packed:?}"),
    }
}

fn check(contents: &SitemapContents) {
    assert!(contents.urls.len() + contents.sitemaps.len() <= MOST_URLS);
    let locations = contents.urls.iter().map(|url| &url.loc).chain(contents.sitemaps.iter().map(|s| &s.loc));
    for location in locations {
        assert!(location.len() <= LONGEST_LOCATION);
        assert_eq!(location.trim(), location);
        assert!(!location.is_empty());
        // Only feeds may be relative to where they are.
        let start = location.get(..4).unwrap_or_default();
        let is_feed = matches!(contents.kind, SitemapKind::Rss | SitemapKind::Atom);
        assert!(start.eq_ignore_ascii_case("http") || is_feed, "{location}");
    }
    // The two kinds of the protocol are confused often enough that each may hold entries of the other.
    let of_the_protocol = matches!(contents.kind, SitemapKind::UrlSet | SitemapKind::Index);
    assert!(of_the_protocol || contents.sitemaps.is_empty());
    for url in &contents.urls {
        assert!(url.priority.is_none_or(|priority| (0.0..=1.0).contains(&priority)), "{:?}", url.priority);
        if let Some(at) = url.modified_at {
            assert!(url.lastmod.is_some());
            assert_eq!(Millis::parse_rfc3339(&at.rfc3339()), Some(at));
        }
    }
}
