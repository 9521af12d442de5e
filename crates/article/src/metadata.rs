//! What a page says about its article: title, author, date and language, from JSON-LD, meta elements and the markup.

use crate::discard::Marks;
use crate::element::Element;
use crate::hints::Hints;
use crate::tree::{Name, Tree};
use serde_json::Value;

/// Longer values say something else.
const LONGEST_TITLE: usize = 500;
const LONGEST_BYLINE: usize = 200;
/// A larger block of JSON-LD is not read.
const LARGEST_DATA: usize = 512 * 1024;
/// Objects of JSON-LD that are looked at.
const MOST_OBJECTS: usize = 1000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) title: Option<String>,
    pub(crate) byline: Option<String>,
    pub(crate) published: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) site_name: Option<String>,
    pub(crate) base: Option<String>,
    /// The text as JSON-LD has it, which need not be all of it.
    pub(crate) article_body: Option<String>,
}

impl Metadata {
    pub(crate) fn of(tree: &Tree<'_>, marks: &Marks) -> Metadata {
        let mut structured = Metadata::default();
        for block in &tree.structured_data {
            structured.read_structured(block);
        }
        let mut found = Found::default();
        for number in 0..tree.len() {
            found.read(tree, marks, number);
        }
        let title = found.meta_title.or(structured.title).or_else(|| {
            title_of(
                found.title.as_deref(),
                found.heading.as_deref(),
                found.headings,
                found.site_name.as_deref(),
            )
        });
        Metadata {
            title: title.map(|title| without_site(&title, found.site_name.as_deref())),
            byline: structured.byline.or(found.meta_byline).or(found.byline),
            published: found.meta_published.or(structured.published).or(found.published),
            language: found.language.or(structured.language),
            site_name: found.site_name,
            base: found.base,
            article_body: structured.article_body,
        }
    }

    fn read_structured(&mut self, block: &[u8]) {
        if block.len() > LARGEST_DATA {
            return;
        }
        let text = String::from_utf8_lossy(block);
        let Some(value) = parse(&text) else { return };
        let mut waiting = vec![&value];
        let mut seen = 0;
        while let Some(value) = waiting.pop() {
            seen += 1;
            if seen > MOST_OBJECTS {
                return;
            }
            match value {
                Value::Array(values) => waiting.extend(values.iter().rev()),
                Value::Object(object) => {
                    if let Some(graph) = object.get("@graph").or_else(|| object.get("mainEntity")) {
                        waiting.push(graph);
                    }
                    if is_article(object.get("@type")) {
                        self.read_article(object);
                    }
                }
                _ => {}
            }
        }
    }

    fn read_article(&mut self, object: &serde_json::Map<String, Value>) {
        let text = |key: &str, most: usize| {
            object.get(key).and_then(Value::as_str).and_then(|text| clean(&plain(text), most))
        };
        self.title = self
            .title
            .take()
            .or_else(|| text("headline", LONGEST_TITLE))
            .or_else(|| text("name", LONGEST_TITLE));
        self.published = self.published.take().or_else(|| text("datePublished", 40));
        self.language = self.language.take().or_else(|| text("inLanguage", 20));
        self.byline = self.byline.take().or_else(|| object.get("author").and_then(names));
        let body = object.get("articleBody").or_else(|| object.get("text")).and_then(Value::as_str);
        if let Some(body) = body
            && self.article_body.as_ref().is_none_or(|known| known.len() < body.len())
        {
            self.article_body = Some(plain(body));
        }
    }
}

/// JSON as strict parsers have it, or with the comment wrapper and the control characters that some sites put in.
fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    serde_json::from_str(text).ok().or_else(|| {
        let text =
            text.trim_start_matches("<!--").trim_start_matches("//<![CDATA[").trim_start_matches("<![CDATA[");
        let text = text.trim_end_matches("-->").trim_end_matches("]]>").trim_end_matches("//");
        let mended: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        serde_json::from_str(mended.trim().trim_end_matches(';')).ok()
    })
}

fn is_article(kind: Option<&Value>) -> bool {
    let is_named = |name: &str| {
        name.contains("Article")
            || name.contains("Posting")
            || matches!(name, "Report" | "Review" | "Recipe" | "HowTo")
    };
    match kind {
        Some(Value::String(name)) => is_named(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is_named),
        _ => false,
    }
}

fn names(author: &Value) -> Option<String> {
    match author {
        Value::String(name) => clean(name, LONGEST_BYLINE).filter(|name| !name.starts_with("http")),
        Value::Object(author) => author.get("name").and_then(names),
        Value::Array(authors) => {
            // One level is what there is.
            let all: Vec<String> = authors
                .iter()
                .filter_map(|author| match author {
                    Value::String(name) => clean(name, LONGEST_BYLINE),
                    Value::Object(author) => clean(author.get("name")?.as_str()?, LONGEST_BYLINE),
                    _ => None,
                })
                .take(10)
                .collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        _ => None,
    }
}

/// Text of a value that may hold markup.
fn plain(text: &str) -> String {
    if !text.contains(['<', '&']) {
        return text.to_owned();
    }
    let decoded = argiope_extract::markup::decode_value(text.as_bytes());
    let decoded = String::from_utf8_lossy(&decoded);
    let tree = Tree::of(&decoded);
    let mut plain = String::new();
    for number in 0..tree.len() {
        match tree.element(number) {
            Element::Text => plain.push_str(tree.text(number)),
            element if element.is_block() || element == Element::Br => plain.push('\n'),
            _ => {}
        }
    }
    plain
}

fn clean(text: &str, most: usize) -> Option<String> {
    let mut clean = String::new();
    for word in text.split_whitespace() {
        if !clean.is_empty() {
            clean.push(' ');
        }
        clean.push_str(word);
        if clean.len() > most {
            return None;
        }
    }
    (!clean.is_empty()).then_some(clean)
}

#[derive(Default)]
struct Found {
    title: Option<String>,
    heading: Option<String>,
    headings: u32,
    meta_title: Option<String>,
    meta_byline: Option<String>,
    byline: Option<String>,
    meta_published: Option<String>,
    published: Option<String>,
    language: Option<String>,
    site_name: Option<String>,
    base: Option<String>,
}

impl Found {
    fn read(&mut self, tree: &Tree<'_>, marks: &Marks, number: usize) {
        let attribute =
            |name: Name, most: usize| tree.attribute(number, name).and_then(|value| clean(&value, most));
        match tree.element(number) {
            Element::Text => {}
            Element::Html => self.language = self.language.take().or_else(|| attribute(Name::Language, 40)),
            Element::Base => {
                self.base = self
                    .base
                    .take()
                    .or_else(|| tree.attribute(number, Name::Href).map(|href| href.into_owned()));
            }
            Element::Title if self.title.is_none() && tree.element(tree.parent(number)) != Element::Svg => {
                self.title = clean(&tree.text_of(number, LONGEST_TITLE), LONGEST_TITLE);
            }
            Element::H1 => {
                self.headings += 1;
                if self.heading.is_none() {
                    self.heading = clean(&tree.text_of(number, LONGEST_TITLE), LONGEST_TITLE);
                }
            }
            Element::Meta => self.read_meta(tree, number),
            Element::Time if self.published.is_none() => self.published = attribute(Name::Datetime, 40),
            _ => {
                self.read_property(tree, number);
                if self.byline.is_none() && marks.hints(number).has(Hints::BYLINE) {
                    self.read_byline(tree, number);
                }
            }
        }
    }

    fn read_meta(&mut self, tree: &Tree<'_>, number: usize) {
        let Some(content) = tree.attribute(number, Name::Content) else { return };
        let key = [Name::Property, Name::Meta, Name::ItemProperty]
            .into_iter()
            .find_map(|name| tree.attribute(number, name))
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let (slot, most) = match key.as_str() {
            "og:title" | "twitter:title" | "dc.title" | "dcterms.title" | "parsely-title" => {
                (&mut self.meta_title, LONGEST_TITLE)
            }
            "author" | "dc.creator" | "dcterms.creator" | "article:author" | "parsely-author"
            | "sailthru.author" | "byl" | "citation_author" => (&mut self.meta_byline, LONGEST_BYLINE),
            "article:published_time"
            | "datepublished"
            | "date"
            | "pubdate"
            | "publishdate"
            | "publish-date"
            | "dc.date"
            | "dc.date.issued"
            | "dcterms.created"
            | "dcterms.date"
            | "parsely-pub-date"
            | "sailthru.date"
            | "og:published_time"
            | "citation_publication_date"
            | "publication_date" => (&mut self.meta_published, 40),
            "og:site_name" | "application-name" => (&mut self.site_name, LONGEST_TITLE),
            _ => return,
        };
        if slot.is_none()
            && let Some(value) = clean(&content, most)
            && !(key.contains("author") && value.contains("://"))
        {
            *slot = Some(value);
        }
    }

    fn read_property(&mut self, tree: &Tree<'_>, number: usize) {
        let Some(property) = tree.raw_attribute(number, Name::ItemProperty) else { return };
        if property.eq_ignore_ascii_case(b"datePublished") && self.published.is_none() {
            self.published = [Name::Content, Name::Datetime]
                .into_iter()
                .find_map(|name| tree.attribute(number, name))
                .and_then(|value| clean(&value, 40));
        }
    }

    fn read_byline(&mut self, tree: &Tree<'_>, number: usize) {
        let is_author =
            tree.raw_attribute(number, Name::Rel).is_some_and(|rel| rel.eq_ignore_ascii_case(b"author"))
                || tree
                    .raw_attribute(number, Name::ItemProperty)
                    .is_some_and(|name| name.eq_ignore_ascii_case(b"author"))
                || [Name::Class, Name::Id].into_iter().any(|name| {
                    tree.attribute(number, name).is_some_and(|label| {
                        let label = label.to_ascii_lowercase();
                        label.contains("byline") || label.contains("author")
                    })
                });
        if is_author {
            let text = tree.text_of(number, 100);
            self.byline = clean(&text, 100)
                .map(|name| without_by(&name))
                .filter(|name| name.chars().any(char::is_alphabetic));
        }
    }
}

fn without_by(name: &str) -> String {
    for prefix in ["By ", "by ", "BY ", "Von ", "von ", "Por ", "por ", "Par ", "par "] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return rest.to_owned();
        }
    }
    name.to_owned()
}

/// Of `<title>` and the first heading: the heading where the title has all of it and the name of the site, too.
fn title_of(title: Option<&str>, heading: Option<&str>, headings: u32, site: Option<&str>) -> Option<String> {
    match (title, heading) {
        (Some(title), Some(heading)) => {
            if title.contains(heading) && heading.len() > 10 {
                return Some(heading.to_owned());
            }
            let short = without_site(title, site);
            Some(if headings == 1 && short.split_whitespace().count() < 3 {
                heading.to_owned()
            } else {
                short
            })
        }
        (Some(title), None) => Some(without_site(title, site)),
        (None, heading) => heading.map(str::to_owned),
    }
}

/// A title without what stands behind its last separator, where that is the name of the site or looks like it.
fn without_site(title: &str, site: Option<&str>) -> String {
    for separator in [" | ", " - ", " – ", " — ", " :: ", " » ", " · "] {
        if let Some((rest, last)) = title.rsplit_once(separator) {
            let is_site = site.is_some_and(|site| site.eq_ignore_ascii_case(last.trim()));
            let is_short = last.split_whitespace().count() <= 4 && rest.split_whitespace().count() >= 4;
            if is_site || (site.is_none() && is_short) {
                return rest.trim().to_owned();
            }
        }
    }
    title.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(page: &str) -> Metadata {
        let tree = Tree::of(page);
        let marks = Marks::of(&tree);
        Metadata::of(&tree, &marks)
    }

    #[test]
    fn structured_data_says_who_and_when() {
        let found = metadata(
            r#"<html lang=de><script type="application/ld+json">{"@graph": [{"@type": "WebSite", "name": "x"},
            {"@type": "NewsArticle", "headline": "A &amp; B", "author": [{"name": "Ann"}, {"name": "Bob"}],
            "datePublished": "2024-01-02", "articleBody": "Text"}]}</script>"#,
        );
        assert_eq!(found.title.as_deref(), Some("A & B"));
        assert_eq!(found.byline.as_deref(), Some("Ann, Bob"));
        assert_eq!(found.published.as_deref(), Some("2024-01-02"));
        assert_eq!(found.language.as_deref(), Some("de"));
        assert_eq!(found.article_body.as_deref(), Some("Text"));
    }

    #[test]
    fn titles_lose_the_name_of_the_site() {
        assert_eq!(
            metadata("<title>How to fold a paper plane | The Site</title>").title.as_deref(),
            Some("How to fold a paper plane")
        );
        assert_eq!(
            metadata("<title>Home</title><h1>A longer heading</h1>").title.as_deref(),
            Some("A longer heading")
        );
    }

    #[test]
    fn broken_structured_data_is_mended_or_left() {
        let found = metadata(
            "<script type='application/ld+json'><!-- {\"@type\": \"Article\",\n\"headline\": \"a\tb\"} --></script>\
            <script type='application/ld+json'>{\"@type\": [</script>",
        );
        assert_eq!(found.title.as_deref(), Some("a b"));
    }
}
