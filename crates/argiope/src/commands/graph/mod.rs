//! `graph`: who links to whom. A crawl maps how hosts link to each other; `rank` lists the most important nodes of that
//! or of any crawl's links, `export` writes files for other programs, `view` a picture.

mod crawl;
mod export;
mod groups;
mod lines;
mod metrics;
mod rank;
mod settings;
mod source;
mod view;

use crate::cli::GraphArgs;
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum GraphAction {
    /// List the nodes of the highest PageRank, with how many link to them and they link to
    Rank(rank::RankArgs),
    /// Write the graph for Gephi, Graphviz, spreadsheets and other programs
    Export(export::ExportArgs),
    /// Write a picture of the graph: one HTML file to look at in a browser, that needs nothing else
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
