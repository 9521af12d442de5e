//! Markdown of small pages, exactly.

#![allow(clippy::unwrap_used, reason = "a test")]

use argiope_article::{Options, extract};

const FILLER: &str =
    "<p>This paragraph is long enough, with a comma or two, to be taken for the text of an article.</p>";
const PLAIN: &str =
    "This paragraph is long enough, with a comma or two, to be taken for the text of an article.";

/// The Markdown of something in an article, without what stands around it.
fn markdown(html: &str) -> String {
    let page = format!("<article>{FILLER}{FILLER}{FILLER}{html}{FILLER}{FILLER}</article>");
    let article = extract(&page, Some("https://example.com/dir/page"), &Options::default()).unwrap();
    let markdown = article.markdown;
    let start = format!("{PLAIN}\n\n{PLAIN}\n\n{PLAIN}\n");
    let end = format!("\n\n{PLAIN}\n\n{PLAIN}\n");
    let inner = markdown.strip_prefix(&start).unwrap_or(&markdown);
    inner.strip_suffix(&end).unwrap_or(inner).trim_start_matches('\n').to_owned()
}

#[test]
fn headings_have_their_level() {
    assert_eq!(
        markdown(&format!("<h2>A <b>b</b></h2>{FILLER}<h4>c<br>d</h4>")),
        format!("## A b\n\n{PLAIN}\n\n#### c d")
    );
}

#[test]
fn lists_are_nested_and_start_where_they_start() {
    let html = "<ol start=7><li>one, the first<li>two<ul><li>a, the deeper</li><li>b</li></ul></li><li><p>three</p><p>more</p></li></ol>";
    assert_eq!(markdown(html), "7. one, the first\n8. two\n   - a, the deeper\n   - b\n9. three\n\n   more");
}

#[test]
fn tables_of_data_are_pipe_tables() {
    let html = "<table><caption>Numbers, as they were counted in the spring of that year</caption><tr><th>a</th><th>b|c</th></tr>\
        <tr><td>1, which is the first of them, and the least</td><td><b>2</b><br>3, which is the last of them, and more than \
        the others</td></tr><tr><td colspan=2>x, y and z were not counted, as nobody had asked for them.</td></tr></table>";
    assert_eq!(
        markdown(html),
        "Numbers, as they were counted in the spring of that year\n\n| a | b\\|c |\n| --- | --- |\n\
        | 1, which is the first of them, and the least | **2**<br>3, which is the last of them, and more than the others |\n\
        | x, y and z were not counted, as nobody had asked for them. | |"
    );
}

#[test]
fn links_and_images_are_whole() {
    let html = "<p>See <a href='../other?a=b&amp;c=d'>this page</a>, <a href='javascript:x()'>not that</a>, and \
        <img src='/i (1).png' alt='an [image]'> of it all.</p>";
    assert_eq!(
        markdown(html),
        "See [this page](https://example.com/other?a=b&c=d), not that, and \
        ![an \\[image\\]](https://example.com/i%20%281%29.png) of it all."
    );
}

#[test]
fn code_is_fenced_with_its_language() {
    let html = "<pre><code class='language-rust'>fn main() {\n    println!(\"*&lt;*\");\n}\n</code></pre>";
    assert_eq!(markdown(html), "```rust\nfn main() {\n    println!(\"*<*\");\n}\n```");
    assert_eq!(markdown("<pre>a ``` b</pre>"), "````\na ``` b\n````");
    assert_eq!(markdown("<p>Call <code>a`b</code>, then <code>c_d</code>.</p>"), "Call ``a`b``, then `c_d`.");
}

#[test]
fn quotes_stand_in_quotes() {
    let html = "<blockquote><p>One, as he said.</p><blockquote>Two, as she said.</blockquote><ul><li>three, as they said</li></ul></blockquote>";
    assert_eq!(markdown(html), "> One, as he said.\n>\n> > Two, as she said.\n>\n> - three, as they said");
}

#[test]
fn emphasis_leaves_blanks_outside() {
    assert_eq!(
        markdown(
            "<p>It is<b> very </b>good, <i>really</i>, <b><i>both</i></b> and <b></b><del>gone</del>.</p>"
        ),
        "It is **very** good, *really*, ***both*** and ~~gone~~."
    );
    assert_eq!(
        markdown("<p>No end: <b>a,</b>b is not bold, but <b>c</b>d is.</p>"),
        "No end: a,b is not bold, but **c**d is."
    );
}

#[test]
fn what_would_be_markup_is_escaped() {
    assert_eq!(
        markdown("<p>2 * 3, [x], snake_case, _y_, a &lt;b&gt;, &amp;amp; and `z` \\</p>"),
        "2 \\* 3, \\[x\\], snake_case, \\_y\\_, a \\<b>, \\&amp; and \\`z\\` \\\\"
    );
    assert_eq!(markdown("<p># no heading, really</p>"), "\\# no heading, really");
    assert_eq!(markdown("<p>1. no item, really</p>"), "1\\. no item, really");
    assert_eq!(markdown("<p>- no item, really</p>"), "\\- no item, really");
}

#[test]
fn lines_are_broken_where_the_page_breaks_them() {
    assert_eq!(markdown("<p>one, the first<br>two, the second</p>"), "one, the first  \ntwo, the second");
    assert_eq!(markdown("<hr>"), "---");
}
