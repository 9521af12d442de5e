//! The options of `crawl`.

use super::network::NetworkArgs;
use super::number::{UNBOUNDED, whole};
use argiope_config::{CrawlOptions, NetworkOptions, delay, pattern_problem, size};
use argiope_model::{CookieJar, Resources, Scope, parse_duration};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  argiope crawl https://example.com
  argiope crawl example.com --depth 3 --max-pages 1000 -o pages.jsonl
  argiope crawl --list urls.txt --depth 0 --delay 2s
  argiope crawl -c job.yaml --name nightly
  argiope crawl -c news.yaml -c shops.yaml        two jobs at once, sharing the delay of each host
  argiope crawl --name nightly                    resume it
  argiope crawl example.com --scope domain --exclude '/tag/' -o - | jq .title

Stop with Ctrl-C; the same command resumes where it stopped. If the job is finished, it starts a new one.";

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CrawlArgs {
    /// URLs to start from; https if no scheme is given
    #[arg(value_name = "SEED", value_hint = ValueHint::Url)]
    pub(crate) seeds: Vec<String>,
    /// Read more seeds from a file, one per line, plain or gzip; lines that start with # are comments; - is stdin
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) list: Option<PathBuf>,
    /// Job file in YAML; command line options override it. Repeat to run several jobs at once
    #[arg(short = 'c', long = "job-file", value_name = "JOB.YAML", value_hint = ValueHint::FilePath)]
    pub(crate) job_files: Vec<PathBuf>,
    /// Write pages to a .jsonl or .csv file as they are crawled; - writes JSONL to stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Follow links up to this many steps from the seeds (default 10)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope and limits")]
    #[arg(value_parser = whole::<u32>(0, UNBOUNDED, "0 fetches only the seeds"))]
    pub(crate) depth: Option<u32>,
    /// Stop after this many stored pages
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope and limits")]
    #[arg(value_parser = whole::<u64>(1, u64::MAX, "leave the option out for no limit"))]
    pub(crate) max_pages: Option<u64>,
    /// Which hosts to crawl: those of the seeds, their root domains, their subdomains, or any (default host)
    #[arg(long, value_parser = scope_words(), help_heading = "Scope and limits")]
    pub(crate) scope: Option<Scope>,
    /// Crawl only URLs that match this regular expression; may be repeated
    #[arg(long, value_name = "RE", value_parser = pattern, allow_hyphen_values = true, help_heading = "Scope and limits")]
    pub(crate) include: Vec<String>,
    /// Skip URLs that match this regular expression; may be repeated
    #[arg(long, value_name = "RE", value_parser = pattern, allow_hyphen_values = true, help_heading = "Scope and limits")]
    pub(crate) exclude: Vec<String>,

    /// Follow at most this many distinct links per page (default 10000); links beyond the limit are reported
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope and limits")]
    #[arg(value_parser = whole::<u32>(0, UNBOUNDED, ""))]
    pub(crate) max_links: Option<u32>,
    /// Truncate bodies at this size: 500KB, 10MB, 1GiB (default 10MB)
    #[arg(long, value_name = "SIZE", value_parser = some_size, help_heading = "Scope and limits")]
    pub(crate) max_body: Option<u64>,
    /// Disable the detection of crawler traps: endless URL patterns, calendars, session ids in URLs
    #[arg(long, help_heading = "Scope and limits")]
    pub(crate) no_traps: bool,
    /// Do not follow the links of duplicates: pages with the same content or nearly the same text as an earlier one, or with
    /// a canonical link to another
    #[arg(long, help_heading = "Scope and limits")]
    pub(crate) no_follow_duplicates: bool,
    /// Images, styles, scripts, fonts and media of crawled pages: check requests each once for status, size and type (HEAD,
    /// or GET if that fails); keep fetches and archives them (default off). They may be on any host and do not count as
    /// pages; links in them are not followed
    #[arg(long, value_name = "WHAT", value_parser = resource_words(), help_heading = "Scope and limits")]
    pub(crate) resources: Option<Resources>,

    /// Delay between two requests to a host: 0, 250ms, 2s (default 1s); at least Crawl-delay of robots.txt
    #[arg(long, value_name = "DURATION", value_parser = delay, allow_hyphen_values = true, help_heading = "Speed")]
    pub(crate) delay: Option<Duration>,
    /// Concurrent requests in total (default 100)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Speed")]
    #[arg(value_parser = whole::<u32>(1, 100_000, ""))]
    pub(crate) concurrency: Option<u32>,
    /// Concurrent requests per host (default 1)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Speed")]
    #[arg(value_parser = whole::<u32>(1, 10_000, ""))]
    pub(crate) per_host: Option<u32>,
    /// Time limit of one fetch, from the first byte sent to the last received (default 30s)
    #[arg(long, value_name = "DURATION", value_parser = some_time, allow_hyphen_values = true, help_heading = "Speed")]
    pub(crate) timeout: Option<Duration>,

    /// User-Agent header; it should name a contact
    #[arg(long, value_name = "S", value_parser = some_name, help_heading = "Politeness")]
    pub(crate) user_agent: Option<String>,
    /// Ignore robots.txt; only for sites of your own
    #[arg(long, help_heading = "Politeness")]
    pub(crate) ignore_robots: bool,
    /// Allow loopback and private addresses
    #[arg(long, help_heading = "Politeness")]
    pub(crate) allow_private: bool,

    /// Start with the cookies of a cookies.txt file, as curl and browser extensions write it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Requests")]
    pub(crate) cookies: Option<PathBuf>,
    /// Keep cookies that sites set: never, during a redirect chain (default), while the job runs, or stored with the job
    #[arg(long, value_parser = cookie_jar_words(), help_heading = "Requests")]
    pub(crate) cookie_jar: Option<CookieJar>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,

    /// Do not archive requests and responses
    #[arg(long, help_heading = "Job")]
    pub(crate) no_archive: bool,
    /// Name of the job; given without seeds, it resumes that job
    #[arg(long, value_name = "JOB", help_heading = "Job")]
    pub(crate) name: Option<String>,
    /// Start over even if the job is unfinished, and forget which hosts have failed
    #[arg(long, help_heading = "Job")]
    pub(crate) fresh: bool,
    /// Resume the job, even if it is finished, and retry what has failed
    #[arg(long, conflicts_with = "fresh", help_heading = "Job")]
    pub(crate) retry_failed: bool,
    /// On a cluster: submit the job, print its number and return at once
    #[arg(long, help_heading = "Job")]
    pub(crate) detach: bool,
}

impl From<&CrawlArgs> for CrawlOptions {
    fn from(args: &CrawlArgs) -> CrawlOptions {
        CrawlOptions {
            seeds: args.seeds.clone(),
            list: args.list.clone(),
            job_files: args.job_files.clone(),
            output: args.output.clone(),
            depth: args.depth,
            max_pages: args.max_pages,
            scope: args.scope,
            include: args.include.clone(),
            exclude: args.exclude.clone(),
            max_links: args.max_links,
            max_body: args.max_body,
            no_traps: args.no_traps,
            no_follow_duplicates: args.no_follow_duplicates,
            resources: args.resources,
            delay: args.delay,
            concurrency: args.concurrency,
            per_host: args.per_host,
            timeout: args.timeout,
            user_agent: args.user_agent.clone(),
            ignore_robots: args.ignore_robots,
            allow_private: args.allow_private,
            cookies: args.cookies.clone(),
            cookie_jar: args.cookie_jar,
            network: NetworkOptions::from(&args.network),
            no_archive: args.no_archive,
            name: args.name.clone(),
            fresh: args.fresh,
            retry_failed: args.retry_failed,
        }
    }
}

fn cookie_jar_words() -> impl TypedValueParser<Value = CookieJar> {
    PossibleValuesParser::new(CookieJar::WORDS).try_map(|word| word.parse::<CookieJar>())
}

fn scope_words() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.map(Scope::as_str)).try_map(|word| word.parse::<Scope>())
}

fn resource_words() -> impl TypedValueParser<Value = Resources> {
    PossibleValuesParser::new(Resources::ALL.map(Resources::as_str)).try_map(|word| word.parse::<Resources>())
}

pub(super) fn pattern(text: &str) -> Result<String, String> {
    match regex::Regex::new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("not a regular expression: {}", pattern_problem(&error))),
    }
}

fn some_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err(String::from("must not be empty: site owners must be able to see who is crawling"));
    }
    Ok(text.to_owned())
}

fn some_size(text: &str) -> Result<u64, String> {
    match size(text.trim()) {
        Some(0) => Err(String::from("must be more than 0")),
        Some(bytes) => Ok(bytes),
        None => Err(String::from("write a size such as 500KB, 10MB or 1GiB")),
    }
}

fn some_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err(String::from("must be longer than 0")),
        duration => Ok(duration),
    }
}
