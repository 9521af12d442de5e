//! The tree of a page: an arena in the order of the page, in which the descendants of a node are the nodes between it
//! and its `end`. Whoever walks it counts upwards, so nothing here or in the other modules recurses, however deep the
//! page is nested.
//!
//! It is built as browsers build theirs where that shows (implied ends of paragraphs, items, rows and cells; end tags
//! that match nothing are ignored), without what it would take to move nodes (formatting that overlaps, text in tables
//! outside of cells).

use crate::element::{ELEMENTS, Element};
use argiope_extract::markup::{Raw, Sink, StartTag, decode_value, tokenize};
use std::borrow::Cow;

/// Elements that are open at a time. What is nested deeper is kept as if it were not.
pub(crate) const MOST_DEPTH: usize = 256;
/// Attributes of one tag that are looked at.
const MOST_ATTRIBUTES: usize = 100;
/// Attributes of one tag that are kept: fewer than there are names of them.
const KEPT_ATTRIBUTES: usize = 12;
/// Scripts with structured data that are kept.
const MOST_SCRIPTS: usize = 20;

/// The attributes that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Alt,
    AriaHidden,
    Class,
    ColumnSpan,
    Content,
    DataSource,
    Datetime,
    Hidden,
    Href,
    Id,
    ItemProperty,
    Language,
    Meta,
    Property,
    Rel,
    Role,
    Source,
    SourceSet,
    Start,
    Style,
    Type,
}

impl Name {
    fn of(name: &[u8]) -> Option<Name> {
        let mut lower = [0; 16];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Some(match &*lower {
            b"alt" => Name::Alt,
            b"aria-hidden" => Name::AriaHidden,
            b"class" => Name::Class,
            b"colspan" => Name::ColumnSpan,
            b"content" => Name::Content,
            b"data-src" | b"data-original" | b"data-lazy-src" => Name::DataSource,
            b"datetime" => Name::Datetime,
            b"hidden" => Name::Hidden,
            b"href" => Name::Href,
            b"id" => Name::Id,
            b"itemprop" => Name::ItemProperty,
            b"lang" => Name::Language,
            b"name" => Name::Meta,
            b"property" => Name::Property,
            b"rel" => Name::Rel,
            b"role" => Name::Role,
            b"src" => Name::Source,
            b"srcset" => Name::SourceSet,
            b"start" => Name::Start,
            b"style" => Name::Style,
            b"type" => Name::Type,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) element: Element,
    pub(crate) parent: u32,
    /// Behind the last descendant.
    pub(crate) end: u32,
    /// Where the text of a text node is, or where the attributes of an element are.
    start: u32,
    length: u32,
}

const NO_NODE: Node = Node { element: Element::Text, parent: 0, end: u32::MAX, start: 0, length: 0 };

pub(crate) struct Tree<'p> {
    nodes: Vec<Node>,
    text: String,
    attributes: Vec<(Name, &'p [u8])>,
    /// What stands in `script` elements of JSON-LD.
    pub(crate) structured_data: Vec<&'p [u8]>,
}

impl<'p> Tree<'p> {
    pub(crate) fn of(page: &'p str) -> Tree<'p> {
        let mut builder = Builder::new(page.len());
        tokenize(page.as_bytes(), &mut builder);
        builder.into_tree()
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node of this number; an empty text where there is none.
    #[inline]
    pub(crate) fn node(&self, number: usize) -> Node {
        self.nodes.get(number).copied().unwrap_or(NO_NODE)
    }

    #[inline]
    pub(crate) fn element(&self, number: usize) -> Element {
        self.node(number).element
    }

    /// Behind the last descendant of a node.
    #[inline]
    pub(crate) fn end(&self, number: usize) -> usize {
        (self.node(number).end as usize).min(self.nodes.len()).max(number + 1)
    }

    #[inline]
    pub(crate) fn parent(&self, number: usize) -> usize {
        self.node(number).parent as usize
    }

    /// The text of a text node.
    #[inline]
    pub(crate) fn text(&self, number: usize) -> &str {
        let node = self.node(number);
        if node.element != Element::Text {
            return "";
        }
        self.text.get(node.start as usize..(node.start + node.length) as usize).unwrap_or_default()
    }

    /// An attribute as it stands in the page.
    #[inline]
    pub(crate) fn raw_attribute(&self, number: usize, name: Name) -> Option<&'p [u8]> {
        let node = self.node(number);
        if node.element == Element::Text {
            return None;
        }
        let attributes = self.attributes.get(node.start as usize..(node.start + node.length) as usize)?;
        attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// An attribute as it is meant.
    pub(crate) fn attribute(&self, number: usize, name: Name) -> Option<Cow<'p, str>> {
        Some(match decode_value(self.raw_attribute(number, name)?) {
            Cow::Borrowed(value) => String::from_utf8_lossy(value),
            Cow::Owned(value) => Cow::Owned(String::from_utf8_lossy(&value).into_owned()),
        })
    }

    /// Whether a node is another or stands in it.
    #[inline]
    pub(crate) fn contains(&self, outer: usize, inner: usize) -> bool {
        inner >= outer && inner < self.end(outer)
    }

    /// The text of a node and its descendants, white space collapsed.
    pub(crate) fn text_of(&self, number: usize, most: usize) -> String {
        let mut text = String::new();
        for inner in number..self.end(number) {
            if text.len() > most {
                break;
            }
            if self.element(inner) == Element::Text {
                for word in self.text(inner).split_whitespace() {
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(word);
                }
            }
        }
        text
    }
}

/// A start tag with what is read of it.
pub(crate) struct Tag<'p> {
    name: &'p [u8],
    element: Element,
    closes_itself: bool,
    seen: usize,
    attributes: [(Name, &'p [u8]); KEPT_ATTRIBUTES],
    kept: usize,
}

impl<'p> Tag<'p> {
    fn keep(&mut self, name: &'p [u8], value: &'p [u8]) {
        self.seen += 1;
        if self.seen > MOST_ATTRIBUTES {
            return;
        }
        let Some(name) = Name::of(name) else { return };
        if self.attributes().iter().any(|(known, _)| *known == name) {
            return;
        }
        if let Some(slot) = self.attributes.get_mut(self.kept) {
            *slot = (name, value);
            self.kept += 1;
        }
    }

    fn attributes(&self) -> &[(Name, &'p [u8])] {
        self.attributes.get(..self.kept).unwrap_or_default()
    }
}

impl<'p> StartTag<'p> for Tag<'p> {
    fn named(name: &'p [u8]) -> Tag<'p> {
        Tag {
            name,
            element: Element::of(name),
            closes_itself: false,
            seen: 0,
            attributes: [(Name::Alt, b""); KEPT_ATTRIBUTES],
            kept: 0,
        }
    }

    fn attribute(&mut self, name: &'p [u8], value: &'p [u8]) {
        self.keep(name, value);
    }

    fn attribute_without_value(&mut self, name: &'p [u8]) {
        self.keep(name, b"");
    }

    fn closes_itself(&mut self) {
        self.closes_itself = true;
    }
}

struct Open<'p> {
    element: Element,
    name: &'p [u8],
    number: u32,
}

struct Builder<'p> {
    nodes: Vec<Node>,
    text: Vec<u8>,
    attributes: Vec<(Name, &'p [u8])>,
    structured_data: Vec<&'p [u8]>,
    open: Vec<Open<'p>>,
    /// How many elements of a kind are open, so that an end tag that matches nothing is not looked for.
    open_by_element: [u16; ELEMENTS],
    /// Start tags beyond the depth that is kept, whose end tags are still to come.
    beyond: usize,
    keeps_text: bool,
    is_structured_data: bool,
}

impl<'p> Builder<'p> {
    fn new(bytes: usize) -> Builder<'p> {
        let mut builder = Builder {
            nodes: Vec::with_capacity(bytes / 32 + 1),
            text: Vec::with_capacity(bytes / 4),
            attributes: Vec::with_capacity(bytes / 64),
            structured_data: Vec::new(),
            open: Vec::with_capacity(32),
            open_by_element: [0; ELEMENTS],
            beyond: 0,
            keeps_text: true,
            is_structured_data: false,
        };
        // The root, in which everything stands.
        builder.push_node(Element::Other, 0, 0);
        builder
    }

    fn into_tree(self) -> Tree<'p> {
        // Text and references of a page that is UTF-8 are UTF-8.
        let text = String::from_utf8(self.text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Tree { nodes: self.nodes, text, attributes: self.attributes, structured_data: self.structured_data }
    }

    fn is_open(&self, element: Element) -> bool {
        self.count(element) > 0
    }

    fn count(&self, element: Element) -> u16 {
        self.open_by_element.get(element as usize).copied().unwrap_or(0)
    }

    fn top(&self) -> u32 {
        self.open.last().map_or(0, |open| open.number)
    }

    fn push_node(&mut self, element: Element, start: usize, length: usize) -> u32 {
        let number = self.nodes.len() as u32;
        self.nodes.push(Node {
            element,
            parent: self.top(),
            end: number + 1,
            start: start as u32,
            length: length as u32,
        });
        number
    }

    /// Closes open elements until `depth` of them are left.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(closed) = self.open.pop() else { return };
            let end = self.nodes.len() as u32;
            if let Some(node) = self.nodes.get_mut(closed.number as usize) {
                node.end = end;
            }
            if let Some(count) = self.open_by_element.get_mut(closed.element as usize) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// The depth of the innermost open element that is one of `wanted`, unless something of `stops` is inside of it.
    fn innermost(&self, wanted: &[Element], stops: impl Fn(Element) -> bool) -> Option<usize> {
        if !wanted.iter().any(|element| self.is_open(*element)) {
            return None;
        }
        for (depth, open) in self.open.iter().enumerate().rev() {
            if wanted.contains(&open.element) {
                return Some(depth);
            }
            if stops(open.element) {
                return None;
            }
        }
        None
    }

    fn close_innermost(&mut self, wanted: &[Element], stops: impl Fn(Element) -> bool) {
        if let Some(depth) = self.innermost(wanted, stops) {
            self.close_to(depth);
        }
    }

    /// What a start tag ends without an end tag.
    fn imply_ends(&mut self, element: Element) {
        use Element::*;
        if self.is_open(Head)
            && !matches!(element, Base | Link | Meta | Noscript | Script | Style | Template | Title)
        {
            self.close_innermost(&[Head], Element::is_boundary);
        }
        if element.ends_paragraph() {
            self.close_innermost(&[P], |stop| stop.is_boundary() || stop == Button);
        }
        if element.heading().is_some()
            && self.open.last().is_some_and(|open| open.element.heading().is_some())
        {
            self.close_to(self.open.len().saturating_sub(1));
        }
        match element {
            Li => {
                self.close_innermost(&[Li], |stop| stop.is_boundary() || matches!(stop, Ul | Ol | Menu | Dir))
            }
            Dt | Dd => self.close_innermost(&[Dt, Dd], |stop| stop.is_boundary() || stop == Dl),
            Tr => self.close_innermost(&[Tr], |stop| stop == Table),
            Td | Th => self.close_innermost(&[Td, Th, Caption], |stop| matches!(stop, Table | Tr)),
            Thead | Tbody | Tfoot => self.close_innermost(&[Thead, Tbody, Tfoot], |stop| stop == Table),
            Option | Optgroup => self.close_innermost(&[Option], |stop| stop == Select),
            A => self.close_innermost(&[A], |stop| stop.is_block()),
            _ => {}
        }
    }

    fn open_element(&mut self, tag: &Tag<'p>) {
        let element = tag.element;
        if matches!(element, Element::Html | Element::Body) && self.is_open(element) {
            return;
        }
        self.imply_ends(element);
        // Pages that were XHTML once close empty elements like this; browsers leave them open, and all that follows
        // in them.
        let is_void = element.is_void() || (tag.closes_itself && element.raw().is_none());
        if !is_void && self.open.len() >= MOST_DEPTH {
            self.beyond += 1;
            return;
        }
        let start = self.attributes.len();
        self.attributes.extend_from_slice(tag.attributes());
        let number = self.push_node(element, start, tag.kept);
        if !is_void {
            self.open.push(Open { element, name: tag.name, number });
            if let Some(count) = self.open_by_element.get_mut(element as usize) {
                *count += 1;
            }
        }
    }

    fn close_element(&mut self, element: Element, name: &[u8]) {
        if element.is_void() || matches!(element, Element::Body | Element::Html) {
            return;
        }
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        if element == Element::Other {
            let found = self.open.iter().rposition(|open| {
                open.element.is_boundary()
                    || (open.element == Element::Other && open.name.eq_ignore_ascii_case(name))
            });
            if let Some(depth) =
                found.filter(|depth| self.open.get(*depth).is_some_and(|open| open.element == element))
            {
                self.close_to(depth);
            }
            return;
        }
        if element.heading().is_some() {
            use Element::*;
            return self.close_innermost(&[H1, H2, H3, H4, H5, H6], Element::is_boundary);
        }
        let in_table = matches!(
            element,
            Element::Caption
                | Element::Table
                | Element::Tbody
                | Element::Td
                | Element::Tfoot
                | Element::Th
                | Element::Thead
                | Element::Tr
        );
        let is_block = element.is_block() || element.is_no_text();
        self.close_innermost(&[element], |stop| {
            if in_table {
                stop == Element::Table
            } else if is_block {
                stop.is_boundary()
            } else {
                stop.is_block()
            }
        });
    }
}

impl<'p> Sink<'p> for Builder<'p> {
    type Tag = Tag<'p>;

    fn keeps_text(&self) -> bool {
        self.keeps_text
    }

    fn push_text(&mut self, piece: &[u8]) {
        if !self.keeps_text || piece.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.extend_from_slice(piece);
        let parent = self.top();
        match self.nodes.last_mut() {
            Some(last)
                if last.element == Element::Text
                    && last.parent == parent
                    && (last.start + last.length) as usize == start =>
            {
                last.length += piece.len() as u32;
            }
            _ => {
                self.push_node(Element::Text, start, piece.len());
            }
        }
    }

    fn start_tag(&mut self, tag: &Tag<'p>) -> Option<Raw> {
        self.open_element(tag);
        let raw = tag.element.raw()?;
        self.is_structured_data = tag.element == Element::Script
            && tag.attributes().iter().any(|(name, value)| {
                *name == Name::Type && value.trim_ascii().eq_ignore_ascii_case(b"application/ld+json")
            });
        self.keeps_text = matches!(tag.element, Element::Title | Element::Xmp | Element::Plaintext);
        Some(raw)
    }

    fn end_tag(&mut self, name: &'p [u8]) {
        self.close_element(Element::of(name), name);
    }

    fn end_raw(&mut self) {
        self.keeps_text = true;
        if self.beyond > 0 {
            self.beyond -= 1;
        } else {
            self.close_to(self.open.len().saturating_sub(1));
        }
    }

    fn script(&mut self, content: &'p [u8]) {
        if self.is_structured_data && self.structured_data.len() < MOST_SCRIPTS {
            self.structured_data.push(content);
        }
    }

    fn is_in_foreign_content(&self) -> bool {
        self.is_open(Element::Svg) || self.is_open(Element::Math)
    }

    fn finish(&mut self) {
        self.close_to(0);
        let end = self.nodes.len() as u32;
        if let Some(root) = self.nodes.first_mut() {
            root.end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree in brackets.
    fn shape(page: &str) -> String {
        let tree = Tree::of(page);
        let mut shape = String::new();
        let mut ends = Vec::new();
        for (number, node) in tree.nodes.iter().enumerate().skip(1) {
            while ends.last().is_some_and(|end| *end <= number) {
                ends.pop();
                shape.push(')');
            }
            match node.element {
                Element::Text => shape.push_str(tree.text(number)),
                element => {
                    shape.push_str(&format!("{element:?}(").to_lowercase());
                    ends.push(tree.end(number));
                }
            }
        }
        shape + &")".repeat(ends.len())
    }

    #[test]
    fn ends_are_implied_where_browsers_imply_them() {
        assert_eq!(shape("<p>a<p>b<div>c</div>d"), "p(a)p(b)div(c)d");
        assert_eq!(shape("<ul><li>a<ul><li>b</ul><li>c</ul>"), "ul(li(aul(li(b)))li(c))");
        assert_eq!(shape("<table><tr><td>a<td>b<tr><td>c</table>"), "table(tr(td(a)td(b))tr(td(c)))");
        assert_eq!(shape("<dl><dt>a<dd>b<dt>c</dl>"), "dl(dt(a)dd(b)dt(c))");
        assert_eq!(shape("<a>x<a>y</a>z"), "a(x)a(y)z");
        assert_eq!(shape("<head><title>t</title><p>a"), "head(title(t))p(a)");
    }

    #[test]
    fn end_tags_that_match_nothing_are_ignored() {
        assert_eq!(shape("<div>a</p></span></section>b</div>c"), "div(ab)c");
        assert_eq!(shape("<div><b>a</div>b</b>"), "div(b(a))b");
        assert_eq!(shape("<table><tr><td></table></div>x"), "table(tr(td()))x");
        assert_eq!(shape("<x-one><x-two>a</x-one>b"), "other(other(a))b");
    }

    #[test]
    fn what_is_nested_too_deep_is_kept_flat() {
        let deep = 50_000;
        let page = format!("{}text{}behind", "<div>".repeat(deep), "</div>".repeat(deep));
        let tree = Tree::of(&page);
        assert_eq!(tree.len(), MOST_DEPTH + 3);
        assert_eq!(tree.text(MOST_DEPTH + 1), "text");
        assert_eq!(tree.text(MOST_DEPTH + 2), "behind");
        assert_eq!(tree.node(MOST_DEPTH + 2).parent, 0);
    }

    #[test]
    fn no_more_attributes_of_a_tag_are_read_than_a_hundred() {
        let many = (0..100).map(|n| format!(" a{n}=1")).collect::<String>();
        let tree = Tree::of("<p id=a class=b>");
        assert_eq!(tree.attribute(1, Name::Class).as_deref(), Some("b"));
        let page = format!("<p id=a{many} class=b>");
        let tree = Tree::of(&page);
        assert_eq!(tree.attribute(1, Name::Id).as_deref(), Some("a"));
        assert_eq!(tree.attribute(1, Name::Class), None);
    }
}
