//! Redirects of every status, in chains and loops, on the site and to other hosts.

use super::{Feature, Visibility};
use crate::answer::Answer;
use crate::expected::Fate;
use crate::web::{Site, Web};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];
/// More hops than any crawler should follow.
const LONG: u32 = 40;

pub(super) fn features() -> Vec<Feature> {
    let mut features: Vec<Feature> =
        STATUSES.iter().map(|status| Feature::linked(format!("/r/{status}"), 200)).collect();
    features.extend([
        Feature::linked("/r/chain-3", 200),
        Feature::linked("/r/relative", 200),
        Feature::linked("/r/fragment", 200),
        Feature::linked("/r/other-host", 200),
        Feature::linked("/r/to-missing", 404),
        Feature::linked("/r/no-location", 302),
        Feature::failed("/r/long-40"),
        Feature::failed("/r/circle-a"),
        Feature::failed("/r/self"),
        Feature::new("/r/target", Visibility::Hidden, Fate::Answered { status: 200 }),
    ]);
    features
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let name = target.strip_prefix("/r/")?;
    if let Ok(status) = name.parse::<u16>() {
        let page = u32::from(status) % web.config.pages;
        return STATUSES.contains(&status).then(|| Answer::redirect(status, web.page_path(site, page)));
    }
    if let Some((kind, count)) = name.split_once('-')
        && let Ok(count) = count.parse::<u32>()
        && matches!(kind, "chain" | "long")
        && count <= LONG
    {
        let next = if count > 1 { format!("/r/{kind}-{}", count - 1) } else { web.page_path(site, 0) };
        return Some(Answer::redirect(302, next));
    }
    let other = web.site((site.index + 1) % web.config.hosts);
    Some(match name {
        "relative" => Answer::redirect(301, "target"),
        "fragment" => Answer::redirect(301, "/r/target#part"),
        "target" => super::special(web, site, target),
        "other-host" => Answer::redirect(302, format!("{}://{}/", web.scheme(), other.authority)),
        "to-missing" => Answer::redirect(302, "/r/nothing-here"),
        "no-location" => Answer::error(302),
        "circle-a" => Answer::redirect(302, "/r/circle-b"),
        "circle-b" => Answer::redirect(302, "/r/circle-a"),
        "self" => Answer::redirect(302, "/r/self"),
        _ => return None,
    })
}
