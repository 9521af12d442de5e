//! Resources of a page: which elements name images, styles, scripts, fonts and media, and which embedded objects are
//! pages themselves.

use argiope_model::LinkKind;

/// The kind of resource that a `<link>` names, by its `rel` and, if it only preloads, its `as`.
pub(crate) fn kind_of_link(rel: &[u8], loaded_as: Option<&[u8]>) -> Option<LinkKind> {
    let mut kind = None;
    for word in rel.split(u8::is_ascii_whitespace) {
        let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        if is("stylesheet") {
            return Some(LinkKind::Stylesheet);
        }
        if is("icon") || is("apple-touch-icon") || is("apple-touch-icon-precomposed") || is("mask-icon") {
            kind = Some(LinkKind::Image);
        } else if is("modulepreload") {
            kind = Some(LinkKind::Script);
        } else if is("preload") {
            kind = Some(loaded_as.map_or(LinkKind::Preload, kind_of_destination));
        }
    }
    kind
}

fn kind_of_destination(loaded_as: &[u8]) -> LinkKind {
    match loaded_as.trim_ascii().to_ascii_lowercase().as_slice() {
        b"image" => LinkKind::Image,
        b"style" => LinkKind::Stylesheet,
        b"script" | b"worker" => LinkKind::Script,
        b"font" => LinkKind::Font,
        b"audio" | b"video" | b"track" => LinkKind::Media,
        b"object" | b"embed" => LinkKind::Embedded,
        _ => LinkKind::Preload,
    }
}

/// Whether `<object>` or `<embed>` shows a page or a document, which is followed like the content of a frame: by its
/// type, or without one by the extension.
pub(crate) fn is_document(kind: Option<&[u8]>, href: &[u8]) -> bool {
    let essence = kind.and_then(|kind| kind.split(|b| *b == b';').next()).unwrap_or_default().trim_ascii();
    let documents: [&[u8]; 3] = [b"text/html", b"application/xhtml+xml", b"application/pdf"];
    if !essence.is_empty() {
        return documents.iter().any(|known| essence.eq_ignore_ascii_case(known));
    }
    let path = href.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default().trim_ascii();
    let end = path.iter().rposition(|b| matches!(b, b'.' | b'/'));
    let Some((b'.', extension)) = end.and_then(|at| path.get(at..)?.split_first()) else { return false };
    let extensions: [&[u8]; 4] = [b"html", b"htm", b"xhtml", b"pdf"];
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// The references of a `srcset`: each may be followed by a width or density, and may contain commas.
pub(crate) fn candidates(set: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let start = rest.iter().position(|b| !b.is_ascii_whitespace() && *b != b',')?;
        rest = rest.get(start..)?;
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (href, after) = rest.split_at_checked(end)?;
        let commas = href.iter().rev().take_while(|b| **b == b',').count();
        rest = if commas > 0 { after } else { past_descriptors(after) };
        href.get(..href.len() - commas)
    })
}

/// The text after the comma that ends the descriptors of a candidate. Commas within parentheses do not count.
fn past_descriptors(bytes: &[u8]) -> &[u8] {
    let mut inside = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' => inside = true,
            b')' => inside = false,
            b',' if !inside => return bytes.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    b""
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_set(set: &str) -> Vec<&str> {
        candidates(set.as_bytes()).map(|href| std::str::from_utf8(href).unwrap()).collect()
    }

    #[test]
    fn the_references_of_a_set_are_found_with_and_without_descriptors() {
        assert_eq!(of_set("a.png, b.png 2x,c.png 300w"), ["a.png", "b.png", "c.png"]);
        assert_eq!(of_set(" ,, a.png 1x ,\n b.png"), ["a.png", "b.png"]);
        assert_eq!(of_set("/i,w_300,h_200/x.png 300w, /y.png"), ["/i,w_300,h_200/x.png", "/y.png"]);
        assert_eq!(of_set("a.png (1,2) 2x, b.png"), ["a.png", "b.png"]);
        assert_eq!(of_set("a.png,,b.png"), ["a.png,,b.png"]);
        assert_eq!(of_set("a.png,, b.png"), ["a.png", "b.png"]);
        assert_eq!(of_set("a.png ("), ["a.png"]);
        assert!(of_set(" , ,").is_empty() && of_set("").is_empty());
    }

    #[test]
    fn links_to_resources_are_told_by_rel_and_as() {
        let kind =
            |rel: &str, loaded_as: Option<&str>| kind_of_link(rel.as_bytes(), loaded_as.map(str::as_bytes));
        assert_eq!(kind("StyleSheet", None), Some(LinkKind::Stylesheet));
        assert_eq!(kind("preload stylesheet", Some("style")), Some(LinkKind::Stylesheet));
        assert_eq!(kind("shortcut icon", None), Some(LinkKind::Image));
        assert_eq!(kind("preload", Some("font")), Some(LinkKind::Font));
        assert_eq!(kind("preload", Some("fetch")), Some(LinkKind::Preload));
        assert_eq!(kind("modulepreload", None), Some(LinkKind::Script));
        assert_eq!(kind("dns-prefetch", None), None);
    }

    #[test]
    fn embedded_documents_are_told_from_resources() {
        let document = |kind: Option<&str>, href: &str| is_document(kind.map(str::as_bytes), href.as_bytes());
        assert!(document(Some("text/HTML; charset=x"), "/x") && document(None, "/a/b.HTML?x=1#y"));
        assert!(document(Some("application/pdf"), "/x") && document(Some(" "), "x.pdf"));
        assert!(!document(Some("image/svg+xml"), "x.html") && !document(None, "x.swf"));
        assert!(
            !document(None, "/html")
                && !document(None, "html")
                && !document(None, "/a.html/x")
                && !document(None, "")
        );
    }

    proptest! {
        #[test]
        fn candidates_are_pieces_without_white_space(set in "[a-c ,()\t]{0,40}") {
            for href in candidates(set.as_bytes()) {
                prop_assert!(!href.is_empty() && !href.iter().any(u8::is_ascii_whitespace));
                prop_assert!(href.first() != Some(&b',') && href.last() != Some(&b','));
            }
        }
    }
}
