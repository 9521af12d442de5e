//! Splits a page as the HTML standard defines (section on tokenization), in one pass over complete input. Results go
//! directly to the collector, as slices of the page; what the collector does not use (comments, doctypes, hidden text,
//! unneeded attributes) is skipped in as few steps as finding its end takes.
//!
//! Line ends are not normalized beforehand, as the standard requires: a carriage return counts as white space like a
//! line feed, and becomes one in the values that are kept.

mod reference;
mod script;

use crate::collector::Collector;
use crate::element::{Element, Raw};
use crate::scan;
use crate::tag::{Attribute, Tag};
use reference::decode_in_text;
pub(crate) use reference::decode_value;

/// Reads a page from the first byte to the last. Each byte is examined a bounded number of times.
pub(crate) fn tokenize(page: &[u8], collector: &mut Collector) {
    let mut rest = page;
    loop {
        rest = data(rest, collector);
        let Some((b'<', markup)) = rest.split_first() else { break };
        rest = match markup {
            [b'a'..=b'z' | b'A'..=b'Z', ..] => start_tag(markup, collector),
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => end_tag(markup.get(1..).unwrap_or_default(), collector),
            // At the end of the page this is text, like a lone `<` below.
            [b'/', _, ..] => past_end(b'>', markup),
            [b'!', declaration @ ..] => markup_declaration(declaration, collector),
            [b'?', ..] => past_end(b'>', markup),
            _ => {
                collector.push_text(b"<");
                markup
            }
        };
    }
    collector.finish();
}

/// Text up to the next `<`.
#[inline]
fn data<'p>(page: &'p [u8], collector: &mut Collector) -> &'p [u8] {
    let mut rest = page;
    if !collector.keeps_text() {
        return rest.get(scan::length_before(b'<', rest)..).unwrap_or_default();
    }
    loop {
        let at = scan::length_before_either(b'<', b'&', rest);
        let (text, more) = rest.split_at_checked(at).unwrap_or((rest, b""));
        if !text.is_empty() {
            collector.push_text(text);
        }
        if more.first() != Some(&b'&') {
            return more;
        }
        rest = character_reference(more, collector);
    }
}

fn character_reference<'p>(page: &'p [u8], collector: &mut Collector) -> &'p [u8] {
    let (text, length) = decode_in_text(page);
    collector.push_text(&text);
    page.get(length..).unwrap_or_default()
}

/// From the name of a start tag to the end of the tag; for elements without markup, to the end of the element.
#[inline]
fn start_tag<'p>(markup: &'p [u8], collector: &mut Collector) -> &'p [u8] {
    let (name, attributes) = split_name(markup);
    let mut tag = Tag::new(Element::of(name));
    // A tag without end is ignored.
    let Some(rest) = read_attributes(attributes, &mut tag) else { return b"" };
    match collector.start_tag(&tag) {
        None => rest,
        Some(raw) => raw_text(rest, raw, name, collector),
    }
}

#[inline]
fn end_tag<'p>(markup: &'p [u8], collector: &mut Collector) -> &'p [u8] {
    let (name, attributes) = split_name(markup);
    let Some(rest) = end_of_tag(attributes) else { return b"" };
    collector.end_tag(Element::of(name));
    rest
}

/// The end of an end tag: its attributes mean nothing, but one may contain a `>`.
#[inline]
fn end_of_tag(attributes: &[u8]) -> Option<&[u8]> {
    match attributes {
        [b'>', rest @ ..] => Some(rest),
        _ => read_attributes(attributes, &mut Tag::new(Element::Other)),
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
fn read_attributes<'p>(page: &'p [u8], tag: &mut Tag<'p>) -> Option<&'p [u8]> {
    let mut rest = page;
    loop {
        match rest {
            [] => return None,
            [b'>', after @ ..] => return Some(after),
            [b'/', b'>', after @ ..] => {
                tag.self_closing = true;
                return Some(after);
            }
            [byte, after @ ..] if is_space(*byte) || *byte == b'/' => rest = after,
            [_, after @ ..] => {
                // An equals sign may start a name, and only there be part of it.
                let more = after.iter().position(|b| ends_name(*b) || *b == b'=').unwrap_or(after.len());
                let (name, after) = rest.split_at_checked(1 + more)?;
                rest = skip_spaces(after);
                let [b'=', after @ ..] = rest else { continue };
                rest = read_value(skip_spaces(after), name, tag)?;
            }
        }
    }
}

/// From the start of a value to its end.
#[inline]
fn read_value<'p>(page: &'p [u8], name: &[u8], tag: &mut Tag<'p>) -> Option<&'p [u8]> {
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
    if tag.reads_attributes()
        && let Some(attribute) = Attribute::of(name)
    {
        tag.set(attribute, value);
    }
    Some(rest)
}

/// From after `<!` to the end of the comment, doctype or section. Doctypes end at the first `>`, even in quotes, and so
/// do malformed comments.
fn markup_declaration<'p>(declaration: &'p [u8], collector: &mut Collector) -> &'p [u8] {
    if let Some(comment) = declaration.strip_prefix(b"--") {
        return past_comment(comment);
    }
    match declaration.strip_prefix(b"[CDATA[") {
        Some(section) if collector.is_in_foreign_content() => {
            let end = memchr::memmem::find(section, b"]]>");
            collector.push_text(end.and_then(|end| section.get(..end)).unwrap_or(section));
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
fn raw_text<'p>(page: &'p [u8], raw: Raw, name: &[u8], collector: &mut Collector) -> &'p [u8] {
    let rest = match raw {
        Raw::Plain => {
            push_without_nul(page, collector);
            return b"";
        }
        Raw::Script => script::skip(page, name),
        Raw::Text => text_element(page, name, false, collector),
        Raw::Escapable => text_element(page, name, true, collector),
    };
    // After the slash and the name.
    match rest.get(1 + name.len()..).and_then(end_of_tag) {
        Some(rest) => {
            collector.end_raw();
            rest
        }
        None => b"",
    }
}

/// Passes on the text of an element; returns what follows the `<` of its end tag, or nothing.
fn text_element<'p>(page: &'p [u8], name: &[u8], decoded: bool, collector: &mut Collector) -> &'p [u8] {
    let kept = collector.keeps_text();
    let mut rest = page;
    loop {
        let at = if kept && decoded {
            scan::length_before_either(b'<', b'&', rest)
        } else {
            scan::length_before(b'<', rest)
        };
        let (text, more) = rest.split_at_checked(at).unwrap_or((rest, b""));
        if kept {
            push_without_nul(text, collector);
        }
        match more {
            [] => return b"",
            [b'<', markup @ ..] if is_end_tag(markup, name) => return markup,
            [b'<', markup @ ..] => {
                collector.push_text(b"<");
                rest = markup;
            }
            _ => rest = character_reference(more, collector),
        }
    }
}

/// NUL is a blank in the text of a page; in elements without markup it becomes U+FFFD.
fn push_without_nul(text: &[u8], collector: &mut Collector) {
    let mut pieces = text.split(|b| *b == 0);
    if let Some(first) = pieces.next() {
        collector.push_text(first);
    }
    for piece in pieces {
        collector.push_text("\u{fffd}".as_bytes());
        collector.push_text(piece);
    }
}
