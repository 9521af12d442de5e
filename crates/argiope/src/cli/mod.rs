//! The command line as it is typed: raw input only. `settings` turns it, together with the configuration files, into
//! what a crawl runs with.

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
    AuditArgs, ExportArgs, ExportFormat, ExportWhat, JobsArgs, ReportArgs, RetryArgs, StatusArgs, WhyArgs,
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
  argiope demo                                    see a crawl without a network
  argiope crawl https://example.com               crawl a site, politely
  argiope crawl example.com --depth 2 -o out.jsonl
  argiope export -f csv -o pages.csv              the pages of the latest job
  argiope why https://example.com/private         why a URL was or was not fetched
  argiope graph https://example.com               which hosts link to which

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (the same command goes on).";

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
    /// What was typed.
    pub(crate) fn typed() -> Result<Cli, clap::Error> {
        Cli::read(std::env::args_os())
    }

    fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let matches = Cli::command().try_get_matches_from(words)?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        if cli.global.data.as_os_str().is_empty() {
            // An empty variable is as good as none.
            cli.global.data = PathBuf::from(DATA);
        }
        cli.global.data_given = matches.value_source("data") == Some(ValueSource::CommandLine);
        Ok(cli)
    }
}

/// Where everything is kept unless it is said.
const DATA: &str = "./argiope-data";

/// Options that every command takes, before or after its name.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Where everything is kept: catalogue, queues, archive, links
    #[arg(long, global = true, value_name = "DIR", env = "ARGIOPE_DATA", default_value = DATA)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) data: PathBuf,
    /// Whether `data` was on the command line: only then a command that needs none of its own writes there.
    #[arg(skip)]
    pub(crate) data_given: bool,
    /// Configuration in YAML; without it ./argiope.yaml is read if it is there
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Tell each request, retry and resting host on stderr; twice for batches and names too
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
    /// Crawl from seeds to the end of the job, or go on with an unfinished one
    Crawl(Box<CrawlArgs>),
    /// Who links to whom: map how hosts link to each other; ranks, files and a picture of any crawl's links
    Graph(Box<GraphArgs>),
    /// Offline: start a synthetic web, crawl it, show what came out
    Demo,
    /// Serve a synthetic web for trying and testing
    Lab(LabArgs),
    /// List the jobs of the data directory
    Jobs(JobsArgs),
    /// Show what is going on in a job
    Status(StatusArgs),
    /// Write the results of a job to a file or stdout
    Export(ExportArgs),
    /// Put what has failed back into the queue of a job
    Retry(RetryArgs),
    /// Explain the decision on a URL, step by step
    Why(WhyArgs),
    /// What was found: statuses, slow and broken pages, redirects, duplicates, hosts
    Report(ReportArgs),
    /// Prove politeness from the fetch history: gaps per host, the robots.txt rule of each fetch
    Audit(AuditArgs),
    /// Work for a cluster until stopped
    Worker(WorkerArgs),
    /// Make a cluster, or look at it
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Give a cluster a list of URLs, however long
    Ingest(IngestArgs),
    /// Look at a single thing the way the crawler does
    #[command(subcommand)]
    Inspect(InspectCommand),
    /// Check configuration files and show what is in force
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the completions of a shell
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
    /// The port of all sites, and the address of the first (default 127.0.0.1 and a free port)
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// How many sites, on 127.0.x.y (default 200; mixed and demo: one of each of their kinds)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, UNBOUNDED, ""))]
    pub(crate) hosts: Option<u32>,
    /// How many pages each site has (default 250, mixed 20, demo 24)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, UNBOUNDED, ""))]
    pub(crate) pages: Option<u32>,
    /// The same number makes the same web (default 1)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>(0, u64::MAX, ""))]
    pub(crate) seed: Option<u64>,
    /// What kinds of sites there are
    #[arg(long, value_enum, default_value = "plain")]
    pub(crate) profile: LabProfile,
    /// Wait so long before each answer (default 0)
    #[arg(long, value_name = "DURATION", value_parser = argiope_model::parse_duration)]
    pub(crate) latency: Option<Duration>,
    /// Pages of about 2 KB instead of 30
    #[arg(long)]
    pub(crate) small: bool,
    /// Links from each page to other sites (default 6, small pages 1)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(0, UNBOUNDED, ""))]
    pub(crate) outward: Option<u32>,
    /// Write every request as a line of JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Serve https with this certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,
    /// The private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// Close each connection after N responses (default: keep it)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, UNBOUNDED, ""))]
    pub(crate) requests_per_connection: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LabProfile {
    /// Well-behaved sites, for measuring
    Plain,
    /// One site of every kind: redirects, errors, traps, slow and failing ones
    Mixed,
    /// The sites of the demo
    Demo,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Find every error in configuration or job files
    #[command(
        after_help = "Example:\n  argiope config check argiope.yaml job.yaml\n\nExit code 2 on errors."
    )]
    Check {
        /// Configuration or job files; which of the two is told by their keys
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Print the configuration in force, defaults included, as YAML
    Show,
    /// Print the reference of all keys as Markdown: what docs/configuration.md has
    Docs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
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
            "argiope export -f parquet",
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
