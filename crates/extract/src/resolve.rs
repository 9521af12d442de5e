//! References become URLs: joined to the page's base, in normal form, each once. Resolving again what every page of a
//! site repeats was measured to cost no more than remembering it.

use crate::links::{LinkKind, Passed, Rel};
use crate::page::{Extracted, Scratch};
use argiope_model::{Base, NormalRules, Url};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use xxhash_rust::xxh3::xxh3_64;

/// A link of a page, to a URL in normal form.
#[derive(Clone, Debug)]
pub struct Link<'e> {
    pub url: Url,
    pub anchor: &'e str,
    /// The `rel` attribute as written.
    pub rel_text: &'e str,
    pub rel: Rel,
    pub kind: LinkKind,
    /// It stands in an `<a>`, be it among others.
    pub in_anchor: bool,
}

/// The links of a page, each URL once, in the order of the page.
#[derive(Debug)]
pub struct Resolved<'e> {
    pub links: Vec<Link<'e>>,
    pub canonical: Option<Url>,
    /// References that are no URL that can be crawled.
    pub not_crawlable: u32,
}

/// Which URLs a page has already linked to: hash -> position. URLs are compared as well, so that a collision costs a
/// repetition and never a link.
pub(crate) type Positions = HashMap<u64, u32, BuildHasherDefault<Passed>>;

/// Makes URLs of the references of a page. `page` is where it came from, after redirects.
pub fn resolve<'e>(
    extracted: &'e Extracted,
    page: &Url,
    rules: &NormalRules,
    scratch: &mut Scratch,
) -> Resolved<'e> {
    let own = Base::new(page);
    // A `<base>` that is no URL counts as none.
    let rebased = extracted.base.as_deref().and_then(|href| own.rebase(href).ok());
    let base = rebased.as_ref().unwrap_or(&own);
    let positions = &mut scratch.positions;
    positions.clear();
    let mut links: Vec<Link<'e>> = Vec::with_capacity(extracted.links.len());
    let mut not_crawlable = extracted.links.not_crawlable;
    for found in extracted.links.iter() {
        let Ok(url) = base.join(extracted.links.href(found), rules) else {
            not_crawlable = not_crawlable.saturating_add(1);
            continue;
        };
        let anchor = extracted.links.anchor(found);
        let next = u32::try_from(links.len()).unwrap_or(u32::MAX);
        let position = *positions.entry(xxh3_64(url.as_str().as_bytes())).or_insert(next);
        match links.get_mut(position as usize) {
            Some(link) if link.url == url => {
                link.rel = link.rel.and(found.rel);
                link.in_anchor |= found.in_anchor;
                if link.anchor.is_empty() {
                    link.anchor = anchor;
                }
            }
            _ => links.push(Link {
                url,
                anchor,
                rel_text: extracted.links.rel_text(found),
                rel: found.rel,
                kind: found.kind,
                in_anchor: found.in_anchor,
            }),
        }
    }
    let canonical = extracted.canonical.as_deref().and_then(|href| base.join(href, rules).ok());
    Resolved { links, canonical, not_crawlable }
}
