//! `graph view`: a picture of the graph in one HTML file.

use super::groups::{GroupBy, groups};
use super::source::{Source, SourceArgs, threads};
use crate::commands::export::write_to;
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_graph::view::View;
use argiope_model::display::{count, counted};
use argiope_store::error::StoreError;
use clap::{Args, ValueHint, value_parser};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  argiope graph view -o graph.html
  argiope graph view --hosts -o hosts.html
  argiope graph view --db crawler.db -o domains.html

Open the file in a browser: drag and wheel or two fingers move it, / searches, a click shows who links to a node and
where it leads. It loads nothing from anywhere and can be sent to others as it is.")]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The HTML file to write; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "graph.html", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// How many nodes, those of the highest ranks; the picture is for up to 5000
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = value_parser!(u32).range(1..=50_000))]
    limit: u32,
    /// What nodes have their colour by; without it, the first of these by which they differ
    #[arg(long, value_enum)]
    colour_by: Option<GroupBy>,
}

pub(super) fn run(global: &GlobalOptions, args: &ViewArgs, display: &Display) -> Result<(), Failure> {
    let source = Source::gather(global, &args.source)?;
    let whole = &source.ranked;
    let shown = whole.of_nodes(&whole.top(args.limit as usize));
    let groups = groups(&source, &shown.graph, args.colour_by)?;
    let view = View {
        ranked: &shown,
        groups: &groups,
        title: &source.title,
        noun: source.level.many(),
        all_nodes: whole.graph.node_count(),
        all_edges: whole.graph.edge_count(),
    };
    write_to(&args.output, |to| view.write(threads(), to).map_err(|e| StoreError::io("view", e)))?;
    if args.output != Path::new("-") {
        let (nodes, all) = (shown.graph.node_count(), view.all_nodes);
        let of = if nodes < all { format!("{} of ", count(nodes as u64)) } else { String::new() };
        let all = counted(all as u64, source.level.one(), source.level.many());
        display.message(&format!("{of}{all} drawn in {}; open it in a browser", args.output.display()));
    }
    Ok(())
}
