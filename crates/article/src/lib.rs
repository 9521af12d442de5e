//! The main text of a page, without navigation, banners, related links, comments and footers, as plain text and as
//! Markdown. Pure: a page in, an article out, and nothing kept between pages.
//!
//! A page walks through the modules in this order: `tree` makes an arena of its nodes, `hints` reads what the names of
//! the boxes say, `discard` drops what surely is no text, `blocks` counts what is left, `choice` finds the part that is
//! the main text, `clean` removes what does not belong there, `plain` and `markdown` write it. `metadata` reads title,
//! author and date.
//!
//! Whatever the page, the time is linear in its length: depth, attributes and input are limited, and nothing recurses.

mod address;
mod blocks;
mod choice;
mod clean;
mod discard;
mod element;
mod hints;
mod markdown;
mod metadata;
mod phrases;
mod plain;
mod tree;

use address::Addresses;
use blocks::Blocks;
use discard::Marks;
use metadata::Metadata;
use serde::Serialize;
use tree::Tree;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The page is read up to here.
    pub max_bytes: usize,
    /// A page with fewer bytes of text has no article.
    pub min_text_bytes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_bytes: 8 * 1024 * 1024, min_text_bytes: 25 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Article {
    pub title: Option<String>,
    /// Who wrote it, as the page names them.
    pub byline: Option<String>,
    /// When, as the page says it.
    pub published: Option<String>,
    /// As the page says it, which may be wrong.
    pub language: Option<String>,
    pub site_name: Option<String>,
    /// A line for each paragraph, heading, item and row.
    pub text: String,
    /// The same with its markup.
    pub markdown: String,
    /// The page was longer than what was read of it.
    pub truncated: bool,
}

/// The article of a page; none where there is no text. `url` is what references are relative to.
pub fn extract(html: &str, url: Option<&str>, options: &Options) -> Option<Article> {
    // Places in the page are kept as 32 bits.
    let page = beginning(html, options.max_bytes.min(u32::MAX as usize / 4));
    let tree = Tree::of(page);
    let mut marks = Marks::of(&tree);
    let metadata = Metadata::of(&tree, &marks);
    let blocks = Blocks::of(&tree, &marks.dropped);
    let mut roots = choice::roots(&tree, &blocks, &marks);
    if roots.is_empty() {
        roots.push(0);
    }
    clean::clean(&tree, &mut marks, &roots, metadata.title.as_deref());
    let text = plain::text(&tree, &marks, &roots);
    if text.len() < options.min_text_bytes {
        return None;
    }
    let addresses = Addresses::new(url, metadata.base.as_deref());
    let markdown = markdown::markdown(&tree, &marks, &roots, &addresses, page.len());
    Some(Article {
        title: metadata.title,
        byline: metadata.byline,
        published: metadata.published,
        language: metadata.language,
        site_name: metadata.site_name,
        text,
        markdown,
        truncated: page.len() < html.len(),
    })
}

/// As much of a text as fits into so many bytes.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}
