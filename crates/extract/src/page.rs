//! One page in, all extracted data out.

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

/// A fetched body and what is needed to parse it.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// After content decoding.
    pub body: &'a [u8],
    /// Before content decoding, if its hash is wanted, too: hashing both together is cheaper. The body itself if there
    /// was no content encoding.
    pub payload: Option<&'a [u8]>,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The URL of the body, after redirects.
    pub url: &'a Url,
    /// The values of all `X-Robots-Tag` headers.
    pub x_robots_tag: &'a [&'a str],
    /// Our product token, for robots rules.
    pub agent: &'a str,
    pub limits: Limits,
    pub wants: Wants,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Distinct links beyond this number are dropped and counted.
    pub max_links: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_links: 10_000 }
    }
}

/// Optional parts that cost memory. Word count and SimHash are always computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    pub text: bool,
    pub headings: bool,
    pub open_graph: bool,
    pub anchors: bool,
    /// Resources of the page: images, styles, scripts.
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

/// The contents of a page. References are as written; [`crate::resolve`] turns them into URLs.
#[derive(Clone, Debug)]
pub struct Extracted {
    pub media: Media,
    /// The name of the encoding; none if the body was not read as text.
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
    /// Property and value, the first value of each property, in page order.
    pub open_graph: Vec<(String, String)>,
    pub headings: Vec<Heading>,
    /// Visible text, white space collapsed; only on request.
    pub text: Option<String>,
    /// Words of the visible text; none without text.
    pub word_count: Option<u32>,
    /// None without words.
    pub simhash: Option<SimHash>,
    /// The SimHash with all words that contain a digit treated alike: the same for pages that differ only in numbers.
    pub simhash_without_numbers: Option<SimHash>,
    pub content_hash: ContentHash,
    /// Of the body before content decoding, if that was given.
    pub payload_hash: Option<ContentHash>,
    pub links: FoundLinks,
    /// Resources of the page, on request; with the same limit as the links, and not among them.
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

/// Reads a page. For any bytes, time and memory are linear in their number.
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

/// UTF-8 is parsed in place, valid or not; invalid sequences are replaced in the values that are kept.
fn readable<'b>(body: &'b [u8], encoding: &'static Encoding) -> Cow<'b, [u8]> {
    if encoding == UTF_8 {
        return Cow::Borrowed(charset::without_bom(body));
    }
    match encoding.decode(body).0 {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// A body decoded for extraction; none if it is not text.
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
