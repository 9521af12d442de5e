//! `graph`: the link graph. A crawl maps how hosts link to each other; `rank` lists the most important nodes of that or
//! of any crawl's links, `export` writes files for other programs, `view` a picture.

mod crawl;
mod export;
mod lines;
mod rank;
mod source;
mod view;

use crate::cli::GraphArgs;
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum GraphAction {
    /// List the nodes with the highest PageRank, with their numbers of incoming and outgoing links
    Rank(rank::RankArgs),
    /// Export the graph for Gephi, Graphviz, spreadsheets and other programs
    Export(export::ExportArgs),
    /// Draw the graph as one self-contained HTML file
    View(view::ViewArgs),
}

pub(crate) fn run(global: &GlobalOptions, args: &GraphArgs, display: &Display) -> Result<(), Failure> {
    match &args.action {
        None => crawl::run(global, &args.crawl, display),
        Some(GraphAction::Rank(args)) => rank::run(global, args),
        Some(GraphAction::Export(args)) => export::run(global, args, display),
        Some(GraphAction::View(args)) => view::run(global, args, display),
    }
}
