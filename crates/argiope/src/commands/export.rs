//! `export`: the results of a job, streamed to a file or to stdout.

use super::output::{is_stdout, write_to};
use crate::cli::{ExportArgs, ExportFormat, ExportWhat};
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions, check_folder};
use argiope_service::export::{self, CsvOptions, Export, ExportRequest, Format, PageFile};
use argiope_service::selection::JobSelection;
use argiope_service::{Access, directory};
use argiope_store::catalogue::Job;
use std::path::Path;

pub(crate) fn run(global: &GlobalOptions, args: &ExportArgs, display: &Display) -> Result<(), Failure> {
    let request = request(args)?;
    let access = Access::open(global)?;
    let export = Export::prepare(&access, &request, &|text| display.message(text))?;
    let exported = match request.what {
        export::ExportWhat::PagesAs(PageFile::Sitemap) if is_stdout(&args.output) => {
            return Err(Failure::usage("a sitemap may be several files").hint("name one with -o sitemap.xml"));
        }
        export::ExportWhat::PagesAs(PageFile::Sitemap) => {
            check_folder(&args.output)?;
            export.write_sitemap(&args.output)?
        }
        _ => write_to(&args.output, |to| export.write(to))?,
    };
    for notice in export.notices(&exported)? {
        display.message(&notice);
    }
    if !is_stdout(&args.output) {
        let what = request.what.counted(exported.records);
        display.message(&format!("{what} written to {}", args.output.display()));
    }
    Ok(())
}

/// All pages of a job in a data directory, in the format that the name of the file says.
pub(super) fn pages_to(data: &Path, job: &Job, path: &Path) -> Result<(), Failure> {
    let is_csv = path.extension().is_some_and(|extension| extension == "csv");
    let format = if is_csv { Format::Csv } else { Format::Jsonl };
    let export = Export::of_pages(Box::new(directory::reader(data)?), job, format)?;
    write_to(path, |to| export.write(to)).map(|_| ())
}

fn request(args: &ExportArgs) -> Result<ExportRequest, Failure> {
    let format = args.format()?;
    let csv: CsvOptions = args.csv(format)?;
    let file = match format {
        ExportFormat::Parquet => Some(PageFile::Parquet),
        ExportFormat::Sitemap => Some(PageFile::Sitemap),
        ExportFormat::Warc => Some(PageFile::Warc),
        ExportFormat::Wacz => Some(PageFile::Wacz),
        ExportFormat::Jsonl | ExportFormat::Json | ExportFormat::Csv => None,
    };
    if file.is_some() && (args.what != ExportWhat::Pages || args.html) {
        return Err(Failure::usage("this format is for pages").hint("use -f jsonl, json or csv"));
    }
    Ok(ExportRequest {
        jobs: JobSelection::new(args.job.as_deref(), args.all),
        what: match args.what {
            ExportWhat::Pages => match file {
                Some(file) => export::ExportWhat::PagesAs(file),
                None if args.html => export::ExportWhat::PagesWithHtml,
                None => export::ExportWhat::Pages,
            },
            ExportWhat::Links => export::ExportWhat::Links,
            ExportWhat::Broken => export::ExportWhat::Broken,
            ExportWhat::Redirects => export::ExportWhat::Redirects,
            ExportWhat::Failed => export::ExportWhat::Failed,
            ExportWhat::Skipped => export::ExportWhat::Skipped,
            ExportWhat::Hosts => export::ExportWhat::Hosts,
            ExportWhat::Resources => export::ExportWhat::Resources,
        },
        format: match format {
            ExportFormat::Jsonl
            | ExportFormat::Parquet
            | ExportFormat::Sitemap
            | ExportFormat::Warc
            | ExportFormat::Wacz => Format::Jsonl,
            ExportFormat::Json => Format::Json,
            ExportFormat::Csv => Format::Csv,
        },
        csv,
        noindex: args.noindex,
    })
}
