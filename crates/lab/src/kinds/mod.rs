//! The kinds of sites. Each has all the ordinary pages and, linked from its front page, what makes it special:
//! its [`Feature`]s, with what a correct crawl does about them.

mod archive;
mod big;
mod charsets;
pub(crate) mod cookies;
mod directives;
mod duplicates;
mod embedded;
mod errors;
mod oddities;
mod redirects;
mod robots;
mod shop;
mod sitemaps;
mod spellings;
mod transport;
mod traps;

use crate::answer::{Answer, Delivery, PagePlan};
use crate::expected::Fate;
use crate::web::{Site, Web, path_of};
use argiope_model::SkipReason;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(crate) use robots::ordinary_robots;

/// The behaviour of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteKind {
    Ordinary,
    /// Sets a cookie and redirects to the same URL if the cookie is missing.
    Cookies,
    /// Responds only after its form was sent ([`crate::LOGIN_USER`]). A crawl needs to be configured for it, so it is
    /// not among [`SiteKind::ALL`].
    Login,
    /// All redirect statuses, chains, loops, to other hosts.
    Redirects,
    /// 404, 410, 403, 500, and a 503 that heals.
    Errors,
    /// 429 with Retry-After for every seventh page, the first time.
    Busy,
    /// 503 with Retry-After for the first requests.
    Overloaded,
    /// The same page under two URLs, and nearly the same.
    Duplicates,
    /// A calendar without end.
    Calendar,
    /// Ever deeper paths, repeated segments, session ids in paths and queries.
    Endless,
    /// Numbered products: many, but not a trap.
    Shop,
    /// Numbered entries with their own texts that link only to each other: not a trap either.
    Archive,
    /// Each response takes 300 ms.
    Slow,
    /// Slow bytes, silences, resets, wrong lengths, chunks.
    Transport,
    /// A gzip bomb and a huge page.
    Big,
    /// Character sets by header, meta and byte order mark.
    Charsets,
    /// Malformed HTML, empty bodies, other content types.
    Oddities,
    /// noindex, nofollow, X-Robots-Tag, base, canonical.
    Directives,
    /// Pages that only sitemaps name: XML, index, gzip, text, RSS, Atom.
    Sitemaps,
    /// Pages that exist only in one spelling of their URL.
    Spellings,
    /// Pictures, drawings, frames, objects and a feed; some pictures are broken.
    Embedded,
    RobotsMissing,
    RobotsForbidden,
    /// Disallowed folders, and a redirect into one.
    RobotsPaths,
    RobotsWildcards,
    /// `Crawl-delay: 1`.
    RobotsCrawlDelay,
    /// A byte order mark before the first group.
    RobotsBom,
    /// In UTF-16.
    RobotsUtf16,
    /// 600 KB.
    RobotsHuge,
    /// 503, always.
    RobotsBroken,
    /// 503 the first time.
    RobotsFlaky,
    /// 429 with Retry-After the first time.
    RobotsBusy,
    RobotsRedirect,
    /// A group of its own for this crawler.
    RobotsGroups,
    /// `Disallow: /`.
    RobotsAll,
    /// An HTML page where robots.txt should be.
    RobotsHtml,
    /// Accepts connections and resets them.
    Dead,
}

impl SiteKind {
    pub const ALL: [SiteKind; 36] = [
        SiteKind::Ordinary,
        SiteKind::Cookies,
        SiteKind::Redirects,
        SiteKind::Errors,
        SiteKind::Busy,
        SiteKind::Overloaded,
        SiteKind::Duplicates,
        SiteKind::Calendar,
        SiteKind::Endless,
        SiteKind::Shop,
        SiteKind::Archive,
        SiteKind::Slow,
        SiteKind::Transport,
        SiteKind::Big,
        SiteKind::Charsets,
        SiteKind::Oddities,
        SiteKind::Directives,
        SiteKind::Sitemaps,
        SiteKind::Spellings,
        SiteKind::Embedded,
        SiteKind::RobotsMissing,
        SiteKind::RobotsForbidden,
        SiteKind::RobotsPaths,
        SiteKind::RobotsWildcards,
        SiteKind::RobotsCrawlDelay,
        SiteKind::RobotsBom,
        SiteKind::RobotsUtf16,
        SiteKind::RobotsHuge,
        SiteKind::RobotsBroken,
        SiteKind::RobotsFlaky,
        SiteKind::RobotsBusy,
        SiteKind::RobotsRedirect,
        SiteKind::RobotsGroups,
        SiteKind::RobotsAll,
        SiteKind::RobotsHtml,
        SiteKind::Dead,
    ];

    /// Kinds that show something within a few dozen requests, without waiting for timeouts and retries.
    pub const DEMO: [SiteKind; 16] = [
        SiteKind::Ordinary,
        SiteKind::Redirects,
        SiteKind::Duplicates,
        SiteKind::RobotsPaths,
        SiteKind::Sitemaps,
        SiteKind::Charsets,
        SiteKind::Oddities,
        SiteKind::Directives,
        SiteKind::Slow,
        SiteKind::RobotsWildcards,
        SiteKind::RobotsCrawlDelay,
        SiteKind::RobotsGroups,
        SiteKind::RobotsMissing,
        SiteKind::RobotsRedirect,
        SiteKind::RobotsAll,
        SiteKind::Ordinary,
    ];
}

/// How a crawl can come to know of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Linked from the front page.
    Linked,
    /// Linked with `rel=nofollow` from the front page.
    Nofollow,
    /// Linked or named elsewhere on the site: on another feature, in a sitemap.
    Elsewhere,
    /// Named nowhere.
    Hidden,
    /// The entrance of a trap: linked, with no expected result.
    Trap,
}

/// A special URL of a site.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    pub(crate) path: String,
    pub(crate) visibility: Visibility,
    pub(crate) fate: Fate,
    pub(crate) title: Option<String>,
}

impl Feature {
    fn new(path: impl Into<String>, visibility: Visibility, fate: Fate) -> Feature {
        Feature { path: path.into(), visibility, fate, title: None }
    }

    /// Linked, and answered in the end with this status.
    fn linked(path: impl Into<String>, status: u16) -> Feature {
        Feature::new(path, Visibility::Linked, Fate::Answered { status })
    }

    fn refused(path: impl Into<String>, reason: SkipReason) -> Feature {
        Feature::new(path, Visibility::Linked, Fate::Refused(reason))
    }

    fn failed(path: impl Into<String>) -> Feature {
        Feature::new(path, Visibility::Linked, Fate::Failed)
    }

    fn titled(mut self, title: impl Into<String>) -> Feature {
        self.title = Some(title.into());
        self
    }
}

/// The special URLs of a site.
pub(crate) fn features(web: &Web, site: &Site) -> Vec<Feature> {
    match site.kind {
        SiteKind::Redirects => redirects::features(),
        SiteKind::Errors => errors::features(),
        SiteKind::Duplicates => duplicates::features(web),
        SiteKind::Calendar | SiteKind::Endless => traps::features(site.kind),
        SiteKind::Shop => shop::features(web),
        SiteKind::Archive => archive::features(web),
        SiteKind::Transport => transport::features(),
        SiteKind::Big => big::features(),
        SiteKind::Charsets => charsets::features(),
        SiteKind::Oddities => oddities::features(),
        SiteKind::Directives => directives::features(),
        SiteKind::Sitemaps => sitemaps::features(),
        SiteKind::Spellings => spellings::features(),
        SiteKind::Embedded => embedded::features(),
        other => robots::features(other),
    }
}

/// What a site answers because of its kind; `None` leaves it to the ordinary web.
pub(crate) fn answer(web: &Web, site: &Site, target: &str, earlier: u32) -> Option<Answer> {
    match site.kind {
        SiteKind::Ordinary | SiteKind::Cookies | SiteKind::Login => None,
        SiteKind::Redirects => redirects::answer(web, site, target),
        SiteKind::Errors => errors::answer(web, site, target, earlier),
        SiteKind::Busy => errors::busy(web, site, target, earlier),
        SiteKind::Overloaded => errors::overloaded(target, earlier),
        SiteKind::Duplicates => duplicates::answer(web, site, target),
        SiteKind::Calendar | SiteKind::Endless => traps::answer(web, site, target),
        SiteKind::Shop => shop::answer(web, site, target),
        SiteKind::Archive => archive::answer(web, site, target),
        SiteKind::Slow => Some(slow(web, site, target)),
        SiteKind::Transport => transport::answer(web, site, target),
        SiteKind::Big => big::answer(target),
        SiteKind::Charsets => charsets::answer(target),
        SiteKind::Oddities => oddities::answer(web, site, target),
        SiteKind::Directives => directives::answer(web, site, target),
        SiteKind::Sitemaps => sitemaps::answer(web, site, target),
        SiteKind::Spellings => spellings::answer(web, site, target),
        SiteKind::Embedded => embedded::answer(web, site, target),
        SiteKind::Dead => Some(Answer::error(503).delivered(Delivery::Reset)),
        other => robots::answer(web, site, other, target, earlier),
    }
}

fn slow(web: &Web, site: &Site, target: &str) -> Answer {
    let ordinary = Site { kind: SiteKind::Ordinary, ..site.clone() };
    web.answer(&ordinary, target, 0).late(Duration::from_millis(300))
}

/// Whether a response depends on the number of requests. The server counts only those. Requests to an overloaded site
/// count together.
pub(crate) fn counter(web: &Web, site: &Site, target: &str) -> Option<String> {
    let counted = match site.kind {
        SiteKind::Errors => target.starts_with("/error/"),
        SiteKind::Busy => web.page_number(site, target).is_some(),
        SiteKind::RobotsFlaky | SiteKind::RobotsBusy => target == "/robots.txt",
        SiteKind::Overloaded => return (target != "/robots.txt").then(String::new),
        _ => false,
    };
    counted.then(|| path_of(target).to_owned())
}

/// No ordinary page of such a site may be requested.
pub(crate) fn barred(kind: SiteKind) -> bool {
    matches!(page_fate(kind), Some(Fate::Refused(_)))
}

/// The expected result of ordinary pages, if they are not simply fetched.
pub(crate) fn page_fate(kind: SiteKind) -> Option<Fate> {
    match kind {
        SiteKind::RobotsAll => Some(Fate::Refused(SkipReason::RobotsDisallowed)),
        SiteKind::RobotsBroken | SiteKind::Dead => Some(Fate::Refused(SkipReason::RobotsUnreachable)),
        _ => None,
    }
}

/// Where endless URLs begin.
pub(crate) fn traps_of(kind: SiteKind) -> &'static [&'static str] {
    match kind {
        SiteKind::Calendar => &["/calendar/"],
        SiteKind::Endless => &["/deep/", "/again/", "/browse"],
        _ => &[],
    }
}

/// The list on the front page that leads to the special URLs.
pub(crate) fn write_links(web: &Web, site: &Site, out: &mut Vec<u8>) {
    let features = features(web, site);
    if features.is_empty() {
        return;
    }
    out.extend_from_slice(b"\n<ul class=\"special\">");
    for feature in features {
        let rel = match feature.visibility {
            Visibility::Linked | Visibility::Trap => "",
            Visibility::Nofollow => " rel=\"nofollow\"",
            Visibility::Elsewhere | Visibility::Hidden => continue,
        };
        let path = feature.path.replace('&', "&amp;");
        out.extend_from_slice(format!("\n<li><a href=\"{path}\"{rel}>{path}</a></li>").as_bytes());
    }
    out.extend_from_slice(b"\n</ul>");
}

/// A page that is not among the ordinary ones, with its own prose.
fn special_page(web: &Web, site: &Site, path: &str, title: &str) -> PagePlan {
    PagePlan {
        content: Some(web.content_key(site, path)),
        title: Some(title.to_owned()),
        path: Some(path.to_owned()),
        ..PagePlan::ordinary(0)
    }
}

fn special(web: &Web, site: &Site, path: &str) -> Answer {
    Answer::page(special_page(web, site, path, path.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LabConfig;

    #[test]
    fn every_feature_answers_as_its_fate_says() {
        let web = Web::new(LabConfig::mixed()).unwrap();
        for index in 0..web.config().hosts {
            let site = web.site(index);
            for feature in features(&web, &site) {
                let mut answer = web.answer(&site, &feature.path, 9);
                for _ in 0..6 {
                    if !(301..=308).contains(&answer.status) {
                        break;
                    }
                    let location = answer.headers.iter().find(|(name, _)| *name == "Location");
                    let Some((_, location)) = location else { break };
                    let base =
                        url::Url::parse(&format!("http://{}{}", site.authority, feature.path)).unwrap();
                    let mut target = base.join(location).unwrap();
                    target.set_fragment(None);
                    if target.authority() != site.authority {
                        answer = Answer::text("elsewhere");
                        break;
                    }
                    let path = &target[url::Position::BeforePath..];
                    let barred =
                        |other: &Feature| other.path == path && matches!(other.fate, Fate::Refused(_));
                    if features(&web, &site).iter().any(barred) {
                        break;
                    }
                    answer = web.answer(&site, path, 9);
                }
                match feature.fate {
                    Fate::Answered { status } => {
                        assert_eq!(answer.status, status, "{:?} {}", site.kind, feature.path);
                    }
                    Fate::Failed => assert!(
                        (300..400).contains(&answer.status) || answer.delivery != Delivery::Whole,
                        "{:?} {}",
                        site.kind,
                        feature.path
                    ),
                    Fate::Cut | Fate::Refused(_) => {}
                }
            }
        }
    }
}
