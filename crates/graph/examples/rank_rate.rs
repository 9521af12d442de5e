//! How long it takes to build and rank a large graph, and what it weighs:
//!
//! ```text
//! cargo run --profile quick -p argiope-graph --example rank_rate [MILLION_EDGES] [MILLION_NODES]
//! ```
//!
//! Links go out evenly, and half of them to few: as on the web, some nodes have very many links to them.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made has failed")]

use argiope_graph::{Graph, GraphBuilder, RankSettings, page_rank};
use std::num::NonZero;
use std::time::Instant;

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|word| word.parse::<f64>().expect("a number of millions"));
    let edges = (arguments.next().unwrap_or(10.0) * 1e6) as u64;
    let nodes = (arguments.next().unwrap_or(1.0) * 1e6) as u64;
    let (graph, taken, cpu) = timed(|| build(nodes, edges));
    let per_edge = graph.edge_bytes() as f64 / graph.edge_count() as f64;
    println!(
        "build  {taken:.2} s, {cpu:.2} s CPU: {} nodes, {} edges of {edges} links, {per_edge:.1} bytes an edge, peak {} MB",
        graph.node_count(),
        graph.edge_count(),
        peak_megabytes()
    );
    let mut first: Option<Vec<f64>> = None;
    for threads in [1, 2, 4] {
        let settings = RankSettings::with_threads(NonZero::new(threads).expect("not zero"));
        let (ranking, taken, cpu) = timed(|| page_rank(&graph, &settings));
        let ranks = first.get_or_insert_with(|| ranking.ranks.clone());
        println!(
            "rank   {taken:.2} s, {cpu:.2} s CPU: {threads} threads, {} iterations to {:.0e}, the same to the last bit: {}",
            ranking.iterations,
            settings.tolerance,
            *ranks == ranking.ranks
        );
    }
    println!("peak   {} MB", peak_megabytes());
}

fn build(nodes: u64, edges: u64) -> Graph {
    let mut builder = GraphBuilder::default();
    for node in 0..nodes {
        let name = format!("https://host-{}.example.com/articles/{node}", node % 5000);
        builder.node(&name).expect("few enough");
    }
    let mut state = 1u64;
    let mut random = move |below: u64| {
        // xorshift: the same numbers on every machine.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..edges {
        let from = random(nodes);
        let far = random(nodes);
        let to = if random(2) == 0 { far } else { random(1 + far / 50) };
        builder.link(from as u32, to as u32, 1);
    }
    builder.build()
}

/// The value, and the seconds it took: on the clock, and of all processors together. On a busy machine only the second
/// tells something.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (began, used) = (Instant::now(), cpu_seconds());
    let value = work();
    (value, began.elapsed().as_secs_f64(), cpu_seconds() - used)
}

/// As the kernel counts it, in hundredths; zero where it does not.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// As the kernel counts it; zero where it does not.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1000
}
