//! Changes of nodes and edges that are collected for a transaction, each once, in order.

use std::collections::HashMap;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct Pending {
    nodes: Vec<NodeChange>,
    by_name: HashMap<Box<str>, usize>,
    edges: Vec<EdgeChange>,
    by_ends: HashMap<(usize, usize), usize>,
    since: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct NodeChange {
    pub(super) name: Box<str>,
    /// None leaves the stored value.
    pub(super) description: Option<String>,
    pub(super) crawls: u32,
}

/// From one node of these changes to another.
#[derive(Debug)]
pub(super) struct EdgeChange {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) weight: u32,
}

impl Pending {
    /// The position of a node among the changes; its mere existence may be the change.
    pub(super) fn node(&mut self, name: &str) -> usize {
        if let Some(at) = self.by_name.get(name) {
            return *at;
        }
        self.since.get_or_insert_with(Instant::now);
        let at = self.nodes.len();
        self.nodes.push(NodeChange { name: name.into(), description: None, crawls: 0 });
        self.by_name.insert(name.into(), at);
        at
    }

    pub(super) fn crawled(&mut self, name: &str, description: Option<String>) {
        let at = self.node(name);
        if let Some(node) = self.nodes.get_mut(at) {
            node.crawls += 1;
            node.description = description.or(node.description.take());
        }
    }

    pub(super) fn edge(&mut self, from: &str, to: &str) {
        let ends = (self.node(from), self.node(to));
        let next = self.edges.len();
        let at = *self.by_ends.entry(ends).or_insert(next);
        match self.edges.get_mut(at) {
            Some(edge) => edge.weight += 1,
            None => self.edges.push(EdgeChange { from: ends.0, to: ends.1, weight: 1 }),
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn rows(&self) -> usize {
        self.nodes.len() + self.edges.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows() == 0
    }

    pub(super) fn age(&self) -> Option<Duration> {
        self.since.map(|since| since.elapsed())
    }

    pub(super) fn node_changes(&self) -> &[NodeChange] {
        &self.nodes
    }

    pub(super) fn edge_changes(&self) -> &[EdgeChange] {
        &self.edges
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.by_name.clear();
        self.edges.clear();
        self.by_ends.clear();
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_added_up() {
        let mut pending = Pending::default();
        pending.crawled("a.test", Some(String::from("A")));
        pending.edge("a.test", "b.test");
        pending.crawled("a.test", None);
        pending.edge("a.test", "b.test");
        pending.edge("a.test", "c.test");
        let nodes: Vec<(&str, u32)> = pending.node_changes().iter().map(|n| (&*n.name, n.crawls)).collect();
        assert_eq!(nodes, [("a.test", 2), ("b.test", 0), ("c.test", 0)]);
        assert_eq!(pending.node_changes()[0].description.as_deref(), Some("A"));
        let edges: Vec<_> = pending.edge_changes().iter().map(|e| (e.from, e.to, e.weight)).collect();
        assert_eq!(edges, [(0, 1, 2), (0, 2, 1)]);
        assert_eq!(pending.rows(), 5);
        pending.clear();
        assert!(pending.is_empty() && pending.age().is_none());
    }
}
