//! Who links to whom: the graph of a crawl's links, or of the file of a domain graph, with the rank of each node. It is
//! listed ([`LinkGraph::ranking`]), exported for other programs, or drawn.
//!
//! A link is an `<a>`, an `<area>`, a frame or a refresh. Statements of a page about itself (canonical, alternate,
//! next) are not links, and merge nothing. A link to a URL that redirected counts for its target. A page that was read
//! several times (by several redirects, in several jobs) counts once. Links within a node are left out.

mod crawl;
mod domain_file;
mod groups;
mod nodes;

pub use argiope_graph::export::Format as GraphFormat;
pub use groups::GroupBy;
pub use nodes::Level;

use crate::access::Access;
use crate::selection::JobSelection;
use argiope_config::{Failure, GlobalOptions};
use argiope_graph::export::{Document, write, write_csv_nodes};
use argiope_graph::view::View;
use argiope_graph::{Column, Graph, Groups, RankedGraph};
use argiope_model::PublicSuffixes;
use argiope_store::error::{Result as Stored, StoreError};
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the links are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkSource {
    Jobs(JobSelection),
    /// The file of a domain graph.
    File(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphRequest {
    pub source: LinkSource,
    /// A domain graph has no pages: there it is hosts.
    pub level: Level,
    /// Without the nodes that are only linked to.
    pub crawled_only: bool,
}

/// A graph with its ranks, and its description.
pub struct LinkGraph {
    ranked: RankedGraph,
    pub level: Level,
    pub title: String,
    suffixes: Arc<PublicSuffixes>,
}

/// The nodes of the highest ranks.
#[derive(Debug, Serialize)]
pub struct Ranking<'a> {
    pub level: &'static str,
    pub nodes: usize,
    pub edges: usize,
    pub iterations: u32,
    pub converged: bool,
    pub ranking: Vec<RankedNode<'a>>,
}

#[derive(Debug, Serialize)]
pub struct RankedNode<'a> {
    pub name: &'a str,
    pub rank: f64,
    pub in_degree: u32,
    pub out_degree: u32,
}

impl LinkGraph {
    /// `options` name the data where the links are a job's.
    pub fn read(options: &GlobalOptions, request: &GraphRequest) -> Result<LinkGraph, Failure> {
        match (&request.source, request.level) {
            (LinkSource::Jobs(jobs), level) => {
                crawl::read(&Access::open(options)?, jobs, level, request.crawled_only)
            }
            (LinkSource::File(path), Level::Page) => {
                domain_file::read(path, Level::Host, request.crawled_only)
            }
            (LinkSource::File(path), level) => domain_file::read(path, level, request.crawled_only),
        }
    }

    pub fn node_count(&self) -> usize {
        self.ranked.graph.node_count()
    }

    pub fn ranking(&self, limit: usize) -> Ranking<'_> {
        let ranked = &self.ranked;
        let rows = ranked.top(limit).into_iter().map(|node| RankedNode {
            name: ranked.graph.name(node),
            rank: ranked.rank(node),
            in_degree: ranked.in_degree(node),
            out_degree: ranked.out_degree(node),
        });
        Ranking {
            level: self.level.one(),
            nodes: ranked.graph.node_count(),
            edges: ranked.graph.edge_count(),
            iterations: ranked.iterations,
            converged: ranked.converged,
            ranking: rows.collect(),
        }
    }

    /// With a limit: the nodes of the highest ranks, in that order, with the edges between them. Coloured by `by`, or by
    /// what they differ by.
    pub fn part(&self, limit: Option<usize>, by: Option<GroupBy>) -> Result<GraphPart<'_>, Failure> {
        let ranked = match limit {
            Some(limit) => Cow::Owned(self.ranked.of_nodes(&self.ranked.top(limit))),
            None => Cow::Borrowed(&self.ranked),
        };
        let groups = groups::groups(self, &ranked.graph, by)?;
        Ok(GraphPart { whole: self, ranked, groups })
    }
}

/// A graph, or the most important part of it, for a file.
pub struct GraphPart<'g> {
    whole: &'g LinkGraph,
    ranked: Cow<'g, RankedGraph>,
    groups: Groups,
}

impl GraphPart<'_> {
    pub fn node_count(&self) -> usize {
        self.ranked.graph.node_count()
    }

    pub fn edge_count(&self) -> usize {
        self.ranked.graph.edge_count()
    }

    fn document(&self) -> Document<'_> {
        Document { ranked: &self.ranked, groups: &self.groups }
    }

    /// For other programs.
    pub fn export(&self, format: GraphFormat, to: &mut dyn Write) -> Stored<()> {
        write(format, &self.document(), to).map_err(|e| StoreError::io("export", e))
    }

    /// Nodes and their properties, in addition to edges in CSV.
    pub fn export_nodes(&self, to: &mut dyn Write) -> Stored<()> {
        write_csv_nodes(&self.document(), to).map_err(|e| StoreError::io("export", e))
    }

    /// A picture in one HTML file.
    pub fn draw(&self, to: &mut dyn Write) -> Stored<()> {
        let whole = &self.whole.ranked.graph;
        let view = View {
            ranked: &self.ranked,
            groups: &self.groups,
            title: &self.whole.title,
            noun: self.whole.level.many(),
            all_nodes: whole.node_count(),
            all_edges: whole.edge_count(),
        };
        view.write(threads(), to).map_err(|e| StoreError::io("view", e))
    }
}

/// All cores: a graph is read once.
fn threads() -> NonZero<usize> {
    std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// `crawled` has a number above zero for each crawled node.
fn ranked(graph: Graph, columns: Vec<Column>, crawled: &[u32], crawled_only: bool) -> RankedGraph {
    if !crawled_only {
        return RankedGraph::new(graph, columns, threads());
    }
    let was_crawled = |node: &u32| crawled.get(*node as usize).is_some_and(|count| *count > 0);
    let kept: Vec<u32> = graph.nodes().filter(was_crawled).collect();
    let part = |column: Column| Column { name: column.name, values: column.values.of_nodes(&kept) };
    RankedGraph::new(graph.of_nodes(&kept), columns.into_iter().map(part).collect(), threads())
}
