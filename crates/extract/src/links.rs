//! The references of a page as written, each once. The next step, `resolve`, turns them into URLs.

use crate::text::{collapsed, offset};
use argiope_model::{LinkKind, Rel};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64;

/// A reference longer than this cannot become a URL that is crawled.
const LONGEST_HREF: usize = 8 * 1024;
/// How much of such a reference is kept to report it.
const KEPT_OF_LONG: usize = 64 * 1024;
/// How many of those are kept.
const LONG_SAMPLE: usize = 20;
/// Longest anchor text that is kept, white space collapsed.
const LONGEST_ANCHOR: usize = 1024;
/// How much of an anchor is examined: a hostile page cannot cause more work than this per link.
const LONGEST_RAW_ANCHOR: usize = 16 * 1024;
/// References beyond the limit that are kept to report them.
const BEYOND_SAMPLE: usize = 1000;
/// Capacity for this many positions is kept from page to page, so that a page of a million links does not slow down the
/// next ones.
pub(crate) const KEPT_POSITIONS: usize = 1 << 15;
/// The position of a reference beyond the limit.
const BEYOND: u32 = u32::MAX;

/// The element that holds a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkElement {
    Anchor,
    Area,
    Canonical,
    Alternate,
    Next,
    Frame,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// A resource: it is loaded with the page, not followed.
    Resource(LinkKind),
}

impl LinkElement {
    fn kind(self) -> LinkKind {
        match self {
            LinkElement::Anchor | LinkElement::Area => LinkKind::Anchor,
            LinkElement::Canonical | LinkElement::Alternate | LinkElement::Next | LinkElement::Refresh => {
                LinkKind::Meta
            }
            LinkElement::Frame => LinkKind::Frame,
            LinkElement::Resource(kind) => kind,
        }
    }

    /// What the element itself states; its `rel` attribute adds to it.
    fn rel(self) -> Rel {
        match self {
            LinkElement::Canonical => Rel::CANONICAL,
            LinkElement::Alternate => Rel::ALTERNATE,
            LinkElement::Next => Rel::NEXT,
            LinkElement::Anchor
            | LinkElement::Area
            | LinkElement::Frame
            | LinkElement::Refresh
            | LinkElement::Resource(_) => Rel::default(),
        }
    }
}

/// What a `rel` attribute states about following the link.
fn follow_words(rel: &[u8]) -> Rel {
    let mut flags = Rel::default();
    for word in rel.split(u8::is_ascii_whitespace) {
        for (name, flag) in
            [(&b"nofollow"[..], Rel::NOFOLLOW), (b"sponsored", Rel::SPONSORED), (b"ugc", Rel::UGC)]
        {
            if word.eq_ignore_ascii_case(name) {
                flags = flags.and(flag);
            }
        }
    }
    flags
}

/// One reference. Its strings are in the arena of its [`FoundLinks`].
#[derive(Clone, Copy, Debug)]
pub struct FoundLink {
    href: (u32, u32),
    anchor: (u32, u32),
    rel_text: (u32, u32),
    pub rel: Rel,
    pub kind: LinkKind,
    /// One of its elements is an `<a>`, whatever the first one was.
    pub in_anchor: bool,
}

/// All distinct references of a page, without fragments, in page order.
#[derive(Clone, Debug, Default)]
pub struct FoundLinks {
    arena: String,
    items: Vec<FoundLink>,
    /// Link elements seen, including repetitions.
    pub seen: u32,
    /// Distinct links dropped because the page has too many.
    pub over_limit: u32,
    beyond: Vec<(u32, u32)>,
    /// References that are too long to become a URL.
    pub too_long: u32,
    /// The first of those, as far as they are kept, with their full length.
    long: Vec<((u32, u32), u32)>,
    /// References to mail addresses, scripts, telephone numbers and other schemes that are not fetched.
    pub not_crawlable: u32,
}

impl FoundLinks {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &FoundLink> {
        self.items.iter()
    }

    /// The first of those over the limit.
    pub fn beyond(&self) -> impl ExactSizeIterator<Item = &str> {
        self.beyond.iter().map(|range| self.string(*range))
    }

    /// The first of those that are too long, as far as they are kept, with their full length.
    pub fn long(&self) -> impl ExactSizeIterator<Item = (&str, u32)> {
        self.long.iter().map(|(range, length)| (self.string(*range), *length))
    }

    fn string(&self, range: (u32, u32)) -> &str {
        self.arena.get(range.0 as usize..range.1 as usize).unwrap_or_default()
    }

    pub fn href(&self, link: &FoundLink) -> &str {
        self.string(link.href)
    }

    pub fn anchor(&self, link: &FoundLink) -> &str {
        self.string(link.anchor)
    }

    /// The `rel` attribute as written.
    pub fn rel_text(&self, link: &FoundLink) -> &str {
        self.string(link.rel_text)
    }
}

/// Collects the links of one page and detects repetitions.
#[derive(Default)]
pub(crate) struct LinkCollection {
    found: FoundLinks,
    /// Hash of the reference -> its position. Bytes are compared as well, so that a collision costs a repetition and
    /// never a link.
    positions: HashMap<u64, u32, BuildHasherDefault<Passed>>,
    limit: usize,
}

impl LinkCollection {
    pub(crate) fn start(&mut self, limit: usize) {
        self.positions.clear();
        self.positions.shrink_to(KEPT_POSITIONS);
        self.limit = limit;
    }

    /// Returns the collected links. The next page is likely to need as much room.
    pub(crate) fn take(&mut self) -> FoundLinks {
        let next = FoundLinks {
            arena: String::with_capacity(self.found.arena.len().min(1 << 16)),
            items: Vec::with_capacity(self.found.items.len().min(1024)),
            ..FoundLinks::default()
        };
        std::mem::replace(&mut self.found, next)
    }

    /// Records a reference and returns its position, if it is kept and had no anchor text yet.
    pub(crate) fn add(&mut self, href: &[u8], rel: &[u8], element: LinkElement) -> Option<u32> {
        let found = &mut self.found;
        found.seen = found.seen.saturating_add(1);
        let href = without_fragment(href.trim_ascii());
        if has_foreign_scheme(href) {
            found.not_crawlable = found.not_crawlable.saturating_add(1);
            return None;
        }
        if href.len() > LONGEST_HREF {
            self.add_long(href);
            return None;
        }
        let own = element.rel();
        let rel_flags = if rel.is_empty() { own } else { own.and(follow_words(rel)) };
        let hash = xxh3_64(href);
        let known = self.positions.get(&hash).and_then(|at| Some((*at, found.items.get_mut(*at as usize)?)));
        if let Some((at, link)) = known {
            let same = found.arena.get(link.href.0 as usize..link.href.1 as usize).map(str::as_bytes);
            if same == Some(href) {
                link.rel = link.rel.merged_with(rel_flags);
                link.in_anchor |= element == LinkElement::Anchor;
                return (link.anchor.0 == link.anchor.1).then_some(at);
            }
        }
        if found.items.len() >= self.limit {
            if let Entry::Vacant(new) = self.positions.entry(hash) {
                new.insert(BEYOND);
                found.over_limit = found.over_limit.saturating_add(1);
                if found.beyond.len() < BEYOND_SAMPLE {
                    found.beyond.push(push(&mut found.arena, href));
                }
            }
            return None;
        }
        let position = offset(found.items.len());
        let link = FoundLink {
            href: push(&mut found.arena, href),
            anchor: (0, 0),
            rel_text: if rel.is_empty() { (0, 0) } else { push(&mut found.arena, cut(rel, LONGEST_ANCHOR)) },
            rel: rel_flags,
            kind: element.kind(),
            in_anchor: element == LinkElement::Anchor,
        };
        found.items.push(link);
        self.positions.entry(hash).or_insert(position);
        Some(position)
    }

    #[cold]
    fn add_long(&mut self, href: &[u8]) {
        let found = &mut self.found;
        found.too_long = found.too_long.saturating_add(1);
        if found.long.len() < LONG_SAMPLE {
            let kept = push(&mut found.arena, cut(href, KEPT_OF_LONG));
            found.long.push((kept, offset(href.len())));
        }
    }

    /// The text between a link's tags.
    pub(crate) fn set_anchor(&mut self, position: u32, anchor: &[u8]) {
        let anchor = cut(anchor.trim_ascii(), LONGEST_RAW_ANCHOR);
        let Some(link) = self.found.items.get_mut(position as usize) else { return };
        if anchor.is_empty() {
            return;
        }
        if is_collapsed(anchor) {
            link.anchor = push(&mut self.found.arena, cut(anchor, LONGEST_ANCHOR).trim_ascii_end());
        } else if let Some(anchor) = collapsed(anchor) {
            link.anchor =
                push(&mut self.found.arena, cut(anchor.as_bytes(), LONGEST_ANCHOR).trim_ascii_end());
        }
    }

    pub(crate) fn lacks_anchor(&self, position: u32) -> bool {
        self.found.items.get(position as usize).is_some_and(|link| link.anchor.0 == link.anchor.1)
    }
}

fn push(arena: &mut String, bytes: &[u8]) -> (u32, u32) {
    let start = offset(arena.len());
    match std::str::from_utf8(bytes) {
        Ok(text) => arena.push_str(text),
        Err(_) => arena.push_str(&String::from_utf8_lossy(bytes)),
    }
    (start, offset(arena.len()))
}

/// Most anchors are one line of plain words and need no further processing.
fn is_collapsed(text: &[u8]) -> bool {
    let mut previous = b' ';
    text.iter().all(|byte| {
        let plain = (b'!'..=b'~').contains(byte) || (*byte == b' ' && previous != b' ');
        previous = *byte;
        plain
    })
}

/// Cuts between characters.
fn cut(bytes: &[u8], longest: usize) -> &[u8] {
    if bytes.len() <= longest {
        return bytes;
    }
    let is_inside_character = |at: usize| bytes.get(at).is_some_and(|b| b & 0xc0 == 0x80);
    let mut end = longest;
    while end > 0 && is_inside_character(end) {
        end -= 1;
    }
    bytes.get(..end).unwrap_or_default()
}

fn without_fragment(href: &[u8]) -> &[u8] {
    memchr::memchr(b'#', href).and_then(|at| href.get(..at)).unwrap_or(href)
}

/// `mailto:`, `javascript:` and any other scheme but http and https. A colon after the first slash or question mark is
/// not part of a scheme.
fn has_foreign_scheme(href: &[u8]) -> bool {
    let end = href.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')));
    let Some((scheme, [b':', ..])) = end.and_then(|end| href.split_at_checked(end)) else { return false };
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && !scheme.eq_ignore_ascii_case(b"http")
        && !scheme.eq_ignore_ascii_case(b"https")
}

/// Keys are hashes already.
#[derive(Default)]
pub(crate) struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(limit: usize) -> LinkCollection {
        let mut links = LinkCollection::default();
        links.start(limit);
        links
    }

    #[test]
    fn a_reference_is_kept_once_with_what_all_its_links_say() {
        let mut links = collection(10);
        assert_eq!(links.add(b" /a#top ", b"nofollow ugc", LinkElement::Anchor), Some(0));
        assert_eq!(links.add(b"/a", b"NOFOLLOW", LinkElement::Anchor), Some(0));
        links.set_anchor(0, b" A ");
        assert_eq!(links.add(b"/a#bottom", b"nofollow", LinkElement::Anchor), None);
        let found = links.take();
        assert_eq!((found.len(), found.seen), (1, 3));
        let link = found.iter().next().unwrap();
        assert_eq!((found.href(link), found.anchor(link), found.rel_text(link)), ("/a", "A", "nofollow ugc"));
        assert_eq!(link.rel, Rel::NOFOLLOW);
    }

    #[test]
    fn what_is_over_the_limit_is_dropped_and_counted() {
        let mut links = collection(2);
        for href in ["/a", "/b", "/c", "/a", "/d", "/c#again"] {
            links.add(href.as_bytes(), b"", LinkElement::Anchor);
        }
        let found = links.take();
        assert_eq!((found.len(), found.over_limit, found.seen), (2, 2, 6));
        assert_eq!(found.beyond().collect::<Vec<_>>(), ["/c", "/d"]);
    }

    #[test]
    fn a_flood_of_links_is_counted_and_only_a_sample_of_it_kept() {
        let mut links = collection(10);
        for n in 0..100_000 {
            links.add(format!("/{n}").as_bytes(), b"", LinkElement::Anchor);
        }
        let found = links.take();
        assert_eq!((found.len(), found.over_limit, found.beyond().len()), (10, 99_990, BEYOND_SAMPLE));
        links.start(10);
        assert!(links.positions.capacity() <= 2 * KEPT_POSITIONS, "{}", links.positions.capacity());
    }

    #[test]
    fn references_that_are_too_long_are_counted_and_the_first_of_them_kept() {
        let mut links = collection(10);
        let long = format!("/{}", "x".repeat(100_000));
        for _ in 0..30 {
            assert_eq!(links.add(long.as_bytes(), b"", LinkElement::Anchor), None);
        }
        let found = links.take();
        assert_eq!((found.len(), found.too_long, found.not_crawlable), (0, 30, 0));
        assert_eq!(found.long().len(), LONG_SAMPLE);
        assert!(found.long().all(|(kept, length)| kept.len() == KEPT_OF_LONG && length == 100_001));
    }

    #[test]
    fn only_references_to_the_web_are_kept() {
        let mut links = collection(100);
        for href in ["mailto:a@b.c", "JavaScript:void(0)", "tel:+1", "data:,x", "file:///etc", "x-y+z.1:q"] {
            assert_eq!(links.add(href.as_bytes(), b"", LinkElement::Anchor), None, "{href}");
        }
        for href in ["HTTP://a/", "https://a", "//a/b", "a/b:c", "?q=a:b", "1:2", "", "./a:b", "http:/x"] {
            assert!(links.add(href.as_bytes(), b"", LinkElement::Anchor).is_some(), "{href}");
        }
        assert_eq!(links.take().not_crawlable, 6);
    }

    #[test]
    fn anchors_are_cut_between_characters_and_bad_bytes_replaced() {
        let mut links = collection(10);
        links.add(b"/caf\xe9", b"", LinkElement::Anchor);
        links.set_anchor(0, "é".repeat(LONGEST_ANCHOR).as_bytes());
        let found = links.take();
        let link = found.iter().next().unwrap();
        assert_eq!(found.href(link), "/caf\u{fffd}");
        assert_eq!(found.anchor(link), "é".repeat(LONGEST_ANCHOR / 2));
    }

    #[test]
    fn an_anchor_is_cut_after_its_white_space_is_collapsed() {
        let mut links = collection(10);
        links.add(b"/a", b"", LinkElement::Anchor);
        links.set_anchor(0, "word\n\t    ".repeat(300).as_bytes());
        let found = links.take();
        let expected = "word ".repeat(LONGEST_ANCHOR / 5 + 1);
        let expected = expected.get(..LONGEST_ANCHOR).unwrap().trim_end();
        assert_eq!(found.anchor(found.iter().next().unwrap()), expected);
    }
}
