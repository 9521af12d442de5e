//! What commands print of jobs.

use argiope_config::Failure;
pub(crate) use argiope_service::selection::{job, jobs, spec};
use std::io::Write;

/// What a job began with, in one line.
pub(crate) fn seeds_in_short(seeds: &[String]) -> String {
    match seeds {
        [] => String::from("a list"),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Results go to stdout, whatever `-q` says.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::output(&e))
}

pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::failed(e.to_string()))?;
    print(&format!("{text}\n"))
}
