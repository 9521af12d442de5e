//! The commands of a cluster.

use clap::{Args, Subcommand, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  argiope worker --config cluster.yaml --data /var/lib/argiope

Ctrl-C or SIGTERM stops the worker: it sends no new requests, finishes those in flight and hands its shards to other
workers. A second signal stops it at once. SIGHUP reloads the politeness section of the configuration.")]
pub(crate) struct WorkerArgs {
    /// Name of the worker (default: its previous name in this data directory, or else host name and process id)
    #[arg(long, value_name = "W")]
    pub(crate) name: Option<String>,
    /// Serve /health, /ready and /metrics on this address (default: server.listen of the configuration)
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow jobs to crawl loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Create or upgrade the database schema and the Kafka topics; safe to run concurrently
    Init,
    /// Continue although Kafka has lost links in transit
    ///
    /// If a Kafka partition has lost links, workers stop reading it and no job can end until you run this command. Then
    /// they continue with what remains.
    AcceptLoss,
    /// Show workers, shards, queue length and lag
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Declare the disk of a worker lost: mark pages whose content was only there
    Lost {
        /// Name of the worker, as 'argiope cluster status' lists it
        worker: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  argiope ingest --config cluster.yaml urls.txt.gz --name july
  zcat *.gz | argiope ingest --config cluster.yaml - --name july --depth 1
  argiope ingest --config cluster.yaml --name feed --keep-open    a job for URLs that arrive through Kafka

The same command resumes where it stopped. 'argiope status july' shows the progress of the crawl.")]
pub(crate) struct IngestArgs {
    /// List of URLs, one per line, plain or gzip: a file, an object, or - for stdin
    #[arg(value_name = "FILE|s3://BUCKET/KEY|-", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["keep_open", "let_end"])]
    pub(crate) source: Option<PathBuf>,
    /// Job that the URLs belong to; created if it does not exist
    #[arg(long, value_name = "JOB")]
    pub(crate) name: String,
    /// Follow links up to this many steps from the URLs (default 0)
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Skip URLs that any job has fetched within the last DAYS days
    #[arg(long, value_name = "DAYS")]
    pub(crate) skip_recent: Option<u32>,
    /// Keep the job open for more URLs when all its URLs are crawled
    #[arg(long)]
    pub(crate) keep_open: bool,
    /// Stop keeping the job open: it ends when all its URLs are crawled
    #[arg(long, conflicts_with = "keep_open")]
    pub(crate) let_end: bool,
    /// Accept URLs with loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}
