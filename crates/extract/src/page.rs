//! One page in, everything that is known about it out.

use crate::charset;
use crate::collector::{Collector, Plan};
use crate::content_hash::Hashing;
use crate::links::FoundLinks;
use crate::media::Media;
use crate::resolve::Positions;
use crate::robots::RobotsDirectives;
use crate::simhash::Fingerprints;
use crate::text::collapsed;
use crate::tokenizer::tokenize;
use argiope_model::{ContentHash, SimHash, Url};
use encoding_rs::{Encoding, UTF_8};
use serde::Serialize;
use std::borrow::Cow;

/// A fetched body with what is needed to read it.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// After content decoding.
    pub body: &'a [u8],
    /// Before content decoding, if its hash is wanted, too: that costs less while the body is hashed. The body itself
    /// where there was nothing to decode.
    pub payload: Option<&'a [u8]>,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// Where the body came from, after redirects.
    pub url: &'a Url,
    /// The values of all `X-Robots-Tag` headers.
    pub x_robots_tag: &'a [&'a str],
    /// Our product token, as robots rules name us.
    pub agent: &'a str,
    pub limits: Limits,
    pub wants: Wants,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Links beyond this many different ones are dropped and counted.
    pub max_links: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_links: 10_000 }
    }
}

/// The parts that cost memory and are not always needed. Word count and SimHash come in any case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    pub text: bool,
    pub headings: bool,
    pub open_graph: bool,
    pub anchors: bool,
    /// What the page is shown with: pictures, styles, scripts.
    pub resources: bool,
}

impl Wants {
    pub const ALL: Wants =
        Wants { text: true, headings: true, open_graph: true, anchors: true, resources: true };
    pub const NONE: Wants =
        Wants { text: false, headings: false, open_graph: false, anchors: false, resources: false };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    pub text: String,
}

/// What a page says. References are as they stand in the page; [`crate::resolve`] makes URLs of them.
#[derive(Clone, Debug)]
pub struct Extracted {
    pub media: Media,
    /// The name of the encoding the body was read in; none where it was not read as text.
    pub charset: Option<&'static str>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub keywords: Option<String>,
    pub author: Option<String>,
    pub language: Option<String>,
    /// The reference of `<link rel=canonical>`.
    pub canonical: Option<String>,
    /// The reference of `<base>`.
    pub base: Option<String>,
    /// Meta tags and headers together.
    pub robots: RobotsDirectives,
    /// Property and value, the first value of each property, in the order of the page.
    pub open_graph: Vec<(String, String)>,
    pub headings: Vec<Heading>,
    /// Visible text, white space collapsed; only if wanted.
    pub text: Option<String>,
    /// Words of the visible text; none where there is no text to read.
    pub word_count: Option<u32>,
    /// None where there is no word.
    pub simhash: Option<SimHash>,
    /// The SimHash with all words alike that have a digit in them: the same for pages that differ in numbers only.
    pub simhash_without_numbers: Option<SimHash>,
    pub content_hash: ContentHash,
    /// Of the body before content decoding, where that was given.
    pub payload_hash: Option<ContentHash>,
    pub links: FoundLinks,
    /// What the page is shown with, if that is wanted; under the same limit as the links, and not among them.
    pub resources: FoundLinks,
}

/// The buffers of one thread, reused from page to page.
#[derive(Default)]
pub struct Scratch {
    collector: Collector,
    pub(crate) positions: Positions,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

/// Reads a page. Whatever the bytes are, the time is linear in their number and so is the memory.
pub fn extract(input: &Input<'_>, scratch: &mut Scratch) -> Extracted {
    extract_by(|page, collector| tokenize(page, collector), input, scratch)
}

/// The same with any tokenizer, so that two can be compared.
#[inline]
pub(crate) fn extract_by(
    tokenize: impl FnOnce(&[u8], &mut Collector),
    input: &Input<'_>,
    scratch: &mut Scratch,
) -> Extracted {
    let media = Media::of(input.content_type, input.body);
    let plan = Plan {
        xhtml: media == Media::Xhtml,
        most_links: input.limits.max_links,
        wants_headings: input.wants.headings,
        wants_open_graph: input.wants.open_graph,
        wants_anchors: input.wants.anchors,
        wants_resources: input.wants.resources,
        agent: input.agent,
    };
    let collector = &mut scratch.collector;
    collector.start(&plan);
    for value in input.x_robots_tag {
        collector.metadata.robots.merge_header(value, input.agent);
    }
    let encoding = (media != Media::Other)
        .then(|| charset::detect(input.body, input.content_type, media, input.url.host_name()));
    if let Some(encoding) = encoding {
        let bytes = readable(input.body, encoding);
        if media.is_markup() {
            tokenize(&bytes, collector);
        } else {
            collector.text.push(&bytes);
            collector.finish();
        }
    }
    assemble(input, media, encoding, scratch)
}

/// UTF-8 is taken where it lies, broken or not; what is broken is replaced in the values that are kept.
fn readable<'b>(body: &'b [u8], encoding: &'static Encoding) -> Cow<'b, [u8]> {
    if encoding == UTF_8 {
        return Cow::Borrowed(charset::without_bom(body));
    }
    match encoding.decode(body).0 {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// A body as text, in the encoding in which it is extracted; none if it is no text.
pub fn text_of<'b>(body: &'b [u8], content_type: Option<&str>, host_name: &str) -> Option<Cow<'b, str>> {
    let media = Media::of(content_type, body);
    (media != Media::Other).then(|| charset::detect(body, content_type, media, host_name).decode(body).0)
}

fn assemble(
    input: &Input<'_>,
    media: Media,
    encoding: Option<&'static Encoding>,
    scratch: &mut Scratch,
) -> Extracted {
    let collector = &mut scratch.collector;
    let headings = collector
        .headings
        .iter()
        .filter_map(|range| {
            let text = collapsed(collector.text.between(range.start, range.end))?;
            Some(Heading { level: range.level, text })
        })
        .collect();
    let is_text = encoding.is_some();
    let mut words = collector.text.finish();
    let text = (is_text && input.wants.text).then(|| words.collapsed());
    let mut body = Hashing::of(input.body);
    let decoded = input.payload.filter(|payload| !std::ptr::eq(*payload, input.body));
    let mut payload = decoded.map(Hashing::of);
    let fingerprints = Fingerprints::of(&mut words, || {
        body.step();
        if let Some(payload) = &mut payload {
            payload.step();
        }
    });
    let content_hash = body.finish();
    let metadata = std::mem::take(&mut collector.metadata);
    Extracted {
        media,
        charset: encoding.map(Encoding::name),
        title: metadata.title,
        description: metadata.description,
        keywords: metadata.keywords,
        author: metadata.author,
        language: metadata.html_language.or(metadata.content_language),
        canonical: metadata.canonical,
        base: metadata.base,
        robots: metadata.robots,
        open_graph: metadata.open_graph,
        headings,
        text,
        word_count: is_text.then_some(fingerprints.word_count),
        simhash: fingerprints.simhash,
        simhash_without_numbers: fingerprints.without_numbers,
        content_hash,
        payload_hash: input.payload.map(|_| payload.map_or(content_hash, Hashing::finish)),
        links: collector.links.take(),
        resources: collector.resources.take(),
    }
}
