//! Search on Elasticsearch or OpenSearch: documents by bulk requests into the index `crawl_metadata`, queries as its own.
//! The mapping is `crawl_metadata.json` beside this file; the index is made with it where it is missing.
//!
//! The id of a document is job and URL, and its version the time it was fetched, so that what is sent twice, or late, does
//! no harm. The position is stored after the server has acknowledged everything before it ([`Positions`]).

mod client;
mod compiled_query;
mod positions;
mod reader;
mod writer;

pub use client::{SearchAuth, SearchServer, SearchSettings};
pub use positions::{DatabasePositions, Positions};
pub use reader::ServerReader;
pub use writer::ServerWriter;

/// How a page is described to the server.
pub const MAPPING: &str = include_str!("crawl_metadata.json");
/// The index of a cluster that says nothing else.
pub const INDEX: &str = "crawl_metadata";
