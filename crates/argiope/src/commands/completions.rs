//! `completions SHELL`

use crate::cli::{Cli, CompletionsArgs};
use argiope_config::Failure;
use clap::CommandFactory;
use std::io::{self, Write};

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "argiope", &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}
