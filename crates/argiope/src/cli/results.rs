//! The options of the commands that read what a crawl has stored. JOB is a job's name or number.

use argiope_config::Failure;
use argiope_service::export::CsvOptions;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct JobsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) change: Option<JobChange>,
}

const JOBS_HELP: &str = "\
With a cluster's --config the workers follow at once. In a data directory it is done by the process that crawls there;
without one it is stored, and the next crawl of the job finds it.";

#[derive(Debug, Subcommand)]
pub(crate) enum JobChange {
    /// Send no more requests for a job until it is resumed
    #[command(after_help = JOBS_HELP)]
    Pause(JobArg),
    /// Resume a paused job of a running crawl or a cluster; at rest, run its crawl command
    #[command(
        after_help = "Where no process crawls in the data directory, 'argiope crawl' resumes a job instead."
    )]
    Resume(JobArg),
    /// End a job for good; its pages stay
    #[command(after_help = JOBS_HELP)]
    Cancel(JobArg),
    /// Remove a job with its pages and its queue; archived content and links stay
    #[command(
        after_help = "In a cluster a job is cancelled first, and can be deleted when its workers have stored the last \
                      responses: after its timeout and a minute."
    )]
    Delete(JobArg),
}

#[derive(Debug, Args)]
pub(crate) struct JobArg {
    /// Name or number of the job
    pub(crate) job: String,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Name or number of the job (default: the latest)
    pub(crate) job: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Print one JSON object per line
    Jsonl,
    /// One JSON array
    Json,
    /// CSV with a header line
    Csv,
    /// Parquet with zstd: one column per field
    Parquet,
    /// sitemap.xml; over 50,000 URLs or 50 MB an index, with numbered sitemaps beside it
    Sitemap,
    /// The archived responses as one WARC file
    Warc,
    /// The archived responses for replay tools, with index and page list
    Wacz,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportWhat {
    /// Attempted URLs: fetched or failed
    Pages,
    /// Every link of every page
    Links,
    /// Broken links, one row each: status 400 and above, or no response
    Broken,
    /// Redirects, one row per hop
    Redirects,
    /// URLs that got no response
    Failed,
    /// URLs that were not requested, with the reason
    Skipped,
    /// Hosts of the job with their statistics
    Hosts,
    /// Images, styles, scripts and media, if the job had --resources
    Resources,
}

const EXPORT_HELP: &str = "\
Fields:
  pages      url final_url status depth title description keywords author
             language canonical content_type bytes content_hash simhash
             duplicate_of word_count topics links crawled_at fetch_ms error archive
  links      source target anchor rel kind
  broken     url status error source anchor
  redirects  url hop from status to final_url final_status
  failed     url error attempts depth source failed_at
  skipped    url reason detail source
  hosts      host pages failed bytes mean_fetch_ms max_fetch_ms
             robots_status crawl_delay_ms delay_ms
  resources  url final_url status error content_type bytes source fetched_at
             fetch_ms archive
Formats parquet, sitemap, warc and wacz are for pages. A sitemap lists pages with status 200 that are
not duplicates, not redirected and have no canonical link to another page.
A broken URL without a link to it, such as a seed, has a row without an anchor.
A redirect that was not followed (out of scope, or a loop) has no final_url.

Examples:
  argiope export -f csv -o pages.csv
  argiope export -f wacz -o site.wacz
  argiope export -f sitemap -o sitemap.xml
  argiope export --what broken -o broken.csv --bom
  argiope export nightly --what skipped | jq .reason";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_HELP)]
pub(crate) struct ExportArgs {
    /// Name or number of the job (default: the latest)
    pub(crate) job: Option<String>,
    /// Output format (default: by the extension of FILE, or jsonl)
    #[arg(short, long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// Output file; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// What to export
    #[arg(long, value_enum, default_value = "pages")]
    pub(crate) what: ExportWhat,
    /// CSV: do not prefix cells that a spreadsheet would read as a formula with an apostrophe
    #[arg(long)]
    pub(crate) csv_raw: bool,
    /// CSV: write a byte order mark, for spreadsheets that do not expect UTF-8
    #[arg(long)]
    pub(crate) bom: bool,
    /// Include pages that say noindex; they are left out unless the job has index_noindex
    #[arg(long)]
    pub(crate) noindex: bool,
    /// Include the content of each page from the archive, as text in the field 'html'
    #[arg(long, conflicts_with = "what")]
    pub(crate) html: bool,
    /// Include all jobs
    #[arg(long, conflicts_with = "job")]
    pub(crate) all: bool,
}

impl ExportArgs {
    /// How CSV is written.
    pub(crate) fn csv(&self, format: ExportFormat) -> Result<CsvOptions, Failure> {
        for (given, option) in [(self.csv_raw, "--csv-raw"), (self.bom, "--bom")] {
            if given && format != ExportFormat::Csv {
                return Err(Failure::usage(format!("{option} is for CSV"))
                    .hint("add -f csv, or name a file that ends in .csv"));
            }
        }
        Ok(CsvOptions { guarded: !self.csv_raw, byte_order_mark: self.bom })
    }

    /// The requested format, or else the one of the file extension.
    pub(crate) fn format(&self) -> Result<ExportFormat, Failure> {
        match (self.format, self.output.extension().and_then(|e| e.to_str())) {
            (Some(format), _) => Ok(format),
            (None, Some("csv")) => Ok(ExportFormat::Csv),
            (None, Some("json")) => Ok(ExportFormat::Json),
            (None, Some("parquet")) => Ok(ExportFormat::Parquet),
            (None, Some("xml")) => Ok(ExportFormat::Sitemap),
            (None, Some("warc" | "gz")) => Ok(ExportFormat::Warc),
            (None, Some("wacz")) => Ok(ExportFormat::Wacz),
            (None, Some("jsonl" | "ndjson") | None) => Ok(ExportFormat::Jsonl),
            (None, Some(_)) => {
                let text = format!("unknown format of '{}'", self.output.display());
                Err(Failure::usage(text)
                    .hint("give it with -f jsonl, json, csv, parquet, sitemap, warc or wacz, or by the extension of the file"))
            }
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope why https://example.com/private\n\n\
    The first word is the decision: fetched failed pending robots_disallowed robots_unreachable\n\
    out_of_scope filtered trap blacklisted duplicate unknown. The reasons too_deep, over_budget, queue_full,\n\
    private_address, not_crawlable, over_link_limit and url_too_long of export are reported as filtered here;\n\
    the steps show which one it is.")]
pub(crate) struct WhyArgs {
    /// URL to explain
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Name or number of the job (default: the latest)
    #[arg(long)]
    pub(crate) job: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    argiope retry                                   everything that failed or is blocked, of the latest job\n  \
    argiope retry nightly --failed\n  \
    argiope retry https://example.com/a https://example.com/b\n\n\
    A URL has failed if it got no response, a server error (429, 5xx) or an incomplete response. It is\n\
    blocked if its robots.txt was unreachable. URLs may be given in any spelling.\n\
    A running job requests them at once. Otherwise run the command that started the job again to resume it;\n\
    'argiope crawl ... --retry-failed' does both steps.")]
pub(crate) struct RetryArgs {
    /// Name or number of the job (default: the latest), then URLs to retry
    #[arg(value_name = "JOB|URL", value_hint = ValueHint::Url)]
    pub(crate) words: Vec<String>,
    /// Retry only URLs that have failed
    #[arg(long, conflicts_with = "blocked")]
    pub(crate) failed: bool,
    /// Retry only URLs whose robots.txt was unreachable
    #[arg(long)]
    pub(crate) blocked: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Name or number of the job (default: the latest)
    pub(crate) job: Option<String>,
    /// Include all jobs
    #[arg(long, conflicts_with = "job")]
    pub(crate) all: bool,
    /// Output format; json is one object per job, each on a line of its own
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Output file; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Name or number of the job (default: the latest)
    pub(crate) job: Option<String>,
    /// Include all jobs
    #[arg(long, conflicts_with = "job")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
