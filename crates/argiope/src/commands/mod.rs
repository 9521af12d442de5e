//! One module per command: its `run` takes the parsed options and returns the result.

pub(crate) mod audit;
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod crawl;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod graph;
pub(crate) mod ingest;
pub(crate) mod inspect;
pub(crate) mod jobs;
pub(crate) mod lab;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod retry;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod worker;
