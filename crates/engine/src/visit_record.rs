//! The record of one visit, from a worker through the committer to the frontier: everything that is stored of it, and how it
//! is settled afterwards.

use argiope_frontier::admission::SeenPage;
use argiope_frontier::{Completion, Discovery, Ticket, Token};
use argiope_model::{Url, Visit};
use argiope_store::archive::{ArchiveRef, Position};
use argiope_store::catalogue::{
    ErrorRow, FetchRow, HostRow, PageKey, PageRow, ResourceRow, RobotsRow, SkippedRow,
};
use argiope_store::links::LinkBatch;
use argiope_store::warc::VisitMetadata;
use std::net::IpAddr;

/// What the frontier learns once the rest is stored.
#[derive(Debug)]
pub(crate) struct Settlement {
    /// None for a visit of an earlier process.
    pub(crate) token: Option<Token>,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) visit: Visit,
    pub(crate) completion: Completion,
    pub(crate) discoveries: Vec<Discovery>,
    pub(crate) note: Option<SeenPage>,
    /// A seed was redirected to this host, which joins the scope.
    pub(crate) scope_host: Option<Url>,
}

/// The archive record of a failure. The committer writes it, once the failure is known to be the host's.
#[derive(Debug)]
pub(crate) struct LateRecord {
    pub(crate) metadata: VisitMetadata,
    pub(crate) address: Option<IpAddr>,
}

#[derive(Debug, Default)]
pub(crate) struct VisitRecord {
    pub(crate) settlement: Option<Settlement>,
    pub(crate) fetch: Option<FetchRow>,
    pub(crate) page: Option<PageRow>,
    pub(crate) resource: Option<ResourceRow>,
    pub(crate) skipped: Vec<SkippedRow>,
    pub(crate) error: Option<ErrorRow>,
    pub(crate) host: Option<HostRow>,
    pub(crate) robots: Option<RobotsRow>,
    pub(crate) links: Option<LinkBatch>,
    pub(crate) position: Option<Position>,
    pub(crate) late: Option<Box<LateRecord>>,
    /// Pages that are queued again; their rows are removed.
    pub(crate) forgotten: Vec<PageKey>,
}

/// This many links or refusals count as one visit.
const LINKS_PER_VISIT: usize = 100;

impl VisitRecord {
    /// Notes where the exchange is in the archive, and which page has the same payload.
    pub(crate) fn archived(&mut self, at: &ArchiveRef, duplicate_of: Option<&Url>) {
        if let Some(row) = &mut self.page {
            row.page.archive = Some(at.to_string());
            let own = duplicate_of.is_some_and(|url| url.as_str() == row.page.url);
            row.page.duplicate_of = duplicate_of.filter(|_| !own).map(|url| url.as_str().to_owned());
        }
        if let Some(resource) = &mut self.resource {
            resource.archive = Some(at.to_string());
        }
    }

    /// The cost of the record in memory and time, in ordinary visits: an index page with 10,000 links counts for many.
    pub(crate) fn weight(&self) -> usize {
        let discovered = self.settlement.iter().flat_map(|settled| &settled.discoveries);
        let links: usize = discovered.map(|discovery| discovery.found.len()).sum();
        1 + (links + self.skipped.len()) / LINKS_PER_VISIT
    }
}
