//! Interprets the tags of a page: the tokenizer calls it once per tag and piece of text, in page order.
//!
//! There is no tree. What is needed of one is kept in a few flags: inside a template, inside noscript, inside foreign
//! content, inside an anchor or a heading. Character references in text are already decoded.

use crate::element::{Element, Embedding, Fallback, Raw};
use crate::links::{LinkCollection, LinkElement};
use crate::metadata::{LONGEST_VALUE, Metadata};
use crate::resource;
use crate::tag::{Attribute, Tag};
use crate::text::{Text, collapsed};
use crate::tokenizer::Sink;
use argiope_model::LinkKind;
use std::borrow::Cow;

const MOST_HEADINGS: usize = 1000;

/// A heading as a range of the visible text.
#[derive(Clone, Copy)]
pub(crate) struct HeadingRange {
    pub(crate) level: u8,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The target of text.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Destination {
    #[default]
    Visible,
    Title,
    Nowhere,
}

/// State and buffers of the pass, reused from page to page.
#[derive(Default)]
pub(crate) struct Collector {
    pub(crate) text: Text,
    pub(crate) links: LinkCollection,
    /// Counted and limited separately, so that images do not use up the limit of links.
    pub(crate) resources: LinkCollection,
    pub(crate) metadata: Metadata,
    pub(crate) headings: Vec<HeadingRange>,
    destination: Destination,
    title: Vec<u8>,
    templates: u32,
    foreign: u32,
    noscript: bool,
    noframes: bool,
    /// Position of the open link and the start of its text.
    anchor: Option<(u32, u32)>,
    /// The open link is in `noscript` or `noframes`: its text belongs to the link, but not to the page's text.
    is_anchor_hidden: bool,
    heading: Option<(u8, u32)>,
    xhtml: bool,
    wants_headings: bool,
    wants_open_graph: bool,
    wants_anchors: bool,
    wants_resources: bool,
    agent: String,
}

/// The settings for one page.
pub(crate) struct Plan<'a> {
    pub(crate) xhtml: bool,
    pub(crate) most_links: usize,
    pub(crate) wants_headings: bool,
    pub(crate) wants_open_graph: bool,
    pub(crate) wants_anchors: bool,
    pub(crate) wants_resources: bool,
    pub(crate) agent: &'a str,
}

impl Collector {
    pub(crate) fn start(&mut self, plan: &Plan<'_>) {
        self.text.clear();
        self.links.start(plan.most_links);
        self.resources.start(plan.most_links);
        self.metadata = Metadata::default();
        self.headings.clear();
        self.destination = Destination::Visible;
        self.title.clear();
        self.templates = 0;
        self.foreign = 0;
        self.noscript = false;
        self.noframes = false;
        self.anchor = None;
        self.is_anchor_hidden = false;
        self.heading = None;
        self.xhtml = plan.xhtml;
        self.wants_headings = plan.wants_headings;
        self.wants_open_graph = plan.wants_open_graph;
        self.wants_anchors = plan.wants_anchors;
        self.wants_resources = plan.wants_resources;
        self.agent.clear();
        self.agent.push_str(plan.agent);
    }

    /// Closes what the page left open.
    pub(crate) fn finish(&mut self) {
        self.end_title();
        self.end_anchor();
        self.end_heading();
    }

    /// A complete start tag. If no markup follows up to its end tag, the return value says how to read that text; the
    /// end tag is then passed to [`Collector::end_raw`].
    #[inline]
    pub(crate) fn start_tag(&mut self, tag: &Tag<'_>) -> Option<Raw> {
        let element = tag.element;
        if element.separates_words() {
            self.text.end_word();
        }
        match element {
            Element::Inline | Element::Other => None,
            Element::A => {
                self.start_anchor(tag);
                None
            }
            _ => self.start_element(tag),
        }
    }

    fn start_element(&mut self, tag: &Tag<'_>) -> Option<Raw> {
        let closed = self.is_closed(tag);
        match tag.element {
            Element::Inline | Element::Other | Element::A => {}
            Element::Area => self.add_link(tag, Attribute::Href, LinkElement::Area),
            Element::Img => {
                self.take_alternative_text(tag);
                self.add_image(tag);
            }
            Element::Embedding(embedding) => self.add_embedding(tag, embedding),
            Element::Link => self.add_link_element(tag),
            Element::Meta if self.templates == 0 => {
                let refresh = self.metadata.read_meta(tag, &self.agent, self.wants_open_graph);
                if let Some(target) = refresh {
                    self.links.add(&target, b"", LinkElement::Refresh);
                }
            }
            Element::Base if self.templates == 0 => self.metadata.read_base(tag),
            Element::Meta | Element::Base => {}
            Element::Html => self.metadata.read_language(tag),
            Element::Heading(level) => {
                self.end_heading();
                let is_visible = self.destination == Destination::Visible && !self.is_anchor_hidden;
                if is_visible && self.wants_headings && !closed {
                    self.heading = Some((level, self.text.position()));
                }
            }
            // An empty element; only `iframe` has content, and that has no markup.
            Element::Frame => self.add_link(tag, Attribute::Src, LinkElement::Frame),
            Element::Iframe => {
                self.add_link(tag, Attribute::Src, LinkElement::Frame);
                return (!closed).then(|| self.start_raw(Raw::Text, Destination::Nowhere));
            }
            Element::Fallback(of) => self.set_fallback(of, !closed),
            Element::Template => {
                self.templates = self.templates.saturating_add(u32::from(!closed));
                self.aim();
            }
            Element::Foreign => {
                self.foreign = self.foreign.saturating_add(u32::from(!tag.self_closing));
            }
            Element::Title => {
                let is_of_page = self.foreign == 0 && self.templates == 0 && self.metadata.title.is_none();
                let to = if is_of_page { Destination::Title } else { Destination::Nowhere };
                return (!closed).then(|| self.start_raw(Raw::Escapable, to));
            }
            Element::Shown(raw) => {
                let to = self.destination;
                return (!closed).then(|| self.start_raw(raw, to));
            }
            Element::Hidden(raw) => {
                if raw == Raw::Script {
                    self.add_script(tag);
                }
                return (!closed).then(|| self.start_raw(raw, Destination::Nowhere));
            }
        }
        None
    }

    /// Without the tree of a browser: a slash ends an element only in XHTML and in foreign content.
    fn is_closed(&self, tag: &Tag<'_>) -> bool {
        tag.self_closing && self.is_in_foreign_content()
    }

    /// Whether the page may have XML rather than HTML here.
    pub(crate) fn is_in_foreign_content(&self) -> bool {
        self.xhtml || self.foreign > 0
    }

    fn start_raw(&mut self, raw: Raw, to: Destination) -> Raw {
        self.destination = to;
        raw
    }

    /// The end tag of an element without markup. All of these separate words.
    pub(crate) fn end_raw(&mut self) {
        self.text.end_word();
        self.end_title();
        self.aim();
    }

    /// Any other end tag.
    #[inline]
    pub(crate) fn end_tag(&mut self, element: Element) {
        if element.separates_words() {
            self.text.end_word();
        }
        match element {
            Element::A => self.end_anchor(),
            Element::Heading(_) => self.end_heading(),
            Element::Fallback(of) => self.set_fallback(of, false),
            Element::Template => {
                self.templates = self.templates.saturating_sub(1);
                self.aim();
            }
            Element::Foreign => self.foreign = self.foreign.saturating_sub(1),
            _ => {}
        }
    }

    fn set_fallback(&mut self, of: Fallback, open: bool) {
        if self.is_anchor_hidden {
            self.end_anchor();
        }
        match of {
            Fallback::Noscript => self.noscript = open,
            Fallback::Noframes => self.noframes = open,
        }
        self.aim();
    }

    fn is_in_fallback(&self) -> bool {
        self.noscript || self.noframes
    }

    /// Whether the current text is kept.
    #[inline]
    pub(crate) fn keeps_text(&self) -> bool {
        self.destination != Destination::Nowhere
    }

    /// The target of text outside raw elements.
    fn aim(&mut self) {
        let hidden = self.templates > 0 || (self.is_in_fallback() && !self.is_anchor_hidden);
        self.destination = if hidden { Destination::Nowhere } else { Destination::Visible };
    }

    #[inline]
    pub(crate) fn push_text(&mut self, piece: &[u8]) {
        match self.destination {
            Destination::Visible => self.text.push(piece),
            Destination::Nowhere => {}
            Destination::Title => {
                let room = LONGEST_VALUE.saturating_sub(self.title.len());
                self.title.extend_from_slice(piece.get(..room).unwrap_or(piece));
            }
        }
    }

    fn end_title(&mut self) {
        if self.destination == Destination::Title && self.metadata.title.is_none() {
            self.metadata.title = collapsed(&self.title);
            self.title.clear();
        }
    }

    fn end_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else { return };
        let end = match self.anchor {
            Some((_, start)) if self.is_anchor_hidden => start,
            _ => self.text.position(),
        };
        if !self.text.between(start, end).is_empty() && self.headings.len() < MOST_HEADINGS {
            self.headings.push(HeadingRange { level, start, end });
        }
    }

    /// An anchor inside an anchor ends the outer one.
    fn start_anchor(&mut self, tag: &Tag<'_>) {
        self.end_anchor();
        if self.templates > 0 {
            return;
        }
        let Some(href) = self.reference(tag) else { return };
        let rel = tag.value(Attribute::Rel).unwrap_or_default();
        let position = self.links.add(&href, &rel, LinkElement::Anchor);
        if self.wants_anchors && !self.is_closed(tag) {
            self.anchor = position.map(|position| (position, self.text.position()));
            if self.anchor.is_some() && self.is_in_fallback() {
                self.is_anchor_hidden = true;
                self.aim();
            }
        }
    }

    fn end_anchor(&mut self) {
        if let Some((position, start)) = self.anchor.take() {
            self.links.set_anchor(position, self.text.between(start, self.text.position()));
            if self.is_anchor_hidden {
                self.is_anchor_hidden = false;
                self.text.truncate(start);
                self.aim();
            }
        }
    }

    /// The alternative text of an image counts for a link without words of its own.
    fn take_alternative_text(&mut self, tag: &Tag<'_>) {
        if let Some((position, start)) = self.anchor
            && self.text.between(start, self.text.position()).is_empty()
            && self.links.lacks_anchor(position)
            && let Some(alt) = tag.value(Attribute::Alt)
        {
            self.links.set_anchor(position, &alt);
        }
    }

    fn add_link(&mut self, tag: &Tag<'_>, attribute: Attribute, element: LinkElement) {
        if self.templates > 0 {
            return;
        }
        if let Some(href) = tag.value(attribute) {
            self.links.add(&href, &tag.value(Attribute::Rel).unwrap_or_default(), element);
        }
    }

    /// The `href` of an element; SVG has another name for it as well.
    #[inline]
    fn reference<'p>(&self, tag: &Tag<'p>) -> Option<Cow<'p, [u8]>> {
        tag.value(Attribute::Href)
            .or_else(|| if self.is_in_foreign_content() { tag.value(Attribute::XlinkHref) } else { None })
    }

    fn add_link_element(&mut self, tag: &Tag<'_>) {
        let Some(rel) = tag.value(Attribute::Rel).filter(|_| self.templates == 0) else { return };
        let says = |word: &str| {
            rel.split(u8::is_ascii_whitespace).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
        };
        let Some(href) = tag.value(Attribute::Href) else {
            // A preloaded image may have several candidates and no reference of its own.
            if self.wants_resources && says("preload") {
                self.add_resource_set(tag, Attribute::ImageSrcset);
            }
            return;
        };
        let element = if says("canonical") {
            self.metadata.read_canonical(&href);
            LinkElement::Canonical
        } else if (says("alternate") && !says("stylesheet")) || says("feed") {
            LinkElement::Alternate
        } else if says("next") {
            LinkElement::Next
        } else {
            if self.wants_resources
                && let Some(kind) = resource::kind_of_link(&rel, tag.value(Attribute::As).as_deref())
            {
                self.resources.add(&href, &rel, LinkElement::Resource(kind));
                self.add_resource_set(tag, Attribute::ImageSrcset);
            }
            return;
        };
        self.links.add(&href, &rel, element);
    }

    fn add_image(&mut self, tag: &Tag<'_>) {
        if self.wants_resources {
            self.add_resource(tag.value(Attribute::Src), LinkKind::Image);
            self.add_resource_set(tag, Attribute::Srcset);
        }
    }

    fn add_script(&mut self, tag: &Tag<'_>) {
        if self.wants_resources {
            let source = tag.value(Attribute::Src);
            let source =
                if self.is_in_foreign_content() { source.or_else(|| self.reference(tag)) } else { source };
            self.add_resource(source, LinkKind::Script);
        }
    }

    #[inline(never)]
    fn add_embedding(&mut self, tag: &Tag<'_>, embedding: Embedding) {
        let source = tag.value(match embedding {
            Embedding::Object => Attribute::Data,
            _ => Attribute::Src,
        });
        match embedding {
            Embedding::Object | Embedding::Embed => {
                let Some(href) = source.filter(|_| self.templates == 0) else { return };
                if resource::is_document(tag.value(Attribute::Type).as_deref(), &href) {
                    self.links.add(&href, b"", LinkElement::Frame);
                } else if self.wants_resources {
                    self.add_resource(Some(href), LinkKind::Embedded);
                }
            }
            _ if !self.wants_resources => {}
            Embedding::Source => {
                self.add_resource(source, LinkKind::Media);
                self.add_resource_set(tag, Attribute::Srcset);
            }
            Embedding::Video => {
                self.add_resource(source, LinkKind::Media);
                self.add_resource(tag.value(Attribute::Poster), LinkKind::Image);
            }
            Embedding::Audio => self.add_resource(source, LinkKind::Media),
            Embedding::Input => {
                let kind = tag.value(Attribute::Type);
                if kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"image")) {
                    self.add_resource(source, LinkKind::Image);
                }
            }
            Embedding::Svg if self.is_in_foreign_content() => {
                self.add_resource(self.reference(tag), LinkKind::Image);
            }
            // Browsers treat this as a misspelt `img`.
            Embedding::Svg => self.add_resource(source, LinkKind::Image),
        }
    }

    /// An empty reference, or one into the page itself, is not a resource.
    fn add_resource(&mut self, href: Option<Cow<'_, [u8]>>, kind: LinkKind) {
        let Some(href) = href.filter(|_| self.templates == 0) else { return };
        if !matches!(href.trim_ascii_start().first(), None | Some(b'#')) {
            self.resources.add(&href, b"", LinkElement::Resource(kind));
        }
    }

    fn add_resource_set(&mut self, tag: &Tag<'_>, attribute: Attribute) {
        let Some(set) = tag.value(attribute).filter(|_| self.templates == 0) else { return };
        for href in resource::candidates(&set) {
            self.resources.add(href, b"", LinkElement::Resource(LinkKind::Image));
        }
    }
}

/// The methods of the same names: they are called by what the tests compare the tokenizer with, too.
impl<'p> Sink<'p> for Collector {
    type Tag = Tag<'p>;

    #[inline]
    fn keeps_text(&self) -> bool {
        Collector::keeps_text(self)
    }

    #[inline]
    fn push_text(&mut self, piece: &[u8]) {
        Collector::push_text(self, piece);
    }

    #[inline]
    fn start_tag(&mut self, tag: &Tag<'p>) -> Option<Raw> {
        Collector::start_tag(self, tag)
    }

    #[inline]
    fn end_tag(&mut self, name: &'p [u8]) {
        Collector::end_tag(self, Element::of(name));
    }

    fn end_raw(&mut self) {
        Collector::end_raw(self);
    }

    fn is_in_foreign_content(&self) -> bool {
        Collector::is_in_foreign_content(self)
    }

    fn finish(&mut self) {
        Collector::finish(self);
    }
}
