//! Turns references into URLs: joined to the page's base, each once, in any spelling. Measured: resolving repeated
//! references of a site again costs no more than caching them.

use crate::links::{FoundLinks, KEPT_POSITIONS, Passed};
use crate::page::{Extracted, Scratch};
use crate::text::offset;
use argiope_model::{Base, LinkKind, LongUrl, NormalRules, Rel, Url, UrlError};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use xxhash_rust::xxh3::xxh3_64;

/// A link of a page, in its first spelling.
#[derive(Clone, Debug)]
pub struct Link<'e> {
    pub url: Url,
    pub anchor: &'e str,
    /// The `rel` attribute as written.
    pub rel_text: &'e str,
    pub rel: Rel,
    pub kind: LinkKind,
    /// One of its elements is an `<a>`.
    pub in_anchor: bool,
}

/// The links of a page, each URL once, in page order.
#[derive(Debug)]
pub struct Resolved<'e> {
    pub links: Vec<Link<'e>>,
    /// Resources of the page, likewise. A URL may be among the links as well.
    pub resources: Vec<Link<'e>>,
    pub canonical: Option<Url>,
    /// Further spellings of URLs that are among the links, as written, with the position of that link.
    pub respelled: Vec<(usize, Url)>,
    /// References that are not URLs that can be crawled.
    pub not_crawlable: u32,
    /// The first of the references beyond the limit on links.
    pub beyond: Vec<Url>,
    /// URLs that are too long, and how many more there are.
    pub too_long: Vec<LongUrl>,
    pub more_too_long: u32,
}

/// URLs that are too long: this many per page are kept to report them.
const LONG_SAMPLE: usize = 20;

/// URLs that a page has already linked to: hash -> position. URLs are compared as well, so that a collision costs a
/// repetition and never a link.
pub(crate) type Positions = HashMap<u64, u32, BuildHasherDefault<Passed>>;

/// Turns the references of a page into URLs. `page` is its URL, after redirects.
pub fn resolve<'e>(
    extracted: &'e Extracted,
    page: &Url,
    rules: &NormalRules,
    scratch: &mut Scratch,
) -> Resolved<'e> {
    let own = Base::new(page);
    // An invalid `<base>` is ignored.
    let rebased = extracted.base.as_deref().and_then(|href| own.rebase(href).ok());
    let base = rebased.as_ref().unwrap_or(&own);
    let mut long = LongUrls { page, base: extracted.base.as_deref(), urls: Vec::new(), more: 0 };
    let positions = &mut scratch.positions;
    let (links, respelled, not_crawlable) = each_once(&extracted.links, base, rules, positions, &mut long);
    // Resources are not followed, so those that are too long need no report.
    let mut unwanted = LongUrls { page, base: None, urls: Vec::new(), more: 0 };
    let (resources, _, _) = each_once(&extracted.resources, base, rules, positions, &mut unwanted);
    let canonical = extracted.canonical.as_deref().and_then(|href| base.join(href, rules).ok());
    let beyond = extracted.links.beyond().filter_map(|href| base.join(href, rules).ok()).collect();
    for (href, length) in extracted.links.long() {
        long.add(href, length);
    }
    let uncounted = extracted.links.too_long.saturating_sub(offset(extracted.links.long().len()));
    Resolved {
        links,
        resources,
        canonical,
        respelled,
        not_crawlable,
        beyond,
        too_long: long.urls,
        more_too_long: long.more.saturating_add(uncounted),
    }
}

/// The URLs of these references, further spellings of them, and the number of invalid references.
fn each_once<'e>(
    all: &'e FoundLinks,
    base: &Base,
    rules: &NormalRules,
    positions: &mut Positions,
    long: &mut LongUrls<'_>,
) -> (Vec<Link<'e>>, Vec<(usize, Url)>, u32) {
    positions.clear();
    positions.shrink_to(KEPT_POSITIONS);
    let mut links: Vec<Link<'e>> = Vec::with_capacity(all.len());
    let mut respelled = Vec::new();
    let mut not_crawlable = all.not_crawlable;
    for found in all.iter() {
        let href = all.href(found);
        let url = match base.join(href, rules) {
            Ok(url) => url,
            Err(UrlError::TooLong) => {
                long.add(href, offset(href.len()));
                continue;
            }
            Err(_) => {
                not_crawlable = not_crawlable.saturating_add(1);
                continue;
            }
        };
        let anchor = all.anchor(found);
        let next = u32::try_from(links.len()).unwrap_or(u32::MAX);
        let position = *positions.entry(xxh3_64(url.normal().as_bytes())).or_insert(next);
        match links.get_mut(position as usize) {
            Some(link) if link.url == url => {
                link.rel = link.rel.merged_with(found.rel);
                link.in_anchor |= found.in_anchor;
                if link.anchor.is_empty() {
                    link.anchor = anchor;
                }
                if !link.url.same_request(&url) {
                    respelled.push((position as usize, url));
                }
            }
            _ => links.push(Link {
                url,
                anchor,
                rel_text: all.rel_text(found),
                rel: found.rel,
                kind: found.kind,
                in_anchor: found.in_anchor,
            }),
        }
    }
    (links, respelled, not_crawlable)
}

/// Collects the URLs of a page that are too long.
struct LongUrls<'p> {
    page: &'p Url,
    base: Option<&'p str>,
    urls: Vec<LongUrl>,
    more: u32,
}

impl LongUrls<'_> {
    /// `href` may be the beginning of a reference of this length.
    #[cold]
    fn add(&mut self, href: &str, length: u32) {
        if self.urls.len() == LONG_SAMPLE {
            self.more = self.more.saturating_add(1);
            return;
        }
        let mut url = LongUrl::found(self.page, self.base, href);
        url.length += (length as usize).saturating_sub(href.len());
        self.urls.push(url);
    }
}
