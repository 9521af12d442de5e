//! `export`: the results of a job, streamed to a file or to stdout.

use super::broken;
use super::selection;
use crate::cli::{ExportArgs, ExportFormat, ExportWhat};
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions, check_folder};
use argiope_model::display::counted;
use argiope_service::directory;
use argiope_service::page_bodies::{Bodies, Content, ReadAhead};
use argiope_service::place::Place;
use argiope_service::stored_links::StoredLinks;
use argiope_store::catalogue::{CatalogueReader, HostOrder, Job, PageQuery};
use argiope_store::error::{Result as Stored, StoreError};
use argiope_store::export::{
    BrokenRecord, CsvOptions, FailedRecord, Format, HostRecord, LinkRecord, PageWithHtml, Record,
    RecordWriter, RedirectRecord, ResourceRecord, SkippedRecord, write_atomically,
};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::hash::BuildHasher;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) fn run(global: &GlobalOptions, args: &ExportArgs, display: &Display) -> Result<(), Failure> {
    let format = args.format()?;
    let csv = args.csv(format)?;
    let format = match format {
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Json => Format::Json,
        ExportFormat::Csv => Format::Csv,
    };
    let format = (format, csv);
    let stores = Place::of(global)?;
    let reader = stores.reader()?;
    let jobs = selection::jobs(reader.as_ref(), args.job.as_deref(), args.all)?;
    let queries: Vec<PageQuery> =
        jobs.iter().map(|job| query(job, args.noindex)).collect::<Result<_, _>>()?;
    let bodies = if args.html { Some(Bodies::of(global, &stores)?) } else { None };
    let with_html = bodies.is_some();
    let mut without = Without::default();
    let links = match args.what {
        ExportWhat::Links => Some(StoredLinks::of(global, &stores, reader.as_ref())?),
        ExportWhat::Broken => broken::links_if_any(global, &stores, reader.as_ref(), display)?,
        _ => None,
    };
    let links = links.as_ref();
    let count = write_to(&args.output, |to| match (args.what, bodies) {
        (ExportWhat::Pages, None) => pages(reader.as_ref(), &queries, format, to),
        (ExportWhat::Pages, Some(bodies)) => {
            pages_with_html(reader.as_ref(), &queries, bodies, format, to, &mut without)
        }
        (ExportWhat::Links, _) => all_links(links, &jobs, format, to),
        (ExportWhat::Broken, _) => broken_links(reader.as_ref(), links, &jobs, format, to),
        (ExportWhat::Redirects, _) => redirects(reader.as_ref(), &jobs, format, to),
        (ExportWhat::Failed, _) => failed(reader.as_ref(), &jobs, format, to),
        (ExportWhat::Skipped, _) => skipped(reader.as_ref(), &jobs, format, to),
        (ExportWhat::Hosts, _) => hosts(reader.as_ref(), &jobs, format, to),
        (ExportWhat::Resources, _) => resources(reader.as_ref(), &jobs, format, to),
    })?;
    if without.missing > 0 {
        let of = counted(without.missing, "page", "pages");
        display.message(&format!("warning: the content of {of} is not there: {}", where_else(&stores)));
    }
    if with_html {
        let lost: Result<u64, _> = jobs.iter().map(|job| Ok(reader.counts(job.id)?.content_lost)).sum();
        let lost = lost.map_err(|e| directory::store_failure(&e))?;
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
            ExportWhat::Links => counted(count, "link", "links"),
            ExportWhat::Broken => counted(count, "broken link", "broken links"),
            ExportWhat::Redirects => counted(count, "redirect", "redirects"),
            ExportWhat::Failed => counted(count, "failed URL", "failed URLs"),
            ExportWhat::Hosts => counted(count, "host", "hosts"),
            ExportWhat::Skipped => counted(count, "skipped URL", "skipped URLs"),
            ExportWhat::Resources => counted(count, "resource", "resources"),
        };
        display.message(&format!("{what} written to {}", args.output.display()));
    }
    Ok(())
}

/// `noindex` pages are for those only who ask for them, here or in the job.
/// All pages of a job, in the format that the name of the file says.
pub(super) fn pages_to(reader: &dyn CatalogueReader, job: &Job, path: &Path) -> Result<(), Failure> {
    let is_csv = path.extension().is_some_and(|extension| extension == "csv");
    let format = (if is_csv { Format::Csv } else { Format::Jsonl }, CsvOptions::default());
    let queries = [query(job, false)?];
    write_to(path, |to| pages(reader, &queries, format, to)).map(|_| ())
}

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
        left_out += reader.counts(job).map_err(|e| directory::store_failure(&e))?.noindex;
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
    format: Wanted,
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
    format: Wanted,
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

fn where_else(stores: &Place) -> &'static str {
    match stores {
        Place::Directory(_) => "files of archive/ are missing",
        Place::Cluster(_) => {
            "it is still on the disk of a worker; 'argiope cluster status' tells what is waited for"
        }
    }
}

fn skipped(reader: &dyn CatalogueReader, jobs: &[Job], format: Wanted, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.skipped(Some(job.id), &mut |row| document.add(&SkippedRecord::from(row)))?;
    }
    document.finish()
}

/// A page that was read several times, by several redirects, counts once for each job.
fn all_links(links: Option<&StoredLinks>, jobs: &[Job], format: Wanted, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    let mut once = HashSet::new();
    let hashing = RandomState::new();
    let Some(links) = links else { return document.finish() };
    links.read(&mut |page| {
        let is_wanted = jobs.iter().any(|job| job.id == page.job);
        if is_wanted && once.insert(hashing.hash_one((page.job, page.source))) {
            for link in &page.links {
                let _ = document.add(&LinkRecord::new(page, link))?;
            }
        }
        Ok(())
    })?;
    document.finish()
}

/// One job after the other: in each a URL has its own answer.
fn broken_links(
    reader: &dyn CatalogueReader,
    links: Option<&StoredLinks>,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        let mut urls = broken::urls(reader, job)?;
        if let Some(links) = links.filter(|_| !urls.is_empty()) {
            links.read(&mut |page| {
                urls.of_page(page, &mut |url, broken, link| {
                    let _ = document.add(&BrokenRecord::linked(url, broken, page.source, link))?;
                    Ok(())
                })
            })?;
        }
        for broken in urls.without_links() {
            let _ = document.add(&BrokenRecord::unlinked(broken))?;
        }
    }
    document.finish()
}

fn resources(reader: &dyn CatalogueReader, jobs: &[Job], format: Wanted, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.resources(Some(job.id), &mut |row| document.add(&ResourceRecord::from(row)))?;
    }
    document.finish()
}

fn redirects(reader: &dyn CatalogueReader, jobs: &[Job], format: Wanted, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.pages(&every_page(job), &mut |stored| {
            for record in RedirectRecord::of(&stored.row) {
                let _ = document.add(&record)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    document.finish()
}

fn failed(reader: &dyn CatalogueReader, jobs: &[Job], format: Wanted, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.pages(&every_page(job), &mut |stored| match stored.row.page.status {
            None => document.add(&FailedRecord::from(stored.row)),
            Some(_) => Ok(ControlFlow::Continue(())),
        })?;
    }
    document.finish()
}

fn hosts(reader: &dyn CatalogueReader, jobs: &[Job], format: Wanted, to: &mut dyn Write) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        let delays: HashMap<String, u64> = reader.host_delays(job.id)?.into_iter().collect();
        for figures in reader.host_figures(job.id, HostOrder::MostPages, usize::MAX)? {
            let known = reader.host(&figures.host)?;
            let delay = delays.get(&figures.host).copied();
            let _ = document.add(&HostRecord::new(figures, known, delay))?;
        }
    }
    document.finish()
}

/// Those that say noindex, too: nothing of their content is shown.
fn every_page(job: &Job) -> PageQuery {
    PageQuery { include_noindex: true, ..PageQuery::of(job.id) }
}

/// A format, and how CSV is written if it is that.
type Wanted = (Format, CsvOptions);

/// One document of records, whatever number of jobs they come from.
struct Document<R, W: Write> {
    writer: RecordWriter<R, W>,
    records: u64,
}

impl<R: Record, W: Write> Document<R, W> {
    fn new((format, csv): Wanted, to: W) -> Stored<Document<R, W>> {
        let writer = RecordWriter::with(format, csv, to).map_err(unwritten)?;
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
    write_atomically(path, write).map_err(|e| directory::store_failure(&e))
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
        None => directory::store_failure(error),
    }
}
