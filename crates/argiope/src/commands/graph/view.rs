//! `graph view`: a picture of the graph in one HTML file.

use super::export::shown_nodes;
use super::source::SourceArgs;
use crate::commands::output::{is_stdout, write_to};
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_service::link_graph::GroupBy;
use clap::{Args, ValueEnum, ValueHint, value_parser};
use std::path::PathBuf;

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
    /// Number of nodes, those with the highest ranks (at most 5000)
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = value_parser!(u32).range(1..=50_000))]
    limit: u32,
    /// What the colours of nodes mean (default: the first of these in which nodes differ)
    #[arg(long, value_enum)]
    colour_by: Option<ColourBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColourBy {
    /// Root domain, by the Public Suffix List
    Domain,
    /// Host
    Host,
    /// The first part of the path
    Section,
}

impl From<ColourBy> for GroupBy {
    fn from(by: ColourBy) -> GroupBy {
        match by {
            ColourBy::Domain => GroupBy::Domain,
            ColourBy::Host => GroupBy::Host,
            ColourBy::Section => GroupBy::Section,
        }
    }
}

pub(super) fn run(global: &GlobalOptions, args: &ViewArgs, display: &Display) -> Result<(), Failure> {
    let graph = args.source.read(global)?;
    let part = graph.part(Some(args.limit as usize), args.colour_by.map(GroupBy::from))?;
    write_to(&args.output, |to| part.draw(to))?;
    if !is_stdout(&args.output) {
        let nodes = shown_nodes(&graph, &part);
        display.message(&format!("{nodes} drawn in {}; open it in a browser", args.output.display()));
    }
    Ok(())
}
