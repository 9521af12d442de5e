//! The same bytes under a second URL, and pages that differ only in a sentence.

use super::{Feature, special_page};
use crate::answer::{Answer, PagePlan};
use crate::random::mix;
use crate::web::{Site, Web};

const COPIES: u32 = 5;

pub(super) fn features(web: &Web) -> Vec<Feature> {
    let pages = 1..web.config.pages.min(COPIES + 1);
    pages
        .flat_map(|page| {
            [Feature::linked(format!("/copy/{page}"), 200), Feature::linked(format!("/print/{page}"), 200)]
        })
        .collect()
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|page| (1..=COPIES).contains(page));
    if let Some(page) = target.strip_prefix("/copy/").and_then(number) {
        return Some(Answer::page(PagePlan::ordinary(page)));
    }
    let page = target.strip_prefix("/print/").and_then(number)?;
    let mut title = Vec::new();
    web.write_title(site, page, &mut title);
    let title = String::from_utf8(title).unwrap_or_default();
    Some(Answer::page(PagePlan {
        // The prose of the ordinary page: see `page::write`.
        content: Some(mix(site.key ^ 0x70_6167_6573, u64::from(page))),
        body: String::from("\n<p>This is the version for printing.</p>"),
        ..special_page(web, site, target, &title)
    }))
}
