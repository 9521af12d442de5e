//! What is found on pages, well-formed and not.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use argiope_extract::{Extracted, Input, Limits, Media, Resolved, Scratch, Wants, extract};
use argiope_model::{LinkKind, NormalRules, Rel, Url};

fn url(text: &str) -> Url {
    Url::parse(text, &NormalRules::default()).unwrap()
}

fn read_as(content_type: Option<&str>, body: &[u8]) -> Extracted {
    let url = url("https://example.com/dir/page.html");
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
    extract(&input, &mut Scratch::new())
}

fn read(html: &str) -> Extracted {
    read_as(Some("text/html; charset=utf-8"), html.as_bytes())
}

fn text(html: &str) -> String {
    read(html).text.unwrap()
}

fn hrefs(extracted: &Extracted) -> Vec<&str> {
    extracted.links.iter().map(|link| extracted.links.href(link)).collect()
}

fn resolve<'e>(page: &str, extracted: &'e Extracted) -> Resolved<'e> {
    argiope_extract::resolve(extracted, &url(page), &NormalRules::default(), &mut Scratch::new())
}

fn resolved(page: &str, extracted: &Extracted) -> Vec<String> {
    resolve(page, extracted).links.iter().map(|link| link.url.as_str().to_owned()).collect()
}

#[test]
fn metadata_is_read_from_the_head() {
    let page = read(
        r#"<!DOCTYPE html><HTML LANG="de-AT"><head><title>
            A &amp; B &mdash;  C </title><title>second</title>
        <meta name="Description" content="  What it
            is  about "><meta name=keywords content="a, b"><meta name=author content='J&ouml;rg'>
        <meta name="description" content="second">
        <meta property="og:title" content="OG"><meta property="og:title" content="again">
        <meta name="og:type" content="article"><meta property="og:" content="x"><meta property="og:empty" content=" ">
        <meta http-equiv="content-language" content="fr">
        <link rel="Canonical stylesheet" href=" /canonical ">"#,
    );
    assert_eq!(page.title.as_deref(), Some("A & B — C"));
    assert_eq!(page.description.as_deref(), Some("What it is about"));
    assert_eq!(page.keywords.as_deref(), Some("a, b"));
    assert_eq!(page.author.as_deref(), Some("Jörg"));
    assert_eq!(page.language.as_deref(), Some("de-AT"));
    assert_eq!(page.canonical.as_deref(), Some("/canonical"));
    let expected = [("og:title", "OG"), ("og:type", "article")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(page.open_graph, expected);
}

#[test]
fn the_language_of_the_meta_tag_counts_where_html_has_none() {
    assert_eq!(read("<html><meta http-equiv=Content-Language content=fr>").language.as_deref(), Some("fr"));
    assert_eq!(read("<html xml:lang=cs>").language.as_deref(), Some("cs"));
    assert_eq!(read("<p>x").language, None);
}

#[test]
fn robots_directives_come_from_meta_tags_and_headers_for_us() {
    let robots = |html: &str| {
        let robots = read(html).robots;
        (robots.noindex, robots.nofollow)
    };
    assert_eq!(robots("<meta name=ROBOTS content='NOINDEX,nofollow'>"), (true, true));
    assert_eq!(robots("<meta name=robots content=none>"), (true, true));
    assert_eq!(robots("<meta name=googlebot content=noindex>"), (false, false));
    assert_eq!(robots("<meta name=Argiope content=nofollow>"), (false, true));
    let page = url("https://example.com/");
    let input = Input {
        body: b"<meta name=robots content=nofollow>",
        payload: None,
        content_type: Some("text/html"),
        url: &page,
        x_robots_tag: &["otherbot: none", "noindex"],
        agent: "argiope",
        limits: Limits::default(),
        wants: Wants::NONE,
    };
    let robots = extract(&input, &mut Scratch::new()).robots;
    assert!(robots.noindex && robots.nofollow);
}

#[test]
fn visible_text_is_what_a_reader_sees() {
    assert_eq!(text("<p>one</p><p>two<b>three</b></p> four<br>five"), "one twothree four five");
    assert_eq!(text("<table><tr><td>a<td>b</table><ul><li>c<li>d</ul>"), "a b c d");
    assert_eq!(
        text(
            "<head><title>T</title><style>p{}</style></head>a<script>if (a<b) '<p>x</p>'</script>b\
             <noscript>no <a href=/n>x</a></noscript>c<template>t<p>t</template>d<iframe src=/f><p>f</iframe>e\
             <noframes>n</noframes>f<!-- c <p> -->g"
        ),
        "a b c d e fg"
    );
    assert_eq!(text("a&nbsp;b&#8212;c &unknown; &lt;p&gt; AT&T"), "a b—c &unknown; <p> AT&T");
    assert_eq!(text("<textarea><b>raw</b></textarea><xmp><i></xmp>"), "<b>raw</b> <i>");
    assert_eq!(text("a<plaintext>b</plaintext><p>c"), "a b</plaintext><p>c");
}

#[test]
fn words_are_counted_and_headings_kept() {
    let page =
        read("<h1> Big <em>news</em></h1><p>two words</p><h2>Less<h3>Nested &amp; more</h3><h4> </h4>");
    let headings: Vec<(u8, &str)> = page.headings.iter().map(|h| (h.level, h.text.as_str())).collect();
    assert_eq!(headings, [(1, "Big news"), (2, "Less"), (3, "Nested & more")]);
    assert_eq!(page.word_count, Some(8));
    assert!(page.simhash.is_some());
    assert_eq!(read("<p> </p>").word_count, Some(0));
    assert_eq!(read("<p> </p>").simhash, None);
}

#[test]
fn links_of_all_kinds_are_found_with_anchor_and_rel() {
    let page = read(
        r#"<link rel=canonical href=/c><link rel=stylesheet href=/s.css><link rel="alternate" href=/alt>
        <link rel="alternate stylesheet" href=/no><link rel=next href=/2><meta http-equiv=refresh content="1; URL=/r">
        <a href="/a?x=1&amp;y=2&copy=3" rel="nofollow ugc"> The <b>anchor</b>
            text </a><map><area href=/area></map><iframe src=/frame></iframe><frameset><frame src=/oldframe>
        <a href=/img><img src=i.png alt="A picture"></a><a name=x>no link</a>
        <a href='mailto:x@y.z'>m</a><a href=javascript:void(0)>j</a><a href=/unclosed>open <a href=/last>end"#,
    );
    let found: Vec<(&str, &str, LinkKind, Rel)> =
        page.links.iter().map(|l| (page.links.href(l), page.links.anchor(l), l.kind, l.rel)).collect();
    let none = Rel::default();
    assert_eq!(
        found,
        [
            ("/c", "", LinkKind::Meta, Rel::CANONICAL),
            ("/alt", "", LinkKind::Meta, Rel::ALTERNATE),
            ("/2", "", LinkKind::Meta, Rel::NEXT),
            ("/r", "", LinkKind::Meta, none),
            ("/a?x=1&y=2&copy=3", "The anchor text", LinkKind::Anchor, Rel::NOFOLLOW.and(Rel::UGC)),
            ("/area", "", LinkKind::Anchor, none),
            ("/frame", "", LinkKind::Frame, none),
            ("/oldframe", "", LinkKind::Frame, none),
            ("/img", "A picture", LinkKind::Anchor, none),
            ("/unclosed", "open", LinkKind::Anchor, none),
            ("/last", "end", LinkKind::Anchor, none),
        ]
    );
    let anchor = page.links.iter().find(|l| l.kind == LinkKind::Anchor).unwrap();
    assert_eq!(page.links.rel_text(anchor), "nofollow ugc");
    assert_eq!(page.links.not_crawlable, 2);
    assert_eq!(page.links.seen, 13);
}

#[test]
fn links_in_scripts_comments_templates_and_raw_text_are_none() {
    let page = read(
        "<script>'<a href=/s>'</script><!-- <a href=/c> --><template><a href=/t></a><iframe src=/i></iframe>\
         <link rel=next href=/l></template><textarea><a href=/x></textarea><style><a href=/st></style>\
         <title><a href=/ti></title><noscript><a href=/yes>y</a></noscript><script><!--<script><a href=/d></script>\
         <a href=/e>--></script><noembed></style><a href=/ne></noembed><a href=/end>",
    );
    assert_eq!(hrefs(&page), ["/yes", "/end"]);
}

#[test]
fn frames_and_embedded_documents_are_links_and_so_is_what_stands_for_them() {
    let page = read(
        "<frameset><frame src=/menu><noframes><body><p>old <a href=/nf>way</a><noscript><a href=/ns>s</a></noscript>\
         text</body></noframes></frameset><object data=/o.html><a href=/in-o>x</a></object><object data=/o \
         type='Text/HTML; charset=x'></object><object data=/o.swf></object><embed src=/e.pdf><embed src=/e.svg>\
         <template><object data=/t.html></object></template>end",
    );
    assert_eq!(hrefs(&page), ["/menu", "/nf", "/ns", "/o.html", "/in-o", "/o", "/e.pdf"]);
    assert_eq!(page.text.as_deref(), Some("x end"));
    let kinds: Vec<LinkKind> = page.links.iter().map(|link| link.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == LinkKind::Frame).count(), 4);
}

#[test]
fn links_in_noscript_and_noframes_keep_their_words_and_the_page_has_none_of_them() {
    let page = read(
        "<h1>Top<noscript>no <a href=/a>see <b>this</b><br>page</a> more</noscript> end</h1>b<noframes><h2>f</h2>\
         <a href=/b><h2>frame</h2>&amp; less</a>x<a href=/c>open</noframes>c<noscript><h3><a href=/d><img alt=pic></a>\
         </h3></noscript><template><noscript><a href=/t>t</a></noscript></template>d<noscript><a href=/e>last",
    );
    let anchors: Vec<(&str, &str)> =
        page.links.iter().map(|l| (page.links.href(l), page.links.anchor(l))).collect();
    let expected =
        [("/a", "see this page"), ("/b", "frame & less"), ("/c", "open"), ("/d", "pic"), ("/e", "last")];
    assert_eq!(anchors, expected);
    assert_eq!(page.text.as_deref(), Some("Top end b c d"));
    let headings: Vec<&str> = page.headings.iter().map(|heading| heading.text.as_str()).collect();
    assert_eq!(headings, ["Top end"]);
}

#[test]
fn links_in_drawings_have_two_names() {
    let page = read(
        "<svg><a xlink:href='/old'>o</a><a href='/new' xlink:href='/older'><text>n</text></a><A XLINK:HREF=/upper />\
         <a xlink:href=/slash /></svg><a xlink:href=/no>n</a>",
    );
    assert_eq!(hrefs(&page), ["/old", "/new", "/upper", "/slash"]);
    let xhtml = read_as(Some("application/xhtml+xml"), b"<svg:svg><a xlink:href='/x'/></svg:svg>");
    assert_eq!(hrefs(&xhtml), ["/x"]);
}

#[test]
fn feeds_are_links() {
    let page = read(
        "<link rel=alternate type=application/rss+xml href=/rss><link type='application/atom+xml' rel='Alternate' \
         href=/atom><link rel=feed href=/feed><link rel=alternate hreflang=de href=/de>",
    );
    assert_eq!(hrefs(&page), ["/rss", "/atom", "/feed", "/de"]);
}

fn resources(extracted: &Extracted) -> Vec<(&str, &'static str)> {
    extracted.resources.iter().map(|link| (extracted.resources.href(link), link.kind.as_str())).collect()
}

#[test]
fn resources_are_known_by_kind_and_are_no_links() {
    let page = read(
        "<link rel=stylesheet href=/s.css><link rel='alternate stylesheet' href=/a.css><link rel=preload as=font \
         href=/f.woff2><link rel=preload href=/p><link rel=modulepreload href=/m.mjs><link rel=icon href=/i.ico>\
         <link rel=dns-prefetch href=//x.test><link rel=preload as=image imagesrcset='/h1.png 1x, /h2.png 2x'>\
         <script src=/j.js></script><img src=/a.png srcset='/a,1.png 1x,/a2.png 2x'><img src=/a.png><img src=''>\
         <img src='data:image/gif;base64,AA'><picture><source srcset='/w.webp'></picture><video src=/v.mp4 \
         poster=/v.jpg><source src=/v.webm><track src=/v.vtt></video><audio src=/s.ogg></audio><object data=/o.swf>\
         </object><embed src=/e.bin><input type=Image src=/b.gif><input type=text src=/no><svg><image href=/g.png />\
         <use xlink:href='/sprite.svg#x'/><use href='#in'/><script href=/svg.js /></svg><image src=/alias.png>\
         <template><img src=/t.png><script src=/t.js></script></template><noscript><img src=/ns.gif></noscript>",
    );
    assert_eq!(
        resources(&page),
        [
            ("/s.css", "stylesheet"),
            ("/a.css", "stylesheet"),
            ("/f.woff2", "font"),
            ("/p", "preload"),
            ("/m.mjs", "script"),
            ("/i.ico", "image"),
            ("/h1.png", "image"),
            ("/h2.png", "image"),
            ("/j.js", "script"),
            ("/a.png", "image"),
            ("/a,1.png", "image"),
            ("/a2.png", "image"),
            ("/w.webp", "image"),
            ("/v.mp4", "media"),
            ("/v.jpg", "image"),
            ("/v.webm", "media"),
            ("/v.vtt", "media"),
            ("/s.ogg", "media"),
            ("/o.swf", "embedded"),
            ("/e.bin", "embedded"),
            ("/b.gif", "image"),
            ("/g.png", "image"),
            ("/sprite.svg", "image"),
            ("/svg.js", "script"),
            ("/alias.png", "image"),
            ("/ns.gif", "image"),
        ]
    );
    assert!(page.links.is_empty());
    let urls: Vec<String> =
        resolve("https://example.com/d/", &read("<base href=/b/><img src=x.png><img src=/b/x.png>"))
            .resources
            .iter()
            .map(|link| link.url.as_str().to_owned())
            .collect();
    assert_eq!(urls, ["https://example.com/b/x.png"]);
}

#[test]
fn resources_do_not_take_the_places_of_links() {
    let html: String = (0..1500).map(|n| format!("<img src=/{n}.png><a href=/{n}>{n}</a>")).collect();
    let page = read(&html);
    let most = Limits::default().max_links.min(1500);
    assert_eq!((page.links.len(), page.resources.len()), (most, most));
}

#[test]
fn references_are_resolved_against_page_or_base_and_kept_once() {
    let html = "<a href=a>1</a><a href=./a#x>2</a><a href=../b?z=1&y=2>3</a><a href=//other.test/c>4</a>\
        <a href=''>5</a><a href='#frag'>6</a><a href=?q=1>7</a><a href=HTTP://EXAMPLE.com:443/dir/a>8</a>\
        <a href=/dir/a>9</a><a href='http://[bad'>10</a>";
    let page = read(html);
    assert_eq!(
        resolved("https://example.com/dir/page.html", &page),
        [
            "https://example.com/dir/a",
            "https://example.com/b?z=1&y=2",
            "https://other.test/c",
            "https://example.com/dir/page.html",
            "https://example.com/dir/page.html?q=1",
            "http://example.com:443/dir/a",
        ]
    );
    let page = read(&format!("<base href='/other/place/'><base href=/ignored/>{html}"));
    let urls = resolved("https://example.com/dir/page.html", &page);
    assert_eq!(urls[..2], ["https://example.com/other/place/a", "https://example.com/other/b?z=1&y=2"]);
    let page = read("<base href='http://[bad'><a href=a>");
    assert_eq!(resolved("https://example.com/dir/page.html", &page), ["https://example.com/dir/a"]);
}

#[test]
fn a_url_linked_twice_is_nofollow_only_if_both_links_say_so() {
    let page = read(
        "<a href=/x rel=nofollow></a><a href=https://example.com/x>text</a><a href=/y rel=nofollow>y</a>",
    );
    let resolved = resolve("https://example.com/", &page);
    let flags: Vec<(&str, bool)> =
        resolved.links.iter().map(|l| (l.anchor, l.rel.has(Rel::NOFOLLOW))).collect();
    assert_eq!(flags, [("text", false), ("y", true)]);
}

#[test]
fn the_canonical_url_is_absolute() {
    let page = read("<link rel=canonical href='?b=2&a=1#f'><link rel=canonical href=/second>");
    let resolved = resolve("https://example.com/p", &page);
    assert_eq!(resolved.canonical.unwrap().as_str(), "https://example.com/p?b=2&a=1");
}

#[test]
fn at_most_the_limit_of_links_is_taken() {
    let html: String = (0..15_000).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
    let page = read(&html);
    assert_eq!((page.links.len(), page.links.over_limit, page.links.seen), (10_000, 5000, 15_000));
}

#[test]
fn legacy_encodings_are_read() {
    let (body, _, _) = encoding_rs::WINDOWS_1251.encode("<title>Привет</title><a href='/путь'>мир</a>");
    let page = read_as(Some("text/html; charset=windows-1251"), &body);
    assert_eq!(page.title.as_deref(), Some("Привет"));
    assert_eq!(hrefs(&page), ["/путь"]);
    assert_eq!(page.charset, Some("windows-1251"));
    let utf_16: Vec<u8> = "\u{feff}<title>wide</title>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_as(Some("text/html"), &utf_16).title.as_deref(), Some("wide"));
    let page = read_as(
        Some("text/html; charset=utf-8"),
        b"<title>caf\xe9 \xf0\x9f\x95\xb7</title><a href=/\xff>\xe9t\xe9",
    );
    assert_eq!(page.title.as_deref(), Some("caf\u{fffd} 🕷"));
    assert_eq!(hrefs(&page), ["/\u{fffd}"]);
}

#[test]
fn other_types_give_what_they_have() {
    let page = read_as(Some("text/plain"), b"\xef\xbb\xbfplain <a href=/x>\n text");
    assert_eq!((page.media, page.text.as_deref()), (Media::Text, Some("plain <a href=/x> text")));
    assert!(page.links.is_empty());
    let page = read_as(Some("image/png"), b"\x89PNG <a href=/x>");
    assert_eq!((page.media, page.text, page.word_count, page.simhash), (Media::Other, None, None, None));
    assert_eq!(page.content_hash, argiope_extract::content_hash(b"\x89PNG <a href=/x>"));
}

#[test]
fn xhtml_and_svg_close_elements_with_a_slash() {
    let xhtml = b"<html xmlns='http://www.w3.org/1999/xhtml'><script src='x.js'/><title/><a href='/a'/>t<p>\
        <![CDATA[x < y]]></p></html>";
    let page = read_as(Some("application/xhtml+xml"), xhtml);
    assert_eq!((page.text.as_deref(), hrefs(&page)), (Some("t x < y"), vec!["/a"]));
    let page =
        read("<svg><style/><title>icon</title><script/><a href=/in-svg>s</a></svg><title>Page</title>");
    assert_eq!(page.title.as_deref(), Some("Page"));
    assert_eq!(hrefs(&page), ["/in-svg"]);
    assert_eq!(text("<script/>x</script>y"), "y");
}

#[test]
fn malformed_markup_gives_what_can_be_found() {
    assert_eq!(
        hrefs(&read("<a href=/a<b>x</a><A\nHREF\n=\n'/b'\n>y<a href='/c' href='/d'>")),
        ["/a<b", "/b", "/c"]
    );
    assert_eq!(hrefs(&read("<a href=\"/unterminated>x</a><p>")), Vec::<&str>::new());
    assert_eq!(hrefs(&read("<div <a href=/x>y</a>")), Vec::<&str>::new());
    assert_eq!(text("a < b <é> </ p><1> &"), "a < b <é> <1> &");
    assert_eq!(read("<title>never closed <p>text").title.as_deref(), Some("never closed <p>text"));
    assert_eq!(text("<script>never closed <p>text"), "");
    assert_eq!(text("one\0two\r\nthree\rfour"), "one two three four");
    assert_eq!(text(""), "");
}

#[test]
fn nothing_leaks_from_one_page_into_the_next() {
    let mut scratch = Scratch::new();
    let url = url("https://example.com/");
    let mut read = |body: &str| {
        let input = Input {
            body: body.as_bytes(),
            payload: None,
            content_type: Some("text/html"),
            url: &url,
            x_robots_tag: &[],
            agent: "argiope",
            limits: Limits::default(),
            wants: Wants::ALL,
        };
        extract(&input, &mut scratch)
    };
    let second = "<p>plain <a href=/x>text</a>";
    let clean = read(second);
    read(
        "<html lang=x><title>T</title><meta name=robots content=none><h1><a href=/x rel=nofollow>open<template><svg><noscript>",
    );
    read("<title>unfinished");
    read("<script>unfinished");
    read("<a href=/x");
    let again = read(second);
    assert_eq!(format!("{clean:?}"), format!("{again:?}"));
}
