use super::*;
use proptest::prelude::*;
use serde_json::json;

const URL: Option<&str> = Some("https://shop.example/products/7");

#[test]
fn json_ld_is_read_and_what_is_none_is_a_problem() {
    let html = r#"<script type="application/ld+json">{"@type": "Product", "name": "Kettle",}</script>
        <SCRIPT type='application/ld+json; charset=utf-8'>[{"a": 1}, {"a": 2}]</SCRIPT>
        <script type="application/ld+json">{"broken": </script><script>{"no": "data"}</script>"#;
    let found = read(html, URL);
    assert_eq!(
        found.json_ld,
        [json!({"@type": "Product", "name": "Kettle"}), json!({"a": 1}), json!({"a": 2})]
    );
    assert_eq!(found.problems.len(), 1);
    assert_eq!(found.problems[0].kind, "json_ld");
    assert!(found.problems[0].detail.contains("line 1"), "{:?}", found.problems);
    assert!(found.has_data() && !found.truncated);
}

#[test]
fn microdata_becomes_items_with_properties() {
    let html = r#"<div itemscope itemtype="https://schema.org/Product" itemid="/id/7">
        <h1 itemprop="name">Blue <b>kettle</b></h1><img itemprop="image" src="/k.jpg" alt="Kettle">
        <meta itemprop="sku" content="K-7"><time itemprop="released" datetime="2024-05-01">May</time>
        <ul><li itemprop="color">blue<li itemprop="color">red</ul>
        <div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
          <span itemprop="price">12.50</span> <a itemprop="url" href="buy?x=1&amp;y=2">buy</a></div>
        <p itemprop="description">Boils   water.</p></div>
        <div itemscope><span itemprop="name">second</span></div> <span itemprop="name">stray</span>"#;
    let found = read(html, URL);
    assert_eq!(
        found.microdata,
        [
            json!({
                "@type": "https://schema.org/Product", "@id": "https://shop.example/id/7", "name": "Blue kettle",
                "image": "https://shop.example/k.jpg", "sku": "K-7", "released": "2024-05-01", "color": ["blue", "red"],
                "offers": {"@type": "https://schema.org/Offer", "price": "12.50", "url": "https://shop.example/products/buy?x=1&y=2"},
                "description": "Boils water."
            }),
            json!({"name": "second"})
        ]
    );
}

#[test]
fn rdfa_becomes_items_with_properties() {
    let html = r#"<div vocab="https://schema.org/" typeof="Person" resource="/me">
        <span property="name">Ada</span> <a property="url" href="/ada">her</a>
        <div property="address" typeof="PostalAddress"><span property="addressLocality">London</span></div></div>"#;
    assert_eq!(
        read(html, URL).rdfa,
        [json!({
            "@type": "Person", "@id": "https://shop.example/me", "name": "Ada", "url": "https://shop.example/ada",
            "address": {"@type": "PostalAddress", "addressLocality": "London"}
        })]
    );
}

#[test]
fn cards_media_feeds_and_alternates_are_found() {
    let html = r#"<meta property="og:title" content="A &amp; B"><meta name="twitter:card" content="summary">
        <meta property="og:image" content="1.png"><meta property="og:image" content="2.png">
        <link rel="alternate" type="application/rss+xml" title="News" href="/feed.xml">
        <link rel="alternate" hreflang="de" href="/de"><link rel="stylesheet" href="x.css">
        <img src="a.png" alt="An  image" width="10" height="20px"><img data-src="lazy.png" src="data:image/gif;base64,R0">
        <img alt="none"><video poster="p.jpg" title="A film"><source src="v.webm"><source src="v.mp4"></video>
        <iframe src="https://www.youtube.com/embed/x" title="Talk"></iframe><iframe src="/ad"></iframe>"#;
    let found = read(html, Some("https://e.org/d/"));
    assert_eq!(found.open_graph[0], ("og:title".to_owned(), "A & B".to_owned()));
    assert_eq!(found.open_graph.len(), 3);
    assert_eq!(found.twitter, [("twitter:card".to_owned(), "summary".to_owned())]);
    assert_eq!(found.feeds[0].url, "https://e.org/feed.xml");
    assert_eq!(
        found.alternates,
        [Alternate { language: "de".to_owned(), url: "https://e.org/de".to_owned() }]
    );
    let images: Vec<&str> = found.images.iter().map(|image| image.url.as_str()).collect();
    assert_eq!(images, ["https://e.org/d/a.png", "https://e.org/d/lazy.png"]);
    assert_eq!((found.images[0].alt.as_deref(), found.images[0].height), (Some("An image"), Some(20)));
    let videos: Vec<&str> = found.videos.iter().map(|video| video.url.as_str()).collect();
    assert_eq!(videos, ["https://e.org/d/v.webm", "https://www.youtube.com/embed/x"]);
    assert_eq!(found.videos[0].poster.as_deref(), Some("https://e.org/d/p.jpg"));
}

#[test]
fn hostile_pages_cost_no_more_than_their_length() {
    let deep = "<div itemscope itemprop=x>".repeat(50_000) + "text";
    let found = read(&deep, URL);
    assert!(found.truncated && found.microdata.len() <= 1_000);
    let wide = format!("<div itemscope {}>", "a=b ".repeat(100_000));
    assert_eq!(read(&wide, URL).microdata.len(), 1);
    let many = "<img src=a>".repeat(20_000) + &"<meta property=og:x content=y>".repeat(20_000);
    let found = read(&many, URL);
    assert_eq!((found.images.len(), found.open_graph.len(), found.truncated), (1_000, 200, true));
    assert!(read("<div itemscope itemprop='a b c' ", URL).microdata.is_empty());
}

proptest! {
    #[test]
    fn whatever_the_page_what_is_found_can_be_written(html in "(<(div|p|li|a|meta|script|video|img)( (itemscope|itemprop=x|typeof=T|property=og:y|content=z|src=u|type=application/ld\\+json))*>|</(div|p|li|a|script|video)>|[a-z ]{0,5}|\\PC){0,40}") {
        let found = read(&html, URL);
        prop_assert!(serde_json::to_string(&found).is_ok());
    }
}
