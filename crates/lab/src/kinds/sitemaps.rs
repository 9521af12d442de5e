//! Sitemaps of all formats, each with pages that nothing links to.

use super::{Feature, Visibility, special};
use crate::answer::Answer;
use crate::expected::Fate;
use crate::gzip::gzip;
use crate::web::{Site, Web};

const FORMATS: [&str; 5] = ["xml", "gz", "text", "rss", "atom"];
const PER_FORMAT: u32 = 3;

pub(super) fn features() -> Vec<Feature> {
    let ok = Fate::Answered { status: 200 };
    let names =
        FORMATS.iter().flat_map(|format| (1..=PER_FORMAT).map(move |n| format!("/listed/{format}-{n}")));
    names.map(|path| Feature::new(path, Visibility::Elsewhere, ok)).collect()
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let origin = format!("{}://{}", web.scheme(), site.authority);
    let listed = |format: &str| -> Vec<String> {
        (1..=PER_FORMAT).map(|n| format!("{origin}/listed/{format}-{n}")).collect()
    };
    if features().iter().any(|feature| feature.path == target) {
        return Some(special(web, site, target));
    }
    Some(match target {
        "/robots.txt" => Answer::text(format!(
            "User-agent: *\nDisallow:\n\nSitemap: {origin}/sitemap-index.xml\nsitemap: {origin}/sitemap.txt\n\
             Sitemap: {origin}/feed.rss\nSitemap: {origin}/feed.atom\n"
        )),
        "/sitemap-index.xml" => Answer::bytes("application/xml", index(&origin).into_bytes()),
        "/sitemap-pages.xml" => Answer::bytes("application/xml", url_set(&listed("xml")).into_bytes()),
        // The file itself is gzip, and it is sent as such: no Content-Encoding.
        "/sitemap-more.xml.gz" => match gzip(url_set(&listed("gz")).as_bytes()) {
            Some(zipped) => Answer::bytes("application/gzip", zipped),
            None => Answer::error(500),
        },
        "/sitemap.txt" => Answer::text(listed("text").join("\n")),
        "/feed.rss" => Answer::bytes("application/rss+xml", rss(&listed("rss")).into_bytes()),
        "/feed.atom" => Answer::bytes("application/atom+xml", atom(&listed("atom")).into_bytes()),
        _ => return None,
    })
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

fn index(origin: &str) -> String {
    format!(
        "{XML}<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
         <sitemap><loc>{origin}/sitemap-pages.xml</loc><lastmod>2024-05-01</lastmod></sitemap>\n\
         <sitemap><loc>{origin}/sitemap-more.xml.gz</loc></sitemap>\n</sitemapindex>\n"
    )
}

fn url_set(urls: &[String]) -> String {
    let mut xml = format!("{XML}<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
    for url in urls {
        xml.push_str(&format!(
            "<url><loc> {url} </loc><lastmod>2024-05-01T12:00:00Z</lastmod><changefreq>weekly</changefreq>\
             <priority>0.8</priority></url>\n"
        ));
    }
    xml.push_str("</urlset>\n");
    xml
}

fn rss(urls: &[String]) -> String {
    let items: String = urls
        .iter()
        .map(|url| format!("<item><title>An item</title><link><![CDATA[{url}]]></link></item>\n"))
        .collect();
    format!("{XML}<rss version=\"2.0\"><channel><title>Feed</title>\n{items}</channel></rss>\n")
}

fn atom(urls: &[String]) -> String {
    let entries: String = urls
        .iter()
        .map(|url| {
            format!("<entry><title>An entry</title><link href=\"{url}\"/><updated>2024-05-01T12:00:00Z</updated></entry>\n")
        })
        .collect();
    format!("{XML}<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Feed</title>\n{entries}</feed>\n")
}
