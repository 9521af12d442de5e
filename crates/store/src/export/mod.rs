//! Results for users: pages, links, skipped URLs and more as JSON lines, JSON or CSV, streamed to any writer.
//! [`Output`] is the file of `crawl -o`, a sink of a follower ([`crate::follower`]).

mod file;
mod output;
mod output_target;
mod record;
mod row;
mod writer;

pub use file::write_atomically;
pub use output::{Output, OutputProgress, STDOUT};
pub use record::{
    BrokenRecord, FailedRecord, HostRecord, LinkRecord, PageWithHtml, Record, RedirectRecord, ResourceRecord,
    SkippedRecord,
};
pub use row::{CsvOptions, CsvRow};
pub use writer::{Format, RecordWriter};

use crate::catalogue::{CatalogueReader, PageQuery};
use crate::error::{Result, StoreError};
use argiope_model::JobId;
use std::io::Write;
use std::ops::ControlFlow;

/// Streams pages in commit order. Returns how many there were.
pub fn export_pages(
    reader: &dyn CatalogueReader,
    query: &PageQuery,
    format: Format,
    to: impl Write,
) -> Result<u64> {
    let mut writer = RecordWriter::new(format, to).map_err(|e| StoreError::io("export", e))?;
    let mut count = 0;
    reader.pages(query, &mut |stored| {
        writer.write(&stored.row.page).map_err(|e| StoreError::io("export", e))?;
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    writer.finish().map_err(|e| StoreError::io("export", e))?;
    Ok(count)
}

/// Streams the URLs that were skipped before a request. Returns how many there were.
pub fn export_skipped(
    reader: &dyn CatalogueReader,
    job: Option<JobId>,
    format: Format,
    to: impl Write,
) -> Result<u64> {
    let mut writer = RecordWriter::new(format, to).map_err(|e| StoreError::io("export", e))?;
    let mut count = 0;
    reader.skipped(job, &mut |row| {
        writer.write(&SkippedRecord::from(row)).map_err(|e| StoreError::io("export", e))?;
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    writer.finish().map_err(|e| StoreError::io("export", e))?;
    Ok(count)
}
