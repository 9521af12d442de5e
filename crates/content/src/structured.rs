//! What a page says for programs: JSON-LD, microdata, RDFa (types and properties), Open Graph, Twitter cards; its images and
//! videos with the text that stands for them; its feeds, and the same page in other languages.
//!
//! One pass over the tokens of the page, no tree; every list, text and depth has a limit, and `truncated` says that one was
//! reached. What is broken is left out and named among the `problems`.

mod items;
mod json_ld;

use crate::tokens::{Tag, ends_open, is_void, lower_name, push_collapsed, raw_of};
use argiope_extract::markup::{Raw, Sink, tokenize};
use items::{Items, LONGEST_TEXT, Place};
use serde::Serialize;
use serde_json::Value;
use url::Url;

const DEEPEST: usize = 256;
const MOST_BLOCKS: usize = 100;
const LONGEST_BLOCK: usize = 512 * 1024;
const MOST_IMAGES: usize = 1_000;
const MOST_VIDEOS: usize = 200;
const MOST_LINKS: usize = 500;
const MOST_PROPERTIES: usize = 200;
const MOST_PROBLEMS: usize = 20;
const LONGEST_REFERENCE: usize = 8 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Image {
    pub url: String,
    pub alt: Option<String>,
    pub width: Option<u32>,
    pub height: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Video {
    pub url: String,
    pub poster: Option<String>,
    /// Its `title` or `aria-label`.
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feed {
    pub url: String,
    pub title: Option<String>,
    /// `application/rss+xml` and the like.
    pub content_type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alternate {
    /// As declared: `de`, `en-GB`, `x-default`.
    pub language: String,
    pub url: String,
}

/// Something that was meant to be structured data and is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub kind: &'static str,
    pub detail: String,
}

/// URLs are absolute where they can be made so, and as they stand in the page where not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Structured {
    pub json_ld: Vec<Value>,
    /// Items in the form of JSON-LD: `@type`, `@id`, and properties.
    pub microdata: Vec<Value>,
    pub rdfa: Vec<Value>,
    /// In the order of the page, with all values of a property.
    pub open_graph: Vec<(String, String)>,
    pub twitter: Vec<(String, String)>,
    pub images: Vec<Image>,
    pub videos: Vec<Video>,
    pub feeds: Vec<Feed>,
    pub alternates: Vec<Alternate>,
    pub problems: Vec<Problem>,
    /// A limit was reached, and there is more in the page.
    pub truncated: bool,
}

/// Reads a page, which came from `url`.
pub fn read(html: &str, url: Option<&str>) -> Structured {
    let base = url.and_then(|url| Url::parse(url).ok());
    let mut reader = Reader { base, ..Reader::default() };
    tokenize(html.as_bytes(), &mut reader);
    let mut found = reader.found;
    found.truncated |= reader.microdata.is_truncated || reader.rdfa.is_truncated;
    found.microdata = reader.microdata.into_json();
    found.rdfa = reader.rdfa.into_json();
    found
}

/// What ends with an element.
#[derive(Default)]
struct Effect {
    /// An item of microdata or RDFa that this element is.
    item: Option<usize>,
    rdfa_item: Option<usize>,
    /// A property whose text this element is.
    text: Option<Place>,
    rdfa_text: Option<Place>,
}

struct Open {
    name: String,
    effect: Effect,
}

#[derive(Default)]
struct Reader {
    base: Option<Url>,
    found: Structured,
    microdata: Items,
    rdfa: Items,
    open: Vec<Open>,
    /// Elements beyond the deepest that is looked at, still open.
    too_deep: usize,
    /// Elements that are items, or properties that take text: of `open`.
    effects: usize,
    is_json_ld: bool,
    is_in_video: Option<usize>,
}

impl Reader {
    fn resolved(&self, reference: &str) -> String {
        let reference = reference.trim();
        let reference =
            reference.get(..reference.floor_char_boundary(LONGEST_REFERENCE)).unwrap_or(reference);
        match &self.base {
            Some(base) => base.join(reference).map_or_else(|_| reference.to_owned(), String::from),
            None => reference.to_owned(),
        }
    }

    fn reference(&self, tag: &Tag<'_>, attribute: &str) -> Option<String> {
        let reference = tag.word(attribute)?;
        // Such hold the thing itself.
        (!reference.starts_with("data:")).then(|| self.resolved(&reference))
    }

    fn problem(&mut self, kind: &'static str, detail: String) {
        if self.found.problems.len() < MOST_PROBLEMS {
            self.found.problems.push(Problem { kind, detail });
        } else {
            self.found.truncated = true;
        }
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let Some(content) = tag.word("content") else { return };
        let Some(name) = tag.word("property").or_else(|| tag.word("name")) else { return };
        let name = name.to_ascii_lowercase();
        const OPEN_GRAPH: [&str; 8] =
            ["og:", "article:", "book:", "profile:", "video:", "music:", "product:", "fb:"];
        let list = if OPEN_GRAPH.iter().any(|prefix| name.starts_with(prefix)) {
            &mut self.found.open_graph
        } else if name.starts_with("twitter:") {
            &mut self.found.twitter
        } else {
            return;
        };
        if list.len() < MOST_PROPERTIES {
            list.push((name, content));
        } else {
            self.found.truncated = true;
        }
    }

    fn link(&mut self, tag: &Tag<'_>) {
        let rel = tag.value("rel").unwrap_or_default().to_ascii_lowercase();
        if !rel.split_ascii_whitespace().any(|word| word == "alternate") {
            return;
        }
        let Some(url) = self.reference(tag, "href") else { return };
        if let Some(language) = tag.word("hreflang") {
            if self.found.alternates.len() < MOST_LINKS {
                self.found.alternates.push(Alternate { language, url });
            } else {
                self.found.truncated = true;
            }
            return;
        }
        let content_type = tag.word("type").unwrap_or_default().to_ascii_lowercase();
        let is_feed = matches!(
            content_type.as_str(),
            "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" | "application/feed+json"
        );
        if is_feed {
            if self.found.feeds.len() < MOST_LINKS {
                self.found.feeds.push(Feed { url, title: tag.word("title"), content_type });
            } else {
                self.found.truncated = true;
            }
        }
    }

    fn image(&mut self, tag: &Tag<'_>) {
        let lazy = || {
            ["data-src", "data-original", "data-lazy-src"].iter().find_map(|name| self.reference(tag, name))
        };
        let of_set = || {
            let set = tag.word("srcset")?;
            set.split_ascii_whitespace().next().map(|first| self.resolved(first.trim_end_matches(',')))
        };
        let Some(url) = self.reference(tag, "src").or_else(lazy).or_else(of_set) else { return };
        if self.found.images.len() >= MOST_IMAGES {
            self.found.truncated = true;
            return;
        }
        let number = |name| tag.word(name).and_then(|value| value.trim_end_matches("px").parse().ok());
        let alt = tag.word("alt").map(|alt| shortened(&alt));
        self.found.images.push(Image { url, alt, width: number("width"), height: number("height") });
    }

    fn video(&mut self, tag: &Tag<'_>, url: Option<String>) -> Option<usize> {
        if self.found.videos.len() >= MOST_VIDEOS {
            self.found.truncated = true;
            return None;
        }
        let poster = self.reference(tag, "poster");
        let text = tag.word("title").or_else(|| tag.word("aria-label")).map(|text| shortened(&text));
        self.found.videos.push(Video { url: url.unwrap_or_default(), poster, text });
        Some(self.found.videos.len() - 1)
    }

    fn source(&mut self, tag: &Tag<'_>) {
        let Some(url) = self.reference(tag, "src") else { return };
        let video = self.is_in_video.and_then(|number| self.found.videos.get_mut(number));
        if let Some(video) = video
            && video.url.is_empty()
        {
            video.url = url;
        }
    }

    /// Frames of the usual players are videos.
    fn frame(&mut self, tag: &Tag<'_>) {
        let Some(url) = self.reference(tag, "src") else { return };
        const PLAYERS: [&str; 6] = [
            "youtube.com",
            "youtube-nocookie.com",
            "player.vimeo.com",
            "dailymotion.com",
            "player.twitch.tv",
            "fast.wistia.net",
        ];
        let host =
            Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let host = host.trim_start_matches("www.");
        if PLAYERS.contains(&host) {
            self.video(tag, Some(url));
        }
    }

    /// The value that a property has by its element's attributes; none where its text counts.
    fn value_of(&self, tag: &Tag<'_>, name: &str) -> Option<String> {
        if let Some(content) = tag.value("content") {
            return Some(shortened(&content));
        }
        let reference = |attribute| tag.value(attribute).map(|value| self.resolved(&value));
        match name {
            "a" | "area" | "link" => reference("href"),
            "audio" | "embed" | "iframe" | "img" | "source" | "track" | "video" => reference("src"),
            "object" => reference("data"),
            "data" | "meter" => tag.value("value").map(|value| shortened(&value)),
            "time" => tag.value("datetime").map(|value| shortened(&value)),
            "meta" => Some(String::new()),
            _ => None,
        }
    }

    fn inner(&self, of: impl Fn(&Effect) -> Option<usize>) -> Option<usize> {
        self.open.iter().rev().find_map(|open| of(&open.effect))
    }

    fn microdata(&mut self, tag: &Tag<'_>, name: &str, effect: &mut Effect) {
        let properties = words(tag, "itemprop");
        let parent = if properties.is_empty() { None } else { self.inner(|effect| effect.item) };
        if tag.has("itemscope") {
            let id = tag.word("itemid").map(|id| self.resolved(&id));
            let parent = parent.map(|parent| (parent, properties.as_slice()));
            effect.item = self.microdata.begin(words(tag, "itemtype"), id, parent);
            return;
        }
        let Some(parent) = parent else { return };
        let value = self.value_of(tag, name);
        for property in &properties {
            let place = self.microdata.property(parent, property, value.clone().unwrap_or_default());
            if value.is_none() && effect.text.is_none() {
                effect.text = place;
            }
        }
    }

    fn rdfa(&mut self, tag: &Tag<'_>, name: &str, effect: &mut Effect) {
        let properties = words(tag, "property");
        let parent = if properties.is_empty() { None } else { self.inner(|effect| effect.rdfa_item) };
        let types = words(tag, "typeof");
        if !types.is_empty() {
            let id = tag.word("resource").or_else(|| tag.word("about")).map(|id| self.resolved(&id));
            let parent = parent.map(|parent| (parent, properties.as_slice()));
            effect.rdfa_item = self.rdfa.begin(types, id, parent);
            return;
        }
        let Some(parent) = parent else { return };
        let value = match tag.value("resource") {
            Some(resource) if tag.value("content").is_none() => Some(self.resolved(&resource)),
            _ => self.value_of(tag, name),
        };
        for property in &properties {
            let place = self.rdfa.property(parent, property, value.clone().unwrap_or_default());
            if value.is_none() && effect.rdfa_text.is_none() {
                effect.rdfa_text = place;
            }
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.effects -= usize::from(open.effect.is_any());
            if open.name == "video" {
                self.is_in_video = None;
            }
        }
    }
}

impl Effect {
    fn is_any(&self) -> bool {
        self.item.is_some() || self.rdfa_item.is_some() || self.text.is_some() || self.rdfa_text.is_some()
    }
}

fn words(tag: &Tag<'_>, attribute: &str) -> Vec<String> {
    const MOST_WORDS: usize = 10;
    let value = tag.value(attribute).unwrap_or_default();
    value.split_ascii_whitespace().take(MOST_WORDS).map(shortened).collect()
}

fn shortened(text: &str) -> String {
    let mut out = String::new();
    push_collapsed(&mut out, text.trim(), LONGEST_TEXT);
    out
}

impl<'p> Sink<'p> for Reader {
    type Tag = Tag<'p>;

    fn keeps_text(&self) -> bool {
        self.effects > 0
    }

    fn push_text(&mut self, piece: &[u8]) {
        if self.effects == 0 {
            return;
        }
        let piece = String::from_utf8_lossy(piece);
        let (microdata, rdfa) = (&mut self.microdata, &mut self.rdfa);
        for open in self.open.iter().filter(|open| open.effect.is_any()) {
            if let Some(text) = open.effect.text.and_then(|place| microdata.text_at(place)) {
                push_collapsed(text, &piece, LONGEST_TEXT);
            }
            if let Some(text) = open.effect.rdfa_text.and_then(|place| rdfa.text_at(place)) {
                push_collapsed(text, &piece, LONGEST_TEXT);
            }
        }
    }

    fn start_tag(&mut self, tag: &Tag<'p>) -> Option<Raw> {
        let name = lower_name(tag.name);
        match name.as_str() {
            "meta" => self.meta(tag),
            "link" => self.link(tag),
            "img" => self.image(tag),
            "source" => self.source(tag),
            "iframe" => self.frame(tag),
            "base" => {
                if let Some(base) = tag.word("href")
                    && let Some(joined) = self.base.as_ref().and_then(|url| url.join(&base).ok())
                {
                    self.base = Some(joined);
                }
            }
            "script" => {
                let kind = tag.value("type").unwrap_or_default();
                let kind = kind.split(';').next().unwrap_or_default().trim();
                self.is_json_ld = kind.eq_ignore_ascii_case("application/ld+json");
            }
            _ => {}
        }
        while self.too_deep == 0 && self.open.last().is_some_and(|open| ends_open(&open.name, &name)) {
            self.close();
        }
        let mut effect = Effect::default();
        if self.too_deep == 0 {
            if tag.has("itemscope") || tag.has("itemprop") {
                self.microdata(tag, &name, &mut effect);
            }
            if tag.has("typeof") || tag.has("property") {
                self.rdfa(tag, &name, &mut effect);
            }
        }
        if let Some(raw) = raw_of(&name) {
            // Its text is nobody's but its own; the title of a page may be a property.
            return Some(raw);
        }
        if name == "video" {
            let url = self.reference(tag, "src");
            self.is_in_video = self.video(tag, url);
        }
        if is_void(&name) || tag.closes_itself {
            return None;
        }
        if self.open.len() >= DEEPEST {
            self.too_deep += 1;
            self.found.truncated = true;
        } else {
            self.effects += usize::from(effect.is_any());
            self.open.push(Open { name, effect });
        }
        None
    }

    fn end_tag(&mut self, name: &'p [u8]) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let name = lower_name(name);
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else { return };
        while self.open.len() > at {
            self.close();
        }
    }

    fn end_raw(&mut self) {}

    fn script(&mut self, content: &'p [u8]) {
        if !std::mem::take(&mut self.is_json_ld) {
            return;
        }
        if self.found.json_ld.len() + self.found.problems.len() >= MOST_BLOCKS
            || content.len() > LONGEST_BLOCK
        {
            self.found.truncated = true;
            return;
        }
        match json_ld::parse(&String::from_utf8_lossy(content)) {
            // A list of things is as many blocks.
            Ok(Value::Array(values)) => {
                let room = MOST_BLOCKS.saturating_sub(self.found.json_ld.len());
                self.found.truncated |= values.len() > room;
                self.found.json_ld.extend(values.into_iter().take(room));
            }
            Ok(value) => self.found.json_ld.push(value),
            Err(detail) => self.problem("json_ld", detail),
        }
    }

    fn is_in_foreign_content(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.found.videos.retain(|video| !video.url.is_empty());
    }
}

impl Structured {
    /// Whether the page has any data for programs, beside pictures and links.
    pub fn has_data(&self) -> bool {
        !(self.json_ld.is_empty()
            && self.microdata.is_empty()
            && self.rdfa.is_empty()
            && self.open_graph.is_empty()
            && self.twitter.is_empty())
    }
}

#[cfg(test)]
mod tests;
