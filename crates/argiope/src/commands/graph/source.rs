//! Where a graph comes from: the links of a crawl, or the file of a domain graph.
//!
//! A link is an `<a>`, an `<area>`, a frame or a refresh. What a page says of itself (canonical, alternate, next) is
//! none, and merges nothing. A link to a URL that redirected counts for where that ended. A page that was read several
//! times (by several redirects, in several jobs) counts once. Links within a node are left out.

use crate::commands::selection;
use argiope_config::{Failure, GlobalOptions};
use argiope_graph::names::Names;
use argiope_graph::{Column, Graph, GraphBuilder, GraphError, RankedGraph, Values};
use argiope_local::domain_graph::DomainGraphReader;
use argiope_model::{JobId, LinkKind, NormalRules, PublicSuffixes, Rel, Url};
use argiope_service::directory;
use argiope_service::place::Place;
use argiope_service::stored_links::StoredLinks;
use argiope_store::catalogue::{CatalogueReader, PageQuery};
use argiope_store::error::{ErrorKind, Result as Stored, StoreError};
use argiope_store::links::{Link, PageLinks};
use clap::{Args, ValueHint};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Name or number of the job (default: the latest)
    pub(super) job: Option<String>,
    /// Include all jobs
    #[arg(long, conflicts_with = "job")]
    pub(super) all: bool,
    /// One node per host instead of per page; weights are numbers of links
    #[arg(long, conflicts_with_all = ["domains", "db"])]
    pub(super) hosts: bool,
    /// One node per root domain, by the Public Suffix List
    #[arg(long)]
    pub(super) domains: bool,
    /// Read a domain graph (an SQLite file with the tables nodes and edges) instead of a crawl
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["job", "all"])]
    pub(super) db: Option<PathBuf>,
    /// Only crawled nodes (default: also those that are only linked to)
    #[arg(long)]
    pub(super) crawled_only: bool,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Page,
    Host,
    Domain,
}

impl Level {
    pub(super) fn one(self) -> &'static str {
        match self {
            Level::Page => "page",
            Level::Host => "host",
            Level::Domain => "domain",
        }
    }

    pub(super) fn many(self) -> &'static str {
        match self {
            Level::Page => "pages",
            Level::Host => "hosts",
            Level::Domain => "domains",
        }
    }
}

/// A graph with its ranks, and how to speak of it.
pub(super) struct Source {
    pub(super) ranked: RankedGraph,
    pub(super) level: Level,
    pub(super) title: String,
    pub(super) suffixes: Arc<PublicSuffixes>,
}

impl Source {
    pub(super) fn gather(global: &GlobalOptions, args: &SourceArgs) -> Result<Source, Failure> {
        match &args.db {
            Some(path) => from_domain_graph(path, args),
            None => from_crawl(global, args),
        }
    }
}

/// All cores: a graph is read once, looked at once.
pub(super) fn threads() -> NonZero<usize> {
    std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

fn from_crawl(global: &GlobalOptions, args: &SourceArgs) -> Result<Source, Failure> {
    let stores = Place::of(global)?;
    let reader = stores.reader()?;
    let reader = reader.as_ref();
    let job = if args.all { None } else { Some(selection::job(reader, args.job.as_deref())?) };
    let rules = match &job {
        None => NormalRules::default(),
        Some(job) => selection::spec(job)?.normal_form.compile(),
    };
    let title = match &job {
        None => String::from("All jobs"),
        Some(job) => {
            let name = job.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let seeds = selection::seeds_in_short(&selection::spec(job)?.seeds);
            format!("Job {}{name}: {seeds}", job.id)
        }
    };
    let level = match (args.hosts, args.domains) {
        (true, _) => Level::Host,
        (_, true) => Level::Domain,
        _ => Level::Page,
    };
    let suffixes = match &stores {
        Place::Directory(path) => Arc::new(directory::suffixes(path)?),
        Place::Cluster(place) => Arc::clone(&place.fixed.suffixes),
    };
    let mut nodes = Nodes::new(level, suffixes, rules);
    // Taken first: what is linked from here on was catalogued by then.
    let links = &StoredLinks::of(global, &stores, reader)?;
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
    let ranked = ranked(builder.build(), vec![column], &crawled, args.crawled_only);
    Ok(Source { ranked, level, title, suffixes })
}

/// `crawled` has a number above zero for each node that was.
fn ranked(graph: Graph, columns: Vec<Column>, crawled: &[u32], crawled_only: bool) -> RankedGraph {
    if !crawled_only {
        return RankedGraph::new(graph, columns, threads());
    }
    let was_crawled = |node: &u32| crawled.get(*node as usize).is_some_and(|count| *count > 0);
    let kept: Vec<u32> = graph.nodes().filter(was_crawled).collect();
    let part = |column: Column| Column { name: column.name, values: column.values.of_nodes(&kept) };
    RankedGraph::new(graph.of_nodes(&kept), columns.into_iter().map(part).collect(), threads())
}

/// The nodes that URLs and hosts belong to.
struct Nodes {
    builder: GraphBuilder,
    level: Level,
    suffixes: Arc<PublicSuffixes>,
    rules: NormalRules,
    /// Normal forms of pages whose nodes have the name of another spelling.
    spelled: HashMap<Box<str>, u32>,
    /// Each host is looked up in the list of suffixes once.
    hosts: Names,
    domains_of_hosts: Vec<u32>,
}

impl Nodes {
    fn new(level: Level, suffixes: Arc<PublicSuffixes>, rules: NormalRules) -> Nodes {
        Nodes {
            builder: GraphBuilder::default(),
            level,
            suffixes,
            rules,
            spelled: HashMap::new(),
            hosts: Names::default(),
            domains_of_hosts: Vec::new(),
        }
    }

    /// The normal form of a URL as it was found.
    fn normal(&self, url: &str) -> Box<str> {
        Url::parse(url, &self.rules).map_or_else(|_| url.into(), |url| url.normal().into())
    }

    fn of_url(&mut self, url: &str) -> Result<u32, GraphError> {
        match self.level {
            Level::Page => self.of_page(url),
            Level::Host | Level::Domain => self.of_host(host_of(url)),
        }
    }

    /// Spellings of one URL are one node, which has the name of the first.
    fn of_page(&mut self, url: &str) -> Result<u32, GraphError> {
        let normal = self.normal(url);
        if let Some(node) = self.spelled.get(&normal) {
            return Ok(*node);
        }
        if *normal == *url || self.builder.find(&normal).is_some() {
            return self.builder.node(&normal);
        }
        let node = self.builder.node(url)?;
        self.spelled.insert(normal, node);
        Ok(node)
    }

    fn of_host(&mut self, host: &str) -> Result<u32, GraphError> {
        if self.level != Level::Domain {
            return self.builder.node(host);
        }
        let number = self.hosts.intern(host)? as usize;
        if let Some(domain) = self.domains_of_hosts.get(number) {
            return Ok(*domain);
        }
        let domain = self.builder.node(self.suffixes.root_domain(host))?;
        self.domains_of_hosts.push(domain);
        Ok(domain)
    }
}

/// `host` or `host:port` of a stored URL.
pub(super) fn host_of(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    after.split(['/', '?']).next().unwrap_or(after)
}

struct Crawl<'a> {
    reader: &'a dyn CatalogueReader,
    links: &'a StoredLinks,
    job: Option<JobId>,
}

impl Crawl<'_> {
    /// Fills the graph. How many pages of each node were crawled.
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

    /// Reads what was crawled, and where redirects ended.
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
            // What never answered is only linked to.
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

/// Which URLs have come already, by a hash of 64 bits.
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

fn too_many(error: GraphError) -> StoreError {
    StoreError::new(ErrorKind::Usage, "graph", error.to_string()).with_source(error)
}

/// Pages with links become edges.
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
        // A part of the page.
        kind => !kind.is_resource(),
    }
}

fn from_domain_graph(path: &Path, args: &SourceArgs) -> Result<Source, Failure> {
    let level = if args.domains { Level::Domain } else { Level::Host };
    let nodes = std::cell::RefCell::new(Nodes::new(
        level,
        Arc::new(PublicSuffixes::bundled()),
        NormalRules::default(),
    ));
    let mut numbers: HashMap<i64, u32> = HashMap::new();
    let (mut crawl_counts, mut descriptions) = (Vec::<u32>::new(), Vec::new());
    let numbered = std::cell::RefCell::new(&mut numbers);
    let reader = DomainGraphReader::open(path).map_err(|e| directory::store_failure(&e))?;
    let read = reader.read(
        &mut |row| {
            let node = nodes.borrow_mut().of_host(&row.name).map_err(too_many)? as usize;
            numbered.borrow_mut().insert(row.id, node as u32);
            if node >= crawl_counts.len() {
                crawl_counts.resize(node + 1, 0);
                descriptions.resize(node + 1, None);
            }
            if let (Some(count), Some(text)) = (crawl_counts.get_mut(node), descriptions.get_mut(node)) {
                *count = count.saturating_add(row.crawl_count);
                *text = row.description;
            }
            Ok(())
        },
        &mut |edge| {
            let of = |id: i64| {
                numbered.borrow().get(&id).copied().ok_or_else(|| {
                    let message = format!("an edge names node {id}, which is not there");
                    StoreError::new(ErrorKind::Corrupt, path.display().to_string(), message)
                })
            };
            nodes.borrow_mut().builder.link(of(edge.from)?, of(edge.to)?, edge.weight);
            Ok(())
        },
    );
    read.map_err(|e| directory::store_failure(&e))?;
    let mut columns = vec![Column { name: "crawl_count", values: Values::Integer(crawl_counts.clone()) }];
    // A domain has several hosts, and no description that would be its own.
    if level == Level::Host {
        columns.push(Column { name: "description", values: Values::Text(descriptions) });
    }
    let Nodes { builder, suffixes, .. } = nodes.into_inner();
    let ranked = ranked(builder.build(), columns, &crawl_counts, args.crawled_only);
    let name = path
        .file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Source { ranked, level, title: name, suffixes })
}
