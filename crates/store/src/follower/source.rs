//! The source of a follower: committed pages in commit order, after a position, in bounded batches.

use crate::catalogue::{CatalogueReader, PageQuery, StoredPage};
use crate::error::Result;
use argiope_model::JobId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The position of a follower. The default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the last page: every page up to it was followed in its first version.
    pub page: u64,
    /// The number of the last batch: every page that was overwritten by a batch up to it was followed again.
    pub batch: u64,
}

/// A batch of pages, and the position after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommittedPages {
    /// In the order of their numbers.
    pub pages: Vec<StoredPage>,
    /// Pages that were stored before and have been overwritten since, in their current version.
    pub overwritten: Vec<StoredPage>,
    pub reached: Position,
}

impl CommittedPages {
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.overwritten.is_empty()
    }
}

/// The port. A page that is committed after a call never gets a number below the position of that call, so a reader
/// that continues from there misses none. Pages that have left the catalogue are not returned.
pub trait PageSource: Send {
    /// The next pages after `position`. Reaches `position` itself if there is nothing new.
    fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>>;
}

impl<Source: PageSource> PageSource for &mut Source {
    fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>> {
        (**self).read_after(position)
    }
}

/// Reads from a catalogue, in this process or another's.
pub struct CatalogueSource {
    reader: Box<dyn CatalogueReader>,
    job: Option<JobId>,
    limit: usize,
}

impl CatalogueSource {
    /// A reader fetches this many rows at a time, so smaller batches only cost more.
    pub const BATCH: usize = 1000;

    /// The pages of `job`, or of all jobs.
    pub fn new(reader: Box<dyn CatalogueReader>, job: Option<JobId>) -> CatalogueSource {
        CatalogueSource { reader, job, limit: CatalogueSource::BATCH }
    }

    /// At most this many new pages in a batch. Overwritten ones come as their batch had them.
    #[must_use]
    pub fn with_limit(mut self, pages: usize) -> CatalogueSource {
        self.limit = pages.max(1);
        self
    }

    fn new_pages(&self, after: u64) -> Result<Vec<StoredPage>> {
        let query = PageQuery { job: self.job, after_seq: after, include_noindex: true };
        let mut pages = Vec::new();
        self.reader.pages(&query, &mut |stored| {
            pages.push(stored);
            Ok(if pages.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(pages)
    }
}

impl PageSource for CatalogueSource {
    fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>> {
        // Before the pages: later commits have higher numbers, and are left for the next call.
        let batch = self.reader.last_batch()?;
        let last = Position { page: self.reader.last_page()?, batch };
        let pages = self.new_pages(position.page)?;
        let last_read = pages.last().map_or(position.page, |stored| stored.seq);
        if pages.len() >= self.limit {
            let reached = Position { page: last_read, ..position };
            return Ok(Arc::new(CommittedPages { pages, overwritten: Vec::new(), reached }));
        }
        let page = last_read.max(last.page);
        let (overwritten, batch) = match self.reader.overwritten_after(position.batch)? {
            Some((batch, pages)) => (pages, batch),
            None => (Vec::new(), position.batch.max(last.batch)),
        };
        let overwritten = match self.job {
            Some(job) => overwritten.into_iter().filter(|stored| stored.row.job == job).collect(),
            None => overwritten,
        };
        Ok(Arc::new(CommittedPages { pages, overwritten, reached: Position { page, batch } }))
    }
}
