//! What goes into the catalogue in one transaction, and what comes back.

use super::{
    ErrorRow, FetchRow, FilePosition, HostRow, JobStats, JobUpdate, OutputPosition, PageRow, ResourceRow,
    RobotsRow, SkippedRow, UncleanStop,
};
use crate::links::LinksPosition;
use argiope_model::{JobId, Millis};

/// Identifies a page as stored at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    pub job: JobId,
    pub url_key: u64,
    pub round: u32,
    /// When its request started: a page that was stored again since is another one.
    pub started: Millis,
}

/// All of it is stored, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// When the batch was closed: not before the end of any of its requests.
    pub at: Millis,
    /// Pages that are queued again: their rows go, and what they had counted with them, before the pages below are stored.
    /// Files that list the job's pages are then written anew from the first page on. Missing ones are
    /// ignored. Requests stay in the history.
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
    /// Kept on one machine only: a worker of a cluster never has any, and nothing of it is stored there.
    pub unclean_stops: Vec<UncleanStop>,
    /// Valid lengths of the archive files that grew.
    pub archive: Vec<FilePosition>,
    /// How far the link segments are valid, if they grew.
    pub links: Option<LinksPosition>,
    /// How far outputs had come before this batch.
    pub outputs: Vec<OutputPosition>,
    /// Set while recovery repeats visits: history rows are then checked against what is stored. Pages, refusals and
    /// errors are checked always, their key being unique.
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

/// Where a page of a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedPage {
    /// Grows with every new page of the catalogue, in commit order.
    pub seq: u64,
    /// The page was there before: it kept its number and has been overwritten.
    pub repeated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Numbers of batches grow by one.
    pub batch: u64,
    /// One for each page of the batch, in its order.
    pub pages: Vec<PlacedPage>,
}
