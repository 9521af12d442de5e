//! What the colours of nodes mean: their root domain, their host, or their section of the site.

use super::LinkGraph;
use super::nodes::{Level, host_of};
use argiope_config::Failure;
use argiope_graph::{Graph, Groups};
use argiope_model::PublicSuffixes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Root domain, by the Public Suffix List.
    Domain,
    Host,
    /// The first part of the path.
    Section,
}

/// By default the first of domain, host and section in which nodes differ.
pub(super) fn groups(source: &LinkGraph, graph: &Graph, wish: Option<GroupBy>) -> Result<Groups, Failure> {
    let suffixes = &source.suffixes;
    let by = |by: GroupBy| make(by, source.level, suffixes, graph);
    let tries = match (wish, source.level) {
        (Some(wish), _) => return by(wish),
        (None, Level::Page) => [GroupBy::Domain, GroupBy::Host, GroupBy::Section].as_slice(),
        (None, Level::Host | Level::Domain) => &[GroupBy::Domain, GroupBy::Host],
    };
    let mut last = by(GroupBy::Domain)?;
    for one in tries.iter().skip(1) {
        if last.len() > 1 {
            break;
        }
        last = by(*one)?;
    }
    Ok(last)
}

fn make(by: GroupBy, level: Level, suffixes: &PublicSuffixes, graph: &Graph) -> Result<Groups, Failure> {
    let host = |name| if level == Level::Page { host_of(name) } else { name };
    let groups = match by {
        GroupBy::Domain => Groups::new("domain", graph, |name| suffixes.root_domain(host(name))),
        GroupBy::Host => Groups::new("host", graph, host),
        GroupBy::Section => Groups::new("section", graph, section_of),
    };
    groups.map_err(Failure::failed)
}

/// `/blog` of `https://example.com/blog/2024/post`; `/` of pages at the top.
fn section_of(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let Some(path) = url.get(after_scheme..).and_then(|rest| rest.find('/')) else { return "/" };
    let path = url.get(after_scheme + path..).unwrap_or("/");
    let path = path.split('?').next().unwrap_or(path);
    match path.get(1..).and_then(|rest| rest.find('/')) {
        Some(end) => path.get(..end + 1).unwrap_or("/"),
        None => "/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_the_first_directory() {
        for (url, section) in [
            ("https://a.test/", "/"),
            ("https://a.test/page", "/"),
            ("https://a.test/blog/", "/blog"),
            ("https://a.test/blog/2024/post?x=/y/z", "/blog"),
            ("https://a.test/?next=/blog/1", "/"),
            ("a.test", "/"),
        ] {
            assert_eq!(section_of(url), section, "{url}");
        }
    }
}
