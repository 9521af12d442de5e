//! Log lines on stderr, as many as `-v` and `-q` ask for, drawn above the progress where there is one.

use crate::cli::GlobalArgs;
use crate::progress::Display;
use argiope_config::Failure;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// `ARGIOPE_LOG` (as `RUST_LOG` is written) wins over the options.
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

/// All rooms are called `argiope_` something. What the libraries below have to say is seldom what was asked for.
fn levels(global: &GlobalArgs) -> &'static str {
    match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "warn,argiope=info",
        (false, 2) => "warn,argiope=debug",
        (false, _) => "debug,argiope=trace",
    }
}
