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
    /// Go on although Kafka has lost links that were on their way
    ///
    /// Logs that have lost links are not read on, and no job ends, until this is said. Then all that they still have is
    /// read.
    AcceptLoss,
    /// Workers, shards, queue and lag
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say that the disk of a worker is gone for good: the pages whose content was on it are marked
    Lost {
        /// The worker's name; 'cluster status' has it
        worker: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  argiope ingest --config cluster.yaml urls.txt.gz --name july
  zcat *.gz | argiope ingest --config cluster.yaml - --name july --depth 1
  argiope ingest --config cluster.yaml --name feed --keep-open    a job for what comes through Kafka

The same command goes on where it stopped. 'argiope status july' tells how far the crawl is.")]
pub(crate) struct IngestArgs {
    /// URLs, one a line; plain or gzip; a file, an object of a store, - is stdin
    #[arg(value_name = "FILE|s3://BUCKET/KEY|-", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["keep_open", "let_end"])]
    pub(crate) source: Option<PathBuf>,
    /// The job that they are for; made if it is new
    #[arg(long, value_name = "JOB")]
    pub(crate) name: String,
    /// How many links away from the URLs (default 0)
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Leave out URLs that some job has fetched within so many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) skip_recent: Option<u32>,
    /// When all is crawled the job waits for more
    #[arg(long)]
    pub(crate) keep_open: bool,
    /// The job is kept open no longer: it ends when all is crawled
    #[arg(long, conflicts_with = "keep_open")]
    pub(crate) let_end: bool,
    /// Take URLs with loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}
