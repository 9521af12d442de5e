//! The graph of the links of a crawl.

use super::nodes::{Level, Nodes};
use super::{LinkGraph, ranked};
use crate::access::Access;
use crate::directory;
use crate::selection::{self, JobSelection, seeds_in_short};
use crate::stored_links::StoredLinks;
use argiope_config::Failure;
use argiope_graph::{Column, GraphError, Values};
use argiope_model::{JobId, LinkKind, NormalRules, Rel};
use argiope_store::catalogue::{CatalogueReader, PageQuery};
use argiope_store::error::{ErrorKind, Result as Stored, StoreError};
use argiope_store::links::{Link, PageLinks};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::ops::ControlFlow;

pub(super) fn read(
    access: &Access,
    jobs: &JobSelection,
    level: Level,
    crawled_only: bool,
) -> Result<LinkGraph, Failure> {
    let reader = access.reader()?;
    let reader = reader.as_ref();
    let job = match jobs {
        JobSelection::All => None,
        JobSelection::Latest => Some(selection::job(reader, None)?),
        JobSelection::One(wanted) => Some(selection::job(reader, Some(wanted))?),
    };
    let rules = match &job {
        None => NormalRules::default(),
        Some(job) => selection::spec(job)?.normal_form.compile(),
    };
    let title = match &job {
        None => String::from("All jobs"),
        Some(job) => {
            let name = job.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let seeds = seeds_in_short(&selection::spec(job)?.seeds);
            format!("Job {}{name}: {seeds}", job.id)
        }
    };
    let suffixes = access.suffixes()?;
    let mut nodes = Nodes::new(level, suffixes, rules);
    // Read first: pages linked from here on were catalogued by then.
    let links = &StoredLinks::of(access, reader)?;
    let crawl = Crawl { reader, links, job: job.map(|job| job.id) };
    let crawled = crawl.read(&mut nodes).map_err(|e| directory::store_failure(&e))?;
    let column = match level {
        Level::Page => {
            let flags = crawled.iter().map(|pages| *pages > 0).collect();
            Column { name: "crawled", values: Values::Flag(flags) }
        }
        Level::Host | Level::Domain => Column { name: "pages", values: Values::Integer(crawled.clone()) },
    };
    let Nodes { builder, suffixes, .. } = nodes;
    let ranked = ranked(builder.build(), vec![column], &crawled, crawled_only);
    Ok(LinkGraph { ranked, level, title, suffixes })
}

struct Crawl<'a> {
    reader: &'a dyn CatalogueReader,
    links: &'a StoredLinks,
    job: Option<JobId>,
}

impl Crawl<'_> {
    /// Fills the graph. Returns how many pages of each node were crawled.
    fn read(&self, nodes: &mut Nodes) -> Stored<Vec<u32>> {
        let mut crawled = Vec::new();
        let redirects = self.pages(nodes, &mut crawled)?;
        let mut pages = Pages { nodes, redirects, read: Once::default() };
        self.links.read(&mut |page| match self.job {
            Some(job) if page.job != job => Ok(()),
            _ => pages.add(page).map_err(too_many),
        })?;
        Ok(filled(crawled, nodes))
    }

    /// Reads the crawled pages, and the targets of redirects.
    fn pages(&self, nodes: &mut Nodes, crawled: &mut Vec<u32>) -> Stored<HashMap<Box<str>, u32>> {
        let mut redirects = HashMap::new();
        let mut counted = Once::default();
        let query = PageQuery { job: self.job, include_noindex: true, ..PageQuery::default() };
        self.reader.pages(&query, &mut |stored| {
            let page = &stored.row.page;
            let end = page.final_url.as_deref().unwrap_or(&page.url);
            let node = nodes.of_url(end).map_err(too_many)?;
            if end != page.url {
                redirects.insert(nodes.normal(&page.url), node);
            }
            // A URL that never responded is only a link target.
            if page.status.is_some() && counted.is_first(&nodes.normal(end)) {
                crawled.resize(crawled.len().max(node as usize + 1), 0);
                if let Some(count) = crawled.get_mut(node as usize) {
                    *count += 1;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(redirects)
    }
}

/// The URLs that were read already, by a 64-bit hash.
#[derive(Default)]
struct Once {
    seen: HashSet<u64>,
    hashing: RandomState,
}

impl Once {
    fn is_first(&mut self, url: &str) -> bool {
        self.seen.insert(self.hashing.hash_one(url))
    }
}

fn filled(mut counts: Vec<u32>, nodes: &Nodes) -> Vec<u32> {
    counts.resize(nodes.builder.nodes(), 0);
    counts
}

pub(super) fn too_many(error: GraphError) -> StoreError {
    StoreError::new(ErrorKind::Usage, "graph", error.to_string()).with_source(error)
}

/// Turns pages with links into edges.
struct Pages<'a> {
    nodes: &'a mut Nodes,
    redirects: HashMap<Box<str>, u32>,
    read: Once,
}

impl Pages<'_> {
    fn add(&mut self, page: &PageLinks<'_>) -> Result<(), GraphError> {
        if !self.read.is_first(&self.nodes.normal(page.source)) {
            return Ok(());
        }
        let from = self.nodes.of_url(page.source)?;
        for link in page.links.iter().filter(|link| leads_on(link)) {
            let known = match self.redirects.is_empty() {
                true => None,
                false => self.redirects.get(&self.nodes.normal(link.target)),
            };
            let to = match known {
                Some(end) => *end,
                None => self.nodes.of_url(link.target)?,
            };
            self.nodes.builder.link(from, to, 1);
        }
        Ok(())
    }
}

/// Whether a reader can follow it.
fn leads_on(link: &Link<'_>) -> bool {
    let about_itself = [Rel::CANONICAL, Rel::ALTERNATE, Rel::NEXT, Rel::PREV];
    match link.kind {
        LinkKind::Anchor | LinkKind::Frame | LinkKind::Redirect => true,
        LinkKind::Meta => !about_itself.iter().any(|rel| link.rel.has(*rel)),
        LinkKind::Form | LinkKind::Other => false,
        // A resource.
        kind => !kind.is_resource(),
    }
}
