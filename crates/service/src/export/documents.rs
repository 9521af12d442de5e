//! One document of records of each kind, written while the stores are read.

use super::MissingContent;
use crate::broken_links;
use crate::listing::host_records;
use crate::page_bodies::{Bodies, Content, ReadAhead};
use crate::stored_links::StoredLinks;
use argiope_store::catalogue::{CatalogueReader, HostOrder, Job, PageQuery};
use argiope_store::error::{Result as Stored, StoreError};
use argiope_store::export::{
    BrokenRecord, CsvOptions, FailedRecord, Format, LinkRecord, PageWithHtml, Record, RecordWriter,
    RedirectRecord, ResourceRecord, SkippedRecord,
};
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) fn pages(
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

pub(super) fn pages_with_html(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    bodies: &Arc<Bodies>,
    format: Wanted,
    to: &mut dyn Write,
    missing: &mut MissingContent,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    let mut add = |(page, content)| {
        let html = match content {
            Content::Text(text) => Some(text),
            Content::None => None,
            Content::Missing => {
                missing.missing += 1;
                None
            }
            Content::Damaged(how) => {
                missing.damaged += 1;
                missing.first_damage.get_or_insert(how);
                None
            }
        };
        document.add(&PageWithHtml { page, html })
    };
    let mut ahead = ReadAhead::start(Arc::clone(bodies))?;
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

pub(super) fn skipped(
    reader: &dyn CatalogueReader,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.skipped(Some(job.id), &mut |row| document.add(&SkippedRecord::from(row)))?;
    }
    document.finish()
}

/// A page that was read several times, by several redirects, counts once for each job.
pub(super) fn all_links(
    links: Option<&StoredLinks>,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
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
pub(super) fn broken_links(
    reader: &dyn CatalogueReader,
    links: Option<&StoredLinks>,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        let mut urls = broken_links::urls(reader, job)?;
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

pub(super) fn resources(
    reader: &dyn CatalogueReader,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.resources(Some(job.id), &mut |row| document.add(&ResourceRecord::from(row)))?;
    }
    document.finish()
}

pub(super) fn redirects(
    reader: &dyn CatalogueReader,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
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

pub(super) fn failed(
    reader: &dyn CatalogueReader,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        reader.pages(&every_page(job), &mut |stored| match stored.row.page.status {
            None => document.add(&FailedRecord::from(stored.row)),
            Some(_) => Ok(ControlFlow::Continue(())),
        })?;
    }
    document.finish()
}

pub(super) fn hosts(
    reader: &dyn CatalogueReader,
    jobs: &[Job],
    format: Wanted,
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut document = Document::new(format, to)?;
    for job in jobs {
        host_records(reader, job.id, HostOrder::MostPages, (0, usize::MAX), &mut |record| {
            document.add(&record).map(|_| ())
        })?;
    }
    document.finish()
}

/// Those that say noindex, too: nothing of their content is shown.
fn every_page(job: &Job) -> PageQuery {
    PageQuery { include_noindex: true, ..PageQuery::of(job.id) }
}

/// A format, and how CSV is written if it is that.
pub(super) type Wanted = (Format, CsvOptions);

/// One document of records from any number of jobs.
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
