//! The elements that mean something to the tree, to the choice of the main text or to Markdown.

use argiope_extract::markup::Raw;

macro_rules! elements {
    ($($name:literal => $element:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub(crate) enum Element {
            /// No element, but text between tags.
            Text,
            /// An element that HTML does not know, or one without meaning here.
            Other,
            $($element,)*
        }

        impl Element {
            /// `name` in lower case.
            fn of_lower(name: &[u8]) -> Element {
                match name {
                    $($name => Element::$element,)*
                    _ => Element::Other,
                }
            }
        }

        /// How many elements there are.
        pub(crate) const ELEMENTS: usize = [Element::Text, Element::Other, $(Element::$element),*].len();
    };
}

elements! {
    b"a" => A, b"abbr" => Abbr, b"address" => Address, b"amp-img" => AmpImg, b"area" => Area, b"article" => Article,
    b"aside" => Aside, b"audio" => Audio, b"b" => B, b"base" => Base, b"blockquote" => Blockquote, b"body" => Body,
    b"br" => Br, b"button" => Button, b"canvas" => Canvas, b"caption" => Caption, b"center" => Center,
    b"cite" => Cite, b"code" => Code, b"col" => Col, b"datalist" => Datalist, b"dd" => Dd, b"del" => Del,
    b"details" => Details, b"dialog" => Dialog, b"dir" => Dir, b"div" => Div, b"dl" => Dl, b"dt" => Dt, b"em" => Em,
    b"embed" => Embed, b"fieldset" => Fieldset, b"figcaption" => Figcaption, b"figure" => Figure, b"font" => Font,
    b"footer" => Footer, b"form" => Form, b"frame" => Frame, b"h1" => H1, b"h2" => H2, b"h3" => H3, b"h4" => H4,
    b"h5" => H5, b"h6" => H6, b"head" => Head, b"header" => Header, b"hr" => Hr, b"html" => Html, b"i" => I,
    b"iframe" => Iframe, b"img" => Img, b"input" => Input, b"ins" => Ins, b"kbd" => Kbd, b"label" => Label,
    b"legend" => Legend, b"li" => Li, b"link" => Link, b"main" => Main, b"mark" => Mark, b"math" => Math,
    b"menu" => Menu, b"meta" => Meta, b"nav" => Nav, b"noembed" => Noembed, b"noframes" => Noframes,
    b"noscript" => Noscript, b"object" => Object, b"ol" => Ol, b"optgroup" => Optgroup, b"option" => Option,
    b"p" => P, b"param" => Param, b"picture" => Picture, b"plaintext" => Plaintext, b"pre" => Pre, b"q" => Q,
    b"rp" => Rp, b"rt" => Rt, b"ruby" => Ruby, b"s" => S, b"samp" => Samp, b"script" => Script,
    b"section" => Section, b"select" => Select, b"small" => Small, b"source" => Source, b"span" => Span,
    b"strike" => Strike, b"strong" => Strong, b"style" => Style, b"sub" => Sub, b"summary" => Summary, b"sup" => Sup,
    b"svg" => Svg, b"table" => Table, b"tbody" => Tbody, b"td" => Td, b"template" => Template,
    b"textarea" => Textarea, b"tfoot" => Tfoot, b"th" => Th, b"thead" => Thead, b"time" => Time, b"title" => Title,
    b"tr" => Tr, b"track" => Track, b"tt" => Tt, b"u" => U, b"ul" => Ul, b"var" => Var, b"video" => Video,
    b"wbr" => Wbr, b"xmp" => Xmp,
}

/// No known name is longer.
const LONGEST_NAME: usize = 10;

impl Element {
    /// `name` in any case.
    pub(crate) fn of(name: &[u8]) -> Element {
        let mut lower = [0; LONGEST_NAME];
        let Some(lower) = lower.get_mut(..name.len()) else { return Element::Other };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Element::of_lower(lower)
    }

    /// Has no content and no end tag.
    pub(crate) fn is_void(self) -> bool {
        use Element::*;
        matches!(
            self,
            Area | Base
                | Br
                | Col
                | Embed
                | Frame
                | Hr
                | Img
                | Input
                | Link
                | Meta
                | Param
                | Source
                | Track
                | Wbr
        )
    }

    /// Begins a line of its own.
    pub(crate) fn is_block(self) -> bool {
        use Element::*;
        matches!(
            self,
            Address
                | Article
                | Aside
                | Blockquote
                | Body
                | Caption
                | Center
                | Dd
                | Details
                | Dialog
                | Dir
                | Div
                | Dl
                | Dt
                | Fieldset
                | Figcaption
                | Figure
                | Footer
                | Form
                | H1
                | H2
                | H3
                | H4
                | H5
                | H6
                | Head
                | Header
                | Hr
                | Html
                | Legend
                | Li
                | Main
                | Menu
                | Nav
                | Ol
                | P
                | Plaintext
                | Pre
                | Section
                | Summary
                | Table
                | Tbody
                | Td
                | Tfoot
                | Th
                | Thead
                | Tr
                | Ul
                | Xmp
        )
    }

    /// Its start tag ends an open paragraph.
    pub(crate) fn ends_paragraph(self) -> bool {
        use Element::*;
        self.is_block()
            && !matches!(self, Body | Caption | Head | Html | Legend | Tbody | Td | Tfoot | Th | Thead | Tr)
    }

    /// An end tag or an implied end does not reach beyond it.
    pub(crate) fn is_boundary(self) -> bool {
        use Element::*;
        matches!(self, Caption | Html | Object | Table | Td | Template | Th)
    }

    /// The level of a heading.
    pub(crate) fn heading(self) -> std::option::Option<u8> {
        use Element::*;
        Some(match self {
            H1 => 1,
            H2 => 2,
            H3 => 3,
            H4 => 4,
            H5 => 5,
            H6 => 6,
            _ => return None,
        })
    }

    /// Does not show its text to a reader of the page, or is there to be operated rather than read.
    pub(crate) fn is_no_text(self) -> bool {
        use Element::*;
        matches!(
            self,
            Audio
                | Button
                | Canvas
                | Datalist
                | Dialog
                | Embed
                | Frame
                | Head
                | Iframe
                | Input
                | Math
                | Menu
                | Noembed
                | Noframes
                | Noscript
                | Object
                | Optgroup
                | Option
                | Rp
                | Rt
                | Script
                | Select
                | Style
                | Svg
                | Template
                | Textarea
                | Title
                | Video
        )
    }

    /// How what follows the start tag is read.
    pub(crate) fn raw(self) -> std::option::Option<Raw> {
        use Element::*;
        match self {
            Script => Some(Raw::Script),
            Style | Iframe | Noembed | Noframes | Xmp => Some(Raw::Text),
            Textarea | Title => Some(Raw::Escapable),
            Plaintext => Some(Raw::Plain),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case() {
        assert_eq!(Element::of(b"blockquote"), Element::Blockquote);
        assert_eq!(Element::of(b"FIGCAPTION"), Element::Figcaption);
        assert_eq!(Element::of(b"figcaptions"), Element::Other);
        assert_eq!(Element::of(b""), Element::Other);
        assert_eq!(Element::of("\u{e9}".as_bytes()), Element::Other);
    }
}
