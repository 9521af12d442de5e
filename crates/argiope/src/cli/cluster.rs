//! The commands of a cluster.

use clap::{Args, Subcommand, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  argiope worker --config cluster.yaml --data /var/lib/argiope

Ctrl-C or SIGTERM: nothing new is asked for, what is under way ends, and its shards go to others. Twice: at once.
SIGHUP reads the politeness of the configuration again.")]
pub(crate) struct WorkerArgs {
    /// What it is called; without it, what it was called before on this data directory, or else the machine's name and the
    /// process's number
    #[arg(long, value_name = "W")]
    pub(crate) name: Option<String>,
    /// Serve /health, /ready and /metrics here
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Let jobs reach loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Make the schema and the topics, or bring them up to date; may be run by many at once
    Init,
    /// Workers, shards, queue and lag
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  argiope ingest --config cluster.yaml urls.txt.gz --name july
  zcat *.gz | argiope ingest --config cluster.yaml - --name july --depth 1

The same command goes on where it stopped. 'argiope status july' tells how far the crawl is.")]
pub(crate) struct IngestArgs {
    /// URLs, one a line; plain or gzip; a file, an object of a store, - is stdin
    #[arg(value_name = "FILE|s3://BUCKET/KEY|-", value_hint = ValueHint::FilePath)]
    pub(crate) source: PathBuf,
    /// The job that they are for; made if it is new
    #[arg(long, value_name = "JOB")]
    pub(crate) name: String,
    /// How many links away from the URLs (default 0)
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Leave out URLs that some job has fetched within so many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) skip_recent: Option<u32>,
    /// Take URLs with loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}
