//! Compares our tokenizer with that of html5gum, which passes the tests of the standard: for any bytes, both give the
//! same page. A longer comparison: `PROPTEST_CASES=100000 cargo test -p argiope-extract oracle`.
//!
//! One difference is accepted, as it concerns only text that is cut off in the end: html5gum splits text differently,
//! and a piece of only white space becomes one blank. So anchors and titles over 16 KB, which are cut before white
//! space is collapsed, may be cut elsewhere. The pages compared here have none that long.

use crate::collector::Collector;
use crate::element::{Element, Raw};
use crate::page::extract_by;
use crate::tag::{Attribute, Tag};
use crate::{Extracted, Input, Limits, Scratch, Wants, extract};
use argiope_model::{NormalRules, Url};
use html5gum::emitters::Emitter;
use html5gum::{Error, State, Tokenizer};
use proptest::prelude::*;
use std::convert::Infallible;

fn tokenize_with_html5gum(page: &[u8], collector: &mut Collector) {
    let emitter = Oracle {
        collector,
        is_end: false,
        self_closing: false,
        name: Vec::new(),
        attributes: Vec::new(),
        raw: None,
    };
    let Ok(()) = Tokenizer::new_with_emitter(page, emitter).finish();
}

/// Keeps the tag that html5gum is reading.
struct Oracle<'c> {
    collector: &'c mut Collector,
    is_end: bool,
    self_closing: bool,
    name: Vec<u8>,
    attributes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The element that only its own end tag ends.
    raw: Option<Vec<u8>>,
}

impl Oracle<'_> {
    fn start(&mut self, is_end: bool) {
        self.is_end = is_end;
        self.self_closing = false;
        self.name.clear();
        self.attributes.clear();
    }
}

/// The collector decodes values: these are decoded already.
fn escaped(value: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in value {
        match byte {
            b'&' => escaped.extend_from_slice(b"&amp;"),
            b'\r' => escaped.extend_from_slice(b"&#13;"),
            byte => escaped.push(*byte),
        }
    }
    escaped
}

impl Emitter for Oracle<'_> {
    type Token = Infallible;

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn emit_error(&mut self, _error: Error) {}

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn set_last_start_tag(&mut self, _last_start_tag: Option<&[u8]>) {}

    fn emit_eof(&mut self) {
        self.collector.finish();
    }

    fn emit_string(&mut self, piece: &[u8]) {
        self.collector.push_text(piece);
    }

    fn init_start_tag(&mut self) {
        self.start(false);
    }

    fn init_end_tag(&mut self) {
        self.start(true);
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        self.name.extend_from_slice(part);
    }

    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn init_attribute(&mut self) {
        self.attributes.push((Vec::new(), None));
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        self.attributes.last_mut().unwrap().0.extend_from_slice(part);
    }

    fn init_attribute_value(&mut self) {
        self.attributes.last_mut().unwrap().1 = Some(Vec::new());
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        self.attributes.last_mut().unwrap().1.as_mut().unwrap().extend_from_slice(part);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        let element = Element::of(&self.name);
        if self.is_end {
            match self.raw.take() {
                Some(_) => self.collector.end_raw(),
                None => self.collector.end_tag(element),
            }
            return None;
        }
        let mut tag = Tag::new(element);
        tag.self_closing = self.self_closing;
        let values: Vec<_> = self
            .attributes
            .iter()
            .filter_map(|(name, value)| Some((Attribute::of(name)?, escaped(value.as_ref()?))))
            .collect();
        if tag.reads_attributes() {
            values.iter().for_each(|(attribute, value)| tag.set(*attribute, value));
        }
        let raw = self.collector.start_tag(&tag)?;
        self.raw = Some(self.name.clone());
        Some(match raw {
            Raw::Escapable => State::RcData,
            Raw::Text => State::RawText,
            Raw::Script => State::ScriptData,
            Raw::Plain => State::PlainText,
        })
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end && self.raw.as_ref() == Some(&self.name)
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.collector.is_in_foreign_content()
    }

    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _part: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _part: &[u8]) {}
    fn set_force_quirks(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _value: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _value: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _part: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _part: &[u8]) {}
}

/// The complete results of both tokenizers.
fn both(page: &[u8], xhtml: bool) -> (Extracted, Extracted) {
    let url = Url::parse("https://example.com/a/b", &NormalRules::default()).unwrap();
    let input = Input {
        body: page,
        payload: None,
        content_type: Some(if xhtml {
            "application/xhtml+xml; charset=utf-8"
        } else {
            "text/html; charset=utf-8"
        }),
        url: &url,
        x_robots_tag: &[],
        agent: "argiope",
        limits: Limits::default(),
        wants: Wants::ALL,
    };
    (extract(&input, &mut Scratch::new()), extract_by(tokenize_with_html5gum, &input, &mut Scratch::new()))
}

fn assert_same(page: &[u8]) {
    for xhtml in [false, true] {
        let (ours, theirs) = both(page, xhtml);
        // The arena of the links is compared as well.
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{:?}", page.escape_ascii().to_string());
    }
}

/// Significant input for a tokenizer, as small pieces and as whole constructs, so that most mixtures reach deep states.
const PIECES: &[&str] = &[
    "<",
    "<",
    "<",
    ">",
    ">",
    ">",
    "/",
    "/",
    "!",
    "-",
    "-",
    "--",
    "?",
    "&",
    "&",
    "#",
    ";",
    "=",
    "=",
    "\"",
    "\"",
    "'",
    "'",
    "`",
    " ",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\x0c",
    "\0",
    "[",
    "]",
    "]]>",
    "a",
    "b",
    "c",
    "x",
    "A",
    "1",
    "amp",
    "amp;",
    "&amp;",
    "&not",
    "notit;",
    "&notin;",
    "&copy",
    "&lt",
    "&nbsp;",
    "#65;",
    "&#x41",
    "&#0;",
    "&#13;",
    "&#128;",
    "&#xD800;",
    "&#99999999999999",
    "&#x110000;",
    "script",
    "<script>",
    "</script>",
    "</script",
    "<script",
    "</SCRIPT ",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "<!-",
    "<!",
    "<!DOCTYPE",
    "<!doctype html PUBLIC \"",
    "SYSTEM '",
    "<![CDATA[",
    "CDATA",
    "noscript",
    "<noscript>",
    "</noscript>",
    "title",
    "<title>",
    "</title>",
    "</title",
    "<TITLE",
    "textarea",
    "<textarea>",
    "</textarea>",
    "</textarea/>",
    "style",
    "<style>",
    "</style>",
    "<xmp>",
    "</xmp>",
    "<plaintext>",
    "<iframe src=",
    "</iframe>",
    "<frame src='",
    "<noframes>",
    "</noframes>",
    "<object data=",
    "<object type=text/html data='",
    "<embed src=",
    " type=application/pdf",
    "<img src=/i srcset=\"",
    " srcset='a.png 1x, b.png 2x",
    "<source srcset=",
    "<video poster=/p src=",
    "<track src=t>",
    "<input type=image src=",
    "<image xlink:href=",
    "<use href=",
    "<a xlink:href=",
    " xlink:href=/x",
    "<script src=/s ",
    "<link rel=stylesheet href=",
    "<link rel=preload as=font href='",
    " imagesrcset=",
    "<link rel=icon href=i>",
    "(a, b)",
    ", /c 2x",
    "<noembed>",
    "<template>",
    "</template>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<math>",
    "<h1>",
    "</h1>",
    "<h2 ",
    "</h3>",
    "<a href=",
    "<a href=\"",
    "<A HREF='",
    " href=/x",
    " href",
    " rel=nofollow",
    " rel=\"",
    "</a>",
    "</a",
    "<img alt=",
    "<img alt='p'>",
    "<area href=u>",
    "<base href=",
    "<link rel=canonical href=",
    "<link rel=\"next\" href='",
    "<meta name=robots content=",
    "<meta name=description content='",
    "<meta property=og:x content=\"",
    "<meta http-equiv=refresh content=",
    "0;url=",
    "<html lang=",
    " xml:lang='",
    "<p>",
    "</p>",
    "<br/>",
    "<b>",
    "</b>",
    "<div class=\"",
    "<span x=y>",
    "é",
    "\u{a0}",
    "\u{3000}",
    "word",
    "word word",
    "http://e.x/?a=1&b=2&copy=3&lt;",
];

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A realistic page.
const PAGE: &str = include_str!("oracle/page.html");

/// A mostly intact page: some bytes replaced, removed and inserted.
fn broken_page() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), 0usize..20, prop::sample::select(PIECES));
    prop::collection::vec(edit, 1..12).prop_map(|edits| {
        let mut page = PAGE.as_bytes().to_vec();
        for (at, cut, piece) in edits {
            let start = at.index(page.len() + 1);
            let end = (start + cut).min(page.len());
            page.splice(start..end, piece.bytes());
        }
        page
    })
}

/// Some thousands by default, more on request.
fn cases(times: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.saturating_mul(times), ..config }
}

#[test]
fn a_page_as_pages_are_is_read_alike() {
    assert_same(PAGE.as_bytes());
    assert_same(PAGE.replace('\n', "\r\n").as_bytes());
    let (ours, _) = both(PAGE.as_bytes(), false);
    assert!(ours.links.len() > 5 && ours.headings.len() > 1 && ours.title.is_some());
}

#[test]
fn what_a_page_is_shown_with_is_read_alike() {
    let (ours, theirs) = both(PAGE.as_bytes(), false);
    assert!(ours.resources.len() > 15, "{:?}", ours.resources);
    assert_eq!(format!("{:?}", ours.resources), format!("{:?}", theirs.resources));
}

#[test]
fn every_piece_and_every_pair_of_pieces_is_read_alike() {
    for first in PIECES {
        assert_same(first.as_bytes());
        for second in PIECES {
            assert_same(format!("{first}{second}").as_bytes());
        }
    }
}

#[test]
fn every_prefix_of_a_page_is_read_alike() {
    for end in 0..PAGE.len() {
        assert_same(&PAGE.as_bytes()[..end]);
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn tag_soup_is_read_alike(page in soup()) {
        assert_same(&page);
    }

    #[test]
    fn soup_in_an_element_without_markup_is_read_alike(
        name in prop::sample::select(&["script", "title", "textarea", "style", "xmp", "iframe", "noscript", "noframes", "object", "svg", "plaintext"][..]),
        page in soup(),
        end in soup(),
    ) {
        assert_same(&[b"<", name.as_bytes(), b">", &page, b"</", name.as_bytes(), b">", &end].concat());
    }

    #[test]
    fn soup_in_an_attribute_is_read_alike(quote in prop::sample::select(&["", "'", "\""][..]), page in soup()) {
        let quote = quote.as_bytes();
        assert_same(&[b"<a href=", quote, &page, quote, b">x</a> <a href=/y>"].concat());
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn broken_pages_are_read_alike(page in broken_page()) {
        assert_same(&page);
    }

    #[test]
    fn arbitrary_bytes_are_read_alike(page in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_same(&page);
    }
}
