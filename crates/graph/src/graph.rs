//! The graph: names, and for each node the nodes it links to, one after the other in one list.
//!
//! An edge takes 4 bytes, 8 if weights differ from one; a node takes 8 in addition to its name.

use crate::names::NameList;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    pub weight: u32,
}

/// Lists of neighbours, by node. `starts` has one entry more than there are nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) starts: Vec<usize>,
    pub(crate) neighbours: Vec<u32>,
    /// Empty if all are one.
    pub(crate) weights: Vec<u32>,
}

impl Rows {
    pub(crate) fn row(&self, node: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let at = node as usize;
        let from = self.starts.get(at).copied().unwrap_or(0);
        let to = self.starts.get(at + 1).copied().unwrap_or(from);
        let neighbours = self.neighbours.get(from..to).unwrap_or_default();
        let weights = self.weights.get(from..to).unwrap_or_default();
        neighbours.iter().enumerate().map(|(at, to)| (*to, weights.get(at).copied().unwrap_or(1)))
    }

    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.starts.windows(2).map(|pair| match pair {
            [from, to] => to - from,
            _ => 0,
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    names: NameList,
    out: Rows,
}

impl Graph {
    /// `edges` in the order of (from, to), each once, between existing nodes.
    pub(crate) fn from_sorted(names: NameList, edges: &[Edge]) -> Graph {
        let mut starts = Vec::with_capacity(names.len() + 1);
        starts.push(0);
        let mut rest = edges;
        for node in 0..names.len() as u32 {
            let length = rest.iter().take_while(|edge| edge.from == node).count();
            rest = rest.get(length..).unwrap_or_default();
            starts.push(edges.len() - rest.len());
        }
        let weighted = edges.iter().any(|edge| edge.weight != 1);
        let out = Rows {
            starts,
            neighbours: edges.iter().map(|edge| edge.to).collect(),
            weights: if weighted { edges.iter().map(|edge| edge.weight).collect() } else { Vec::new() },
        };
        Graph { names, out }
    }

    pub fn node_count(&self) -> usize {
        self.names.len()
    }

    pub fn edge_count(&self) -> usize {
        self.out.neighbours.len()
    }

    /// Whether some edge has a weight other than one.
    pub fn is_weighted(&self) -> bool {
        !self.out.weights.is_empty()
    }

    pub fn name(&self, node: u32) -> &str {
        self.names.get(node)
    }

    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter()
    }

    pub fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.names.len() as u32
    }

    /// By source, then by target.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.nodes().flat_map(|from| self.out.row(from).map(move |(to, weight)| Edge { from, to, weight }))
    }

    /// The number of other nodes that each links to.
    pub fn out_degrees(&self) -> Vec<u32> {
        self.out.lengths().map(|length| u32::try_from(length).unwrap_or(u32::MAX)).collect()
    }

    /// The number of other nodes that link to each.
    pub fn in_degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0u32; self.node_count()];
        for to in &self.out.neighbours {
            if let Some(degree) = degrees.get_mut(*to as usize) {
                *degree += 1;
            }
        }
        degrees
    }

    /// The weights of each node's links, added up.
    pub(crate) fn out_weights(&self) -> Vec<f64> {
        self.nodes().map(|node| self.out.row(node).map(|(_, weight)| f64::from(weight)).sum()).collect()
    }

    /// The lists of who links to each node, in the order of their numbers.
    pub(crate) fn incoming(&self) -> Rows {
        let mut starts = vec![0usize; self.node_count() + 1];
        let mut at = 0;
        for (start, degree) in starts.iter_mut().zip(self.in_degrees().into_iter().chain([0])) {
            *start = at;
            at += degree as usize;
        }
        let mut next = starts.clone();
        let mut neighbours = vec![0u32; self.edge_count()];
        let mut weights = vec![0u32; self.out.weights.len()];
        for edge in self.edges() {
            let Some(place) = next.get_mut(edge.to as usize) else { continue };
            if let Some(slot) = neighbours.get_mut(*place) {
                *slot = edge.from;
            }
            if let Some(slot) = weights.get_mut(*place) {
                *slot = edge.weight;
            }
            *place += 1;
        }
        Rows { starts, neighbours, weights }
    }

    /// The subgraph of these nodes, numbered in the given order, with the edges between them. Each node once.
    pub fn of_nodes(&self, nodes: &[u32]) -> Graph {
        let mut numbers = vec![u32::MAX; self.node_count()];
        let mut names = NameList::default();
        for (new, old) in nodes.iter().enumerate() {
            names.push(self.name(*old));
            if let Some(number) = numbers.get_mut(*old as usize) {
                *number = new as u32;
            }
        }
        let mut edges = Vec::new();
        for (from, old) in nodes.iter().enumerate() {
            let first = edges.len();
            for (target, weight) in self.out.row(*old) {
                match numbers.get(target as usize) {
                    Some(&to) if to != u32::MAX => edges.push(Edge { from: from as u32, to, weight }),
                    _ => {}
                }
            }
            edges.get_mut(first..).unwrap_or_default().sort_unstable_by_key(|edge| edge.to);
        }
        Graph::from_sorted(names, &edges)
    }

    /// The same nodes with fewer edges: those for which `keep` returns true, called in the order of [`Graph::edges`].
    pub fn with_edges(&self, mut keep: impl FnMut(Edge) -> bool) -> Graph {
        let edges: Vec<Edge> = self.edges().filter(|edge| keep(*edge)).collect();
        Graph::from_sorted(self.names.clone(), &edges)
    }

    /// Bytes used for edges and their indexes.
    pub fn edge_bytes(&self) -> usize {
        size_of::<u32>() * (self.out.neighbours.len() + self.out.weights.len())
            + size_of::<usize>() * self.out.starts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphBuilder;

    fn graph(links: &[(&str, &str, u32)]) -> Graph {
        let mut builder = GraphBuilder::default();
        for (from, to, weight) in links {
            let (from, to) = (builder.node(from).unwrap(), builder.node(to).unwrap());
            builder.link(from, to, *weight);
        }
        builder.build()
    }

    #[test]
    fn degrees_count_neighbours_not_weights() {
        let graph = graph(&[("a", "b", 7), ("a", "c", 1), ("c", "b", 1), ("c", "c", 1)]);
        assert_eq!(graph.out_degrees(), [2, 0, 1]);
        assert_eq!(graph.in_degrees(), [0, 2, 1]);
        assert_eq!(graph.out_weights(), [8.0, 0.0, 1.0]);
        assert!(graph.is_weighted());
    }

    #[test]
    fn incoming_links_carry_their_weights() {
        let graph = graph(&[("a", "b", 7), ("a", "c", 1), ("c", "b", 2)]);
        let incoming = graph.incoming();
        assert_eq!(incoming.row(1).collect::<Vec<_>>(), [(0, 7), (2, 2)]);
        assert_eq!(incoming.row(2).collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!(incoming.row(0).count() + incoming.row(9).count(), 0);
    }

    #[test]
    fn a_part_keeps_names_order_and_the_edges_within() {
        let whole = graph(&[("a", "b", 1), ("b", "c", 2), ("c", "a", 3), ("c", "b", 4)]);
        let part = whole.of_nodes(&[2, 1]);
        assert_eq!(part.names().collect::<Vec<_>>(), ["c", "b"]);
        let edges: Vec<_> = part.edges().map(|e| (e.from, e.to, e.weight)).collect();
        assert_eq!(edges, [(0, 1, 4), (1, 0, 2)]);
        let fewer = whole.with_edges(|edge| edge.weight > 2);
        assert_eq!((fewer.node_count(), fewer.edge_count()), (3, 2));
    }

    #[test]
    fn weights_that_are_all_one_take_no_memory() {
        let plain = graph(&[("a", "b", 1), ("b", "c", 1)]);
        assert!(!plain.is_weighted());
        assert_eq!(plain.edge_bytes(), 2 * 4 + 4 * 8);
        assert_eq!(plain.edges().map(|edge| edge.weight).collect::<Vec<_>>(), [1, 1]);
    }
}
