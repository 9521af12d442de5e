//! PageRank: the share of time that a random reader spends on a node, following links by their weight and sometimes
//! starting again anywhere. From a node without links the reader also goes anywhere.
//!
//! Each node sums over the nodes that link to it, in the order of their numbers, and sums over all nodes are computed
//! block by block: the result is identical for any number of threads.

use crate::graph::{Graph, Rows};
use crate::parallel;
use std::num::NonZero;

/// Nodes per block of a sum.
const BLOCK: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub struct RankSettings {
    /// The probability of following a link rather than starting again.
    pub damping: f64,
    /// Converged when the sum of all changes is less than this.
    pub tolerance: f64,
    pub max_iterations: u32,
    pub threads: NonZero<usize>,
}

impl RankSettings {
    pub fn with_threads(threads: NonZero<usize>) -> RankSettings {
        RankSettings { damping: 0.85, tolerance: 1e-9, max_iterations: 200, threads }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// By node; the sum is 1.
    pub ranks: Vec<f64>,
    pub iterations: u32,
    /// The sum of all changes in the last iteration.
    pub change: f64,
    pub converged: bool,
}

/// The sums over a block of nodes that an iteration passes to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// The rank of nodes without links.
    dangling: f64,
    change: f64,
}

/// The nodes of one thread, and its output for them.
struct Part<'a> {
    starts: &'a [usize],
    out_weights: &'a [f64],
    ranks: &'a mut [f64],
    shares: &'a mut [f64],
    sums: &'a mut [Sums],
}

pub fn page_rank(graph: &Graph, settings: &RankSettings) -> Ranking {
    let nodes = graph.node_count();
    if nodes == 0 {
        return Ranking { ranks: Vec::new(), iterations: 0, change: 0.0, converged: true };
    }
    let incoming = graph.incoming();
    let out_weights = graph.out_weights();
    let lengths = part_lengths(&incoming, nodes, settings.threads);
    let even = 1.0 / nodes as f64;
    let mut ranks = vec![even; nodes];
    // The rank that a node passes on per unit of weight.
    let mut shares: Vec<f64> = out_weights.iter().map(|weight| share(even, *weight)).collect();
    let mut next_shares = vec![0.0; nodes];
    let mut sums = vec![Sums::default(); nodes.div_ceil(BLOCK)];
    let mut dangling = even * out_weights.iter().filter(|weight| **weight == 0.0).count() as f64;
    let (mut iterations, mut change) = (0, f64::INFINITY);
    while iterations < settings.max_iterations && change >= settings.tolerance {
        let base = (1.0 - settings.damping) * even + settings.damping * dangling * even;
        let parts = parts(&lengths, &incoming.starts, &out_weights, &mut ranks, &mut next_shares, &mut sums);
        parallel::run(parts.into_iter(), |part| gather(part, &incoming, &shares, base, settings.damping));
        std::mem::swap(&mut shares, &mut next_shares);
        dangling = sums.iter().map(|sum| sum.dangling).sum();
        change = sums.iter().map(|sum| sum.change).sum();
        iterations += 1;
    }
    Ranking { ranks, iterations, change, converged: change < settings.tolerance }
}

fn share(rank: f64, out_weight: f64) -> f64 {
    if out_weight > 0.0 { rank / out_weight } else { 0.0 }
}

/// Whole blocks for each thread, with about the same number of links and nodes.
fn part_lengths(incoming: &Rows, nodes: usize, threads: NonZero<usize>) -> Vec<usize> {
    let cost = |node: usize| incoming.starts.get(node).copied().unwrap_or(0) + node;
    let wanted = cost(nodes).div_ceil(threads.get()).max(1);
    let mut lengths = Vec::new();
    let (mut first, mut spent) = (0, 0);
    while first < nodes {
        let mut end = (first + BLOCK).min(nodes);
        while end < nodes && cost(end) - spent < wanted {
            end = (end + BLOCK).min(nodes);
        }
        lengths.push(end - first);
        (first, spent) = (end, cost(end));
    }
    lengths
}

fn parts<'a>(
    lengths: &[usize],
    mut starts: &'a [usize],
    mut out_weights: &'a [f64],
    mut ranks: &'a mut [f64],
    mut shares: &'a mut [f64],
    mut sums: &'a mut [Sums],
) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(lengths.len());
    for length in lengths {
        let blocks = length.div_ceil(BLOCK);
        // One start more than nodes: a row ends where the next begins.
        let own = starts.get(..length + 1).unwrap_or(starts);
        starts = starts.get(*length..).unwrap_or_default();
        let (own_weights, later_weights) = out_weights.split_at(*length);
        let (own_ranks, later_ranks) = ranks.split_at_mut(*length);
        let (own_shares, later_shares) = shares.split_at_mut(*length);
        let (own_sums, later_sums) = sums.split_at_mut(blocks);
        (out_weights, ranks, shares, sums) = (later_weights, later_ranks, later_shares, later_sums);
        parts.push(Part {
            starts: own,
            out_weights: own_weights,
            ranks: own_ranks,
            shares: own_shares,
            sums: own_sums,
        });
    }
    parts
}

fn gather(part: Part<'_>, incoming: &Rows, shares: &[f64], base: f64, damping: f64) {
    let given = |from: &u32| shares.get(*from as usize).copied().unwrap_or(0.0);
    let mut nodes =
        part.starts.windows(2).zip(part.out_weights).zip(part.ranks.iter_mut()).zip(part.shares.iter_mut());
    for sum in part.sums {
        *sum = Sums::default();
        for (((row, out_weight), rank), next_share) in nodes.by_ref().take(BLOCK) {
            let [from, to] = *row else { continue };
            let sources = incoming.neighbours.get(from..to).unwrap_or_default();
            let gathered: f64 = if incoming.weights.is_empty() {
                sources.iter().map(given).sum()
            } else {
                let weights = incoming.weights.get(from..to).unwrap_or_default();
                sources.iter().zip(weights).map(|(source, weight)| given(source) * f64::from(*weight)).sum()
            };
            let new = base + damping * gathered;
            sum.change += (new - *rank).abs();
            if *out_weight == 0.0 {
                sum.dangling += new;
            }
            *rank = new;
            *next_share = share(new, *out_weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphBuilder;
    use proptest::prelude::*;

    fn graph(nodes: u32, links: &[(u32, u32, u32)]) -> Graph {
        let mut builder = GraphBuilder::default();
        for node in 0..nodes {
            builder.node(&node.to_string()).unwrap();
        }
        for (from, to, weight) in links {
            builder.link(*from, *to, *weight);
        }
        builder.build()
    }

    fn ranked(graph: &Graph, threads: usize) -> Ranking {
        page_rank(graph, &RankSettings::with_threads(NonZero::new(threads).unwrap()))
    }

    fn assert_ranks(graph: &Graph, expected: &[f64]) {
        let ranking = ranked(graph, 2);
        assert!(ranking.converged);
        for (rank, expected) in ranking.ranks.iter().zip(expected) {
            assert!((rank - expected).abs() < 1e-8, "{:?} {expected:?}", ranking.ranks);
        }
    }

    #[test]
    fn a_ring_is_even() {
        assert_ranks(&graph(4, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)]), &[0.25; 4]);
    }

    #[test]
    fn a_star_gives_its_middle_what_the_equations_say() {
        // Three leaves link to the middle, which links to each of them. With m for the middle, l for a leaf:
        // m = 0.15/4 + 0.85 * 3l and 3l = 1 - m, so m = (0.0375 + 0.85) / 1.85.
        let middle = 0.8875 / 1.85;
        let leaf = (1.0 - middle) / 3.0;
        let links = [(1, 0, 1), (2, 0, 1), (3, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 1)];
        assert_ranks(&graph(4, &links), &[middle, leaf, leaf, leaf]);
    }

    #[test]
    fn a_node_without_links_gives_to_all() {
        // a links to b, b to nobody: a = 0.15/2 + 0.85 b/2, and a + b = 1.
        let a = (0.075 + 0.425) / 1.425;
        assert_ranks(&graph(2, &[(0, 1, 1)]), &[a, 1.0 - a]);
    }

    #[test]
    fn weights_share_out_a_rank() {
        // a links to b three times and to c once; both link back.
        // b = 0.05 + 0.85 * 3/4 a, c = 0.05 + 0.85 * 1/4 a, a = 0.05 + 0.85 (b + c) = 0.05 + 0.85 (1 - a).
        let a = 0.9 / 1.85;
        let (b, c) = (0.05 + 0.6375 * a, 0.05 + 0.2125 * a);
        assert_ranks(&graph(3, &[(0, 1, 3), (0, 2, 1), (1, 0, 5), (2, 0, 2)]), &[a, b, c]);
    }

    #[test]
    fn a_graph_without_links_is_even_and_an_empty_one_has_no_ranks() {
        assert_ranks(&graph(5, &[]), &[0.2; 5]);
        assert_eq!(ranked(&graph(0, &[]), 2).ranks, Vec::<f64>::new());
    }

    #[test]
    fn it_says_when_it_was_stopped_before_it_converged() {
        let settings =
            RankSettings { max_iterations: 2, ..RankSettings::with_threads(NonZero::<usize>::MIN) };
        let ranking = page_rank(&graph(3, &[(0, 1, 1), (1, 2, 1)]), &settings);
        assert!(!ranking.converged && ranking.iterations == 2 && ranking.change > settings.tolerance);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let nodes = 40_000u32;
        let links: Vec<_> = (0..200_000u32)
            .map(|at| {
                let mixed = at.wrapping_mul(2_654_435_761);
                // Many link to a few: the parts of the threads have unequal lengths.
                (mixed % nodes, (mixed >> 7) % (1 + at % nodes), 1 + at % 3)
            })
            .collect();
        let graph = graph(nodes, &links);
        let one = ranked(&graph, 1);
        assert!(one.converged);
        for threads in [2, 3, 4, 64] {
            assert_eq!(ranked(&graph, threads), one, "{threads}");
        }
    }

    proptest! {
        #[test]
        fn ranks_are_positive_and_together_one(
            nodes in 1u32..50,
            links in proptest::collection::vec((0u32..50, 0u32..50, 1u32..9), 0..200),
        ) {
            let links: Vec<_> = links.iter().map(|(from, to, weight)| (from % nodes, to % nodes, *weight)).collect();
            let ranking = ranked(&graph(nodes, &links), 3);
            prop_assert!((ranking.ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(ranking.ranks.iter().all(|rank| *rank > 0.0));
        }
    }
}
