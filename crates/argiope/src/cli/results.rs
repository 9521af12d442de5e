//! The options of the commands that read what a crawl has stored. JOB is a job's name or number.

use crate::exit::Failure;
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
    /// URLs refused before a request, with the reason
    Skipped,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  argiope export -f csv -o pages.csv\n  argiope export nightly --what skipped | jq .reason"
)]
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
    queue_full, private_address, not_crawlable or too_many_links is filtered; the steps name it.")]
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
