//! Sitemaps of a site: which are requested, and what happens to their URLs.

use crate::desk::{Desk, sorted};
use crate::site::{Site, body, page};
use serde_json::Value;

fn xml(root: &str, entry: &str, urls: &[String]) -> String {
    let entries: String = urls.iter().map(|url| format!("<{entry}><loc>{url}</loc></{entry}>")).collect();
    let space = "http://www.sitemaps.org/schemas/sitemap/0.9";
    body(
        "application/xml",
        "",
        &format!("<?xml version=\"1.0\"?><{root} xmlns=\"{space}\">{entries}</{root}>"),
    )
}

fn answer(path: &str, origin: &str) -> Option<String> {
    let at = |path: &str| format!("{origin}{path}");
    Some(match path {
        "/robots.txt" => body(
            "text/plain",
            "",
            &format!(
                "User-agent: *\nDisallow: /hidden\nSitemap: {origin}/named.xml\nSitemap: {origin}/hidden.xml\n\
                 Sitemap: {origin}/sitemap.xml\nSitemap: https://elsewhere.test/sitemap.xml\n"
            ),
        ),
        "/named.xml" => xml("sitemapindex", "sitemap", &[at("/inner.xml"), at("/hidden/inner.xml")]),
        "/inner.xml" => xml("sitemapindex", "sitemap", &[at("/innermost.xml")]),
        "/innermost.xml" => xml("urlset", "url", &[at("/from-index"), at("/hidden/page")]),
        "/sitemap.xml" => xml("urlset", "url", &[at("/from-custom")]),
        "/" | "/from-index" | "/from-custom" => page("<title>Here</title>"),
        _ => return None,
    })
}

#[test]
fn the_sitemap_by_custom_is_read_beside_those_that_robots_txt_names() {
    let (desk, site) = (Desk::new(), Site::new(answer));
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let expected = [site.front.clone(), site.url("from-custom"), site.url("from-index")];
    assert_eq!(sorted(&desk.pages(), "url"), expected);
    assert_eq!(site.asked("/sitemap.xml"), 1, "it is one of those that are named, too");
}

#[test]
fn a_page_is_one_link_away_however_many_indexes_lead_to_it() {
    let (desk, site) = (Desk::new(), Site::new(answer));
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--depth", "1"]).ok();
    for page in desk.pages() {
        let depth = u64::from(page["url"] != site.front.as_str());
        assert_eq!(page["depth"], depth, "{page}");
    }
    assert_eq!(desk.pages().len(), 3);
}

#[test]
fn sitemaps_that_may_not_be_read_are_among_the_refused() {
    let (desk, site) = (Desk::new(), Site::new(answer));
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    let reason = |url: &str| -> Value {
        let row = skipped.iter().find(|row| row["url"] == url);
        row.unwrap_or_else(|| panic!("{url} in {skipped:?}"))["reason"].clone()
    };
    assert_eq!(reason(&site.url("hidden.xml")), "robots_disallowed");
    assert_eq!(reason(&site.url("hidden/inner.xml")), "robots_disallowed");
    assert_eq!(reason("https://elsewhere.test/sitemap.xml"), "out_of_scope");
    assert_eq!(site.asked("/hidden.xml") + site.asked("/hidden/inner.xml"), 0);
}

#[test]
fn seeds_alone_need_no_sitemap() {
    let (desk, site) = (Desk::new(), Site::new(answer));
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--depth", "0"]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), std::slice::from_ref(&site.front));
    assert_eq!(site.asked("/sitemap.xml") + site.asked("/named.xml"), 0);
}

#[test]
fn what_a_feed_names_is_crawled_though_the_feed_came_as_a_page() {
    let site = Site::new(|path, origin| {
        Some(match path {
            "/" => page("<link rel=alternate type=application/rss+xml href=/news.rss>"),
            "/news.rss" => body(
                "application/rss+xml",
                "",
                &format!(
                    "<rss version=\"2.0\"><channel><item><link>{origin}/item</link></item></channel></rss>"
                ),
            ),
            "/item" => page("news"),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), [site.front.clone(), site.url("item"), site.url("news.rss")]);
}

#[test]
fn feeds_are_followed_whatever_xml_they_say_they_are_and_relative_to_where_they_are() {
    let rss = "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>News</title><description>&lt;a href=\
               '/no'></description><item><title>One</title><link>/blog/one</link></item><item><guid>42</guid></item>\
               </channel></rss>";
    let atom = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>News</title><entry><link href=\"two\"/></entry></feed>";
    let site = Site::new(move |path, _| {
        Some(match path {
            "/" => page(
                "<link rel=alternate type=application/rss+xml href=/rss><link rel=alternate \
                 type=application/atom+xml href=/blog/atom>",
            ),
            "/rss" => body("text/xml; charset=utf-8", "", rss),
            "/blog/atom" => body("application/xml", "", atom),
            "/blog/one" | "/blog/two" => page("news"),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let expected = ["", "blog/atom", "blog/one", "blog/two", "rss"].map(|path| site.url(path));
    assert_eq!(sorted(&desk.pages(), "url"), expected);
    // What a feed names is linked from it.
    let ranks = desk.run(&["graph", "rank", "--json"]).ok().stdout;
    assert!(ranks.contains("/blog/one") && ranks.contains("/blog/two"), "{ranks}");
}

#[test]
fn a_feed_that_came_as_html_is_read_to_its_next_page_and_counts_its_links() {
    let feed = "<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\"><link rel=\"self\" href=\"/feed\"/>\
                <link href=\"/\"/><link rel=\"next\" href=\"/feed2\"/><entry><link href=\"/one\"/>\
                <link rel=\"alternate\" href=\"/eins\"/></entry></feed>";
    let next = "<rss version=\"2.0\"><channel><item><link>/two</link></item></channel></rss>";
    let site = Site::new(move |path, _| {
        Some(match path {
            "/" => page("<a href=/feed>feed</a>"),
            "/feed" => body("text/html", "", feed),
            "/feed2" => body("application/rss+xml", "", next),
            "/one" | "/eins" | "/two" => page("news"),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let expected = ["", "eins", "feed", "feed2", "one", "two"].map(|path| site.url(path));
    let pages = desk.pages();
    assert_eq!(sorted(&pages, "url"), expected);
    let links = |path: &str| {
        let url = site.url(path);
        pages.iter().find(|page| page["url"] == url.as_str()).map(|page| page["links"].clone())
    };
    assert_eq!((links("feed"), links("feed2")), (Some(4.into()), Some(1.into())));
}

#[test]
fn links_of_drawings_frames_and_embedded_documents_are_followed() {
    let site = Site::new(|path, _| {
        Some(match path {
            "/" => page(
                "<svg><a xlink:href='/drawn'><text>x</text></a><a href='/drawn-too'/></svg><frameset><frame \
                 src='/frame'><noframes><a href='/no-frames'>x</a></noframes></frameset><object \
                 data='/object.html'></object><embed src='/embedded' type='text/html'><object \
                 data='/film.swf'></object><img src='/picture' srcset='/picture-2x 2x'>",
            ),
            "/drawn" | "/drawn-too" | "/frame" | "/no-frames" | "/object.html" | "/embedded" => page("here"),
            _ => return None,
        })
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let paths = ["", "drawn", "drawn-too", "embedded", "frame", "no-frames", "object.html"];
    assert_eq!(sorted(&desk.pages(), "url"), paths.map(|path| site.url(path)));
    assert_eq!(site.asked("/film.swf") + site.asked("/picture") + site.asked("/picture-2x"), 0);
}

#[test]
fn sitemaps_beyond_too_many_indexes_have_their_reason() {
    let site = Site::new(|path, origin| match path {
        "/robots.txt" => Some(body("text/plain", "", &format!("Sitemap: {origin}/s0.xml\n"))),
        "/" => Some(page("here")),
        path => {
            let number: u32 = path.strip_prefix("/s")?.strip_suffix(".xml")?.parse().ok()?;
            Some(xml("sitemapindex", "sitemap", &[format!("{origin}/s{}.xml", number + 1)]))
        }
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0"]).ok();
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert_eq!(sorted(&skipped, "url"), [site.url("s4.xml")]);
    assert_eq!(skipped[0]["reason"], "too_deep");
    assert_eq!((site.asked("/s3.xml"), site.asked("/s4.xml")), (1, 0));
}

#[test]
fn a_sitemap_with_too_many_urls_is_said_to_be_read_in_part() {
    let site = Site::new(|path, origin| match path {
        "/" => Some(page("here")),
        "/sitemap.xml" => {
            let urls: String =
                (0..50_001).map(|n| format!("<url><loc>{origin}/?p={n}</loc></url>")).collect();
            Some(body("text/xml", "", &format!("<urlset>{urls}</urlset>")))
        }
        _ => None,
    });
    let desk = Desk::new();
    desk.crawl(std::slice::from_ref(&site.front), &["--delay", "0", "--max-pages", "5"]).ok();
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    assert_eq!(sorted(&skipped, "url"), [site.url("sitemap.xml")]);
    assert_eq!(skipped[0]["reason"], "too_many_links");
    let why = desk.run(&["why", &site.url("sitemap.xml")]).ok().stdout;
    assert!(why.starts_with("fetched\n") && why.contains("50000 entries were read"), "{why}");
}
