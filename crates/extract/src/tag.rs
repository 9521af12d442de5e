//! A start tag: its element and the attributes that are needed, as written.

use crate::element::{Element, packed};
use crate::tokenizer::{StartTag, decode_value};
use std::borrow::Cow;

/// The longest attribute value that is kept. URLs and descriptions are far shorter; the rest is cut off.
const VALUE_CAPACITY: usize = 64 * 1024;

/// The attributes that are read, for any element.
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
    Type,
    As,
    Data,
    Poster,
    Srcset,
    ImageSrcset,
    XlinkHref,
}

const ATTRIBUTES: usize = 16;

impl Attribute {
    /// `name` in any case.
    #[inline]
    pub(crate) fn of(name: &[u8]) -> Option<Attribute> {
        const HREF: u64 = packed(b"href");
        const SRC: u64 = packed(b"src");
        const REL: u64 = packed(b"rel");
        const NAME: u64 = packed(b"name");
        const PROPERTY: u64 = packed(b"property");
        const CONTENT: u64 = packed(b"content");
        const LANG: u64 = packed(b"lang");
        const XML_LANG: u64 = packed(b"xml:lang");
        const ALT: u64 = packed(b"alt");
        const TYPE: u64 = packed(b"type");
        const AS: u64 = packed(b"as");
        const DATA: u64 = packed(b"data");
        const POSTER: u64 = packed(b"poster");
        const SRCSET: u64 = packed(b"srcset");
        Some(match packed(name) {
            HREF => Attribute::Href,
            REL => Attribute::Rel,
            SRC => Attribute::Src,
            NAME => Attribute::Name,
            PROPERTY => Attribute::Property,
            CONTENT => Attribute::Content,
            LANG | XML_LANG => Attribute::Lang,
            ALT => Attribute::Alt,
            TYPE => Attribute::Type,
            AS => Attribute::As,
            DATA => Attribute::Data,
            POSTER => Attribute::Poster,
            SRCSET => Attribute::Srcset,
            0 => return Attribute::of_long(name),
            _ => return None,
        })
    }

    fn of_long(name: &[u8]) -> Option<Attribute> {
        let known: [(&[u8], Attribute); 3] = [
            (b"http-equiv", Attribute::HttpEquiv),
            (b"xlink:href", Attribute::XlinkHref),
            (b"imagesrcset", Attribute::ImageSrcset),
        ];
        known.into_iter().find(|(long, _)| name.eq_ignore_ascii_case(long)).map(|(_, attribute)| attribute)
    }
}

pub(crate) struct Tag<'p> {
    pub(crate) element: Element,
    pub(crate) self_closing: bool,
    /// As written between the quotes, indexed by attribute.
    values: [Option<&'p [u8]>; ATTRIBUTES],
}

impl<'p> Tag<'p> {
    #[inline]
    pub(crate) fn new(element: Element) -> Tag<'p> {
        Tag { element, self_closing: false, values: [None; ATTRIBUTES] }
    }

    #[inline]
    pub(crate) fn reads_attributes(&self) -> bool {
        self.element.has_attributes_to_read()
    }

    /// Of two attributes with the same name the first counts.
    #[inline]
    pub(crate) fn set(&mut self, attribute: Attribute, value: &'p [u8]) {
        if let Some(known) = self.values.get_mut(attribute as usize)
            && known.is_none()
        {
            *known = Some(value);
        }
    }

    /// The decoded value of an attribute.
    #[inline]
    pub(crate) fn value(&self, attribute: Attribute) -> Option<Cow<'p, [u8]>> {
        let value = self.values.get(attribute as usize).copied().flatten()?;
        Some(match decode_value(value) {
            Cow::Borrowed(value) => Cow::Borrowed(value.get(..VALUE_CAPACITY).unwrap_or(value)),
            Cow::Owned(mut value) => {
                value.truncate(VALUE_CAPACITY);
                Cow::Owned(value)
            }
        })
    }
}

impl<'p> StartTag<'p> for Tag<'p> {
    #[inline]
    fn named(name: &'p [u8]) -> Tag<'p> {
        Tag::new(Element::of(name))
    }

    #[inline]
    fn attribute(&mut self, name: &'p [u8], value: &'p [u8]) {
        if self.reads_attributes()
            && let Some(attribute) = Attribute::of(name)
        {
            self.set(attribute, value);
        }
    }

    #[inline]
    fn closes_itself(&mut self) {
        self.self_closing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(tag: &Tag<'_>, attribute: Attribute) -> Option<String> {
        tag.value(attribute).map(|value| String::from_utf8(value.into_owned()).unwrap())
    }

    #[test]
    fn the_first_of_equal_attributes_counts() {
        let mut tag = Tag::new(Element::A);
        for (name, value) in [("href", "/one"), ("HREF", "/two"), ("Rel", "nofollow")] {
            tag.set(Attribute::of(name.as_bytes()).unwrap(), value.as_bytes());
        }
        assert_eq!(value(&tag, Attribute::Href).as_deref(), Some("/one"));
        assert_eq!(value(&tag, Attribute::Rel).as_deref(), Some("nofollow"));
        assert_eq!(value(&tag, Attribute::Src), None);
    }

    #[test]
    fn only_names_that_are_read_are_known() {
        for name in [
            "href",
            "src",
            "rel",
            "name",
            "property",
            "content",
            "http-equiv",
            "lang",
            "xml:lang",
            "alt",
            "type",
            "as",
            "data",
            "poster",
            "srcset",
            "imagesrcset",
            "xlink:href",
        ] {
            assert!(Attribute::of(name.as_bytes()).is_some(), "{name}");
            assert_eq!(
                Attribute::of(name.as_bytes()),
                Attribute::of(name.to_uppercase().as_bytes()),
                "{name}"
            );
            assert_eq!(Attribute::of(format!("{name}x").as_bytes()), None, "{name}");
            assert_eq!(Attribute::of(format!("{name}\0").as_bytes()), None, "{name}");
        }
        assert_eq!(Attribute::of(b"class"), None);
        assert_eq!(Attribute::of(b"hrefhrefhrefhrefhref"), None);
        assert_eq!(Attribute::of("h\u{e9}f".as_bytes()), None);
    }

    #[test]
    fn long_values_are_cut() {
        for plain in ["x".repeat(VALUE_CAPACITY * 2), "&amp;".repeat(VALUE_CAPACITY * 2)] {
            let mut tag = Tag::new(Element::A);
            tag.set(Attribute::Href, plain.as_bytes());
            assert_eq!(tag.value(Attribute::Href).map(|value| value.len()), Some(VALUE_CAPACITY));
        }
    }
}
