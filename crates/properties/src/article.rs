//! Articles: whatever the page, text and Markdown are bounded by its length, and the same page has the same article.

use crate::choice;
use argiope_article::{Options, extract};

const PAGE: &str = "https://www.example.com/a/b?c=1";
const MOST_TEXT_PER_BYTE: usize = 4;
const MOST_MARKDOWN_PER_BYTE: usize = 12;
const AND_A_BIT: usize = 200_000;

/// The first byte chooses limit and address, the rest is the page.
pub(crate) fn is_taken_within_limits(bytes: &[u8]) {
    let (chosen, body) = choice(bytes);
    let page = String::from_utf8_lossy(body);
    let url = (chosen & 1 == 0).then_some(PAGE);
    let max_bytes = if chosen & 2 == 0 { 1 << 20 } else { usize::from(chosen) * 8 };
    let options = Options { max_bytes, min_text_bytes: usize::from(chosen >> 4) };
    let Some(article) = extract(&page, url, &options) else { return };
    let read = page.len().min(max_bytes);
    assert_eq!(article.truncated, page.len() > max_bytes);
    assert!(article.text.len() >= options.min_text_bytes);
    assert!(article.text.len() <= read * MOST_TEXT_PER_BYTE, "{} bytes of {read}", article.text.len());
    assert!(article.markdown.len() <= read * MOST_MARKDOWN_PER_BYTE + AND_A_BIT);
    assert_eq!(article.text.trim(), article.text);
    assert!(!article.text.contains("\n\n"), "{:?}", article.text);
    assert_eq!(Some(article), extract(&page, url, &options), "the same page has another article");
}
