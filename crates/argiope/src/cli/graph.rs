//! The options of `graph`. Each is named like its key in the file given with `-c`, and overrides it.

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

A node is a host; an edge is a link from its home page to another host. Stop with Ctrl-C; the same command resumes:
it requests every node that was crawled fewer than --max-crawls-per-node times.";

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
    /// URL to start from; https if no scheme is given
    #[arg(value_name = "SEED", value_hint = ValueHint::Url)]
    pub(crate) seed_url: Option<String>,
    /// Configuration of the graph in JSON or YAML, with keys named like the options below
    #[arg(short = 'c', long = "graph-file", value_name = "CONFIG.JSON", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,

    /// Follow links up to this many steps from the seed (default 5)
    #[arg(long, value_name = "N", help_heading = "Scope and limits")]
    pub(crate) max_depth: Option<u32>,
    /// Crawl a host at most this often, over all runs, and once per depth (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Scope and limits")]
    pub(crate) max_crawls_per_node: Option<u32>,
    /// Crawl at most this many hosts of one root domain (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Scope and limits")]
    pub(crate) max_subdomains_per_root: Option<u32>,
    /// Take at most this many edges from one home page, in page order (default 10)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000), help_heading = "Scope and limits")]
    pub(crate) max_outbound_links: Option<u32>,
    /// Skip hosts whose name matches this regular expression; may be repeated. Replaces the built-in list of social
    /// networks, advertising and analytics
    #[arg(long, value_name = "RE", value_parser = pattern, help_heading = "Scope and limits")]
    pub(crate) exclude_domains: Vec<String>,

    /// Concurrent requests (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000), help_heading = "Speed")]
    pub(crate) concurrent_workers: Option<u32>,
    /// Time limit of one fetch; each retry adds the same again (default 5000)
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(1..=3_600_000), help_heading = "Speed")]
    pub(crate) request_timeout_ms: Option<u64>,
    /// Retries of a failed request; none after 4xx or an unknown host name (default 3)
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(0..=100), help_heading = "Speed")]
    pub(crate) retry_attempts: Option<u8>,
    /// Wait before each retry (default 5000)
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(0..=86_400_000), help_heading = "Speed")]
    pub(crate) retry_delay_ms: Option<u64>,

    /// SQLite file for nodes and edges (default crawler.db)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) db_path: Option<PathBuf>,
    /// File for the metrics of the run, in JSON (default metrics.log)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) metrics_path: Option<PathBuf>,

    /// User-Agent header; it should name a contact
    #[arg(long, value_name = "S", help_heading = "Politeness")]
    pub(crate) user_agent: Option<String>,
    /// Ignore robots.txt (respect_robots: false); only for sites of your own
    #[arg(long, help_heading = "Politeness")]
    pub(crate) ignore_robots: bool,
    /// Allow loopback and private addresses
    #[arg(long, help_heading = "Politeness")]
    pub(crate) allow_private: bool,
}
