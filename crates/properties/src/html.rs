//! Pages: what is kept is bounded, buffers carry nothing over, and every link is a URL in normal form, once.

use crate::choice;
use argiope_extract::{Extracted, FoundLink, Input, Limits, Scratch, Wants, extract, resolve};
use argiope_model::{NormalRules, Url};
use std::cell::RefCell;
use std::collections::HashSet;

const TYPES: [Option<&str>; 6] = [
    Some("text/html"),
    Some("text/html; charset=utf-8"),
    Some("application/xhtml+xml"),
    Some("text/plain"),
    Some("image/png"),
    None,
];
/// A byte that is no UTF-8 becomes three that are.
const MOST_PER_BYTE: usize = 3;
const LONGEST_HREF: usize = 8 * 1024 * MOST_PER_BYTE;
const LONGEST_TEXT_OF_LINK: usize = 1024 * MOST_PER_BYTE;
const LONGEST_VALUE: usize = 16 * 1024 * MOST_PER_BYTE;
const MOST_OPEN_GRAPH: usize = 100;

thread_local! {
    /// As a worker has it: never new.
    static REUSED: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// The first byte chooses content type and limit, the rest is the body.
pub(crate) fn is_read_within_limits(bytes: &[u8]) {
    let (chosen, body) = choice(bytes);
    let url = Url::from_stored("https://www.example.com/a/b?c=1").expect("a URL");
    let max_links = if chosen & 0x80 == 0 { 1000 } else { usize::from(chosen >> 3 & 15) };
    let input = Input {
        body,
        payload: None,
        content_type: TYPES[usize::from(chosen & 7) % TYPES.len()],
        url: &url,
        x_robots_tag: &[],
        agent: "argiope",
        limits: Limits { max_links },
        wants: Wants::ALL,
    };
    let extracted = REUSED.with_borrow_mut(|scratch| extract(&input, scratch));
    check_bounds(&extracted, body, max_links);
    check_links(&extracted, &url);
    let fresh = extract(&input, &mut Scratch::new());
    assert_eq!(everything(&extracted), everything(&fresh), "a buffer that was used before shows");
    let bare = extract(&Input { wants: Wants::NONE, ..input }, &mut Scratch::new());
    assert_eq!(hrefs(&bare), hrefs(&extracted), "links depend on what else is wanted");
    assert!(bare.resources.is_empty());
    assert_eq!((bare.word_count, bare.simhash), (extracted.word_count, extracted.simhash));
    assert_eq!((bare.title, bare.text), (extracted.title, None));
}

fn check_bounds(extracted: &Extracted, body: &[u8], max_links: usize) {
    for links in [&extracted.links, &extracted.resources] {
        assert!(links.len() <= max_links && links.len() <= links.seen as usize);
        let is_bounded = |link: &FoundLink| {
            links.href(link).len() <= LONGEST_HREF
                && links.anchor(link).len() <= LONGEST_TEXT_OF_LINK
                && links.rel_text(link).len() <= LONGEST_TEXT_OF_LINK
        };
        assert!(links.iter().all(is_bounded));
    }
    assert!(extracted.links.iter().all(|link| !link.kind.is_resource()));
    assert!(extracted.resources.iter().all(|link| link.kind.is_resource()));
    assert!(extracted.open_graph.len() <= MOST_OPEN_GRAPH);
    assert!(extracted.headings.iter().all(|heading| (1..=6).contains(&heading.level)));
    let values = [&extracted.title, &extracted.description, &extracted.keywords, &extracted.author];
    assert!(values.into_iter().flatten().all(|value| value.len() <= LONGEST_VALUE));
    if let Some(text) = &extracted.text {
        assert!(text.len() <= MOST_PER_BYTE * body.len(), "{} bytes of {}", text.len(), body.len());
        let words = text.split(' ').filter(|word| !word.is_empty()).count();
        assert_eq!(extracted.word_count, Some(words as u32), "{text:?}");
        assert!(!text.contains("  ") && text.trim_matches(' ') == text, "{text:?}");
    }
    assert_eq!(extracted.simhash.is_some(), extracted.word_count.unwrap_or(0) > 0);
}

fn check_links(extracted: &Extracted, page: &Url) {
    let rules = NormalRules::default();
    let resolved = resolve(extracted, page, &rules, &mut Scratch::new());
    for links in [&resolved.links, &resolved.resources] {
        let mut known = HashSet::new();
        for url in links.iter().map(|link| &link.url) {
            assert!(known.insert(url.clone()), "{url} twice");
            assert_eq!(Url::parse(url.as_str(), &rules).as_ref(), Ok(url));
        }
    }
    if let Some(url) = resolved.canonical {
        assert_eq!(Url::parse(url.as_str(), &rules), Ok(url));
    }
}

fn hrefs(extracted: &Extracted) -> Vec<String> {
    extracted.links.iter().map(|link| extracted.links.href(link).to_owned()).collect()
}

fn everything(extracted: &Extracted) -> String {
    format!("{extracted:?}")
}
