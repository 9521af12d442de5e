//! Start tags with all of their attributes, and how elements are read: what [`crate::structured`] and [`crate::rules`]
//! know of HTML.

use argiope_extract::markup::{Raw, StartTag, decode_value};
use std::borrow::Cow;

/// Of a tag with more attributes, the first ones are kept.
const MOST_ATTRIBUTES: usize = 100;
/// Longer values are cut.
const LONGEST_VALUE: usize = 64 * 1024;

pub(crate) struct Tag<'p> {
    /// As it stands in the page.
    pub(crate) name: &'p [u8],
    pub(crate) attributes: Vec<(&'p [u8], &'p [u8])>,
    pub(crate) closes_itself: bool,
}

impl<'p> StartTag<'p> for Tag<'p> {
    fn named(name: &'p [u8]) -> Tag<'p> {
        Tag { name, attributes: Vec::new(), closes_itself: false }
    }

    fn attribute(&mut self, name: &'p [u8], value: &'p [u8]) {
        if self.attributes.len() < MOST_ATTRIBUTES {
            self.attributes.push((name, value));
        }
    }

    fn attribute_without_value(&mut self, name: &'p [u8]) {
        self.attribute(name, b"");
    }

    fn closes_itself(&mut self) {
        self.closes_itself = true;
    }
}

impl<'p> Tag<'p> {
    pub(crate) fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|(name, _)| name.eq_ignore_ascii_case(attribute.as_bytes()))
    }

    /// The value of the first attribute of this name.
    pub(crate) fn value(&self, attribute: &str) -> Option<Cow<'p, str>> {
        let found = self.attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case(attribute.as_bytes()));
        found.map(|(_, value)| meant(value))
    }

    /// The value without white space around it, unless it is empty then.
    pub(crate) fn word(&self, attribute: &str) -> Option<String> {
        let value = self.value(attribute)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// An attribute's value with its character references decoded.
pub(crate) fn meant(value: &[u8]) -> Cow<'_, str> {
    let value = value.get(..LONGEST_VALUE).unwrap_or(value);
    match decode_value(value) {
        Cow::Borrowed(value) => String::from_utf8_lossy(value),
        Cow::Owned(value) => Cow::Owned(String::from_utf8_lossy(&value).into_owned()),
    }
}

/// Elements that have no end tag.
pub(crate) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "basefont"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "keygen"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// How an element without markup in it is read.
pub(crate) fn raw_of(name: &str) -> Option<Raw> {
    match name {
        "script" => Some(Raw::Script),
        "style" | "xmp" | "noembed" | "noframes" | "iframe" => Some(Raw::Text),
        "title" | "textarea" => Some(Raw::Escapable),
        "plaintext" => Some(Raw::Plain),
        _ => None,
    }
}

/// Whether a start tag ends an open element of that name which lacks its end tag.
pub(crate) fn ends_open(open: &str, starting: &str) -> bool {
    match open {
        "li" => starting == "li",
        "dt" | "dd" => matches!(starting, "dt" | "dd"),
        "tr" => matches!(starting, "tr" | "tbody" | "thead" | "tfoot"),
        "td" | "th" => matches!(starting, "td" | "th" | "tr" | "tbody" | "thead" | "tfoot"),
        "thead" | "tbody" | "tfoot" => matches!(starting, "tbody" | "thead" | "tfoot"),
        "option" => matches!(starting, "option" | "optgroup"),
        "optgroup" => starting == "optgroup",
        "head" => starting == "body",
        "p" => matches!(
            starting,
            "address"
                | "article"
                | "aside"
                | "blockquote"
                | "details"
                | "div"
                | "dl"
                | "fieldset"
                | "figure"
                | "footer"
                | "form"
                | "h1"
                | "h2"
                | "h3"
                | "h4"
                | "h5"
                | "h6"
                | "header"
                | "hr"
                | "main"
                | "nav"
                | "ol"
                | "p"
                | "pre"
                | "section"
                | "table"
                | "ul"
        ),
        _ => false,
    }
}

/// A name in lower case. Names are short; what is not is no name that anybody knows.
pub(crate) fn lower_name(name: &[u8]) -> String {
    const LONGEST_NAME: usize = 64;
    String::from_utf8_lossy(name.get(..LONGEST_NAME).unwrap_or(name)).to_ascii_lowercase()
}

/// Adds text with its white space collapsed, as far as there is room.
pub(crate) fn push_collapsed(out: &mut String, piece: &str, most: usize) {
    for (number, word) in piece.split(|c: char| c.is_whitespace() || c.is_control()).enumerate() {
        if number > 0 && !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        if out.len() + word.len() > most {
            out.push_str(
                word.get(..word.floor_char_boundary(most.saturating_sub(out.len()))).unwrap_or_default(),
            );
            return;
        }
        out.push_str(word);
    }
}
