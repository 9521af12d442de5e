//! `inspect`: one URL, robots.txt, page or sitemap, looked at by the very functions a crawl uses, printed as JSON.

mod page;
mod robots;
mod sitemap;
mod source;
mod url;

use crate::cli::InspectCommand;
use argiope_config::{Failure, GlobalOptions};
use serde::Serialize;
use std::io::{self, Write};

pub(crate) fn run(global: &GlobalOptions, command: &InspectCommand) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match command {
        InspectCommand::Url(args) => url::run(args, &mut out)?,
        InspectCommand::Robots(args) => robots::run(global, args, &mut out)?,
        InspectCommand::Page(args) => page::run(global, args, &mut out)?,
        InspectCommand::Sitemap(args) => sitemap::run(global, args, &mut out)?,
    }
    out.flush().map_err(|error| Failure::output(&error))
}

/// One JSON object on a line of its own.
fn json_line(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value)
        .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
    writeln!(out, "{line}").map_err(|error| Failure::output(&error))
}
