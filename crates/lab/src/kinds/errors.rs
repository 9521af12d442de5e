//! Error statuses: permanent, temporary, or because of too many requests.

use super::Feature;
use crate::answer::Answer;
use crate::web::{Site, Web};

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::linked("/missing/1", 404),
        Feature::linked("/missing/2", 404),
        Feature::linked("/missing/3", 404),
        Feature::linked("/gone/1", 410),
        Feature::linked("/error/401", 401),
        Feature::linked("/error/403", 403),
        Feature::linked("/error/500", 500),
        Feature::linked("/error/503-once", 200),
        Feature::linked("/error/500-once", 200),
    ]
}

pub(super) fn answer(web: &Web, site: &Site, target: &str, earlier: u32) -> Option<Answer> {
    if target.starts_with("/gone/") {
        return Some(Answer::error(410));
    }
    let name = target.strip_prefix("/error/")?;
    if let Some(status) = name.strip_suffix("-once") {
        let status = status.parse().ok()?;
        return Some(if earlier == 0 {
            Answer::error(status).header("Retry-After", "1")
        } else {
            super::special(web, site, target)
        });
    }
    Some(Answer::error(name.parse().ok()?))
}

pub(super) fn busy(web: &Web, site: &Site, target: &str, earlier: u32) -> Option<Answer> {
    let page = web.page_number(site, target)?;
    let refused = page % 7 == 3 && earlier == 0;
    refused.then(|| Answer::error(429).header("Retry-After", "1"))
}

pub(super) fn overloaded(target: &str, earlier: u32) -> Option<Answer> {
    let refused = target != "/robots.txt" && earlier < 2;
    refused.then(|| Answer::error(503).header("Retry-After", "1"))
}
