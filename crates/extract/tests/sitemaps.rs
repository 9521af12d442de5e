//! Sitemaps of every kind, whole and broken.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use argiope_extract::{SitemapContents, SitemapErrorKind, SitemapKind, parse_sitemap};
use argiope_model::Millis;
use std::io::Write;

fn read(body: &str) -> SitemapContents {
    parse_sitemap(body.as_bytes(), Some("application/xml")).unwrap()
}

fn locations(contents: &SitemapContents) -> Vec<&str> {
    contents.urls.iter().map(|url| url.loc.as_str()).collect()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

const URLS: &str = "\u{feff}\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!-- made by hand -->
<sm:urlset xmlns:sm=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:image=\"http://x\">
  <sm:url><sm:loc> https://example.com/a?x=1&amp;y=2 </sm:loc><sm:lastmod>2024-05-06</sm:lastmod>
    <sm:changefreq>Daily</sm:changefreq><sm:priority>0.8</sm:priority></sm:url>
  <sm:url><image:image><image:loc>https://example.com/picture.png</image:loc></image:image>
    <sm:loc><![CDATA[https://example.com/b&c]]></sm:loc><sm:priority>7</sm:priority></sm:url>
  <sm:url><sm:loc>https://example.com/&#233;&eacute;</sm:loc><sm:lastmod>soon</sm:lastmod></sm:url>
  <sm:url><sm:loc>ftp://example.com/</sm:loc></sm:url><sm:url/><sm:url><sm:loc/></sm:url>
</sm:urlset>";

#[test]
fn url_sets_give_location_date_frequency_and_priority() {
    let contents = read(URLS);
    assert_eq!(contents.kind, SitemapKind::UrlSet);
    assert_eq!(
        locations(&contents),
        ["https://example.com/a?x=1&y=2", "https://example.com/b&c", "https://example.com/éé"]
    );
    let first = &contents.urls[0];
    assert_eq!(first.lastmod.as_deref(), Some("2024-05-06"));
    assert_eq!(first.modified_at, Millis::parse_rfc3339("2024-05-06T00:00:00Z"));
    assert_eq!((first.changefreq.as_deref(), first.priority), (Some("daily"), Some(0.8)));
    assert_eq!(contents.urls[1].priority, None);
    assert_eq!((contents.urls[2].lastmod.as_deref(), contents.urls[2].modified_at), (Some("soon"), None));
    assert!(!contents.truncated);
}

#[test]
fn indexes_give_sitemaps() {
    let contents = read(
        "<sitemapindex><sitemap><loc>https://e.test/1.xml.gz</loc><lastmod>2024-01-01T10:00:00+01:00</lastmod></sitemap>\
         <sitemap><loc>https://e.test/2.xml</loc></sitemap></sitemapindex>",
    );
    assert_eq!(contents.kind, SitemapKind::Index);
    assert!(contents.urls.is_empty());
    let found: Vec<&str> = contents.sitemaps.iter().map(|s| s.loc.as_str()).collect();
    assert_eq!(found, ["https://e.test/1.xml.gz", "https://e.test/2.xml"]);
    assert_eq!(contents.sitemaps[0].modified_at, Millis::parse_rfc3339("2024-01-01T09:00:00Z"));
}

#[test]
fn feeds_give_their_items() {
    let rss = read(
        "<rss version='2.0'><channel><title>t</title><link>https://e.test/</link>
         <item><title>x</title><link>https://e.test/1?a=1&amp;b=2</link><pubDate>Sat, 13 Mar 2010 11:22:33 GMT</pubDate>
           <guid isPermaLink='false'>https://e.test/not-me</guid></item>
         <item><guid>https://e.test/2</guid></item><item><guid isPermaLink=\"FALSE\">https://e.test/no</guid></item>
         </channel></rss>",
    );
    assert_eq!(
        (rss.kind, locations(&rss)),
        (SitemapKind::Rss, vec!["https://e.test/", "https://e.test/1?a=1&b=2", "https://e.test/2"])
    );
    assert_eq!(rss.urls[1].modified_at, Millis::parse_rfc3339("2010-03-13T11:22:33Z"));
    let rdf = read(
        "<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'><channel><link>https://e.test/</link></channel>
         <item rdf:about='x'><link>https://e.test/r</link><dc:date>2020-02-03</dc:date></item></rdf:RDF>",
    );
    assert_eq!(
        (locations(&rdf), rdf.urls[1].lastmod.as_deref()),
        (vec!["https://e.test/", "https://e.test/r"], Some("2020-02-03"))
    );
    let atom = read(
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://e.test/feed'/><entry><link rel='self' href='https://e.test/s'/>
         <link rel='alternate' href='https://e.test/p?a=1&amp;b=2'></link><updated>2021-01-02T03:04:05Z</updated></entry>
         <entry><link href=\"https://e.test/q\"/></entry></feed>",
    );
    assert_eq!(
        (atom.kind, locations(&atom)),
        (SitemapKind::Atom, vec!["https://e.test/feed", "https://e.test/p?a=1&b=2", "https://e.test/q"])
    );
    assert_eq!(atom.urls[1].modified_at, Millis::parse_rfc3339("2021-01-02T03:04:05Z"));
}

#[test]
fn feeds_give_all_pages_of_an_entry_their_site_and_their_next_page() {
    let atom = read(
        "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='/feed'/><link rel='next' href='/feed?page=2'/>
         <link rel='alternate' href='/'/><entry><source><link href='/not'/></source><link href='/a'/>
         <link rel='alternate' hreflang='de' href='/a.de'/><link rel='enclosure' href='/a.mp3'/>
         <link rel='replies' href='/a#c'/></entry><entry><link rel='enclosure' href='/b.mp3'/></entry>
         <entry><link rel='edit' href='/c/edit'/><link rel='self' href='/c.xml'/></entry></feed>",
    );
    assert_eq!(locations(&atom), ["/feed?page=2", "/", "/a", "/a.de", "/b.mp3"]);
    let rss = read(
        "<rss xmlns:atom='http://www.w3.org/2005/Atom'><channel><title>t</title><atom:link rel='self' href='/rss'/>
         <image><link>/image</link></image><link>https://e.test/site</link><item><link>/x</link></item>
         <atom:link rel='next' href='/rss?page=2'/></channel></rss>",
    );
    assert_eq!(locations(&rss), ["https://e.test/site", "/x", "/rss?page=2"]);
}

#[test]
fn plain_lists_give_their_lines() {
    let contents = parse_sitemap(
        "\u{feff}https://e.test/a\r\n\n  HTTP://e.test/b \n# note\n".as_bytes(),
        Some("text/plain"),
    )
    .unwrap();
    assert_eq!(
        (contents.kind, locations(&contents)),
        (SitemapKind::Text, vec!["https://e.test/a", "HTTP://e.test/b"])
    );
    assert!(parse_sitemap(b"", None).unwrap().urls.is_empty());
}

#[test]
fn gzip_is_recognized_by_itself_and_a_cut_one_gives_its_beginning() {
    assert_eq!(parse_sitemap(&gzip(URLS.as_bytes()), None).unwrap().urls.len(), 3);
    let many: String = (0..20_000).map(|n| format!("https://e.test/{n}/{}\n", n * 7919 % 10_007)).collect();
    let whole = gzip(many.as_bytes());
    let cut = parse_sitemap(&whole[..whole.len() / 2], None).unwrap();
    assert!(cut.truncated && cut.urls.len() > 100 && cut.urls.len() < 20_000);
    let error = parse_sitemap(&[0x1f, 0x8b, 9, 9, 9], None).unwrap_err();
    assert_eq!(error.kind, SitemapErrorKind::Compression);
}

#[test]
fn limits_hold() {
    let many: String = (0..50_010).map(|n| format!("<url><loc>https://e.test/{n}</loc></url>")).collect();
    let contents = read(&format!("<urlset>{many}</urlset>"));
    assert_eq!((contents.urls.len(), contents.truncated), (50_000, true));
    let bomb = gzip(&vec![b' '; 80 << 20]);
    assert!(parse_sitemap(&bomb, None).unwrap().truncated);
    let long = format!("<urlset><url><loc>https://e.test/{}</loc></url></urlset>", "x".repeat(100_000));
    assert!(read(&long).urls.is_empty());
}

#[test]
fn broken_xml_gives_what_came_before() {
    let contents =
        read("<urlset><url><loc>https://e.test/1</loc></url><url><loc>https://e.test/2</loc></url><url <");
    assert_eq!(locations(&contents), ["https://e.test/1", "https://e.test/2"]);
    assert!(contents.truncated);
    let contents = read(
        "<urlset><url><loc>https://e.test/a?b=1&c=2</loc></wrong></url><url><loc>https://e.test/z</loc>",
    );
    assert_eq!(locations(&contents), ["https://e.test/a?b=1&c=2", "https://e.test/z"]);
}

#[test]
fn other_documents_are_refused_with_a_reason() {
    let error = parse_sitemap(b"<!DOCTYPE html><html><body>404</body></html>", None).unwrap_err();
    assert_eq!(error.kind, SitemapErrorKind::NotASitemap);
    assert_eq!(error.to_string(), "not a sitemap: its root element is <html>");
    assert_eq!(parse_sitemap(b"just words", None).unwrap_err().kind, SitemapErrorKind::NotASitemap);
    assert_eq!(parse_sitemap(b"<!-- nothing -->", None).unwrap_err().kind, SitemapErrorKind::Malformed);
    assert_eq!(parse_sitemap(b"<urlset><url", None).unwrap_err().kind, SitemapErrorKind::Malformed);
}

#[test]
fn other_encodings_are_read() {
    let (body, _, _) = encoding_rs::ISO_8859_2.encode(
        "<?xml version='1.0' encoding='iso-8859-2'?><urlset><url><loc>https://e.test/č</loc></url></urlset>",
    );
    assert_eq!(locations(&parse_sitemap(&body, None).unwrap()), ["https://e.test/č"]);
}
