//! XML, and the feeds among it: title, text, links, and of RSS and Atom the entries.

use super::{Input, ProcessError, Processed, Processor};
use crate::tokens::push_collapsed;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Map, Value};
use url::Url;

const LONGEST_TEXT: usize = 2 << 20;
const LONGEST_FIELD: usize = 16 * 1024;
const MOST_LINKS: usize = 10_000;
const MOST_ENTRIES: usize = 1_000;
const LONGEST_LINK: usize = 2_048;

/// Also of feeds, whose entries are in the property `entries`, each with what it has of `title`, `link` and `date`.
#[derive(Clone, Copy, Debug)]
pub struct Xml;

impl Processor for Xml {
    fn name(&self) -> &'static str {
        "xml"
    }

    fn takes(&self, media_type: &str) -> bool {
        matches!(media_type, "application/xml" | "text/xml") || media_type.ends_with("+xml")
    }

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        let (text, is_cut) = input.text("application/xhtml+xml");
        let mut reading = Reading {
            processed: Processed::of(self.name()),
            base: Url::parse(input.url).ok(),
            text: String::new(),
            depth: 0,
            is_feed: false,
            entries: Vec::new(),
            entry: None,
            field: None,
        };
        reading.processed.truncated = is_cut;
        reading.all(&text)?;
        Ok(reading.finish())
    }
}

struct Reading {
    processed: Processed,
    base: Option<Url>,
    text: String,
    depth: usize,
    is_feed: bool,
    entries: Vec<Value>,
    /// The entry that is open, and the depth of its children.
    entry: Option<(usize, Map<String, Value>)>,
    /// Name, depth and text of the element that a field is made of.
    field: Option<(&'static str, usize, String)>,
}

impl Reading {
    fn all(&mut self, text: &str) -> Result<(), ProcessError> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        let mut is_empty = true;
        loop {
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) if is_empty => {
                    return Err(ProcessError::Broken { format: "XML", what: error.to_string() });
                }
                Err(error) => {
                    let place = reader.error_position();
                    self.processed.problem("xml", format!("at byte {place}: {error}"));
                    return Ok(());
                }
            };
            match event {
                Event::Eof => break,
                Event::Start(tag) => {
                    is_empty = false;
                    self.start(&tag);
                    self.depth += 1;
                }
                Event::Empty(tag) => {
                    is_empty = false;
                    self.start(&tag);
                    self.end();
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.end();
                }
                Event::Text(piece) => self.push(&piece),
                Event::CData(piece) => self.push(&piece),
                Event::GeneralRef(reference) => self.push(&htmlize::unescape(format!("&{};", &*reference))),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
        if is_empty {
            return Err(ProcessError::Broken { format: "XML", what: "there is no element in it".to_owned() });
        }
        Ok(())
    }

    fn start(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let name = name.to_ascii_lowercase();
        if self.depth == 0 {
            self.is_feed = matches!(name.as_str(), "rss" | "feed" | "rdf");
            self.processed.properties.insert("root".to_owned(), Value::String(name.clone()));
        }
        push_collapsed(&mut self.text, " ", LONGEST_TEXT);
        if self.is_feed && self.entry.is_none() && matches!(name.as_str(), "item" | "entry") {
            self.entry = Some((self.depth + 1, Map::new()));
            return;
        }
        let href = attribute(tag, "href");
        let rel = attribute(tag, "rel");
        if let Some(href) = &href {
            let is_page = rel.as_deref().is_none_or(|rel| rel == "alternate");
            let link = self.link(href);
            if let Some((depth, entry)) = &mut self.entry
                && name == "link"
                && is_page
                && self.depth == *depth
                && let Some(link) = link
            {
                entry.entry("link").or_insert(Value::String(link));
            }
        }
        let is_child = self.entry.as_ref().is_none_or(|(depth, _)| self.depth == *depth);
        if self.field.is_some() || !is_child {
            return;
        }
        let field = match name.as_str() {
            "title" => "title",
            "link" if href.is_none() => "link",
            "pubdate" | "published" | "updated" | "date" => "date",
            _ => return,
        };
        self.field = Some((field, self.depth, String::new()));
    }

    /// Behind an element of the present depth.
    fn end(&mut self) {
        push_collapsed(&mut self.text, " ", LONGEST_TEXT);
        if self.field.as_ref().is_some_and(|(_, depth, _)| self.depth <= *depth)
            && let Some((field, _, text)) = self.field.take()
        {
            let text = text.trim().to_owned();
            let value = if field == "link" { self.link(&text) } else { Some(text) };
            let Some(value) = value.filter(|value| !value.is_empty()) else { return };
            match &mut self.entry {
                Some((_, entry)) => {
                    entry.entry(field).or_insert(Value::String(value));
                }
                None if field == "title" && self.processed.title.is_none() => {
                    self.processed.title = Some(value)
                }
                None => {}
            }
        }
        if self.entry.as_ref().is_some_and(|(depth, _)| self.depth < *depth)
            && let Some((_, entry)) = self.entry.take()
        {
            if self.entries.len() < MOST_ENTRIES {
                self.entries.push(Value::Object(entry));
            } else {
                self.processed.truncated = true;
            }
        }
    }

    fn push(&mut self, piece: &str) {
        if self.text.len() < LONGEST_TEXT {
            push_collapsed(&mut self.text, piece, LONGEST_TEXT);
        } else {
            self.processed.truncated = true;
        }
        if let Some((_, _, text)) = &mut self.field {
            push_collapsed(text, piece, LONGEST_FIELD);
        }
    }

    /// Notes a link, and gives it back as a URL.
    fn link(&mut self, reference: &str) -> Option<String> {
        let reference = reference.trim();
        if reference.is_empty() || reference.len() > LONGEST_LINK {
            return None;
        }
        let url = match &self.base {
            Some(base) => base.join(reference).ok()?.into(),
            None => reference.to_owned(),
        };
        if self.processed.links.len() >= MOST_LINKS {
            self.processed.truncated = true;
        } else {
            self.processed.links.push(url.clone());
        }
        Some(url)
    }

    fn finish(mut self) -> Processed {
        if self.is_feed {
            self.processed.properties.insert("entries".to_owned(), Value::Array(self.entries));
        }
        self.processed.text = Some(self.text.trim().to_owned());
        self.processed
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    tag.html_attributes().with_checks(false).flatten().find_map(|attribute| {
        let key = attribute.key.local_name();
        let key: &str = key.as_ref();
        key.eq_ignore_ascii_case(name).then(|| htmlize::unescape_attribute(&*attribute.value).into_owned())
    })
}
