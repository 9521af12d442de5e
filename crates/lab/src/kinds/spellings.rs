//! Pages that exist only in one spelling of their URL, as on many servers: the order of parameters, doubled slashes,
//! escapes, parameters that others would drop. Two redirect to another spelling of the same URL.

use super::Feature;
use crate::answer::Answer;
use crate::web::{Site, Web};

/// 200 in this spelling, 404 in any other.
const EXACT: [&str; 8] = [
    "/exact/order?z=1&a=2&m=3",
    "/exact//doubled///slashes/",
    "/exact/%7Euser/caf%c3%a9",
    "/exact/tracked?id=7&utm_source=mail",
    "/exact/ref?ref=main",
    "/exact/empty?",
    "/exact/gaps?a&&b=&",
    "/exact/odd?q=[1]|{2}",
];

/// From a spelling to the one that the server requires.
const REDIRECTS: [(&str, &str); 2] =
    [("/exact/turn?a=1&b=2", "/exact/turn?b=2&a=1"), ("/exact/d/e", "/exact/d//e")];

pub(super) fn features() -> Vec<Feature> {
    let pages = EXACT.iter().chain(REDIRECTS.iter().map(|(from, _)| from));
    pages.map(|path| Feature::linked(*path, 200)).collect()
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    if let Some((_, to)) = REDIRECTS.iter().find(|(from, _)| *from == target) {
        return Some(Answer::redirect(302, *to));
    }
    let insisted = REDIRECTS.iter().any(|(_, to)| *to == target);
    if insisted || EXACT.contains(&target) {
        return Some(super::special(web, site, target));
    }
    target.starts_with("/exact").then(|| Answer::error(404))
}
