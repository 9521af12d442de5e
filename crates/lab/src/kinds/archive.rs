//! An archive: numbered entries with their own texts that link only to the entries before and after them. It looks like
//! a trap and is not.

use super::{Feature, Visibility};
use crate::answer::Answer;
use crate::expected::Fate;
use crate::random::Random;
use crate::web::{Site, Web};

/// The range of an entry's links.
const STEPS: [u32; 7] = [1, 5, 25, 125, 625, 3125, 15625];
const WORDS: u32 = 120;

fn entries(web: &Web) -> u32 {
    web.config.pages.saturating_mul(3)
}

pub(super) fn features(web: &Web) -> Vec<Feature> {
    let elsewhere = |number: u32| {
        Feature::new(format!("/entry/{number}"), Visibility::Elsewhere, Fate::Answered { status: 200 })
    };
    let first = Feature::linked("/entry/1", 200);
    std::iter::once(first).chain((2..=entries(web)).map(elsewhere)).collect()
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let number: u32 = target.strip_prefix("/entry/")?.parse().ok()?;
    let exists = |number: &u32| (1..=entries(web)).contains(number);
    if !exists(&number) {
        return None;
    }
    let before = STEPS.iter().filter_map(|step| number.checked_sub(*step));
    let after = STEPS.iter().map(|step| number + step);
    // The title is the same on all of them.
    let mut page = b"<!doctype html><html lang=\"en\"><title>From the archive</title>\n<p>".to_vec();
    let mut random = Random::new(web.content_key(site, target));
    web.vocabulary.run_of_words(&mut random, WORDS, &mut page);
    page.extend_from_slice(b"</p>\n<p class=\"pager\">");
    for other in before.chain(after).filter(exists) {
        page.extend_from_slice(format!("\n<a href=\"/entry/{other}\">{other}</a>").as_bytes());
    }
    page.extend_from_slice(b"\n</p>\n");
    Some(Answer::bytes("text/html; charset=utf-8", page))
}
