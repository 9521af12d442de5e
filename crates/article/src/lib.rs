//! The main text of a page, without navigation, banners, related links, comments and footers, as plain text and as
//! Markdown. Pure: a page in, an article out, and nothing kept between pages.
//!
//! A page walks through the modules in this order: `tree` makes an arena of its nodes, `hints` reads what the names of
//! the boxes say, `discard` drops what surely is no text, `blocks` counts what is left, `choice` finds the part that is
//! the main text, `clean` removes what does not belong there. All of that is what rules can say; `features` puts it into
//! numbers for each block, and `judge` has the `model` decide. `plain` and `markdown` write the text; `metadata` reads
//! title, author and date.
//!
//! Whatever the page, the time is linear in its length: depth, attributes and input are limited, and nothing recurses.

mod address;
mod blocks;
mod choice;
mod clean;
mod discard;
mod element;
mod features;
mod hints;
mod judge;
mod markdown;
mod metadata;
mod model;
mod phrases;
mod plain;
mod tree;

use address::Addresses;
use blocks::Blocks;
use discard::Marks;
use judge::Ruled;
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
        Options { max_bytes: 8 * 1024 * 1024, min_text_bytes: 1 }
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

/// The root, with all of the page in it.
const ALL: &[usize] = &[0];

/// A page as the rules have left it.
struct Reading<'p> {
    tree: Tree<'p>,
    metadata: Metadata,
    marks: Marks,
    cleaned: Marks,
    left: Blocks,
    roots: Vec<usize>,
}

impl<'p> Reading<'p> {
    fn of(page: &'p str) -> Reading<'p> {
        let tree = Tree::of(page);
        let marks = Marks::of(&tree);
        let metadata = Metadata::of(&tree, &marks);
        let left = Blocks::of(&tree, &marks.dropped);
        let mut roots = choice::roots(&tree, &left, &marks);
        if roots.is_empty() {
            roots.push(0);
        }
        let mut cleaned = marks.clone();
        clean::clean(&tree, &mut cleaned, &roots, metadata.title.as_deref());
        Reading { tree, metadata, marks, cleaned, left, roots }
    }

    fn ruled(&self) -> Ruled<'_> {
        Ruled { marks: &self.marks, cleaned: &self.cleaned, left: &self.left, roots: &self.roots }
    }
}

/// The article of a page; none where there is no text. `url` is what references are relative to.
pub fn extract(html: &str, url: Option<&str>, options: &Options) -> Option<Article> {
    // Places in the page are kept as 32 bits.
    let page = beginning(html, options.max_bytes.min(u32::MAX as usize / 4));
    let reading = Reading::of(page);
    let Reading { tree, metadata, .. } = &reading;
    let judged =
        judge::judge(tree, &reading.ruled(), metadata.title.as_deref(), metadata.article_body.as_deref());
    let (marks, roots) = match &judged {
        Some(judged) => (judged, ALL),
        None => (&reading.cleaned, reading.roots.as_slice()),
    };
    let text = plain::text(tree, marks, roots);
    if text.is_empty() || text.len() < options.min_text_bytes {
        return None;
    }
    let addresses = Addresses::new(url, metadata.base.as_deref());
    let markdown = markdown::markdown(tree, marks, roots, &addresses, page.len());
    let Metadata { title, byline, published, language, site_name, .. } = reading.metadata;
    Some(Article {
        title,
        byline,
        published,
        language,
        site_name,
        text,
        markdown,
        truncated: page.len() < html.len(),
    })
}

/// The blocks of a page with the numbers that the model judges them by: for fitting the model.
#[doc(hidden)]
pub fn features(html: &str) -> Vec<(String, Vec<f32>)> {
    let reading = Reading::of(html);
    let tree = &reading.tree;
    let inline = judge::dropped_inline(tree, &reading.marks);
    let all = Blocks::of(tree, &inline);
    let page = features::Page {
        tree,
        marks: &reading.marks,
        cleaned: &reading.cleaned,
        inline: &inline,
        all: &all,
        left: &reading.left,
        roots: &reading.roots,
        title: reading.metadata.title.as_deref(),
        body: reading.metadata.article_body.as_deref(),
    };
    let numbers = features::of(&page);
    let text = |block| features::text_of(tree, &inline, block, usize::MAX);
    all.all.iter().zip(numbers).map(|(block, numbers)| (text(block), numbers.to_vec())).collect()
}

/// As much of a text as fits into so many bytes.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}
