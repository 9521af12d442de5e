//! `graph export`: the graph as a file for other programs.

use super::source::SourceArgs;
use crate::commands::output::{is_stdout, write_to};
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::{count, counted};
use argiope_service::link_graph::{GraphFormat, GraphPart, GroupBy, LinkGraph};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// For Gephi, yEd, Cytoscape, NetworkX, igraph
    Graphml,
    /// For Gephi, with sizes by rank and colours by domain
    Gexf,
    /// For Graphviz
    Dot,
    /// Edges as source,target,weight; nodes go to --nodes
    Csv,
    /// Nodes and links in the form of d3
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  argiope graph export -o links.gexf                         pages of the latest job, for Gephi
  argiope graph export --hosts -f dot -o hosts.dot && sfdp -Tsvg hosts.dot > hosts.svg
  argiope graph export -o edges.csv --nodes nodes.csv --crawled-only
  argiope graph export --db crawler.db -f json | jq '.nodes | length'

Nodes have rank (PageRank), in_degree, out_degree, domain, and for a crawl crawled or pages, for a domain graph
crawl_count and description. Edges have a weight: how many links. With --limit, ranks and degrees stay those of the
whole graph.")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Output format (default: by the extension of FILE)
    #[arg(short, long, value_enum)]
    format: Option<FormatArg>,
    /// Output file; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// CSV: also write the nodes and their properties, with the ids that the edges use
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    nodes: Option<PathBuf>,
    /// Only the N nodes with the highest rank, and the edges between them
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(super) fn run(global: &GlobalOptions, args: &ExportArgs, display: &Display) -> Result<(), Failure> {
    let format = args.format()?;
    let graph = args.source.read(global)?;
    let limit = args.limit.filter(|limit| *limit < graph.node_count());
    let part = graph.part(limit, Some(GroupBy::Domain))?;
    write_to(&args.output, |to| part.export(format, to))?;
    if let Some(path) = &args.nodes {
        write_to(path, |to| part.export_nodes(to))?;
    }
    if !is_stdout(&args.output) {
        display.message(&format!(
            "{} with {} written to {}",
            shown_nodes(&graph, &part),
            counted(part.edge_count() as u64, "link", "links"),
            args.output.display()
        ));
    }
    Ok(())
}

/// "5 pages", or "2 of 5 pages" of a part
pub(super) fn shown_nodes(graph: &LinkGraph, part: &GraphPart<'_>) -> String {
    let (nodes, all) = (part.node_count(), graph.node_count());
    let of = if nodes < all { format!("{} of ", count(nodes as u64)) } else { String::new() };
    format!("{of}{}", counted(all as u64, graph.level.one(), graph.level.many()))
}

impl ExportArgs {
    fn format(&self) -> Result<GraphFormat, Failure> {
        let ending = self.output.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = match (self.format, ending) {
            (Some(format), _) => format,
            (None, "graphml") => FormatArg::Graphml,
            (None, "gexf") => FormatArg::Gexf,
            (None, "dot" | "gv") => FormatArg::Dot,
            (None, "csv") => FormatArg::Csv,
            (None, "json") => FormatArg::Json,
            _ => {
                return Err(Failure::usage("no format was given, and the output has no known extension")
                    .hint("-f graphml, gexf, dot, csv or json; or a FILE with one of these endings"));
            }
        };
        if self.nodes.is_some() && format != FormatArg::Csv {
            return Err(Failure::usage(
                "--nodes is for csv: the other formats have nodes and edges in one file",
            ));
        }
        Ok(match format {
            FormatArg::Graphml => GraphFormat::GraphMl,
            FormatArg::Gexf => GraphFormat::Gexf,
            FormatArg::Dot => GraphFormat::Dot,
            FormatArg::Csv => GraphFormat::Csv,
            FormatArg::Json => GraphFormat::Json,
        })
    }
}
