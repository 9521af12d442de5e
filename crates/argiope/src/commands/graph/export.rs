//! `graph export`: the graph as a file for other programs.

use super::groups::{GroupBy, groups};
use super::source::{Source, SourceArgs};
use crate::commands::export::write_to;
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_graph::export::{Document, Format, write, write_csv_nodes};
use argiope_model::display::{count, counted};
use argiope_store::error::StoreError;
use clap::{Args, ValueEnum, ValueHint};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
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
    format: Option<GraphFormat>,
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
    let source = Source::gather(global, &args.source)?;
    let whole = &source.ranked;
    let ranked = match args.limit {
        Some(limit) if limit < whole.graph.node_count() => Cow::Owned(whole.of_nodes(&whole.top(limit))),
        _ => Cow::Borrowed(whole),
    };
    let groups = groups(&source, &ranked.graph, Some(GroupBy::Domain))?;
    let document = Document { ranked: &ranked, groups: &groups };
    let unwritten = |e| StoreError::io("export", e);
    write_to(&args.output, |to| write(format, &document, to).map_err(unwritten))?;
    if let Some(path) = &args.nodes {
        write_to(path, |to| write_csv_nodes(&document, to).map_err(unwritten))?;
    }
    if args.output != Path::new("-") {
        let (nodes, all) = (ranked.graph.node_count(), whole.graph.node_count());
        let of = if nodes < all { format!("{} of ", count(nodes as u64)) } else { String::new() };
        display.message(&format!(
            "{of}{} with {} written to {}",
            counted(all as u64, source.level.one(), source.level.many()),
            counted(ranked.graph.edge_count() as u64, "link", "links"),
            args.output.display()
        ));
    }
    Ok(())
}

impl ExportArgs {
    fn format(&self) -> Result<Format, Failure> {
        let ending = self.output.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = match (self.format, ending) {
            (Some(format), _) => format,
            (None, "graphml") => GraphFormat::Graphml,
            (None, "gexf") => GraphFormat::Gexf,
            (None, "dot" | "gv") => GraphFormat::Dot,
            (None, "csv") => GraphFormat::Csv,
            (None, "json") => GraphFormat::Json,
            _ => {
                return Err(Failure::usage("no format was given, and the output's name has none")
                    .hint("-f graphml, gexf, dot, csv or json; or a FILE with one of these endings"));
            }
        };
        if self.nodes.is_some() && format != GraphFormat::Csv {
            return Err(Failure::usage(
                "--nodes is for csv: the other formats have nodes and edges in one file",
            ));
        }
        Ok(match format {
            GraphFormat::Graphml => Format::GraphMl,
            GraphFormat::Gexf => Format::Gexf,
            GraphFormat::Dot => Format::Dot,
            GraphFormat::Csv => Format::Csv,
            GraphFormat::Json => Format::Json,
        })
    }
}
