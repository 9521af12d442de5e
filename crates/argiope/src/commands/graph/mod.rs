//! `graph`: who links to whom. `rank` lists the most important nodes, `export` writes files for other programs, `view`
//! a picture.

mod export;
mod groups;
mod rank;
mod source;
mod view;

use crate::cli::GlobalOptions;
use crate::exit::Failure;
use crate::progress::Display;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct GraphCommand {
    #[command(subcommand)]
    action: GraphAction,
}

#[derive(Debug, Subcommand)]
enum GraphAction {
    /// List the nodes of the highest PageRank, with how many link to them and they link to
    Rank(rank::RankArgs),
    /// Write the graph for Gephi, Graphviz, spreadsheets and other programs
    Export(export::ExportArgs),
    /// Write a picture of the graph: one HTML file to look at in a browser, that needs nothing else
    View(view::ViewArgs),
}

pub(crate) fn run(global: &GlobalOptions, command: &GraphCommand, display: &Display) -> Result<(), Failure> {
    match &command.action {
        GraphAction::Rank(args) => rank::run(global, args),
        GraphAction::Export(args) => export::run(global, args, display),
        GraphAction::View(args) => view::run(global, args, display),
    }
}
