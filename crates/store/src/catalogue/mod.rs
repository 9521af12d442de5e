//! The catalogue: pages, history, jobs, hosts, errors, statistics. The port and its rows; adapters are in `local` and
//! `cluster`, and each passes [`contract`].
//!
//! One writer per data directory commits batches; any number of readers, in other processes too, read committed data
//! meanwhile. A batch is stored completely or not at all, and is durable when `commit` returns.
//!
//! A visit may be committed twice, because recovery repeats uncertain ones. So the same page (job, URL, round) is
//! overwritten in place and keeps its sequence number, and so is the same resource; the same skipped URL (job, URL) and
//! the same request (URL, start, attempt, hop) are stored once, and counters count each of them once.

mod batch;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod fetch_row;
mod job;
mod page_row;
mod rows;

pub use batch::{Batch, Committed, PageKey, PlacedPage};
pub use fetch_row::{FetchOutcome, FetchRow, RobotsRule, kind_code, kind_of_code};
pub use job::{Job, JobCounts, JobState, JobStats, JobUpdate, NewJob};
pub use page_row::{OpenGraph, PageRow, cap, error_kind, limits};
pub use rows::{
    ErrorRow, FilePosition, HostRow, OutputPosition, ResourceRow, RobotsRow, SKIPPED_PER_JOB, SkippedRow,
    UncleanStop, is_broken, limit_of_cuts, note_key, url_key,
};

use crate::error::Result;
use crate::links::LinksPosition;
use argiope_model::{ContentHash, JobId, Millis, SimHash};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Called with each row of a stream; `Break` ends it. Only the current row is in memory.
pub type Each<'a, Row> = &'a mut dyn FnMut(Row) -> Result<ControlFlow<()>>;

/// The writer. There is one at a time.
pub trait Catalogue: Send {
    /// Stores all of the batch in one durable transaction, or nothing of it.
    fn commit(&mut self, batch: &Batch) -> Result<Committed>;

    /// A new job in state `pending`. Ids grow and are never reused. Names need not be unique: a name means its latest
    /// job.
    fn create_job(&mut self, job: &NewJob) -> Result<Job>;

    /// Removes a job with its pages, history, skipped URLs, errors and statistics.
    fn delete_job(&mut self, job: JobId) -> Result<()>;

    /// How far the link segments are valid, by the last batch that extended them.
    fn links_position(&self) -> Result<Option<LinksPosition>> {
        self.reader()?.links_position()
    }

    /// A reader of the same catalogue. It sees every batch that was committed before the call.
    fn reader(&self) -> Result<Box<dyn CatalogueReader>>;
}

/// Which pages to stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// None means all jobs.
    pub job: Option<JobId>,
    /// Only pages with a larger sequence number.
    pub after_seq: u64,
    /// `noindex` pages are left out unless this is set.
    pub include_noindex: bool,
}

impl PageQuery {
    pub fn of(job: JobId) -> PageQuery {
        PageQuery { job: Some(job), ..PageQuery::default() }
    }
}

/// A page with its place in the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPage {
    pub seq: u64,
    pub row: PageRow,
}

/// Counts of one host in one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostFigures {
    pub host: String,
    pub pages: u64,
    pub failed: u64,
    pub bytes: u64,
    pub mean_fetch_ms: u64,
    pub max_fetch_ms: u64,
}

/// In which order hosts are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostOrder {
    #[default]
    MostPages,
    Slowest,
    MostFailures,
}

/// A page as a report lists it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageBrief {
    pub url: String,
    pub final_url: Option<String>,
    pub status: Option<u16>,
    pub fetch_ms: Option<u32>,
    pub error: Option<String>,
    pub duplicate_of: Option<String>,
    /// The page it was first found on.
    pub source: Option<String>,
}

/// A page that is nobody's duplicate, as far as duplicates are found by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOriginal {
    pub seq: u64,
    pub url_key: u64,
    pub content_hash: Option<ContentHash>,
    pub simhash: Option<SimHash>,
    pub word_count: Option<u32>,
}

/// Pages that are duplicates of the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DuplicateGroup {
    pub original: String,
    /// How many there are beside the original.
    pub count: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

/// Which pages a report asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BriefKind {
    /// Slowest first.
    Slow,
    /// Without response, with a status of 400 and above, or with a redirect without target.
    Broken,
    Redirected,
    Duplicate,
}

/// Reads beside the writer. Streams have a fixed order and use constant memory.
pub trait CatalogueReader: Send {
    /// The number of the last committed batch; 0 before the first.
    fn last_batch(&self) -> Result<u64>;
    /// The number of the last page that was committed; 0 before the first. It may have been removed since.
    fn last_page(&self) -> Result<u64>;
    fn archive_positions(&self) -> Result<Vec<FilePosition>>;
    fn links_position(&self) -> Result<Option<LinksPosition>>;
    fn output_position(&self, job: JobId, path: &str) -> Result<Option<OutputPosition>>;

    /// Pages of the batches after `batch`, in order of their numbers; repeated ones included.
    fn pages_after_batch(&self, batch: u64, each: Each<'_, StoredPage>) -> Result<()>;
    /// The first batch after `batch` that still has pages it has overwritten, and those pages in order of their numbers.
    fn overwritten_after(&self, batch: u64) -> Result<Option<(u64, Vec<StoredPage>)>>;
    /// Requests of the batches after `batch`, in the order they were committed. Batches older than the last
    /// [`KEPT_BATCHES`] are not distinguished: asking further back returns more, never less.
    fn fetches_after_batch(&self, batch: u64, each: Each<'_, FetchRow>) -> Result<()>;

    /// All jobs, oldest first.
    fn jobs(&self) -> Result<Vec<Job>>;
    fn job(&self, id: JobId) -> Result<Option<Job>>;
    /// The latest job of this name or, if there is none, with this hash of its seeds.
    fn find_job(&self, name_or_hash: &str) -> Result<Option<Job>>;
    fn latest_job(&self) -> Result<Option<Job>>;
    fn counts(&self, job: JobId) -> Result<JobCounts>;
    /// The time series from `since` on.
    fn stats(&self, job: JobId, since: Millis) -> Result<Vec<JobStats>>;

    /// In order of their sequence numbers.
    fn pages(&self, query: &PageQuery, each: Each<'_, StoredPage>) -> Result<()>;
    /// The latest round of a URL; over all jobs, the latest one that has it. Any spelling finds it: `normal` is the
    /// URL's normal form, here as below.
    fn page(&self, job: Option<JobId>, normal: &str) -> Result<Option<StoredPage>>;
    /// URLs that were skipped before a request. A URL for which the job has a page is not among them, whichever came
    /// first.
    fn skipped(&self, job: Option<JobId>, each: Each<'_, SkippedRow>) -> Result<()> {
        self.skipped_after(job, 0, &mut |(_, row)| each(row))
    }
    /// The same after a number, each with its own. Numbers grow in the order of the rows.
    fn skipped_after(&self, job: Option<JobId>, after: u64, each: Each<'_, (u64, SkippedRow)>) -> Result<()>;
    fn skipped_url(&self, job: Option<JobId>, normal: &str) -> Result<Option<SkippedRow>>;
    /// What limits have cut off a page or sitemap, see [`argiope_model::SkipReason::is_about_a_page`].
    fn notes(&self, job: JobId, normal: &str) -> Result<Vec<SkippedRow>>;
    /// Those of [`argiope_model::SkipReason::CUTS`], in the order they were stored. Fast if there are few.
    fn cuts(&self, job: JobId, each: Each<'_, SkippedRow>) -> Result<()>;
    /// Resources of pages, in the order they were first stored.
    fn resources(&self, job: Option<JobId>, each: Each<'_, ResourceRow>) -> Result<()>;
    /// The latest round of a resource; over all jobs, the latest one that has it.
    fn resource(&self, job: Option<JobId>, normal: &str) -> Result<Option<ResourceRow>>;
    /// By host, then by start, then by end.
    fn fetches(&self, job: Option<JobId>, each: Each<'_, FetchRow>) -> Result<()>;
    /// Every request made for a URL as scheduled, oldest first, `limit` at most.
    fn fetches_of(&self, job: Option<JobId>, normal: &str, limit: usize) -> Result<Vec<FetchRow>>;
    /// Requests for a URL, in this spelling, that were made because another one redirected to it, oldest first, `limit`
    /// at most. For interactive use: it may have to read all requests of the job.
    fn hops_to(&self, job: JobId, url: &str, limit: usize) -> Result<Vec<FetchRow>>;
    fn errors(&self, job: JobId, dead_letters_only: bool, each: Each<'_, ErrorRow>) -> Result<()>;

    /// Runs of a job, or of all, that did not end by themselves, oldest first. Empty in a cluster: a worker that takes
    /// over the shards of a dead one does not know which requests were in flight.
    fn unclean_stops(&self, job: Option<JobId>) -> Result<Vec<UncleanStop>>;

    fn host(&self, host: &str) -> Result<Option<HostRow>>;
    /// All versions of an origin's robots.txt, oldest first.
    fn robots(&self, origin: &str) -> Result<Vec<RobotsRow>>;

    /// The first `limit` hosts of a job in `order`.
    fn host_figures(&self, job: JobId, order: HostOrder, limit: usize) -> Result<Vec<HostFigures>>;

    /// The longest delay, in milliseconds, that a request of the job waited, per host.
    fn host_delays(&self, job: JobId) -> Result<Vec<(String, u64)>>;
    fn host_count(&self, job: JobId) -> Result<u64>;
    /// The first `limit` pages of a kind.
    fn briefs(&self, job: JobId, kind: BriefKind, limit: usize) -> Result<Vec<PageBrief>>;

    /// Pages of a job with status 200 and a body that are no duplicates, in order of their numbers, after the number `after`.
    fn originals(&self, job: JobId, after: u64, each: Each<'_, StoredOriginal>) -> Result<()>;
    /// The URLs of those pages of a job that have these keys.
    fn page_urls(&self, job: JobId, url_keys: &[u64]) -> Result<Vec<(u64, String)>>;
    /// The first `limit` groups, largest first, each with at most `examples` pages.
    fn duplicate_groups(&self, job: JobId, limit: usize, examples: usize) -> Result<Vec<DuplicateGroup>>;

    /// Reads everything once and reports damage as an error of kind `Corrupt`.
    fn check(&self) -> Result<()>;
}

/// How many batches back an adapter must be able to distinguish batches.
pub const KEPT_BATCHES: u64 = 10_000;
