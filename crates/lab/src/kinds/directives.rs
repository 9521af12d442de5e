//! Robots directives in pages, in headers and on links; and `<base>`.

use super::{Feature, Visibility, special, special_page};
use crate::answer::{Answer, PagePlan};
use crate::expected::Fate;
use crate::web::{Site, Web};
use argiope_model::SkipReason;

/// Pages that only a nofollow link leads to.
const UNFOLLOWED: [&str; 3] = ["/m/behind-meta", "/m/behind-header", "/m/behind-none"];

pub(super) fn features() -> Vec<Feature> {
    let linked =
        ["noindex", "nofollow", "none", "x-noindex", "x-nofollow", "other-agent", "canonical", "base"];
    let mut features: Vec<Feature> =
        linked.iter().map(|name| Feature::linked(format!("/m/{name}"), 200)).collect();
    let refused = Fate::Refused(SkipReason::Filtered);
    features.extend(UNFOLLOWED.iter().map(|path| Feature::new(*path, Visibility::Hidden, refused)));
    features.push(Feature::new("/m/behind-rel", Visibility::Nofollow, refused));
    let ok = Fate::Answered { status: 200 };
    for path in ["/m/after-noindex", "/m/after-other-agent", "/m/sub/leaf"] {
        features.push(Feature::new(path, Visibility::Elsewhere, ok));
    }
    features
}

fn link(path: &str) -> String {
    format!("\n<p><a href=\"{path}\">further</a></p>")
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let name = target.strip_prefix("/m/")?;
    let meta = |content: &str| format!("\n<meta name=\"robots\" content=\"{content}\">");
    let (head, body) = match name {
        "noindex" => (meta("noindex"), link("/m/after-noindex")),
        "nofollow" => return Some(bare(&meta("NoFollow"), "/m/behind-meta")),
        "none" => return Some(bare(&meta("none"), "/m/behind-none")),
        "x-nofollow" => return Some(bare("", "/m/behind-header").header("X-Robots-Tag", "nofollow")),
        "x-noindex" => return Some(special(web, site, target).header("X-Robots-Tag", "noindex, noarchive")),
        "other-agent" => {
            let plan = special_page(web, site, target, name);
            let plan = PagePlan { body: link("/m/after-other-agent"), ..plan };
            return Some(Answer::page(plan).header("X-Robots-Tag", "otherbot: noindex, nofollow"));
        }
        "canonical" => (String::new(), String::new()),
        "base" => return Some(Answer::bytes(crate::answer::HTML, BASE.as_bytes().to_vec())),
        "after-noindex" | "after-other-agent" | "sub/leaf" | "behind-meta" | "behind-none"
        | "behind-header" | "behind-rel" => return Some(special(web, site, target)),
        _ => return None,
    };
    // The canonical page claims to be the first ordinary one.
    let path =
        if name == "canonical" { web.page_path(site, 1 % web.config.pages) } else { target.to_owned() };
    let plan = special_page(web, site, target, name);
    Some(Answer::page(PagePlan { head, body, path: Some(path), ..plan }))
}

const BASE: &str = "<!DOCTYPE html><html><head><base href=\"/m/sub/\"><title>Based elsewhere</title></head>\
    <body><a href=\"leaf\">leaf</a></body></html>\n";

/// A page without navigation and with a single link, so that nothing else links to its target.
fn bare(head: &str, path: &str) -> Answer {
    let html = format!(
        "<!DOCTYPE html><html><head><title>Not to follow</title>{head}</head><body>{}</body></html>\n",
        link(path)
    );
    Answer::bytes(crate::answer::HTML, html.into_bytes())
}
