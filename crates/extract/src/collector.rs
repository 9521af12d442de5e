//! What the tags of a page mean: the tokenizer calls, once per tag and piece of text, in the order of the page.
//!
//! There is no tree. What a tree would know and this must, is kept as a few flags: inside a template, inside
//! noscript, inside foreign content, inside an anchor or a heading. Character references in text arrive decoded.

use crate::element::{Element, Raw};
use crate::links::{LinkCollection, LinkKind};
use crate::metadata::{LONGEST_VALUE, Metadata};
use crate::tag::{Attribute, Tag};
use crate::text::{Text, collapsed};

const MOST_HEADINGS: usize = 1000;

/// A heading as a range of the visible text.
#[derive(Clone, Copy)]
pub(crate) struct HeadingRange {
    pub(crate) level: u8,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Where text goes.
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
    pub(crate) metadata: Metadata,
    pub(crate) headings: Vec<HeadingRange>,
    destination: Destination,
    title: Vec<u8>,
    templates: u32,
    foreign: u32,
    noscript: bool,
    /// Position of the open link and where its text begins.
    anchor: Option<(u32, u32)>,
    heading: Option<(u8, u32)>,
    xhtml: bool,
    wants_headings: bool,
    wants_open_graph: bool,
    wants_anchors: bool,
    agent: String,
}

/// What one page is collected with.
pub(crate) struct Plan<'a> {
    pub(crate) xhtml: bool,
    pub(crate) most_links: usize,
    pub(crate) wants_headings: bool,
    pub(crate) wants_open_graph: bool,
    pub(crate) wants_anchors: bool,
    pub(crate) agent: &'a str,
}

impl Collector {
    pub(crate) fn start(&mut self, plan: &Plan<'_>) {
        self.text.clear();
        self.links.start(plan.most_links);
        self.metadata = Metadata::default();
        self.headings.clear();
        self.destination = Destination::Visible;
        self.title.clear();
        self.templates = 0;
        self.foreign = 0;
        self.noscript = false;
        self.anchor = None;
        self.heading = None;
        self.xhtml = plan.xhtml;
        self.wants_headings = plan.wants_headings;
        self.wants_open_graph = plan.wants_open_graph;
        self.wants_anchors = plan.wants_anchors;
        self.agent.clear();
        self.agent.push_str(plan.agent);
    }

    /// Ends what the page left open.
    pub(crate) fn finish(&mut self) {
        self.end_anchor();
        self.end_heading();
        self.end_title();
    }

    /// A start tag, complete. If no markup follows it up to its end tag, the answer is how to read that; the end tag
    /// then is for [`Collector::end_raw`].
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
            Element::Area => self.add_link(tag, Attribute::Href, LinkKind::Area),
            Element::Img => self.take_alternative_text(tag),
            Element::Link => self.add_link_element(tag),
            Element::Meta if self.templates == 0 => {
                let refresh = self.metadata.read_meta(tag, &self.agent, self.wants_open_graph);
                if let Some(target) = refresh {
                    self.links.add(&target, b"", LinkKind::Refresh);
                }
            }
            Element::Base if self.templates == 0 => self.metadata.read_base(tag),
            Element::Meta | Element::Base => {}
            Element::Html => self.metadata.read_language(tag),
            Element::Heading(level) => {
                self.end_heading();
                if self.destination == Destination::Visible && self.wants_headings && !closed {
                    self.heading = Some((level, self.text.position()));
                }
            }
            // An empty element; only `iframe` has content, and none of it is markup.
            Element::Frame => self.add_link(tag, Attribute::Src, LinkKind::Frame),
            Element::Iframe => {
                self.add_link(tag, Attribute::Src, LinkKind::Frame);
                return (!closed).then(|| self.start_raw(Raw::Text, Destination::Nowhere));
            }
            Element::Noscript => {
                self.noscript = !closed;
                self.aim();
            }
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
                return (!closed).then(|| self.start_raw(raw, Destination::Nowhere));
            }
        }
        None
    }

    /// Without the tree of a browser: a slash ends an element in XHTML and in foreign content only.
    fn is_closed(&self, tag: &Tag<'_>) -> bool {
        tag.self_closing && self.is_in_foreign_content()
    }

    /// Whether what a page may hold here is XML rather than HTML.
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
            Element::Noscript => {
                self.noscript = false;
                self.aim();
            }
            Element::Template => {
                self.templates = self.templates.saturating_sub(1);
                self.aim();
            }
            Element::Foreign => self.foreign = self.foreign.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether text that comes now is kept.
    #[inline]
    pub(crate) fn keeps_text(&self) -> bool {
        self.destination != Destination::Nowhere
    }

    /// Where text goes outside of raw elements.
    fn aim(&mut self) {
        let hidden = self.templates > 0 || self.noscript;
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
        let end = self.text.position();
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
        let Some(href) = tag.value(Attribute::Href) else { return };
        let rel = tag.value(Attribute::Rel).unwrap_or_default();
        let position = self.links.add(&href, &rel, LinkKind::Anchor);
        if self.wants_anchors && !self.is_closed(tag) {
            self.anchor = position.map(|position| (position, self.text.position()));
        }
    }

    fn end_anchor(&mut self) {
        if let Some((position, start)) = self.anchor.take() {
            self.links.set_anchor(position, self.text.between(start, self.text.position()));
        }
    }

    /// A picture speaks for a link that has no words of its own.
    fn take_alternative_text(&mut self, tag: &Tag<'_>) {
        if let Some((position, start)) = self.anchor
            && self.text.between(start, self.text.position()).is_empty()
            && self.links.lacks_anchor(position)
            && let Some(alt) = tag.value(Attribute::Alt)
        {
            self.links.set_anchor(position, &alt);
        }
    }

    fn add_link(&mut self, tag: &Tag<'_>, attribute: Attribute, kind: LinkKind) {
        if self.templates > 0 {
            return;
        }
        if let Some(href) = tag.value(attribute) {
            self.links.add(&href, &tag.value(Attribute::Rel).unwrap_or_default(), kind);
        }
    }

    fn add_link_element(&mut self, tag: &Tag<'_>) {
        let (Some(href), Some(rel)) = (tag.value(Attribute::Href), tag.value(Attribute::Rel)) else {
            return;
        };
        if self.templates > 0 {
            return;
        }
        let says = |word: &str| {
            rel.split(u8::is_ascii_whitespace).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
        };
        let kind = if says("canonical") {
            self.metadata.read_canonical(&href);
            LinkKind::Canonical
        } else if says("alternate") && !says("stylesheet") {
            LinkKind::Alternate
        } else if says("next") {
            LinkKind::Next
        } else {
            return;
        };
        self.links.add(&href, &rel, kind);
    }
}
