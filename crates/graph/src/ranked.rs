//! A graph with data about its nodes: rank, degrees, and the caller's columns.

use crate::graph::Graph;
use crate::page_rank::{RankSettings, Ranking, page_rank};
use std::num::NonZero;

/// Values of one kind, by node.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Text(Vec<Option<String>>),
    Integer(Vec<u32>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
}

/// One value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Text(&'a str),
    Integer(u32),
    Real(f64),
    Flag(bool),
}

impl Values {
    /// None if unknown.
    pub fn get(&self, node: u32) -> Option<Value<'_>> {
        let at = node as usize;
        match self {
            Values::Text(all) => all.get(at)?.as_deref().map(Value::Text),
            Values::Integer(all) => all.get(at).copied().map(Value::Integer),
            Values::Real(all) => all.get(at).copied().map(Value::Real),
            Values::Flag(all) => all.get(at).copied().map(Value::Flag),
        }
    }

    /// Those of these nodes, in this order.
    pub fn of_nodes(&self, nodes: &[u32]) -> Values {
        match self {
            Values::Text(all) => Values::Text(picked(all, nodes)),
            Values::Integer(all) => Values::Integer(picked(all, nodes)),
            Values::Real(all) => Values::Real(picked(all, nodes)),
            Values::Flag(all) => Values::Flag(picked(all, nodes)),
        }
    }
}

fn picked<T: Clone + Default>(all: &[T], nodes: &[u32]) -> Vec<T> {
    nodes.iter().map(|node| all.get(*node as usize).cloned().unwrap_or_default()).collect()
}

/// A property of every node. The name is valid in all formats.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: &'static str,
    pub values: Values,
}

#[derive(Clone, Debug)]
pub struct RankedGraph {
    pub graph: Graph,
    pub ranks: Vec<f64>,
    pub in_degrees: Vec<u32>,
    pub out_degrees: Vec<u32>,
    pub columns: Vec<Column>,
    pub iterations: u32,
    pub converged: bool,
}

impl RankedGraph {
    pub fn new(graph: Graph, columns: Vec<Column>, threads: NonZero<usize>) -> RankedGraph {
        let Ranking { ranks, iterations, converged, .. } =
            page_rank(&graph, &RankSettings::with_threads(threads));
        let (in_degrees, out_degrees) = (graph.in_degrees(), graph.out_degrees());
        RankedGraph { graph, ranks, in_degrees, out_degrees, columns, iterations, converged }
    }

    pub fn rank(&self, node: u32) -> f64 {
        self.ranks.get(node as usize).copied().unwrap_or(0.0)
    }

    pub fn in_degree(&self, node: u32) -> u32 {
        self.in_degrees.get(node as usize).copied().unwrap_or(0)
    }

    pub fn out_degree(&self, node: u32) -> u32 {
        self.out_degrees.get(node as usize).copied().unwrap_or(0)
    }

    /// The nodes of the highest ranks, highest first; equal ones in order of appearance.
    pub fn top(&self, count: usize) -> Vec<u32> {
        let order = |a: &u32, b: &u32| self.rank(*b).total_cmp(&self.rank(*a)).then(a.cmp(b));
        let mut nodes: Vec<u32> = self.graph.nodes().collect();
        if count < nodes.len() {
            // Only the shown part must be sorted.
            nodes.select_nth_unstable_by(count, order);
            nodes.truncate(count);
        }
        nodes.sort_unstable_by(order);
        nodes
    }

    /// These nodes alone, in this order, with the edges between them. Ranks and degrees stay those of the whole graph.
    pub fn of_nodes(&self, nodes: &[u32]) -> RankedGraph {
        let columns = self.columns.iter();
        RankedGraph {
            graph: self.graph.of_nodes(nodes),
            ranks: picked(&self.ranks, nodes),
            in_degrees: picked(&self.in_degrees, nodes),
            out_degrees: picked(&self.out_degrees, nodes),
            columns: columns.map(|c| Column { name: c.name, values: c.values.of_nodes(nodes) }).collect(),
            iterations: self.iterations,
            converged: self.converged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphBuilder;

    /// b is linked by all, a by c, c by b.
    fn ranked() -> RankedGraph {
        let mut builder = GraphBuilder::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| builder.node(name).unwrap());
        for (from, to) in [(a, b), (c, b), (c, a), (b, c)] {
            builder.link(from, to, 1);
        }
        let letters = Values::Text(vec![Some("A".to_owned()), None, Some("C".to_owned())]);
        let columns = vec![Column { name: "letter", values: letters }];
        RankedGraph::new(builder.build(), columns, NonZero::<usize>::MIN)
    }

    #[test]
    fn the_top_is_in_order_of_rank() {
        let ranked = ranked();
        assert_eq!(ranked.top(9), [1, 2, 0]);
        assert_eq!(ranked.top(2), [1, 2]);
        assert_eq!(ranked.top(0), [] as [u32; 0]);
    }

    #[test]
    fn a_part_keeps_what_is_known_of_its_nodes() {
        let whole = ranked();
        let part = whole.of_nodes(&[2, 1]);
        assert_eq!(part.graph.names().collect::<Vec<_>>(), ["c", "b"]);
        assert_eq!(part.ranks, [whole.rank(2), whole.rank(1)]);
        assert_eq!((part.in_degrees.as_slice(), part.out_degrees.as_slice()), (&[1, 2][..], &[2, 1][..]));
        let letters = &part.columns[0].values;
        assert_eq!((letters.get(0), letters.get(1)), (Some(Value::Text("C")), None));
        assert_eq!(part.graph.edge_count(), 2);
    }
}
