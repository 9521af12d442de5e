//! The graph of hosts: which links of a home page count. In page order, the first ones that lead to other hosts, one
//! per host, except those that the job's rules exclude.

use super::JobRules;
use argiope_model::Url;

/// A host that a home page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its home page, with the scheme of the link.
    pub home: Url,
    /// Every link to this host is `nofollow`.
    pub nofollow: bool,
}

/// `https://blog.example.com/2024/a?b` -> `https://blog.example.com/`.
pub fn home_page(url: &Url) -> Option<Url> {
    Url::from_stored(&format!("{}/", url.origin())).ok()
}

/// The first `most` hosts that `links` (URL, nofollow) lead to, in order. `own` are the names of the page itself: the
/// host that was requested, and the target of its redirects.
pub fn select_targets<'l>(
    own: &[&str],
    links: impl IntoIterator<Item = (&'l Url, bool)>,
    rules: &JobRules,
    most: usize,
) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    // A page links to the same few excluded hosts again and again: consecutive ones are checked once.
    let mut excluded: Option<&str> = None;
    for (url, nofollow) in links {
        let host = url.host();
        if own.contains(&host) || excluded == Some(host) {
            continue;
        }
        if let Some(known) = targets.iter_mut().find(|target| target.home.host() == host) {
            known.nofollow &= nofollow;
            continue;
        }
        if targets.len() >= most {
            continue;
        }
        // The depth of the page decides what is requested next, not which links count.
        match home_page(url).filter(|home| rules.judge(home, 0).is_ok()) {
            Some(home) => targets.push(Target { home, nofollow }),
            None => excluded = Some(host),
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{JobSpec, Millis, NormalRules, PublicSuffixes, Scope};
    use std::sync::Arc;

    fn rules(exclude: &[&str]) -> JobRules {
        let spec = JobSpec {
            scope: Scope::Any,
            max_depth: Some(0),
            exclude_domains: exclude.iter().map(|pattern| (*pattern).to_owned()).collect(),
            ..JobSpec::default()
        };
        JobRules::compile(&spec, &[], &Arc::new(PublicSuffixes::bundled()), Millis(0)).unwrap()
    }

    fn select(own: &[&str], links: &[&str], exclude: &[&str], most: usize) -> Vec<String> {
        let links: Vec<Url> =
            links.iter().map(|link| Url::parse(link, &NormalRules::default()).unwrap()).collect();
        let links = links.iter().map(|url| (url, false));
        let targets = select_targets(own, links, &rules(exclude), most);
        targets.iter().map(|target| target.home.as_str().to_owned()).collect()
    }

    #[test]
    fn other_hosts_are_taken_in_order_and_once_each() {
        let links = [
            "https://a.test/own/page",
            "https://b.test/deep/page?x=1",
            "http://blog.a.test/",
            "https://b.test/again",
            "http://b.test/by-another-scheme",
            "https://c.test:8443/x",
            "https://c.test/x",
        ];
        assert_eq!(
            select(&["a.test"], &links, &[], 10),
            ["https://b.test/", "http://blog.a.test/", "https://c.test:8443/", "https://c.test/"]
        );
        assert_eq!(select(&["a.test"], &links, &[], 2), ["https://b.test/", "http://blog.a.test/"]);
        assert_eq!(select(&["a.test", "blog.a.test"], &links, &[], 2).len(), 2);
        assert_eq!(select(&["a.test"], &links, &[], 0).len(), 0);
    }

    #[test]
    fn excluded_hosts_take_no_place_and_depth_has_no_say() {
        let links = ["https://ads.b.test/", "https://ads.b.test/2", "https://roads.test/", "https://c.test/"];
        assert_eq!(
            select(&["a.test"], &links, &[r"(^|\.)ads\."], 2),
            ["https://roads.test/", "https://c.test/"]
        );
    }

    #[test]
    fn a_host_is_followed_if_one_of_its_links_may_be() {
        let urls: Vec<Url> = ["https://b.test/1", "https://b.test/2", "https://c.test/"]
            .iter()
            .map(|link| Url::parse(link, &NormalRules::default()).unwrap())
            .collect();
        let links = urls.iter().zip([true, false, true]);
        let targets = select_targets(&["a.test"], links, &rules(&[]), 10);
        assert_eq!(targets.iter().map(|t| t.nofollow).collect::<Vec<_>>(), [false, true]);
    }
}
