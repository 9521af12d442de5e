//! Endless sites: a calendar, growing paths, and URLs that change with each visit.

use super::{Feature, SiteKind, Visibility, special_page};
use crate::answer::{Answer, PagePlan};
use crate::expected::Fate;
use crate::random::mix_text;
use crate::web::{Site, Web, path_of};

/// The longest path that the server accepts.
const LONGEST: usize = 3000;

pub(super) fn features(kind: SiteKind) -> Vec<Feature> {
    let entrances: &[&str] = match kind {
        SiteKind::Calendar => &["/calendar/2024/05"],
        _ => &["/deep/1", "/again/a/b", "/browse?visit=1"],
    };
    let fate = Fate::Answered { status: 200 };
    let mut features: Vec<Feature> =
        entrances.iter().map(|path| Feature::new(*path, Visibility::Trap, fate)).collect();
    if kind == SiteKind::Endless {
        features.push(Feature::linked("/sessions/start", 200));
    }
    features
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    if target.len() > LONGEST {
        return Some(Answer::not_found());
    }
    let links = match site.kind {
        SiteKind::Calendar => calendar(target.strip_prefix("/calendar/")?)?,
        _ => endless(web, site, target)?,
    };
    let mut body = String::from("\n<ul>");
    for link in links {
        body.push_str(&format!("\n<li><a href=\"{link}\">{link}</a></li>"));
    }
    body.push_str("\n</ul>");
    // A trap shows the same page again and again: the contents follow from its entrance, not from its URL.
    let content = web.content_key(site, path_of(target).get(..5).unwrap_or("/"));
    let plan = special_page(web, site, path_of(target), "One of many");
    Some(Answer::page(PagePlan { content: Some(content), body, ..plan }))
}

/// Month after month, and the days of each.
fn calendar(date: &str) -> Option<Vec<String>> {
    let mut parts = date.split('/');
    let year: i32 = parts.next()?.parse().ok()?;
    let month: i32 = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let page =
        |months: i32| format!("/calendar/{:04}/{:02}", months.div_euclid(12), months.rem_euclid(12) + 1);
    let here = year.checked_mul(12)?.checked_add(month - 1)?;
    let mut links = vec![page(here.checked_add(1)?), page(here.checked_sub(1)?)];
    if parts.next().is_none() {
        links.extend((1..=28).map(|day| format!("/calendar/{year:04}/{month:02}/{day:02}")));
    }
    Some(links)
}

fn endless(web: &Web, site: &Site, target: &str) -> Option<Vec<String>> {
    let path = path_of(target);
    if path.starts_with("/deep/") {
        let level = path.matches('/').count();
        return Some(vec![format!("{path}/{level}"), format!("{path}/more")]);
    }
    if path.starts_with("/again/") {
        return Some(vec![format!("{path}/a/b"), format!("{path}/b/a")]);
    }
    if path == "/browse" {
        let visit = mix_text(site.key, target);
        return Some((0..4).map(|n| format!("/browse?visit={:x}", visit.wrapping_add(n))).collect());
    }
    // The same few pages with a session in each link.
    let session = mix_text(site.key, target);
    let page = |number: u32| web.page_path(site, number % web.config.pages);
    (path == "/sessions/start").then(|| {
        vec![
            format!("{};jsessionid={session:016X}", page(1)),
            format!("{}?PHPSESSID={session:016x}", page(2)),
            format!("{}?sid={session:016x}", page(3)),
        ]
    })
}
