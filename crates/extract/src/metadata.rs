//! Metadata from the head of a page: title, `<meta>`, `<base>`, language, canonical reference. The first occurrence
//! counts, as in browsers; only robots directives add up.

use crate::robots::{RobotsDirectives, names_us};
use crate::tag::{Attribute, Tag};
use crate::text::collapsed;

/// Longest title, description and the like, in bytes.
pub(crate) const LONGEST_VALUE: usize = 16 * 1024;
const MOST_OPEN_GRAPH: usize = 100;
const OPEN_GRAPH: &str = "og:";

#[derive(Default)]
pub(crate) struct Metadata {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) keywords: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) html_language: Option<String>,
    pub(crate) content_language: Option<String>,
    pub(crate) canonical: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) robots: RobotsDirectives,
    pub(crate) open_graph: Vec<(String, String)>,
}

impl Metadata {
    pub(crate) fn read_base(&mut self, tag: &Tag<'_>) {
        if self.base.is_none() {
            self.base = tag.value(Attribute::Href).map(|href| reference(&href));
        }
    }

    pub(crate) fn read_canonical(&mut self, href: &[u8]) {
        if self.canonical.is_none() {
            self.canonical = Some(reference(href));
        }
    }

    pub(crate) fn read_language(&mut self, tag: &Tag<'_>) {
        if self.html_language.is_none() {
            self.html_language = tag.value(Attribute::Lang).and_then(|language| collapsed(&language));
        }
    }

    /// Processes a `<meta>`; returns the target of a refresh, if it is one.
    pub(crate) fn read_meta(
        &mut self,
        tag: &Tag<'_>,
        agent: &str,
        wants_open_graph: bool,
    ) -> Option<Vec<u8>> {
        let content = tag.value(Attribute::Content)?;
        let content = content.get(..LONGEST_VALUE).unwrap_or(&content);
        if let Some(name) = tag.value(Attribute::Property).or_else(|| tag.value(Attribute::Name)) {
            self.read_named(String::from_utf8_lossy(&name).trim(), content, agent, wants_open_graph);
        }
        let equivalent = tag.value(Attribute::HttpEquiv)?;
        let equivalent = String::from_utf8_lossy(&equivalent);
        if equivalent.trim().eq_ignore_ascii_case("refresh") {
            return refresh_target(content).map(<[u8]>::to_vec);
        }
        if equivalent.trim().eq_ignore_ascii_case("content-language") && self.content_language.is_none() {
            self.content_language = collapsed(content);
        }
        None
    }

    fn read_named(&mut self, name: &str, content: &[u8], agent: &str, wants_open_graph: bool) {
        if names_us(name, agent) {
            self.robots.merge(&String::from_utf8_lossy(content));
            return;
        }
        let name = name.to_ascii_lowercase();
        let field = match name.as_str() {
            "description" => &mut self.description,
            "keywords" => &mut self.keywords,
            "author" => &mut self.author,
            other => {
                let is_open_graph = other.len() > OPEN_GRAPH.len() && other.starts_with(OPEN_GRAPH);
                if is_open_graph && wants_open_graph {
                    self.add_open_graph(name, content);
                }
                return;
            }
        };
        if field.is_none() {
            *field = collapsed(content);
        }
    }

    fn add_open_graph(&mut self, property: String, content: &[u8]) {
        let is_new = self.open_graph.iter().all(|(known, _)| *known != property);
        if is_new
            && self.open_graph.len() < MOST_OPEN_GRAPH
            && let Some(value) = collapsed(content)
        {
            self.open_graph.push((property, value));
        }
    }
}

fn reference(href: &[u8]) -> String {
    String::from_utf8_lossy(href).trim().to_owned()
}

/// `5; url='/next'` -> `/next`. Browsers accept almost anything between the number and the URL.
fn refresh_target(content: &[u8]) -> Option<&[u8]> {
    let content = content.trim_ascii_start();
    let after_number = content.iter().position(|b| !(b.is_ascii_digit() || *b == b'.'))?;
    let rest = content.get(after_number..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b";").or_else(|| rest.strip_prefix(b",")).unwrap_or(rest).trim_ascii_start();
    let rest = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case(b"url") => {
            let after = rest.get(3..)?.trim_ascii_start();
            after.strip_prefix(b"=").map_or(rest, <[u8]>::trim_ascii_start)
        }
        _ => rest,
    };
    let target = match rest.split_first()? {
        (quote @ (b'"' | b'\''), quoted) => quoted.split(|b| b == quote).next()?,
        _ => rest,
    };
    let target = target.trim_ascii();
    (!target.is_empty()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes_are_read_as_browsers_read_them() {
        let target = |content: &'static str| {
            refresh_target(content.as_bytes()).map(|t| std::str::from_utf8(t).unwrap())
        };
        assert_eq!(target("0;url=/a"), Some("/a"));
        assert_eq!(target(" 5 ; URL = '/a b' x"), Some("/a b"));
        assert_eq!(target("3, /plain"), Some("/plain"));
        assert_eq!(target("0;url=\"https://e.x/?a=1;b\""), Some("https://e.x/?a=1;b"));
        assert_eq!(target("30"), None);
        assert_eq!(target("5;"), None);
        assert_eq!(target(""), None);
    }
}
