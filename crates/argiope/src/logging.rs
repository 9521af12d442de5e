//! Log lines on stderr, at the level of `-v` and `-q`, drawn above the progress display if there is one.

use crate::cli::GlobalArgs;
use crate::progress::Display;
use argiope_config::Failure;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// `ARGIOPE_LOG` (in the syntax of `RUST_LOG`) takes precedence over the options.
const VARIABLE: &str = "ARGIOPE_LOG";

/// Once per process; a second call changes nothing.
pub(crate) fn start(global: &GlobalArgs, display: &Display) -> Result<(), Failure> {
    let given = std::env::var(VARIABLE).ok().filter(|given| !given.is_empty());
    let filter = EnvFilter::try_new(given.as_deref().unwrap_or(levels(global))).map_err(|error| {
        Failure::usage(format!("{VARIABLE}: {error}"))
            .hint(format!("write for example {VARIABLE}=argiope=debug"))
    })?;
    let display = display.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(global.verbose > 1)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(move || display.log_writer())
        .finish();
    // Fails only if one is set already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// All crates are called `argiope_` something. Logs of the libraries below are rarely wanted.
fn levels(global: &GlobalArgs) -> &'static str {
    match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "warn,argiope=info",
        (false, 2) => "warn,argiope=debug",
        (false, _) => "debug,argiope=trace",
    }
}
