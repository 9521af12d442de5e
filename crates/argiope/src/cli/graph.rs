//! The options of `graph`. Each has the name of its key in the file given with `-c`, and wins over it.

use super::crawl::pattern;
use crate::commands::graph::GraphAction;
use clap::{Args, ValueHint, value_parser};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  argiope graph https://example.com
  argiope graph -c config.json
  argiope graph example.com --max-depth 2 --db-path hosts.db --exclude-domains '\\.gov$'
  sqlite3 crawler.db 'SELECT domain_name, crawl_count FROM nodes'

A node is a host, an edge a link from its home page to another host. Stop with Ctrl-C; the same command goes on:
every node that was crawled fewer than --max-crawls-per-node times is asked again.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct GraphArgs {
    #[command(subcommand)]
    pub(crate) action: Option<GraphAction>,
    #[command(flatten)]
    pub(crate) crawl: GraphCrawlArgs,
}

/// Map how hosts link to each other.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GraphCrawlArgs {
    /// Where to start; without a scheme, https
    #[arg(value_name = "SEED", value_hint = ValueHint::Url)]
    pub(crate) seed_url: Option<String>,
    /// A file in JSON (or YAML) with the keys seed_url, max_depth, db_path and the others below
    #[arg(short = 'c', long = "graph-file", value_name = "CONFIG.JSON", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,

    /// How many links away from the seed (default 5)
    #[arg(long, value_name = "N", help_heading = "How far")]
    pub(crate) max_depth: Option<u32>,
    /// How often a host is looked at, in all runs together; once per depth at most (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "How far")]
    pub(crate) max_crawls_per_node: Option<u32>,
    /// Hosts of one root domain that are looked at (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "How far")]
    pub(crate) max_subdomains_per_root: Option<u32>,
    /// Edges from one home page: the first in the order of the page (default 10)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000), help_heading = "How far")]
    pub(crate) max_outbound_links: Option<u32>,
    /// No host whose name matches a regular expression; may be repeated, replaces the list of social networks,
    /// advertising and analytics
    #[arg(long, value_name = "RE", value_parser = pattern, help_heading = "How far")]
    pub(crate) exclude_domains: Vec<String>,

    /// Requests at a time (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000), help_heading = "How fast")]
    pub(crate) concurrent_workers: Option<u32>,
    /// For a whole fetch; each retry is given as much again (default 5000)
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(1..=3_600_000), help_heading = "How fast")]
    pub(crate) request_timeout_ms: Option<u64>,
    /// How often a request that failed is tried again; not after 4xx or an unknown name (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(0..=100), help_heading = "How fast")]
    pub(crate) retry_attempts: Option<u8>,
    /// Before each retry (default 5000)
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(0..=86_400_000), help_heading = "How fast")]
    pub(crate) retry_delay_ms: Option<u64>,

    /// The SQLite file of nodes and edges (default crawler.db)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What is written")]
    pub(crate) db_path: Option<PathBuf>,
    /// The figures of the run, in JSON (default metrics.log)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What is written")]
    pub(crate) metrics_path: Option<PathBuf>,

    /// What the crawler calls itself; it should name a contact
    #[arg(long, value_name = "S", help_heading = "Manners")]
    pub(crate) user_agent: Option<String>,
    /// Fetch what robots.txt forbids (respect_robots: false): only for sites that are yours
    #[arg(long, help_heading = "Manners")]
    pub(crate) ignore_robots: bool,
    /// Also ask loopback and private addresses
    #[arg(long, help_heading = "Manners")]
    pub(crate) allow_private: bool,
}
