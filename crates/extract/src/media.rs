//! The kind of a body, as far as extraction needs it.

use crate::charset::without_bom;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `text/html`, or a body without a type that looks like it.
    Html,
    /// `application/xhtml+xml`, where `<script/>` is a whole element.
    Xhtml,
    /// `text/plain`: text, no links.
    Text,
    /// Anything else: only hashed.
    Other,
}

/// How much of a body without a type is searched for signs of HTML.
const SNIFFED_BYTES: usize = 1024;

impl Media {
    pub fn of(content_type: Option<&str>, body: &[u8]) -> Media {
        let essence = content_type.map(|value| value.split([';', ',']).next().unwrap_or_default().trim());
        match essence {
            None | Some("") => Media::sniffed(body),
            Some(kind) if kind.eq_ignore_ascii_case("text/html") => {
                // Servers that know no type for feeds send them as pages.
                if has_root(body, &FEED_ROOTS) { Media::Other } else { Media::Html }
            }
            Some(kind) if kind.eq_ignore_ascii_case("application/xhtml+xml") => Media::Xhtml,
            Some(kind) if kind.eq_ignore_ascii_case("text/plain") => Media::Text,
            Some(kind)
                if (kind.eq_ignore_ascii_case("application/xml")
                    || kind.eq_ignore_ascii_case("text/xml"))
                    && looks_like_html(body)
                    && !is_list(body) =>
            {
                Media::Xhtml
            }
            Some(_) => Media::Other,
        }
    }

    fn sniffed(body: &[u8]) -> Media {
        if is_list(body) {
            return Media::Other;
        }
        if looks_like_html(body) {
            return Media::Html;
        }
        let head = body.get(..SNIFFED_BYTES).unwrap_or(body);
        let binary = head.iter().any(|b| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b));
        if binary || head.is_empty() || head.starts_with(b"%PDF-") { Media::Other } else { Media::Text }
    }

    pub fn is_markup(self) -> bool {
        matches!(self, Media::Html | Media::Xhtml)
    }
}

/// A feed or a sitemap, by its root element: these have titles, too.
fn is_list(body: &[u8]) -> bool {
    has_root(body, &FEED_ROOTS) || has_root(body, &[b"urlset", b"sitemapindex"])
}

const FEED_ROOTS: [&[u8]; 3] = [b"rss", b"feed", b"rdf:rdf"];

/// Whether the first element, near the beginning, is one of these.
fn has_root(body: &[u8], roots: &[&[u8]]) -> bool {
    let body = without_bom(body);
    let mut rest = body.get(..SNIFFED_BYTES).unwrap_or(body).trim_ascii_start();
    // What may precede the root: the declaration, style sheets, a doctype, comments.
    loop {
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'!', ..] => b">",
            _ => break,
        };
        let Some(at) = memchr::memmem::find(rest, end) else { return false };
        rest = rest.get(at + end.len()..).unwrap_or_default().trim_ascii_start();
    }
    let Some((b'<', tag)) = rest.split_first() else { return false };
    let end =
        tag.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/')).unwrap_or(tag.len());
    tag.get(..end).is_some_and(|name| roots.iter().any(|root| name.eq_ignore_ascii_case(root)))
}

/// A doctype or one of the tags that documents begin with, near the beginning.
fn looks_like_html(body: &[u8]) -> bool {
    const SIGNS: [&[u8]; 9] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<title",
        b"<body",
        b"<meta",
        b"<script",
        b"<div",
        b"<a href",
    ];
    let body = without_bom(body);
    let head = body.get(..SNIFFED_BYTES).unwrap_or(body);
    memchr::memchr_iter(b'<', head).any(|at| {
        let tag = head.get(at..).unwrap_or_default();
        SIGNS.iter().any(|sign| tag.get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declared_type_decides() {
        assert_eq!(Media::of(Some("text/html; charset=utf-8"), b""), Media::Html);
        assert_eq!(Media::of(Some("TEXT/HTML"), b""), Media::Html);
        assert_eq!(Media::of(Some("text/html"), b"<?xml version='1.0'?><rss><channel>"), Media::Other);
        assert_eq!(Media::of(Some("text/html"), b"<?xml version='1.0'?><html><feed>"), Media::Html);
        assert_eq!(Media::of(Some("application/xhtml+xml"), b""), Media::Xhtml);
        assert_eq!(Media::of(Some("text/plain"), b"<html>"), Media::Text);
        assert_eq!(Media::of(Some("image/png"), b"<html>"), Media::Other);
    }

    #[test]
    fn xml_is_markup_only_when_it_is_xhtml() {
        assert_eq!(Media::of(Some("application/xml"), b"<?xml version='1.0'?><html>"), Media::Xhtml);
        assert_eq!(Media::of(Some("text/xml"), b"<?xml version='1.0'?><urlset>"), Media::Other);
        let feed =
            b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x --><?xml-stylesheet href='a'?>\n<rss version='2.0'>\
            <channel><title>News</title>";
        for content_type in [Some("text/xml"), Some("application/xml; charset=utf-8"), None] {
            assert_eq!(Media::of(content_type, feed), Media::Other);
            assert_eq!(Media::of(content_type, b"<feed xmlns='x'><title>Atom</title>"), Media::Other);
            assert_eq!(Media::of(content_type, b"<rdf:RDF><title>"), Media::Other);
            assert!(Media::of(content_type, b"<!DOCTYPE html><!-- <rss> --><html>").is_markup());
        }
    }

    #[test]
    fn a_body_without_a_type_is_looked_at() {
        assert_eq!(Media::of(None, b"\xef\xbb\xbf  <!DOCTYPE html>"), Media::Html);
        assert_eq!(Media::of(Some(""), b"plain words"), Media::Text);
        assert_eq!(Media::of(None, b"\x89PNG\r\n\x1a\n\0\0"), Media::Other);
        assert_eq!(Media::of(None, b""), Media::Other);
    }
}
