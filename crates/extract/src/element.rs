//! The elements that mean something to extraction. All others only separate words.

use html5gum::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    A,
    Area,
    Base,
    Heading(u8),
    Html,
    Iframe,
    Img,
    Link,
    Meta,
    Noscript,
    /// Its text is shown, its tags are not tags: `textarea`, `xmp`, `plaintext`.
    Shown(Raw),
    /// Neither its text nor its tags are for people: `script`, `style`, `noembed`, `noframes`.
    Hidden(Raw),
    Foreign,
    Template,
    Title,
    /// Does not separate words.
    Inline,
    /// Separates words.
    Other,
}

/// How the tokenizer reads what follows the start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw {
    /// Character references are decoded, tags are not.
    Escapable,
    Text,
    Script,
    /// To the end of the page.
    Plain,
}

impl Raw {
    pub(crate) fn state(self) -> State {
        match self {
            Raw::Escapable => State::RcData,
            Raw::Text => State::RawText,
            Raw::Script => State::ScriptData,
            Raw::Plain => State::PlainText,
        }
    }
}

impl Element {
    /// `name` is in lower case, as the tokenizer gives it.
    pub(crate) fn of(name: &[u8]) -> Element {
        match name {
            b"a" => Element::A,
            b"area" => Element::Area,
            b"base" => Element::Base,
            b"h1" => Element::Heading(1),
            b"h2" => Element::Heading(2),
            b"h3" => Element::Heading(3),
            b"h4" => Element::Heading(4),
            b"h5" => Element::Heading(5),
            b"h6" => Element::Heading(6),
            b"html" => Element::Html,
            b"iframe" | b"frame" => Element::Iframe,
            b"img" => Element::Img,
            b"link" => Element::Link,
            b"meta" => Element::Meta,
            b"noscript" => Element::Noscript,
            b"textarea" => Element::Shown(Raw::Escapable),
            b"xmp" => Element::Shown(Raw::Text),
            b"plaintext" => Element::Shown(Raw::Plain),
            b"script" => Element::Hidden(Raw::Script),
            b"style" | b"noembed" | b"noframes" => Element::Hidden(Raw::Text),
            b"svg" | b"math" => Element::Foreign,
            b"template" => Element::Template,
            b"title" => Element::Title,
            b"abbr" | b"acronym" | b"b" | b"bdi" | b"bdo" | b"big" | b"cite" | b"code" | b"data" | b"del"
            | b"dfn" | b"em" | b"font" | b"i" | b"ins" | b"kbd" | b"label" | b"mark" | b"nobr" | b"q"
            | b"s" | b"samp" | b"small" | b"span" | b"strike" | b"strong" | b"sub" | b"sup" | b"time"
            | b"tt" | b"u" | b"var" | b"wbr" => Element::Inline,
            _ => Element::Other,
        }
    }

    /// Whether any attribute of this element is read.
    pub(crate) fn has_attributes_to_read(self) -> bool {
        matches!(
            self,
            Element::A
                | Element::Area
                | Element::Base
                | Element::Html
                | Element::Iframe
                | Element::Img
                | Element::Link
                | Element::Meta
        )
    }

    pub(crate) fn separates_words(self) -> bool {
        !matches!(self, Element::A | Element::Inline | Element::Img)
    }
}
