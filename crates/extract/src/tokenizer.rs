//! Splits a page as the HTML standard defines (section on tokenization), in one pass over complete input. Results go
//! directly to a [`Sink`], as slices of the page; what the sink does not use (comments, doctypes, hidden text,
//! unneeded attributes) is skipped in as few steps as finding its end takes.
//!
//! Line ends are not normalized beforehand, as the standard requires: a carriage return counts as white space like a
//! line feed, and becomes one in the values that are kept.

mod reference;
mod script;

use crate::element::Raw;
use crate::scan;
use reference::decode_in_text;
pub use reference::decode_value;

/// Takes the markup of a page, tag by tag and text by text, in the order of the page.
pub trait Sink<'p> {
    type Tag: StartTag<'p>;

    /// Whether the text that comes next is wanted. Text that is not is stepped over faster.
    fn keeps_text(&self) -> bool;

    /// A piece of text, with its character references decoded. It need not end where a word ends.
    fn push_text(&mut self, piece: &[u8]);

    /// A start tag, complete. If no markup follows it up to its end tag, the answer is how to read that; the end tag
    /// then is for [`Sink::end_raw`].
    fn start_tag(&mut self, tag: &Self::Tag) -> Option<Raw>;

    /// The end tag of an element that was not read raw, by its name as it stands in the page.
    fn end_tag(&mut self, name: &'p [u8]);

    /// The end tag of the element that was read raw.
    fn end_raw(&mut self);

    /// What stands in an element that is read as [`Raw::Script`].
    fn script(&mut self, _content: &'p [u8]) {}

    /// Whether the open element is one of SVG or MathML, where sections of CDATA are text.
    fn is_in_foreign_content(&self) -> bool;

    /// The page has ended.
    fn finish(&mut self);
}

/// What a [`Sink`] wants to know of a start tag.
pub trait StartTag<'p> {
    /// `name` as it stands in the page, in any case.
    fn named(name: &'p [u8]) -> Self;

    /// An attribute with a value; [`decode_value`] says what it means.
    fn attribute(&mut self, name: &'p [u8], value: &'p [u8]);

    /// An attribute without a value.
    fn attribute_without_value(&mut self, _name: &'p [u8]) {}

    /// The tag ends in `/>`.
    fn closes_itself(&mut self);
}

/// A tag of which nothing is kept.
struct Ignored;

impl<'p> StartTag<'p> for Ignored {
    fn named(_name: &'p [u8]) -> Ignored {
        Ignored
    }

    fn attribute(&mut self, _name: &'p [u8], _value: &'p [u8]) {}

    fn closes_itself(&mut self) {}
}

/// Reads a page from the first byte to the last. Each byte is examined a bounded number of times.
pub fn tokenize<'p>(page: &'p [u8], sink: &mut impl Sink<'p>) {
    let mut rest = page;
    loop {
        rest = data(rest, sink);
        let Some((b'<', markup)) = rest.split_first() else { break };
        rest = match markup {
            [b'a'..=b'z' | b'A'..=b'Z', ..] => start_tag(markup, sink),
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => end_tag(markup.get(1..).unwrap_or_default(), sink),
            // At the end of the page this is text, like a lone `<` below.
            [b'/', _, ..] => past_end(b'>', markup),
            [b'!', declaration @ ..] => markup_declaration(declaration, sink),
            [b'?', ..] => past_end(b'>', markup),
            _ => {
                sink.push_text(b"<");
                markup
            }
        };
    }
    sink.finish();
}

/// Text up to the next `<`.
#[inline]
fn data<'p>(page: &'p [u8], sink: &mut impl Sink<'p>) -> &'p [u8] {
    let mut rest = page;
    if !sink.keeps_text() {
        return rest.get(scan::length_before(b'<', rest)..).unwrap_or_default();
    }
    loop {
        let at = scan::length_before_either(b'<', b'&', rest);
        let (text, more) = rest.split_at_checked(at).unwrap_or((rest, b""));
        if !text.is_empty() {
            sink.push_text(text);
        }
        if more.first() != Some(&b'&') {
            return more;
        }
        rest = character_reference(more, sink);
    }
}

fn character_reference<'p>(page: &'p [u8], sink: &mut impl Sink<'p>) -> &'p [u8] {
    let (text, length) = decode_in_text(page);
    sink.push_text(&text);
    page.get(length..).unwrap_or_default()
}

/// From the name of a start tag to the end of the tag; for elements without markup, to the end of the element.
#[inline]
fn start_tag<'p, S: Sink<'p>>(markup: &'p [u8], sink: &mut S) -> &'p [u8] {
    let (name, attributes) = split_name(markup);
    let mut tag = S::Tag::named(name);
    // A tag without end is ignored.
    let Some(rest) = read_attributes(attributes, &mut tag) else { return b"" };
    match sink.start_tag(&tag) {
        None => rest,
        Some(raw) => raw_text(rest, raw, name, sink),
    }
}

#[inline]
fn end_tag<'p>(markup: &'p [u8], sink: &mut impl Sink<'p>) -> &'p [u8] {
    let (name, attributes) = split_name(markup);
    let Some(rest) = end_of_tag(attributes) else { return b"" };
    sink.end_tag(name);
    rest
}

/// The end of an end tag: its attributes mean nothing, but one may contain a `>`.
#[inline]
fn end_of_tag(attributes: &[u8]) -> Option<&[u8]> {
    match attributes {
        [b'>', rest @ ..] => Some(rest),
        _ => read_attributes(attributes, &mut Ignored),
    }
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// Whether a byte ends the name of a tag.
#[inline]
fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

#[inline]
fn split_name(markup: &[u8]) -> (&[u8], &[u8]) {
    let length = markup.iter().position(|b| ends_name(*b)).unwrap_or(markup.len());
    markup.split_at_checked(length).unwrap_or((markup, b""))
}

#[inline]
fn skip_spaces(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_space(*first)
    {
        bytes = rest;
    }
    bytes
}

/// From after the name of a tag to after its `>`, recording the needed values; `None` if the page ends before.
#[inline]
fn read_attributes<'p>(page: &'p [u8], tag: &mut impl StartTag<'p>) -> Option<&'p [u8]> {
    let mut rest = page;
    loop {
        match rest {
            [] => return None,
            [b'>', after @ ..] => return Some(after),
            [b'/', b'>', after @ ..] => {
                tag.closes_itself();
                return Some(after);
            }
            [byte, after @ ..] if is_space(*byte) || *byte == b'/' => rest = after,
            [_, after @ ..] => {
                // An equals sign may start a name, and only there be part of it.
                let more = after.iter().position(|b| ends_name(*b) || *b == b'=').unwrap_or(after.len());
                let (name, after) = rest.split_at_checked(1 + more)?;
                rest = skip_spaces(after);
                let [b'=', after @ ..] = rest else {
                    tag.attribute_without_value(name);
                    continue;
                };
                rest = read_value(skip_spaces(after), name, tag)?;
            }
        }
    }
}

/// From the start of a value to its end.
#[inline]
fn read_value<'p>(page: &'p [u8], name: &'p [u8], tag: &mut impl StartTag<'p>) -> Option<&'p [u8]> {
    let (value, rest) = match page {
        [quote @ (b'"' | b'\''), quoted @ ..] => {
            let (value, rest) = quoted.split_at_checked(scan::length_before(*quote, quoted))?;
            (value, rest.get(1..)?)
        }
        // No value at all; the rest ends the tag.
        [b'>', ..] => return Some(page),
        _ => {
            let end = page.iter().position(|b| is_space(*b) || *b == b'>')?;
            page.split_at_checked(end)?
        }
    };
    tag.attribute(name, value);
    Some(rest)
}

/// From after `<!` to the end of the comment, doctype or section. Doctypes end at the first `>`, even in quotes, and so
/// do malformed comments.
fn markup_declaration<'p>(declaration: &'p [u8], sink: &mut impl Sink<'p>) -> &'p [u8] {
    if let Some(comment) = declaration.strip_prefix(b"--") {
        return past_comment(comment);
    }
    match declaration.strip_prefix(b"[CDATA[") {
        Some(section) if sink.is_in_foreign_content() => {
            let end = memchr::memmem::find(section, b"]]>");
            sink.push_text(end.and_then(|end| section.get(..end)).unwrap_or(section));
            end.and_then(|end| section.get(end + 3..)).unwrap_or_default()
        }
        _ => past_end(b'>', declaration),
    }
}

/// Comments end at `-->` and at `--!>`; directly after their start also at `>` and `->`.
fn past_comment(comment: &[u8]) -> &[u8] {
    if let [b'>', rest @ ..] | [b'-', b'>', rest @ ..] = comment {
        return rest;
    }
    let mut from = 0;
    while let Some(at) = comment.get(from..).and_then(|rest| memchr::memchr(b'>', rest)) {
        from += at + 1;
        let before = comment.get(..from).unwrap_or_default();
        if before.ends_with(b"-->") || before.ends_with(b"--!>") {
            return comment.get(from..).unwrap_or_default();
        }
    }
    b""
}

/// What follows the first `end`.
fn past_end(end: u8, page: &[u8]) -> &[u8] {
    memchr::memchr(end, page).and_then(|at| page.get(at + 1..)).unwrap_or_default()
}

/// Whether the text after a `<` is the end tag of an element that nothing else ends.
#[inline]
fn is_end_tag(markup: &[u8], name: &[u8]) -> bool {
    let Some((b'/', tag)) = markup.split_first() else { return false };
    tag.split_at_checked(name.len()).is_some_and(|(start, after)| {
        start.eq_ignore_ascii_case(name) && after.first().is_some_and(|b| ends_name(*b))
    })
}

/// From after the start tag of an element without markup to after its end tag.
fn raw_text<'p>(page: &'p [u8], raw: Raw, name: &[u8], sink: &mut impl Sink<'p>) -> &'p [u8] {
    let rest = match raw {
        Raw::Plain => {
            push_without_nul(page, sink);
            return b"";
        }
        Raw::Script => {
            let rest = script::skip(page, name);
            // Behind it stands the `<` of the end tag, if there is one.
            let length = page.len() - rest.len() - usize::from(!rest.is_empty());
            sink.script(page.get(..length).unwrap_or_default());
            rest
        }
        Raw::Text => text_element(page, name, false, sink),
        Raw::Escapable => text_element(page, name, true, sink),
    };
    // After the slash and the name.
    match rest.get(1 + name.len()..).and_then(end_of_tag) {
        Some(rest) => {
            sink.end_raw();
            rest
        }
        None => b"",
    }
}

/// Passes on the text of an element; returns what follows the `<` of its end tag, or nothing.
fn text_element<'p>(page: &'p [u8], name: &[u8], decoded: bool, sink: &mut impl Sink<'p>) -> &'p [u8] {
    let kept = sink.keeps_text();
    let mut rest = page;
    loop {
        let at = if kept && decoded {
            scan::length_before_either(b'<', b'&', rest)
        } else {
            scan::length_before(b'<', rest)
        };
        let (text, more) = rest.split_at_checked(at).unwrap_or((rest, b""));
        if kept {
            push_without_nul(text, sink);
        }
        match more {
            [] => return b"",
            [b'<', markup @ ..] if is_end_tag(markup, name) => return markup,
            [b'<', markup @ ..] => {
                sink.push_text(b"<");
                rest = markup;
            }
            _ => rest = character_reference(more, sink),
        }
    }
}

/// NUL is a blank in the text of a page; in elements without markup it becomes U+FFFD.
fn push_without_nul<'p>(text: &[u8], sink: &mut impl Sink<'p>) {
    let mut pieces = text.split(|b| *b == 0);
    if let Some(first) = pieces.next() {
        sink.push_text(first);
    }
    for piece in pieces {
        sink.push_text("\u{fffd}".as_bytes());
        sink.push_text(piece);
    }
}
