//! The nodes of a graph: pages, hosts or root domains.

use argiope_graph::names::Names;
use argiope_graph::{GraphBuilder, GraphError};
use argiope_model::{NormalRules, PublicSuffixes, Url};
use std::collections::HashMap;
use std::sync::Arc;

/// The kind of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Page,
    Host,
    Domain,
}

impl Level {
    pub fn one(self) -> &'static str {
        match self {
            Level::Page => "page",
            Level::Host => "host",
            Level::Domain => "domain",
        }
    }

    pub fn many(self) -> &'static str {
        match self {
            Level::Page => "pages",
            Level::Host => "hosts",
            Level::Domain => "domains",
        }
    }
}

/// The nodes of URLs and hosts.
pub(super) struct Nodes {
    pub(super) builder: GraphBuilder,
    level: Level,
    pub(super) suffixes: Arc<PublicSuffixes>,
    rules: NormalRules,
    /// Normal forms of pages whose nodes are named by another spelling.
    spelled: HashMap<Box<str>, u32>,
    /// Each host is looked up in the Public Suffix List once.
    hosts: Names,
    domains_of_hosts: Vec<u32>,
}

impl Nodes {
    pub(super) fn new(level: Level, suffixes: Arc<PublicSuffixes>, rules: NormalRules) -> Nodes {
        Nodes {
            builder: GraphBuilder::default(),
            level,
            suffixes,
            rules,
            spelled: HashMap::new(),
            hosts: Names::default(),
            domains_of_hosts: Vec::new(),
        }
    }

    /// The normal form of a URL as it was found.
    pub(super) fn normal(&self, url: &str) -> Box<str> {
        Url::parse(url, &self.rules).map_or_else(|_| url.into(), |url| url.normal().into())
    }

    pub(super) fn of_url(&mut self, url: &str) -> Result<u32, GraphError> {
        match self.level {
            Level::Page => self.of_page(url),
            Level::Host | Level::Domain => self.of_host(host_of(url)),
        }
    }

    /// Spellings of one URL are one node, named by the first.
    fn of_page(&mut self, url: &str) -> Result<u32, GraphError> {
        let normal = self.normal(url);
        if let Some(node) = self.spelled.get(&normal) {
            return Ok(*node);
        }
        if *normal == *url || self.builder.find(&normal).is_some() {
            return self.builder.node(&normal);
        }
        let node = self.builder.node(url)?;
        self.spelled.insert(normal, node);
        Ok(node)
    }

    pub(super) fn of_host(&mut self, host: &str) -> Result<u32, GraphError> {
        if self.level != Level::Domain {
            return self.builder.node(host);
        }
        let number = self.hosts.intern(host)? as usize;
        if let Some(domain) = self.domains_of_hosts.get(number) {
            return Ok(*domain);
        }
        let domain = self.builder.node(self.suffixes.root_domain(host))?;
        self.domains_of_hosts.push(domain);
        Ok(domain)
    }
}

/// `host` or `host:port` of a stored URL.
pub(super) fn host_of(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    after.split(['/', '?']).next().unwrap_or(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_url_are_one_node_with_the_name_of_the_first() {
        let mut nodes = Nodes::new(Level::Page, Arc::new(PublicSuffixes::bundled()), NormalRules::default());
        let first = nodes.of_url("http://a.test/x?utm_source=mail").unwrap();
        assert_eq!(nodes.of_url("http://a.test/x").unwrap(), first);
        assert_ne!(nodes.of_url("http://a.test/y").unwrap(), first);
        let graph = nodes.builder.build();
        assert_eq!(graph.name(first), "http://a.test/x?utm_source=mail");
    }

    #[test]
    fn hosts_of_a_domain_are_one_node_where_nodes_are_domains() {
        let suffixes = || Arc::new(PublicSuffixes::bundled());
        let mut nodes = Nodes::new(Level::Domain, suffixes(), NormalRules::default());
        let www = nodes.of_url("https://www.example.co.uk/a").unwrap();
        assert_eq!(nodes.of_url("https://shop.example.co.uk/").unwrap(), www);
        let mut nodes = Nodes::new(Level::Host, suffixes(), NormalRules::default());
        let www = nodes.of_url("https://www.example.co.uk/a").unwrap();
        assert_ne!(nodes.of_url("https://shop.example.co.uk/").unwrap(), www);
    }
}
