//! The tag being tokenized: its name and those of its attributes that are read. Everything else about it is
//! forgotten as it passes, so that a tag of a megabyte costs no memory.

use crate::element::Element;

/// Longest name that can be one we know; the longest ones are `http-equiv` and `plaintext`.
const NAME_CAPACITY: usize = 16;
/// Longest attribute value that is kept. URLs and descriptions are far shorter; the rest is cut off.
const VALUE_CAPACITY: usize = 64 * 1024;

/// A name of bounded length; a longer one equals none that is known.
#[derive(Clone, Copy, Default)]
pub(crate) struct Name {
    bytes: [u8; NAME_CAPACITY],
    length: usize,
}

impl Name {
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    #[inline]
    pub(crate) fn push(&mut self, part: &[u8]) {
        // The tokenizer gives the first letter of a name by itself.
        if let ([letter], Some(free)) = (part, self.bytes.get_mut(self.length)) {
            *free = *letter;
            self.length += 1;
            return;
        }
        let end = self.length.saturating_add(part.len());
        if let Some(free) = self.bytes.get_mut(self.length..end) {
            for (to, from) in free.iter_mut().zip(part) {
                *to = *from;
            }
        }
        self.length = end;
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The attributes that are read, of whichever element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Href,
    Src,
    Rel,
    Name,
    Property,
    Content,
    HttpEquiv,
    Lang,
    Alt,
}

const ATTRIBUTES: usize = 9;

impl Attribute {
    fn of(name: &[u8]) -> Option<Attribute> {
        Some(match name {
            b"href" => Attribute::Href,
            b"src" => Attribute::Src,
            b"rel" => Attribute::Rel,
            b"name" => Attribute::Name,
            b"property" => Attribute::Property,
            b"content" => Attribute::Content,
            b"http-equiv" => Attribute::HttpEquiv,
            b"lang" | b"xml:lang" => Attribute::Lang,
            b"alt" => Attribute::Alt,
            _ => return None,
        })
    }
}

#[derive(Default)]
pub(crate) struct Tag {
    pub(crate) name: Name,
    pub(crate) is_end: bool,
    pub(crate) self_closing: bool,
    /// Known from the first attribute on, when the name is complete.
    element: Option<Element>,
    reading: bool,
    attribute_name: Name,
    /// The attribute whose value is being read, and where it begins in `values`.
    open: Option<(Attribute, usize)>,
    values: Vec<u8>,
    ranges: [Option<(usize, usize)>; ATTRIBUTES],
}

impl Tag {
    #[inline]
    pub(crate) fn start(&mut self, is_end: bool) {
        self.name.clear();
        self.is_end = is_end;
        self.self_closing = false;
        self.element = None;
        self.reading = false;
        self.open = None;
    }

    #[inline]
    pub(crate) fn element(&mut self) -> Element {
        match self.element {
            Some(element) => element,
            None => {
                let element = Element::of(self.name.as_bytes());
                self.element = Some(element);
                element
            }
        }
    }

    #[inline]
    pub(crate) fn start_attribute(&mut self) {
        if self.element.is_none() {
            self.reading = self.element().has_attributes_to_read() && !self.is_end;
            if self.reading {
                self.values.clear();
                self.ranges = [None; ATTRIBUTES];
            }
        }
        if self.reading {
            self.end_attribute();
            self.attribute_name.clear();
        }
    }

    #[inline]
    pub(crate) fn push_attribute_name(&mut self, part: &[u8]) {
        if self.reading {
            self.attribute_name.push(part);
        }
    }

    /// Of two attributes with one name the first counts.
    #[inline]
    pub(crate) fn start_value(&mut self) {
        if self.reading
            && let Some(attribute) = Attribute::of(self.attribute_name.as_bytes())
            && self.range(attribute).is_none()
        {
            self.open = Some((attribute, self.values.len()));
        }
    }

    #[inline]
    pub(crate) fn push_value(&mut self, part: &[u8]) {
        if let Some((_, start)) = self.open {
            let room = (start + VALUE_CAPACITY).saturating_sub(self.values.len());
            self.values.extend_from_slice(part.get(..room).unwrap_or(part));
        }
    }

    #[inline]
    pub(crate) fn end_attribute(&mut self) {
        if let Some((attribute, start)) = self.open.take()
            && let Some(range) = self.ranges.get_mut(attribute as usize)
        {
            *range = Some((start, self.values.len()));
        }
    }

    #[inline]
    fn range(&self, attribute: Attribute) -> Option<(usize, usize)> {
        self.ranges.get(attribute as usize).copied().flatten()
    }

    /// The value of an attribute, of a start tag that is complete.
    #[inline]
    pub(crate) fn value(&self, attribute: Attribute) -> Option<&[u8]> {
        if !self.reading {
            return None;
        }
        let (start, end) = self.range(attribute)?;
        self.values.get(start..end)
    }

    pub(crate) fn text(&self, attribute: Attribute) -> Option<std::borrow::Cow<'_, str>> {
        self.value(attribute).map(String::from_utf8_lossy)
    }

    pub(crate) fn forget_large_buffers(&mut self) {
        self.values.clear();
        self.values.shrink_to(VALUE_CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(name: &str, attributes: &[(&str, &str)]) -> Tag {
        let mut tag = Tag::default();
        tag.start(false);
        tag.name.push(name.as_bytes());
        for (name, value) in attributes {
            tag.start_attribute();
            tag.push_attribute_name(name.as_bytes());
            tag.start_value();
            tag.push_value(value.as_bytes());
        }
        tag.end_attribute();
        tag
    }

    #[test]
    fn the_first_of_equal_attributes_counts() {
        let tag = tag("a", &[("href", "/one"), ("class", "x"), ("href", "/two"), ("rel", "nofollow")]);
        assert_eq!(tag.value(Attribute::Href), Some(b"/one".as_slice()));
        assert_eq!(tag.value(Attribute::Rel), Some(b"nofollow".as_slice()));
        assert_eq!(tag.value(Attribute::Src), None);
    }

    #[test]
    fn attributes_of_other_elements_are_not_kept() {
        let tag = tag("div", &[("href", "/one")]);
        assert_eq!(tag.value(Attribute::Href), None);
        assert!(tag.values.is_empty());
    }

    #[test]
    fn long_values_are_cut_and_long_names_match_nothing() {
        let mut tag = tag("a", &[("hrefhrefhrefhrefhref", "/no"), ("href", &"x".repeat(VALUE_CAPACITY * 2))]);
        assert_eq!(tag.value(Attribute::Href).map(<[u8]>::len), Some(VALUE_CAPACITY));
        tag.start(false);
        tag.name.push(&[b'a'; 1000]);
        assert_eq!(tag.element(), Element::Other);
    }
}
