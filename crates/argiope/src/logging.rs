//! Log lines on stderr, as many as `-v` and `-q` ask for, drawn above the progress where there is one.

use crate::cli::GlobalOptions;
use crate::progress::Display;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// `ARGIOPE_LOG` (as `RUST_LOG` is written) wins over the options.
const VARIABLE: &str = "ARGIOPE_LOG";

/// Once per process; a second call changes nothing.
pub(crate) fn start(global: &GlobalOptions, display: &Display) {
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new(level(global)));
    let display = display.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(global.verbose > 1)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(move || display.log_writer())
        .finish();
    // Fails only if one is set already.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

fn level(global: &GlobalOptions) -> &'static str {
    match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info",
        (false, 2) => "debug",
        (false, _) => "trace",
    }
}
