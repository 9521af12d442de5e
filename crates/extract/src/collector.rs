//! Takes a page apart in one pass: the tokenizer of html5gum calls, the collector decides what each tag means.
//!
//! There is no tree. What a tree would know and this must, is kept as a few flags: inside a template, inside
//! noscript, inside foreign content, inside an anchor or a heading. Character references arrive decoded.

use crate::element::{Element, Raw};
use crate::links::{LinkCollection, LinkKind};
use crate::metadata::{LONGEST_VALUE, Metadata};
use crate::tag::{Attribute, Name, Tag};
use crate::text::{Text, collapsed};
use html5gum::emitters::Emitter;
use html5gum::{Error, State};
use std::convert::Infallible;

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
    tag: Tag,
    destination: Destination,
    /// The name of the element whose end tag alone ends raw text.
    raw: Option<Name>,
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
        self.tag.forget_large_buffers();
        self.destination = Destination::Visible;
        self.raw = None;
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

    fn start_tag(&mut self) -> Option<State> {
        let element = self.tag.element();
        if element.separates_words() {
            self.text.end_word();
        }
        // Without the tree of a browser: a slash ends an element in XHTML and in foreign content only.
        let closed = self.tag.self_closing && (self.xhtml || self.foreign > 0);
        match element {
            Element::Inline | Element::Other => {}
            Element::A => self.start_anchor(closed),
            Element::Area => self.add_link(Attribute::Href, LinkKind::Area),
            Element::Img => self.take_alternative_text(),
            Element::Link => self.add_link_element(),
            Element::Meta if self.templates == 0 => {
                let refresh = self.metadata.read_meta(&self.tag, &self.agent, self.wants_open_graph);
                if let Some(target) = refresh {
                    self.links.add(target, b"", LinkKind::Refresh);
                }
            }
            Element::Base if self.templates == 0 => self.metadata.read_base(&self.tag),
            Element::Meta | Element::Base => {}
            Element::Html => self.metadata.read_language(&self.tag),
            Element::Heading(level) => {
                self.end_heading();
                if self.destination == Destination::Visible && self.wants_headings && !closed {
                    self.heading = Some((level, self.text.position()));
                }
            }
            Element::Iframe => {
                self.add_link(Attribute::Src, LinkKind::Frame);
                // `frame` is an empty element; only `iframe` has content, and none of it is markup.
                let has_content = self.tag.name.as_bytes() == b"iframe";
                return (!closed && has_content).then(|| self.start_raw(Raw::Text, Destination::Nowhere));
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
                let is_closed = self.tag.self_closing;
                self.foreign = self.foreign.saturating_add(u32::from(!is_closed));
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

    fn start_raw(&mut self, raw: Raw, to: Destination) -> State {
        self.raw = Some(self.tag.name);
        self.destination = to;
        raw.state()
    }

    fn end_tag(&mut self) {
        let element = self.tag.element();
        if element.separates_words() {
            self.text.end_word();
        }
        if self.raw.take().is_some() {
            self.end_title();
            self.aim();
            return;
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

    /// Where text goes outside of raw elements.
    fn aim(&mut self) {
        let hidden = self.templates > 0 || self.noscript;
        self.destination = if hidden { Destination::Nowhere } else { Destination::Visible };
    }

    #[inline]
    fn push_text(&mut self, piece: &[u8]) {
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
    fn start_anchor(&mut self, closed: bool) {
        self.end_anchor();
        if self.templates > 0 {
            return;
        }
        let Some(href) = self.tag.value(Attribute::Href) else { return };
        let rel = self.tag.value(Attribute::Rel).unwrap_or_default();
        let position = self.links.add(href, rel, LinkKind::Anchor);
        if self.wants_anchors && !closed {
            self.anchor = position.map(|position| (position, self.text.position()));
        }
    }

    fn end_anchor(&mut self) {
        if let Some((position, start)) = self.anchor.take() {
            self.links.set_anchor(position, self.text.between(start, self.text.position()));
        }
    }

    /// A picture speaks for a link that has no words of its own.
    fn take_alternative_text(&mut self) {
        if let Some((position, start)) = self.anchor
            && self.text.between(start, self.text.position()).is_empty()
            && self.links.lacks_anchor(position)
            && let Some(alt) = self.tag.value(Attribute::Alt)
        {
            self.links.set_anchor(position, alt);
        }
    }

    fn add_link(&mut self, attribute: Attribute, kind: LinkKind) {
        if self.templates > 0 {
            return;
        }
        if let Some(href) = self.tag.value(attribute) {
            self.links.add(href, self.tag.value(Attribute::Rel).unwrap_or_default(), kind);
        }
    }

    fn add_link_element(&mut self) {
        let (Some(href), Some(rel)) = (self.tag.value(Attribute::Href), self.tag.value(Attribute::Rel))
        else {
            return;
        };
        if self.templates > 0 {
            return;
        }
        let says = |word: &str| {
            rel.split(u8::is_ascii_whitespace).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
        };
        let kind = if says("canonical") {
            self.metadata.read_canonical(&self.tag);
            LinkKind::Canonical
        } else if says("alternate") && !says("stylesheet") {
            LinkKind::Alternate
        } else if says("next") {
            LinkKind::Next
        } else {
            return;
        };
        self.links.add(href, rel, kind);
    }
}

/// Lends a collector to the tokenizer for one page.
pub(crate) struct Lent<'c>(pub(crate) &'c mut Collector);

impl Emitter for Lent<'_> {
    type Token = Infallible;

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn emit_error(&mut self, _error: Error) {}

    #[inline]
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn set_last_start_tag(&mut self, _last_start_tag: Option<&[u8]>) {}

    fn emit_eof(&mut self) {
        self.0.finish();
    }

    #[inline]
    fn emit_string(&mut self, piece: &[u8]) {
        self.0.push_text(piece);
    }

    #[inline]
    fn init_start_tag(&mut self) {
        self.0.tag.start(false);
    }

    #[inline]
    fn init_end_tag(&mut self) {
        self.0.tag.start(true);
    }

    #[inline]
    fn push_tag_name(&mut self, part: &[u8]) {
        self.0.tag.name.push(part);
    }

    #[inline]
    fn set_self_closing(&mut self) {
        self.0.tag.self_closing = true;
    }

    #[inline]
    fn init_attribute(&mut self) {
        self.0.tag.start_attribute();
    }

    #[inline]
    fn push_attribute_name(&mut self, part: &[u8]) {
        self.0.tag.push_attribute_name(part);
    }

    #[inline]
    fn init_attribute_value(&mut self) {
        self.0.tag.start_value();
    }

    #[inline]
    fn push_attribute_value(&mut self, part: &[u8]) {
        self.0.tag.push_value(part);
    }

    #[inline]
    fn emit_current_tag(&mut self) -> Option<State> {
        if self.0.tag.is_end {
            self.0.end_tag();
            return None;
        }
        self.0.tag.end_attribute();
        self.0.start_tag()
    }

    #[inline]
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.0.tag.is_end && self.0.raw.is_some_and(|raw| raw.as_bytes() == self.0.tag.name.as_bytes())
    }

    #[inline]
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.0.xhtml || self.0.foreign > 0
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
