//! Builds a graph from links in any order and number: equal ones become one edge with the sum of their weights.

use crate::error::GraphError;
use crate::graph::{Edge, Graph};
use crate::names::Names;

/// With fewer links than this it is not worth looking for equal ones.
const FIRST_MERGE: usize = 1 << 20;

#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    names: Names,
    /// Equal links are merged whenever the number has doubled, so a million links between two hosts take no memory.
    links: Vec<Edge>,
    merged: usize,
    loops: u64,
}

impl GraphBuilder {
    /// The number of the node of this name, which is added if it is new.
    pub fn node(&mut self, name: &str) -> Result<u32, GraphError> {
        self.names.intern(name)
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.names.find(name)
    }

    pub fn nodes(&self) -> usize {
        self.names.list().len()
    }

    /// Links of a node to itself are counted and left out, and so are links of weight zero. Weights are capped at
    /// `u32::MAX`.
    pub fn link(&mut self, from: u32, to: u32, weight: u32) {
        if from == to {
            self.loops += 1;
            return;
        }
        if weight == 0 {
            return;
        }
        if self.links.len() >= FIRST_MERGE.max(2 * self.merged) {
            self.merge();
        }
        self.links.push(Edge { from, to, weight });
    }

    /// How many links of nodes to themselves were left out.
    pub fn loops(&self) -> u64 {
        self.loops
    }

    fn merge(&mut self) {
        self.links.sort_unstable_by_key(|link| (link.from, link.to));
        self.links.dedup_by(|later, first| {
            let same = (later.from, later.to) == (first.from, first.to);
            if same {
                first.weight = first.weight.saturating_add(later.weight);
            }
            same
        });
        self.merged = self.links.len();
    }

    pub fn build(mut self) -> Graph {
        self.merge();
        Graph::from_sorted(self.names.into_list(), &self.links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_links_are_one_edge_and_their_weights_add_up() {
        let mut builder = GraphBuilder::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| builder.node(name).unwrap());
        for (from, to, weight) in
            [(c, a, 1), (a, b, 2), (c, a, 4), (a, a, 9), (b, c, 0), (a, c, u32::MAX), (a, c, 1)]
        {
            builder.link(from, to, weight);
        }
        assert_eq!(builder.loops(), 1);
        let graph = builder.build();
        let edges: Vec<_> = graph.edges().map(|e| (e.from, e.to, e.weight)).collect();
        assert_eq!(edges, [(a, b, 2), (a, c, u32::MAX), (c, a, 5)]);
    }

    #[test]
    fn many_equal_links_take_the_memory_of_one() {
        let mut builder = GraphBuilder::default();
        let [a, b] = ["a", "b"].map(|name| builder.node(name).unwrap());
        for _ in 0..3 * FIRST_MERGE {
            builder.link(a, b, 1);
        }
        assert!(builder.links.capacity() <= 2 * FIRST_MERGE, "{}", builder.links.capacity());
        let graph = builder.build();
        assert_eq!(graph.edges().map(|e| e.weight).collect::<Vec<_>>(), [3 * FIRST_MERGE as u32]);
    }
}
