//! The options that say where a graph comes from: the links of a crawl, or the file of a domain graph.

use argiope_config::{Failure, GlobalOptions};
use argiope_service::link_graph::{GraphRequest, Level, LinkGraph, LinkSource};
use argiope_service::selection::JobSelection;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Name or number of the job (default: the latest)
    pub(super) job: Option<String>,
    /// Include all jobs
    #[arg(long, conflicts_with = "job")]
    pub(super) all: bool,
    /// One node per host instead of per page; weights are numbers of links
    #[arg(long, conflicts_with_all = ["domains", "db"])]
    pub(super) hosts: bool,
    /// One node per root domain, by the Public Suffix List
    #[arg(long)]
    pub(super) domains: bool,
    /// Read a domain graph (an SQLite file with the tables nodes and edges) instead of a crawl
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["job", "all"])]
    pub(super) db: Option<PathBuf>,
    /// Only crawled nodes (default: also those that are only linked to)
    #[arg(long)]
    pub(super) crawled_only: bool,
}

impl SourceArgs {
    pub(super) fn read(&self, global: &GlobalOptions) -> Result<LinkGraph, Failure> {
        let source = match &self.db {
            Some(path) => LinkSource::File(path.clone()),
            None => LinkSource::Jobs(JobSelection::new(self.job.as_deref(), self.all)),
        };
        let level = match (self.hosts, self.domains) {
            (true, _) => Level::Host,
            (_, true) => Level::Domain,
            _ => Level::Page,
        };
        LinkGraph::read(global, &GraphRequest { source, level, crawled_only: self.crawled_only })
    }
}
