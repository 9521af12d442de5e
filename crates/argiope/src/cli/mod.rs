//! The command line as it is typed. `argiope_config` merges it with the configuration files into the settings of a
//! command.

mod cluster;
mod crawl;
mod graph;
mod inspect;
mod network;
mod number;
mod results;

pub(crate) use cluster::{ClusterCommand, IngestArgs, WorkerArgs};
pub(crate) use crawl::CrawlArgs;
pub(crate) use graph::{GraphArgs, GraphCrawlArgs};
pub(crate) use inspect::{InspectCommand, InspectFetch, PageArgs, RobotsArgs, SitemapArgs, UrlArgs};
pub(crate) use results::{
    AuditArgs, ExportArgs, ExportFormat, ExportWhat, JobArg, JobChange, JobsArgs, ReportArgs, ReportFormat,
    RetryArgs, StatusArgs, WhyArgs,
};

use argiope_config::GlobalOptions;
use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use number::{UNBOUNDED, whole};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  argiope demo                                    watch a crawl, without a network
  argiope crawl https://example.com               crawl a site, politely
  argiope crawl example.com --depth 2 -o out.jsonl
  argiope export -f csv -o pages.csv              the pages of the latest job
  argiope why https://example.com/private         why a URL was or was not fetched
  argiope graph https://example.com               which hosts link to which

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (the same command resumes).";

/// A polite, durable, fast web crawler.
#[derive(Debug, Parser)]
#[command(name = "argiope", version, about, after_help = EXAMPLES, max_term_width = 110)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads the command line of this process.
    pub(crate) fn typed() -> Result<Cli, clap::Error> {
        Cli::read(std::env::args_os())
    }

    fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let matches = Cli::command().try_get_matches_from(words)?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        if cli.global.data.as_os_str().is_empty() {
            // An empty variable counts as unset.
            cli.global.data = PathBuf::from(DATA);
        }
        cli.global.data_given = matches.value_source("data") == Some(ValueSource::CommandLine);
        Ok(cli)
    }
}

/// The default data directory.
const DATA: &str = "./argiope-data";

/// Options that every command takes, before or after its name.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Data directory: catalogue, queues, archive, links
    #[arg(long, global = true, value_name = "DIR", env = "ARGIOPE_DATA", default_value = DATA)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) data: PathBuf,
    /// Whether `data` was on the command line: only then a command that needs no data directory writes there.
    #[arg(skip)]
    pub(crate) data_given: bool,
    /// Configuration file in YAML (default: ./argiope.yaml if it exists)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Log every request, retry and paused host to stderr; twice for batches and DNS lookups, too
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Write nothing but errors to stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

impl From<&GlobalArgs> for GlobalOptions {
    fn from(args: &GlobalArgs) -> GlobalOptions {
        GlobalOptions {
            data: args.data.clone(),
            data_given: args.data_given,
            config: args.config.clone(),
            quiet: args.quiet,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a crawl job to its end, or resume an unfinished one
    Crawl(Box<CrawlArgs>),
    /// Map the links between hosts; rank, export and draw the link graph of a crawl
    Graph(Box<GraphArgs>),
    /// Crawl a synthetic web on this machine, without a network, and show the result
    Demo,
    /// Serve a synthetic web for tests
    Lab(LabArgs),
    /// List jobs; pause, resume, cancel or delete one
    Jobs(JobsArgs),
    /// Show the progress of a job
    Status(StatusArgs),
    /// Write the results of a job to a file or stdout
    Export(ExportArgs),
    /// Queue failed URLs of a job again
    Retry(RetryArgs),
    /// Explain why a URL was or was not fetched, step by step
    Why(WhyArgs),
    /// Report status codes, slow and broken pages, redirects, duplicates and hosts of a job
    Report(ReportArgs),
    /// Verify politeness from the fetch history: delays per host, robots.txt rule of each fetch
    Audit(AuditArgs),
    /// Run a worker of a cluster until it is stopped
    Worker(WorkerArgs),
    /// Set up or inspect a cluster
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Add a list of URLs, of any length, to a job of a cluster
    Ingest(IngestArgs),
    /// Process one URL, robots.txt, page or sitemap as the crawler does
    #[command(subcommand)]
    Inspect(InspectCommand),
    /// Check configuration files, show the effective configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print shell completions
    #[command(
        after_help = "Example:\n  argiope completions bash > ~/.local/share/bash-completion/completions/argiope"
    )]
    Completions(CompletionsArgs),
}

impl Command {
    /// Whether results go to stdout while it runs.
    pub(crate) fn streams_to_stdout(&self) -> bool {
        matches!(self, Command::Crawl(args) if args.output.as_deref() == Some(Path::new("-")))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope lab --hosts 20 --pages 50 --listen 127.0.0.1:8080")]
pub(crate) struct LabArgs {
    /// Address of the first site, and port of all (default 127.0.0.1 and a free port)
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Number of sites, on 127.0.x.y (default 200; mixed and demo: one of each kind)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, UNBOUNDED, ""))]
    pub(crate) hosts: Option<u32>,
    /// Pages per site (default 250, mixed 20, demo 24)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, UNBOUNDED, ""))]
    pub(crate) pages: Option<u32>,
    /// Seed of the generator: the same number makes the same web (default 1)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>(0, u64::MAX, ""))]
    pub(crate) seed: Option<u64>,
    /// Kinds of sites
    #[arg(long, value_enum, default_value = "plain")]
    pub(crate) profile: LabProfile,
    /// Delay before each response (default 0)
    #[arg(long, value_name = "DURATION", value_parser = argiope_model::parse_duration)]
    pub(crate) latency: Option<Duration>,
    /// Pages of about 2 KB instead of 30 KB
    #[arg(long)]
    pub(crate) small: bool,
    /// Links from each page to other sites (default 6, small pages 1)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(0, UNBOUNDED, ""))]
    pub(crate) outward: Option<u32>,
    /// Log every request to this file, as one JSON object per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Serve https with the certificate of this PEM file
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// Close each connection after N responses (default: never)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, UNBOUNDED, ""))]
    pub(crate) requests_per_connection: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LabProfile {
    /// Well-behaved sites, for benchmarks
    Plain,
    /// One site of every kind: redirects, errors, traps, slow and failing ones
    Mixed,
    /// Sites of the demo
    Demo,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Report every error in configuration and job files
    #[command(
        after_help = "Example:\n  argiope config check argiope.yaml job.yaml\n\nExit code 2 on errors."
    )]
    Check {
        /// Configuration, job or graph files; the kind is detected by their keys
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Print the effective configuration, including defaults, as YAML
    Show,
    /// Print the reference of all keys as Markdown, as in docs/configuration.md
    Docs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parse(words: &str) -> Result<Cli, clap::Error> {
        Cli::read(words.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_go_before_or_after_the_command() {
        for words in ["argiope --data d -q jobs", "argiope jobs --data d -q", "argiope -q jobs --data d"] {
            let cli = parse(words).unwrap();
            assert_eq!((cli.global.data, cli.global.data_given), (PathBuf::from("d"), true));
            assert!(cli.global.quiet);
        }
        assert!(!parse("argiope demo").unwrap().global.data_given);
        assert!(parse("argiope -q -v jobs").is_err());
    }

    #[test]
    fn every_option_of_crawl_is_read() {
        let cli = parse(
            "argiope crawl a.test b.test --list urls.txt -c job.yaml -o out.jsonl --depth 2 --max-pages 10 \
             --scope domain --include ^a --include b --exclude c --delay 250ms --concurrency 8 --per-host 2 \
             --timeout 5s --user-agent bot --ignore-robots --allow-private --no-archive --name n --fresh",
        )
        .unwrap();
        let Command::Crawl(args) = cli.command else { panic!() };
        assert_eq!(args.seeds, ["a.test", "b.test"]);
        assert_eq!(args.list, Some(PathBuf::from("urls.txt")));
        assert_eq!(args.job_files, [PathBuf::from("job.yaml")]);
        assert_eq!(args.output, Some(PathBuf::from("out.jsonl")));
        assert_eq!((args.depth, args.max_pages), (Some(2), Some(10)));
        assert_eq!(args.scope, Some(argiope_model::Scope::Domain));
        assert_eq!(
            (args.include, args.exclude),
            (vec!["^a".to_owned(), "b".to_owned()], vec!["c".to_owned()])
        );
        assert_eq!(args.delay, Some(Duration::from_millis(250)));
        assert_eq!((args.concurrency, args.per_host), (Some(8), Some(2)));
        assert_eq!(args.timeout, Some(Duration::from_secs(5)));
        assert_eq!(args.user_agent.as_deref(), Some("bot"));
        assert!(args.ignore_robots && args.allow_private && args.no_archive && args.fresh);
        assert_eq!(args.name.as_deref(), Some("n"));
    }

    #[test]
    fn wrong_values_are_usage_errors() {
        for words in [
            "argiope crawl a.test --delay soon",
            "argiope crawl a.test --delay 25h",
            "argiope crawl a.test --delay 99999999999999h",
            "argiope crawl a.test --scope galaxy",
            "argiope crawl a.test --user-agent=",
            "argiope crawl a.test --include (",
            "argiope crawl a.test --concurrency 0",
            "argiope crawl a.test --timeout 0",
            "argiope crawl a.test --max-pages -1",
            "argiope crawl a.test --max-pages 0",
            "argiope crawl a.test --depth x",
            "argiope export -f xlsx",
            "argiope crwl",
        ] {
            let error = parse(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words}");
        }
    }

    #[test]
    fn the_export_formats_are_the_ones_there_are() {
        for format in ["jsonl", "json", "csv"] {
            assert!(parse(&format!("argiope export 3 -f {format} -o x --what skipped")).is_ok());
        }
    }
}
