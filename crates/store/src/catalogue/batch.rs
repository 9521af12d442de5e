//! The contents of one catalogue transaction, and its results.

use super::{
    ErrorRow, FetchRow, FilePosition, HostRow, JobStats, JobUpdate, OutputPosition, PageRow, ResourceRow,
    RobotsRow, SkippedRow, UncleanStop,
};
use crate::links::LinksPosition;
use argiope_model::{JobId, Millis};

/// Identifies one stored version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    pub job: JobId,
    pub url_key: u64,
    pub round: u32,
    /// When its request started: a page that was stored again since then is another version.
    pub started: Millis,
}

/// All of it is stored, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// When the batch was closed: not before the end of any of its requests.
    pub at: Millis,
    /// Pages that are queued again: their rows and counts are removed before the pages below are stored. Files that
    /// list the job's pages are then rewritten from the first page on. Missing pages are ignored. Requests stay in the
    /// history.
    pub forgotten: Vec<PageKey>,
    pub pages: Vec<PageRow>,
    pub fetches: Vec<FetchRow>,
    pub resources: Vec<ResourceRow>,
    pub skipped: Vec<SkippedRow>,
    pub hosts: Vec<HostRow>,
    pub robots: Vec<RobotsRow>,
    pub errors: Vec<ErrorRow>,
    pub jobs: Vec<JobUpdate>,
    pub stats: Vec<(JobId, JobStats)>,
    /// Only on one machine: a worker of a cluster has none, and nothing of it is stored there.
    pub unclean_stops: Vec<UncleanStop>,
    /// Valid lengths of the archive files that grew.
    pub archive: Vec<FilePosition>,
    /// How far the link segments are valid, if they grew.
    pub links: Option<LinksPosition>,
    /// How far outputs had come before this batch.
    pub outputs: Vec<OutputPosition>,
    /// Set while recovery repeats visits: history rows are then compared with stored ones. Pages, skipped URLs and
    /// errors are always compared, because their keys are unique.
    pub recovered: bool,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.forgotten.is_empty()
            && self.pages.is_empty()
            && self.fetches.is_empty()
            && self.resources.is_empty()
            && self.skipped.is_empty()
            && self.hosts.is_empty()
            && self.robots.is_empty()
            && self.errors.is_empty()
            && self.jobs.is_empty()
            && self.stats.is_empty()
            && self.unclean_stops.is_empty()
            && self.archive.is_empty()
            && self.links.is_none()
            && self.outputs.is_empty()
    }
}

/// The result of storing a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedPage {
    /// Grows with every new page of the catalogue, in commit order.
    pub seq: u64,
    /// The page existed before: it kept its number and was overwritten.
    pub repeated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Numbers of batches grow by one.
    pub batch: u64,
    /// One for each page of the batch, in its order.
    pub pages: Vec<PlacedPage>,
}
