//! The options of `crawl`.

use super::network::NetworkArgs;
use super::number::{UNBOUNDED, whole};
use argiope_config::{CrawlOptions, NetworkOptions, pattern_problem, size};
use argiope_model::{CookieJar, Resources, Scope, parse_duration};
use argiope_politeness::robots::MAX_CRAWL_DELAY;
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
  argiope crawl -c news.yaml -c shops.yaml        two jobs at once, polite to the hosts they share
  argiope crawl --name nightly                    go on with it
  argiope crawl example.com --scope domain --exclude '/tag/' -o - | jq .title

Stop with Ctrl-C; the same command goes on where it stopped. A job that is finished is started anew.";

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CrawlArgs {
    /// URLs to start from; without a scheme, https
    #[arg(value_name = "SEED", value_hint = ValueHint::Url)]
    pub(crate) seeds: Vec<String>,
    /// More seeds, one a line, plain or gzip; # begins a comment line, - is stdin
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) list: Option<PathBuf>,
    /// A job file in YAML; options on the command line win over it. May be repeated: the jobs run side by side
    #[arg(short = 'c', long = "job-file", value_name = "JOB.YAML", value_hint = ValueHint::FilePath)]
    pub(crate) job_files: Vec<PathBuf>,
    /// Stream the pages to .jsonl or .csv as they come; - is JSONL on stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// How many links away from the seeds (default 10)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "How far")]
    #[arg(value_parser = whole::<u32>(0, UNBOUNDED, "0 is the seeds alone"))]
    pub(crate) depth: Option<u32>,
    /// Stop after this many stored pages
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "How far")]
    #[arg(value_parser = whole::<u64>(1, u64::MAX, "without the option there is no limit"))]
    pub(crate) max_pages: Option<u64>,
    /// Which hosts belong to the crawl (default host)
    #[arg(long, value_parser = scope_words(), help_heading = "How far")]
    pub(crate) scope: Option<Scope>,
    /// Only URLs that match a regular expression; may be repeated
    #[arg(long, value_name = "RE", value_parser = pattern, allow_hyphen_values = true, help_heading = "How far")]
    pub(crate) include: Vec<String>,
    /// No URL that matches a regular expression; may be repeated
    #[arg(long, value_name = "RE", value_parser = pattern, allow_hyphen_values = true, help_heading = "How far")]
    pub(crate) exclude: Vec<String>,

    /// Different links taken from one page (default 10000); those beyond are counted and named. 0 takes none
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "How far")]
    #[arg(value_parser = whole::<u32>(0, UNBOUNDED, ""))]
    pub(crate) max_links: Option<u32>,
    /// Read no more of a page than this: 500KB, 10MB, 1GiB (default 10MB)
    #[arg(long, value_name = "SIZE", value_parser = some_size, help_heading = "How far")]
    pub(crate) max_body: Option<u64>,
    /// Follow what looks like a trap: endless pages of one pattern, far years of calendars, sessions in URLs
    #[arg(long, help_heading = "How far")]
    pub(crate) no_traps: bool,
    /// Pictures, styles, scripts, fonts and media of crawled pages: check asks each once for status, size and type (HEAD,
    /// and GET where that fails), keep fetches and archives them (default off). They may be on any host, do not count
    /// as pages, and nothing is followed from them
    #[arg(long, value_name = "WHAT", value_parser = resource_words(), help_heading = "How far")]
    pub(crate) resources: Option<Resources>,

    /// Between two requests to a host: 0, 250ms, 2s (default 1s); never below robots.txt's Crawl-delay
    #[arg(long, value_name = "DURATION", value_parser = delay, allow_hyphen_values = true, help_heading = "How fast")]
    pub(crate) delay: Option<Duration>,
    /// Connections in all (default 100)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "How fast")]
    #[arg(value_parser = whole::<u32>(1, 100_000, ""))]
    pub(crate) concurrency: Option<u32>,
    /// Connections to one host (default 1)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "How fast")]
    #[arg(value_parser = whole::<u32>(1, 10_000, ""))]
    pub(crate) per_host: Option<u32>,
    /// For a whole fetch, first to last byte (default 30s)
    #[arg(long, value_name = "DURATION", value_parser = some_time, allow_hyphen_values = true, help_heading = "How fast")]
    pub(crate) timeout: Option<Duration>,

    /// What the crawler calls itself; it should name a contact
    #[arg(long, value_name = "S", value_parser = some_name, help_heading = "Manners")]
    pub(crate) user_agent: Option<String>,
    /// Fetch what robots.txt forbids: only for sites that are yours
    #[arg(long, help_heading = "Manners")]
    pub(crate) ignore_robots: bool,
    /// Also crawl loopback and private addresses
    #[arg(long, help_heading = "Manners")]
    pub(crate) allow_private: bool,

    /// Cookies to begin with, from a cookies.txt file as curl and browsers write it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Requests")]
    pub(crate) cookies: Option<PathBuf>,
    /// Cookies that sites set: taken never, for a chain of redirects (default), while the job runs, or kept with it
    #[arg(long, value_parser = cookie_jar_words(), help_heading = "Requests")]
    pub(crate) cookie_jar: Option<CookieJar>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,

    /// Keep no copy of the raw pages
    #[arg(long, help_heading = "The job")]
    pub(crate) no_archive: bool,
    /// Name the job; the name alone goes on with it
    #[arg(long, value_name = "JOB", help_heading = "The job")]
    pub(crate) name: Option<String>,
    /// Start anew even if the job is unfinished; forget which hosts have failed
    #[arg(long, help_heading = "The job")]
    pub(crate) fresh: bool,
    /// Go on with the job, even if it is finished, and ask again for what has failed
    #[arg(long, conflicts_with = "fresh", help_heading = "The job")]
    pub(crate) retry_failed: bool,
    /// On a cluster: hand the job in, print its number and return at once
    #[arg(long, help_heading = "The job")]
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

fn delay(text: &str) -> Result<Duration, String> {
    let delay = parse_duration(text)?;
    if delay > MAX_CRAWL_DELAY { Err(String::from("must be 24h at most")) } else { Ok(delay) }
}

fn some_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err(String::from("must not be empty: sites must be able to tell who asks"));
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
