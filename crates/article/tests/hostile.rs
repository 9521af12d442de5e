//! Pages that are made to break whoever reads them.

#![allow(clippy::unwrap_used, reason = "a test")]

use argiope_article::{Options, extract};
use proptest::prelude::*;

const TEXT: &str =
    "A sentence, long enough to be taken for running text, stands in the middle of it all, and is found.";

fn text(page: &str) -> String {
    extract(page, Some("https://example.com/"), &Options::default())
        .map(|article| article.text)
        .unwrap_or_default()
}

#[test]
fn deep_nesting_is_read() {
    for tag in ["div", "b", "blockquote", "ul><li", "table><tr><td", "a href=x", "x-y", "section"] {
        let name = tag.split(' ').next().unwrap();
        let page = format!(
            "{}<p>{TEXT}</p>{}",
            format!("<{tag}>").repeat(50_000),
            format!("</{name}>").repeat(50_000)
        );
        let article = extract(&page, None, &Options::default());
        assert!(article.is_none_or(|article| article.text.len() < page.len()), "{tag}");
    }
    assert!(text(&format!("{}<p>{TEXT}</p>", "<div>".repeat(50_000))).contains(TEXT));
}

#[test]
fn many_attributes_are_read() {
    let attributes: String = (0..100_000).map(|number| format!(" a{number}=1")).collect();
    assert_eq!(
        text(&format!("<div{attributes}><p>{TEXT}</p><p>{TEXT} Twice.</p></div>")),
        format!("{TEXT}\n{TEXT} Twice.")
    );
}

#[test]
fn a_base_is_not_repeated_without_end() {
    let links = "<a href=x>a, b</a> ".repeat(20_000);
    let page = format!("<base href='https://example.com/{}/'><p>{TEXT}<p>{TEXT}{links}", "x".repeat(2000));
    let article = extract(&page, None, &Options::default()).unwrap();
    assert!(article.markdown.len() <= page.len() * 12 + 200_000);
}

#[test]
fn input_beyond_the_limit_is_not_read() {
    let page = format!("<p>{TEXT}</p><p>{TEXT} \u{e9}nd</p>");
    let most = Options { max_bytes: TEXT.len() + 10, ..Options::default() };
    let article = extract(&page, None, &most).unwrap();
    assert!(article.truncated);
    assert_eq!(article.text, TEXT);
    for max_bytes in 0..page.len() + 1 {
        extract(&page, None, &Options { max_bytes, ..Options::default() });
    }
}

/// Tags, attributes and text in any order.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<p>",
            "</p>",
            "<div class=article-body>",
            "</div>",
            "<ul>",
            "<li>",
            "</ul>",
            "<ol start=9>",
            "</ol>",
            "<table>",
            "<tr>",
            "<td>",
            "<th colspan=3>",
            "</table>",
            "<pre>",
            "</pre>",
            "<code>",
            "</code>",
            "<a href=/x>",
            "</a>",
            "<b>",
            "</b>",
            "<i>",
            "</i>",
            "<blockquote>",
            "</blockquote>",
            "<h2>",
            "</h2>",
            "<br>",
            "<hr>",
            "<img src=y alt='z|`'>",
            "<script>",
            "</script>",
            "<!--",
            "-->",
            "<title>",
            "</title>",
            "<article>",
            "</article>",
            "<nav>",
            "</nav>",
            "<div class=comment>",
            "<svg>",
            "</svg>",
            "&amp;",
            "&#x",
            "|",
            "`",
            "**",
            "\n",
            "1. ",
            "- ",
            "<x-y>",
            "</x-y>",
            "<",
        ])
        .prop_map(str::to_owned),
        Just(TEXT.to_owned()),
        "[a-zé, .。]{0,40}",
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_markup_is_read_within_bounds(page in markup()) {
        if let Some(article) = extract(&page, Some("https://example.com/a"), &Options::default()) {
            prop_assert!(article.text.len() <= page.len() * 4);
            prop_assert!(article.markdown.len() <= page.len() * 12 + 200_000);
            prop_assert_eq!(article.text.trim(), &article.text);
            let again = extract(&page, Some("https://example.com/a"), &Options::default());
            prop_assert_eq!(again, Some(article));
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let page = String::from_utf8_lossy(&bytes);
        let article = extract(&page, Some(&page), &Options::default());
        prop_assert!(article.is_none_or(|article| article.text.len() <= page.len() * 4));
    }
}
