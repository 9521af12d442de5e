//! The graph of hosts in a SQLite file of its own: tables `nodes` and `edges`, which any tool reads.
//!
//! The engine sees it as a catalogue and a store of links ([`GraphCatalogue`], [`GraphLinks`]): a page is a visit to
//! the node of its host, a link an edge between two. Both pass their input to one [`GraphStore`], which collects it in
//! memory ([`pending`]) and writes it in transactions of 50 nodes and edges, or after a second. A crash loses at most
//! the last transaction: a page's count and its edges are in the same one, and the next run fetches the page again.

mod database;
mod pending;
mod ports;

pub use ports::{GraphCatalogue, GraphLinks, Happening};

use argiope_store::error::Result;
use database::GraphDatabase;
use pending::Pending;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Nodes and edges per transaction.
const BATCH_ROWS: usize = 50;
/// Nothing waits longer than this to be written.
const OLDEST: Duration = Duration::from_secs(1);

/// A node that was known before this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownNode {
    pub name: String,
    pub crawl_count: u32,
}

/// The start of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The seed was added now.
    New,
    /// An earlier run added it.
    Known,
}

/// The graph on disk, and what this run added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphFigures {
    pub nodes: u64,
    pub edges: u64,
    /// Home pages with a response, in this run.
    pub pages_fetched: u64,
    /// Home pages that failed, in this run.
    pub pages_failed: u64,
    /// Of pages with a response, in total.
    pub fetch_ms: u64,
}

/// The writer of a graph, shared by the ports and by readers of its figures.
pub struct GraphStore {
    state: Mutex<State>,
}

struct State {
    database: GraphDatabase,
    pending: Pending,
    figures: GraphFigures,
    oldest: Duration,
}

impl GraphStore {
    /// Opens the graph at `path`, or creates it. Only one process at a time can open it.
    pub fn open(path: &Path) -> Result<Arc<GraphStore>> {
        let database = GraphDatabase::open(path)?;
        let (nodes, edges) = database.counts()?;
        let figures = GraphFigures { nodes, edges, ..GraphFigures::default() };
        let state = State { database, pending: Pending::default(), figures, oldest: OLDEST };
        Ok(Arc::new(GraphStore { state: Mutex::new(state) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the node where a crawl starts, if it is missing.
    pub fn begin(&self, seed: &str) -> Result<Beginning> {
        let mut state = self.state();
        if state.database.has_node(seed)? {
            return Ok(Beginning::Known);
        }
        state.pending.node(seed);
        state.write()?;
        Ok(Beginning::New)
    }

    /// Nodes that were crawled fewer than `most` times, in the order of discovery.
    pub fn nodes_below(&self, most: u32) -> Result<Vec<KnownNode>> {
        self.state().database.nodes_where("crawl_count < ?1", most)
    }

    /// Nodes that were crawled.
    pub fn crawled_nodes(&self) -> Result<Vec<KnownNode>> {
        self.state().database.nodes_where("crawl_count > ?1", 0)
    }

    pub fn crawled_count(&self) -> Result<u64> {
        self.state().database.crawled_count()
    }

    pub fn figures(&self) -> GraphFigures {
        self.state().figures
    }

    /// Nodes that wait to be written.
    pub fn pending_nodes(&self) -> usize {
        self.state().pending.nodes()
    }

    /// Writes everything that waits.
    pub fn flush(&self) -> Result<()> {
        self.state().write()
    }

    /// Writes what has waited long enough.
    pub fn flush_aged(&self) -> Result<()> {
        let mut state = self.state();
        if state.is_aged() { state.write() } else { Ok(()) }
    }

    /// How long rows may wait to be written; default: a second.
    pub fn limit_age(&self, oldest: Duration) {
        self.state().oldest = oldest;
    }

    /// The maximum number of database pages, for tests and small disks; beyond it a write fails like on a full disk.
    pub fn limit_size(&self, pages: u32) -> Result<()> {
        self.state().database.limit_size(pages)
    }
}

impl State {
    fn write(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.database.write(&self.pending)?;
        self.figures.nodes += written.new_nodes;
        self.figures.edges += written.new_edges;
        // Only now: rows that could not be written still wait.
        self.pending.clear();
        Ok(())
    }

    fn write_if_full(&mut self) -> Result<()> {
        if self.is_aged() || self.pending.rows() >= BATCH_ROWS { self.write() } else { Ok(()) }
    }

    fn is_aged(&self) -> bool {
        self.pending.age().is_some_and(|age| age >= self.oldest)
    }
}
