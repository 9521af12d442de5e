//! The graph behind the engine's ports. Links come first and wait for the batch of pages they belong to.

use super::{GraphStore, State};
use argiope_model::{JobId, RequestKind, SkipReason, Url};
use argiope_store::catalogue::{
    Batch, Catalogue, CatalogueReader, Committed, FetchOutcome, FetchRow, Job, NewJob, PageRow, PlacedPage,
};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::links::{LinkBatch, Links, LinksPosition, PageLinks, decode};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Progress of a graph, for the display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening<'a> {
    Fetched {
        worker: Option<u32>,
        host: &'a str,
        depth: u32,
        links: u32,
    },
    /// It failed and will be retried: the n-th retry, from 1.
    Retried {
        worker: Option<u32>,
        host: &'a str,
        error: &'a str,
        retry: u32,
    },
    /// It failed for good, after this many retries.
    Failed {
        worker: Option<u32>,
        host: &'a str,
        error: &'a str,
        retries: u32,
    },
    /// It was not requested.
    Refused {
        url: &'a str,
        reason: SkipReason,
        detail: &'a str,
    },
}

type Watcher = Box<dyn FnMut(&Happening<'_>) + Send>;
/// Edges that wait for their page: its host, and those of its targets.
type Staged = Arc<Mutex<Vec<(Box<str>, Vec<Box<str>>)>>>;

/// Pages are visits to nodes.
pub struct GraphCatalogue {
    store: Arc<GraphStore>,
    staged: Staged,
    watcher: Watcher,
    /// Consecutive failed requests for robots.txt, by host.
    robots_failures: HashMap<String, u32>,
    /// The number of retries for robots.txt.
    robots_retries: u32,
    batches: u64,
    pages: u64,
}

/// Links are edges.
pub struct GraphLinks {
    staged: Staged,
}

impl GraphStore {
    /// The adapters of one crawl. `watcher` is called for every recorded event.
    pub fn ports(
        self: &Arc<Self>,
        robots_retries: u32,
        watcher: impl FnMut(&Happening<'_>) + Send + 'static,
    ) -> (GraphCatalogue, GraphLinks) {
        let staged = Staged::default();
        let catalogue = GraphCatalogue {
            store: Arc::clone(self),
            staged: Arc::clone(&staged),
            watcher: Box::new(watcher),
            robots_failures: HashMap::new(),
            robots_retries,
            batches: 0,
            pages: 0,
        };
        (catalogue, GraphLinks { staged })
    }
}

impl Links for GraphLinks {
    fn append(&mut self, batch: &LinkBatch) -> Result<()> {
        let host = |url: &str| Url::from_stored(url).ok().map(|url| Box::from(url.host()));
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        decode(batch.as_bytes(), &mut |page| {
            let targets = page.links.iter().filter_map(|link| host(link.target)).collect();
            staged.extend(host(page.source).map(|source| (source, targets)));
            Ok(())
        })
    }

    /// Staged edges become durable with the nodes.
    fn sync(&mut self) -> Result<LinksPosition> {
        Ok(LinksPosition::default())
    }

    fn committed(&mut self, _: LinksPosition) {}

    fn truncate_to(&mut self, _: LinksPosition) -> Result<u64> {
        Ok(0)
    }

    fn read(&self, _: LinksPosition, _: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>) -> Result<()> {
        Err(only_a_graph())
    }
}

impl Catalogue for GraphCatalogue {
    fn commit(&mut self, batch: &Batch) -> Result<Committed> {
        let mut staged = std::mem::take(&mut *self.staged.lock().unwrap_or_else(PoisonError::into_inner));
        let mut state = self.store.state();
        for row in &batch.pages {
            state.page(row);
            let own = staged.iter().position(|(source, _)| **source == *row.host);
            if let Some((source, targets)) = own.map(|at| staged.remove(at)) {
                targets.iter().for_each(|target| state.pending.edge(&source, target));
            }
        }
        let unreachable = batch.skipped.iter().filter(|row| row.reason == SkipReason::RobotsUnreachable);
        state.figures.pages_failed += unreachable.count() as u64;
        state.write_if_full()?;
        drop(state);
        self.tell(batch);
        self.batches += 1;
        let placed = batch.pages.iter().map(|_| {
            self.pages += 1;
            PlacedPage { seq: self.pages, repeated: false }
        });
        Ok(Committed { batch: self.batches, pages: placed.collect() })
    }

    fn create_job(&mut self, _: &NewJob) -> Result<Job> {
        Err(only_a_graph())
    }

    fn delete_job(&mut self, _: JobId) -> Result<()> {
        Err(only_a_graph())
    }

    fn links_position(&self) -> Result<Option<LinksPosition>> {
        Ok(None)
    }

    fn reader(&self) -> Result<Box<dyn CatalogueReader>> {
        Err(only_a_graph())
    }
}

/// One crawl writes it, and it has neither jobs nor pages to show.
fn only_a_graph() -> StoreError {
    StoreError::new(ErrorKind::Usage, "graph", "a graph holds nodes and edges only")
}

impl State {
    fn page(&mut self, row: &PageRow) {
        if !is_crawled(row) {
            self.pending.node(&row.host);
            self.figures.pages_failed += 1;
            return;
        }
        self.pending.crawled(&row.host, description(row));
        self.figures.pages_fetched += 1;
        self.figures.fetch_ms += u64::from(row.page.fetch_ms.unwrap_or(0));
    }
}

/// It responded with a page, even if truncated.
fn is_crawled(row: &PageRow) -> bool {
    row.page.status.is_some_and(|status| status < 400)
        && row.page.error.as_deref().is_none_or(|error| error.starts_with("truncated"))
}

/// The page's description of itself: its title, and what its description adds.
fn description(row: &PageRow) -> Option<String> {
    match (&row.page.title, &row.page.description) {
        (Some(title), Some(more)) if title != more => Some(format!("{title} - {more}")),
        (Some(one), _) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    }
}

impl GraphCatalogue {
    fn tell(&mut self, batch: &Batch) {
        for fetch in &batch.fetches {
            match fetch.kind {
                RequestKind::Page if fetch.outcome == FetchOutcome::Retry => {
                    (self.watcher)(&Happening::Retried {
                        worker: worker_number(fetch.worker_id.as_deref()),
                        host: &fetch.host,
                        error: fetch.error.as_deref().unwrap_or("no answer"),
                        retry: u32::from(fetch.attempt) + 1,
                    });
                }
                RequestKind::Robots => self.tell_robots(fetch),
                RequestKind::Page | RequestKind::Sitemap | RequestKind::Resource => {}
            }
        }
        for row in &batch.pages {
            let worker = worker_number(row.worker_id.as_deref());
            let happening = if is_crawled(row) {
                let (depth, links) = (row.page.depth, row.page.links.unwrap_or(0));
                Happening::Fetched { worker, host: &row.host, depth, links }
            } else {
                let error = row.page.error.as_deref().unwrap_or("no answer");
                Happening::Failed { worker, host: &row.host, error, retries: u32::from(row.retry_count) }
            };
            (self.watcher)(&happening);
        }
        for row in &batch.skipped {
            (self.watcher)(&Happening::Refused { url: &row.url, reason: row.reason, detail: &row.detail });
        }
    }

    /// A failed robots.txt is retried before the host's page is requested.
    fn tell_robots(&mut self, fetch: &FetchRow) {
        let server_error =
            fetch.status.filter(|status| *status >= 500).map(|status| format!("http: {status}"));
        let Some(error) = fetch.error.clone().or(server_error) else {
            self.robots_failures.remove(&fetch.host);
            return;
        };
        let failures = self.robots_failures.entry(fetch.host.clone()).or_default();
        *failures += 1;
        let retry = *failures;
        if retry > self.robots_retries {
            // That was the last one; the host is reported with the remaining ones at the end.
            self.robots_failures.remove(&fetch.host);
            return;
        }
        let worker = worker_number(fetch.worker_id.as_deref());
        (self.watcher)(&Happening::Retried { worker, host: &fetch.host, error: &error, retry });
    }
}

/// `worker-0` is the first.
fn worker_number(id: Option<&str>) -> Option<u32> {
    id?.strip_prefix("worker-")?.parse::<u32>().ok()?.checked_add(1)
}
