//! `export`: the results of a job, streamed to a file or to stdout.

use super::selection;
use crate::bodies::{Bodies, Content, ReadAhead};
use crate::cli::{ExportArgs, ExportFormat, ExportWhat, GlobalOptions};
use crate::data;
use crate::exit::Failure;
use crate::progress::Display;
use crate::progress::numbers::counted;
use crate::settings::check_folder;
use crate::stores::Stores;
use argiope_store::catalogue::{CatalogueReader, Job, PageQuery};
use argiope_store::error::{Result as Stored, StoreError};
use argiope_store::export::{Format, PageWithHtml, Record, RecordWriter, SkippedRecord, write_atomically};
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) fn run(global: &GlobalOptions, args: &ExportArgs, display: &Display) -> Result<(), Failure> {
    let format = match args.format()? {
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Json => Format::Json,
        ExportFormat::Csv => Format::Csv,
    };
    let stores = Stores::of(global)?;
    let reader = stores.reader()?;
    let jobs = selection::jobs(reader.as_ref(), args.job.as_deref(), args.all)?;
    let queries: Vec<PageQuery> =
        jobs.iter().map(|job| query(job, args.noindex)).collect::<Result<_, _>>()?;
    let bodies = if args.html { Some(Bodies::of(global, &stores)?) } else { None };
    let with_html = bodies.is_some();
    let mut without = Without::default();
    let count = write_to(&args.output, |to| match (args.what, bodies) {
        (ExportWhat::Pages, None) => pages(reader.as_ref(), &queries, format, to),
        (ExportWhat::Pages, Some(bodies)) => {
            pages_with_html(reader.as_ref(), &queries, bodies, format, to, &mut without)
        }
        (ExportWhat::Skipped, _) => skipped(reader.as_ref(), &jobs, format, to),
    })?;
    if without.missing > 0 {
        let of = counted(without.missing, "page", "pages");
        display.message(&format!("warning: the content of {of} is not there: {}", where_else(&stores)));
    }
    if with_html {
        let lost: Result<u64, _> = jobs.iter().map(|job| Ok(reader.counts(job.id)?.content_lost)).sum();
        let lost = lost.map_err(|e| data::store_failure(&e))?;
        if lost > 0 {
            let of = counted(lost, "page", "pages");
            display.message(&format!("warning: the content of {of} was lost with the disk of a worker"));
        }
    }
    if let Some(first) = &without.first_damage {
        let of = counted(without.damaged, "page", "pages");
        display.message(&format!("warning: the content of {of} cannot be read; the first: {first}"));
    }
    if args.what == ExportWhat::Pages {
        tell_left_out(reader.as_ref(), &queries, display)?;
    }
    if !is_stdout(&args.output) {
        let what = match args.what {
            ExportWhat::Pages => counted(count, "page", "pages"),
            ExportWhat::Skipped => counted(count, "skipped URL", "skipped URLs"),
        };
        display.message(&format!("{what} written to {}", args.output.display()));
    }
    Ok(())
}

/// `noindex` pages are for those only who ask for them, here or in the job.
fn query(job: &Job, noindex: bool) -> Result<PageQuery, Failure> {
    let spec = selection::spec(job)?;
    Ok(PageQuery { include_noindex: noindex || spec.index_noindex, ..PageQuery::of(job.id) })
}

fn tell_left_out(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    display: &Display,
) -> Result<(), Failure> {
    let mut left_out = 0;
    for job in queries.iter().filter(|query| !query.include_noindex).filter_map(|query| query.job) {
        left_out += reader.counts(job).map_err(|e| data::store_failure(&e))?.noindex;
    }
    if left_out > 0 {
        let (one, more) = ("page says noindex and is left out", "pages say noindex and are left out");
        display.message(&format!("{}; --noindex has them, too", counted(left_out, one, more)));
    }
    Ok(())
}

/// Pages whose content there should be.
#[derive(Default)]
struct Without {
    missing: u64,
    damaged: u64,
    first_damage: Option<String>,
}

fn pages(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    format: Format,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for query in queries {
        reader.pages(query, &mut |stored| document.add(&stored.row.page))?;
    }
    document.finish()
}

fn pages_with_html(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    bodies: Bodies,
    format: Format,
    to: &mut dyn Write,
    without: &mut Without,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    let mut add = |(page, content)| {
        let html = match content {
            Content::Text(text) => Some(text),
            Content::None => None,
            Content::Missing => {
                without.missing += 1;
                None
            }
            Content::Damaged(how) => {
                without.damaged += 1;
                without.first_damage.get_or_insert(how);
                None
            }
        };
        document.add(&PageWithHtml { page, html })
    };
    let mut ahead = ReadAhead::start(bodies)?;
    for query in queries {
        reader.pages(query, &mut |stored| match ahead.push(stored.row.page)? {
            Some(read) => add(read),
            None => Ok(ControlFlow::Continue(())),
        })?;
    }
    while let Some(read) = ahead.pop()? {
        let _ = add(read)?;
    }
    document.finish()
}

fn where_else(stores: &Stores) -> &'static str {
    match stores {
        Stores::Directory(_) => "files of archive/ are missing",
        Stores::Cluster(_) => {
            "it is still on the disk of a worker; 'argiope cluster status' tells what is waited for"
        }
    }
}

fn skipped(reader: &dyn CatalogueReader, jobs: &[Job], format: Format, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.skipped(Some(job.id), &mut |row| document.add(&SkippedRecord::from(row)))?;
    }
    document.finish()
}

/// One document of records, whatever number of jobs they come from.
struct Document<R, W: Write> {
    writer: RecordWriter<R, W>,
    records: u64,
}

impl<R: Record, W: Write> Document<R, W> {
    fn new(format: Format, to: W) -> Stored<Document<R, W>> {
        let writer = RecordWriter::new(format, to).map_err(unwritten)?;
        Ok(Document { writer, records: 0 })
    }

    fn add(&mut self, record: &R) -> Stored<ControlFlow<()>> {
        self.writer.write(record).map_err(unwritten)?;
        self.records += 1;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(self) -> Stored<u64> {
        self.writer.finish().map_err(unwritten)?;
        Ok(self.records)
    }
}

fn unwritten(error: std::io::Error) -> StoreError {
    StoreError::io("export", error)
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A regular file is there whole or not at all; a pipe or a device is written as it goes.
pub(crate) fn write_to<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Stored<T>,
) -> Result<T, Failure> {
    let is_special = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_stdout(path) {
        let mut to = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        return write(&mut to).and_then(|value| flushed(value, &mut to)).map_err(|e| output_failure(&e));
    }
    if is_special {
        let opened = OpenOptions::new().write(true).open(path);
        let mut to = BufWriter::new(
            opened.map_err(|e| Failure::failed(format!("cannot write {}: {e}", path.display())))?,
        );
        return write(&mut to).and_then(|value| flushed(value, &mut to)).map_err(|e| output_failure(&e));
    }
    check_folder(path)?;
    write_atomically(path, write).map_err(|e| data::store_failure(&e))
}

fn flushed<T>(value: T, to: &mut impl Write) -> Stored<T> {
    to.flush().map_err(unwritten)?;
    Ok(value)
}

/// A reader that has gone away is nobody's problem.
fn output_failure(error: &StoreError) -> Failure {
    let source = error.source.as_deref().and_then(|source| source.downcast_ref::<std::io::Error>());
    match source {
        Some(io) => Failure::output(io),
        None => data::store_failure(error),
    }
}
