use super::*;
use crate::rules::Rules;
use proptest::prelude::*;
use serde_json::json;

fn input<'a>(bytes: &'a [u8], content_type: Option<&'a str>) -> Input<'a> {
    Input { bytes, content_type, charset: None, url: "https://e.org/d/", budget: Budget::default() }
}

fn process(bytes: &[u8], content_type: Option<&str>) -> Processed {
    Registry::default().process(&input(bytes, content_type)).unwrap()
}

#[test]
fn the_type_chooses_the_processor() {
    let registry = Registry::default();
    let cases: [(&[u8], Option<&str>, &str, &str); 10] = [
        (b"<p>x", Some("text/html; charset=utf-8"), "html", "text/html"),
        (b"<!DOCTYPE html><p>x", None, "html", "text/html"),
        (b"<?xml version='1.0'?><a/>", None, "xml", "application/xml"),
        (b"<rss/>", Some("application/rss+xml"), "xml", "application/rss+xml"),
        (b"{}", Some("application/octet-stream"), "json", "application/json"),
        (b"a,b", Some("text/csv"), "text", "text/csv"),
        (b"words", None, "text", "text/plain"),
        (b"\x89PNG\r\n\x1a\n", Some("application/octet-stream"), "binary", "image/png"),
        (b"%PDF-1.7", Some("text/plain"), "binary", "application/pdf"),
        (b"", None, "binary", "application/octet-stream"),
    ];
    for (bytes, content_type, processor, media_type) in cases {
        let input = input(bytes, content_type);
        assert_eq!(input.media_type(), media_type);
        assert_eq!(registry.processor_for(media_type).unwrap().name(), processor, "{media_type}");
    }
}

#[test]
fn an_added_processor_comes_first() {
    struct Shout;
    impl Processor for Shout {
        fn name(&self) -> &'static str {
            "shout"
        }

        fn takes(&self, media_type: &str) -> bool {
            media_type == "text/plain"
        }

        fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
            let text = String::from_utf8_lossy(input.bytes).to_uppercase();
            Ok(Processed { text: Some(text), ..Processed::of(self.name()) })
        }
    }
    let mut registry = Registry::default();
    registry.add(Shout);
    assert_eq!(registry.process(&input(b"hey", Some("text/plain"))).unwrap().text.as_deref(), Some("HEY"));
    assert_eq!(registry.process(&input(b"a,b", Some("text/csv"))).unwrap().processor, "text");
}

#[test]
fn a_page_has_structured_data_and_fields() {
    let rules = Rules::compile(&serde_json::from_value(json!({"price": ".price"})).unwrap()).unwrap();
    let mut registry = Registry::default();
    registry.add(Html::with_rules(rules));
    let page = b"<meta charset=windows-1252><meta property=og:title content='Caf\xe9'><p class=price>5 \x80";
    let found = registry.process(&input(page, Some("text/html"))).unwrap();
    assert_eq!(found.fields["price"], "5 \u{20ac}");
    assert_eq!(found.structured.unwrap().open_graph, [("og:title".to_owned(), "Caf\u{e9}".to_owned())]);
    let small = Budget { bytes: 10, ..Budget::default() };
    let cut = registry.process(&Input { budget: small, ..input(page, Some("text/html")) }).unwrap();
    assert!(cut.truncated);
}

#[test]
fn feeds_have_entries_and_other_xml_has_text() {
    let rss = b"<?xml version='1.0'?><rss><channel><title>News &amp; more</title><link>/</link><item><title>One</title>\
        <link>https://e.org/1</link><pubDate>Wed, 01 May 2024</pubDate><media:title>no</media:title></item>\
        <item><title><![CDATA[Two]]></title><link>2</link></item></channel></rss>";
    let found = process(rss, Some("application/rss+xml"));
    assert_eq!(found.title.as_deref(), Some("News & more"));
    assert_eq!(
        found.properties["entries"],
        json!([{"title": "One", "link": "https://e.org/1", "date": "Wed, 01 May 2024"}, {"title": "Two", "link": "https://e.org/d/2"}])
    );
    let atom = b"<feed><title>A</title><entry><title>E</title><link rel='self' href='/s'/><link href='/e'/><updated>2024</updated></entry></feed>";
    let found = process(atom, None);
    assert_eq!(
        found.properties["entries"],
        json!([{"title": "E", "link": "https://e.org/e", "date": "2024"}])
    );
    let other = process(b"<doc><title>T</title><p>one</p><p>two</p></doc>", Some("text/xml"));
    assert_eq!((other.title.as_deref(), other.text.as_deref()), (Some("T"), Some("T one two")));
    let broken = Registry::default().process(&input(b"no markup", Some("text/xml"))).unwrap_err();
    assert_eq!(broken.to_string(), "cannot read it as XML: there is no element in it");
}

#[test]
fn json_and_text_have_text_and_links() {
    let found = process(
        br#"{"title": "T", "a": ["one", {"b": "two"}], "url": "https://e.org/x", "n": 5}"#,
        Some("application/json"),
    );
    assert_eq!(found.title.as_deref(), Some("T"));
    assert_eq!(found.links, ["https://e.org/x"]);
    let text = found.text.unwrap();
    assert!(text.contains("one") && text.contains("two") && !text.contains('5'), "{text}");
    let broken = Registry::default().process(&input(b"{\"a\": }", Some("application/json"))).unwrap_err();
    assert_eq!(broken.to_string(), "cannot read it as JSON: expected value at line 1 column 7");
    let found = process(b"\n Notes \nsee https://e.org/a?b=c, and (http://x.org/).", Some("text/plain"));
    assert_eq!(found.title.as_deref(), Some("Notes"));
    assert_eq!(found.links, ["https://e.org/a?b=c", "http://x.org/"]);
}

#[test]
fn binaries_have_type_size_and_hash() {
    let found = process(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x20", Some("image/png"));
    assert_eq!(found.processor, "binary");
    assert_eq!((&found.properties["width"], &found.properties["height"]), (&json!(256), &json!(32)));
    assert_eq!(found.properties["bytes"], 24);
    assert_eq!(found.properties["sha256"].as_str().unwrap().len(), 64);
    let archive = [b"PK\x03\x04".as_slice(), &[0; 26], b"word/document.xml"].concat();
    assert!(
        process(&archive, None).properties["type"].as_str().unwrap().ends_with("wordprocessingml.document")
    );
}

proptest! {
    #[test]
    fn whatever_the_body_it_is_processed_or_refused(
        body in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::sample::select(vec!["", "<", "{\"a\":", "<rss><item>", "%PDF-", "<html><p itemscope>", "\u{89}PNG"]),
        content_type in prop::option::of(prop::sample::select(vec!["text/html", "text/xml", "application/json", "text/plain", "x/y"])),
    ) {
        let bytes = [start.as_bytes(), &body].concat();
        if let Ok(processed) = Registry::default().process(&input(&bytes, content_type)) {
            prop_assert!(serde_json::to_string(&processed).is_ok());
        }
    }
}
