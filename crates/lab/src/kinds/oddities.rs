//! Pages that are malformed, empty, or not pages.

use super::{Feature, Visibility, special};
use crate::answer::{Answer, HTML};
use crate::expected::Fate;
use crate::web::{PIXEL, Site, Web};

const MALFORMED: &str = "<html><head><title>Still a title</title ><body><p>Unclosed <b>bold <i>and</b> crossed</i>\
    <a href=/o/unquoted>unquoted<a href='/o/single' class=x>single</a><table><tr><td><p></table>\
    <a href=\"/o/tabs\tand\nbreaks\">broken</a><a/href=\"/o/slash\">slash</a><a href>empty</a>\
    <!-- a comment that <a href=\"/o/in-comment\">hides</a> -- > a link --><script>\"<a href='/o/in-script'>\"</script>\
    <a href=\" /o/spaces \">spaces</a>&nosuch; &#0; &#x110000; &amp <a href=\"/o/end";

/// What the malformed page refers to.
const FOUND: [&str; 5] = ["/o/unquoted", "/o/single", "/o/tabsandbreaks", "/o/slash", "/o/spaces"];

pub(super) fn features() -> Vec<Feature> {
    let linked =
        ["malformed", "empty", "no-type", "as-text", "picture", "paper.pdf", "data.json", "notes.txt"];
    let mut features: Vec<Feature> =
        linked.iter().map(|name| Feature::linked(format!("/o/{name}"), 200)).collect();
    let ok = Fate::Answered { status: 200 };
    features.extend(FOUND.iter().map(|path| Feature::new(*path, Visibility::Elsewhere, ok)));
    features
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    if FOUND.contains(&target) {
        return Some(special(web, site, target));
    }
    Some(match target {
        "/o/malformed" => Answer::bytes(HTML, MALFORMED.as_bytes().to_vec()),
        "/o/empty" => Answer::bytes(HTML, Vec::new()),
        "/o/no-type" => Answer::bytes("", b"<title>No type</title><p>Yet a page.</p>".to_vec()),
        "/o/as-text" => Answer::text("<title>Not a page</title><a href=\"/o/not-a-link\">text</a>"),
        "/o/picture" => Answer::bytes("image/png", PIXEL.to_vec()),
        "/o/paper.pdf" => {
            Answer::bytes("application/pdf", b"%PDF-1.4\n1 0 obj <<>> endobj\n%%EOF\n".to_vec())
        }
        "/o/data.json" => Answer::bytes("application/json", br#"{"a": [1, 2, "<a href='/o/no'>"]}"#.to_vec()),
        "/o/notes.txt" => Answer::text("See http://example.org/ for more.\n"),
        _ => return None,
    })
}
