//! `graph rank`: the nodes with the highest PageRank.

use super::source::SourceArgs;
use crate::commands::output::{print, print_json};
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::{count, counted, printable};
use argiope_service::link_graph::{LinkGraph, Ranking};
use clap::Args;
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

pub(super) fn run(global: &GlobalOptions, args: &RankArgs) -> Result<(), Failure> {
    let graph = args.source.read(global)?;
    let ranking = graph.ranking(args.limit);
    if args.json { print_json(&ranking) } else { print(&text(&ranking, &graph)) }
}

fn text(ranking: &Ranking<'_>, source: &LinkGraph) -> String {
    let mut text = format!(
        "{}: {}, {}\n\n",
        printable(&source.title),
        counted(ranking.nodes as u64, source.level.one(), source.level.many()),
        counted(ranking.edges as u64, "link", "links"),
    );
    if !ranking.converged {
        let _ = writeln!(
            text,
            "Ranks have not converged after {} rounds: they are approximate.\n",
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
