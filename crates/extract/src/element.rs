//! The elements that matter to extraction. All others only separate words.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    A,
    Area,
    Base,
    Heading(u8),
    Html,
    Frame,
    Iframe,
    Img,
    Link,
    Meta,
    /// Fallback content: its text is not shown, its links are links.
    Fallback(Fallback),
    /// Embeds something in the page.
    Embedding(Embedding),
    /// Its text is shown, its tags are text: `textarea`, `xmp`, `plaintext`.
    Shown(Raw),
    /// Neither its text nor its tags are shown: `script`, `style`, `noembed`.
    Hidden(Raw),
    Foreign,
    Template,
    Title,
    /// Does not separate words.
    Inline,
    /// Separates words.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    Noscript,
    Noframes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Embedding {
    Object,
    Embed,
    /// For a picture, a video or an audio.
    Source,
    Video,
    /// Sound, and the captions of a video.
    Audio,
    /// A button may be an image.
    Input,
    /// `image` and `use`, of SVG.
    Svg,
}

/// How the tokenizer reads the text after the start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    /// Character references are decoded, tags are not.
    Escapable,
    /// Neither is.
    Text,
    /// Like text, but what looks like a comment may hide its end tag.
    Script,
    /// To the end of the page.
    Plain,
}

/// A name of up to eight bytes as a number, letters in lower case; 0 for one that is empty, longer, not ASCII or ends
/// in NUL.
#[inline]
pub(crate) const fn packed(name: &[u8]) -> u64 {
    let letters = match name.len() {
        1 => match name {
            [first, ..] => *first as u64,
            [] => 0,
        },
        // Two halves that overlap where the name is shorter than both.
        length @ 2..=3 => match (name.first_chunk::<2>(), name.last_chunk::<2>()) {
            (Some(first), Some(last)) => {
                u16::from_le_bytes(*first) as u64 | ((u16::from_le_bytes(*last) as u64) << ((length - 2) * 8))
            }
            _ => 0,
        },
        length @ 4..=8 => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                u32::from_le_bytes(*first) as u64 | ((u32::from_le_bytes(*last) as u64) << ((length - 4) * 8))
            }
            _ => 0,
        },
        _ => 0,
    };
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let last = match name.last() {
        Some(last) => *last,
        None => 0,
    };
    if last == 0 || letters & HIGH_BITS != 0 {
        return 0;
    }
    let from_a = letters + 0x3f3f_3f3f_3f3f_3f3f;
    let beyond_z = letters + 0x2525_2525_2525_2525;
    letters | (((from_a ^ beyond_z) & HIGH_BITS) >> 2)
}

/// The elements that are not [`Element::Other`] and have names of up to eight letters.
const KNOWN: &[(&[u8], Element)] = &[
    (b"a", Element::A),
    (b"area", Element::Area),
    (b"base", Element::Base),
    (b"h1", Element::Heading(1)),
    (b"h2", Element::Heading(2)),
    (b"h3", Element::Heading(3)),
    (b"h4", Element::Heading(4)),
    (b"h5", Element::Heading(5)),
    (b"h6", Element::Heading(6)),
    (b"html", Element::Html),
    (b"frame", Element::Frame),
    (b"iframe", Element::Iframe),
    (b"img", Element::Img),
    (b"link", Element::Link),
    (b"meta", Element::Meta),
    (b"noscript", Element::Fallback(Fallback::Noscript)),
    (b"noframes", Element::Fallback(Fallback::Noframes)),
    (b"object", Element::Embedding(Embedding::Object)),
    (b"embed", Element::Embedding(Embedding::Embed)),
    (b"source", Element::Embedding(Embedding::Source)),
    (b"video", Element::Embedding(Embedding::Video)),
    (b"audio", Element::Embedding(Embedding::Audio)),
    (b"track", Element::Embedding(Embedding::Audio)),
    (b"input", Element::Embedding(Embedding::Input)),
    (b"image", Element::Embedding(Embedding::Svg)),
    (b"use", Element::Embedding(Embedding::Svg)),
    (b"textarea", Element::Shown(Raw::Escapable)),
    (b"xmp", Element::Shown(Raw::Text)),
    (b"script", Element::Hidden(Raw::Script)),
    (b"style", Element::Hidden(Raw::Text)),
    (b"noembed", Element::Hidden(Raw::Text)),
    (b"svg", Element::Foreign),
    (b"math", Element::Foreign),
    (b"template", Element::Template),
    (b"title", Element::Title),
    (b"abbr", Element::Inline),
    (b"acronym", Element::Inline),
    (b"b", Element::Inline),
    (b"bdi", Element::Inline),
    (b"bdo", Element::Inline),
    (b"big", Element::Inline),
    (b"cite", Element::Inline),
    (b"code", Element::Inline),
    (b"data", Element::Inline),
    (b"del", Element::Inline),
    (b"dfn", Element::Inline),
    (b"em", Element::Inline),
    (b"font", Element::Inline),
    (b"i", Element::Inline),
    (b"ins", Element::Inline),
    (b"kbd", Element::Inline),
    (b"label", Element::Inline),
    (b"mark", Element::Inline),
    (b"nobr", Element::Inline),
    (b"q", Element::Inline),
    (b"s", Element::Inline),
    (b"samp", Element::Inline),
    (b"small", Element::Inline),
    (b"span", Element::Inline),
    (b"strike", Element::Inline),
    (b"strong", Element::Inline),
    (b"sub", Element::Inline),
    (b"sup", Element::Inline),
    (b"time", Element::Inline),
    (b"tt", Element::Inline),
    (b"u", Element::Inline),
    (b"var", Element::Inline),
    (b"wbr", Element::Inline),
];

const SLOTS_LOG2: u32 = 8;
const SLOTS: usize = 1 << SLOTS_LOG2;

/// [`KNOWN`] by the hash of the packed name. There are few names and many slots, so the first slot is usually the right
/// one, or free.
static SLOTTED: [(u64, Element); SLOTS] = slotted();

#[allow(clippy::indexing_slicing, reason = "runs while compiling: an index out of bounds does not build")]
const fn slotted() -> [(u64, Element); SLOTS] {
    let mut slots = [(0, Element::Other); SLOTS];
    let mut at = 0;
    while at < KNOWN.len() {
        let (name, element) = KNOWN[at];
        let key = packed(name);
        let mut slot = slot_of(key);
        while slots[slot].0 != 0 {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = (key, element);
        at += 1;
    }
    slots
}

#[inline]
const fn slot_of(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS_LOG2)) as usize
}

impl Element {
    /// `name` in any case.
    #[inline]
    pub(crate) fn of(name: &[u8]) -> Element {
        let key = packed(name);
        if key == 0 {
            return Element::of_long(name);
        }
        let mut slot = slot_of(key);
        // Ends at a free slot, of which there are many.
        while let Some((known, element)) = SLOTTED.get(slot % SLOTS) {
            if *known == key || *known == 0 {
                return *element;
            }
            slot += 1;
        }
        Element::Other
    }

    fn of_long(name: &[u8]) -> Element {
        if name.eq_ignore_ascii_case(b"plaintext") { Element::Shown(Raw::Plain) } else { Element::Other }
    }

    /// Whether any attribute of this element is read.
    #[inline]
    pub(crate) fn has_attributes_to_read(self) -> bool {
        matches!(
            self,
            Element::A
                | Element::Area
                | Element::Base
                | Element::Frame
                | Element::Html
                | Element::Iframe
                | Element::Img
                | Element::Link
                | Element::Meta
                | Element::Embedding(_)
                | Element::Hidden(Raw::Script)
        )
    }

    #[inline]
    pub(crate) fn separates_words(self) -> bool {
        !matches!(self, Element::A | Element::Inline | Element::Img)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_known_in_any_case_and_nothing_else_is() {
        for (name, element) in KNOWN {
            assert_eq!(Element::of(name), *element);
            assert_eq!(Element::of(&name.to_ascii_uppercase()), *element);
            assert_eq!(Element::of(&[name, b"x".as_slice()].concat()), Element::Other);
            assert_eq!(Element::of(&[name, b"\0".as_slice()].concat()), Element::Other);
        }
        assert_eq!(Element::of(b"PlainText"), Element::Shown(Raw::Plain));
        for other in
            ["div", "p", "", "h7", "h\u{11}", "\u{e9}", "plaintextx", "custom-element", "\u{1}", "sp\u{0}n"]
        {
            assert_eq!(Element::of(other.as_bytes()), Element::Other, "{other:?}");
        }
    }
}
