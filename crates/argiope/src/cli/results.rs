//! The options of the commands that read what a crawl has stored. JOB is a job's name or number.

use argiope_config::Failure;
use argiope_store::export::CsvOptions;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// A job's name or number; without it the latest
    pub(crate) job: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line
    Jsonl,
    /// One JSON array
    Json,
    /// With a header line
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportWhat {
    /// What was attempted: fetched or failed
    Pages,
    /// Every link of every page
    Links,
    /// Links that lead to pages which are not there, one row for each: status 400 and above, or no answer
    Broken,
    /// Redirects, one row for each hop
    Redirects,
    /// URLs that ended without an answer
    Failed,
    /// URLs refused before a request, with the reason
    Skipped,
    /// The hosts of the job with their figures
    Hosts,
    /// What pages are shown with, where --resources asked for it
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
A broken URL that no link leads to, such as a seed, has a row without an anchor.
A redirect that was not followed, out of scope or into a loop, has no final_url.

Examples:
  argiope export -f csv -o pages.csv
  argiope export --what broken -o broken.csv --bom
  argiope export nightly --what skipped | jq .reason";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_HELP)]
pub(crate) struct ExportArgs {
    /// A job's name or number; without it the latest
    pub(crate) job: Option<String>,
    /// Without it, by the ending of FILE, or jsonl
    #[arg(short, long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// Where to; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[arg(long, value_enum, default_value = "pages")]
    pub(crate) what: ExportWhat,
    /// CSV without the apostrophe before cells that a spreadsheet would take for a formula
    #[arg(long)]
    pub(crate) csv_raw: bool,
    /// CSV with a byte order mark, for spreadsheets that do not expect UTF-8
    #[arg(long)]
    pub(crate) bom: bool,
    /// With pages that say noindex, which are left out unless the job has index_noindex
    #[arg(long)]
    pub(crate) noindex: bool,
    /// With the content of each page, as text in the field 'html', read from the archive
    #[arg(long, conflicts_with = "what")]
    pub(crate) html: bool,
    /// All jobs
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

    /// The format asked for, or else the one that the ending of the file says.
    pub(crate) fn format(&self) -> Result<ExportFormat, Failure> {
        match (self.format, self.output.extension().and_then(|e| e.to_str())) {
            (Some(format), _) => Ok(format),
            (None, Some("csv")) => Ok(ExportFormat::Csv),
            (None, Some("json")) => Ok(ExportFormat::Json),
            (None, Some("jsonl" | "ndjson") | None) => Ok(ExportFormat::Jsonl),
            (None, Some(_)) => {
                let text = format!("cannot tell the format of '{}'", self.output.display());
                Err(Failure::usage(text)
                    .hint("name it with -f jsonl, json or csv, or by the ending of the file"))
            }
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope why https://example.com/private\n\n\
    The first word is the decision: fetched failed pending robots_disallowed robots_unreachable\n\
    out_of_scope filtered trap blacklisted duplicate unknown. What export calls too_deep, over_budget,\n\
    queue_full, private_address, not_crawlable, over_link_limit or url_too_long is filtered; the steps name it.")]
pub(crate) struct WhyArgs {
    /// The URL to explain
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// A job's name or number; without it the latest
    #[arg(long)]
    pub(crate) job: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    argiope retry                                   all that failed or is blocked, of the latest job\n  \
    argiope retry nightly --failed\n  \
    argiope retry https://example.com/a https://example.com/b\n\n\
    Failed are URLs without an answer, with a server error (429, 5xx) or with an answer that broke off;\n\
    blocked are those whose robots.txt was unreachable. A URL can be named in any spelling.\n\
    A job that runs asks for them at once. Otherwise the command that started the job goes on with it;\n\
    'argiope crawl ... --retry-failed' does both in one go.")]
pub(crate) struct RetryArgs {
    /// A job's name or number (without it the latest), then URLs to ask for again
    #[arg(value_name = "JOB|URL", value_hint = ValueHint::Url)]
    pub(crate) words: Vec<String>,
    /// Only URLs that have failed
    #[arg(long, conflicts_with = "blocked")]
    pub(crate) failed: bool,
    /// Only URLs whose robots.txt was unreachable
    #[arg(long)]
    pub(crate) blocked: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A job's name or number; without it the latest
    pub(crate) job: Option<String>,
    /// All jobs
    #[arg(long, conflicts_with = "job")]
    pub(crate) all: bool,
    /// Where to; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// A job's name or number; without it the latest
    pub(crate) job: Option<String>,
    /// All jobs
    #[arg(long, conflicts_with = "job")]
    pub(crate) all: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
