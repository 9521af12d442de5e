//! The link graph: a compact directed graph of names, PageRank, files for other programs, and a picture.
//!
//! ```text
//! names, links -> GraphBuilder -> Graph -> page_rank -> RankedGraph -+-> export: GraphML, GEXF, DOT, CSV, JSON
//!                                                                    +-> view: one HTML file
//! ```
//!
//! A node is a page, a host or a domain; nothing here knows which. Nothing here opens a file or asks how many cores
//! there are: writers and numbers of threads are arguments, and results do not depend on the latter.

pub mod builder;
pub mod error;
pub mod export;
pub mod graph;
pub mod groups;
pub mod layout;
pub mod names;
pub mod page_rank;
mod parallel;
pub mod ranked;
pub mod view;

pub use builder::GraphBuilder;
pub use error::GraphError;
pub use graph::{Edge, Graph};
pub use groups::Groups;
pub use page_rank::{RankSettings, Ranking, page_rank};
pub use ranked::{Column, RankedGraph, Values};
