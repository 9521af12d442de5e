//! Computes a layout in which linked nodes are near each other: all nodes repel each other, links attract (ForceAtlas2
//! in its LinLog form, which shows clusters). Computed once, so that a picture opens at once; the same graph always
//! gives the same picture.

mod quadtree;
mod spacing;
mod start;

use crate::graph::Graph;
use crate::groups::Groups;
use crate::parallel;
use quadtree::{Body, Quadtree};
use std::num::NonZero;

pub type Point = [f64; 2];

/// The force towards the middle, so that nodes without links do not drift away.
const GRAVITY: f64 = 1.0;
const REPULSION: f64 = 2.0;
/// The share of the forces by which a node may swing rather than move.
const JITTER: f64 = 1.0;

/// The average space of a node, as the side of a square.
pub const SPACING: f64 = 50.0;

/// `radii` are in the unit of [`SPACING`]; smaller nodes lie beside each other, not on top.
pub fn layout(graph: &Graph, groups: &Groups, radii: &[f64], threads: NonZero<usize>) -> Vec<Point> {
    let nodes = graph.node_count();
    let mut simulation = Simulation::new(graph, start::positions(groups, nodes), threads);
    // More iterations for small graphs: they are cheap and look better.
    let steps = (2_000_000 / nodes.max(1)).clamp(150, 600);
    for _ in 0..steps {
        simulation.step();
    }
    let mut places: Vec<Point> = simulation.nodes.iter().map(|node| node.place).collect();
    spacing::scale(&mut places, SPACING);
    spacing::separate(&mut places, radii);
    places
}

#[derive(Clone, Copy, Default)]
struct Node {
    place: Point,
    /// Its number of links plus one.
    mass: f64,
    force: Point,
    last_force: Point,
}

struct Pull {
    from: u32,
    to: u32,
    strength: f64,
}

struct Simulation {
    nodes: Vec<Node>,
    pulls: Vec<Pull>,
    threads: NonZero<usize>,
    speed: f64,
    efficiency: f64,
}

impl Simulation {
    fn new(graph: &Graph, places: Vec<Point>, threads: NonZero<usize>) -> Simulation {
        let degrees = graph.in_degrees().into_iter().zip(graph.out_degrees());
        let nodes = places
            .into_iter()
            .zip(degrees)
            .map(|(place, (incoming, outgoing))| Node {
                place,
                mass: 1.0 + f64::from(incoming) + f64::from(outgoing),
                ..Node::default()
            })
            .collect();
        let pulls = graph
            .edges()
            .map(|edge| Pull { from: edge.from, to: edge.to, strength: 1.0 + f64::from(edge.weight).ln() })
            .collect();
        Simulation { nodes, pulls, threads, speed: 1.0, efficiency: 1.0 }
    }

    fn step(&mut self) {
        let bodies = self.nodes.iter().map(|node| Body { place: node.place, mass: node.mass });
        let tree = Quadtree::new(bodies.collect());
        parallel::fill(&mut self.nodes, self.threads, |_, node| {
            let [x, y] = node.place;
            let [push_x, push_y] = tree.push(node.place);
            let to_middle = GRAVITY * node.mass / x.hypot(y).max(1e-9);
            node.last_force = node.force;
            node.force = [
                REPULSION * node.mass * push_x - x * to_middle,
                REPULSION * node.mass * push_y - y * to_middle,
            ];
        });
        self.pull();
        self.adapt_speed();
        for node in &mut self.nodes {
            let (swing, _) = swing_and_traction(node);
            let factor = self.speed / (1.0 + (self.speed * swing).sqrt());
            node.place = [node.place[0] + node.force[0] * factor, node.place[1] + node.force[1] * factor];
        }
    }

    fn pull(&mut self) {
        for Pull { from, to, strength } in &self.pulls {
            let Ok([from, to]) = self.nodes.get_disjoint_mut([*from as usize, *to as usize]) else {
                continue;
            };
            let (x, y) = (to.place[0] - from.place[0], to.place[1] - from.place[1]);
            let distance = x.hypot(y).max(1e-9);
            let force = strength * distance.ln_1p() / distance;
            for (end, sign) in [(from, 1.0), (to, -1.0)] {
                end.force = [end.force[0] + sign * force * x, end.force[1] + sign * force * y];
            }
        }
    }

    /// As fast as possible without nodes swinging back and forth, by the rules of ForceAtlas2.
    fn adapt_speed(&mut self) {
        let count = self.nodes.len() as f64;
        let (mut swing, mut traction) = (0.0, 0.0);
        for node in &self.nodes {
            let (own_swing, own_traction) = swing_and_traction(node);
            swing += node.mass * own_swing;
            traction += node.mass * own_traction;
        }
        if swing <= 0.0 || traction <= 0.0 {
            return;
        }
        let estimate = 0.05 * count.sqrt();
        let tolerated = (estimate * traction / (count * count)).clamp(estimate.sqrt().min(10.0), 10.0);
        let mut jitter = JITTER * tolerated;
        let least_efficiency = 0.05;
        if swing / traction > 2.0 {
            if self.efficiency > least_efficiency {
                self.efficiency *= 0.5;
            }
            jitter = jitter.max(JITTER);
        }
        let wanted = jitter * self.efficiency * traction / swing;
        if swing > jitter * traction {
            if self.efficiency > least_efficiency {
                self.efficiency *= 0.7;
            }
        } else if self.speed < 1000.0 {
            self.efficiency *= 1.3;
        }
        self.speed += (wanted - self.speed).min(0.5 * self.speed);
    }
}

fn swing_and_traction(node: &Node) -> (f64, f64) {
    let ([x, y], [last_x, last_y]) = (node.force, node.last_force);
    ((x - last_x).hypot(y - last_y), (x + last_x).hypot(y + last_y) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphBuilder;

    /// Two cliques of ten, joined by one link, and a node without any.
    fn cliques() -> Graph {
        let mut builder = GraphBuilder::default();
        for node in 0..21 {
            builder.node(&format!("{node}")).unwrap();
        }
        for from in 0..20u32 {
            for to in 0..20u32 {
                if from / 10 == to / 10 {
                    builder.link(from, to, 1);
                }
            }
        }
        builder.link(0, 10, 1);
        builder.build()
    }

    fn places(threads: usize) -> Vec<Point> {
        let graph = cliques();
        let groups = Groups::new("all", &graph, |_| "").unwrap();
        layout(&graph, &groups, &[5.0; 21], NonZero::new(threads).unwrap())
    }

    fn distance(a: Point, b: Point) -> f64 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    #[test]
    fn what_is_linked_is_nearer_than_what_is_not() {
        let places = places(2);
        assert!(places.iter().flatten().all(|coordinate| coordinate.is_finite()));
        let mean = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
            let all: Vec<f64> = pairs.map(|(a, b)| distance(places[a], places[b])).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let within = mean(&mut (0..10).flat_map(|a| (0..a).map(move |b| (a, b))));
        let between = mean(&mut (0..10).flat_map(|a| (10..20).map(move |b| (a, b))));
        assert!(between > 1.5 * within, "{between} {within}");
    }

    #[test]
    fn the_same_graph_has_the_same_picture_for_any_number_of_threads() {
        assert_eq!(places(1), places(4));
    }

    #[test]
    fn nodes_do_not_lie_on_each_other() {
        let places = places(2);
        for a in 0..places.len() {
            for b in 0..a {
                assert!(distance(places[a], places[b]) > 9.0, "{a} {b}");
            }
        }
    }

    #[test]
    fn no_nodes_and_one_node_have_places_too() {
        for nodes in 0..2 {
            let mut builder = GraphBuilder::default();
            for node in 0..nodes {
                builder.node(&node.to_string()).unwrap();
            }
            let graph = builder.build();
            let groups = Groups::new("all", &graph, |_| "").unwrap();
            let places = layout(&graph, &groups, &[5.0], NonZero::<usize>::MIN);
            assert_eq!(places.len(), nodes);
            assert!(places.iter().flatten().all(|coordinate| coordinate.is_finite()));
        }
    }
}
