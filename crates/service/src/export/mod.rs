//! The results of jobs as a document: prepared first, so that what cannot be exported is refused before anything is
//! written, then written as a stream.

mod documents;
mod files;

use crate::access::Access;
use crate::broken_links;
use crate::directory;
use crate::page_bodies::Bodies;
use crate::place::Place;
use crate::selection::{self, JobSelection};
use crate::stored_links::StoredLinks;
use argiope_config::Failure;
use argiope_model::display::counted;
use argiope_store::catalogue::{CatalogueReader, Job, PageQuery};
use argiope_store::error::{ErrorKind, Result as Stored, StoreError};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

pub use argiope_store::export::{CsvOptions, Format};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportWhat {
    /// Attempted URLs: fetched or failed.
    Pages,
    /// The same, with the content of each page from the archive.
    PagesWithHtml,
    /// The same as a file of another kind than text.
    PagesAs(PageFile),
    /// Every link of every page.
    Links,
    /// Broken links, one row each.
    Broken,
    /// One row per hop.
    Redirects,
    /// URLs that got no response.
    Failed,
    /// URLs that were not requested, with the reason.
    Skipped,
    Hosts,
    /// What pages are shown with, if the job fetched that.
    Resources,
}

/// Files of pages that are not text line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFile {
    Parquet,
    /// The responses.
    Warc,
    /// The responses with index and list of pages.
    Wacz,
    /// Of pages with status 200 that are nobody's duplicate.
    Sitemap,
}

impl ExportWhat {
    /// "3 pages", "1 link"
    pub fn counted(self, records: u64) -> String {
        let (one, many) = match self {
            ExportWhat::Pages | ExportWhat::PagesWithHtml | ExportWhat::PagesAs(_) => ("page", "pages"),
            ExportWhat::Links => ("link", "links"),
            ExportWhat::Broken => ("broken link", "broken links"),
            ExportWhat::Redirects => ("redirect", "redirects"),
            ExportWhat::Failed => ("failed URL", "failed URLs"),
            ExportWhat::Skipped => ("skipped URL", "skipped URLs"),
            ExportWhat::Hosts => ("host", "hosts"),
            ExportWhat::Resources => ("resource", "resources"),
        };
        counted(records, one, many)
    }
}

#[derive(Clone, Debug)]
pub struct ExportRequest {
    pub jobs: JobSelection,
    pub what: ExportWhat,
    pub format: Format,
    pub csv: CsvOptions,
    /// With pages that say noindex, even where the job does not ask for them.
    pub noindex: bool,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    pub records: u64,
    pub missing: MissingContent,
}

/// Pages whose content should be in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingContent {
    pub missing: u64,
    pub damaged: u64,
    pub first_damage: Option<String>,
}

/// An export that can be written.
pub struct Export {
    reader: Box<dyn CatalogueReader>,
    jobs: Vec<Job>,
    queries: Vec<PageQuery>,
    what: ExportWhat,
    format: documents::Wanted,
    links: Option<StoredLinks>,
    bodies: Option<Arc<Bodies>>,
    /// Why content may be missing.
    why_missing: &'static str,
}

impl Export {
    /// Looks up the jobs, and opens what the records are made from. `notice` gets what will be missing.
    pub fn prepare(
        access: &Access,
        request: &ExportRequest,
        notice: &dyn Fn(&str),
    ) -> Result<Export, Failure> {
        let reader = access.reader()?;
        let jobs = request.jobs.of(reader.as_ref())?;
        let queries = jobs.iter().map(|job| query(job, request.noindex)).collect::<Result<_, _>>()?;
        let bodies = match request.what {
            ExportWhat::PagesWithHtml | ExportWhat::PagesAs(PageFile::Warc | PageFile::Wacz) => {
                Some(Arc::new(Bodies::of(access)?))
            }
            _ => None,
        };
        let links = match request.what {
            ExportWhat::Links => Some(StoredLinks::of(access, reader.as_ref())?),
            ExportWhat::Broken => broken_links::links_if_any(access, reader.as_ref(), notice)?,
            _ => None,
        };
        let why_missing = match &access.place {
            Place::Directory(_) => "files of archive/ are missing",
            Place::Cluster(_) => {
                "it is still on the disk of a worker; 'argiope cluster status' shows what is waiting"
            }
        };
        let format = (request.format, request.csv);
        Ok(Export { reader, jobs, queries, what: request.what, format, links, bodies, why_missing })
    }

    /// All pages of one job, as its own settings list them.
    pub fn of_pages(reader: Box<dyn CatalogueReader>, job: &Job, format: Format) -> Result<Export, Failure> {
        Ok(Export {
            reader,
            jobs: vec![job.clone()],
            queries: vec![query(job, false)?],
            what: ExportWhat::Pages,
            format: (format, CsvOptions::default()),
            links: None,
            bodies: None,
            why_missing: "",
        })
    }

    pub fn write(&self, to: &mut dyn Write) -> Stored<Exported> {
        let Export { reader, jobs, queries, format, links, .. } = self;
        let (reader, format, links) = (reader.as_ref(), *format, links.as_ref());
        let mut missing = MissingContent::default();
        let records = match self.what {
            ExportWhat::Pages => documents::pages(reader, queries, format, to),
            ExportWhat::PagesWithHtml => match &self.bodies {
                Some(bodies) => documents::pages_with_html(reader, queries, bodies, format, to, &mut missing),
                None => documents::pages(reader, queries, format, to),
            },
            ExportWhat::PagesAs(kind) => {
                return self.write_file(kind, to);
            }
            ExportWhat::Links => documents::all_links(links, jobs, format, to),
            ExportWhat::Broken => documents::broken_links(reader, links, jobs, format, to),
            ExportWhat::Redirects => documents::redirects(reader, jobs, format, to),
            ExportWhat::Failed => documents::failed(reader, jobs, format, to),
            ExportWhat::Skipped => documents::skipped(reader, jobs, format, to),
            ExportWhat::Hosts => documents::hosts(reader, jobs, format, to),
            ExportWhat::Resources => documents::resources(reader, jobs, format, to),
        }?;
        Ok(Exported { records, missing })
    }

    fn write_file(&self, kind: PageFile, to: &mut dyn Write) -> Stored<Exported> {
        let (reader, queries) = (self.reader.as_ref(), self.queries.as_slice());
        let mut missing = MissingContent::default();
        let records = match (kind, &self.bodies) {
            (PageFile::Parquet, _) => files::parquet(reader, queries, to),
            (PageFile::Warc, Some(bodies)) => files::warc(reader, queries, bodies, to, &mut missing),
            (PageFile::Wacz, Some(bodies)) => files::wacz(reader, queries, bodies, to, &mut missing),
            (PageFile::Warc | PageFile::Wacz | PageFile::Sitemap, _) => {
                Err(StoreError::new(ErrorKind::Usage, "export", "a sitemap is written to a file of its own"))
            }
        }?;
        Ok(Exported { records, missing })
    }

    /// Writes a sitemap at `path`; if one file is too small for it, an index with the sitemaps beside it.
    pub fn write_sitemap(&self, path: &Path) -> Result<Exported, Failure> {
        let records = files::sitemap(self.reader.as_ref(), &self.queries, path);
        let records = records.map_err(|error| directory::store_failure(&error))?;
        Ok(Exported { records, missing: MissingContent::default() })
    }

    /// What the user should know of what was written.
    pub fn notices(&self, exported: &Exported) -> Result<Vec<String>, Failure> {
        let store = |e| directory::store_failure(&e);
        let MissingContent { missing, damaged, first_damage } = &exported.missing;
        let mut notices = Vec::new();
        if *missing > 0 {
            let of = counted(*missing, "page", "pages");
            notices.push(format!("warning: the content of {of} is missing: {}", self.why_missing));
        }
        if self.bodies.is_some() {
            let lost = self.jobs.iter().map(|job| Ok(self.reader.counts(job.id)?.content_lost));
            let lost: u64 = lost.sum::<Stored<u64>>().map_err(store)?;
            if lost > 0 {
                let of = counted(lost, "page", "pages");
                notices.push(format!("warning: the content of {of} was lost with the disk of a worker"));
            }
        }
        if let Some(first) = first_damage {
            let of = counted(*damaged, "page", "pages");
            notices.push(format!("warning: the content of {of} cannot be read; the first: {first}"));
        }
        if matches!(self.what, ExportWhat::Pages | ExportWhat::PagesWithHtml | ExportWhat::PagesAs(_)) {
            notices.extend(self.left_out()?);
        }
        Ok(notices)
    }

    /// Pages that say noindex are exported only for those who ask for them, here or in the job.
    fn left_out(&self) -> Result<Option<String>, Failure> {
        let mut left_out = 0;
        let narrow = self.queries.iter().filter(|query| !query.include_noindex);
        for job in narrow.filter_map(|query| query.job) {
            left_out += self.reader.counts(job).map_err(|e| directory::store_failure(&e))?.noindex;
        }
        let (one, more) = ("page says noindex and was left out", "pages say noindex and were left out");
        Ok((left_out > 0).then(|| format!("{}; use --noindex to include them", counted(left_out, one, more))))
    }
}

fn query(job: &Job, noindex: bool) -> Result<PageQuery, Failure> {
    let spec = selection::spec(job)?;
    Ok(PageQuery { include_noindex: noindex || spec.index_noindex, ..PageQuery::of(job.id) })
}
