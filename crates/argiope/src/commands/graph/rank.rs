//! `graph rank`: the nodes of the highest PageRank.

use super::source::{Source, SourceArgs};
use crate::commands::selection::{print, print_json};
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::{count, counted, printable};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  argiope graph rank                      the pages of the latest job
  argiope graph rank --hosts -n 50
  argiope graph rank --db crawler.db --json | jq -r '.ranking[].name'

A rank is the share of a random reader's time that a node gets, who follows links and begins anew anywhere after every
seventh or so (damping 0.85); all ranks together are 1. A link to a URL that redirected counts for where that ended.")]
pub(crate) struct RankArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Number of nodes to list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Ranking<'a> {
    level: &'static str,
    nodes: usize,
    edges: usize,
    iterations: u32,
    converged: bool,
    ranking: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    rank: f64,
    in_degree: u32,
    out_degree: u32,
}

pub(super) fn run(global: &GlobalOptions, args: &RankArgs) -> Result<(), Failure> {
    let source = Source::gather(global, &args.source)?;
    let ranked = &source.ranked;
    let rows = ranked.top(args.limit).into_iter().map(|node| Row {
        name: ranked.graph.name(node),
        rank: ranked.rank(node),
        in_degree: ranked.in_degree(node),
        out_degree: ranked.out_degree(node),
    });
    let ranking = Ranking {
        level: source.level.one(),
        nodes: ranked.graph.node_count(),
        edges: ranked.graph.edge_count(),
        iterations: ranked.iterations,
        converged: ranked.converged,
        ranking: rows.collect(),
    };
    if args.json { print_json(&ranking) } else { print(&text(&ranking, &source)) }
}

fn text(ranking: &Ranking<'_>, source: &Source) -> String {
    let mut text = format!(
        "{}: {}, {}\n\n",
        printable(&source.title),
        counted(ranking.nodes as u64, source.level.one(), source.level.many()),
        counted(ranking.edges as u64, "link", "links"),
    );
    if !ranking.converged {
        let _ = writeln!(
            text,
            "Ranks have not settled after {} rounds: they are near, not exact.\n",
            ranking.iterations
        );
    }
    let _ = writeln!(
        text,
        "{:>5}  {:>10}  {:>9}  {:>9}  {}",
        "",
        "rank",
        "links in",
        "links out",
        source.level.one()
    );
    for (place, row) in ranking.ranking.iter().enumerate() {
        let _ = writeln!(
            text,
            "{:>5}  {:>10.3e}  {:>9}  {:>9}  {}",
            place + 1,
            row.rank,
            count(u64::from(row.in_degree)),
            count(u64::from(row.out_degree)),
            printable(row.name)
        );
    }
    text
}
