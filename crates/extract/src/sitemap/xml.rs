//! The XML kinds of sitemap. Elements are recognized by their local names and their position: a field is a child of its
//! record, so `image:loc` inside `image:image` is ignored.

use super::{
    MOST_URLS, SitemapContents, SitemapError, SitemapErrorKind, SitemapKind, SitemapReference, SitemapUrl,
    date, is_location, is_reference,
};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Longest text of one field; the rest is dropped.
const LONGEST_FIELD: usize = 16 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Record {
    Url,
    Sitemap,
    /// Of RSS or RDF.
    Item,
    /// Of Atom.
    Entry,
    /// The feed's own fields. They end where the first item begins.
    Channel,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Location,
    /// An RSS guid, which is the location only if there is no other.
    Identifier,
    Modified,
    ChangeFrequency,
    Priority,
}

#[derive(Default)]
struct Open {
    location: Option<String>,
    /// For an Atom entry with several pages.
    others: Vec<String>,
    /// For an Atom entry: a link to something other than its page, and how many links there are.
    elsewhere: Option<String>,
    links: usize,
    identifier: Option<String>,
    modified: Option<String>,
    change_frequency: Option<String>,
    priority: Option<String>,
}

struct Parser {
    contents: SitemapContents,
    depth: usize,
    record: Option<(Record, usize, Open)>,
    field: Option<(Field, usize, String)>,
}

pub(super) fn parse(text: &str) -> Result<SitemapContents, SitemapError> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut parser: Option<Parser> = None;
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return broken(parser, &error.to_string(), reader.error_position()),
        };
        match event {
            Event::Eof => break,
            Event::Start(tag) => match &mut parser {
                Some(parser) => parser.start(&tag, false),
                None => parser = Some(Parser::of_root(&tag)?),
            },
            Event::Empty(tag) => match &mut parser {
                Some(parser) => parser.start(&tag, true),
                None => {
                    parser = Some(Parser::of_root(&tag)?);
                    break;
                }
            },
            Event::End(_) => {
                if let Some(parser) = &mut parser {
                    parser.end();
                }
            }
            Event::Text(piece) => push(&mut parser, &piece),
            Event::CData(piece) => push(&mut parser, &piece),
            Event::GeneralRef(reference) => {
                push(&mut parser, &htmlize::unescape(format!("&{};", &*reference)))
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        if parser.as_ref().is_some_and(|parser| parser.contents.truncated) {
            break;
        }
    }
    match parser {
        Some(mut parser) => {
            parser.end_record();
            Ok(parser.contents)
        }
        None => Err(SitemapError::new(SitemapErrorKind::Malformed, "no element in it")),
    }
}

/// What was read before the damage counts; if that is nothing, the damage is the error.
fn broken(parser: Option<Parser>, why: &str, position: u64) -> Result<SitemapContents, SitemapError> {
    match parser {
        Some(parser) if !parser.contents.urls.is_empty() || !parser.contents.sitemaps.is_empty() => {
            Ok(SitemapContents { truncated: true, ..parser.contents })
        }
        _ => Err(SitemapError::new(SitemapErrorKind::Malformed, format!("{why} at byte {position}"))),
    }
}

fn push(parser: &mut Option<Parser>, piece: &str) {
    if let Some((_, _, text)) = parser.as_mut().and_then(|parser| parser.field.as_mut())
        && text.len() + piece.len() <= LONGEST_FIELD
    {
        text.push_str(piece);
    }
}

impl Parser {
    fn of_root(tag: &BytesStart<'_>) -> Result<Parser, SitemapError> {
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let kind = match name.to_ascii_lowercase().as_str() {
            "urlset" => SitemapKind::UrlSet,
            "sitemapindex" => SitemapKind::Index,
            "rss" | "rdf" => SitemapKind::Rss,
            "feed" => SitemapKind::Atom,
            _ => {
                let shown: String = name.chars().take(40).collect();
                return Err(SitemapError::new(
                    SitemapErrorKind::NotASitemap,
                    format!("its root element is <{shown}>"),
                ));
            }
        };
        let contents = SitemapContents { kind, urls: Vec::new(), sitemaps: Vec::new(), truncated: false };
        Ok(Parser { contents, depth: 1, record: None, field: None })
    }

    fn start(&mut self, tag: &BytesStart<'_>, empty: bool) {
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let record = match (self.contents.kind, name) {
            (SitemapKind::UrlSet | SitemapKind::Index, "url") => Some(Record::Url),
            (SitemapKind::UrlSet | SitemapKind::Index, "sitemap") => Some(Record::Sitemap),
            (SitemapKind::Rss, "item") => Some(Record::Item),
            (SitemapKind::Rss, "channel") => Some(Record::Channel),
            (SitemapKind::Atom, "entry") => Some(Record::Entry),
            _ => None,
        };
        if let Some(record) = record {
            self.end_record();
            self.record = Some((record, self.depth, Open::default()));
        } else if name == "link" && self.is_about_feed() && attribute(tag, "href").is_some() {
            self.take_feed_link(tag);
        } else if let Some((record, depth, open)) = &mut self.record
            && self.depth == *depth + 1
        {
            if *record == Record::Entry && name == "link" {
                take_atom_link(tag, open);
            } else if !empty {
                self.field = field_of(*record, name, tag).map(|field| (field, self.depth, String::new()));
            }
        }
        if !empty {
            self.depth += 1;
        }
    }

    /// Whether this element describes the feed itself and not one of its entries.
    fn is_about_feed(&self) -> bool {
        match (self.contents.kind, &self.record) {
            (SitemapKind::Atom, None) => self.depth == 1,
            (SitemapKind::Rss, None) => self.depth == 2,
            (SitemapKind::Rss, Some((Record::Channel, depth, _))) => self.depth == *depth + 1,
            _ => false,
        }
    }

    /// The feed's site, or the next page of the feed.
    fn take_feed_link(&mut self, tag: &BytesStart<'_>) {
        let is_wanted = attribute(tag, "rel").is_none_or(|rel| {
            let rel = rel.trim();
            rel.eq_ignore_ascii_case("alternate") || rel.eq_ignore_ascii_case("next")
        });
        let href = attribute(tag, "href").map(|href| href.trim().to_owned());
        if let Some(loc) = href.filter(|href| is_wanted && (is_location(href) || is_reference(href))) {
            self.push(SitemapUrl { loc, ..SitemapUrl::default() });
        }
    }

    fn push(&mut self, url: SitemapUrl) {
        if self.contents.urls.len() + self.contents.sitemaps.len() >= MOST_URLS {
            self.contents.truncated = true;
        } else {
            self.contents.urls.push(url);
        }
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.field.as_ref().is_some_and(|(_, depth, _)| self.depth <= *depth)
            && let Some((field, _, text)) = self.field.take()
            && let Some((_, _, open)) = &mut self.record
        {
            let text = text.trim();
            let place = match field {
                Field::Location => &mut open.location,
                Field::Identifier => &mut open.identifier,
                Field::Modified => &mut open.modified,
                Field::ChangeFrequency => &mut open.change_frequency,
                Field::Priority => &mut open.priority,
            };
            if place.is_none() && !text.is_empty() {
                *place = Some(text.to_owned());
            }
        }
        if self.record.as_ref().is_some_and(|(_, depth, _)| self.depth <= *depth) {
            self.end_record();
        }
    }

    fn end_record(&mut self) {
        self.field = None;
        let Some((record, _, open)) = self.record.take() else { return };
        // Locations in feeds may be relative; an identifier may be anything.
        let is_feed = matches!(record, Record::Item | Record::Entry | Record::Channel);
        let is_usable = |loc: &String| is_location(loc) || (is_feed && is_reference(loc));
        let elsewhere = open.elsewhere.filter(|_| open.links == 1);
        let location = open.location.or(elsewhere).filter(is_usable);
        let Some(loc) = location.or(open.identifier.filter(|loc| is_location(loc))) else { return };
        if self.contents.urls.len() + self.contents.sitemaps.len() >= MOST_URLS {
            self.contents.truncated = true;
            return;
        }
        let modified_at = open.modified.as_deref().and_then(date::parse);
        let lastmod = open.modified;
        if record == Record::Sitemap {
            self.contents.sitemaps.push(SitemapReference { loc, lastmod, modified_at });
            return;
        }
        let others = open.others.into_iter().filter(is_usable);
        let others: Vec<SitemapUrl> = others
            .map(|loc| SitemapUrl { loc, lastmod: lastmod.clone(), modified_at, ..SitemapUrl::default() })
            .collect();
        self.contents.urls.push(SitemapUrl {
            loc,
            lastmod,
            modified_at,
            changefreq: open.change_frequency.map(|often| often.to_ascii_lowercase()),
            priority: open
                .priority
                .and_then(|priority| priority.parse().ok())
                .filter(|priority| (0.0..=1.0).contains(priority)),
        });
        others.into_iter().for_each(|other| self.push(other));
    }
}

fn field_of(record: Record, name: &str, tag: &BytesStart<'_>) -> Option<Field> {
    match (record, name) {
        (Record::Url | Record::Sitemap, "loc") | (Record::Item | Record::Channel, "link") => {
            Some(Field::Location)
        }
        (Record::Url | Record::Sitemap, "lastmod") => Some(Field::Modified),
        (Record::Url, "changefreq") => Some(Field::ChangeFrequency),
        (Record::Url, "priority") => Some(Field::Priority),
        (Record::Item, "guid") => {
            let is_link =
                attribute(tag, "isPermaLink").is_none_or(|value| !value.eq_ignore_ascii_case("false"));
            is_link.then_some(Field::Identifier)
        }
        (Record::Item, "pubDate" | "date" | "modified") => Some(Field::Modified),
        (Record::Entry, "updated" | "modified") => Some(Field::Modified),
        _ => None,
    }
}

/// Atom has the location in an attribute. Alternate links are pages, of which an entry may have several (languages, or
/// other forms); any other link is used only if it is the only one.
fn take_atom_link(tag: &BytesStart<'_>, open: &mut Open) {
    let Some(href) = attribute(tag, "href").map(|href| href.trim().to_owned()) else { return };
    open.links += 1;
    let is_page = attribute(tag, "rel").is_none_or(|rel| rel.trim().eq_ignore_ascii_case("alternate"));
    if !is_page {
        open.elsewhere.get_or_insert(href);
    } else if open.location.is_none() {
        open.location = Some(href);
    } else if open.others.len() < MOST_URLS {
        open.others.push(href);
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    tag.html_attributes().with_checks(false).flatten().find_map(|attribute| {
        let key: &str = attribute.key.as_ref();
        (key == name).then(|| htmlize::unescape_attribute(&*attribute.value).into_owned())
    })
}
