//! A page as `inspect page` shows it: one JSON object.

use crate::page::{Extracted, Heading, Input, Scratch, extract};
use crate::resolve::{Link, resolve};
use argiope_model::{ContentHash, Millis, NormalRules, Page, SimHash};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedLink {
    pub url: String,
    pub text: Option<String>,
    /// The `rel` attribute as written.
    pub rel: Option<String>,
}

/// Resources of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedResource {
    pub url: String,
    pub kind: &'static str,
}

/// The fields of the page record that come from body and headers, and details that the record does not have. `links` is
/// the list here; the record has its length.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    pub url: String,
    pub final_url: Option<String>,
    pub status: Option<u16>,
    pub depth: u32,
    pub title: Option<String>,
    pub description: Option<String>,
    pub keywords: Option<String>,
    pub author: Option<String>,
    pub language: Option<String>,
    pub canonical: Option<String>,
    pub content_type: Option<String>,
    pub bytes: Option<u64>,
    pub content_hash: Option<ContentHash>,
    pub simhash: Option<SimHash>,
    pub duplicate_of: Option<String>,
    pub word_count: Option<u32>,
    pub topics: Option<Vec<String>>,
    #[serde(with = "argiope_model::time::optional_rfc3339")]
    pub crawled_at: Option<Millis>,
    pub fetch_ms: Option<u32>,
    pub error: Option<String>,
    pub archive: Option<String>,
    pub robots: crate::RobotsDirectives,
    #[serde(serialize_with = "as_map")]
    pub open_graph: Vec<(String, String)>,
    pub headings: Vec<Heading>,
    pub links: Vec<InspectedLink>,
    pub resources: Vec<InspectedResource>,
    pub text: Option<String>,
    pub article: Option<String>,
    pub markdown: Option<String>,
    pub structured: Option<Vec<String>>,
    pub images: Option<Vec<String>>,
}

fn as_map<S: Serializer>(pairs: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(pairs.len()))?;
    for (property, value) in pairs {
        map.serialize_entry(property, value)?;
    }
    map.end()
}

/// Reads a page and returns everything about it. `fetched` has the fields of the fetch: status, times and the like;
/// those of the body are filled in.
pub fn inspect_page(input: &Input<'_>, rules: &NormalRules, fetched: Page) -> Inspection {
    let wants = crate::Wants::ALL;
    let mut scratch = Scratch::new();
    let extracted = extract(&Input { wants, ..*input }, &mut scratch);
    let resolved = resolve(&extracted, input.url, rules, &mut scratch);
    let mut page = fetched;
    fill(&mut page, input, &extracted, resolved.canonical.as_ref().map(|url| url.as_str().to_owned()));
    let links = resolved.links.iter().map(inspected).collect();
    let resources = resolved.resources.iter().map(resource).collect();
    Inspection {
        url: page.url,
        final_url: page.final_url,
        status: page.status,
        depth: page.depth,
        title: page.title,
        description: page.description,
        keywords: page.keywords,
        author: page.author,
        language: page.language,
        canonical: page.canonical,
        content_type: page.content_type,
        bytes: page.bytes,
        content_hash: page.content_hash,
        simhash: page.simhash,
        duplicate_of: page.duplicate_of,
        word_count: page.word_count,
        topics: page.topics,
        crawled_at: page.crawled_at,
        fetch_ms: page.fetch_ms,
        error: page.error,
        archive: page.archive,
        robots: extracted.robots,
        open_graph: extracted.open_graph,
        headings: extracted.headings,
        links,
        resources,
        text: extracted.text,
        article: None,
        markdown: None,
        structured: None,
        images: None,
    }
}

fn inspected(link: &Link<'_>) -> InspectedLink {
    let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    InspectedLink {
        url: link.url.as_str().to_owned(),
        text: non_empty(link.anchor),
        rel: non_empty(link.rel_text),
    }
}

fn resource(link: &Link<'_>) -> InspectedResource {
    InspectedResource { url: link.url.as_str().to_owned(), kind: link.kind.as_str() }
}

fn fill(page: &mut Page, input: &Input<'_>, extracted: &Extracted, canonical: Option<String>) {
    if page.url.is_empty() {
        page.url = input.url.as_str().to_owned();
    }
    page.title = extracted.title.clone();
    page.description = extracted.description.clone();
    page.keywords = extracted.keywords.clone();
    page.author = extracted.author.clone();
    page.language = extracted.language.clone();
    page.canonical = canonical;
    page.content_type = page.content_type.take().or_else(|| input.content_type.map(str::to_owned));
    page.bytes = u64::try_from(input.body.len()).ok();
    page.content_hash = Some(extracted.content_hash);
    page.simhash = extracted.simhash;
    page.word_count = extracted.word_count;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Wants};
    use argiope_model::Url;

    #[test]
    fn an_inspection_is_one_json_object_with_the_fields_of_the_record() {
        let rules = NormalRules::default();
        let url = Url::parse("https://example.com/dir/", &rules).unwrap();
        let body = br#"<html lang=en><title>T</title><meta property="og:title" content="O">
            <link rel=canonical href="/c"><img src=/i.png><h1>Head</h1><p>Some <a href="x?b=2&amp;a=1" rel="nofollow">link</a>"#;
        let input = Input {
            body,
            payload: None,
            content_type: Some("text/html"),
            url: &url,
            x_robots_tag: &["noindex"],
            agent: "argiope",
            limits: Limits::default(),
            wants: Wants::NONE,
        };
        let inspection = inspect_page(&input, &rules, Page { status: Some(200), ..Page::default() });
        let json = serde_json::to_value(&inspection).unwrap();
        for field in Page::FIELDS {
            assert!(json.get(field).is_some(), "{field} is missing");
        }
        assert_eq!(json["url"], "https://example.com/dir/");
        assert_eq!(json["status"], 200);
        assert_eq!(json["language"], "en");
        assert_eq!(json["canonical"], "https://example.com/c");
        assert_eq!(json["open_graph"]["og:title"], "O");
        assert_eq!(json["headings"], serde_json::json!([{"level": 1, "text": "Head"}]));
        assert_eq!(json["text"], "Head Some link");
        assert_eq!(json["word_count"], 3);
        assert_eq!(json["robots"]["noindex"], true);
        assert_eq!(
            json["links"][1],
            serde_json::json!({"url": "https://example.com/dir/x?b=2&a=1", "text": "link", "rel": "nofollow"})
        );
        assert_eq!(
            json["resources"],
            serde_json::json!([{"url": "https://example.com/i.png", "kind": "image"}])
        );
        assert!(json["article"].is_null() && json["images"].is_null());
    }
}
