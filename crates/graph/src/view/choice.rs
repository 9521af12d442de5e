//! Which links are drawn, and which first. If every page links to the front page, those links say little: a link counts
//! by its weight, divided by the number of nodes that link to the same target.

use crate::graph::{Edge, Graph};
use crate::ranked::RankedGraph;

pub(super) struct Drawn {
    /// In order of importance: the best of every node, then the second best of every node, and so on.
    pub(super) order: Vec<Edge>,
    pub(super) graph: Graph,
}

pub(super) fn drawn_edges(ranked: &RankedGraph, most: usize) -> Drawn {
    let graph = &ranked.graph;
    let worth = |edge: &Edge| f64::from(edge.weight) / f64::from(ranked.in_degree(edge.to).max(1));
    let mut placed: Vec<(usize, Edge)> = Vec::with_capacity(graph.edge_count());
    let mut own: Vec<Edge> = Vec::new();
    let mut flush = |own: &mut Vec<Edge>| {
        own.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
        placed.extend(own.drain(..).enumerate());
    };
    for edge in graph.edges() {
        if own.last().is_some_and(|last| last.from != edge.from) {
            flush(&mut own);
        }
        own.push(edge);
    }
    flush(&mut own);
    placed.sort_by_key(|(place, edge)| (*place, edge.from));
    placed.truncate(most);
    let order: Vec<Edge> = placed.into_iter().map(|(_, edge)| edge).collect();
    let mut kept = order.clone();
    kept.sort_unstable_by_key(|edge| (edge.from, edge.to));
    let mut next = kept.into_iter().peekable();
    let graph = graph.with_edges(|edge| next.next_if_eq(&edge).is_some());
    Drawn { order, graph }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphBuilder;
    use std::num::NonZero;

    #[test]
    fn every_node_keeps_its_most_telling_link() {
        let mut builder = GraphBuilder::default();
        let [front, a, b, c] = ["front", "a", "b", "c"].map(|name| builder.node(name).unwrap());
        for (from, to) in [(a, front), (b, front), (c, front), (a, b), (b, c), (c, a)] {
            builder.link(from, to, 1);
        }
        let ranked = RankedGraph::new(builder.build(), Vec::new(), NonZero::<usize>::MIN);
        let drawn = drawn_edges(&ranked, 4);
        let order: Vec<_> = drawn.order.iter().map(|edge| (edge.from, edge.to)).collect();
        assert_eq!(order, [(a, b), (b, c), (c, a), (a, front)]);
        assert_eq!((drawn.graph.node_count(), drawn.graph.edge_count()), (4, 4));
        assert_eq!(drawn_edges(&ranked, 100).order.len(), 6);
    }
}
