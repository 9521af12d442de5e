//! `graph`: how hosts link to each other.

mod crawl;
mod lines;
mod metrics;
mod settings;

use crate::cli::{GlobalOptions, GraphArgs};
use crate::exit::Failure;
use crate::progress::Display;

pub(crate) fn run(global: &GlobalOptions, args: &GraphArgs, display: &Display) -> Result<(), Failure> {
    crawl::run(global, &args.crawl, display)
}
