//! robots.txt of all kinds.

use super::{Feature, SiteKind, special};
use crate::answer::Answer;
use crate::web::{Site, Web, path_of};
use argiope_model::SkipReason;

const DISALLOWED: SkipReason = SkipReason::RobotsDisallowed;

/// Allows all that there is.
pub(crate) fn ordinary_robots() -> Answer {
    Answer::text("# Welcome\nUser-agent: *\nDisallow: /admin/\nDisallow: /search?\nAllow: /\n")
}

pub(super) fn features(kind: SiteKind) -> Vec<Feature> {
    let private =
        || vec![Feature::refused("/private/1", DISALLOWED), Feature::refused("/private/2", DISALLOWED)];
    match kind {
        SiteKind::RobotsPaths => {
            let mut features = private();
            features.push(Feature::linked("/private/open/1", 200));
            // The redirect is requested, its target is not.
            features.push(Feature::failed("/hop/into-private"));
            features
        }
        SiteKind::RobotsWildcards => vec![
            Feature::refused("/w/paper.doc", DISALLOWED),
            Feature::linked("/w/paper.doc.txt", 200),
            Feature::refused("/w/page?print=1", DISALLOWED),
            Feature::linked("/w/page?size=1", 200),
            Feature::refused("/w/a/secret/b", DISALLOWED),
            Feature::linked("/w/a/secret/public", 200),
        ],
        SiteKind::RobotsBom
        | SiteKind::RobotsUtf16
        | SiteKind::RobotsHuge
        | SiteKind::RobotsFlaky
        | SiteKind::RobotsBusy
        | SiteKind::RobotsRedirect => private(),
        SiteKind::RobotsGroups => {
            vec![Feature::linked("/private/1", 200), Feature::refused("/not-for-argiope/1", DISALLOWED)]
        }
        _ => Vec::new(),
    }
}

const PRIVATE: &str = "User-agent: *\nDisallow: /private/\n";

pub(super) fn answer(web: &Web, site: &Site, kind: SiteKind, target: &str, earlier: u32) -> Option<Answer> {
    if target != "/robots.txt" {
        return page(web, site, kind, target);
    }
    Some(match kind {
        SiteKind::RobotsMissing => Answer::not_found(),
        SiteKind::RobotsForbidden => Answer::error(403),
        SiteKind::RobotsPaths => Answer::text(format!("{PRIVATE}Allow: /private/open/\n")),
        SiteKind::RobotsWildcards => Answer::text(
            "User-agent: *\nDisallow: /*.doc$\nDisallow: /w/*?print=\nDisallow: /*/secret/\n\
             Allow: /*/secret/public$\n",
        ),
        SiteKind::RobotsCrawlDelay => Answer::text("User-agent: *\nCrawl-delay: 1\nDisallow: /admin/\n"),
        SiteKind::RobotsBom => Answer::text(format!("\u{feff}{PRIVATE}")),
        SiteKind::RobotsUtf16 => Answer::bytes("text/plain", utf16(PRIVATE)),
        SiteKind::RobotsHuge => Answer::text(huge()),
        SiteKind::RobotsBroken => Answer::error(503),
        SiteKind::RobotsFlaky if earlier == 0 => Answer::error(503),
        SiteKind::RobotsBusy if earlier == 0 => Answer::error(429).header("Retry-After", "1"),
        SiteKind::RobotsFlaky | SiteKind::RobotsBusy => Answer::text(PRIVATE),
        SiteKind::RobotsRedirect => Answer::redirect(301, "/elsewhere/robots.txt"),
        SiteKind::RobotsGroups => Answer::text(
            "User-agent: otherbot\nUser-agent: anotherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n\n\
             User-agent: Argiope\nDisallow: /not-for-argiope/\n",
        ),
        SiteKind::RobotsAll => Answer::text("User-agent: *\nDisallow: /\n"),
        SiteKind::RobotsHtml => Answer::not_found().with_status(200),
        _ => return None,
    })
}

fn page(web: &Web, site: &Site, kind: SiteKind, target: &str) -> Option<Answer> {
    if kind == SiteKind::RobotsRedirect && target == "/elsewhere/robots.txt" {
        return Some(Answer::text(PRIVATE));
    }
    if kind == SiteKind::RobotsPaths && target == "/hop/into-private" {
        return Some(Answer::redirect(302, "/private/1"));
    }
    let known = features(kind).iter().any(|feature| feature.path == target);
    known.then(|| special(web, site, path_of(target)))
}

/// As saved by a Windows editor.
fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Over the 500 KiB that must be read, with a rule for everybody at the end that may be ignored.
fn huge() -> String {
    let mut text = String::from(PRIVATE);
    for number in 0..30_000 {
        text.push_str(&format!("Disallow: /no/{number:08}\n"));
    }
    text.push_str("Disallow: /\n");
    text
}
