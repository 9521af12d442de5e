//! Lines on standard output while a graph grows.

use argiope_model::SkipReason;
use argiope_service::host_graph::{GraphEvent, GraphFigures, Happening};
use argiope_store::catalogue::error_kind;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the threads that print.
pub(super) struct Lines {
    silent: AtomicBool,
    /// How often a request is retried.
    retries: u32,
}

impl Lines {
    pub(super) fn new(quiet: bool, retries: u32) -> Lines {
        Lines { silent: AtomicBool::new(quiet), retries }
    }

    pub(super) fn info(&self, text: impl fmt::Display) {
        self.say("INFO", text);
    }

    pub(super) fn warn(&self, text: impl fmt::Display) {
        self.say("WARN", text);
    }

    fn say(&self, level: &str, text: impl fmt::Display) {
        if self.silent.load(Ordering::Relaxed) {
            return;
        }
        let mut out = std::io::stdout().lock();
        if writeln!(out, "[{level}] {text}").and_then(|()| out.flush()).is_err() {
            // The reader of standard output is gone; the graph is in its file all the same.
            self.silent.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn size(&self, queued: u64, figures: &GraphFigures) {
        self.info(format_args!("Queue: {queued} | Nodes: {} | Edges: {}", figures.nodes, figures.edges));
    }

    pub(super) fn tell(&self, event: &GraphEvent<'_>) {
        match event {
            GraphEvent::Starting { host } => self.info(format_args!("Starting crawl from {host}")),
            GraphEvent::Resuming { nodes, most } => {
                self.info(format_args!("Resuming with {nodes} nodes below {most} crawls"));
            }
            GraphEvent::Host(happening) => self.host(happening),
            GraphEvent::Flushing { nodes } => {
                self.info(format_args!("Flushing {nodes} in-memory nodes to DB"));
            }
            GraphEvent::Size { queued, figures } => self.size(*queued, figures),
            GraphEvent::MetricsWritten { path } => {
                self.info(format_args!("Metrics written to {}", path.display()));
            }
        }
    }

    fn host(&self, happening: &Happening<'_>) {
        match happening {
            Happening::Fetched { worker, host, depth, links } => {
                let links = if *links == 1 {
                    String::from("1 outbound link")
                } else {
                    format!("{links} outbound links")
                };
                self.info(format_args!("{}fetched {host} (depth={depth}, {links})", who(*worker)));
            }
            Happening::Retried { worker, host, error, retry } => {
                let (why, of) = (reason(error), self.retries);
                self.warn(format_args!("{}failed to fetch {host} ({why}, retry {retry}/{of})", who(*worker)));
            }
            Happening::Failed { worker, host, error, retries } => {
                let why = reason(error);
                match retries {
                    0 => self.warn(format_args!("{}failed to fetch {host} ({why})", who(*worker))),
                    n => self.warn(format_args!(
                        "{}failed to fetch {host} ({why}, given up after {n} {})",
                        who(*worker),
                        if *n == 1 { "retry" } else { "retries" }
                    )),
                }
            }
            Happening::Refused { url, reason: SkipReason::RobotsDisallowed, detail } => {
                self.warn(format_args!("Skipped {url} (robots.txt forbids it: {detail})"));
            }
            Happening::Refused { url, reason: SkipReason::RobotsUnreachable, detail } => {
                self.warn(format_args!("Skipped {url} ({detail})"));
            }
            // Over a limit of the graph, which is intended.
            Happening::Refused { .. } => {}
        }
    }
}

/// A name that does not resolve is not a worker's failure.
fn who(worker: Option<u32>) -> String {
    worker.map_or_else(|| String::from("Crawler "), |number| format!("Worker {number} "))
}

/// `timeout: first byte after 5 s` -> `timeout`, `http: 503 after 4 attempts` -> `http 503`.
fn reason(error: &str) -> String {
    let kind = error_kind(error);
    match error.strip_prefix("http: ").and_then(|rest| rest.split(' ').next()) {
        Some(status) => format!("http {status}"),
        None if kind == "other" => error.chars().take(100).collect(),
        None => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_a_word_or_a_status() {
        assert_eq!(reason("timeout: first byte after 5 s"), "timeout");
        assert_eq!(reason("http: 503 after 4 attempts"), "http 503");
        assert_eq!(reason("http: 404"), "http 404");
        assert_eq!(reason("dns: no such name"), "dns");
        assert_eq!(reason("Strange"), "Strange");
    }
}
